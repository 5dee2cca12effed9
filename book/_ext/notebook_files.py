"""Links on a notebook's page: to the files that it reads, and to how it is changed.

A reader who downloads a notebook needs the files: the YAML file of a system of one's
own, and the tables of stored results. They are found in the code of the cells. Whoever
reads *Change it* needs to know where the command is given, and what else it can set.
"""

import json
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_YAML = re.compile(r"""["'](\w+\.yml)["']""")
_STORED = re.compile(r"""stored\.load\(\s*["']\w+/(\w+)["']""")
_CHANGE = re.compile(r"^(```\{admonition\} Change it\n.*?)^```", re.M | re.S)
_HOW = "\n[How to give this command, and what it can set](#reproduce-change).\n```"


def setup(app: Sphinx) -> dict[str, Any]:
    """Edit the source of notebooks as it is read."""
    app.connect("source-read", add_links)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def add_links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a line with the files below the opening cell, and one into *Change it*."""
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".ipynb":
        return
    notebook = json.loads(source[0])
    cells = notebook["cells"]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = _CHANGE.sub(_with_how, "".join(cell["source"]))
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    names = _YAML.findall(code) + [f"results/{n}.csv" for n in _STORED.findall(code)]
    there = [name for name in dict.fromkeys(names) if (path.parent / name).is_file()]
    if there:
        links = ", ".join(f"{{download}}`{Path(n).name} <{n}>`" for n in there)
        text = f"Files that this notebook reads: {links}."
        line = {"cell_type": "markdown", "id": "files", "metadata": {}, "source": text}
        cells.insert(1, line)
    source[0] = json.dumps(notebook)


def _with_how(found: re.Match[str]) -> str:
    text = found[1].rstrip()
    return text + ("" if text.endswith((".", "`")) else ".") + _HOW
