"""Rows that a batch notebook hands over to whoever collects them.

A batch notebook computes one point: its parameters in, rows out. `record` shows a row
as a small table, with a JSON output of its own type; in the kernel of a sweep it also
notes it down (`dplib.sweep.watch`), and from these notes the sweep makes one table.
"""

from __future__ import annotations

import html
import math
import numbers
import unicodedata
from typing import Any

import numpy as np

from dplib import check
from dplib.book.rounding import shown
from dplib.sweep.watch import note_row

__all__ = ["MIME_TYPE", "record", "row"]

#: Type of the output that holds a row.
MIME_TYPE = "application/vnd.dplib.row+json"

Value = float | int | bool | str


def row(**values: object) -> dict[str, Value]:
    """Return a row of plain values, checked.

    Parameters
    ----------
    **values : float, int, bool or str
        At least one. Numbers of numpy are turned into Python's.

    Returns
    -------
    dict
        Names to values, in the order given, floats to the last bit.

    Raises
    ------
    TypeError, ValueError
        If there is no value, one is neither number nor text, a number is not finite,
        or a text has letters that do not survive a CSV file: control characters
        other than tab and newline, and halves of surrogate pairs.

    Examples
    --------
    >>> row(epsilon=0.5, steps=np.int64(10), lie="none")
    {'epsilon': 0.5, 'steps': 10, 'lie': 'none'}
    """
    if not values:
        check.fail("values", "record", "at least one named value", values)
    result: dict[str, Value] = {}
    for name, value in values.items():
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, str):
            strange = {c for c in plain if unicodedata.category(c) in ("Cc", "Cs")}
            if strange - {"\t", "\n"}:
                check.fail(name, "record", "free of control characters", value)
            result[name] = plain
        elif isinstance(plain, bool):
            result[name] = plain
        elif isinstance(plain, numbers.Integral):
            result[name] = int(plain)
        elif isinstance(plain, numbers.Real):
            number = float(plain)
            if not math.isfinite(number):
                check.fail(name, "record", "finite", value)
            result[name] = number
        else:
            check.fail(name, "record", "a number or text", value, TypeError)
    return result


def record(**values: object) -> None:
    """Show one row of results, and leave it for a sweep to collect.

    Parameters
    ----------
    **values : float, int, bool or str
        As for `row`. Shown with six digits, kept in full.

    Raises
    ------
    TypeError, ValueError
        As `row`.
    """
    from IPython.display import display

    kept = row(**values)
    cells = {name: _shown(value) for name, value in kept.items()}
    head = "".join(f"<th>{html.escape(name)}</th>" for name in cells)
    body = "".join(f"<td>{html.escape(text)}</td>" for text in cells.values())
    bundle: dict[str, Any] = {
        "text/html": f"<table><thead><tr>{head}</tr></thead>"
        f"<tbody><tr>{body}</tr></tbody></table>",
        "text/plain": ", ".join(f"{name} = {text}" for name, text in cells.items()),
        MIME_TYPE: kept,
    }
    display(bundle, raw=True)
    note_row(kept)


def _shown(value: Value) -> str:
    return shown(value) if isinstance(value, float) else str(value)
