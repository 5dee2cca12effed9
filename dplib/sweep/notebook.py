"""The notebook of a sweep: read, checked, and reduced to what decides its rows.

**Version.** A sweep's results belong to the code that made them: the notebook's code
cells (defaults in the parameters cell included) and the modules of `dplib` that they
reach, comments and docstrings apart (`dplib.book.code_key`). Versions of libraries, the
date and the machine are kept beside the results, and are no part of the version.

**Key of a point.** The version, the values of the parameters, and, where a text value
is the name of a file in the notebook's folder, what that file holds. Files that the
code names itself are kept with the result (`dplib.sweep.store`), which counts only as
long as they hold the same.
"""

from __future__ import annotations

import ast
import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import dplib
from dplib.book import code_key
from dplib.sweep.errors import RefusedError
from dplib.sweep.parameters import Parameter, Value, read_cell

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
        The whole notebook as JSON, without outputs.
    """

    name: str
    folder: Path
    cells: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    text: str

    @property
    def version(self) -> str:
        """Key of the present code: cells, and library modules that they reach."""
        try:
            return code_version(self.cells)
        except SyntaxError as error:
            raise RefusedError(
                f"A cell of {self.name} is not Python: {error}."
            ) from None


# -- keys -------------------------------------------------------------------


def code_version(cells: tuple[str, ...]) -> str:
    """Return the key of code cells and of the library code that they reach now.

    Parameters
    ----------
    cells : tuple of str
        Code cells, in order.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    SyntaxError
        If a cell, or a module reached, is not Python.
    """
    # Asked before and after every point: files are parsed again only if one changed.
    stamps = []
    for path in sorted(_LIBRARY.rglob("*.py")):
        try:
            state = path.stat()
        except FileNotFoundError:  # somebody's editor, between the two
            continue
        stamps.append((str(path), state.st_mtime_ns, state.st_size))
    return _version(cells, tuple(stamps))


@lru_cache(maxsize=4)
def _version(cells: tuple[str, ...], stamps: tuple[tuple[str, int, int], ...]) -> str:  # noqa: ARG001
    own = [(code_key.source_key(cell), _magic(cell)) for cell in cells]
    library = code_key.code_key("\n".join(cells), _LIBRARY)
    return hashlib.sha256(json.dumps([own, library]).encode()).hexdigest()


def _magic(cell: str) -> str:
    """Return a cell that has magics as it is: its syntax tree does not hold them."""
    try:
        ast.parse(cell)
    except SyntaxError:
        return cell
    return ""


def point_key(version: str, point: Mapping[str, Value], folder: Path) -> str:
    """Return the key of a point.

    Parameters
    ----------
    version : str
        From `code_version`.
    point : mapping of str to number or text
        Values of the parameters.
    folder : pathlib.Path
        The notebook's folder; text values that name a file in it count as the file.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    files = {
        name: _digest(folder / value)
        for name, value in point.items()
        if isinstance(value, str) and value and _is_file(folder / value)
    }
    whole = json.dumps([version, point, files], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a text that is too long for a name
        return False


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# -- reading ----------------------------------------------------------------


def read(given: str | Path) -> Notebook:
    """Read a notebook, and make sure that a sweep can run it.

    Parameters
    ----------
    given : str or pathlib.Path
        Path of the ``.ipynb`` or ``.md``, with or without the ending, or
        ``chapter/NN_topic`` for a notebook of this book.

    Raises
    ------
    RefusedError
        If there is no such notebook; it cannot be read; its two files hold other
        code; or it has no parameters cell, or two.
    """
    path = _find(given)
    name = f"{path.parent.name}/{path.stem}"
    notebook = _load(path, name)
    other = path.with_suffix(".md" if path.suffix == ".ipynb" else ".ipynb")
    if other.is_file() and _code(_load(other, name)) != _code(notebook):
        raise RefusedError(
            f"The files {path.name} and {other.name} hold other code: refresh the "
            "pair, then sweep."
        )
    tagged = [source for source, tags in _code(notebook) if "parameters" in tags]
    if len(tagged) != 1:
        raise RefusedError(
            f"The notebook {name} must have one cell tagged 'parameters'. "
            f"Got {len(tagged)} instead."
        )
    if any("injected-parameters" in tags for _, tags in _code(notebook)):
        raise RefusedError(
            f"The notebook {name} has a cell tagged 'injected-parameters': it is what "
            "a run left, not what to run."
        )
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    result = Notebook(
        name=name,
        folder=path.parent,
        cells=tuple(source for source, _ in _code(notebook)),
        parameters=read_cell(tagged[0], name),
        text=_dumps(notebook),
    )
    _ = result.version  # every cell is Python
    return result


def _find(given: str | Path) -> Path:
    path = Path(given)
    book = _LIBRARY.parent / "notebooks"
    if path.suffix in (".ipynb", ".md"):
        tries = [path]
    else:
        tries = [
            place.with_name(place.name + suffix)
            for place in (path, book / path)
            for suffix in (".md", ".ipynb")
        ]
    for one in tries:
        if one.is_file():
            return one.resolve()
    raise RefusedError(f"There is no notebook '{given}'.")


def _load(path: Path, name: str) -> Any:
    """Read either file of a pair as a notebook of format 4."""
    import nbformat

    if path.suffix == ".md":
        from dplib.book.notebooks import NotebookError, read_source

        try:
            return read_source(path)
        except NotebookError as error:
            raise RefusedError(str(error)) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cells without ids are harmless here
            return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except Exception as error:  # whatever the file is, it is no notebook
        reason = " ".join(str(error).split())[:200]
        raise RefusedError(f"The notebook {name} cannot be read: {reason}.") from None


def _code(notebook: Any) -> list[tuple[str, list[str]]]:
    return [
        (cell.source.strip(), list(cell.metadata.get("tags", [])))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _dumps(notebook: Any) -> str:
    import nbformat

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text: str = nbformat.writes(notebook)
    return text
