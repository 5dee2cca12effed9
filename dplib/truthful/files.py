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

Every bad input is met with one sentence that names the file, the entry, what it must
be, and what it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dplib import check, strict_yaml
from dplib.strict_yaml import shown
from dplib.truthful.convex import find_slater_point
from dplib.truthful.problem import Problem, pairwise_constraint

__all__ = ["Team", "TeamFileError", "read_team"]

FloatArray = NDArray[np.float64]


class TeamFileError(ValueError):
    """A file does not describe a team; the message says where and why."""


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

    def index(self, name: str) -> int:
        """Return the number of the agent called `name`, from 0.

        Raises
        ------
        ValueError
            If there is no such agent.
        """
        if name not in self.names:
            known = ", ".join(self.names)
            raise ValueError(f"There is no agent {name!r}; there are {known}.")
        return self.names.index(name)


@dataclass(frozen=True)
class _Entry:
    """One entry of one of the two lists, with the words that find it in the file."""

    file: str
    name: str
    raw: dict[str, Any]

    def fail(self, field: str, must: str, got: object) -> NoReturn:
        raise TeamFileError(
            f"{self.file}: {self.name}: '{field}' must be {must}. Got {shown(got)}."
        )

    def only(self, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
        for field in self.raw:
            if field not in required + optional:
                known = ", ".join(required + optional)
                self.fail(str(field), f"one of the fields {known}", "an unknown field")
        for field in required:
            if field not in self.raw:
                self.fail(field, "given", "nothing")

    def number(self, field: str, value: object) -> float:
        must = "a number"
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                pass
            else:
                # YAML takes 1e-5 for text: it wants a point before the exponent.
                must = "a number without quotes, with a point before e: 1.0e-5"
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(field, must, value)
        try:
            number = float(value)
        except OverflowError:
            number = np.inf
        if not np.isfinite(number):
            self.fail(field, "a finite number", value)
        if abs(number) > check.LARGEST:
            must = f"at most {check.LARGEST:g} in size (choose other units)"
            self.fail(field, must, value)
        return number

    def numbers(self, field: str, value: object, count: int | None) -> list[float]:
        what = "a list of numbers" if count is None else f"a list of {count} numbers"
        if not isinstance(value, list) or not value:
            self.fail(field, what, value)
        if count is not None and len(value) != count:
            self.fail(field, what, value)
        return [self.number(field, one) for one in value]


def _entries(raw: dict[str, Any], field: str, file: str) -> list[_Entry]:
    items = raw[field]
    if not isinstance(items, list) or not items:
        raise TeamFileError(
            f"{file}: '{field}' must be a list of at least one entry. "
            f"Got {shown(items)}."
        )
    found = []
    for number, item in enumerate(items, start=1):
        name = f"{field.removesuffix('s')} {number}"
        if not isinstance(item, dict):
            raise TeamFileError(
                f"{file}: {name}: must be a mapping of fields. Got {shown(item)}."
            )
        if isinstance(item.get("name"), str):
            name += f" ({shown(item['name'])[1:-1]})"
        found.append(_Entry(file, name, item))
    return found


def _agent(entry: _Entry) -> tuple[str, list[list[float]], list[float], float]:
    entry.only(("name", "box", "target"), ("weight",))
    name = entry.raw["name"]
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        entry.fail("name", "a word", name)
    if name != name.strip():
        entry.fail("name", "a word without spaces around it", name)
    box = entry.raw["box"]
    if not isinstance(box, list) or not box:
        entry.fail("box", "a list of [low, high], one a coordinate", box)
    ends = [entry.numbers("box", interval, 2) for interval in box]
    for low, high in ends:
        if low > high:
            entry.fail("box", "intervals with low <= high (it is empty)", [low, high])
    target = entry.numbers("target", entry.raw["target"], len(ends))
    weight = entry.number("weight", entry.raw.get("weight", 1.0))
    if weight < 0.0:
        entry.fail("weight", "zero or greater", weight)
    return name, ends, target, weight


def _pairs(
    entry: _Entry, names: list[str], dims: list[int]
) -> tuple[FloatArray, FloatArray, float]:
    entry.only(("pairs", "limit"))
    limit = entry.number("limit", entry.raw["limit"])
    if limit <= 0.0:
        entry.fail("limit", "above zero (at zero no Slater point exists)", limit)
    if limit < 1e-60:
        must = "at least 1e-60 (choose other units)"
        entry.fail("limit", must, limit)
    pairs = entry.raw["pairs"]
    if not isinstance(pairs, list) or not pairs:
        entry.fail("pairs", "a list of pairs of names", pairs)
    numbers = []
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            entry.fail("pairs", "a list of pairs of names", pair)
        for one in pair:
            if one not in names:
                known = ", ".join(names)
                entry.fail("pairs", f"names of agents ({known})", one)
        i, k = (names.index(one) for one in pair)
        if i == k:
            entry.fail("pairs", "of two different agents", pair)
        if dims[i] != dims[k]:
            must = "of agents with equally many coordinates"
            entry.fail("pairs", must, f"{pair[0]}: {dims[i]}, {pair[1]}: {dims[k]}")
        numbers.append((i, k))
    return pairwise_constraint(dims, numbers, limit=limit)


def _matrix(entry: _Entry, n: int) -> tuple[FloatArray, FloatArray, float]:
    entry.only(("Q", "a", "c"))
    rows = entry.raw["Q"]
    if not isinstance(rows, list) or len(rows) != n:
        size = f"{n} rows (the coordinates of all agents)"
        entry.fail("Q", size, rows)
    Q = np.array([entry.numbers("Q", row, n) for row in rows])
    scale = float(np.abs(Q).max())
    if np.abs(Q - Q.T).max() > 1e-12 * scale:
        entry.fail("Q", "symmetric", Q.tolist())
    smallest = float(np.linalg.eigvalsh(Q)[0])
    if smallest < -1e-12 * n * scale:
        must = "positive semidefinite (the constraint is not convex otherwise)"
        entry.fail("Q", must, f"smallest eigenvalue {smallest:.6g}")
    a = np.array(entry.numbers("a", entry.raw["a"], n))
    return Q, a, entry.number("c", entry.raw["c"])


def read_team(path: str | Path) -> Team:
    """Return the team that a YAML file describes.

    Parameters
    ----------
    path : str or pathlib.Path
        The file; its form is at the head of `dplib.truthful.files`.

    Returns
    -------
    Team
        The problem, with Assumptions 1 and 2 checked, and the agents' names.

    Raises
    ------
    TeamFileError
        In one sentence: the file is missing or not YAML, an entry has a field
        too many or too few or of the wrong kind, sizes do not match, a box is
        empty, a name is unknown or used twice, a matrix is not positive
        semidefinite, or no Slater point exists or is found.

    Examples
    --------
    >>> read_team("nowhere.yml")
    Traceback (most recent call last):
    ...
    dplib.truthful.files.TeamFileError: nowhere.yml: there is no such file.
    """
    if not isinstance(path, str | Path):
        check.fail("path", "read_team", "a path", path, TypeError)
    path = Path(path)
    file = path.name or str(path)
    raw = strict_yaml.load(path, TeamFileError)
    if not isinstance(raw, dict) or set(raw) != {"agents", "constraints"}:
        got = list(raw) if isinstance(raw, dict) else raw
        raise TeamFileError(
            f"{file}: must hold the lists 'agents' and 'constraints', nothing else. "
            f"Got {shown(got)}."
        )
    names: list[str] = []
    boxes: list[list[float]] = []
    targets: list[float] = []
    weights: list[float] = []
    dims: list[int] = []
    for entry in _entries(raw, "agents", file):
        name, ends, target, weight = _agent(entry)
        if name in names:
            entry.fail("name", "used once", name)
        names.append(name)
        boxes.extend(ends)
        targets.extend(target)
        weights.append(weight)
        dims.append(len(ends))
    terms = []
    for entry in _entries(raw, "constraints", file):
        if "pairs" in entry.raw:
            terms.append(_pairs(entry, names, dims))
        else:
            terms.append(_matrix(entry, sum(dims)))
    Q, a, c = (np.array(part) for part in zip(*terms, strict=True))
    lower, upper = np.array(boxes).T
    problem = Problem(
        tuple(dims), lower, upper, np.array(targets), Q, a, c, np.array(weights)
    )
    try:
        slater = find_slater_point(problem)
    except (ValueError, RuntimeError) as error:
        # RuntimeError: a convex solver that gives up on the numbers.
        raise TeamFileError(f"{file}: {error}") from None
    return Team(problem, tuple(names), slater)
