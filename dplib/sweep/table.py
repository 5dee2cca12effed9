"""The tables of a sweep: rows of all points in one, states of all points in another.

Rows of different points must have the same columns. Those of the first finished
point set them; a point with others is left out of the table and counted as failed,
since cells that nobody filled would look like results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dplib.book.whole_files import table_text
from dplib.sweep.parameters import Value
from dplib.sweep.points import Point
from dplib.sweep.store import Result

__all__ = ["odd_columns", "text_of"]


def odd_columns(results: Sequence[Result | None]) -> dict[int, str]:
    """Return the numbers, from 0, of points whose columns are not the first one's.

    Examples
    --------
    >>> odd_columns([Result(({"x": 1},), {}), None, Result(({"y": 1},), {})])
    {2: 'Its columns (y) are not those of the first finished point (x).'}
    """
    first: list[str] | None = None
    odd = {}
    for number, result in enumerate(results):
        if result is None:
            continue
        columns = list(result.rows[0])
        if first is None:
            first = columns
        elif set(columns) != set(first):
            odd[number] = (
                f"Its columns ({', '.join(columns)}) are not those of the first "
                f"finished point ({', '.join(first)})."
            )
    return odd


def text_of(points: Sequence[Point], results: Sequence[Result | None]) -> str:
    """Return the table of all finished points, or "" if there is none.

    Parameters
    ----------
    points : sequence of dict
        All points, in order.
    results : sequence of Result or None
        What each left; None for those that are not finished or have odd columns.

    Returns
    -------
    str
        CSV: the parameters, then the columns of the rows.
    """
    pairs = [
        (point, result)
        for point, result in zip(points, results, strict=True)
        if result is not None
    ]
    if not pairs:
        return ""
    names, columns = list(pairs[0][0]), list(pairs[0][1].rows[0])
    lines: list[list[Value]] = [
        [*point.values(), *_ordered(row, columns)]
        for point, result in pairs
        for row in result.rows
    ]
    return table_text([*names, *columns], lines)


def _ordered(row: Mapping[str, Value], columns: Sequence[str]) -> list[Value]:
    return [row[name] for name in columns]
