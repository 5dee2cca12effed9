"""Paired notebooks: read, execute, and write them, always the same way.

A notebook is a pair: the ``.md`` that people edit and review, and the ``.ipynb``
with outputs that the book shows and that tests compare. `refresh` executes the
``.md`` and writes both; run twice, it changes no byte. It never looks at file
times, and writes nothing if a cell fails.

Command line::

    python -m dplib.book.notebooks COMMAND [CHAPTER/NN_TOPIC ...]

``refresh``
    Executes and writes. Refuses a pair whose ``.ipynb`` was edited where the ``.md``
    was not, unless told to ``--discard`` that edit. With ``--status`` it notes date,
    machine and versions too.
``changed``
    Lists the notebooks whose cells, outputs, claims, or reached library code differ
    from what ``verified`` last noted in ``.cache/``.
``verified``
    Notes that they were executed and compared as they stand.
``current``
    Fails if cells, claims or code differ from what was last executed.
``trust``
    Signs the outputs, without which JupyterLab shows no figure of a notebook that
    somebody else has executed.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import hashlib
import importlib
import json
import os
import platform
import re
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jupytext
import nbclient
import nbformat
from jupyter_core.paths import jupyter_data_dir
from nbclient.exceptions import (
    CellExecutionError,
    CellTimeoutError,
    DeadKernelError,
)
from nbformat.sign import NotebookNotary

from dplib.book import code_key, kernels, ledger, outputs, own_results
from dplib.book.whole_files import versions, write_atomically

__all__ = [
    "VERSIONED",
    "NotebookError",
    "execute",
    "find",
    "key",
    "main",
    "name_of",
    "read_source",
    "read_status",
    "refresh",
    "source_text",
    "trust",
    "verified_text",
]

#: The packages whose versions ``book/status.json`` notes, beside Python's.
VERSIONED = (
    *("numpy", "scipy", "cvxpy", "clarabel", "scs", "matplotlib", "seaborn"),
    *("jupyter-book", "papermill", "nbval"),
)

_FORMAT = "md:myst"
# In every header: JupyterLab need not find pyproject.toml to leave a pair alone.
_FILTER = "-jupytext.text_representation.jupytext_version"
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
# What is a result in an output: no timing, no transient parts.
_RESULT = {"output_type", "name", "text", "ename", "evalue", "traceback"}
_RESULT |= {"data", "metadata", "execution_count"}


class NotebookError(RuntimeError):
    """A notebook could not be found, read or executed."""


# -- the two files of a pair ---------------------------------------------------


def find(root: Path, names: Sequence[str] = ()) -> list[Path]:
    """Return the ``.md`` files of the notebooks of a book, in order.

    Parameters
    ----------
    root : pathlib.Path
        Folder of the book.
    names : sequence of str
        ``chapter/NN_topic`` each (a path to either file of the pair will do);
        all notebooks if empty.

    Examples
    --------
    >>> find(Path("."), ["truthful/99_nothing"])
    Traceback (most recent call last):
    ...
    dplib.book.notebooks.NotebookError: There is no notebook 'truthful/99_nothing' \
(looked for notebooks/truthful/99_nothing.md).
    """
    known = {
        name_of(path): path
        for path in sorted((root / "notebooks").glob("*/[0-9][0-9]_*.md"))
    }
    bare = [re.sub(r"^(\./)?(notebooks/)?|\.(md|ipynb)$", "", name) for name in names]
    for name, wanted in zip(names, bare, strict=True):
        if wanted not in known:
            raise NotebookError(
                f"There is no notebook '{name}' (looked for notebooks/{wanted}.md)."
            )
    return [known[name] for name in bare or known]


def name_of(path: Path) -> str:
    """Return ``chapter/NN_topic`` of either file of a pair."""
    return f"{path.parent.name}/{path.stem}"


def read_source(path: Path) -> Any:
    """Read a ``.md`` as a notebook without outputs, in canonical form.

    What `refresh` would delete is refused, and what jupytext would not pair.
    """
    try:
        text = path.read_text(encoding="utf-8")
        notebook = jupytext.reads(text, fmt=_FORMAT)
    except Exception as error:  # no UTF-8, or YAML that is broken or unexpected
        reason = " ".join(str(error).split())[:300]
        raise NotebookError(f"{path.name} cannot be read: {reason}") from None
    if re.search(r"^(<{7}|>{7}) ", text, re.M):
        raise NotebookError(f"{path.name} holds the marks of a merge conflict.")
    if not re.match(r"---\n(?:(?!---).*\n)*?jupytext:", text):
        raise NotebookError(
            f"{path.name} is not a notebook: it must begin with a jupytext header."
        )
    extra = sorted(set(notebook.metadata) - {"jupytext", "kernelspec"})
    if extra:
        raise NotebookError(
            f"{path.name}: the header has '{extra[0]}', which refresh would delete; "
            "a header holds 'jupytext' and 'kernelspec' only."
        )
    return _canonical(notebook)


def _number(text: str) -> int | float:
    """Read a number as JavaScript does, which has one kind: 1.0 is 1."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _canonical(notebook: Any) -> Any:
    """Return a copy as a save in a browser leaves it, with results and fixed ids."""
    text = json.dumps(notebook, sort_keys=True)
    result = nbformat.from_dict(json.loads(text, parse_float=_number))
    header = result.metadata.get("jupytext", {})
    header.pop("text_representation", None)  # the .md's own; jupytext writes it
    header["notebook_metadata_filter"] = _FILTER
    result.metadata = nbformat.from_dict({"jupytext": header, "kernelspec": _KERNEL})
    result.nbformat, result.nbformat_minor = 4, 5
    for number, cell in enumerate(result.cells):
        cell.id = f"c{number:03d}"
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            for part in set(output) - _RESULT:
                del output[part]
            if "metadata" in output:
                output.metadata = {}
    return result


def source_text(notebook: Any) -> str:
    """Return the text of the ``.md`` that belongs to a notebook."""
    text: str = jupytext.writes(_canonical(notebook), fmt=_FORMAT)
    return text.rstrip("\n") + "\n"


def verified_text(notebook: Any) -> str:
    """Return the text of the ``.ipynb`` that belongs to an executed notebook.

    Its metadata hold a digest of the cells that were executed, by which `refresh`
    tells later whether somebody has edited the ``.ipynb``.
    """
    result = _canonical(notebook)
    result.metadata["dplib"] = {"executed": _digest(result)}
    text: str = nbformat.writes(result)
    return text.rstrip("\n") + "\n"


def _code(notebook: Any) -> list[Any]:
    cells = [] if notebook is None else notebook.cells
    return [cell for cell in cells if cell.cell_type == "code"]


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _digest(notebook: Any) -> str:
    """Return a digest of the cells as people edit them: without outputs."""
    cells = _canonical(notebook).cells
    return _sha256([(cell.cell_type, cell.source, cell.metadata) for cell in cells])


def _stored(source: Path) -> Any:
    """Return the ``.ipynb`` of a pair; None if there is none, or no whole one."""
    try:
        return nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    except Exception:  # conflict marks, an empty file, half a notebook
        return None


def _refuse_to_lose(source: Path) -> None:
    """Raise if the ``.ipynb`` has an edit that the ``.md`` does not have."""
    stored = _stored(source)
    if stored is None:
        return
    executed = stored.metadata.get("dplib", {}).get("executed")
    # Of a notebook's metadata and blank ends the .md holds a part only.
    held = jupytext.reads(source_text(stored), fmt=_FORMAT)
    same = _digest(stored) == executed or _digest(held) == _digest(read_source(source))
    if not same or any(cell.get("attachments") for cell in stored.cells):
        name = name_of(source)
        raise NotebookError(
            f"{name}: the .ipynb was edited, and the .md lacks the edit: take it over "
            f"with '.venv/bin/python -m jupytext --to md:myst notebooks/{name}.ipynb', "
            f"which replaces the .md, or lose it with 'make refresh NB={name} "
            "DISCARD=1'."
        )


# -- executing -----------------------------------------------------------------


def execute(
    notebook: Any, folder: Path, *, timeout: int = 600, results: Path | None = None
) -> float:
    """Execute a notebook in place, in a fresh kernel.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        Its cells get their outputs and execution counts.
    folder : pathlib.Path
        The kernel's working directory.
    timeout : int
        Seconds that one cell may take.
    results : pathlib.Path, optional
        A folder of results in the place of the book's (`dplib.book.own_results`). Then
        a cell may take any time, and one that fails does not stop the others.

    Returns
    -------
    float
        CPU seconds that the kernel (and its children) used.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = {} if results is None else {own_results.VARIABLE: str(results)}
    with kernels.surroundings(**own):
        # Its list of fonts is made here: a kernel that is slow to make it says so.
        importlib.import_module("matplotlib.font_manager")
        nbclient.execute(
            notebook,
            cwd=str(folder),
            timeout=None if own else timeout,
            allow_errors=bool(own),
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=["--IPKernelApp.log_level=40"],  # no notice about TCP
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def key(notebook: Any, name: str, root: Path) -> str:
    """Return the key of a notebook: cells, claims, and the code they reach.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        The notebook; only its code cells count.
    name : str
        ``chapter/NN_topic``.
    root : pathlib.Path
        Folder of the book.

    Returns
    -------
    str
        64 hexadecimal digits. It changes with a code cell, with a claim that
        the ledger assigns to the notebook, with a stored result of the chapter or
        a YAML file that it names, and with the code (not the docstrings or
        comments) of every `dplib` module that is reached.
    """
    cells = [cell.source for cell in _code(notebook)]
    chapter = name.split("/")[0]
    path = root / "book" / "claims" / f"{chapter}.yml"
    claims = ledger.load_chapter(path).of_notebook(name) if path.is_file() else ()
    facts = [
        {k: dict(v) if k == "at" else v for k, v in vars(claim).items()}
        for claim in claims
    ]
    try:
        code = code_key.code_key("\n".join(cells), root / "dplib")
    except SyntaxError as error:
        raise NotebookError(f"{name}: a cell is not Python: {error}") from None
    # Files of the chapter: stored results, and systems that the notebook names; a
    # reader's own beside them is no part of the book.
    folder = root / "notebooks" / chapter
    systems = [f for f in folder.glob("*.yml") if any(f.name in cell for cell in cells)]
    files = sorted([*folder.glob("results/*.csv"), *systems])
    read = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return _sha256({"cells": cells, "claims": facts, "code": code, "files": read})


# -- what is noted -------------------------------------------------------------


def _noted(path: Path) -> dict[str, Any]:
    """Return what a JSON file holds that refresh, or a test run, has written."""
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise NotebookError(
            f"{path.parent.name}/{path.name} is broken: restore it or delete it."
        ) from None


def read_status(root: Path) -> dict[str, Any]:
    """Return ``book/status.json``: date, machine, versions, and the notebooks.

    Each notebook has the `key` and the CPU seconds of its last refresh. Without
    the file all are empty.
    """
    empty: dict[str, Any] = {"date": None, "machine": None}
    empty |= {"versions": {}, "notebooks": {}}
    return empty | _noted(root / "book" / "status.json")


def _write(path: Path, text: str) -> bool:
    """Write a file, whole or not at all; return whether it changed."""
    if path.is_file() and path.read_bytes() == text.encode("utf-8"):
        return False
    write_atomically(path, text)
    return True


# -- refreshing ----------------------------------------------------------------


def refresh(
    root: Path,
    names: Sequence[str] = (),
    *,
    status: bool = False,
    discard: bool = False,
) -> list[str]:
    """Execute notebooks and write both files of each pair.

    Where cells, claims and code are what they were, a stored output that is the same
    (`dplib.book.outputs`) stays: another processor rewrites nothing. If a cell fails,
    or somebody edits the pair while it runs, it stays as it was.

    Parameters
    ----------
    root : pathlib.Path
        Folder of the book.
    names : sequence of str
        As for `find`; all notebooks if empty.
    status : bool
        Whether to note versions, machine, date and the time of every notebook
        in ``book/status.json``. Without it, only the time of a notebook whose
        `key` is new is noted, so that a second refresh changes no byte.
    discard : bool
        Whether an edit that was made in the ``.ipynb`` alone may be lost.

    Returns
    -------
    list of str
        The files that changed.
    """
    read_status(root)  # a broken one stops here, before anything runs
    changed: list[str] = []
    sources = find(root, names)
    for source in () if discard else sources:
        _refuse_to_lose(source)
    for source in sources:
        if not discard:
            _refuse_to_lose(source)  # once more: others ran for minutes
        notebook, this, seconds = _run(root, source)
        name, noted = name_of(source), read_status(root)
        new = noted["notebooks"].get(name, {}).get("key") != this
        if not new:
            _keep_the_same(notebook, _stored(source))
        if new or status:
            noted["notebooks"][name] = {"key": this, "cpu_seconds": round(seconds, 1)}
        if status or not noted["versions"]:
            noted["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
            machine = f"{platform.system()} {platform.machine()}"
            noted["machine"] = f"{machine}, {os.cpu_count()} cores"
            noted["versions"] = versions(VERSIONED)
        there = {name_of(path) for path in find(root)} & set(noted["notebooks"])
        noted["notebooks"] = {name: noted["notebooks"][name] for name in sorted(there)}
        for path, text in (
            (source, source_text(notebook)),
            (source.with_suffix(".ipynb"), verified_text(notebook)),
            (root / "book" / "status.json", json.dumps(noted, indent=1) + "\n"),
        ):
            if _write(path, text):
                changed.append(str(path.relative_to(root)))
    return changed


def _run(root: Path, source: Path) -> tuple[Any, str, float]:
    """Execute a notebook; return it with its key and the CPU seconds that it took."""
    name = name_of(source)
    print(f"refresh {name} ...", flush=True)
    pair = (source, source.with_suffix(".ipynb"))

    def state() -> tuple[str, list[bytes]]:
        bodies = [path.read_bytes() for path in pair if path.is_file()]
        return key(read_source(source), name, root), bodies

    before, notebook = state(), read_source(source)
    try:
        seconds = execute(notebook, source.parent)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # no colour codes
        raise NotebookError(
            f"{name}: a cell failed; neither file of the pair was written.\n{plain}"
        ) from None
    if state() != before:
        raise NotebookError(
            f"{name}: the pair, its claims or the library was edited while it ran; "
            "neither file of it was written. Refresh it again."
        )
    print(f"refresh {name}: {seconds:.1f} CPU seconds", flush=True)
    return notebook, before[0], seconds


def _keep_the_same(notebook: Any, stored: Any) -> None:
    """Keep what is stored of outputs that another processor gives in other bits."""
    for cell, old in zip(_code(notebook), _code(stored), strict=False):
        if cell.source == old.source:
            cell.outputs = outputs.settle(old.outputs, cell.outputs)


# -- commands ------------------------------------------------------------------


def _keys(root: Path, names: Sequence[str]) -> dict[str, str]:
    """Return name to key, outputs included, of notebooks as they stand on disk."""
    result = {}
    for source in find(root, names):
        stored = source.with_suffix(".ipynb")
        body = stored.read_bytes() if stored.is_file() else b""
        cells = key(read_source(source), name_of(source), root)
        result[name_of(source)] = hashlib.sha256(cells.encode() + body).hexdigest()
    return result


def _changed(root: Path, names: Sequence[str]) -> None:
    """List the notebooks that are not as they were verified."""
    noted = _noted(root / ".cache" / "verified.json")
    keys = _keys(root, names).items()
    print("\n".join(f"notebooks/{n}.ipynb" for n, k in keys if noted.get(n) != k))


def _verified(root: Path, names: Sequence[str]) -> None:
    """Note notebooks as verified; refuse if a cell of theirs was not compared."""
    path = root / ".cache" / "verified.json"
    noted = _noted(path) | _keys(root, names)
    compared = _noted(path.with_name("compared.json"))
    for source in find(root, names):
        stored = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
        cells = len(_code(stored))
        ran = compared.get(name_of(source), 0)
        if ran != cells:
            raise NotebookError(
                f"{name_of(source)} is not verified: of its {cells} code cells, {ran} "
                "were executed and compared with what is stored."
            )
    _write(path, json.dumps(noted, indent=1) + "\n")


def _current(root: Path, names: Sequence[str]) -> None:
    """Raise if notebooks are not what was executed last."""
    noted = read_status(root)["notebooks"]
    stale = [
        name
        for name, source in ((name_of(path), path) for path in find(root, names))
        if noted.get(name, {}).get("key") != key(read_source(source), name, root)
    ]
    if stale:
        raise NotebookError(
            "The cells, claims, files or library code of notebooks have changed since "
            f"they were executed: make refresh NB='{' '.join(stale)}'"
        )


def trust(root: Path, names: Sequence[str] = ()) -> None:
    """Sign the outputs of notebooks, so that JupyterLab shows their figures.

    The signature is kept in the reader's home folder; where that cannot be written,
    nothing happens.
    """
    stored = [_stored(source) for source in find(root, names)]
    sign(*(notebook for notebook in stored if notebook is not None))


def sign(*notebooks: Any) -> None:
    """Sign notebooks in the reader's home folder, if it can be written.

    The notary is told the folder: to find it by itself it starts an application, which
    sets up the logging of the whole process anew and may close its ``stderr``.
    """
    with contextlib.suppress(OSError):
        folder = Path(jupyter_data_dir())
        folder.mkdir(parents=True, exist_ok=True)
        with NotebookNotary(data_dir=str(folder)) as notary:
            for notebook in notebooks:
                notary.sign(notebook)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (see the head of the file); return its exit status."""
    commands = {
        "changed": _changed,
        "verified": _verified,
        "current": _current,
        "trust": trust,
    }
    parser = argparse.ArgumentParser(prog="python -m dplib.book.notebooks")
    parser.add_argument("command", choices=["refresh", *commands])
    parser.add_argument("names", nargs="*", metavar="CHAPTER/NN_TOPIC")
    for option, text in (
        ("--status", "refresh: note date, machine and versions too"),
        ("--discard", "refresh: lose edits that were made in the .ipynb alone"),
    ):
        parser.add_argument(option, action="store_true", help=text)
    given = parser.parse_args(arguments)
    try:
        root = ledger.book_root()
        if given.command == "refresh":
            how = {"status": given.status, "discard": given.discard}
            changed = refresh(root, given.names, **how)
            print("changed: " + (", ".join(changed) if changed else "nothing"))
            trust(root, given.names)
        else:
            commands[given.command](root, given.names)
    except (NotebookError, ledger.LedgerError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
