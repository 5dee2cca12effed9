"""One checked claim, as readers and the scoreboard see it.

A `Check` is what `dplib.book.claims` found for one entry of the ledger. It renders
itself as a line of text, a line of HTML that opens (colour, sign and word, never colour
alone), and a small JSON output of type `MIME_TYPE`, from which the scoreboard
is filled when the book is built. `one_table` shows several as one table of the paper,
`closing` is the last line of a notebook.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dplib.book.ledger import NOT_APPLICABLE, VERDICTS, Claim, Verdict

__all__ = [
    "MIME_TYPE",
    "REPEATED",
    "Check",
    "closing",
    "look",
    "markup",
    "one_table",
    "show",
]

MIME_TYPE = "application/vnd.dplib.claim+json"

#: Words of an entry that the JSON output repeats.
REPEATED = ("where", "kind", "level", "says", "evidence")

# What may carry an index: a single letter (marks like a hat included), min or max,
# a closing bracket.
_LETTER = r"((?<![^\W_])[^\W\d_][\u0300-\u036f]*|\b(?:min|max|sup|inf)|[\])‖])"
_BRACED = re.compile(r"([_^])\{([^{}]*)\}|\^\(([^()]*)\)")
_INDEX = re.compile(_LETTER + r"_([^\W_]+)")
_POWER = re.compile(r"\^([-−]?\w+)")


def markup(text: str) -> str:
    """Return the plain mathematics of a ledger entry as HTML.

    Indices and powers are set lower and higher: ``f_i``, ``g_{x_i}``,
    ``k^(−3/5)``. Words with an underscore are left alone.

    Examples
    --------
    >>> markup("f_i < k^(−3/5) at f_lower")
    'f<sub>i</sub> &lt; k<sup>−3/5</sup> at f<sub>lower</sub>'
    >>> markup("g_{x_i} and gamma_bar = x^2")
    'g<sub>x<sub>i</sub></sub> and gamma_bar = x<sup>2</sup>'
    >>> markup("max_j ‖x‖_1")
    'max<sub>j</sub> ‖x‖<sub>1</sub>'
    """
    result = html.escape(text, quote=False)
    result = _INDEX.sub(r"\1<sub>\2</sub>", result)

    def raise_or_lower(match: re.Match[str]) -> str:
        tag = "sub" if match.group(1) == "_" else "sup"
        return f"<{tag}>{match.group(2) or match.group(3)}</{tag}>"

    result = _BRACED.sub(raise_or_lower, result)
    return _POWER.sub(r"<sup>\1</sup>", result)


def look(verdict: str) -> Verdict:
    """Return sign and colour of a verdict, or of *not applicable*."""
    return VERDICTS.get(verdict, NOT_APPLICABLE)


@dataclass(frozen=True)
class Check:
    """What one check found.

    Attributes
    ----------
    claim : Claim
        The entry of the ledger.
    verdict : str
        The computed verdict, or ``"not applicable"``.
    value : float or None
        The value (or margin, or p-value) that decided, rounded.
    interval : list of float or None
        The interval that belongs to it, rounded outward.
    finding : str
        What came out, in words for the reader.
    bound : float
        How far the same code may be from `value` on another machine.
    facts : mapping
        What decided besides: margins by case, choices, the chance of a false verdict.
    """

    claim: Claim
    verdict: str
    value: float | None
    interval: list[float | None] | None
    finding: str
    bound: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def word(self) -> str:
        """The verdict for a reader."""
        same = self.verdict == self.claim.verdict
        return self.claim.word if same else self.verdict

    def payload(self) -> dict[str, Any]:
        """Return the JSON output: the entry's words and what was found."""
        claim = self.claim
        return {
            **{name: getattr(claim, name) for name in REPEATED},
            "id": claim.id,
            "printed": list(claim.printed),
            "at": dict(claim.at),
            "ledger": claim.verdict,
            "verdict": self.verdict,
            "value": self.value,
            "interval": self.interval,
            "bound": self.bound,
            "finding": self.finding,
            **self.facts,
        }

    def bundle(self) -> dict[str, Any]:
        """Return all that a cell shows of it."""
        return {
            "text/html": self.html(),
            "text/plain": self.text(),
            MIME_TYPE: self.payload(),
        }

    def text(self) -> str:
        """Return the line as plain text."""
        claim = self.claim
        return (
            f"{look(self.verdict).sign} {self.word} | {claim.id} | {claim.where} | "
            f"{claim.says} | {self.finding} | evidence: {claim.evidence}"
        )

    def html(self) -> str:
        """Return one line as HTML, which opens to what was claimed and how we know."""
        style, claim = look(self.verdict), self.claim
        doubt = " <em>(in the text as we have it)</em>" if claim.text else ""
        return (
            f'<details class="claim claim-{self.verdict.replace(" ", "-")}" '
            f'id="claim-{claim.id}" '
            f'style="border-left: 0.35em solid {style.colour}; padding: 0 0.6em;">'
            f'<summary><strong class="claim-verdict">{style.sign} {self.word}</strong> '
            f'<span class="claim-finding">{markup(self.finding)}</span>{doubt}'
            f'</summary><span class="claim-where">{markup(claim.where)}:</span> '
            f'<span class="claim-says">{markup(claim.says)}</span> '
            f'<small class="claim-evidence">({html.escape(claim.evidence)}; '
            f"<code>{claim.id}</code>)</small></details>"
        )


def show(data: dict[str, Any]) -> None:
    """Show a bundle of representations; outside a notebook, print its text."""
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is not None:
        display(data, raw=True)
    elif "text/plain" in data:
        print(data["text/plain"])


def _table(kind: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{markup(name)}</th>' for name in heads)
    return (
        f'<table class="claim-table {kind}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _cells(*texts: str) -> str:
    return "".join(f'<td style="text-align: left;">{markup(one)}</td>' for one in texts)


def _mark(item: Check) -> tuple[str, str]:
    """Return the style of a verdict's cell, and what stands in it."""
    style = look(item.verdict)
    return f"border-left: 0.35em solid {style.colour};", f"{style.sign} {item.word}"


def one_table(head: str, rows: Mapping[str, Check]) -> dict[str, str]:
    """Return a table of the paper: one row a label, with printed, ours and verdict."""
    lines = []
    for label, item in rows.items():
        claim, (style, word) = item.claim, _mark(item)
        printed = f"{', '.join(claim.printed)} {claim.unit}".strip()
        ours = item.finding.removeprefix("ours ").replace(f", printed {printed}", "")
        lines.append(
            f'<tr id="claim-{claim.id}"><th scope="row">{markup(label)}</th>'
            f'{_cells(printed, ours)}<td style="text-align: left; {style}">{word}</td>'
            "</tr>"
        )
    return {
        "text/html": _table(
            "claim-one-table", (head, "printed", "ours", "verdict"), lines
        ),
        "text/plain": "\n".join(item.text() for item in rows.values()),
    }


def closing(checks: Sequence[Check]) -> dict[str, str]:
    """Return how many checks gave which verdict, which opens to the table of them."""
    counts = Counter(item.verdict for item in checks)
    order = [*VERDICTS, "not applicable"]
    parts = [f"{counts[v]} {look(v).sign} {v}" for v in order if v in counts]
    line = f"{len(checks)} {'claim' if len(checks) == 1 else 'claims'}: "
    line += " · ".join(parts)
    heads = ("verdict", "where", "claim", "what we found")
    rows = []
    for item in checks:
        style, word = _mark(item)
        cells = _cells(item.claim.where, item.claim.says, item.finding)
        rows.append(f'<tr><th scope="row" style="{style}">{word}</th>{cells}</tr>')
    return {
        "text/html": f'<details class="claim-close"><summary>{line}</summary>'
        f"{_table('claim-all', heads, rows)}</details>",
        "text/plain": "\n".join([line, *(item.text() for item in checks)]),
    }
