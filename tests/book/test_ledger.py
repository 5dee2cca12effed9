"""What is not an entry of the ledger is refused in one sentence that says where."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dplib.book import ledger
from dplib.book.ledger import LedgerError, decimal, half_unit

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

OURS = {"kind": "ours", "verdict": "shown", "ours": '"0.5"', "printed": None}


def entry(**changes: str | None) -> str:
    """Return GOOD as YAML, with fields added, replaced, or (None) left out."""
    fields = {k: v for k, v in (GOOD | changes).items() if v is not None}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "- " + "\n  ".join(lines) + "\n"


def load(folder: Path, text: str, name: str = "truthful.yml") -> ledger.Ledger:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return ledger.load_chapter(path)


def claim(folder: Path, **changes: str | None) -> ledger.Claim:
    (only,) = load(folder, PAPER + "claims:\n" + entry(**changes)).claims.values()
    return only


def refusal(folder: Path, text: str, name: str = "truthful.yml") -> str:
    """Return the sentence with which a file is refused: one line, the file first."""
    with pytest.raises(LedgerError) as caught:
        load(folder, text, name)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{name}: ")
    return message.removeprefix(f"{name}: ")


# -- what is read -------------------------------------------------------------


def test_a_plain_entry(tmp_path) -> None:
    assert claim(tmp_path) == ledger.Claim(
        id="truthful.half",
        where="Theorem 1",
        kind="number",
        level="result",
        says="one half",
        verdict="reproduced",
        notebook="truthful/01_tiny",
        printed=("0.50",),
        evidence="exact",
        at=MappingProxyType({}),
    )
    assert claim(tmp_path).chapter == "truthful"


def test_every_optional_field(tmp_path) -> None:
    full = claim(
        tmp_path,
        printed='["0.10", "2", "1.5e-3"]',
        unit="metres",
        tolerance="{abs: 1.0e-5, because: '  printed\n    loosely '}",
        at="{r_max: 5, epsilon: 0.1, private: true, mode: exact, eta: 1.0e-5}",
        text="uncertain",
        verdict="underspecified",
        assumed="[the step size,\n    the\n    horizon]",
    )
    assert full.printed == ("0.10", "2", "1.5e-3")
    assert full.unit == "metres"
    assert (full.tolerance, full.because) == (1e-5, "printed loosely")
    assert dict(full.at) == {
        "r_max": 5,
        "epsilon": 0.1,
        "private": True,
        "mode": "exact",
        "eta": 1e-5,
    }
    assert type(full.at["r_max"]) is int
    assert full.text == "uncertain"
    assert full.assumed == ("the step size", "the horizon")


def test_texts_lose_their_line_breaks(tmp_path) -> None:
    assert claim(tmp_path, says="one\n    half").says == "one half"


def test_the_paper_and_the_order_are_kept(tmp_path) -> None:
    ids = ["truthful.z", "truthful.a.1-b", "truthful.m10.x-2.y", "truthful.b"]
    book = load(tmp_path, PAPER + "claims:\n" + "".join(entry(id=i) for i in ids))
    assert book.chapter == "truthful"
    assert book.paper == ledger.Paper("nobody2020", "A tiny paper", "N. Body")
    assert list(book.claims) == ids
    assert [c.id for c in book.claims.values()] == ids


def test_the_claims_of_a_notebook(tmp_path) -> None:
    text = (
        PAPER
        + "claims:\n"
        + entry(id="truthful.c")
        + entry(id="truthful.b", notebook="truthful/02_other")
        + entry(id="truthful.a")
    )
    book = load(tmp_path, text)
    assert [c.id for c in book.of_notebook("truthful/01_tiny")] == [
        "truthful.c",
        "truthful.a",
    ]
    assert book.of_notebook("truthful/03_none") == ()


def test_an_entry_cannot_be_changed(tmp_path) -> None:
    book = load(tmp_path, PAPER + "claims:\n" + entry(at="{n: 2}"))
    with pytest.raises(TypeError):
        book.claims["truthful.new"] = None
    with pytest.raises(TypeError):
        book.claims["truthful.half"].at["n"] = 3
    with pytest.raises(AttributeError):
        book.claims["truthful.half"].verdict = "open"


@pytest.mark.parametrize(
    ("verdict", "more"),
    [
        ("corrected", {"ours": '"0.51"'}),
        ("refuted", {"counterexample": "x = 3"}),
        ("underspecified", {"assumed": "the horizon"}),
        ("empty", {"consequence": "it promises nothing"}),
        ("not reproduced", {"tried": "[one, two]"}),
        ("undecided", {"tried": "400 replicates"}),
        ("shown", {"ours": '"0.5"', "kind": "ours", "printed": None}),
    ],
)
class TestEachVerdict:
    def test_is_read_with_its_field(self, tmp_path, verdict, more) -> None:
        assert claim(tmp_path, verdict=verdict, **more).verdict == verdict

    def test_is_refused_without_it(self, tmp_path, verdict, more) -> None:
        need = next(iter(more))
        text = PAPER + "claims:\n" + entry(verdict=verdict, **more | {need: None})
        assert refusal(tmp_path, text) == (
            f"truthful.half: the verdict '{verdict}' needs the field '{need}'. "
            "Got None."
        )

    def test_needs_a_notebook_and_evidence(self, tmp_path, verdict, more) -> None:
        for field in ("notebook", "evidence"):
            text = PAPER + "claims:\n" + entry(verdict=verdict, **more | {field: None})
            assert refusal(tmp_path, text).startswith(
                f"truthful.half: the verdict '{verdict}' needs 'notebook' and "
                "'evidence'"
            )

    def test_its_field_belongs_to_no_other(self, tmp_path, verdict, more) -> None:
        need = next(iter(more))
        text = PAPER + "claims:\n" + entry(**{need: more[need]})
        message = refusal(tmp_path, text)
        assert message.startswith(f"truthful.half: the field '{need}' belongs to ")
        assert f"'{verdict}'" in message


def test_an_open_entry(tmp_path) -> None:
    todo = {"verdict": "open", "notebook": "null", "evidence": None}
    assert claim(tmp_path, **todo).notebook is None
    assert claim(tmp_path, **todo | {"notebook": None}).notebook is None
    for field, got in {"notebook": "truthful/01_tiny", "evidence": "exact"}.items():
        text = PAPER + "claims:\n" + entry(**todo | {field: got})
        # The sentence used to end in "Got None." where evidence was at fault.
        assert refusal(tmp_path, text) == (
            "truthful.half: an open claim has no 'notebook' and no 'evidence' yet. "
            f"Got '{got}'."
        )


def test_a_result_of_ours_is_shown_and_not_printed(tmp_path) -> None:
    claims = PAPER + "claims:\n"
    assert "go together" in refusal(
        tmp_path, claims + entry(verdict="shown", ours="x", printed=None)
    )
    assert "go together" in refusal(tmp_path, claims + entry(kind="ours", printed=None))
    assert "is not printed in the paper. Got ('0.50',)." in refusal(
        tmp_path, claims + entry(**OURS | {"printed": '"0.50"'})
    )


def test_a_definition_is_implemented_and_not_counted(tmp_path) -> None:
    used = claim(tmp_path, kind="definition", verdict="implemented")
    assert not used.counted
    todo = {"verdict": "open", "notebook": None, "evidence": None}
    assert not claim(tmp_path, kind="definition", **todo).counted
    assert claim(tmp_path, **todo).counted


SERVING = {"id": "truthful.step", "level": "step", "serves": "truthful.half"}
SAME = "- {id: truthful.again, where: Abstract, says: a half, same_as: truthful.half}\n"


def test_a_step_serves_a_result(tmp_path) -> None:
    text = PAPER + "claims:\n" + entry(**SERVING) + entry()
    assert load(tmp_path, text).claims["truthful.step"].serves == "truthful.half"
    for serves in ("truthful.none", "truthful.step"):
        text = PAPER + "claims:\n" + entry() + entry(**SERVING | {"serves": serves})
        assert refusal(tmp_path, text) == (
            "truthful.step: 'serves' must be the id of a headline or result of the "
            f"same paper. Got '{serves}'."
        )


def test_the_same_statement_in_another_place(tmp_path) -> None:
    # Before its full entry or after it; checked and counted there only.
    for text in (SAME + entry(), entry() + SAME):
        book = load(tmp_path, PAPER + "claims:\n" + text)
        again, half = book.claims["truthful.again"], book.claims["truthful.half"]
        assert (again.where, again.says) == ("Abstract", "a half")
        assert (again.verdict, again.level) == (half.verdict, half.level)
        assert again.notebook is None
        assert not again.counted
        assert book.of_notebook("truthful/01_tiny") == (half,)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (SAME, "truthful.again: 'same_as' must be the id of a full entry."),
        (
            entry() + SAME.replace("says", "level: result, says"),
            "truthful.again: an entry with 'same_as' has id, same_as, says, where.",
        ),
        (entry() + SAME + SAME, "truthful.again: the id is used twice."),
        (
            entry() + SAME + SAME.replace("again", "more").replace(".half", ".again"),
            "truthful.more: 'same_as' must be the id of a full entry.",
        ),
    ],
)
def test_a_same_as_that_is_wrong(tmp_path, text, sentence) -> None:
    assert refusal(tmp_path, PAPER + "claims:\n" + text).startswith(sentence)


# -- what is refused ----------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        # words
        ("kind", "lemma", "field 'kind' must be one of number, bound, theorem, "),
        ("verdict", "Reproduced", "field 'verdict' must be one of reproduced, "),
        ("verdict", None, "field 'verdict' must be one of "),
        ("verdict", "[open]", "field 'verdict' must be one of "),
        ("evidence", "proof", "field 'evidence' must be one of exact, "),
        ("text", "certain", "field 'text' must be one of uncertain. Got 'certain'."),
        # texts
        ("where", None, "field 'where' must be text. Got None."),
        ("where", '" "', "field 'where' must be text. Got ' '."),
        ("where", "2020-01-01", "field 'where' must be text. Got datetime.date("),
        ("says", "17", "field 'says' must be text. Got 17."),
        ("says", "true", "field 'says' must be text. Got True."),
        ("unit", "1", "field 'unit' must be text. Got 1."),
        ("ours", "0.25", "field 'ours' must be text. Got 0.25."),
        ("counterexample", "[a]", "field 'counterexample' must be text. Got ['a']."),
        ("assumed", "[a, 1]", "field 'assumed' must be text or a list of texts."),
        ("tried", "[]", "field 'tried' must be text or a list of texts. Got []."),
        # numbers where text is meant: their last digit is lost already
        (
            "printed",
            "0.10",
            "field 'printed' must be in quotes, digit by digit. Got 0.1",
        ),
        ("printed", "250000", "field 'printed' must be in quotes, digit by digit."),
        ("printed", "1.0e-5", "field 'printed' must be in quotes, digit by digit."),
        ("printed", '["0.1", 0.2]', "field 'printed' must be in quotes"),
        ("printed", "true", "field 'printed' must be in quotes"),
        ("printed", "[]", "field 'printed' must not be empty. Got []."),
        # texts that are no decimal number
        ("printed", "about 3", "field 'printed' must be a decimal number. Got 'about"),
        ("printed", "inf", "field 'printed' must be a decimal number. Got 'inf'."),
        ("printed", "nan", "field 'printed' must be a decimal number. Got 'nan'."),
        ("printed", '"1_000"', "field 'printed' must be a decimal number."),
        ("printed", '" 0.5"', "field 'printed' must be a decimal number."),
        ("printed", '"−0.5"', "field 'printed' must be a decimal number."),
        ("printed", '"0,5"', "field 'printed' must be a decimal number."),
        # texts where a number is meant: YAML reads 1e-5 as text
        (
            "at",
            "{eta: 1e-5}",
            "'at: eta' must be a number without quotes, with a point",
        ),
        ("at", "{eta: '0.1'}", "'at: eta' must be a number without quotes"),
        ("at", "{eta: null}", "'at: eta' must be a number. Got None."),
        ("at", "{eta: [1]}", "'at: eta' must be a number. Got [1]."),
        ("at", "{eta: .inf}", "'at: eta' must be finite. Got inf."),
        ("at", "{eta: .nan}", "'at: eta' must be finite. Got nan."),
        ("at", "{true: 1}", "field 'at' must use parameter names. Got True."),
        ("at", "{r max: 1}", "field 'at' must use parameter names. Got 'r max'."),
        ("at", "[1]", "field 'at' must map parameter names to values. Got [1]."),
        ("at", "null", "field 'at' must map parameter names to values. Got None."),
        (
            "tolerance",
            "{abs: 1e-5, because: x}",
            "'tolerance: abs' must be a number wit",
        ),
        (
            "tolerance",
            "{abs: true, because: x}",
            "'tolerance: abs' must be a number. Go",
        ),
        (
            "tolerance",
            "{abs: 0, because: x}",
            "'tolerance: abs' must be positive. Got ",
        ),
        ("tolerance", "{abs: .inf, because: x}", "'tolerance: abs' must be finite."),
        (
            "tolerance",
            "{abs: 0.1, because: 1}",
            "field 'tolerance' must give its reason",
        ),
        (
            "tolerance",
            "{abs: 0.1, because: ''}",
            "field 'tolerance' must give its reas",
        ),
        (
            "tolerance",
            "{abs: 0.1}",
            "field 'tolerance' must be {abs: ..., because: ...}",
        ),
        (
            "tolerance",
            "{abs: 0.1, because: x, rel: 1}",
            "field 'tolerance' must be {abs",
        ),
        ("tolerance", "0.1", "field 'tolerance' must be {abs: ..., because: ...}. Got"),
        # computed by the check that has the choices
        ("range", "[1, 2]", "unknown field 'range'."),
        # levels
        ("level", None, "field 'level' must be one of headline, result, input, "),
        ("level", "main", "field 'level' must be one of headline, result, input, "),
        ("level", "step", "an input or step, and only it, needs 'serves'. Got ''."),
        ("serves", "truthful.a", "an input or step, and only it, needs 'serves'."),
        ("serves", "7", "field 'serves' must be text. Got 7."),
        ("kind", "definition", "a definition is 'implemented' or 'open' or "),
        ("verdict", "implemented", "a definition is 'implemented' or 'open' or "),
        # places
        ("notebook", "01_tiny", "field 'notebook' must be null or like 'rewards/03_de"),
        ("notebook", "truthful/01_tiny.md", "field 'notebook' must be null or like"),
        ("notebook", "7", "field 'notebook' must be null or like"),
        # unknown fields; `because` is one only inside `tolerance`
        ("verdcit", "open", "unknown field 'verdcit'."),
        ("because", "so", "unknown field 'because'."),
        ("7", "open", "unknown field '7'."),
    ],
)
def test_a_field_that_is_wrong(tmp_path, field, value, sentence) -> None:
    text = PAPER + "claims:\n" + entry(**{field: value})
    assert refusal(tmp_path, text).startswith(f"truthful.half: {sentence}")


@pytest.mark.parametrize(
    "identifier",
    [None, "half", "Truthful.half", "truthful.", "truthful.a b", "truthful..a", "7"],
)
def test_an_id_that_is_none(tmp_path, identifier) -> None:
    # The entry has no name yet, so the sentence counts.
    text = PAPER + "claims:\n" + entry(id="truthful.first") + entry(id=identifier)
    assert refusal(tmp_path, text).startswith(
        "entry 2: field 'id' must be like 'rewards.thm5.r5'. Got "
    )


def test_an_entry_that_is_no_mapping(tmp_path) -> None:
    assert refusal(tmp_path, PAPER + "claims: [word]\n") == (
        "entry 1: must be a mapping of fields. Got 'word'."
    )


def test_an_id_used_twice(tmp_path) -> None:
    text = PAPER + "claims:\n" + entry() + entry(says="the other half")
    assert refusal(tmp_path, text) == "truthful.half: the id is used twice."


def test_an_id_of_another_chapter(tmp_path) -> None:
    text = PAPER + "claims:\n" + entry(id="rewards.half")
    assert refusal(tmp_path, text) == (
        "rewards.half: the id must begin with 'truthful.'. Got 'rewards.half'."
    )


def test_a_notebook_of_another_chapter(tmp_path) -> None:
    # A notebook opens its own chapter's file: nobody would ever check the claim.
    text = PAPER + "claims:\n" + entry(notebook="rewards/01_tiny")
    assert refusal(tmp_path, text) == (
        "truthful.half: field 'notebook' must begin with 'truthful/'. "
        "Got 'rewards/01_tiny'."
    )


def test_a_chapter_that_the_book_has_not(tmp_path) -> None:
    message = refusal(tmp_path, PAPER + "claims:\n" + entry(), "truthfull.yml")
    assert message == (
        "the chapter must be one of planning, truthful, dpmac, rewards, macroscopic. "
        "Got 'truthfull'."
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must hold 'paper' and 'claims', nothing else."),
        (PAPER, "must hold 'paper' and 'claims', nothing else."),
        (PAPER + "claims: [x]\nmore: 1\n", "must hold 'paper' and 'claims', nothing"),
        ("- a\n", "must hold 'paper' and 'claims', nothing else."),
        ("paper: {key: a}\nclaims: [x]\n", "'paper' must hold key, title and authors."),
        ("paper: x\nclaims: [x]\n", "'paper' must hold key, title and authors."),
        (
            "paper: {key: a, title: 1, authors: b}\nclaims: [x]\n",
            "'paper' must hold texts. Got ",
        ),
        (PAPER + "claims: []\n", "'claims' must be a list of entries."),
        (PAPER + "claims: {a: b}\n", "'claims' must be a list of entries."),
        (PAPER + "claims: [\n", "not YAML: "),
        (PAPER + "claims: !!python/object:os.system x\n", "not YAML: "),
    ],
)
def test_a_file_that_is_wrong(tmp_path, text, sentence) -> None:
    assert refusal(tmp_path, text).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        (PAPER + PAPER + "claims: [x]\n", 2, "paper"),
        (PAPER + "claims:\n" + entry() + "  kind: bound\n", 12, "kind"),
        (PAPER + "claims:\n" + entry(at="{n: 1, n: 2}"), 12, "n"),
    ],
)
def test_a_key_given_twice(tmp_path, text, line, key) -> None:
    # Plain YAML keeps the last one without a word.
    assert yaml.safe_load(text)
    assert refusal(tmp_path, text) == (f"line {line}: the key '{key}' is given twice.")


def test_a_key_that_is_no_word(tmp_path) -> None:
    # Used to end in "TypeError: unhashable type", with no file and no line.
    text = PAPER + "claims:\n" + entry(at="{[a, b]: 1}")
    assert refusal(tmp_path, text) == "line 12: a key must be a word."


def test_what_yaml_itself_stumbles_over_is_refused_by_name(tmp_path) -> None:
    # PyYAML raises a plain ValueError for a date that no calendar has, and
    # reading does so for bytes that are not UTF-8.
    text = PAPER + "claims:\n" + entry(where="2020-13-45")
    assert refusal(tmp_path, text).startswith("not YAML: ")
    path = tmp_path / "truthful.yml"
    path.write_bytes(text.encode() + b"# \xff\n")
    with pytest.raises(LedgerError, match=r"^truthful\.yml: not YAML: .*0xff"):
        ledger.load_chapter(path)


def test_an_integer_that_is_no_float_is_refused_by_name(tmp_path) -> None:
    # Used to end in OverflowError.
    text = PAPER + "claims:\n" + entry(at="{n: 1" + 400 * "0" + "}")
    assert refusal(tmp_path, text).startswith("truthful.half: 'at: n' must be finite.")


# -- the whole ledger ---------------------------------------------------------


def write_book(root: Path, **chapters: str) -> Path:
    folder = root / "book" / "claims"
    folder.mkdir(parents=True)
    for name, text in chapters.items():
        (folder / f"{name}.yml").write_text(PAPER + "claims:\n" + text)
    return folder


def test_load_all_has_the_books_order(tmp_path) -> None:
    chapters = ("dpmac", "planning", "truthful")
    write_book(
        tmp_path, **{c: entry(id=f"{c}.x", notebook=f"{c}/01_x") for c in chapters}
    )
    assert list(ledger.load_all(tmp_path)) == ["planning", "truthful", "dpmac"]


def test_load_all_refuses_a_file_of_no_chapter(tmp_path) -> None:
    write_book(tmp_path, truthful=entry(), trutful=entry())
    with pytest.raises(LedgerError, match=r"^trutful\.yml: the chapter must be"):
        ledger.load_all(tmp_path)


def test_the_book_above_the_working_directory_comes_first(
    tmp_path, monkeypatch
) -> None:
    write_book(tmp_path, truthful=entry())
    inside = tmp_path / "notebooks" / "truthful"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert ledger.book_root() == tmp_path.resolve()
    assert list(ledger.load_all()["truthful"].claims) == ["truthful.half"]


def test_elsewhere_it_is_the_one_beside_the_library(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ledger.book_root() == Path(ledger.__file__).resolve().parents[2]


def test_no_book_anywhere(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ledger, "__file__", str(tmp_path / "dplib" / "ledger.py"))
    with pytest.raises(FileNotFoundError, match="inside a checkout of the book"):
        ledger.book_root()


def test_kinds_verdicts_and_evidence_have_a_legend() -> None:
    assert all(verdict.says for verdict in ledger.VERDICTS.values())
    assert all(ledger.EVIDENCE.values())
    assert len(set(ledger.KINDS)) == len(ledger.KINDS) == 7


# -- printed numbers ----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("0.6261", 5e-5),
        ("0.10", 5e-3),
        ("0.1", 5e-2),
        ("250000", 0.5),
        ("250000.", 0.5),
        ("-3", 0.5),
        ("+.5", 0.05),
        ("1.5e-3", 5e-5),
        ("1E3", 500.0),
        ("0", 0.5),
        ("0.000", 5e-4),
    ],
)
def test_half_a_unit(text, half) -> None:
    assert half_unit(text) == half


@pytest.mark.parametrize(
    "text",
    ["", " ", "abc", "inf", "nan", "sNaN", "1_000", " 1", "1\n", "١", "1,5", "."],
)
def test_what_is_no_printed_number(text) -> None:
    # Python's Decimal reads 1_000, spaces, and the digits of every script.
    for function in (decimal, half_unit):
        with pytest.raises(ValueError, match="must be a decimal number as text"):
            function(text)


@pytest.mark.parametrize("number", [0.1, 3, Decimal("0.10"), None])
def test_a_number_has_lost_its_last_digit(number) -> None:
    # decimal(0.1) used to be a decimal of 55 digits, half_unit(0.1) 5e-56.
    for function in (decimal, half_unit):
        with pytest.raises(TypeError, match="must be a decimal number as text"):
            function(number)


@given(
    st.integers(min_value=-(10**12), max_value=10**12),
    st.integers(min_value=0, max_value=12),
)
def test_half_unit_is_the_largest_error_of_rounding(number, places) -> None:
    exact = Decimal(number).scaleb(-places)
    text = f"{exact:.{places}f}"
    assert decimal(text) == exact
    half = Decimal(str(half_unit(text)))
    assert half * 2 == Decimal(1).scaleb(-places)
    for part in ("-0.999999", "0.999999"):  # the text is that of all such numbers
        assert f"{exact + half * Decimal(part):.{places}f}".lstrip("-") == (
            text.lstrip("-")
        )


@pytest.mark.parametrize(
    "value",
    [
        *('!!int ""', '!!float ""', '!!timestamp "abc"', '!!bool "abc"', "!!map [x]"),
        *("[" * 3000, "&a [*a, *a]"),
    ],
)
def test_yaml_tricks(tmp_path, value) -> None:
    text = "paper: {key: a, title: b, authors: c}\nclaims:\n- id: " + value + "\n"
    sentence = refusal(tmp_path, text)
    assert len(sentence) < 400
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "value", ["010", "-007", "1:30", "1:30.5", "0x10", "0b11", "1_000", "no", "True"]
)
def test_a_word_that_yaml_reads_in_its_own_way(tmp_path, value) -> None:
    """YAML 1.1 reads 010 as eight, 1:30 as ninety, and no as false."""
    words = rf"^truthful\.yml: line \d+: YAML reads '{value}' as \w+: write it plainly"
    with pytest.raises(ledger.LedgerError, match=words):
        claim(tmp_path, at=f"{{n: {value}}}")


def test_a_long_name_does_not_fill_the_screen(tmp_path) -> None:
    name = 5000 * "x"
    for text in (
        PAPER + "claims:\n" + entry() + f"  {name}: 1\n",
        PAPER + "claims:\n" + entry(at=f"{{{name[:500]}: 1, {name[:500]}: 2}}"),
    ):
        assert len(refusal(tmp_path, text)) < 400


@pytest.mark.parametrize(
    "value", ["1e309", "0e400", "1e-400", "1e99999999999999999999"]
)
def test_printed_must_be_a_float(tmp_path, value) -> None:
    with pytest.raises(ledger.LedgerError, match="must be a decimal number"):
        claim(tmp_path, printed=f'"{value}"')
