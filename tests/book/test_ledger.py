"""What is not an entry of the ledger is refused in one sentence that says where."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplib.book import ledger
from dplib.book.ledger import LedgerError, half_unit

PAPER = "paper: {key: nobody2020, title: A tiny paper, authors: N. Body}\n"

#: An entry that is right, field by field as YAML text.
GOOD = {
    "id": "truthful.half",
    "where": "Theorem 1",
    "kind": "number",
    "level": "result",
    "says": "one half",
    "printed": '"0.50"',
    "verdict": "reproduced",
    "evidence": "exact",
    "notebook": "truthful/01_tiny",
}
OPEN = {"verdict": "open", "notebook": "null", "evidence": None}
OURS = {"kind": "ours", "verdict": "shown", "ours": '"0.5"', "printed": None}
STEP = {"level": "step", "serves": "truthful.half", "notebook": "truthful/02_b"}
FULL = "same_as must be the id of a full entry."
SAME = "- {id: truthful.again, where: Abstract, says: a half, same_as: truthful.half}\n"


def entry(**changes: str | None) -> str:
    """Return GOOD as YAML, with fields added, replaced, or (None) left out."""
    fields = {k: v for k, v in (GOOD | changes).items() if v is not None}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "- " + "\n  ".join(lines) + "\n"


def load(folder: Path, text: str, name: str = "truthful.yml") -> ledger.Ledger:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return ledger.load_chapter(path)


def book(folder: Path, *entries: str) -> ledger.Ledger:
    return load(folder, PAPER + "claims:\n" + "".join(entries))


def claim(folder: Path, **changes: str | None) -> ledger.Claim:
    (only,) = book(folder, entry(**changes)).claims.values()
    return only


def refusal(folder: Path, text: str, name: str = "truthful.yml") -> str:
    """Return the sentence with which a file is refused: one line, the file first."""
    with pytest.raises(LedgerError) as caught:
        load(folder, text, name)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(name)
    return message.removeprefix(f"{name}: ")


def wrong(folder: Path, *entries: str) -> str:
    return refusal(folder, PAPER + "claims:\n" + "".join(entries))


# -- what is read -------------------------------------------------------------


def test_every_field(tmp_path) -> None:
    full = claim(
        tmp_path,
        says="one\n    half",
        printed='["0.10", "2", "1.5e-3"]',
        unit="metres",
        tolerance="{abs: 1e-5, because: '  printed\n    loosely '}",
        at="{r_max: 5, epsilon: 0.1, private: true, mode: exact, eta: 1e-5}",
        text="uncertain",
        verdict="underspecified",
        assumed="[the step size,\n    the\n    horizon]",
    )
    at = {"r_max": 5, "epsilon": 0.1, "private": True, "mode": "exact", "eta": 1e-5}
    assert full == ledger.Claim(
        **GOOD
        | {
            "printed": ("0.10", "2", "1.5e-3"),
            "unit": "metres",
            "tolerance": 1e-5,
            "because": "printed loosely",
            "at": at,
            "text": "uncertain",
            "verdict": "underspecified",
            "assumed": ("the step size", "the horizon"),
        }
    )
    assert type(full.at["r_max"]) is int
    assert full.chapter == "truthful"
    assert claim(tmp_path).printed == ("0.50",)


def test_paper_order_and_the_claims_of_a_notebook_are_kept(tmp_path) -> None:
    ids = ["truthful.z", "truthful.a.1-b", "truthful.m10.x-2.y", "truthful.b"]
    places = ["truthful/01_a", "truthful/02_b", "truthful/01_a", "truthful/02_b"]
    found = book(tmp_path, *map(lambda i, n: entry(id=i, notebook=n), ids, places))
    assert found.chapter == "truthful"
    assert found.paper == ledger.Paper("nobody2020", "A tiny paper", "N. Body")
    assert list(found.claims) == [c.id for c in found.claims.values()] == ids
    assert [c.id for c in found.of_notebook("truthful/01_a")] == ids[::2]
    assert found.of_notebook("truthful/03_none") == ()


def test_a_definition_is_implemented_and_not_counted(tmp_path) -> None:
    assert not claim(tmp_path, kind="definition", verdict="implemented").counted
    assert not claim(tmp_path, kind="definition", **OPEN).counted
    assert claim(tmp_path, **OPEN).counted


def test_the_same_statement_in_another_place(tmp_path) -> None:
    # Before its full entry or after it; checked and counted there only.
    step = entry(id="truthful.step", **STEP)
    for entries in ((SAME, entry()), (entry(), SAME)):
        found = book(tmp_path, step, *entries)
        assert found.claims["truthful.step"].serves == "truthful.half"
        again, half = found.claims["truthful.again"], found.claims["truthful.half"]
        assert (again.where, again.says) == ("Abstract", "a half")
        assert (again.verdict, again.level) == (half.verdict, half.level)
        assert again.notebook is None
        assert not again.counted
        assert found.of_notebook("truthful/01_tiny") == (half,)


# -- verdicts and what they need ------------------------------------------------

NEEDS = {
    "corrected": {"ours": '"0.51"'},
    "refuted": {"counterexample": "x = 3"},
    "underspecified": {"assumed": "the horizon"},
    "empty": {"consequence": "it promises nothing"},
    "not reproduced": {"tried": "[one, two]"},
    "undecided": {"tried": "400 replicates"},
    "shown": {"ours": '"0.5"', "kind": "ours", "printed": None},
}


@pytest.mark.parametrize("verdict", NEEDS)
def test_a_verdict_needs_its_field_a_notebook_and_evidence(tmp_path, verdict) -> None:
    changes = {"verdict": verdict} | NEEDS[verdict]
    need = next(iter(NEEDS[verdict]))
    assert claim(tmp_path, **changes).verdict == verdict
    start = f"truthful.half: the verdict '{verdict}' needs "
    assert wrong(tmp_path, entry(**changes | {need: None})) == (
        f"{start}the field '{need}'."
    )
    for name in ("notebook", "evidence"):
        assert wrong(tmp_path, entry(**changes | {name: None})) == (
            f"{start}'notebook' and 'evidence'."
        )
    assert wrong(tmp_path, entry(**{need: NEEDS[verdict][need]})) == (
        f"truthful.half: the field '{need}' does not belong to the verdict "
        "'reproduced'."
    )


# -- what is refused ----------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        # words
        ("kind", "lemma", "kind must be one of number, bound, theorem, "),
        ("verdict", "Reproduced", "verdict must be one of reproduced, "),
        ("level", "main", "level must be one of headline, result, input, step. Got "),
        ("evidence", "proof", "evidence must be one of exact, "),
        ("text", "certain", "text must be one of uncertain. Got 'certain'."),
        # texts
        ("where", '" "', "where must be text. Got ' '."),
        ("ours", "0.25", "ours must be text. Got 0.25."),
        ("assumed", "[a, 1]", "assumed[1] must be text. Got 1."),
        ("tried", "[]", "tried must be text, or a list of these. Got []."),
        # numbers where text is meant: their last digit is lost already
        ("printed", "0.10", "printed must be a decimal number in quotes, digit by"),
        ("printed", '["0.1", 0.2]', "printed[1] must be a decimal number in quotes"),
        ("printed", "[]", "printed must be a decimal number in quotes"),
        ("printed", '"1e309"', "printed must be a decimal number"),
        # texts where a number is meant
        ("at", '{eta: "1e-5"}', "at.eta must be a number without quotes"),
        ("at", "{eta: null}", "at.eta must be a number without quotes"),
        ("at", "{eta: .nan}", "at.eta must be a number without quotes"),
        ("at", "{r max: 1}", "at must be a mapping from names of parameters. Got 'r"),
        ("at", "[1]", "at must be a mapping from names of parameters. Got [1]."),
        ("tolerance", "{abs: 0, because: x}", "tolerance.abs must be a positive num"),
        ("tolerance", "{abs: 0.1}", "tolerance lacks the field 'because'."),
        ("tolerance", "0.1", "tolerance must be a mapping of fields. Got 0.1."),
        # places
        ("id", "rewards.half", "id must be like 'truthful.thm5.r5'. Got 'rewards.ha"),
        ("id", "Truthful.half", "id must be like 'truthful.thm5.r5'. Got "),
        ("id", "truthful..a", "id must be like 'truthful.thm5.r5'. Got "),
        ("id", "7", "id must be like 'truthful.thm5.r5'. Got "),
        ("notebook", "01_tiny", "notebook must be null or like 'truthful/03_design'."),
        ("notebook", "rewards/01_tiny", "notebook must be null or like 'truthful/03_d"),
        ("notebook", "truthful/01_tiny.md", "notebook must be null or like"),
        # unknown fields; `because` is one only inside `tolerance`
        ("verdcit", "open", "an unknown field 'verdcit'; did you mean 'verdict'?"),
        ("because", "so", "an unknown field 'because'; "),
        ("range", "[1, 2]", "an unknown field 'range'; "),
    ],
)
def test_a_field_that_is_wrong(tmp_path, field, value, sentence) -> None:
    found = wrong(tmp_path, entry(**{field: value}))
    assert found.startswith("truthful.half") or field == "id"
    assert sentence in found


RULES: dict[str, list[dict[str, str | None]]] = {
    # An open claim is open, whichever of the two it has.
    "an open claim has no 'notebook' and no 'evidence' yet": [
        OPEN | {"notebook": "truthful/01_a"},
        OPEN | {"evidence": "exact"},
    ],
    "the kind 'ours' and the verdict 'shown' go together": [
        OURS | {"kind": "bound"},
        {"kind": "ours", "printed": None},
    ],
    "a result of ours is not printed in the paper": [OURS | {"printed": '"0.50"'}],
    "a definition is one of implemented, open, corrected, underspecified; "
    "only it is 'implemented'": [{"kind": "definition"}, {"verdict": "implemented"}],
    "an input or step, and only it, needs 'serves'": [
        {"level": "step"},
        {"serves": "truthful.a"},
    ],
    "'serves' must be the id of a headline or result of the same paper": [
        STEP,  # which serves itself
        STEP | {"serves": "truthful.none"},
    ],
}


@pytest.mark.parametrize("rule", RULES)
def test_fields_that_do_not_go_together(tmp_path, rule) -> None:
    for changes in RULES[rule]:
        assert wrong(tmp_path, entry(**changes)) == f"truthful.half: {rule}."


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([entry(where=None)], "truthful.half lacks the field 'where'."),
        ([entry(), entry(id=None)], "claims[1] lacks the field 'id'."),
        (["- word\n"], "claims[0] must be a mapping of fields. Got 'word'."),
        ([entry(), entry()], "truthful.half: id must be used once. Got 'truthful.half"),
        ([entry(), SAME, SAME], "truthful.again: id must be used once. Got 'truthful"),
        # The same statement in another place.
        ([SAME], f"truthful.again: {FULL} Got 'truthful.half'."),
        (
            [entry(), SAME, SAME.replace("again", "more").replace(".half", ".again")],
            f"truthful.more: {FULL} Got 'truthful.again'.",
        ),
        (
            [entry(), SAME.replace("says", "level: result, says")],
            "truthful.again has an unknown field 'level'; known: id, where, says, ",
        ),
    ],
)
def test_entries_that_are_wrong(tmp_path, entries, sentence) -> None:
    assert wrong(tmp_path, *entries).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the file must be a mapping of fields. Got None."),
        (PAPER, "the file lacks the field 'claims'."),
        (PAPER + "claims: []\n", "claims must be a list of entries. Got []."),
        ("paper: {key: a, title: 1, authors: b}\nclaims: [{}]\n", "paper.title must"),
        (PAPER + "claims: [\n", "truthful.yml, line 3: "),
        (PAPER + PAPER + "claims: [x]\n", "truthful.yml, line 2: found duplicate key"),
    ],
)
def test_a_file_that_is_wrong(tmp_path, text, sentence) -> None:
    assert refusal(tmp_path, text).startswith(sentence)


# -- the whole ledger ---------------------------------------------------------


def write_book(root: Path, **chapters: str) -> None:
    folder = root / "book" / "claims"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in chapters.items():
        (folder / f"{name}.yml").write_text(PAPER + "claims:\n" + text)


def test_load_all_has_the_books_order(tmp_path) -> None:
    for chapter in ("dpmac", "planning", "truthful"):
        text = entry(id=f"{chapter}.x", notebook=f"{chapter}/01_x")
        write_book(tmp_path, **{chapter: text})
    assert list(ledger.load_all(tmp_path)) == ["planning", "truthful", "dpmac"]
    write_book(tmp_path, trutful=entry())
    words = r"^trutful\.yml: the chapter must be one of planning, "
    with pytest.raises(LedgerError, match=words):
        ledger.load_all(tmp_path)


def test_the_book_above_the_working_directory_comes_first(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ledger.book_root() == Path(ledger.__file__).resolve().parents[2]
    monkeypatch.setattr(ledger, "__file__", str(tmp_path / "dplib" / "book" / "x.py"))
    with pytest.raises(FileNotFoundError, match="inside a checkout of the book"):
        ledger.book_root()
    write_book(tmp_path, truthful=entry())
    inside = tmp_path / "notebooks" / "truthful"
    inside.mkdir(parents=True)
    monkeypatch.undo()
    monkeypatch.chdir(inside)
    assert ledger.book_root() == tmp_path.resolve()
    assert list(ledger.load_all()["truthful"].claims) == ["truthful.half"]


# -- printed numbers ----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("250000.", 0.5),
        ("-3", 0.5),
        ("+.5", 0.05),
        ("1E3", 500.0),
        ("0.000", 5e-4),
    ],
)
def test_half_a_unit(text, half) -> None:
    assert half_unit(text) == half


@pytest.mark.parametrize("text", ["", "nan", "1_000", " 1", "1\n", "١", "−1", "1,5"])
def test_what_is_no_printed_number(text) -> None:
    # Python's Decimal reads 1_000, spaces, and the digits of every script.
    with pytest.raises(ValueError, match="must be a decimal number as text"):
        half_unit(text)


@given(
    st.integers(min_value=-(10**12), max_value=10**12),
    st.integers(min_value=0, max_value=12),
)
def test_half_unit_is_the_largest_error_of_rounding(number, places) -> None:
    exact = Decimal(number).scaleb(-places)
    text = f"{exact:.{places}f}"
    half = Decimal(str(half_unit(text)))
    assert half * 2 == Decimal(1).scaleb(-places)
    for part in ("-0.999999", "0.999999"):  # the text is that of all such numbers
        assert f"{exact + half * Decimal(part):.{places}f}".lstrip("-") == (
            text.lstrip("-")
        )
