"""The status page as HTML: versions, and the time that every notebook takes."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ledger_book import TITLES, Snapshot
from ledger_html import table

#: CPU seconds that one notebook, and all notebooks of a chapter, may take.
NOTEBOOK_BUDGET = 90.0
CHAPTER_BUDGET = 450.0


def status_table(book: Snapshot) -> str:
    """Return the tables of versions and times, or a sentence if there are none."""
    if not book.status:
        return (
            "<p>Nothing has been recorded here yet: <code>make reproduce</code> runs "
            "every notebook from scratch and writes versions and times down.</p>"
        )
    facts = [f"on {escape(str(book.status[name]))}" for name in ("date", "machine")]
    versions = [
        f"<tr><td>{escape(name)}</td><td>{escape(str(version))}</td></tr>"
        for name, version in book.status["versions"].items()
    ]
    return (
        f"<p>Last run from scratch {', '.join(facts)}.</p>"
        + _scroll("status-versions", ("software", "version"), versions)
        + _scroll(
            "status-times",
            ("notebook", "CPU seconds", "budget", "kept"),
            _times(book.status["notebooks"]),
        )
    )


def _scroll(kind: str, heads: tuple[str, ...], rows: list[str]) -> str:
    whole = table(kind, heads, rows)
    return f'<div class="claim-scroll" tabindex="0">{whole}</div>'


def _times(notebooks: Mapping[str, Any]) -> list[str]:
    rows = []
    for chapter, title in {"start": "Start here", **TITLES}.items():
        mine = {
            name: float(entry["cpu_seconds"])
            for name, entry in sorted(notebooks.items())
            if name.startswith(f"{chapter}/")
        }
        for name, seconds in mine.items():
            rows.append(_row(f"<code>{escape(name)}</code>", seconds, NOTEBOOK_BUDGET))
        if mine:
            total = sum(mine.values())
            rows.append(_row(f"<b>{title}</b>, all notebooks", total, CHAPTER_BUDGET))
    return rows


def _row(name: str, seconds: float, budget: float) -> str:
    kept = "✓ within" if seconds <= budget else "✗ over"
    return (
        f'<tr><td>{name}</td><td class="count">{seconds:.1f}</td>'
        f'<td class="count">{budget:.0f}</td><td>{kept}</td></tr>'
    )
