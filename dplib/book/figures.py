"""Figures of the book: one style, and SVG that is the same on every run.

`use_style` sets the one look of the book; `show` writes a figure as SVG in a
canonical form (no date, no random ids, coordinates rounded), so that two runs give the
same bytes, and another processor the same picture (`dplib.book.outputs`). The paper's
values are open marks (`PAPER`), ours are lines (`OURS` and the palette); colours are
safe for colour-blind readers. Caption and alt text belong to the cell that draws, in
its ``mystnb`` header, not to this module.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

from dplib.book.outputs import LENGTHS, STRUCTURE

__all__ = ["OURS", "PALETTE", "PAPER", "canonical_svg", "show", "use_style"]

#: Ten colours that stay apart for colour-blind readers and on grey paper.
PALETTE: tuple[str, ...] = tuple(sns.color_palette("colorblind").as_hex())

#: Keyword arguments that draw a value of ours: a line in the first colour.
OURS: Mapping[str, Any] = {"color": PALETTE[0], "linewidth": 1.8}

#: Keyword arguments that draw a value as the paper prints it: an open mark.
PAPER: Mapping[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 8,
    "markerfacecolor": "none",
    "markeredgecolor": "#222222",
    "markeredgewidth": 1.5,
}

_RC = {
    "figure.figsize": (6.4, 3.6),
    "figure.facecolor": "white",
    "axes.grid": True,
    "axes.titlesize": "medium",
    "grid.linewidth": 0.5,
    "grid.color": "#d8d8d8",
    "legend.frameon": False,
    # The font that comes with matplotlib: not one that only some machines have.
    "font.family": "DejaVu Sans",
    # Which points of a curve seem superfluous depends on last bits.
    "path.simplify": False,
    "svg.hashsalt": "dplib",
    "svg.fonttype": "path",
}


def use_style() -> None:
    """Set matplotlib to the book's look; call it once, in the import cell.

    Examples
    --------
    >>> use_style()
    >>> plt.rcParams["svg.hashsalt"]
    'dplib'
    """
    plt.rcdefaults()  # whatever a matplotlibrc or an earlier cell has set
    sns.set_theme(context="notebook", style="ticks", palette="colorblind", rc=_RC)


_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
# An id, or a reference to one.
_NAMED = re.compile(r'(\bid="|href="#|url\(#)([^")]+)')


def _short(match: re.Match[str]) -> str:
    text = f"{float(match.group()):.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def canonical_svg(svg: str) -> str:
    """Return an SVG as matplotlib writes it in canonical form: the same picture.

    Without prologue and metadata, lengths rounded to a hundredth of a point, ids
    renumbered in order of appearance.

    Examples
    --------
    >>> canonical_svg('<svg><g id="a9"><use x="1.23456" href="#a9"/></g></svg>')
    '<svg><g id="i0"><use x="1.23" href="#i0"/></g></svg>'
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = LENGTHS.sub(lambda m: _NUMBER.sub(_short, m.group()), svg)
    names: dict[str, str] = {}
    for name in re.findall(r'\bid="([^"]+)"', svg):
        names.setdefault(name, f"i{len(names)}")
    svg = _NAMED.sub(lambda m: m[1] + names.get(m[2], m[2]), svg)
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip())


def show(figure: Figure, *, trained: bool = False) -> None:
    """Show a finished figure as canonical SVG, and close it.

    Draw dense artists with ``rasterized=True``. What a training run on this machine has
    *trained* differs on another from the first rounding on: of such a figure only the
    structure is compared. Give it fixed limits and ticks.
    """
    from IPython.display import display

    buffer = io.StringIO()
    figure.savefig(
        buffer,
        format="svg",
        bbox_inches="tight",
        metadata={"Date": None, "Creator": None},
    )
    plt.close(figure)
    svg = canonical_svg(buffer.getvalue())
    if trained:
        svg = svg.replace("<svg", f"<svg {STRUCTURE}", 1)
    width, height = figure.get_size_inches()
    display(
        {
            "image/svg+xml": svg,
            "text/plain": f"<figure, {width:g} x {height:g} inches>",
        },
        raw=True,
    )
