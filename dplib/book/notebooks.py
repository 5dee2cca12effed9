"""Paired notebooks: read, execute, and write them, always the same way.

A notebook is a pair: the ``.md`` that people edit and review, and the ``.ipynb``
with outputs that the book shows and that tests compare. `refresh` executes the
``.md`` and writes both; run twice, it changes no byte. It never looks at file
times, and writes nothing if a cell fails.

Command line::

    python -m dplib.book.notebooks refresh [CHAPTER/NN_TOPIC ...] [--status] [--discard]
    python -m dplib.book.notebooks changed
    python -m dplib.book.notebooks verified [CHAPTER/NN_TOPIC ...]
    python -m dplib.book.notebooks current
    python -m dplib.book.notebooks trust [CHAPTER/NN_TOPIC ...]

``refresh`` refuses a pair whose ``.ipynb`` was edited where the ``.md`` was not,
unless told to ``--discard`` that edit. ``changed`` lists the notebooks whose cells,
claims, or reached library code differ from what ``verified`` last noted in
``.cache/``. ``current`` fails if they differ from what was last executed. ``trust``
signs the outputs, without which JupyterLab shows no figure of a notebook that
somebody else has executed.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import hashlib
import importlib.metadata
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
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import (
    CellExecutionError,
    CellTimeoutError,
    DeadKernelError,
)
from nbformat.sign import NotebookNotary

from dplib.book import code_key, kernels, ledger, outputs
from dplib.book.whole_files import write_atomically

__all__ = [
    "VERSIONED",
    "NotebookError",
    "execute",
    "find",
    "key",
    "main",
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

_NAME = re.compile(r"[0-9][0-9]_")


class NotebookError(RuntimeError):
    """A notebook could not be found, read or executed."""


def find(root: Path, names: Sequence[str] = ()) -> list[Path]:
    """Return the ``.md`` files of the notebooks, in order.

    Parameters
    ----------
    root : pathlib.Path
        Folder of the book.
    names : sequence of str
        ``chapter/NN_topic`` each (a path to either file of the pair will do);
        all notebooks if empty.

    Raises
    ------
    NotebookError
        If a name belongs to no notebook.

    Examples
    --------
    >>> find(Path("."), ["truthful/99_nothing"])
    Traceback (most recent call last):
    ...
    dplib.book.notebooks.NotebookError: There is no notebook 'truthful/99_nothing' \
(looked for notebooks/truthful/99_nothing.md).
    """
    folder = root / "notebooks"
    if not names:
        return sorted(folder.glob("*/[0-9][0-9]_*.md"))
    found = []
    for name in names:
        bare = name.removesuffix(".md").removesuffix(".ipynb")
        bare = bare.removeprefix("./").removeprefix("notebooks/")
        path = folder / f"{bare}.md"
        if not path.is_file() or not _NAME.match(path.name):
            raise NotebookError(
                f"There is no notebook '{name}' (looked for notebooks/{bare}.md)."
            )
        found.append(path)
    return found


def name_of(path: Path) -> str:
    """Return ``chapter/NN_topic`` of either file of a pair."""
    return f"{path.parent.name}/{path.stem}"


def read_source(path: Path) -> Any:
    """Read a ``.md`` as a notebook without outputs, in canonical form.

    Raises
    ------
    NotebookError
        If the file cannot be read; if it has no jupytext header (it would not be
        paired, and other readers would see no code cell in it); if it holds what
        `refresh` would delete.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotebookError(f"{path.name} cannot be read: {error}") from None
    if "\r" in text:
        raise NotebookError(
            f"{path.name} has carriage returns, as on Windows: refresh would delete "
            "them; let its lines end with a line feed alone."
        )
    if re.search(r"^(<{7}|>{7}) ", text, re.M):
        raise NotebookError(f"{path.name} holds the marks of a merge conflict.")
    header = text.split("\n---\n", 1)[0]
    if not text.startswith("---\n") or not re.search(r"^jupytext:", header, re.M):
        raise NotebookError(
            f"{path.name} is not a notebook: it must begin with a jupytext header."
        )
    try:
        notebook = jupytext.reads(text, fmt=_FORMAT)
    except Exception as error:  # YAML that is broken, or not what jupytext expects
        reason = " ".join(str(error).split())[:300]
        raise NotebookError(f"{path.name} cannot be read: {reason}") from None
    extra = sorted(set(notebook.metadata) - {"jupytext", "kernelspec"})
    if extra:
        raise NotebookError(
            f"{path.name}: the header has '{extra[0]}', which refresh would delete; "
            "a header holds 'jupytext' and 'kernelspec' only."
        )
    return _canonical(notebook)


def _plain(value: Any) -> Any:
    """Return nested JSON as a save in a browser leaves it.

    Keys are sorted, and 1.0 is 1: JavaScript has one kind of number.
    """
    if isinstance(value, dict):
        return {name: _plain(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _output(output: Any) -> Any:
    """Return an output with its results only: no timing, no transient parts."""
    kind = output.output_type
    if kind == "stream":
        return nbformat.v4.new_output(kind, name=output.name, text=output.text)
    if kind == "error":
        parts = {name: output[name] for name in ("ename", "evalue", "traceback")}
        return nbformat.v4.new_output(kind, **parts)
    result = nbformat.v4.new_output(kind, data=_plain(output.data))
    if kind == "execute_result":
        result.execution_count = output.execution_count
    return result


def _canonical(notebook: Any) -> Any:
    """Return a copy with fixed ids, and with nothing that is not a result.

    It is built from the fields that a pair may have; others are left out.
    """
    header = dict(notebook.metadata.get("jupytext", {}))
    header.pop("text_representation", None)  # the .md's own; jupytext writes it
    header["notebook_metadata_filter"] = _FILTER
    cells = []
    for number, cell in enumerate(notebook.cells):
        make = {
            "code": nbformat.v4.new_code_cell,
            "markdown": nbformat.v4.new_markdown_cell,
            "raw": nbformat.v4.new_raw_cell,
        }[cell.cell_type]
        metadata = _plain(cell.metadata)
        metadata.pop("execution", None)
        new = make(cell.source, id=f"c{number:03d}", metadata=metadata)
        if cell.cell_type == "code":
            new.execution_count = cell.execution_count
            new.outputs = [_output(output) for output in cell.outputs]
        cells.append(new)
    result = nbformat.v4.new_notebook(cells=cells)
    metadata = _plain({"jupytext": header, "kernelspec": _KERNEL})
    result.metadata = nbformat.from_dict(metadata)
    result.nbformat, result.nbformat_minor = 4, 5
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


def _digest(notebook: Any) -> str:
    """Return a digest of the cells as people edit them: without outputs."""
    cells = [
        (cell.cell_type, cell.source, cell.metadata)
        for cell in _canonical(notebook).cells
    ]
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()


def _stored(path: Path) -> Any:
    """Return the ``.ipynb`` of a pair; None if there is none, or no whole one."""
    try:
        return nbformat.read(path, as_version=4)
    except Exception:  # conflict marks, an empty file, half a notebook
        return None


def _refuse_to_lose(source: Path) -> None:
    """Raise if the ``.ipynb`` has an edit that the ``.md`` does not have."""
    stored = _stored(source.with_suffix(".ipynb"))
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


def execute(notebook: Any, folder: Path, *, timeout: int = 600) -> float:
    """Execute a notebook in place, in a fresh kernel.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        Its cells get their outputs and execution counts.
    folder : pathlib.Path
        The kernel's working directory.
    timeout : int
        Seconds that one cell may take.

    Returns
    -------
    float
        CPU seconds that the kernel (and its children) used.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    nbclient.exceptions.CellTimeoutError, nbclient.exceptions.DeadKernelError
        If a cell takes too long, or takes the kernel with it.
    """
    with kernels.surroundings():
        client = NotebookClient(
            notebook,
            timeout=timeout,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=["--IPKernelApp.log_level=40"],  # no notice about TCP
            resources={"metadata": {"path": str(folder)}},
        )
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        client.execute()
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

    Raises
    ------
    NotebookError
        If a cell is neither Python nor a magic.
    LedgerError
        If the chapter's ledger is not well formed.
    """
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    path = root / "book" / "claims" / f"{name.split('/')[0]}.yml"
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
    folder = root / "notebooks" / name.split("/")[0]
    systems = [f for f in folder.glob("*.yml") if any(f.name in cell for cell in cells)]
    files = sorted([*folder.glob("results/*.csv"), *systems])
    read = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    whole = {"cells": cells, "claims": facts, "code": code, "files": read}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _bytes(source: Path) -> list[bytes]:
    """Return what the files of a pair hold."""
    pair = (source, source.with_suffix(".ipynb"))
    return [path.read_bytes() for path in pair if path.is_file()]


def _write(path: Path, text: str) -> bool:
    """Write a file, whole or not at all; return whether it changed."""
    if path.is_file() and path.read_bytes() == text.encode("utf-8"):
        return False
    write_atomically(path, text)
    return True


def _read_json(path: Path, default: dict[str, Any]) -> dict[str, Any]:
    """Return what a JSON file holds, or say that it is broken."""
    if not path.is_file():
        return default
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or set(default) - set(found):
        raise _broken(path, default)
    return found


def _broken(path: Path, default: dict[str, Any]) -> NotebookError:
    needs = ", ".join(default) or "an object"
    return NotebookError(
        f"{path.parent.name}/{path.name} is broken (it must be JSON with {needs}): "
        "restore it or delete it."
    )


def read_status(root: Path) -> dict[str, Any]:
    """Return ``book/status.json``: date, machine, versions, and the notebooks.

    Each notebook has the `key` and the CPU seconds of its last refresh. Without
    the file all are empty.

    Raises
    ------
    NotebookError
        If the file is broken.
    """
    path = root / "book" / "status.json"
    empty: dict[str, Any] = dict.fromkeys(("date", "machine"))
    empty |= {"versions": {}, "notebooks": {}}
    found = _read_json(path, empty)
    parts = (found["versions"], found["notebooks"])
    if not all(isinstance(part, dict) for part in parts) or not all(
        isinstance(entry, dict) for entry in found["notebooks"].values()
    ):
        raise _broken(path, empty)
    return found


def _surroundings() -> dict[str, Any]:
    versions = {"python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in VERSIONED}
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"date": today, "machine": machine, "versions": versions}


def _keep_the_same(notebook: Any, path: Path) -> None:
    """Keep what is stored of outputs that another processor gives in other bits."""
    if (stored := _stored(path)) is None:
        return
    fresh, old = (
        [cell for cell in one.cells if cell.cell_type == "code"]
        for one in (notebook, stored)
    )
    for cell, before in zip(fresh, old, strict=False):
        if cell.source == before.source:
            cell.outputs = outputs.settle(before.outputs, cell.outputs)


def refresh(
    root: Path,
    names: Sequence[str] = (),
    *,
    status: bool = False,
    discard: bool = False,
) -> list[str]:
    """Execute notebooks and write both files of each pair.

    Where cells, claims and code are what they were, a stored output that is the same
    (`dplib.book.outputs`) stays: another processor rewrites nothing.

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

    Raises
    ------
    NotebookError
        If a notebook is not found, its ``.ipynb`` has an edit of its own, a cell
        fails, or somebody edits the pair while it runs; it stays as it was.
    LedgerError
        If the chapter's ledger is not well formed; the pair stays likewise.
    """
    changed = []
    sources = find(root, names)
    for source in () if discard else sources:
        _refuse_to_lose(source)
    for source in sources:
        name = name_of(source)
        print(f"refresh {name} ...", flush=True)
        before = _bytes(source)
        if not discard:
            _refuse_to_lose(source)  # once more: others ran for minutes
        notebook = read_source(source)
        read_status(root)  # a broken one stops here, before anything is written
        try:
            seconds = execute(notebook, source.parent)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # no colour codes
            raise NotebookError(
                f"{name}: a cell failed; neither file of the pair was written.\n{plain}"
            ) from None
        this = key(notebook, name, root)
        if _bytes(source) != before:
            raise NotebookError(
                f"{name}: the pair was edited while it ran; neither file of it "
                "was written. Refresh it again."
            )
        noted = read_status(root)
        if noted["notebooks"].get(name, {}).get("key") == this:
            _keep_the_same(notebook, source.with_suffix(".ipynb"))
        for path, text in (
            (source, source_text(notebook)),
            (source.with_suffix(".ipynb"), verified_text(notebook)),
        ):
            if _write(path, text):
                changed.append(str(path.relative_to(root)))
        if status or noted["notebooks"].get(name, {}).get("key") != this:
            noted["notebooks"][name] = {"key": this, "cpu_seconds": round(seconds, 1)}
        existing = {name_of(path) for path in find(root)}
        noted["notebooks"] = {
            n: entry for n, entry in sorted(noted["notebooks"].items()) if n in existing
        }
        if status or not noted["versions"]:
            noted |= _surroundings()
        if _write(root / "book" / "status.json", json.dumps(noted, indent=1) + "\n"):
            changed.append("book/status.json")
        print(f"refresh {name}: {seconds:.1f} CPU seconds", flush=True)
    return changed


def _keys(root: Path, names: Sequence[str]) -> dict[str, str]:
    """Return name to key, outputs included, of notebooks as they stand on disk."""
    result = {}
    for source in find(root, names):
        stored = source.with_suffix(".ipynb")
        body = stored.read_bytes() if stored.is_file() else b""
        cells = key(read_source(source), name_of(source), root)
        result[name_of(source)] = hashlib.sha256(cells.encode() + body).hexdigest()
    return result


def _changed(root: Path) -> list[str]:
    path = root / ".cache" / "verified.json"
    noted = _read_json(path, {})
    return [name for name, this in _keys(root, ()).items() if noted.get(name) != this]


def _require_current(root: Path) -> None:
    noted = read_status(root)["notebooks"]
    stale = [
        name
        for name, source in ((name_of(path), path) for path in find(root))
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

    Parameters
    ----------
    root : pathlib.Path
        Folder of the book.
    names : sequence of str
        As for `find`; all notebooks if empty.
    """
    with contextlib.suppress(OSError), NotebookNotary() as notary:
        for source in find(root, names):
            if (stored := _stored(source.with_suffix(".ipynb"))) is not None:
                notary.sign(stored)


def _verified(root: Path, names: Sequence[str]) -> None:
    """Note notebooks as verified; refuse if a cell of theirs was not compared."""
    path = root / ".cache" / "verified.json"
    noted = _read_json(path, {}) | _keys(root, names)
    compared = _read_json(path.with_name("compared.json"), {})
    for source in find(root, names):
        stored = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
        cells = sum(cell.cell_type == "code" for cell in stored.cells)
        ran = compared.get(name_of(source), 0)
        if ran != cells:
            raise NotebookError(
                f"{name_of(source)} is not verified: of its {cells} code cells, {ran} "
                "were executed and compared with what is stored."
            )
    _write(path, json.dumps(noted, indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m dplib.book.notebooks")
    commands = parser.add_subparsers(dest="command", required=True)
    for command, text in (
        ("refresh", "execute notebooks and write both files of each pair"),
        ("changed", "list the notebooks that changed since they were verified"),
        ("verified", "note that the notebooks were verified as they stand"),
        ("current", "fail if notebooks changed since they were executed"),
        ("trust", "sign the outputs, so that JupyterLab shows them"),
    ):
        sub = commands.add_parser(command, help=text)
        if command not in ("changed", "current"):
            sub.add_argument("names", nargs="*", metavar="CHAPTER/NN_TOPIC")
        if command == "refresh":
            sub.add_argument("--status", action="store_true", help="note versions too")
            lose = "lose edits that were made in the .ipynb alone"
            sub.add_argument("--discard", action="store_true", help=lose)
    given = parser.parse_args(arguments)
    try:
        root = ledger.book_root()
        if given.command == "refresh":
            how = {"status": given.status, "discard": given.discard}
            changed = refresh(root, given.names, **how)
            print("changed: " + (", ".join(changed) if changed else "nothing"))
            trust(root, given.names)
        elif given.command == "changed":
            print("\n".join(f"notebooks/{name}.ipynb" for name in _changed(root)))
        elif given.command == "verified":
            _verified(root, given.names)
        elif given.command == "current":
            _require_current(root)
        else:
            trust(root, given.names)
    except (NotebookError, ledger.LedgerError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
