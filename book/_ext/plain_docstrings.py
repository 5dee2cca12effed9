"""Docstrings are written for people who read the code; make Sphinx read them too.

In a docstring of `dplib`, |x| is an absolute value, an indented block is a formula
that keeps its alignment, and lines that begin with a bar are a table. For
reStructuredText the first is a substitution, the second a quotation and the third
a "line block". Before napoleon sees a docstring, `translate` escapes the bars and
marks formulas and tables as literal blocks. Literals, doctests and the fields of
the numpydoc sections (Parameters, Returns, ...) are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

__all__ = ["setup", "translate"]

_UNDERLINE = re.compile(r"-{3,}\s*$")
_LITERAL = re.compile(r"(``.+?``|`[^`]+`)")
_BAR = re.compile(r"(?<!\\)\|")  # a norm in a formula has a bar that is escaped
_LIST = re.compile(r"\s*([-*+]|\(?[0-9a-z]{1,3}[.)])\s")


def setup(app: Sphinx) -> dict[str, Any]:
    """Come before napoleon, which listens with the default priority."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _process(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = list(translate(lines))


def translate(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a docstring as reStructuredText."""
    prose = True  # else inside a numpydoc section that has fields
    literal = False  # inside a block that is shown as it stands
    kept: int | None = None  # indentation of what began a block of its own
    doctest = False
    previous = ""
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if _UNDERLINE.match(following) and line.strip() and not line[0].isspace():
            prose = line.strip() in ("Notes", "Warnings")
        doctest = bool(line.strip()) and (doctest or line.lstrip().startswith(">>>"))
        if line.strip():
            indent = len(line) - len(line.lstrip())
            if kept is not None and indent <= kept:
                kept = None
            if literal and not _shown(line):
                literal = False
                if previous.strip():
                    yield ""
            opens = prose and not literal and kept is None
            if opens and _opens(previous, line, lines[:number]):
                yield from (".. code-block:: text", "")
                literal = True
        table = literal and line.startswith("|")
        as_it_is = literal or doctest or kept is not None
        yield f"    {line}" if table else line if as_it_is else _escape(line)
        if kept is None and (line.startswith(".. ") or line.rstrip().endswith("::")):
            kept = indent
        previous = line


def _shown(line: str) -> bool:
    return line.startswith(("    ", "|"))


def _opens(previous: str, line: str, before: list[str]) -> bool:
    """Whether a formula or a table begins with this line."""
    if not _shown(line) or line.lstrip().startswith((">>>", ".. ")):
        return False
    if line.startswith("|"):
        return not previous.strip()
    paragraph = next((text for text in reversed(before) if text.strip()), "")
    return not previous.strip() and not _LIST.match(paragraph)


def _escape(line: str) -> str:
    parts = _LITERAL.split(line)
    return "".join(p if p.startswith("`") else _BAR.sub(r"\\|", p) for p in parts)
