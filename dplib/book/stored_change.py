"""A stored result for other parameters, and the page that shows it.

Command line::

    python -m dplib.book.stored change CHAPTER/NAME --set PARAMETER=VALUE ...
        [--show CHAPTER/NN_TOPIC] [--out FOLDER] [--workers N]

as ``change rewards/grid --set discount=0.95 --set samples=40 --show rewards/05_cost``.

The definition of the result runs with these values of its PARAMETERS, as
``python -m dplib.book.stored run`` runs it with the book's: it can be stopped and goes
on, and what is there is not made again. A value is JSON, or else text.

``--out`` is a folder for ``<chapter>/<name>.csv`` and ``.json``, by default
``runs/<chapter>-<name>``; a second result may go into the same folder, and a page then
shows both. With ``--show`` the page is executed with them in the place of the book's,
and written there as ``.ipynb`` and ``.html``: figures, and no verdicts, since a claim
is made for the book's own runs. A cell that needs what the result lacks stops, and the
others go on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import nbformat
from nbclient.exceptions import DeadKernelError

from dplib.book import kernels, ledger, notebooks, stored_work
from dplib.book.stored import (
    Definition,
    StoredError,
    find,
    load,
    load_definition,
    status,
)
from dplib.book.whole_files import write_atomically

__all__ = ["Change", "main", "parse"]

#: The file by which a folder is known as one of this command's.
_MARK = "changes.json"


@dataclass(frozen=True)
class Change:
    """What is asked for: a definition with changes, and a page to show it, if any."""

    definition: Definition
    out: Path
    page: Path | None
    workers: int


# -- what is asked for ------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise StoredError(f"{message}; see 'python -m dplib.book.stored change --help'")


def parse(arguments: Sequence[str], root: Path) -> Change:
    """Read the command line; refuse in one sentence what cannot be, and write nothing.

    Parameters
    ----------
    arguments : sequence of str
        What stands behind ``change``.
    root : pathlib.Path
        Folder of the book.
    """
    parser = _Parser(prog="python -m dplib.book.stored change")
    parser.add_argument("name", metavar="CHAPTER/NAME", help="a stored result")
    add = parser.add_argument
    add("--set", action="append", default=[], metavar="PARAMETER=VALUE", dest="values")
    add("--show", metavar="CHAPTER/NN_TOPIC", help="a page that shows the result")
    add("--out", type=Path, help="folder, by default runs/CHAPTER-NAME")
    add("--workers", type=int, default=1, help="processes")
    given = parser.parse_args(arguments)
    if given.workers < 1:
        raise StoredError(f"--workers must be 1 or more, not {given.workers}.")
    (path,) = find(root, [given.name])
    changes = _changes(load_definition(path), given.values)
    out = given.out or root / "runs" / given.name.replace("/", "-")
    page = None
    if given.show is not None:
        (page,) = notebooks.find(root, [given.show])
        if f'"{given.name}"' not in page.read_text(encoding="utf-8"):
            raise StoredError(f"{notebooks.name_of(page)} does not show {given.name}.")
    if out.resolve().is_relative_to((root / "notebooks").resolve()):
        raise StoredError(f"--out must lie outside {root / 'notebooks'}, unlike {out}.")
    try:
        definition = load_definition(path, changes, out)
    except Exception as error:  # of a definition that was not made for these values
        raise StoredError(f"{given.name} with {_words(changes)}: {error}") from None
    return Change(definition, out, page, given.workers)


def _changes(definition: Definition, settings: Sequence[str]) -> dict[str, Any]:
    """Return the values that are set, each of the kind of the book's."""
    known, found = definition.parameters, {}
    have = f"there are {', '.join(known)}."
    for setting in settings:
        name, sign, text = setting.partition("=")
        if not sign:
            raise StoredError(f"--set needs PARAMETER=VALUE, not {setting}; {have}")
        if name not in known:
            raise StoredError(f"{definition.name} has no {name!r}: {have}")
        value: Any = text
        with contextlib.suppress(ValueError):
            value = json.loads(text, parse_constant=str)
        if isinstance(known[name], str) and not isinstance(value, str):
            value = text
        if isinstance(value, float) and isinstance(known[name], int):
            value = int(value) if value.is_integer() else value  # 1e3
        if not _alike(value, known[name]):
            typed = shlex.quote(f"{name}={json.dumps(known[name], ensure_ascii=False)}")
            raise StoredError(
                f"{definition.name}: {name} must be like the book's, --set {typed}; "
                f"it cannot be {text}."
            )
        found[name] = value
    if not found:
        raise StoredError(f"{definition.name}: nothing to --set; {have}")
    return found


def _alike(value: object, known: object) -> bool:
    """Whether a value is of the same kind as the book's."""
    if isinstance(known, list | dict):
        if not isinstance(value, type(known)) or not value:
            return False
        have, want = (x.values() if isinstance(x, dict) else x for x in (value, known))
        return all(any(_alike(one, other) for other in want) for one in have)
    if type(known) is float and isinstance(value, int | float):
        return not isinstance(value, bool) and math.isfinite(value)
    return type(value) is type(known)


def _words(values: Mapping[str, Any]) -> str:
    texts = (f"{k} = {json.dumps(v, ensure_ascii=False)}" for k, v in values.items())
    return ", ".join(texts)


# -- doing it ---------------------------------------------------------------


def _claim(change: Change) -> None:
    """Mark the folder; refuse one that holds anything else."""
    name, changes, out = change.definition.name, change.definition.changes, change.out
    noted: dict[str, Any] = {}
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        try:
            noted = dict(json.loads((out / _MARK).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise StoredError(
                f"{out} holds other things: give another --out."
            ) from None
    table = change.definition.table
    begun = table.exists() or any(change.definition.kept.glob("*/*"))
    if (old := noted.get(name, changes)) != changes and begun:
        raise StoredError(f"{out} holds {name} with {_words(old)}: give another --out.")
    write_atomically(out / _MARK, json.dumps(noted | {name: changes}, indent=1) + "\n")


def _show(change: Change, page: Path) -> str:
    """Execute a page with the results of the folder; return what went wrong."""
    notebook, name = notebooks.read_source(page), notebooks.name_of(page)
    noted = json.loads((change.out / _MARK).read_text(encoding="utf-8"))
    made = "; ".join(f"`{one}` with {_words(values)}" for one, values in noted.items())
    note = (
        f"> **Other results.** This page was executed with a run of {made}. "
        "Its text is still that of the book's own run, and verdicts are not given."
    )
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(note, id="other-results"))
    notebook.metadata.pop("jupytext", None)  # it is no pair
    lost = ""
    print(f"executing {name} ...", flush=True)
    try:
        notebooks.execute(notebook, page.parent, results=change.out.resolve())
    except DeadKernelError:
        lost = f"{name}: its kernel died"
    failed = [
        f"code cell {cell.execution_count} stopped with {output.ename}: {output.evalue}"
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.output_type == "error"
    ]
    target = change.out / f"{page.stem}.ipynb"
    write_atomically(target, nbformat.writes(notebook) + "\n")
    notebooks.sign(notebook)  # or JupyterLab shows no figure
    with kernels.surroundings():
        to_html = ["nbconvert", "--to", "html", "--no-input", "--log-level", "ERROR"]
        command = [sys.executable, "-m", *to_html, str(target)]
        html = not subprocess.run(command, capture_output=True, check=False).returncode
    print(target)
    browser = f"{target.with_suffix('.html')} in a browser, or " if html else ""
    print(f"To look at it, open {browser}it in JupyterLab: jupyter lab {target}")
    if failed:
        first = failed[0].splitlines()[0].rstrip(".")
        more = f", and {len(failed) - 1} after it" if failed[1:] else ""
        lost = f"{name}: {first}{more}"
    return lost and f"{lost}; the file has all the others."


def main(arguments: Sequence[str]) -> int:
    """Run the command line (see the head of the file); return the exit status."""
    try:
        root = ledger.book_root()
        change = parse(arguments, root)
        _claim(change)
        definition = change.definition
        if status(definition):
            ours = load(definition.name, root=root).about
            took = (
                f"{ours['tasks']} took {ours['provenance']['cpu_seconds']} CPU seconds"
            )
            print(f"{len(definition.tasks)} tasks (the book's {took}) ...", flush=True)
            stored_work.produce(definition, workers=change.workers)
        print(f"{definition.table}: {_words(definition.changes)}")
        lost = "" if change.page is None else _show(change, change.page)
    except (StoredError, notebooks.NotebookError, OSError) as error:
        lost = str(error)
    if lost:
        print(lost, file=sys.stderr)
    return int(bool(lost))
