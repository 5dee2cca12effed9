"""The Sphinx extensions of the book, on tiny made-up ledgers and notebooks."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from docutils.utils import new_document

from dplib.book.ledger import EVIDENCE, VERDICTS, load_all
from dplib.book.verdicts import MIME_TYPE, Check

ROOT = Path(__file__).resolve().parents[2]
EXTENSIONS = ROOT / "book" / "_ext"
sys.path.append(str(EXTENSIONS))

import errata_html  # noqa: E402
import glued_formulas  # noqa: E402
import guards  # noqa: E402
import ledger_html  # noqa: E402
import plain_docstrings  # noqa: E402
import promises_svg  # noqa: E402
import repository_buttons  # noqa: E402
import status_html  # noqa: E402
from ledger_book import DOUBTFUL, TITLES, Snapshot, read  # noqa: E402

CHECKED: dict[str, Any] = {"evidence": "exact", "notebook": "truthful/01_a"}

ENTRIES: list[dict[str, Any]] = [
    {"verdict": "reproduced", "printed": "0.50", "at": {"epsilon": 0.1}, **CHECKED},
    {"verdict": "corrected", "ours": "a < b & c", "text": "uncertain", **CHECKED},
    {"verdict": "refuted", "counterexample": "x = 2", **CHECKED},
    {"verdict": "empty", "consequence": "none", **CHECKED},
    {"verdict": "underspecified", "assumed": ["p", "q"], **CHECKED},
    {"verdict": "not reproduced", "tried": "the obvious", **CHECKED},
    {"verdict": "undecided", "tried": "more", **CHECKED},
    {"verdict": "shown", "kind": "ours", "ours": "3", **CHECKED},
    {"verdict": "implemented", "kind": "definition", **CHECKED}
    | {"level": "input", "serves": "truthful.c0"},
    {"verdict": "open", "notebook": None},
]
OPEN = len(ENTRIES) - 1
STEP = OPEN - 1
SAME = [
    {"id": f"truthful.again{number}", "where": "Abstract"}
    | {"says": f"claim {number}, again", "same_as": f"truthful.c{number}"}
    for number in (2, STEP)  # a headline, and a step under another
]

STATUS = {
    "versions": {"numpy": "2.4.6"},
    "machine": "one core",
    "date": "2026-01-02",
    "notebooks": {
        "truthful/01_a": {"key": "k", "cpu_seconds": 12.34},
        "truthful/02_b": {"key": "k", "cpu_seconds": 91.0},
    },
}

Link = Callable[[str, str], str]


def link(notebook: str, claim: str) -> str:
    return f"{notebook}.html#claim-{claim}"


def title(notebook: str) -> str:
    return f"What is in {notebook} & why?"


class Book:
    """A book of one chapter under `root`, with a notebook that checks its claims."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.entries = [
            {"id": f"truthful.c{number}", "where": f"Section {number}", "kind": "bound"}
            | {
                "says": f"claim {number}",
                "level": "headline" if number < 3 else "result",
            }
            | entry
            for number, entry in enumerate(ENTRIES)
        ] + SAME
        self.write_ledger()
        self.payloads = [
            Check(claim, claim.verdict, 1.0, None, f"found {claim.id}").payload()
            for claim in load_all(root)["truthful"].claims.values()
            if claim.verdict != "open" and not claim.same_as
        ]
        self.write_notebook("truthful/01_a", self.payloads)

    def write_ledger(self) -> None:
        paper = {"key": "k", "title": "On <Trees>", "authors": "A. Author"}
        path = self.root / "book" / "claims" / "truthful.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"paper": paper, "claims": self.entries}))

    def write_notebook(self, name: str, payloads: list[Any]) -> None:
        cells = [{"outputs": [{"data": {MIME_TYPE: payload}}]} for payload in payloads]
        path = self.root / "notebooks" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"cells": [{}, *cells]}))

    def write_status(self, status: Any = STATUS) -> None:
        (self.root / "book" / "status.json").write_text(json.dumps(status))

    def read(self) -> Snapshot:
        return read(self.root)


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path)


# -- consistency: each way in which ledger and outputs may disagree -------------


def test_a_consistent_book_has_no_problems(book: Book) -> None:
    snapshot = book.read()
    assert snapshot.problems == ()
    assert len(snapshot.outputs) == OPEN
    # Ours apart; no definition, and no statement twice.
    counted = set(VERDICTS) - {"shown", "implemented"}
    assert snapshot.counts("truthful", ours=False) == dict.fromkeys(counted, 1)
    assert snapshot.counts("truthful", ours=True) == {"shown": 1}


def only_problem(book: Book) -> str:
    (sentence,) = book.read().problems
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize(
    ("name", "extra", "words"),
    [
        ("01_a", {"id": "truthful.no"}, "'truthful.no', which the ledger does not"),
        ("01_a", {}, "01_a: truthful.c0 has an output already, in truthful/01_a."),
        ("02_b", {}, "02_b: truthful.c0 has an output already, in truthful/01_a."),
        ("01_a", {"id": f"truthful.c{OPEN}"}, "the ledger assigns it to no notebook"),
    ],
)
def test_an_output_too_many(book: Book, name: str, extra: Any, words: str) -> None:
    payloads = book.payloads if name == "01_a" else []
    book.write_notebook(f"truthful/{name}", [*payloads, book.payloads[0] | extra])
    assert words in only_problem(book)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("verdict", "not applicable", "executed at other parameter values"),
        ("verdict", "refuted", "found 'refuted', the ledger says 'reproduced'"),
        ("says", "something else", "the field 'says' has changed since"),
        ("printed", ["0.51"], "the field 'printed' has changed since"),
        ("at", {"epsilon": 0.2}, "the field 'at' has changed since"),
    ],
)
def test_an_output_that_the_ledger_contradicts(
    book: Book, name: str, value: Any, words: str
) -> None:
    book.payloads[0][name] = value
    book.write_notebook("truthful/01_a", book.payloads)
    assert words in only_problem(book)
    assert "run: make refresh NB=truthful/01_a" in only_problem(book)


# -- what the pages say ---------------------------------------------------------


def test_the_headlines_are_on_top_and_the_rest_is_folded(book: Book) -> None:
    markup = ledger_html.chapter_table(book.read(), "truthful", link)
    top, served, more, own = markup.split("<details")
    for number, part in enumerate([top] * 3 + [more] * 4 + [own, served, more]):
        assert re.search(rf"claim {number}\b", part), number
    assert "3 entries that the headlines rest on" in served
    for number in (2, STEP):
        assert f"claim {number}, again" in served
        assert f"as truthful.c{number}" in served
    assert "5 entries more of the paper" in more
    assert "1 entry more of our own" in own
    assert re.findall('data-level="([^"]*)"', top) == ["headline"] * 3
    assert 'data-level="headline"' not in served + more + own
    for verdict, facts in VERDICTS.items():
        assert f">{facts.sign}</span>" in markup
        assert f">{verdict}</span>" in markup


def test_a_row_names_all_and_empty_columns_are_left_out(book: Book) -> None:
    snapshot = book.read()
    claims = snapshot.claims("truthful")
    row = ledger_html.claim_table(snapshot, claims[:1], link)
    for text in ("Section 0", "0.50", "found truthful.c0", "exact", "epsilon = 0.1"):
        assert text in row
    assert 'href="truthful/01_a.html#claim-truthful.c0"' in row
    heads = ["verdict, evidence", "where", "claim", "ours"]
    assert re.findall(r"<th scope[^>]*>([^<]*)", row) == heads
    assert "claim 0" in row
    assert "printed: 0.50" in row
    row = ledger_html.claim_table(snapshot, claims[OPEN : OPEN + 1], link)
    assert re.findall(r"<th scope[^>]*>([^<]*)", row) == heads[:3]


def test_a_finding_stands_with_its_claim_and_its_page(book: Book) -> None:
    chosen = ["truthful.c1", "truthful.c0"]
    markup = ledger_html.findings(book.read(), chosen, link, title)
    first, second = re.findall("<li>(.*?)</li>", markup)
    assert "found truthful.c1" in first
    assert "Section 1: claim 1" in first
    assert "corrected" in first
    assert "text as we have it" in first
    assert "found truthful.c0" in second
    assert "text as we have it" not in second
    address = 'href="truthful/01_a.html#claim-truthful.c1"'
    assert f"<a {address}>What is in truthful/01_a &amp; why?</a>" in first
    whole = ledger_html.chapter_findings(book.read(), "truthful", markup, "b.html")
    assert markup in whole
    assert '<a href="b.html#chapter-truthful">All 12 entries' in whole


def test_the_picture_is_drawn_from_what_checks_left() -> None:
    def drawn(budget: float) -> list[str]:
        values = iter((0, 3, 0.5, 0.7))
        outputs = {
            claim: SimpleNamespace(
                payload={"margin": {"published code": budget}}
                if row.chapter == "dpmac"
                else {"value": next(values)}
            )
            for row in promises_svg.ROWS
            for claim in row.marks
        }
        svg = promises_svg.promises(SimpleNamespace(outputs=outputs))  # type: ignore[arg-type]
        said = re.search(r"<desc [^>]*>(.*)\.</desc>", svg)
        assert said is not None
        colours = re.findall(r"--verdict-(\w+)", svg)
        return [said.group(1), *colours]

    said, *colours = drawn(-4)
    assert [part.split(": ")[1] for part in said.split("; ")] == [
        "1",
        "3",
        "0.5 and 0.7",
        "5",
    ]
    assert colours == ["reproduced", "refuted", "reproduced", "reproduced", "refuted"]
    assert drawn(0)[-1] == "reproduced"


def test_texts_are_escaped_and_all_is_counted(book: Book) -> None:
    snapshot = book.read()
    markup = errata_html.errata_list(snapshot, "truthful", link)
    assert "a &lt; b &amp; c" in markup
    summary = ledger_html.summary(snapshot)
    assert "On &lt;Trees&gt;" in summary
    assert summary.count("7 of 8") == 2  # the chapter, and the whole book
    book.entries.pop(OPEN)  # once nothing is open, a column has nothing to say
    book.write_ledger()
    assert "worked on" in summary
    assert "worked on" not in ledger_html.summary(book.read())
    whole = ledger_html.total(snapshot)
    assert "make 8 claims that are counted; 1 result of our own" in whole
    assert 'aria-label="1 reproduced, 1 corrected, 1 refuted, ' in summary


def test_errata_list_holds_the_doubtful_verdicts(book: Book) -> None:
    markup = errata_html.errata_list(book.read(), "truthful", link)
    listed = re.findall(r'data-verdict="([^"]*)"', markup)
    # What is of consequence stands first, slips behind a fold of their own.
    assert listed == [name for name in DOUBTFUL if name != "empty"] + ["empty"]
    assert markup.index("1 slip from which nothing follows") < markup.index(
        'data-verdict="empty"'
    )
    levels = re.findall(r'data-level="([^"]*)"', markup)
    assert levels == ["headline"] * 2 + ["more"] * 3 + ["slip"]
    lines = re.findall("<summary>(.*?)</summary>", markup)
    assert "Section 1</b>: found truthful.c1" in lines[0]
    assert "claim 1" not in lines[0]
    for text in ("x = 2", "<li>p</li><li>q</li>", "the obvious", "Section 2; Abstract"):
        assert text in markup
    assert markup.count("text as we have it") == 1
    summary = errata_html.errata_summary(book.read())
    assert "7 of the 8 claims of the papers have been checked" in summary
    assert "6 are listed here: 1 corrected, 1 refuted, 1 empty" in summary


def test_empty_errata_list_says_so(book: Book) -> None:
    book.entries = [book.entries[0], book.entries[OPEN]]
    book.write_ledger()
    book.write_notebook("truthful/01_a", book.payloads[:1])
    markup = errata_html.errata_summary(book.read())
    assert "1 of the 2 claims of the papers has been checked" in markup
    assert "this list is empty" in markup
    assert "says nothing about the claims that are still open" in markup


def test_every_chapter_and_every_word_is_explained() -> None:
    assert set(TITLES) == set(load_all(ROOT))
    markup = ledger_html.legend()
    says = [verdict.says for verdict in VERDICTS.values()]
    for text in (*VERDICTS, *says, *EVIDENCE, *EVIDENCE.values()):
        assert text in markup


def test_status_table_holds_times_against_budgets(book: Book) -> None:
    assert "Nothing has been recorded" in status_html.status_table(book.read())
    book.write_status()
    markup = status_html.status_table(book.read())
    rows = {}
    for row in re.findall(r"<tr>(<td>.*?)</tr>", markup):
        name, *cells = re.sub(r"<[^>]*>", " ", row.replace("</td>", "|")).split("|")
        rows[name.strip()] = [cell.strip() for cell in cells]
    assert rows["numpy"][0] == "2.4.6"
    assert rows["truthful/01_a"][:3] == ["12.3", "90", "✓ within"]
    assert rows["truthful/02_b"][:3] == ["91.0", "90", "✗ over"]
    whole = rows["Truthful optimization , all notebooks"]
    assert whole[:3] == ["103.3", "450", "✓ within"]
    assert "2026-01-02" in markup


def test_budgets_are_those_of_the_guards() -> None:
    assert status_html.NOTEBOOK_BUDGET == guards.BUDGET_NOTEBOOK
    assert status_html.CHAPTER_BUDGET == guards.BUDGET_CHAPTER


def test_the_style_sheet_has_the_colours_of_the_verdicts() -> None:
    css = (ROOT / "book" / "_static" / "book.css").read_text()
    for verdict, facts in VERDICTS.items():
        assert f"--verdict-{verdict.replace(' ', '-')}: {facts.colour};" in css


# -- the extension inside Sphinx --------------------------------------------------

PAGES = {
    "index": "# Home\n\n```{toctree}\nclaims\nerrata\nstatus\nnotebooks/truthful/01_a\n"
    "```\n",
    "claims": "# Scoreboard\n\n```{findings}\ntruthful.c2\n```\n\n"
    "```{scoreboard}\n```\n\n```{claim-legend}\n```\n",
    "errata": "# Errata\n\n```{errata}\n```\n",
    "status": "# Status\n\n```{status-table}\n```\n",
    "notebooks/truthful/01_a": "# A & B\n\n```{findings} truthful\ntruthful.c0\n"
    "```\n\n```{claim-total}\n```\n",
}


def sphinx(book: Book) -> subprocess.CompletedProcess[str]:
    """Build the made-up book with the real extension; warnings are errors."""
    (book.root / "conf.py").write_text(
        "extensions = ['myst_parser', 'ledger_pages']\n"
        "html_theme = 'basic'\n"
        "exclude_patterns = ['out']\n"
    )
    for name, text in PAGES.items():
        path = book.root / f"{name}.md"
        if not path.is_file():
            path.write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", ".", "out"],
        cwd=book.root,
        env=os.environ | {"PYTHONPATH": f"{EXTENSIONS}:{ROOT}", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def page(book: Book, name: str) -> str:
    return (book.root / "out" / f"{name}.html").read_text()


@pytest.mark.slow
def test_pages_are_filled_linked_and_follow_their_sources(book: Book) -> None:
    book.write_status()
    done = sphinx(book)
    assert done.returncode == 0, done.stderr
    assert "12.3" in page(book, "status")
    assert "found truthful.c1" in page(book, "errata")
    (top,) = re.findall('<ol class="claim-top">(.*?)</ol>', page(book, "claims"))
    assert "found truthful.c2" in top
    assert '<a href="notebooks/truthful/01_a.html#claim-truthful.c2">A &amp; B<' in top
    (top,) = re.findall(
        '<ol class="claim-top">.*?</p>', page(book, "notebooks/truthful/01_a")
    )
    assert 'href="../../book/claims.html#chapter-truthful"' in top
    for name in ("claims", "errata"):
        assert "claims.js" in page(book, name)
        assert page(book, name).count('class="claim-filter"') == 1
    assert "claims.js" not in page(book, "notebooks/truthful/01_a")

    # An incremental build notices new outputs and new times, and only then works.
    again = sphinx(book)
    assert "0 added, 0 changed" in again.stdout
    book.payloads[1]["finding"] = "found anew"
    book.write_notebook("truthful/01_a", book.payloads)
    book.write_status(STATUS | {"date": "2027-03-04"})
    assert sphinx(book).returncode == 0
    assert "found anew" in page(book, "errata")
    assert "found anew" in page(book, "claims")
    assert "2027-03-04" in page(book, "status")


def test_a_disagreement_stops_the_build(book: Book) -> None:
    folder = book.root / "notebooks" / "truthful"
    (folder / "01_a.md").write_text(
        "# A\n\n```{findings} elsewhere\n```\n\n```{findings}\ntruthful.c0\n```\n"
    )
    (folder / "01_a.ipynb").unlink()
    book.write_notebook("truthful/02_b", book.payloads[1:])
    done = sphinx(book)
    assert done.returncode != 0
    for sentence in (
        "truthful.c0: the ledger says 'reproduced', but no executed cell of "
        "truthful/01_a checks it.",
        "checked in truthful/02_b, but the ledger assigns it to truthful/01_a",
        "02_b: the notebook checks claims, but _toc.yml does not list it",
        "the chapter must be one of truthful. Got 'elsewhere'",
        "'truthful.c0' is no claim that a notebook has checked",
    ):
        assert sentence in done.stderr


# -- the small extensions ----------------------------------------------------------


GITHUB = "https://github.com/someone/book"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("", ""),
        (GITHUB, GITHUB),
        (f"{GITHUB}.git", GITHUB),
        ("git@github.com:someone/book.git", GITHUB),
        ("ssh://git@github.com/someone/book.git", GITHUB),
        ("https://gitlab.com/a/group/book.git", "https://gitlab.com/a/group/book"),
        ("https://forge.example/someone/book", ""),
        ("https://github.com/someone", ""),
    ],
)
def test_buttons_follow_the_address_of_the_repository(url: str, address: str) -> None:
    # ".git" and ssh used to give wrong links; another forge stopped the build.
    config = SimpleNamespace(html_theme_options={"repository_url": url})
    repository_buttons.choose(SimpleNamespace(), config)  # type: ignore[arg-type]
    options = config.html_theme_options
    assert options["repository_url"] == address
    for name in (*repository_buttons.BUTTONS, "launch_buttons"):
        assert bool(options[name]) is bool(address)


def test_a_formula_keeps_the_marks_that_touch_it() -> None:
    line = nodes.paragraph("", "so (", nodes.math("", "x"), nodes.Text("), and "))
    line += [nodes.math("", "y"), nodes.math("", "z"), nodes.Text("-fold")]
    page = new_document("page")
    page += line
    glued_formulas.glue(None, page, "page")
    parts = ["so ", "(x),", " and ", "y", "z-", "fold"]
    assert [part.astext() for part in line] == parts
    assert [part.astext() for part in page.findall(nodes.math)] == ["x", "y", "z"]


def test_docstrings_keep_bars_formulas_and_tables() -> None:
    lines = ["The size |x| of `|y|` and ``|z|``."]
    lines += [
        "",
        "    |a| = b",
        "        c",
        "",
        "| h | k |",
        "| 1 | 2 |",
        "",
        "So |x|.",
    ]
    assert list(plain_docstrings.translate(lines)) == [
        r"The size \|x\| of `|y|` and ``|z|``.",
        "",
        ".. code-block:: text",
        "",
        "    |a| = b",
        "        c",
        "",
        "    | h | k |",
        "    | 1 | 2 |",
        "",
        r"So \|x\|.",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["Code::", "", "    |a|"],
        [".. math::", "", r"    \|a\|", "", "    |b|"],
        [r"The norm :math:`\|a\|`, begun :math:`\|b", r"+ c\|` here."],
        ["Returns", "-------", "x : float", "    What.", "", "    More."],
        ["- item", "", "    more"],
        [">>> f()", "'|a|'"],
    ],
)
def test_what_is_restructured_text_already_is_left_alone(lines: list[str]) -> None:
    assert list(plain_docstrings.translate(lines)) == lines


def described() -> dict[str, str]:
    """Return the page of the library on which each module is described."""
    return {
        name: path.stem
        for path in sorted((ROOT / "book" / "api").glob("*.md"))
        for name in re.findall(r"^\.\. automodule:: (\S+)$", path.read_text(), re.M)
    }


def test_what_a_reader_wants_is_a_function_that_is_described() -> None:
    text = (ROOT / "book" / "api" / "index.md").read_text()
    wanted = re.findall(r"^\| [^|]+ \| \{py:func\}`~([\w.]+)` \|$", text, re.M)
    assert len(wanted) > 20
    for name in wanted:
        module, function = name.rsplit(".", 1)
        assert module in described(), name
        found = getattr(importlib.import_module(module), function)
        assert found.__module__ == module, name


def test_every_package_has_its_page_and_the_page_nothing_else() -> None:
    for module, page in described().items():
        package = ROOT / "dplib" / module.split(".")[1]
        assert page == (package.name if package.is_dir() else "ground"), module


def test_every_public_module_is_on_a_page_of_the_library() -> None:
    documented = [
        name
        for path in sorted((ROOT / "book" / "api").glob("*.md"))
        for name in re.findall(r"^\.\. automodule:: (\S+)$", path.read_text(), re.M)
    ]
    public = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted((ROOT / "dplib").rglob("*.py"))
        if not path.name.startswith("_")
    ]
    public += [f"dplib.{path.parent.name}" for path in ROOT.glob("dplib/*/__init__.py")]
    missing = sorted(set(public) - set(documented))
    assert not missing, f"add an automodule to a page of book/api for: {missing}"
    assert sorted(documented) == sorted(public)
