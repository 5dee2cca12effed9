"""The notebook of a sweep: read, checked, and reduced to what decides its rows.

**Version.** A sweep's results belong to the code that made them: the notebook's code
cells (defaults in the parameters cell included) and the modules of `dplib` that they
reach, comments and docstrings apart (`dplib.book.code_key`). Versions of libraries, the
date and the machine are kept beside the results, and are no part of the version.

**Key of a point.** The version, the values of the parameters, and, where a text value
is the name of a file, what that file holds.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import re
import symtable
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import dplib
from dplib.book import code_key
from dplib.sweep.parameters import Parameter, RefusedError, Value, read_cell

__all__ = ["Notebook", "code_version", "point_key", "read"]

_LIBRARY = Path(dplib.__file__).parent


@dataclass(frozen=True)
class Notebook:
    """A notebook that a sweep can run; from `read`.

    Attributes
    ----------
    name : str
        ``chapter/NN_topic``: folder and file, without the ending.
    folder : pathlib.Path
        Where it lies, and where its kernels work.
    cells : tuple of str
        Its code cells.
    parameters : tuple of Parameter
        What its parameters cell assigns.
    text : str
        The whole notebook as JSON.
    """

    name: str
    folder: Path
    cells: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    text: str


# -- keys -------------------------------------------------------------------


def code_version(cells: tuple[str, ...]) -> str:
    """Return the key of code cells and of the library code that they reach now."""
    # Asked before and after every point: files are parsed again only if one changed.
    state = []
    for path in sorted(_LIBRARY.rglob("*.py")):
        if path.is_file():
            state.append((str(path), path.stat().st_mtime_ns, path.stat().st_size))
    return _version(cells, tuple(state))


@lru_cache(maxsize=4)
def _version(cells: tuple[str, ...], _state: tuple[tuple[str, int, int], ...]) -> str:
    own = [code_key.source_key(_python(cell)) for cell in cells]
    library = code_key.code_key("\n".join(cells), _LIBRARY)
    return hashlib.sha256(json.dumps([own, library]).encode()).hexdigest()


def _python(cell: str) -> str:
    """Return a cell as the Python that its magics stand for."""
    from IPython.core.inputtransformer2 import TransformerManager

    text: str = TransformerManager().transform_cell(cell)
    return text


def point_key(version: str, point: Mapping[str, Value], folder: Path) -> str:
    """Return the key of a point: 32 hexadecimal digits.

    Parameters
    ----------
    version : str
        From `code_version`.
    point : mapping of str to number or text
        Values of the parameters.
    folder : pathlib.Path
        The notebook's folder; text values that name a file from there count as what
        the file holds.
    """
    files = {
        name: hashlib.sha256((folder / value).read_bytes()).hexdigest()
        for name, value in point.items()
        # Not `Path.is_file`, which raises where a text is too long for a name.
        if isinstance(value, str) and os.path.isfile(folder / value)  # noqa: PTH113
    }
    whole = json.dumps([version, point, files], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


# -- reading ----------------------------------------------------------------


def read(given: str | Path) -> Notebook:
    """Read a notebook, and make sure that a sweep can run it.

    Parameters
    ----------
    given : str or pathlib.Path
        Path of the ``.ipynb`` or ``.md``, with or without the ending, or
        ``chapter/NN_topic`` for a notebook of this book.
    """
    import nbformat

    path = _find(given)
    name = f"{path.parent.name}/{path.stem}"
    notebook = _load(path)
    code = _code(notebook)
    other = path.with_suffix(".md" if path.suffix == ".ipynb" else ".ipynb")
    if other.is_file() and _code(_load(other)) != code:
        raise RefusedError(
            f"The files {path.name} and {other.name} hold other code: refresh the "
            "pair, then sweep."
        )
    # papermill writes the values below the first cell with the tag, of whatever type,
    # and over one that it wrote before.
    kinds = [cell.cell_type for cell in notebook.cells if "parameters" in _tags(cell)]
    if kinds != ["code"]:
        raise RefusedError(
            f"The notebook {name} must have one cell tagged 'parameters', of code. "
            f"Got {', '.join(kinds) or 'none'} instead."
        )
    if any("injected-parameters" in _tags(cell) for cell in notebook.cells):
        raise RefusedError(
            f"The notebook {name} was made by a sweep or papermill (a cell is tagged "
            "'injected-parameters'): give the notebook that it was made from."
        )
    cells = tuple(source for source, _ in code)
    try:
        bound = [_bound(cell) for cell in cells]
    except SyntaxError as error:
        raise RefusedError(f"A cell of {name} is not Python: {error}.") from None
    tagged = next(n for n, (_, tags) in enumerate(code) if "parameters" in tags)
    parameters = read_cell(cells[tagged], name)
    later = set[str]().union(*bound[tagged + 1 :])
    if "*" in later:
        raise RefusedError(
            f"A cell of {name} below its parameters imports everything of a module, "
            "maybe a name of a parameter too: import by name."
        )
    again = sorted(later & {parameter.name for parameter in parameters})
    if again:
        raise RefusedError(
            f"The notebook {name} assigns its parameter '{again[0]}' again in a later "
            "cell: its rows would not be those of the value that was asked for."
        )
    if not _records(cells):
        raise RefusedError(
            f"No cell of {name} calls sweep.record, so that a sweep would have no rows "
            "to collect: name a notebook that does, as truthful/08_batch."
        )
    return Notebook(name, path.parent, cells, parameters, nbformat.writes(notebook))


def _records(cells: tuple[str, ...]) -> bool:
    """Return whether some cell may call `sweep.record`, under whatever import."""
    code = "\n".join(ast.unparse(ast.parse(_python(cell))) for cell in cells)
    return all(re.search(rf"\b{word}\b", code) for word in ("sweep", "record"))


def _bound(source: str) -> set[str]:
    """Return the names that a cell binds in the notebook; '*' for ``import *``.

    What follows a magic counts as well, where it is Python.

    Examples
    --------
    >>> sorted(_bound("%time n = 7"))
    ['n']
    """
    python = _python(source)
    names = set(_assigned(symtable.symtable(python, "a cell", "exec")))
    for node in ast.walk(ast.parse(python)):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                names.add("*")
            case ast.Call(
                func=ast.Attribute(attr="run_line_magic" | "run_cell_magic"),
                args=[*_, ast.Constant(value=str(given))],
            ):
                with contextlib.suppress(SyntaxError):
                    names |= _bound(given)
    return names


def _assigned(table: symtable.SymbolTable, top: bool = True) -> Iterator[str]:
    """Yield the names that code binds at the level of the notebook."""
    for symbol in table.get_symbols():
        bound = symbol.is_assigned() or symbol.is_imported()
        if bound and (top or symbol.is_declared_global()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _assigned(inner, top=False)


def _find(given: str | Path) -> Path:
    path = Path(given)
    book = _LIBRARY.parent / "notebooks"
    tries = [
        place.with_name(place.name + suffix)
        for place in (path, book / path)
        for suffix in (".md", ".ipynb")
    ]
    for one in [path] if path.suffix in (".ipynb", ".md") else tries:
        if one.is_file():
            return one.resolve()
    raise RefusedError(f"There is no notebook '{given}'.")


def _load(path: Path) -> Any:
    """Read either file of a pair."""
    import jupytext

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cells without ids are harmless here
            return jupytext.read(path)
    except Exception as error:  # whatever the file is, it is no notebook
        reason = " ".join(str(error).split())[:200]
        raise RefusedError(f"The notebook {path} cannot be read: {reason}.") from None


def _code(notebook: Any) -> list[tuple[str, list[str]]]:
    return [
        (cell.source.strip(), _tags(cell))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))
