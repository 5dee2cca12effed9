"""The points of a sweep: a grid, a list or a CSV file in, checked points out.

A *point* is a value for each parameter of the notebook that can be swept; those not
given keep their defaults. Two points that are the same after conversion (``1`` and
``1.0``, or a default given and left out) are a slip, and refused.
"""

from __future__ import annotations

import csv
import difflib
import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dplib import check
from dplib.sweep.parameters import Parameter, RefusedError, Value, convert

__all__ = ["Point", "axis", "checked", "describe", "from_csv", "grid_option"]

Point = dict[str, Value]
Parameters = tuple[Parameter, ...]

#: Points of one sweep; more are a slip, and would take hours to be listed.
MOST = 1_000_000
_RANGE = re.compile(r"([^:]+):([^:]+)(?::(log)?([0-9]{1,6}))?")


def grid_option(text: str) -> tuple[str, list[str]]:
    """Return name and values of ``NAME=VALUE,VALUE,...``, the values as text.

    A value that holds a comma, or no character, stands in double quotes.

    Examples
    --------
    >>> grid_option('lie=none,"a,b"')
    ('lie', ['none', 'a,b'])
    """
    name, _, rest = text.partition("=")
    try:
        rows = list(csv.reader([rest], strict=True))
    except csv.Error:
        rows = []
    if not name.strip() or len(rows) != 1 or not rows[0]:
        must = "of the form NAME=VALUE,VALUE,..."
        check.fail("--grid", "sweep", must, text, RefusedError)
    return name.strip(), rows[0]


def axis(
    parameter: Parameter, values: Sequence[object], where: str
) -> list[Sequence[object]]:
    """Return the values of one axis of a grid, each range as a sequence of its own.

    ``1:20`` is every whole number from 1 to 20, ``0:1:5`` five numbers evenly spaced,
    ``0.1:10:log5`` five spaced by a common factor; both ends belong to it. They have
    12 digits, and none after the point where the parameter is an integer.

    Examples
    --------
    >>> axis(Parameter("epsilon", float, 1.0), ["0.1:10:log5", "50"], "a notebook")
    [[0.1, 0.316227766017, 1.0, 3.16227766017, 10.0], ['50']]
    >>> axis(Parameter("seed", int, 1), ["1:4"], "a notebook")
    [range(1, 5)]
    """
    numeric = parameter.kind in (int, float)
    return [
        _spread(parameter, value, where)
        if numeric and isinstance(value, str) and ":" in value
        else [value]
        for value in values
    ]


def _spread(parameter: Parameter, text: str, where: str) -> Sequence[object]:
    match = _RANGE.fullmatch(text)
    if match is None:
        must = "a range, as 1:20, 0:1:5 or 0.1:10:log5"
        check.fail(parameter.name, where, must, text, RefusedError)
    *ends, logarithmic, count = match.groups()
    if count is None:
        return _whole(parameter, ends, text, where)
    number = Parameter(parameter.name, float, parameter.default)
    first, last = (float(convert(number, end, where)) for end in ends)
    if int(count) < 2 or (logarithmic and first * last <= 0):
        must = "a range of two or more numbers, without 0 if it is logarithmic"
        check.fail(parameter.name, where, must, text, RefusedError)
    with np.errstate(all="ignore"):
        spread = (np.geomspace if logarithmic else np.linspace)(first, last, int(count))
    if not np.isfinite(spread).all():
        check.fail(
            parameter.name, where, "a range of finite floats", text, RefusedError
        )
    # The last bits of a logarithm depend on the machine; those of a point must not.
    values = [first, *(float(f"{value:.12g}") for value in spread[1:-1]), last]
    return [round(value) for value in values] if parameter.kind is int else values


def _whole(
    parameter: Parameter, ends: Sequence[str], text: str, where: str
) -> Sequence[int]:
    """Return every whole number from one end to the other."""
    integer = Parameter(parameter.name, int, parameter.default)
    try:
        first, last = (int(convert(integer, end, where)) for end in ends)
    except RefusedError:
        first, last = 1, 0
    if first > last:
        must = "a range of whole numbers, or one with a count, as 0:1:5"
        check.fail(parameter.name, where, must, text, RefusedError)
    if last - first >= MOST:
        must = f"a range of at most {MOST} numbers"
        check.fail(parameter.name, where, must, text, RefusedError)
    return range(first, last + 1)


def from_csv(path: Path, parameters: Parameters, where: str) -> list[dict[str, Value]]:
    """Read points from a CSV file: names in its first line, then one point a line."""
    points: list[dict[str, Value]] = []
    seen: dict[str, int] = {}
    number = 1
    try:
        # utf-8-sig: spreadsheets begin a file with a mark, which is no part of a name.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = reader.fieldnames = [n.strip() for n in reader.fieldnames or []]
            if len(set(names)) < len(names):
                raise RefusedError("A name is there twice.")
            for line in reader:
                number = reader.line_num
                if None in line or None in line.values():
                    raise RefusedError(f"It must have {len(names)} values.")
                point = _converted(line, parameters, where)
                same = seen.setdefault(repr(point), number)
                if same != number:
                    raise RefusedError(f"It is the same as row {same}.")
                points.append(point)
    except RefusedError as error:
        raise RefusedError(f"Row {number} of {path}: {error}") from None
    except csv.Error as error:
        raise RefusedError(
            f"Row {reader.reader.line_num} of {path}: {error}."
        ) from None
    except UnicodeDecodeError:
        raise RefusedError(f"{path} cannot be read: it is not in UTF-8.") from None
    except OSError as error:
        raise RefusedError(f"{path} cannot be read: {error.strerror}.") from None
    if not points:
        raise RefusedError(f"{path} must hold a line of names and at least one point.")
    return points


def _converted(
    given: Mapping[str, object], parameters: Parameters, where: str
) -> dict[str, Value]:
    return {
        name: convert(_known(name, parameters, where), value, where)
        for name, value in given.items()
    }


def _known(name: str, parameters: Parameters, where: str) -> Parameter:
    """Return the parameter of a name; the nearest is suggested if there is none."""
    names = [parameter.name for parameter in parameters]
    if name not in names:
        near = difflib.get_close_matches(str(name), names, n=1)
        hint = f"did you mean '{near[0]}'?" if near else ", ".join(names)
        must = f"given by names in its parameters cell ({hint})"
        check.fail("points", where, must, name, RefusedError)
    return parameters[names.index(name)]


def checked(
    rows: Sequence[Mapping[str, object]],
    axes: Mapping[str, Any],
    parameters: Parameters,
    where: str,
) -> tuple[Point, ...]:
    """Return the points that rows and a grid make, converted exactly, each once.

    Each row meets every combination of the grid, whose last name is the fastest.

    Examples
    --------
    >>> cell = (Parameter("a", float, 0.5), Parameter("n", int, 1))
    >>> checked([{}], {"n": ["1:2"], "a": [3, 4]}, cell, "a notebook")[1:3]
    ({'a': 4.0, 'n': 1}, {'a': 3.0, 'n': 2})
    """
    if not rows:
        check.fail("points", where, "at least one point", rows, RefusedError)
    number, parts = len(rows), {}
    for name, values in axes.items():
        if isinstance(values, str) or not len(values):
            check.fail(name, where, "given a list of values", values, RefusedError)
        parts[name] = axis(_known(name, parameters, where), values, where)
        number *= sum(len(part) for part in parts[name])
    if number > MOST:
        check.fail("points", where, f"at most {MOST} points", number, RefusedError)
    grid: dict[str, list[Value]] = {}
    for name, found in parts.items():
        parameter = _known(name, parameters, where)
        grid[name] = [convert(parameter, v, where) for part in found for v in part]
    defaults = {p.name: p.default for p in parameters if p.kind is not None}
    points: list[Point] = []
    seen: dict[str, int] = {}
    for row in rows:
        twice = sorted(row.keys() & grid.keys())
        if twice:
            must = "of names that no single point gives"
            check.fail("grid", where, must, twice[0], RefusedError)
        fixed = defaults | _converted(row, parameters, where)
        for values in itertools.product(*grid.values()):
            point = fixed | dict(zip(grid, values, strict=True))
            points.append(point)
            same = seen.setdefault(repr(point), len(points))
            if same != len(points):
                raise RefusedError(
                    f"Points {same} and {len(points)} are the same: {describe(point)}."
                )
    return tuple(points)


def describe(point: Mapping[str, Value]) -> str:
    """Return a point on one line.

    Examples
    --------
    >>> describe({"epsilon": 0.1, "lie": "none"})
    "epsilon=0.1 lie='none'"
    """
    return " ".join(f"{name}={value!r}" for name, value in point.items())
