"""The seal: every word of a claim is in it, and it is written whole or not at all."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from dplib import ledger, seal
from dplib.ledger import Claim, Ledger, Paper
from dplib.seal import SealError

TEXT = """\
paper: {key: nobody2020, title: A tiny paper, authors: N. Body}
claims:
- {id: truthful.a, where: Theorem 1, kind: theorem, level: result, says: one,
   verdict: open, notebook: null}
- {id: truthful.b, where: Theorem 2, kind: theorem, level: result, says: two,
   verdict: open, notebook: null}
"""

REFUTED = Claim(
    id="truthful.x",
    where="Theorem 2",
    kind="theorem",
    level="step",
    serves="truthful.y",
    says="x holds",
    verdict="refuted",
    notebook="truthful/01_tiny",
    printed=("0.10",),
    unit="m",
    tolerance=0.01,
    because="read off a plot",
    at=MappingProxyType({"n": 2}),
    text="uncertain",
    evidence="exact",
    ours="y",
    counterexample="n = 3",
    assumed=("z",),
    tried=("all",),
    reading="for n = 2",
    consequence="none",
)


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    (tmp_path / "book" / "claims").mkdir(parents=True)
    (tmp_path / "book" / "claims" / "truthful.yml").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert seal.main() == 0
    return tmp_path


def found(root: Path) -> list[str]:
    """Return what differs from the seal, without the hint how to renew it."""
    book = ledger.load_all(root)["truthful"]
    return [
        text.partition(" (if")[0] for text in seal.differences(seal.read(root), book)
    ]


@pytest.mark.parametrize(
    "field",
    [
        *("where", "kind", "says", "unit", "because", "text", "ours"),
        *("counterexample", "reading", "consequence", "printed", "tolerance"),
        *("at", "assumed", "tried", "level", "serves"),
    ],
)
def test_a_field_that_is_altered_or_deleted_is_noticed(field) -> None:
    empty = {f.name: f.default for f in dataclasses.fields(Claim)}[field]
    if field == "at":
        empty = {}
    elif empty is dataclasses.MISSING:
        empty = ""
    changed = dataclasses.replace(REFUTED, **{field: empty})
    assert seal.digest(changed) != seal.digest(REFUTED)


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "corrected"},
        {"evidence": "instances"},
        {"notebook": "truthful/02_other"},
    ],
)
def test_what_the_guards_hold_is_not_sealed(change) -> None:
    changed = dataclasses.replace(REFUTED, **change)
    assert seal.digest(changed) == seal.digest(REFUTED)


def test_a_claim_that_is_opened_again_is_noticed() -> None:
    changed = dataclasses.replace(REFUTED, verdict="open", evidence="", notebook=None)
    assert seal.digest(changed) != seal.digest(REFUTED)


def test_seal_holds_paper_order_and_no_ghost(root) -> None:
    path = root / "book" / "claims" / "truthful.yml"
    assert found(root) == []
    path.write_text(TEXT.replace("N. Body", "Some Body"), encoding="utf-8")
    assert found(root) == ["truthful: the paper's title, or the order, changed"]
    path.write_text(TEXT.replace("says: one", "says: three"), encoding="utf-8")
    assert found(root) == ["truthful.a was altered"]
    path.write_text(TEXT.split("- {id: truthful.b")[0], encoding="utf-8")
    assert found(root)[1:] == ["truthful.b was deleted"]
    path.write_text(TEXT, encoding="utf-8")
    sealed = seal.path(root).read_text(encoding="utf-8")
    ghost = sealed.replace("{", '{\n "truthful.ghost": "0",', 1)
    seal.path(root).write_text(ghost, encoding="utf-8")
    assert found(root) == ["truthful.ghost was deleted"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("<<<<<<< ours\n{}", "is not JSON"),
        ("\udcff", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "is no object"),
        ("3", "is no object"),
        ('{"truthful.a": 1}', "is no object"),
        ('{"truthful.a": "1", "truthful.a": "2"}', "holds truthful.a twice"),
    ],
)
def test_a_broken_seal_is_named_and_written_anew(root, capsys, text, words) -> None:
    whole = seal.path(root).read_bytes()
    seal.path(root).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SealError, match=words):
        seal.read(root)
    capsys.readouterr()
    assert seal.main() == 0
    assert words in capsys.readouterr().out
    assert seal.path(root).read_bytes() == whole


def test_main_says_what_changed(root, capsys) -> None:
    path = root / "book" / "claims" / "truthful.yml"
    path.write_text(TEXT.replace("says: one", "says: three"), encoding="utf-8")
    capsys.readouterr()
    assert seal.main() == 0
    assert capsys.readouterr().out == "truthful.a was altered\nsealed 2 claims\n"
    assert found(root) == []


def test_a_tree_that_cannot_be_written_keeps_the_old_seal(
    root, monkeypatch, capsys
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    (root / "book" / "claims" / "truthful.yml").write_text(
        TEXT.replace("says: one", "says: three"), encoding="utf-8"
    )
    before = seal.path(root).read_bytes()
    monkeypatch.setattr(Path, "replace", refuse)
    assert seal.main() == 1
    assert "Permission denied" in capsys.readouterr().err
    assert seal.path(root).read_bytes() == before
    assert sorted(p.name for p in seal.path(root).parent.iterdir()) == [
        "seal.json",
        "truthful.yml",
    ]


def test_a_ledger_that_is_wrong_is_not_sealed(root, capsys) -> None:
    (root / "book" / "claims" / "truthful.yml").write_text("claims: 3\n")
    assert seal.main() == 1
    assert capsys.readouterr().err.startswith("truthful.yml: ")


def test_the_head_follows_the_order() -> None:
    paper = Paper("a", "b", "c")
    one, two = (dataclasses.replace(REFUTED, id=f"truthful.{name}") for name in "ab")
    claims = {claim.id: claim for claim in (one, two)}
    turned = dict(reversed(claims.items()))
    assert seal.head(Ledger("truthful", paper, MappingProxyType(claims))) != seal.head(
        Ledger("truthful", paper, MappingProxyType(turned))
    )
