"""A figure is the same bytes on every run, and still the same picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import IPython.display
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from dplib.book import figures
from dplib.book.figures import canonical_svg


@pytest.fixture(autouse=True)
def _own_style() -> Iterator[None]:
    with mpl.rc_context():
        yield
    plt.close("all")


@pytest.fixture
def shown(monkeypatch) -> list[dict[str, str]]:
    """Collect what `figures.show` displays."""
    seen: list[dict[str, str]] = []
    monkeypatch.setattr(
        IPython.display, "display", lambda data, raw: seen.append(data) if raw else None
    )
    return seen


def draw(*, raster: bool = False) -> plt.Figure:
    fig, ax = plt.subplots(figsize=(3, 2))
    grid = np.linspace(0.0, 1.0, 7)
    ax.plot(grid, np.sin(9.0 * grid), label="ours", **figures.OURS)
    ax.plot(grid, grid / 3.0, label="paper", **figures.PAPER)
    ax.fill_between(grid, grid, grid + 0.123456, alpha=0.3)
    if raster:
        cloud = np.random.default_rng(5).random((2, 400))
        ax.scatter(*cloud, s=3, rasterized=True)
    ax.set(xlabel="steps 1.23456", ylabel="error", title="A title")
    ax.legend()
    return fig


def tree(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def attributes(svg: str, name: str) -> list[str]:
    return [
        value
        for node in tree(svg).iter()
        for key, value in node.attrib.items()
        if key.split("}")[-1] == name
    ]


@pytest.mark.parametrize("styled", [True, False])
@pytest.mark.parametrize("raster", [True, False])
def test_two_runs_give_the_same_bytes(shown, styled, raster) -> None:
    # Without the style there is no hash salt, and matplotlib draws random ids.
    for _ in range(2):
        if styled:
            figures.use_style()
        else:
            plt.rcParams["svg.hashsalt"] = None
        figures.show(draw(raster=raster))
    first, second = shown
    assert first == second
    assert set(first) == {"image/svg+xml", "text/plain"}
    assert first["text/plain"] == "<figure, 3 x 2 inches>"
    assert tree(first["image/svg+xml"]).tag == "{http://www.w3.org/2000/svg}svg"
    assert not plt.get_fignums()


@pytest.fixture(scope="module")
def raw(tmp_path_factory) -> str:
    """Return an SVG as matplotlib writes it, dense points rasterized."""
    path = tmp_path_factory.mktemp("svg") / "figure.svg"
    with mpl.rc_context():
        figures.use_style()
        fig = draw(raster=True)
        fig.savefig(path, bbox_inches="tight")
        plt.close(fig)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def svg(raw) -> str:
    return canonical_svg(raw)


def test_the_canonical_form(raw, svg) -> None:
    assert "<dc:date>" in raw
    assert svg.startswith("<svg")
    for word in ("metadata", "dc:", "rdf:", "<?xml", "<!DOCTYPE", "Matplotlib"):
        assert word not in svg
    assert not re.search(r"20\d\d-\d\d-\d\dT", svg)
    ids = attributes(svg, "id")
    assert len(ids) > 20
    assert ids == [f"i{number}" for number in range(len(ids))]
    # Glyphs are paths; the words stand in comments, which must not be rounded.
    for words in ("steps 1.23456", "error", "A title", "ours", "paper"):
        assert f"<!-- {words} -->" in svg
    assert canonical_svg(svg) == svg


def test_every_reference_finds_what_it_found_before(raw, svg) -> None:
    def targets(text: str) -> list[tuple[int, str]]:
        """Each reference in order: position and tag of what it points to."""
        nodes = [n for n in tree(text).iter() if n.tag.split("}")[-1] != "metadata"]
        place = {
            node.get("id"): (number, node.tag)
            for number, node in enumerate(n for n in nodes if n.get("id") is not None)
        }
        found = []
        for node in nodes:
            for value in node.attrib.values():
                found += re.findall(r"url\(#([^)]+)\)", value)
                found += re.findall(r"^#(.+)$", value)
        return [place[name] for name in found]

    assert len(targets(svg)) > 10
    assert targets(svg) == targets(raw)


def test_the_picture_stays_where_it_was(raw, svg) -> None:
    # Every number of every path moves by half a hundredth of a point at most.
    number = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
    for before, after in zip(attributes(raw, "d"), attributes(svg, "d"), strict=True):
        a = np.array([float(t) for t in number.findall(before)])
        b = np.array([float(t) for t in number.findall(after)])
        assert np.abs(a - b).max() <= 0.005 + 1e-9
        assert number.sub("", before).split() == number.sub("", after).split()


def test_rasterized_images_are_untouched(raw, svg) -> None:
    def images(text: str) -> list[str]:
        return [v for v in attributes(text, "href") if v.startswith("data:image/png")]

    assert len(images(svg)) == 1
    assert images(svg) == images(raw)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('x="1.005"', 'x="1"'),
        ('x="-0.001"', 'x="0"'),
        ('x="100.0"', 'x="100"'),
        ('x="1.5e-05"', 'x="0"'),
        ('d="M 1.239 -2.001 L 3 .5"', 'd="M 1.24 -2 L 3 .5"'),
        ('points="1.239,2.5 3.001,4"', 'points="1.24,2.5 3,4"'),
        ('width="431.239pt"', 'width="431.24pt"'),
        ('href="#nobody"', 'href="#nobody"'),
        # Glyphs are drawn at 2048 units an em and scaled down by factors such as
        # this; two decimals would change the size of the text.
        (
            'transform="translate(1.2345 -6.789) scale(0.015625 -0.015625)"',
            'transform="translate(1.23 -6.79) scale(0.015625 -0.015625)"',
        ),
        ('style="opacity: 0.12345"', 'style="opacity: 0.12345"'),
        ('clip-path="url(#nobody)"', 'clip-path="url(#nobody)"'),
    ],
)
def test_attributes(before, after) -> None:
    once = canonical_svg(f"<svg><g {before}/></svg>")
    assert once == canonical_svg(once) == f"<svg><g {after}/></svg>"


def test_an_id_that_looks_like_a_new_one_is_not_confused() -> None:
    text = '<svg><g id="i1"/><g id="i0"/><use href="#i0"/><use href="#i1"/></svg>'
    assert canonical_svg(text) == (
        '<svg><g id="i0"/><g id="i1"/><use href="#i1"/><use href="#i0"/></svg>'
    )


# -- show and style -----------------------------------------------------------


def test_a_readers_settings_are_gone() -> None:
    mpl.rcParams.update({"savefig.transparent": True, "font.family": "serif"})
    figures.use_style()
    assert mpl.rcParams["savefig.transparent"] is False
    assert mpl.rcParams["font.family"] == ["DejaVu Sans"]


def test_no_point_of_a_curve_is_left_out(shown) -> None:
    figures.use_style()
    fig, ax = plt.subplots()
    ax.plot(np.linspace(0.0, 1.0, 500), np.zeros(500), gid="curve")
    figures.show(fig)
    lines = re.findall(r'd="([^"]*)"', shown[0]["image/svg+xml"])
    assert max(text.count("L") for text in lines) >= 499
