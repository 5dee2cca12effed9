"""A formula keeps the punctuation around it.

To a browser, a formula in a line of text is a box, before and after which a line may
end: its full stop could begin the next one. Here they go into one unbroken box.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_BEFORE, _AFTER = re.compile(r"[^\w\s]+$"), re.compile(r"[^\w\s]+")


def setup(app: Sphinx) -> dict[str, Any]:
    """Change pages just before they are written."""
    app.connect("doctree-resolved", glue)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def glue(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Wrap each formula with the marks that touch it."""
    for formula in list(doctree.findall(nodes.math)):
        line = formula.parent
        place = line.index(formula)
        box = nodes.inline("", "", formula, classes=["glued"])
        line[place] = box
        if place + 1 < len(line) and isinstance(line[place + 1], nodes.Text):
            text = str(line[place + 1])
            if marks := _AFTER.match(text):
                box.append(nodes.Text(marks[0]))
                line[place + 1] = nodes.Text(text[marks.end() :])
        if place and isinstance(line[place - 1], nodes.Text):
            text = str(line[place - 1])
            if marks := _BEFORE.search(text):
                box.insert(0, nodes.Text(marks[0]))
                line[place - 1] = nodes.Text(text[: marks.start()])
