"""A description of every page, for search engines and previews: its first sentences."""

import textwrap
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Describe pages as they are written."""
    app.connect("html-page-context", describe)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def describe(
    app: Sphinx, pagename: str, template: str, context: Any, doctree: Any
) -> None:
    """Add the opening of the first paragraph to the head of the page."""
    first = next(doctree.findall(nodes.paragraph), None) if doctree else None
    if first is not None:
        text = escape(textwrap.shorten(first.astext(), 160, placeholder=" …"))
        context["metatags"] += f'\n<meta name="description" content="{text}" />'
