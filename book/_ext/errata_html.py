"""The errata page as HTML: every claim that could not be confirmed as printed.

One line for each, which opens to the whole story; those without consequence (slips)
in a fold of their own. Plain functions from a `Snapshot` to markup, as in
``ledger_html``.
"""

from __future__ import annotations

from html import escape

from ledger_book import DOUBTFUL, Snapshot, importance
from ledger_html import Link, at, badge, kind, number, printed

from dplib.book.ledger import EVIDENCE, Claim
from dplib.book.verdicts import markup


def errata_summary(book: Snapshot) -> str:
    """Return one paragraph: how many of the settled claims are on this page."""
    counts = book.counts(ours=False)
    total = sum(counts.values())
    settled = total - counts.get("open", 0)
    doubtful = {name: counts[name] for name in DOUBTFUL if name in counts}
    basis = (
        f"So far {settled} of the {number(total, 'claim')} of the papers "
        f"{'has' if settled == 1 else 'have'} been checked."
    )
    if not doubtful:
        return (
            f'<p class="errata-none">{basis} None of them had to be corrected, was '
            "refuted, is underspecified or failed to reproduce, so this list is empty. "
            "That says nothing about the claims that are still open.</p>"
        )
    words = ", ".join(f"{count} {name}" for name, count in doubtful.items())
    listed = sum(doubtful.values())
    verb = "is" if listed == 1 else "are"
    return f"<p>{basis} Of these, {listed} {verb} listed here: {words}.</p>"


def _erratum(book: Snapshot, claim: Claim, link: Link) -> str:
    found = book.outputs[claim.id].finding if claim.id in book.outputs else ""
    address = escape(link(claim.notebook or "", claim.id))
    facts = {
        "the paper says": markup(claim.says) + at(claim),
        "printed": printed(claim),
        "read charitably": markup(claim.reading),
        "counterexample": markup(claim.counterexample),
        "right is": markup(claim.ours),
        "consequence": markup(claim.consequence),
        "we assumed": _list(claim.assumed),
        "we tried": _list(claim.tried),
        "evidence": f"{claim.evidence} ({EVIDENCE[claim.evidence]})",
        "where we check it": f'<a href="{address}">{claim.notebook}</a>',
    }
    shown = "".join(
        f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts.items() if text
    )
    places = [other.where for other in book.served(claim) if other.same_as]
    where = f"<b>{escape('; '.join([claim.where, *places]))}</b>"
    doubt = ""
    if claim.text == "uncertain":
        doubt = (
            '<p class="claim-uncertain"><em>This is about the text as we have it: our '
            "copy of the paper may have lost a mark on which the verdict hinges."
            "</em></p>"
        )
    return (
        f'<details class="erratum erratum-{kind(claim.verdict)}" '
        f'id="erratum-{claim.id}" data-verdict="{claim.verdict}" '
        f'data-level="{importance(claim)}">'
        f"<summary>{badge(claim.verdict)} {where}: {markup(found)}</summary>"
        f"{doubt}<dl>{shown}</dl></details>"
    )


def _list(texts: tuple[str, ...]) -> str:
    if len(texts) < 2:
        return "".join(markup(text) for text in texts)
    return "<ul>" + "".join(f"<li>{markup(text)}</li>" for text in texts) + "</ul>"


def errata_list(book: Snapshot, chapter: str, link: Link) -> str:
    """Return the errata of one chapter, in the order of the paper, slips last."""
    found = [
        claim
        for claim in book.claims(chapter)
        if claim.verdict in DOUBTFUL and not claim.same_as
    ]
    slips = [claim for claim in found if importance(claim) == "slip"]
    parts = [_erratum(book, claim, link) for claim in found if claim not in slips]
    if slips:
        lines = "".join(_erratum(book, claim, link) for claim in slips)
        parts.append(
            f'<details class="claim-fold"><summary>{number(len(slips), "slip")} from '
            f"which nothing follows</summary>{lines}</details>"
        )
    return "".join(parts)
