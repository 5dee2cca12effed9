"""Rows that a batch notebook hands over to whoever collects them.

`record` shows a row as a small table, with a JSON output of its own type. In the
kernel of a sweep it also appends it to a file: outputs are messages, and a kernel that
sends very many loses some.
"""

from __future__ import annotations

import html
import json
import math
import numbers
import os
from pathlib import Path
from typing import Any

import numpy as np

from dplib import check
from dplib.book.rounding import shown

__all__ = ["FILE", "MIME_TYPE", "record", "row"]

#: Type of the output that holds a row.
MIME_TYPE = "application/vnd.dplib.row+json"
#: Environment variable that names a sweep's file of rows.
FILE = "DPLIB_SWEEP_ROWS"

Value = float | int | bool | str


def row(**values: object) -> dict[str, Value]:
    """Return a row of plain values: finite numbers, truth values, printable texts.

    Examples
    --------
    >>> row(epsilon=0.5, steps=np.int64(10), lie="none")
    {'epsilon': 0.5, 'steps': 10, 'lie': 'none'}
    """
    if not values:
        check.fail("values", "record", "at least one named value", values)
    return {name: _plain(name, value) for name, value in values.items()}


def _plain(name: str, value: object) -> Value:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        # Other control characters do not survive a CSV file.
        if not plain.replace("\n", "").replace("\t", "").isprintable():
            check.fail(name, "record", "printable text", value)
        return plain
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, numbers.Integral):
        return int(plain)
    if not isinstance(plain, numbers.Real):
        check.fail(name, "record", "a number or text", value, TypeError)
    if not math.isfinite(plain):
        check.fail(name, "record", "finite", value)
    return float(plain)


def record(**values: object) -> None:
    """Show one row of results, and leave it for a sweep to collect.

    Parameters
    ----------
    **values : float, int, bool or str
        As for `row`. Shown with six digits, kept in full.
    """
    from IPython.display import display

    kept = row(**values)
    cells = {
        name: shown(value) if isinstance(value, float) else str(value)
        for name, value in kept.items()
    }
    body = "".join(  # one below the other: a row is wider than a phone or a sheet
        f"<tr><th scope='row'>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
        for name, text in cells.items()
    )
    bundle: dict[str, Any] = {
        "text/html": f"<table class='sweep-row'><tbody>{body}</tbody></table>",
        "text/plain": ", ".join(f"{name} = {text}" for name, text in cells.items()),
        MIME_TYPE: kept,
    }
    display(bundle, raw=True)
    if FILE in os.environ:
        with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(kept) + "\n")
