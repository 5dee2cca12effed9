"""Explorers: a slider over a table of computed values, on a page without a server.

`show` writes the table. In the built book ``book/_static/explorer.js`` puts a slider
above it, which shows one row at a time and a small curve for each column, with values
on its axes, and folds the table. The script reads the cells, so that slider and table
cannot disagree; where it does not run (JupyterLab, a browser without scripts) the table
is all there is, and paper shows the curves and the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.book.rounding import shown

__all__ = ["Column", "markup", "show"]


@dataclass(frozen=True)
class Column:
    """One quantity of an explorer.

    Attributes
    ----------
    label : str
        What it is, without its unit.
    values : array_like
        Its values, finite, one for each position of the slider.
    text : callable
        Writes a value as a reader sees it, with its unit; also on the axis, for 0,
        half the upper end and the upper end.
    top : float, optional
        Upper end of the curve, whose lower end is 0; the largest value if None. Columns
        that are to be compared need the same.
    """

    label: str
    values: ArrayLike
    text: Callable[[float], str]
    top: float | None = None


def markup(
    name: str, *, over: str, at: Sequence[str], start: str, columns: Sequence[Column]
) -> str:
    """Return the table of an explorer as HTML; arguments as for `show`.

    Examples
    --------
    >>> half = Column("half of it", [0.5, 1.0], str)
    >>> text = markup("halves", over="x", at=["1", "2"], start="2", columns=[half])
    >>> "<th scope='row'>1</th><td data-value='0.5'>0.5</td>" in text
    True
    """
    check.member("start", start, "explorer.show", at)
    labels = [over, *(column.label for column in columns)]
    head = "".join(f"<th scope='col'>{escape(label)}</th>" for label in labels)
    cells, tops, ticks = [], [], []
    for column in columns:
        values = check.array(
            "values", column.values, "explorer.Column", shape=(len(at),)
        )
        top = float(np.max(values)) if column.top is None else column.top
        tops.append(shown(check.positive("top", top, "explorer.Column")))
        ticks.append([column.text(value) for value in (top, top / 2, 0.0)])
        cells.append(
            [
                f"<td data-value='{shown(value)}'>{escape(column.text(value))}</td>"
                for value in values.tolist()
            ]
        )
    rows = [
        f"<tr><th scope='row'>{escape(position)}</th>{''.join(row)}</tr>"
        for position, *row in zip(at, *cells, strict=True)
    ]
    body = "\n".join(rows)
    return (
        f"<div class='explorer' id='explorer-{escape(name)}' "
        f"data-start='{list(at).index(start)}' data-tops='{' '.join(tops)}' "
        f"data-ticks='{escape(json.dumps(ticks))}'>\n"
        f"<table class='explorer-table'>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def show(
    name: str, *, over: str, at: Sequence[str], start: str, columns: Sequence[Column]
) -> None:
    """Show an explorer.

    Parameters
    ----------
    name : str
        Unique on the page, in small letters and hyphens.
    over : str
        What the slider moves.
    at : sequence of str
        The positions of the slider, as a reader sees them.
    start : str
        The one to begin with.
    columns : sequence of Column
        What is shown for each position.
    """
    from IPython.display import display

    html = markup(name, over=over, at=at, start=start, columns=columns)
    words = f"<explorer of {len(columns)} quantities over {over}>"
    display({"text/html": html, "text/plain": words}, raw=True)
