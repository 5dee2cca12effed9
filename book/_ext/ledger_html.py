"""The pages about claims as HTML: findings, bars, tables and legends.

Plain functions from a `Snapshot` to markup, with no Sphinx in them. A verdict is
always a sign and a word; its colour only repeats them. ``link`` is a function
from a notebook and a claim to an address, given by the page, and ``title`` one from
a notebook to its title. What the filter (``claims.js``) can hide has a ``data-level``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape

from ledger_book import TITLES, Snapshot, importance

from dplib.book.ledger import EVIDENCE, VERDICTS, Claim
from dplib.book.rounding import shown
from dplib.book.verdicts import look, markup

Link = Callable[[str, str], str]
Title = Callable[[str], str]

COLUMNS = {
    "verdict": "verdict, evidence",
    "where": "where",
    "claim": "claim",
    "ours": "ours",
}


def table(kind: str, heads: Iterable[str], rows: Iterable[str]) -> str:
    """Return a table with a row of heads; ``kind`` is its class beside the common."""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f'<table class="{f"claim-table {kind}".rstrip()}"><thead><tr>{head}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def kind(verdict: str) -> str:
    """Return a verdict as the tail of a class of the style sheet."""
    return verdict.replace(" ", "-")


def badge(verdict: str) -> str:
    """Return a verdict as its sign and its word."""
    sign = look(verdict).sign
    return (
        f'<span class="verdict verdict-{kind(verdict)}">'
        f'<span class="verdict-sign" aria-hidden="true">{sign}</span> '
        f'<span class="verdict-word">{verdict}</span></span>'
    )


def number(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun, in the singular or the plural."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def verdict_bar(counts: Mapping[str, int]) -> str:
    """Return a stacked bar of the verdicts, and the same in words below it."""
    words = ", ".join(f"{count} {name}" for name, count in counts.items())
    parts = "".join(
        f'<span class="verdict-part verdict-{kind(name)}" style="flex-grow: {count}">'
        "</span>"
        for name, count in counts.items()
    )
    labels = "".join(
        f"<li>{badge(name)} <b>{count}</b></li>" for name, count in counts.items()
    )
    return (
        f'<div class="verdict-bar" role="img" aria-label="{words}">{parts}</div>'
        f'<ul class="verdict-counts">{labels}</ul>'
    )


FILTER = '<div class="claim-filter" hidden></div>'  # filled by claims.js
UNCERTAIN = ' <em class="claim-uncertain">(in the text as we have it)</em>'


def total(book: Snapshot) -> str:
    """Return one bar for the claims of all papers, and how many they are."""
    counts = book.counts(ours=False)
    claims = number(sum(counts.values()), "claim")
    own = number(book.counts(ours=True).get("shown", 0), "result")
    return (
        f"<p>The five papers make {claims} that are counted; {own} of our own stand "
        f"beside them.</p>{verdict_bar(counts)}"
    )


def findings(book: Snapshot, chosen: Iterable[str], link: Link, title: Title) -> str:
    """Return some claims, each with what came out below it, and its page."""
    claims = {claim.id: claim for claim in book.claims()}
    items = []
    for one in chosen:
        claim, output = claims[one], book.outputs[one]
        address = escape(link(output.notebook, one))
        items.append(
            f"<li><small>{TITLES[claim.chapter]}, {escape(claim.where)}: "
            f"{markup(claim.says)}.</small><br>{badge(claim.verdict)} "
            f"<b>{markup(output.finding)}</b>{UNCERTAIN if claim.text else ''}. "
            f'<small><a href="{address}">{escape(title(output.notebook))}</a></small>'
            "</li>"
        )
    return f'<ol class="claim-top">{"".join(items)}</ol>'


def chapter_findings(book: Snapshot, chapter: str, top: str, scoreboard: str) -> str:
    """Return the bar of a chapter, its top findings, and where the rest stands."""
    count = number(len(book.claims(chapter)), "entry", "entries")
    return (
        f"{verdict_bar(book.counts(chapter, ours=False))}{top}"
        f'<p><a href="{scoreboard}#chapter-{chapter}">All {count} of this chapter'
        "</a></p>"
    )


def summary(book: Snapshot) -> str:
    """Return the summary table: one row a chapter, and one for the whole book."""
    unfinished = "open" in book.counts(ours=False)
    rows = []
    for chapter in [*book.ledgers, None]:
        papers, own = (book.counts(chapter, ours=ours) for ours in (False, True))
        total = sum(papers.values())
        done = total - papers.get("open", 0)
        if chapter is None:
            name = "<b>The whole book</b>"
        else:
            paper = book.ledgers[chapter].paper
            name = (
                f'<a href="#chapter-{chapter}"><b>{TITLES[chapter]}</b></a>'
                f"<br><small>{escape(paper.authors)}: {escape(paper.title)}</small>"
            )
        state = f'<td data-label="worked on" class="count">{done} of {total}</td>'
        rows.append(
            f'<tr><th scope="row" data-label="chapter">{name}</th>'
            f'<td data-label="the paper\'s claims">{verdict_bar(papers)}</td>'
            f"{state if unfinished else ''}"
            f'<td data-label="our own" class="count">{own.get("shown", 0)}</td></tr>'
        )
    states = ("worked on",) if unfinished else ()
    heads = ("chapter", "the paper's claims", *states, "our own results")
    return f'<div class="claim-scroll">{table("claim-summary", heads, rows)}</div>'


def _found(book: Snapshot, claim: Claim) -> str:
    """Return what we found: the output's phrase, and the ledger's own words."""
    if claim.same_as:
        return f"as {escape(claim.same_as)}"
    parts = []
    if claim.id in book.outputs:
        found = book.outputs[claim.id].finding
        parts.append(markup(found.removeprefix("ours ")))  # the column says "ours"
    if claim.verdict == "corrected":
        parts.append(f"right: {markup(claim.ours)}")
    elif claim.verdict == "refuted":
        parts.append(f"counterexample: {markup(claim.counterexample)}")
    return "<br>".join(part for part in parts if part)


def at(claim: Claim) -> str:
    """Return the parameter values for which a claim is made."""
    if not claim.at:
        return ""
    text = ", ".join(
        f"{name} = {shown(value) if isinstance(value, float) else value}"
        for name, value in claim.at.items()
    )
    return f' <small class="claim-at">at {escape(text)}</small>'


def in_print(claim: Claim) -> str:
    """Return the numbers that the paper prints, as the end of what it claims."""
    text = printed(claim)
    return f' <small class="claim-printed">printed: {text}</small>' if text else ""


def printed(claim: Claim) -> str:
    """Return the numbers as the paper prints them, with their unit."""
    unit = f" {escape(claim.unit)}" if claim.printed and claim.unit else ""
    return ", ".join(escape(text) for text in claim.printed) + unit


def claim_table(book: Snapshot, claims: Iterable[Claim], link: Link) -> str:
    """Return one table of claims; cells without a value are left out on a phone."""
    cells = [(claim, _cells(book, claim, link)) for claim in claims]
    # A column in which no claim has anything, such as ours for open ones, is left out.
    names = [name for name in COLUMNS if any(row[name] for _, row in cells)]
    rows = [
        f'<tr data-verdict="{claim.verdict}" data-level="{importance(claim)}">'
        + "".join(
            f'<td data-label="{name}" class="cell-{name}">{row[name]}</td>'
            for name in names
        )
        + "</tr>"
        for claim, row in cells
    ]
    whole = table("claim-list", [COLUMNS[name] for name in names], rows)
    return f'<div class="claim-scroll">{whole}</div>'


def _cells(book: Snapshot, claim: Claim, link: Link) -> dict[str, str]:
    """Return the cells of a claim's row by column."""
    verdict = badge(claim.verdict)
    if claim.notebook is not None:
        verdict = f'<a href="{escape(link(claim.notebook, claim.id))}">{verdict}</a>'
    if claim.evidence and not claim.same_as:
        verdict += f'<br><small class="claim-evidence">{claim.evidence}</small>'
    says = markup(claim.says) + (UNCERTAIN if claim.text else "")
    return {
        "verdict": verdict,
        "where": escape(claim.where),
        "claim": says + at(claim) + in_print(claim),
        "ours": _found(book, claim),
    }


def chapter_table(book: Snapshot, chapter: str, link: Link) -> str:
    """Return the claims of one chapter: headlines, those of ours last, then folds.

    Each headline and result is followed by what serves it; definitions come last.
    """
    claims = [
        claim for claim in book.claims(chapter) if not (claim.serves or claim.same_as)
    ]
    headlines = [claim for claim in claims if claim.level == "headline"]
    headlines.sort(key=lambda claim: claim.kind == "ours")
    rest = [claim for claim in claims if claim.level != "headline"]
    results = [claim for claim in rest if claim.kind != "ours"]
    own = [claim for claim in rest if claim.kind == "ours"]
    parts = [verdict_bar(book.counts(chapter, ours=False))]
    if headlines:
        parts.append(claim_table(book, headlines, link))

    def under(some: Iterable[Claim]) -> list[Claim]:
        return [one for claim in some for one in book.served(claim)]

    def with_those(some: Iterable[Claim]) -> list[Claim]:
        return [one for claim in some for one in (claim, *book.served(claim))]

    for some, words in (
        (under(headlines), "that the headlines rest on, or other places of them"),
        (with_those(results), "more of the paper, with what they rest on"),
        (with_those(own), "more of our own"),
    ):
        if some:
            parts.append(
                f'<details class="claim-fold"><summary>'
                f"{number(len(some), 'entry', 'entries')} {words}</summary>"
                f"{claim_table(book, some, link)}</details>"
            )
    return f'<div class="claim-chapter">{"".join(parts)}</div>'


def legend() -> str:
    """Return what each verdict and each kind of evidence says."""
    verdicts = [
        f"<tr><td>{badge(name)}</td><td>{verdict.says}"
        f"{'' if verdict.counted else ' (not counted)'}</td></tr>"
        for name, verdict in VERDICTS.items()
    ]
    evidence = [
        f"<tr><td>{name}</td><td>{text}</td></tr>" for name, text in EVIDENCE.items()
    ]
    return (
        f'<div class="claim-legend">{table("", ("verdict", "it says"), verdicts)}'
        f"{table('', ('evidence', 'it says'), evidence)}</div>"
    )
