"""Which library code a piece of code reaches, and a key that stands for it.

A stored output belongs to the code that made it. The key of that code is a hash
over the syntax trees, docstrings left out, of the `dplib` modules that it
imports, directly or through others: it changes with what the code does, and
stays when a comment, a docstring or the layout changes.
"""

from __future__ import annotations

import ast
import hashlib
import re
from pathlib import Path

__all__ = ["code_key", "reached", "source_key"]

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

# A magic or a shell line; not `% b` or `!= b`, which continue an expression.
_MAGIC = re.compile(r"^([ \t]*)(?:%{1,2}[A-Za-z_]|!(?!=)).*$", re.MULTILINE)


def _cells(source: str) -> ast.Module:
    """Parse cells: lines that only a notebook understands do nothing."""
    return ast.parse(_MAGIC.sub(r"\1pass", source))


def _module(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(tree: ast.AST, package: str) -> list[str]:
    """Return the dotted names, absolute, that a tree imports."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:  # relative: `package` is what one dot stands for
                parts = package.split(".")
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join(part for part in (*parts, node.module) if part)
            # What is imported may itself be a module.
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return sorted(names)


def _file(name: str, folder: Path) -> Path | None:
    """Return the file of a dotted name below the package, if it is a module."""
    package, *parts = name.split(".")
    path = folder.joinpath(*parts)
    # A package hides a module of the same name.
    for candidate in (path / "__init__.py", path.with_suffix(".py")):
        if package == folder.name and candidate.is_file():
            return candidate
    return None


def reached(source: str, folder: Path) -> dict[str, Path]:
    """Return the library modules that a piece of code reaches.

    Parameters
    ----------
    source : str
        Python code, such as the cells of a notebook joined.
    folder : pathlib.Path
        The package's folder, named as the package.

    Returns
    -------
    dict of str to pathlib.Path
        Dotted name and file of every module of the package that is imported
        by `source` or by a module reached, function bodies included.
    """
    found: dict[str, Path] = {}
    queue = _imports(_cells(source), folder.name)
    while queue:
        # Importing a.b.c executes a, a.b and a.b.c.
        parts = queue.pop().split(".")
        for end in range(1, len(parts) + 1):
            name = ".".join(parts[:end])
            path = _file(name, folder)
            if path is None or name in found:
                continue
            found[name] = path
            inside = name if path.name == "__init__.py" else name.rpartition(".")[0]
            queue += _imports(_module(path), inside)
    return dict(sorted(found.items()))


def _dump(node: object) -> str:
    """Return a syntax tree as text that is the same on every Python.

    `ast.dump` is not: Python 3.12 gave functions and classes an (empty) list of
    type parameters, 3.13 leaves empty lists out, and some 3.12 end the format
    of an f-string with an empty text.
    """
    if isinstance(node, ast.JoinedStr):
        parts = [p for p in node.values if getattr(p, "value", None) != ""]
        return f"JoinedStr({_dump(parts)})"
    if isinstance(node, ast.AST):
        fields = [
            f"{name}={_dump(value)}"
            for name, value in ast.iter_fields(node)
            if value is not None and value != []
        ]
        return f"{type(node).__name__}({', '.join(fields)})"
    if isinstance(node, list):
        return f"[{', '.join(map(_dump, node))}]"
    return repr(node)


def _code(tree: ast.Module) -> str:
    """Return what code does as text: without docstrings, comments and layout."""
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False):
            del node.body[0]
    return _dump(tree)


def source_key(source: str) -> str:
    """Return the key of a piece of code itself, comments and docstrings left out.

    Examples
    --------
    >>> source_key("x = 1  # one") == source_key("x  =  1")
    True
    """
    return hashlib.sha256(_code(_cells(source)).encode()).hexdigest()


def code_key(source: str, folder: Path) -> str:
    """Return the key of the library code that `source` reaches, as for `reached`."""
    digest = hashlib.sha256()
    for name, path in reached(source, folder).items():
        digest.update(f"{name}\n{_code(_module(path))}\n".encode())
    return digest.hexdigest()
