"""The picture of the front page: what is promised, and what is given away.

Where a paper promises ε = 1, how large is the ε that its messages really have? Each
mark follows from what a check left in a notebook; no value is typed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ledger_book import TITLES, Snapshot

__all__ = ["ROWS", "Row", "promises"]

LEFT, RIGHT = 196.0, 450.0  # where the axis begins and ends
LOW, HIGH = -2.5, 4.6  # of the axis, in powers of two
TOP, STEP = 66, 54  # the first row, and from one to the next
TICKS = {-2: "¼", -1: "½", 0: "1", 1: "2", 2: "4", 3: "8", 4: "16"}


def _value(output: Any) -> float:
    return float(output["value"])


@dataclass(frozen=True)
class Row:
    """One paper: what its ε is about, and how the true one follows from checks."""

    chapter: str
    what: str
    marks: dict[str, Callable[[Any], float]]  # by claim


ROWS = (
    Row("planning", "a whole walk", {"planning.ours.tight": lambda o: 1 - _value(o)}),
    Row("truthful", "messages of two steps", {"truthful.ours.lost": _value}),
    Row(
        "rewards",
        "Algorithms 2 and 1",
        {
            "rewards.ours.alg2-true-epsilon": _value,
            "rewards.ours.alg1-true-epsilon": _value,
        },
    ),
    Row(
        "dpmac",
        "messages of one step",
        {"dpmac.sec7.budgets": lambda o: 1 - o["margin"]["published code"]},
    ),
)


def _x(value: float) -> float:
    share = (math.log2(value) - LOW) / (HIGH - LOW)
    return round(LEFT + share * (RIGHT - LEFT), 1)


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x}" y="{y}" {style}>{words}</text>'


def _axis(bottom: int) -> Iterator[str]:
    middle = 'text-anchor="middle"'
    for power, words in TICKS.items():
        x = _x(2.0**power)
        style = 'stroke-width="2"' if power == 0 else 'stroke-opacity="0.25"'
        yield f'<path d="M{x} 26V{bottom}" stroke="currentColor" {style}/>'
        yield _text(x, bottom + 19, words, middle)
    yield _text(_x(1), 18, "promised", middle)
    yield _text((LEFT + RIGHT) / 2, bottom + 40, "ε that is given away", middle)


def promises(book: Snapshot) -> str:
    """Return the picture, in the colours of the page that it stands on."""
    bottom = TOP + STEP * (len(ROWS) - 1) + 22
    parts, said = list(_axis(bottom)), []
    for number, row in enumerate(ROWS):
        y = TOP + STEP * number
        parts.append(_text(2, y - 3, TITLES[row.chapter], 'font-weight="bold"'))
        parts.append(_text(2, y + 16, row.what))
        values = [true(book.outputs[name].payload) for name, true in row.marks.items()]
        for value in values:
            colour = "refuted" if value > 1 + 1e-6 else "reproduced"
            style = 'text-anchor="middle" font-weight="bold" class="value"'
            x, shown = _x(value), f"{value:.2g}"
            parts.append(
                f'<circle cx="{x}" cy="{y}" r="8" fill="var(--verdict-{colour})"/>'
            )
            parts.append(_text(x, y - 13, shown, style))
        numbers = " and ".join(f"{value:.2g}" for value in values)
        said.append(f"{TITLES[row.chapter]}, {row.what}: {numbers}")
    return (
        f'<svg class="promises" viewBox="0 0 460 {bottom + 48}" role="img" '
        'aria-labelledby="promises-title promises-desc" font-size="15" '
        'font-family="inherit" fill="currentColor">'
        '<title id="promises-title">The true ε where an ε of 1 is promised</title>'
        f'<desc id="promises-desc">{"; ".join(said)}.</desc>{"".join(parts)}</svg>'
    )
