"""Your own network: reactions, robots and an observer, read from a small YAML file.

A file holds::

    reactions: |                  # or  sbml: my_network.xml
      A + R <-> AR : 3, 1
      B + R <-> BR : 1, 1
    robots: {A: 2, B: 1}          # how many start in each home species
    others: {R: 2}                # public populations, if there are any
    seen:                         # what is counted together; the sets are disjoint
      free: [A, B]
      busy: [AR, BR]
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dplib.macroscopic.network import Network, NetworkError, parse
from dplib.macroscopic.swarm import Counts, Swarm, observing
from dplib.reader_files import ReaderFileError, load

__all__ = ["NetworkFile", "read_network"]

_COUNT = {
    "type": "integer",
    "minimum": 0,
    "maximum": 10_000,
    "must": "a whole number from 0 to 10000",
}
_COUNTS = {
    "type": "object",
    "additionalProperties": _COUNT,
    "must": "a mapping of species to numbers, as {A: 2, B: 1}",
}
_SEEN = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {
        "type": "array",
        "minItems": 1,
        "items": {"type": "string"},
        "must": "a list of species",
    },
    "must": "a mapping of names to lists of species, as {busy: [AR, BR]}",
}
_TEXT = {"type": "string", "must": "a text"}
_SCHEMA = {
    "type": "object",
    "required": ["robots", "seen"],
    "properties": {
        "reactions": _TEXT,
        "sbml": _TEXT,
        "robots": _COUNTS | {"minProperties": 2},
        "others": _COUNTS,
        "seen": _SEEN,
    },
    "additionalProperties": False,
    "oneOf": [{"required": ["reactions"]}, {"required": ["sbml"]}],
    "must": "a mapping of robots, seen, and one of reactions and sbml",
}


@dataclass(frozen=True, eq=False)
class NetworkFile:
    """A swarm of your own.

    Attributes
    ----------
    swarm : Swarm
        Network, home species, observer.
    types, seen : tuple of str
        Names of the types (their home species), and of the observed values.
    counts : tuple of int
        Number of robots of each type.
    """

    swarm: Swarm
    types: tuple[str, ...]
    seen: tuple[str, ...]
    counts: Counts


def read_network(path: str | Path) -> NetworkFile:
    """Read a file of the form above.

    Raises
    ------
    ReaderFileError
        What is wrong, and where, in one sentence.
    """
    path = Path(path)
    held: dict[str, Any] = load(path, _SCHEMA)
    try:
        network = _network(path, held)
        swarm = observing(
            network,
            tuple(held["robots"]),
            tuple(held["seen"].values()),
            held.get("others"),
        )
    except ValueError as error:
        raise ReaderFileError(f"{path.name}: {error}") from None
    robots = held["robots"]
    return NetworkFile(swarm, tuple(robots), tuple(held["seen"]), (*robots.values(),))


def _network(path: Path, held: dict[str, Any]) -> Network:
    if "reactions" in held:
        try:
            return parse(held["reactions"])
        except NetworkError as error:
            raise NetworkError(f"reactions, {error}") from None
    try:
        from dplib.macroscopic.sbml import read_sbml
    except ImportError:
        raise NetworkError("SBML needs the package python-libsbml") from None
    return read_sbml(path.parent / held["sbml"])
