"""Sphinx directives that fill the pages about claims when the book is built.

``{findings}``
    What came out for the claims whose ids stand in it, one a line. With a chapter,
    as on its landing page, also its verdicts and a link to all its claims.
``{scoreboard}``
    The summary, and the claims of every chapter, headlines on top.
``{claim-total}``
    One bar for the claims of all papers.
``{promises}``
    A picture: what the papers promise, and what their messages give away.
``{errata}``
    The claims that could not be confirmed as printed (`DOUBTFUL`).
``{claim-legend}``
    What the verdicts and the kinds of evidence say.
``{status-table}``
    Versions and run times, from ``book/status.json``.

No such page is committed: ledger and stored outputs are the source. Where the
two disagree the build warns in one sentence (an error under ``-W``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ledger_html
from docutils import nodes
from errata_html import errata_list, errata_summary
from ledger_book import DOUBTFUL, TITLES, Snapshot, read
from promises_svg import promises
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from status_html import status_table

LOGGER = logging.getLogger(__name__)
SCOREBOARD = "book/claims"
DIRECTIVES = (
    *("findings", "scoreboard", "claim-total", "promises", "errata"),
    *("claim-legend", "status-table"),
)


class LedgerBlock(nodes.General, nodes.Element):
    """A place on a page; becomes HTML once the addresses of pages are known."""


class FromLedger(SphinxDirective):
    """Any of the directives: what it fills in depends on its name."""

    optional_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the page, after noting what they depend on."""
        book: Snapshot = self.env.app.ledger_snapshot  # type: ignore[attr-defined]
        here = Path(__file__).resolve().parent
        for path in (*book.sources, *sorted(here.glob("*.py"))):
            self.env.note_dependency(str(path))
        chapters: list[str] = []
        argument = "".join(self.arguments)
        if self.name == "scoreboard":
            chapters = list(book.ledgers)
        elif self.name == "errata":
            doubtful = {c.chapter for c in book.claims() if c.verdict in DOUBTFUL}
            chapters = [name for name in book.ledgers if name in doubtful]
        if argument and argument not in book.ledgers:
            known = ", ".join(book.ledgers)
            raise self.error(
                f"{self.name}: the chapter must be one of {known}. Got {argument!r}."
            )
        chosen = [line.strip() for line in self.content]
        for one in chosen:
            if self.name != "findings" or one not in book.outputs:
                raise self.error(
                    f"{self.name}: {one!r} is no claim that a notebook has checked."
                )
        parts: list[nodes.Node] = [
            LedgerBlock(kind=self.name, chapter=argument, chosen=chosen)
        ]
        for chapter in chapters:
            # A section, which the page's own table of contents will list.
            name = {"scoreboard": "chapter", "errata": "errata"}[self.name]
            name, title = f"{name}-{chapter}", TITLES[chapter]
            part = nodes.section(ids=[name], names=[name])
            part += nodes.title(title, title)
            part += LedgerBlock(kind=self.name, chapter=chapter, chosen=[])
            parts.append(part)
        return parts


def html(app: Sphinx, page: str, kind: str, chapter: str, chosen: list[str]) -> str:
    """Return the markup of one block on a page."""
    book: Snapshot = app.ledger_snapshot  # type: ignore[attr-defined]

    def link(notebook: str, claim: str) -> str:
        """Return the address of the cell that checks the claim."""
        if app.builder.name == "singlehtml":
            return f"#claim-{claim}"
        address = app.builder.get_relative_uri(page, f"notebooks/{notebook}")
        return f"{address}#claim-{claim}"

    def title(notebook: str) -> str:
        """Return what a page is called."""
        return app.env.titles[f"notebooks/{notebook}"].astext()

    match kind, bool(chapter):
        case "findings", False:
            return ledger_html.findings(book, chosen, link, title)
        case "findings", True:
            top = ledger_html.findings(book, chosen, link, title)
            scoreboard = app.builder.get_relative_uri(page, SCOREBOARD)
            return ledger_html.chapter_findings(book, chapter, top, scoreboard)
        case "promises", _:
            return promises(book)
        case "claim-total", _:
            return ledger_html.total(book)
        case "scoreboard", False:
            return ledger_html.summary(book) + ledger_html.FILTER
        case "scoreboard", True:
            return ledger_html.chapter_table(book, chapter, link)
        case "errata", False:
            return errata_summary(book) + ledger_html.FILTER
        case "errata", True:
            return errata_list(book, chapter, link)
        case "claim-legend", _:
            return ledger_html.legend()
    return status_table(book)


def load(app: Sphinx) -> None:
    """Read the book, once a build, and say where it contradicts itself."""
    book = read(Path(app.srcdir))
    app.ledger_snapshot = book  # type: ignore[attr-defined]
    for sentence in book.problems:
        LOGGER.warning(sentence, type="ledger")


def check_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Say which notebooks hold verdicts but have no page to link to."""
    book: Snapshot = app.ledger_snapshot  # type: ignore[attr-defined]
    for name in sorted({output.notebook for output in book.outputs.values()}):
        if f"notebooks/{name}" not in env.found_docs:
            LOGGER.warning(
                f"{name}: the notebook checks claims, but _toc.yml does not list it.",
                type="ledger",
            )


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Turn the places on a page into HTML."""
    for block in list(doctree.findall(LedgerBlock)):
        facts = (block[name] for name in ("kind", "chapter", "chosen"))
        markup = html(app, docname, *facts)
        block.replace_self(nodes.raw("", markup, format="html"))


def add_script(
    app: Sphinx, pagename: str, template: str, context: Any, doctree: Any
) -> None:
    """Load the filter's script on the pages that have something to filter."""
    if 'class="claim-filter"' in context.get("body", ""):
        app.add_js_file("claims.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register directives and events."""
    for name in DIRECTIVES:
        app.add_directive(name, FromLedger)
    app.connect("builder-inited", load)
    app.connect("env-check-consistency", check_pages)
    app.connect("doctree-resolved", resolve)
    app.connect("html-page-context", add_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
