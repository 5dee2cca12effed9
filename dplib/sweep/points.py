"""The points of a sweep: a grid, a list or a CSV file in, checked points out.

A *point* is a value for each parameter of the notebook that can be swept; those not
given keep their defaults. Points keep the order in which they were given: a grid
counts like an odometer, its last name fastest. Two points that are the same after
conversion (``1`` and ``1.0``, or a default given and left out) are a slip, and
refused.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dplib import check
from dplib.sweep.errors import RefusedError
from dplib.sweep.parameters import Parameter, Value, assignment, known

__all__ = ["Point", "checked", "describe", "from_csv", "grid", "grid_option", "product"]

Point = dict[str, Value]


def grid(axes: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Yield every combination of the values of a grid, the last name fastest.

    Parameters
    ----------
    axes : mapping of str to sequence
        For each name its values: a list, tuple, range or one-dimensional array.

    Raises
    ------
    TypeError, ValueError
        If there is no name, or a name has no values, or something else.

    Examples
    --------
    >>> list(grid({"a": [1, 2], "b": ["x"]}))
    [{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'x'}]
    """
    if not axes:
        check.fail("grid", "sweep", "at least one name with its values", axes)
    for name, values in axes.items():
        must = "a list of at least one value"
        array = isinstance(values, np.ndarray) and values.ndim == 1
        if not array and not isinstance(values, list | tuple | range):
            check.fail(str(name), "the grid of sweep", must, values, TypeError)
        if len(values) == 0:
            check.fail(str(name), "the grid of sweep", must, values)
    return (
        dict(zip(axes, values, strict=True))
        for values in itertools.product(*axes.values())
    )


def grid_option(text: str) -> tuple[str, list[str]]:
    """Return name and values of ``NAME=VALUE,VALUE,...``, the values as text.

    A value that holds a comma, or no character, stands in double quotes.

    Raises
    ------
    ValueError
        If the text is of another shape.

    Examples
    --------
    >>> grid_option('lie=none,"a,b"')
    ('lie', ['none', 'a,b'])
    """
    name, equals, rest = text.partition("=")
    must = "of the form NAME=VALUE,VALUE,..."
    if not equals or not name.strip():
        check.fail("--grid", "sweep", must, text)
    try:
        rows = list(csv.reader([rest], strict=True))
    except csv.Error:
        check.fail("--grid", "sweep", must + " with whole quotes", text)
    if len(rows) != 1 or not rows[0]:
        check.fail("--grid", "sweep", must + " with at least one value", text)
    return name.strip(), rows[0]


def from_csv(path: Path) -> list[dict[str, object]]:
    """Read points from a CSV file: names in its first line, then one point a line.

    Raises
    ------
    RefusedError
        If the file cannot be read, a name is missing or there twice, a line has
        another number of values, or there is no line.
    """
    try:
        # utf-8-sig: spreadsheets begin a file with a mark, which is no part of a name.
        text = path.read_bytes().decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, ""), strict=True)
        lines = [(number, line) for number, line in enumerate(reader, start=1) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = str(error)
        if isinstance(error, OSError):
            reason = error.strerror or reason
        elif isinstance(error, UnicodeDecodeError):
            reason = "it is not in UTF-8"
        raise RefusedError(f"The points of {path} cannot be read: {reason}.") from None
    if len(lines) < 2:
        raise RefusedError(
            f"The file {path} must hold a line of names and at least one point."
        )
    names = [name.strip() for name in lines[0][1]]
    for name in names:
        if not name:
            raise RefusedError(f"The file {path} has a column without a name.")
        if names.count(name) > 1:
            raise RefusedError(f"The file {path} has the column '{name}' twice.")
    result: list[dict[str, object]] = []
    for number, line in lines[1:]:
        if len(line) != len(names):
            raise RefusedError(
                f"Row {number} of {path} must have a value for each of the "
                f"{len(names)} names. Got {len(line)} instead."
            )
        result.append(dict(zip(names, line, strict=True)))
    return result


def product(
    rows: Sequence[Mapping[str, object]], axes: Mapping[str, Any]
) -> Iterator[dict[str, object]]:
    """Yield each row together with every combination of a grid.

    Raises
    ------
    ValueError
        If a name is in both.
    """
    for name in axes:
        if name in rows[0]:
            check.fail("--grid", "sweep", "of names that the file lacks", name)
    combinations = list(grid(axes))
    return ({**row, **more} for row in rows for more in combinations)


def checked(
    points: object, parameters: tuple[Parameter, ...], where: str
) -> list[Point]:
    """Return the points of a grid or list, converted exactly, each of them once.

    Parameters
    ----------
    points : mapping of str to sequence, or sequence of mappings
        A grid, or the points themselves.
    parameters : tuple of Parameter
        From `dplib.sweep.parameters.read_cell`.
    where : str
        Name of the notebook, for messages.

    Raises
    ------
    TypeError, ValueError
        If a name or value is wrong, a point is there twice, or there is none.
    """
    if isinstance(points, Mapping):
        for name, values in points.items():
            known(name, parameters, where, values)
        points = list(grid(points))
    must = "a grid or a list of at least one point"
    if not isinstance(points, Sequence) or isinstance(points, str):
        check.fail("points", "sweep", must, points, TypeError)
    if not points:
        check.fail("points", "sweep", must, points)
    seen: dict[tuple[str, ...], int] = {}
    result = []
    for number, given in enumerate(points, start=1):
        if not isinstance(given, Mapping):
            must = "made of mappings from names to values"
            check.fail("points", "sweep", must, given, TypeError)
        point = assignment(given, parameters, where)
        same = tuple(map(repr, point.values()))
        if same in seen:
            raise ValueError(
                f"The 'points' parameter of sweep must hold each point once. Points "
                f"{seen[same]} and {number} are the same: {describe(point)}."
            )
        seen[same] = number
        result.append(point)
    return result


def describe(point: Mapping[str, Value]) -> str:
    """Return a point on one line.

    Examples
    --------
    >>> describe({"epsilon": 0.1, "lie": "none"})
    "epsilon=0.1 lie='none'"
    """
    return " ".join(f"{name}={value!r}" for name, value in point.items())
