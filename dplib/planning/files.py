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
from pathlib import Path
from typing import Any

from dplib.planning.game import MarkovGame
from dplib.planning.grid import MapError, grid_team
from dplib.reader_files import ReaderFileError, load, refuse

__all__ = ["Mission", "read_mission"]

#: Joint states above which a synthesis takes minutes.
LARGEST = 8000

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
    drawn = held["map"]
    letters = sorted({c.upper() for c in drawn if c.isalpha()})
    if not letters:
        raise refuse(path, "map", "a map with one agent or more, as A and a", drawn)
    size = len("".join(drawn.split())) ** len(letters)
    if size > LARGEST:
        must = f"a map with {LARGEST} joint positions or fewer"
        raise refuse(path, "map", must, f"{size} positions")
    hears = held.get("hears", {})
    for name in [*hears, *(one for on in hears.values() for one in on)]:
        if name not in letters:
            raise refuse(path, "hears", "about agents of the map", name)
    depends = [
        sorted(letters.index(one) for one in hears.get(name, ())) for name in letters
    ]
    try:
        team, names = grid_team(drawn, slip=held["slip"], depends=depends)
    except MapError as error:
        raise ReaderFileError(f"{path.name}: map: {error}.") from None
    except ValueError as error:
        raise ReaderFileError(f"{path.name}: {error}") from None
    return Mission(team, names, drawn)
