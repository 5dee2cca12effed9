"""What another processor may change in an output, and what it may not."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

import dplib
from dplib.book import outputs
from dplib.book.verdicts import MIME_TYPE

SVG = '<svg width="90pt"><path id="i1" d="M 1 2 L 3.5 -0"/><use opacity="0.5"/></svg>'
CLAIM = {"value": 311.414, "bound": 0.0, "finding": "ours 311.414 m", "at": {"n": 2}}


@pytest.mark.parametrize(
    ("kind", "stored", "fresh", "same"),
    [
        ("image/svg+xml", "1 2 L 3.5 -0", "1.2 2 L 3.3 0", True),
        ("image/svg+xml", "1 2 L 3.5 -0", "1.3 2 L 3.5 0", False),
        ("image/svg+xml", "L 3.5 -0", "L 3.5 0 L 3.5 0", False),
        ("image/svg+xml", "90pt", "90.2pt", True),
        ("image/svg+xml", "0.5", "0.6", False),
        ("image/svg+xml", "i1", "i2", False),
        ("text/html", "0.125 m", "0.126 m", True),
        ("text/html", "0.125 m", "0.127 m", False),
        ("text/html", "0.125 m", "0.125 km", False),
        ("text/plain", "0.3", "0.299999", True),
        ("text/plain", "0.3", "0.28", False),
        ("text/plain", "9.99e-5", "1.00e-4", True),
        ("text/plain", "-0", "0", True),
        ("text/plain", "3e1234567 of a digest", "3e1234567 of a digest", True),
        ("text/plain", "3e1234567 of a digest", "4e1234567 of a digest", False),
        ("text/plain", "12 of 60", "13 of 60", False),
        ("text/plain", "12 of 60", "12 of 60 of 60", False),
        ("text/latex", "0.125", "0.126", False),
    ],
)
def test_figures_and_texts(kind: str, stored: str, fresh: str, same: bool) -> None:
    if kind == "image/svg+xml":
        assert stored in SVG
        stored, fresh = SVG, SVG.replace(stored, fresh, 1)
    assert outputs.same(kind, stored, fresh) == same
    assert outputs.same(kind, fresh, stored) == same


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"value": 311.415}, True),
        ({"value": 311.416}, False),
        ({"value": 311.416, "bound": 0.002}, False),
        ({"value": None}, False),
        ({"finding": "ours 311.415 m"}, True),
        ({"finding": "ours 312.414 m"}, False),
        ({"at": {"n": 3}}, False),
        ({"at": {}}, False),
        ({"bound": 0.5}, False),
        ({"verdict": "reproduced"}, False),
    ],
)
def test_claims(change: dict[str, Any], same: bool) -> None:
    assert outputs.same(MIME_TYPE, CLAIM, CLAIM | change) == same


def test_a_certified_bound_is_what_a_claim_may_move() -> None:
    rough = CLAIM | {"value": 311.0, "bound": 0.7}
    assert outputs.same(MIME_TYPE, rough, rough | {"value": 312.0})  # a unit
    assert not outputs.same(MIME_TYPE, rough, rough | {"value": 313.0})
    assert not outputs.same(MIME_TYPE, rough, rough | {"at": {"n": 2.5}})
    wide = CLAIM | {"interval": [311.2, 311.7]}
    assert outputs.same(MIME_TYPE, wide, wide | {"interval": [311.2, 311.8]})
    assert not outputs.same(MIME_TYPE, wide, wide | {"interval": [311.2, 311.9]})


def test_what_is_the_same_stays_as_stored() -> None:
    def output(text: str) -> Any:
        data = {"text/plain": text, "text/latex": text}
        return nbformat.v4.new_output("display_data", data=data)

    (settled,) = outputs.settle([output("0.125")], [output("0.126")])
    assert settled.data == {"text/plain": "0.125", "text/latex": "0.126"}
    fresh = [output("0.125")]
    assert outputs.settle([], fresh) == fresh


def test_no_example_prints_last_digits() -> None:
    # They depend on the processor: an example shows at most thirteen digits.
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for path in Path(dplib.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            text = ast.get_docstring(node) if isinstance(node, documented) else None
            for example in doctest.DocTestParser().get_examples(text or ""):
                for number in re.findall(r"\d*\.\d+", example.want):
                    digits = number.replace(".", "").lstrip("0")
                    assert len(digits) <= 13, f"{path.name}: {example.source}"


def test_a_trained_figure_is_compared_in_its_structure_only():
    stored = f'<svg {outputs.STRUCTURE}><path d="M 1 2 L 3 4"/></svg>'
    moved, other = stored.replace("4", "9"), stored.replace(" L 3 4", "")
    assert outputs.same("image/svg+xml", stored, moved)
    assert not outputs.same("image/svg+xml", stored, other)
    plain = [svg.replace(f" {outputs.STRUCTURE}", "") for svg in (stored, moved)]
    assert not outputs.same("image/svg+xml", *plain)
