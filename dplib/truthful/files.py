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

import re
import reprlib
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import yaml
from numpy.typing import NDArray

from dplib import check
from dplib.truthful import _limits
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


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, without what means something else than it looks like.

    A key given twice is an error, and so is a number that YAML 1.1 does not read as
    decimal: 010 would be 8, 1:30 would be 90.
    """


def _shown(value: object) -> str:
    """Return at most 80 characters of what was found."""
    # Lists cut while they are written: aliases can make them of any size.
    cut = reprlib.Repr()
    cut.maxlevel, cut.maxstring, cut.maxother = 3, 80, 80
    shown = " ".join(cut.repr(value).split())
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _number(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    text = node.value
    if not re.fullmatch(
        r"[-+]?(\d|[1-9]\d*|\d*\.\d*(e[-+]?\d+)?|\.(inf|nan))", text, re.I
    ):
        at = f"line {node.start_mark.line + 1}"
        raise TeamFileError(f"{at}: {text[:40]!r} must be written as a plain decimal.")
    if node.tag.endswith("float"):
        return float(loader.construct_yaml_float(node))
    return int(loader.construct_yaml_int(node))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    at = f"line {node.start_mark.line + 1}"
    if not isinstance(node, yaml.MappingNode):  # tagged as what it is not
        raise TeamFileError(f"{at}: fields must be written as 'name: value'.")
    for key_node, _ in node.value:
        at = f"line {key_node.start_mark.line + 1}"
        if key_node.tag == "tag:yaml.org,2002:merge":
            raise TeamFileError(f"{at}: '<<' is not read; write the fields out.")
        key = loader.construct_object(key_node)
        if not isinstance(key, Hashable):
            raise TeamFileError(f"{at}: a field's name must be a word.")
        if key in seen:
            raise TeamFileError(f"{at}: the field {key!r} is given twice.")
        seen.add(key)
    return loader.construct_mapping(node)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _number)
_Loader.add_constructor("tag:yaml.org,2002:float", _number)


@dataclass(frozen=True)
class _Entry:
    """One entry of one of the two lists, with the words that find it in the file."""

    file: str
    name: str
    raw: dict[str, Any]

    def fail(self, field: str, must: str, got: object) -> NoReturn:
        raise TeamFileError(
            f"{self.file}: {self.name}: '{field}' must be {must}. Got {_shown(got)}."
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
        if abs(number) > _limits.LARGEST:
            must = f"at most {_limits.LARGEST:g} in size (choose other units)"
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
            f"Got {_shown(items)}."
        )
    found = []
    for number, item in enumerate(items, start=1):
        name = f"{field.removesuffix('s')} {number}"
        if not isinstance(item, dict):
            raise TeamFileError(
                f"{file}: {name}: must be a mapping of fields. Got {_shown(item)}."
            )
        if isinstance(item.get("name"), str):
            name += f" ({_shown(item['name'])[1:-1]})"
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
    if limit < _limits.SMALLEST:
        must = f"at least {_limits.SMALLEST:g} (choose other units)"
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


def _loaded(path: Path, file: str) -> Any:
    """Return what a file holds, or say why it cannot be read."""
    try:
        if not path.is_file():
            raise TeamFileError(f"{file}: there is no such file.")
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as error:
        reason = str(error.strerror)
        raise TeamFileError(f"{file[:80]}: cannot be read: {reason}.") from None
    except UnicodeDecodeError as error:
        reason = f"Got byte {error.object[error.start]:#04x} at {error.start}"
        raise TeamFileError(f"{file}: must be text in UTF-8. {reason}.") from None
    except RecursionError:
        raise TeamFileError(f"{file}: not YAML: nested too deeply.") from None
    except TeamFileError as error:
        said = str(error)
        prefix = "" if said.startswith(f"{file}: ") else f"{file}: "
        raise TeamFileError(prefix + said) from None
    except (yaml.YAMLError, ValueError, KeyError, TypeError) as error:
        # Values that do not fit their tags, a date that no calendar has.
        reason = " ".join(str(error).split()).rstrip(".")
        raise TeamFileError(f"{file}: not YAML: {reason}.") from None


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
    raw = _loaded(path, file)
    if not isinstance(raw, dict) or set(raw) != {"agents", "constraints"}:
        got = list(raw) if isinstance(raw, dict) else raw
        raise TeamFileError(
            f"{file}: must hold the lists 'agents' and 'constraints', nothing else. "
            f"Got {_shown(got)}."
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
