r"""Your own team: a problem read from a small YAML file.

Hale & Egerstedt (arXiv 1509.08161), Section II-A: any number of agents, boxes, weighted
squared distances from targets, convex quadratic constraints (`dplib.truthful.problem`).

A file holds two lists::

    agents:
      - name: ada
        box: [[-10, 10], [-10, 10]]   # [low, high] of each coordinate
        target: [6, -4]
        weight: 1.0                   # optional, 1 by default
    constraints:
      - pairs: [[ada, ben], [ada, cy]]  # sum of squared distances ...
        limit: 5.0                      # ... at most this
      - Q: [[2, 0], [0, 2]]           # or 0.5 x'Qx + a'x + c <= 0, x being
        a: [0, 0]                     # the states of all agents in the
        c: -1.0                       # order of the list above

Every bad input is met with one sentence that names the file, the place, what must
stand there, and what did.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplib.reader_files import ReaderFileError, load, refuse
from dplib.truthful.problem import Problem, pairwise_constraint
from dplib.truthful.saddle import find_slater_point

__all__ = ["Team", "read_team"]

FloatArray = NDArray[np.float64]


def _list(items: dict[str, Any], must: str, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1, "must": must} | more


def _fields(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": required | optional,
        "required": list(required),
        "additionalProperties": False,
        "must": f"the fields {', '.join(required)}",
    }


_NUMBER = {"type": "number", "must": "a number"}
_NUMBERS = _list(_NUMBER, "a list of numbers")
_TWO = {"minItems": 2, "maxItems": 2}
_WORD = {"type": "string", "pattern": r"^\S(.*\S)?$", "must": "a word"}
_AGENT = _fields(
    {
        "name": _WORD,
        "box": _list(
            _list(_NUMBER, "an interval [low, high]", **_TWO),
            "a list of [low, high], one a coordinate",
        ),
        "target": _NUMBERS,
    },
    weight=_NUMBER | {"minimum": 0, "must": "a number, 0 or greater"},
)
_PAIRS = _fields(
    {
        "pairs": _list(_list(_WORD, "a pair of names", **_TWO), "a list of pairs"),
        "limit": _NUMBER
        | {
            "exclusiveMinimum": 0,
            "must": "a number above 0 (at 0 no Slater point exists)",
        },
    }
)
_MATRIX = _fields({"Q": _list(_NUMBERS, "a list of rows"), "a": _NUMBERS, "c": _NUMBER})
_SCHEMA = _fields(
    {
        "agents": _list(_AGENT, "a list of agents"),
        "constraints": _list(
            {"if": {"required": ["pairs"]}, "then": _PAIRS, "else": _MATRIX},
            "a list of constraints",
        ),
    }
)


@dataclass(frozen=True, eq=False)
class Team:
    """A problem whose agents have names.

    Attributes
    ----------
    problem : Problem
        The instance.
    names : tuple of str
        Names of the agents, in the problem's order.
    slater : numpy.ndarray, shape (n,)
        A Slater point, found by a convex program and checked.
    """

    problem: Problem
    names: tuple[str, ...]
    slater: FloatArray


def _constraint(
    path: Path, place: str, held: dict[str, Any], names: list[str], dims: list[int]
) -> tuple[FloatArray, FloatArray, float]:
    """Return (Q, a, c) of one entry of the second list."""
    n = sum(dims)
    if "Q" in held:
        if [len(row) for row in held["Q"]] != [n] * n:
            must = f"{n} rows of {n} numbers, one for each coordinate of all agents"
            raise refuse(path, f"{place}.Q", must, held["Q"])
        if len(held["a"]) != n:
            raise refuse(path, f"{place}.a", f"a list of {n} numbers", held["a"])
        return np.array(held["Q"], float), np.array(held["a"], float), held["c"]
    pairs = []
    for pair in held["pairs"]:
        if not set(pair) <= set(names):
            must = f"names of agents ({', '.join(names)})"
            raise refuse(path, f"{place}.pairs", must, pair)
        i, k = (names.index(name) for name in pair)
        if i == k or dims[i] != dims[k]:
            must = "of two different agents with equally many coordinates"
            raise refuse(path, f"{place}.pairs", must, pair)
        if (i, k) in pairs or (k, i) in pairs:
            raise refuse(path, f"{place}.pairs", "of pairs named once", pair)
        pairs.append((i, k))
    return pairwise_constraint(dims, pairs, limit=held["limit"])


def read_team(path: str | Path) -> Team:
    """Return the team that a YAML file describes, Assumptions 1 and 2 checked.

    Raises
    ------
    ReaderFileError
        In one sentence, if the file does not describe a team, or the team has no
        Slater point, or none is found.
    """
    path = Path(path)
    held = load(path, _SCHEMA)
    agents = held["agents"]
    names = [one["name"] for one in agents]
    dims = [len(one["box"]) for one in agents]
    for at, one in enumerate(agents):
        place, size = f"agents[{at}]", dims[at]
        if one["name"] in names[:at]:
            raise refuse(path, f"{place}.name", "used once", one["name"])
        if len(one["target"]) != size:
            must = f"a list of {size} numbers, as many as the box has intervals"
            raise refuse(path, f"{place}.target", must, one["target"])
        for low, high in one["box"]:
            if low > high:
                must = "of intervals with low <= high"
                raise refuse(path, f"{place}.box", must, [low, high])
    terms = [
        _constraint(path, f"constraints[{at}]", one, names, dims)
        for at, one in enumerate(held["constraints"])
    ]
    Q, a, c = (np.array(part) for part in zip(*terms, strict=True))
    lower, upper = np.concatenate([one["box"] for one in agents]).T
    targets = np.concatenate([one["target"] for one in agents])
    weights = np.array([one.get("weight", 1.0) for one in agents])
    try:
        problem = Problem(tuple(dims), lower, upper, targets, Q, a, c, weights)
        slater = find_slater_point(problem)
    except (ValueError, RuntimeError) as error:
        # RuntimeError: a convex solver that gives up on the numbers.
        raise ReaderFileError(f"{path.name}: {error}") from None
    return Team(problem, tuple(names), slater)
