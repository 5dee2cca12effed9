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

from dplib import check
from dplib.book.outputs import LENGTHS

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
_ID = re.compile(r'\bid="([^"]+)"')


def _short(match: re.Match[str]) -> str:
    text = f"{float(match.group()):.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def canonical_svg(svg: str) -> str:
    """Return an SVG text in canonical form.

    Parameters
    ----------
    svg : str
        An SVG document as matplotlib writes it.

    Returns
    -------
    str
        The same picture without XML prologue and metadata, with lengths rounded
        to a hundredth of a point and ids renumbered in order of appearance.

    Raises
    ------
    ValueError
        If there is no SVG element in it.

    Examples
    --------
    >>> canonical_svg('<svg><g id="a9"><use x="1.23456" href="#a9"/></g></svg>')
    '<svg><g id="i0"><use x="1.23" href="#i0"/></g></svg>'
    """
    if "<svg" not in svg:
        check.fail("svg", "canonical_svg", "an SVG document", svg)
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = LENGTHS.sub(lambda m: _NUMBER.sub(_short, m.group()), svg)
    names: dict[str, str] = {}
    for name in _ID.findall(svg):
        names.setdefault(name, f"i{len(names)}")
    svg = _ID.sub(lambda m: f'id="{names[m.group(1)]}"', svg)
    svg = re.sub(
        r'href="#([^"]+)"',
        lambda m: f'href="#{names.get(m.group(1), m.group(1))}"',
        svg,
    )
    svg = re.sub(
        r"url\(#([^)]+)\)", lambda m: f"url(#{names.get(m.group(1), m.group(1))})", svg
    )
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip())


def show(figure: Figure) -> None:
    """Show a figure as canonical SVG, and close it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The finished figure; draw dense artists with ``rasterized=True``.

    Raises
    ------
    TypeError
        If it is not a figure.
    """
    if not isinstance(figure, Figure):
        check.fail("figure", "show", "a matplotlib figure", figure, TypeError)
    from IPython.display import display

    buffer = io.StringIO()
    figure.savefig(
        buffer,
        format="svg",
        bbox_inches="tight",
        metadata={"Date": None, "Creator": None},
    )
    plt.close(figure)
    width, height = figure.get_size_inches()
    display(
        {
            "image/svg+xml": canonical_svg(buffer.getvalue()),
            "text/plain": f"<figure, {width:g} x {height:g} inches>",
        },
        raw=True,
    )
