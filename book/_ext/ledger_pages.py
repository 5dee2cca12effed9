"""Sphinx directives that fill the pages about claims when the book is built.

``{scoreboard}``
    The summary, and the claims of every chapter, headlines on top.
``{claim-summary}``
    The summary alone.
``{errata}``
    The claims that could not be confirmed as printed (`DOUBTFUL`).
``{chapter-claims} NAME``
    The claims of one chapter, for its landing page.
``{claim-legend}``
    What the verdicts and the kinds of evidence say.
``{status-table}``
    Versions and run times, from ``book/status.json``.

No such page is committed: ledger and stored outputs are the source. Where the
two disagree the build warns in one sentence (an error under ``-W``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import errata_html
import ledger_html
from docutils import nodes
from ledger_book import DOUBTFUL, TITLES, Snapshot, read
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from status_html import status_table

LOGGER = logging.getLogger(__name__)
SCOREBOARD = "book/claims"


class LedgerBlock(nodes.General, nodes.Element):
    """A place on a page; becomes HTML once the addresses of pages are known."""


class LedgerDirective(SphinxDirective, ABC):
    """What the directives share: the snapshot, and the files a page depends on."""

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the page, after noting what they depend on."""
        self.book: Snapshot = self.env.app.ledger_snapshot  # type: ignore[attr-defined]
        here = Path(__file__).resolve().parent
        for path in (*self.book.sources, *sorted(here.glob("*.py"))):
            self.env.note_dependency(str(path))
        return self.fill()

    @abstractmethod
    def fill(self) -> list[nodes.Node]:
        """Return the nodes of the page."""

    def section(self, name: str, title: str, *content: nodes.Node) -> nodes.section:
        """Return a section, which the page's own table of contents will list."""
        part = nodes.section(ids=[name], names=[name])
        part += nodes.title(title, title)
        part += list(content)
        return part


def _block(kind: str, argument: str = "") -> LedgerBlock:
    return LedgerBlock(kind=kind, argument=argument)


class Scoreboard(LedgerDirective):
    """The summary and one section a chapter."""

    def fill(self) -> list[nodes.Node]:
        """Return the summary and the chapters' sections."""
        return [
            _block("summary"),
            *(
                self.section(f"chapter-{name}", TITLES[name], _block("chapter", name))
                for name in self.book.ledgers
            ),
        ]


class ClaimSummary(LedgerDirective):
    """The summary alone, for another page than the scoreboard."""

    def fill(self) -> list[nodes.Node]:
        """Return the summary table."""
        return [_block("summary-only")]


class Errata(LedgerDirective):
    """One section for each chapter that has errata."""

    def fill(self) -> list[nodes.Node]:
        """Return the opening sentence and the chapters' sections."""
        with_errata = [
            name
            for name in self.book.ledgers
            if any(claim.verdict in DOUBTFUL for claim in self.book.claims(name))
        ]
        return [
            _block("errata-summary"),
            *(
                self.section(f"errata-{name}", TITLES[name], _block("errata", name))
                for name in with_errata
            ),
        ]


class ChapterClaims(LedgerDirective):
    """The claims of one chapter."""

    required_arguments = 1

    def fill(self) -> list[nodes.Node]:
        """Return the chapter's table."""
        name = self.arguments[0]
        if name not in self.book.ledgers:
            raise self.error(
                "chapter-claims: the chapter must be one of "
                f"{', '.join(self.book.ledgers)}. Got {name!r}."
            )
        return [_block("chapter", name)]


class ClaimLegend(LedgerDirective):
    """What the verdicts and the kinds of evidence say."""

    def fill(self) -> list[nodes.Node]:
        """Return the two small tables."""
        return [_block("legend")]


class StatusTable(LedgerDirective):
    """Versions and run times."""

    def fill(self) -> list[nodes.Node]:
        """Return the two tables."""
        return [_block("status")]


DIRECTIVES: dict[str, type[LedgerDirective]] = {
    "scoreboard": Scoreboard,
    "claim-summary": ClaimSummary,
    "errata": Errata,
    "chapter-claims": ChapterClaims,
    "claim-legend": ClaimLegend,
    "status-table": StatusTable,
}


class Page:
    """One page being written: it knows how to reach a cell of a notebook."""

    def __init__(self, app: Sphinx, docname: str) -> None:
        self.app = app
        self.docname = docname
        self.book: Snapshot = app.ledger_snapshot  # type: ignore[attr-defined]

    def link(self, notebook: str, claim: str) -> str:
        """Return the address of the cell that checks the claim."""
        if self.app.builder.name == "singlehtml":
            return f"#claim-{claim}"
        page = self.app.builder.get_relative_uri(self.docname, f"notebooks/{notebook}")
        return f"{page}#claim-{claim}"

    def html(self, kind: str, argument: str) -> str:
        """Return the markup of one block."""
        match kind:
            case "summary":
                filter_here = '<div class="claim-filter" hidden></div>'
                return ledger_html.summary(self.book) + filter_here
            case "summary-only":
                uri = self.app.builder.get_relative_uri(self.docname, SCOREBOARD)
                return ledger_html.summary(self.book, uri)
            case "chapter":
                return ledger_html.chapter_table(self.book, argument, self.link)
            case "errata-summary":
                return errata_html.errata_summary(self.book)
            case "errata":
                return errata_html.errata_list(self.book, argument, self.link)
            case "legend":
                return ledger_html.legend()
            case "status":
                return status_table(self.book)
        raise ValueError(f"no such block: {kind!r}")


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
    page = Page(app, docname)
    for block in list(doctree.findall(LedgerBlock)):
        markup = page.html(block["kind"], block["argument"])
        block.replace_self(nodes.raw("", markup, format="html"))


def add_script(
    app: Sphinx, pagename: str, template: str, context: Any, doctree: Any
) -> None:
    """Load the filter's script on the pages that have something to filter."""
    if 'class="claim-filter"' in context.get("body", ""):
        app.add_js_file("claims.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register directives and events."""
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    app.connect("builder-inited", load)
    app.connect("env-check-consistency", check_pages)
    app.connect("doctree-resolved", resolve)
    app.connect("html-page-context", add_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
