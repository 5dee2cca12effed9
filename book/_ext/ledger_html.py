"""The pages about claims as HTML: bars, tables, errata and legends.

Plain functions from a `Snapshot` to markup, with no Sphinx in them. A verdict is
always a sign and a word; its colour only repeats them. ``link`` is a function
from a notebook and a claim to an address, given by the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape

from ledger_book import DOUBTFUL, TITLES, Snapshot

from dplib.claims import SIGNS
from dplib.ledger import EVIDENCE, VERDICTS, Claim
from dplib.rounding import shown

__all__ = [
    "chapter_table",
    "claim_table",
    "errata_list",
    "errata_summary",
    "legend",
    "summary",
    "verdict_bar",
]

Link = Callable[[str, str], str]


def _kind(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _badge(verdict: str) -> str:
    sign = SIGNS[verdict][0]
    return (
        f'<span class="verdict verdict-{_kind(verdict)}">'
        f'<span class="verdict-sign" aria-hidden="true">{sign}</span> '
        f'<span class="verdict-word">{verdict}</span></span>'
    )


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def verdict_bar(counts: Mapping[str, int]) -> str:
    """Return a stacked bar of the verdicts, and the same in words below it."""
    words = ", ".join(f"{count} {name}" for name, count in counts.items())
    parts = "".join(
        f'<span class="verdict-part verdict-{_kind(name)}" style="flex-grow: {count}">'
        "</span>"
        for name, count in counts.items()
    )
    labels = "".join(
        f"<li>{_badge(name)} <b>{count}</b></li>" for name, count in counts.items()
    )
    return (
        f'<div class="verdict-bar" role="img" aria-label="{words}">{parts}</div>'
        f'<ul class="verdict-counts">{labels}</ul>'
    )


def summary(book: Snapshot) -> str:
    """Return the summary table: one row a chapter, and one for the whole book."""
    rows = []
    for chapter in [*book.ledgers, None]:
        counts = book.counts(chapter)
        total = sum(counts.values())
        done = total - counts.get("open", 0)
        if chapter is None:
            name = "<b>The whole book</b>"
        else:
            paper = book.ledgers[chapter].paper
            name = (
                f'<a href="#chapter-{chapter}"><b>{TITLES[chapter]}</b></a>'
                f"<br><small>{escape(paper.authors)}: {escape(paper.title)}</small>"
            )
        rows.append(
            f'<tr><td data-label="chapter">{name}</td>'
            f'<td data-label="verdicts">{verdict_bar(counts)}</td>'
            f'<td data-label="worked on" class="count">{done} of {total}</td></tr>'
        )
    return (
        '<div class="claim-scroll"><table class="claim-table claim-summary"><thead><tr>'
        '<th scope="col">chapter</th><th scope="col">verdicts</th>'
        '<th scope="col">worked on</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        '<div class="claim-filter" hidden></div>'
    )


def _found(book: Snapshot, claim: Claim) -> str:
    """Return what we found: the output's phrase, and the ledger's own words."""
    parts = []
    if claim.id in book.outputs:
        parts.append(escape(book.outputs[claim.id].finding))
    if claim.verdict == "corrected":
        parts.append(f"right: {escape(claim.ours)}")
    elif claim.verdict == "refuted":
        parts.append(f"counterexample: {escape(claim.counterexample)}")
    return "<br>".join(part for part in parts if part)


def _at(claim: Claim) -> str:
    if not claim.at:
        return ""
    text = ", ".join(f"{name} = {value}" for name, value in claim.at.items())
    return f' <small class="claim-at">at {escape(text)}</small>'


def _printed(claim: Claim) -> str:
    unit = f" {escape(claim.unit)}" if claim.unit else ""
    return ", ".join(escape(text) for text in claim.printed) + unit * bool(
        claim.printed
    )


def _uncertain(claim: Claim) -> str:
    if claim.text != "uncertain":
        return ""
    return ' <em class="claim-uncertain">(in the text as we have it)</em>'


def claim_table(book: Snapshot, claims: Iterable[Claim], link: Link) -> str:
    """Return one table of claims; cells without a value are left out on a phone."""
    rows = []
    for claim in claims:
        verdict = _badge(claim.verdict)
        if claim.notebook is not None:
            verdict = (
                f'<a href="{escape(link(claim.notebook, claim.id))}">{verdict}</a>'
            )
        cells = {
            "verdict": verdict,
            "where": escape(claim.where),
            "claim": escape(claim.says) + _uncertain(claim) + _at(claim),
            "printed": _printed(claim),
            "ours": _found(book, claim),
            "evidence": escape(claim.evidence),
        }
        rows.append(
            f'<tr data-verdict="{claim.verdict}">'
            + "".join(
                f'<td data-label="{name}" class="cell-{name}">{text}</td>'
                for name, text in cells.items()
            )
            + "</tr>"
        )
    heads = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("verdict", "where", "claim", "printed", "ours", "evidence")
    )
    return (
        '<div class="claim-scroll"><table class="claim-table claim-list">'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def chapter_table(book: Snapshot, chapter: str, link: Link) -> str:
    """Return the claims of one chapter: the settled ones, then the open, folded."""
    claims = book.claims(chapter)
    settled = [claim for claim in claims if claim.verdict != "open"]
    open_ones = [claim for claim in claims if claim.verdict == "open"]
    parts = [verdict_bar(book.counts(chapter))]
    if settled:
        parts.append(claim_table(book, settled, link))
    if open_ones:
        parts.append(
            '<details class="claim-open"><summary>'
            f"{_number(len(open_ones), 'claim')} not worked on yet</summary>"
            f"{claim_table(book, open_ones, link)}</details>"
        )
    return f'<div class="claim-chapter">{"".join(parts)}</div>'


def errata_summary(book: Snapshot) -> str:
    """Return one paragraph: how many of the settled claims are on this page."""
    counts = book.counts()
    total = sum(counts.values())
    settled = total - counts.get("open", 0)
    doubtful = {name: counts[name] for name in DOUBTFUL if name in counts}
    basis = (
        f"So far {settled} of the {_number(total, 'claim')} in the ledger "
        f"{'has' if settled == 1 else 'have'} been checked."
    )
    if not doubtful:
        return (
            f'<p class="errata-none">{basis} None of them had to be corrected, was '
            "refuted, is underspecified or failed to reproduce, so this list is empty. "
            "That says nothing about the claims that are still open.</p>"
        )
    words = ", ".join(f"{count} {name}" for name, count in doubtful.items())
    return (
        f"<p>{basis} Of these, {sum(doubtful.values())} are listed here: {words}.</p>"
    )


def _erratum(book: Snapshot, claim: Claim, link: Link) -> str:
    facts: list[tuple[str, str]] = []
    if claim.printed:
        facts.append(("printed", _printed(claim)))
    if claim.id in book.outputs:
        facts.append(("computed", escape(book.outputs[claim.id].finding)))
    if claim.ours:
        facts.append(("right is", escape(claim.ours)))
    if claim.counterexample:
        facts.append(("counterexample", escape(claim.counterexample)))
    if claim.assumed:
        facts.append(("we assumed", _list(claim.assumed)))
    if claim.range is not None:
        low, high = claim.range
        facts.append(("comes out between", f"{shown(low)} and {shown(high)}"))
    if claim.tried:
        facts.append(("we tried", _list(claim.tried)))
    facts.append(("evidence", f"{claim.evidence} ({EVIDENCE[claim.evidence]})"))
    where = f"<b>{escape(claim.where)}</b>"
    if claim.notebook is not None:
        address = escape(link(claim.notebook, claim.id))
        facts.append(("where we check it", f'<a href="{address}">{claim.notebook}</a>'))
    remark = ""
    if claim.text == "uncertain":
        remark = (
            '<p class="claim-uncertain"><em>This is about the text as we have it: '
            "our copy of the paper may have lost a mark on which the verdict hinges."
            "</em></p>"
        )
    return (
        f'<div class="erratum claim claim-{_kind(claim.verdict)}" '
        f'id="erratum-{claim.id}" data-verdict="{claim.verdict}">'
        f"<p>{_badge(claim.verdict)} {where}{_at(claim)}</p>"
        f"<p>{escape(claim.says)}</p>{remark}<dl>"
        + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts)
        + "</dl></div>"
    )


def _list(texts: tuple[str, ...]) -> str:
    if len(texts) == 1:
        return escape(texts[0])
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def errata_list(book: Snapshot, chapter: str, link: Link) -> str:
    """Return the errata of one chapter, in the order of the paper."""
    return "".join(
        _erratum(book, claim, link)
        for claim in book.claims(chapter)
        if claim.verdict in DOUBTFUL
    )


def legend() -> str:
    """Return what each verdict and each kind of evidence says."""
    verdicts = "".join(
        f"<tr><td>{_badge(name)}</td><td>{text}</td></tr>"
        for name, text in VERDICTS.items()
    )
    evidence = "".join(
        f"<tr><td>{name}</td><td>{text}</td></tr>" for name, text in EVIDENCE.items()
    )
    head = '<thead><tr><th scope="col">{}</th><th scope="col">it says</th></tr></thead>'
    return (
        '<div class="claim-legend"><table class="claim-table">'
        f"{head.format('verdict')}<tbody>{verdicts}</tbody></table>"
        f'<table class="claim-table">{head.format("evidence")}'
        f"<tbody>{evidence}</tbody></table></div>"
    )
