"""Your own team: a map, who hears whom, and how steps slip, from a small YAML file.

A file holds::

    map: |                 # . free  # wall  ~ lava; A starts, a is where A wants to be
      A.##.B
      b....a
      ..##..
    slip: 0.02             # probability that a step ends elsewhere
    hears: {B: [A]}        # B's policy uses what A tells
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from dplib.mdp.gridworld import ACTIONS
from dplib.planning.game import MarkovGame
from dplib.planning.grid import MapError, agents, grid_team
from dplib.planning.soft import Backups
from dplib.reader_files import ReaderFileError, load, refuse

__all__ = ["Mission", "read_mission"]

#: Joint positions times joint actions above which a synthesis takes many minutes.
MOST_CHOICES = 250_000
#: Cells above which the words of a single agent no longer fit into memory.
MOST_CELLS = 200

_NAME = {"type": "string", "minLength": 1, "maxLength": 1, "must": "one letter"}
_SCHEMA = {
    "type": "object",
    "required": ["map", "slip"],
    "properties": {
        "map": {"type": "string", "must": "rows of characters"},
        "slip": {
            "type": "number",
            "minimum": 0,
            "exclusiveMaximum": 1,
            "must": "a probability below 1",
        },
        "hears": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "items": _NAME,
                "must": "a list of agents, as {B: [A]}",
            },
            "must": "a mapping of agents to lists of agents, as {B: [A]}",
        },
    },
    "additionalProperties": False,
    "must": "a mapping of map, slip and hears",
}


@dataclass(frozen=True, eq=False)
class Mission:
    """A team of your own.

    Attributes
    ----------
    team : MarkovGame
        The problem.
    names : tuple of str
        Letters of the agents, in order.
    map : str
        The map as drawn.
    """

    team: MarkovGame
    names: tuple[str, ...]
    map: str


def read_mission(path: str | Path) -> Mission:
    """Read a file of the form above.

    Raises
    ------
    ReaderFileError
        What is wrong, and where, in one sentence.
    """
    path = Path(path)
    held: dict[str, Any] = load(path, _SCHEMA)
    drawn, hears = held["map"], held.get("hears", {})
    letters = agents(drawn)
    if not letters:
        raise refuse(path, "map", "a map with one agent or more, as A and a", drawn)
    cells = len("".join(drawn.split()))
    choices = (len(ACTIONS) * cells) ** len(letters)
    if cells > MOST_CELLS or choices > MOST_CHOICES:
        N, most = len(letters), int(MOST_CHOICES ** (1 / len(letters)) / len(ACTIONS))
        must = f"of {min(most, MOST_CELLS)} cells or fewer for {N} agents"
        raise refuse(path, "map", must, f"{cells} cells")
    _check_hears(path, hears, letters)
    depends = [sorted(map(letters.index, hears.get(name, ()))) for name in letters]
    try:
        team, names = grid_team(drawn, slip=held["slip"], depends=depends)
    except MapError as error:
        raise ReaderFileError(f"{path.name}: map: {error}.") from None
    if not Backups(team).mean(team.target.ravel().astype(float)).any():
        raise ReaderFileError(
            f"{path.name}: map: no moves bring all agents to their small letters, "
            "without lava and collisions."
        )
    return Mission(team, names, drawn)


def _check_hears(
    path: Path, hears: dict[str, list[str]], letters: tuple[str, ...]
) -> None:
    """Refuse who hears whom in the words in which it is written."""
    for name, on in hears.items():
        for one in (name, *on):
            if one not in letters:
                raise refuse(path, "hears", "about agents of the map", one)
        if name in on or len(set(on)) < len(on):
            must = "a list of other agents, each once"
            raise refuse(path, f"hears.{name}", must, ", ".join(on))
    try:
        TopologicalSorter(hears).prepare()
    except CycleError as error:
        circle = " hears ".join(reversed(error.args[1]))
        raise refuse(path, "hears", "free of circles", circle) from None
