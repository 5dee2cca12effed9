"""The ledger of the book: complete, well formed, and tied to its notebooks.

The *inventory* lists every numbered item of each paper, taken from its text;
each must have an entry.
"""

import importlib
import re

import pytest

from dplib.book import ledger, notebooks

ROOT = ledger.book_root()
BOOK = ledger.load_all(ROOT)


def _numbered(**counts: int | str) -> list[str]:
    """Expand {Lemma=3} to Lemma 1, 2, 3, and {Figure="2-4"} to Figure 2, 3, 4."""
    items = []
    for word, count in counts.items():
        first, last = (
            map(int, str(count).split("-")) if "-" in str(count) else (1, count)
        )
        items += [f"{word} {number}" for number in range(first, int(last) + 1)]
    return items


INVENTORY = {
    "planning": _numbered(
        Assumption=2, Definition=3, Algorithm=2, Theorem=2, Equation=3, Figure=5
    ),
    "truthful": [
        "Problem 0",
        "Table I",
        *_numbered(
            Assumption=2,
            Problem=1,
            Definition=2,
            Lemma=8,
            Theorem=3,
            Algorithm=2,
            Figure=3,
        ),
    ],
    "dpmac": [
        *("Definition 3.1", "Definition 6.1", "Definition B.2", "Proposition 4.1"),
        *("Theorem 5.1", "Theorem 6.1", "Theorem 6.2", "Theorem B.2"),
        *("Figure 2a", "Figure 2b", "Figure 2c", "Figure 2d", "Assumptions 1 to 4"),
        *_numbered(Equation=4, Figure=2),
        *_numbered(Figure="4-5"),
    ],
    "rewards": _numbered(
        Definition=5,
        Remark=6,
        Proposition=1,
        Lemma=2,
        Problem=5,
        Algorithm=2,
        Theorem=6,
        Corollary=1,
        Table=1,
        Figure=11,
        Example=3,
        Equation=16,
    ),
    "macroscopic": [
        *_numbered(Definition=4, Lemma=1, Proposition=2, Corollary=1, Figure=14),
        *_numbered(Equation="1-10"),
        *("Equation 16", "Equation 25", *_numbered(Equation="18-22")),
    ],
}


def test_all_five_papers_are_entered():
    assert list(BOOK) == list(ledger.CHAPTERS)


@pytest.mark.parametrize("chapter", ledger.CHAPTERS)
def test_every_numbered_item_of_the_paper_has_an_entry(chapter):
    places = [claim.where for claim in BOOK[chapter].claims.values()]
    missing = [
        item
        for item in INVENTORY[chapter]
        if not any(
            re.match(rf"{re.escape(item)}(?![\w.]*\d)", place) for place in places
        )
    ]
    assert missing == []


def test_every_claim_that_is_not_open_belongs_to_a_notebook_of_its_chapter():
    names = {notebooks.name_of(path) for path in notebooks.find(ROOT)}
    for chapter, book in BOOK.items():
        for claim in book.claims.values():
            if claim.verdict != "open" and not claim.same_as:
                assert claim.notebook in names, claim.id
                assert claim.notebook.startswith(f"{chapter}/"), claim.id


def test_paper_keys_are_in_the_bibliography():
    text = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    for book in BOOK.values():
        assert re.search(rf"@\w+\{{{book.paper.key},", text), book.paper.key


def test_says_is_short_and_plain():
    for book in BOOK.values():
        for claim in book.claims.values():
            assert len(claim.says) <= 240, claim.id
            assert not set("\\$") & set(claim.says), claim.id


def test_every_erratum_says_what_follows_from_it():
    for book in BOOK.values():
        for claim in book.claims.values():
            assert len(claim.consequence) <= 240, claim.id
            if claim.verdict in ("corrected", "refuted"):
                assert claim.consequence, claim.id
            if claim.verdict == "refuted":
                assert claim.counterexample, claim.id


# -- the frame of the book: what leads, and in which order -----------------------------


def _chosen(page):
    """Return the ids in the lists of findings on a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return " ".join(
        re.findall(r"^```\{findings\}.*?\n(.*?)^```", text, re.M | re.S)
    ).split()


def _claim(name):
    return BOOK[name.split(".")[0]].claims[name]


@pytest.mark.parametrize("page", ["book/claims.md", "book/errata.md"])
def test_ten_headlines_lead_two_of_each_paper(page):
    chosen = _chosen(page)
    chapters = [name.split(".")[0] for name in chosen]
    assert len(set(chosen)) == 10
    assert {chapters.count(chapter) for chapter in BOOK} == {2}
    for name in chosen:
        assert _claim(name).level == "headline", name
    if page == "book/errata.md":
        for name in chosen:
            assert _claim(name).verdict in set(ledger.TELLS) - {"shown"}, name


@pytest.mark.parametrize("chapter", ledger.CHAPTERS)
def test_a_landing_page_leads_with_five_headlines_of_its_chapter(chapter):
    chosen = _chosen(f"notebooks/{chapter}/index.md")
    assert len(set(chosen)) == 5
    for name in chosen:
        assert name.startswith(f"{chapter}."), name
        assert _claim(name).level == "headline", name


def _listed():
    text = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    return re.findall(r"^[ -]*file: (\S+)$", text, re.M)


def test_the_story_comes_first_and_the_reference_last():
    listed = _listed()
    story = [name.startswith("notebooks/") for name in listed]
    assert story == sorted(story, reverse=True)
    order = list(
        dict.fromkeys(name.split("/")[1] for name in listed if "/index" in name)
    )
    text = (ROOT / "book" / "_ext" / "ledger_book.py").read_text(encoding="utf-8")
    titles = re.search(r"^TITLES.*?^\}", text, re.M | re.S).group()
    chapters = [name for name in order if name in BOOK]
    assert chapters == re.findall(r'^    "(\w+)":', titles, re.M)
    assert set(chapters) == set(BOOK)
    text = (ROOT / "book" / "intro.md").read_text(encoding="utf-8")
    papers = text.split("## The five papers")[1]
    assert (
        re.findall(r"^\[[^]]*\]\(\.\./notebooks/(\w+)/index", papers, re.M) == chapters
    )


def test_every_number_about_a_paper_is_on_a_page_that_its_paragraph_links_to():
    text = (ROOT / "book" / "intro.md").read_text(encoding="utf-8")
    papers = text.split("## The five papers")[1].split("```")[0]
    paragraphs = re.findall(r"^: (.*?)(?=^\[|\Z)", papers, re.M | re.S)
    assert len(paragraphs) == 5
    seen = 0
    for paragraph in paragraphs:
        pages = re.findall(r"\(\.\./(notebooks/\S+)\.ipynb\)", paragraph)
        said = "".join((ROOT / f"{one}.ipynb").read_text("utf-8") for one in pages)
        for number in re.findall(r"\d[\d.]*\d|\d", re.sub(r"\(\S+\)", "", paragraph)):
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", said), number
            seen += 1
    assert seen >= 5


LABEL = (
    r"\b(?:Theorem|Lemma|Proposition|Corollary|Algorithm|Table|Example) (?:\d+|[IV]+)\b"
)


@pytest.mark.parametrize("chapter", ledger.CHAPTERS)
def test_the_front_door_of_a_room_knows_every_numbered_statement(chapter):
    """A newcomer finds Theorem 5 in one minute: in a file, or on a page."""
    room = importlib.import_module(f"dplib.{chapter}")
    door = set(re.findall(LABEL, " ".join(room.__doc__.split())))
    places = " ".join(claim.where for claim in BOOK[chapter].claims.values())
    assert set(re.findall(LABEL, places)) <= door
