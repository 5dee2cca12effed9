"""The status page as HTML: versions, and the time that every notebook takes."""

from __future__ import annotations

from html import escape
from typing import Any

from ledger_book import TITLES, Snapshot

__all__ = ["CHAPTER_BUDGET", "NOTEBOOK_BUDGET", "status_table"]

#: CPU seconds that one notebook, and all notebooks of a chapter, may take.
NOTEBOOK_BUDGET = 90.0
CHAPTER_BUDGET = 450.0


def _row(name: str, seconds: float, budget: float) -> str:
    kept = "✓ within" if seconds <= budget else "✗ over"
    return (
        f'<tr><td>{name}</td><td class="count">{seconds:.1f}</td>'
        f'<td class="count">{budget:.0f}</td><td>{kept}</td></tr>'
    )


def status_table(book: Snapshot) -> str:
    """Return the tables of versions and times, or a sentence if there are none."""
    status = book.status
    if not status:
        return (
            "<p>Nothing has been recorded here yet: <code>make reproduce</code> runs "
            "every notebook from scratch and writes versions and times down.</p>"
        )
    return _versions(status) + _times(status)


def _versions(status: Any) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(str(version))}</td></tr>"
        for name, version in status["versions"].items()
    )
    facts = [
        f"on {escape(str(status[name]))}"
        for name in ("date", "machine")
        if status.get(name)
    ]
    return (
        f"<p>Last run from scratch {', '.join(facts)}.</p>"
        '<div class="claim-scroll" tabindex="0">'
        '<table class="claim-table status-versions"><thead><tr>'
        '<th scope="col">software</th><th scope="col">version</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _times(status: Any) -> str:
    seconds = {
        name: float(entry["cpu_seconds"]) for name, entry in status["notebooks"].items()
    }
    rows = []
    for chapter, title in TITLES.items():
        mine = {n: s for n, s in sorted(seconds.items()) if n.startswith(f"{chapter}/")}
        rows += [
            _row(f"<code>{escape(name)}</code>", time, NOTEBOOK_BUDGET)
            for name, time in mine.items()
        ]
        if mine:
            total = sum(mine.values())
            rows.append(_row(f"<b>{title}</b>, all notebooks", total, CHAPTER_BUDGET))
    return (
        '<div class="claim-scroll" tabindex="0">'
        '<table class="claim-table status-times"><thead><tr>'
        '<th scope="col">notebook</th><th scope="col">CPU seconds</th>'
        '<th scope="col">budget</th><th scope="col">kept</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
