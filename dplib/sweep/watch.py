"""What the kernel of a sweep notes down: the rows handed over, and the files it read.

Outputs of a notebook are messages, and of very many messages some are lost, or cleared
by a later one. So a kernel that a sweep has started writes its rows to a file as well,
one line each, and the sweep takes them from there.

The same file tells which other files the rows may depend on: those below the
notebook's folder that the kernel opened for reading, and Python sources anywhere that
are no part of Python, of an installed package, or of `dplib` (whose code is in the key
of every result). Files that the kernel itself wrote before are no inputs. Not seen is
what other processes read, libraries that open files without Python, and that a file or
a module was missing.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = [
    "NOTES",
    "Watch",
    "file_state",
    "note_row",
    "read_notes",
    "start",
]

#: Environment variable that names the file of notes.
NOTES = "DPLIB_SWEEP_NOTES"

_PACKAGE = str(Path(__file__).parents[1])
_INSTALLED = frozenset(("site-packages", "dist-packages"))

#: Time of change, time of the last change of any kind, and size.
State = tuple[int, int, int]


class Watch:
    """Notes down rows, and files as they are opened.

    Parameters
    ----------
    folder : str
        The notebook's folder, absolute.
    notes : str
        The file to write.
    """

    def __init__(self, folder: str, notes: str) -> None:
        self._folder = folder + os.sep
        known = (sys.prefix, sys.base_prefix, _PACKAGE)
        both = {*known, *map(os.path.realpath, known)}
        self._python = tuple(place + os.sep for place in sorted(both))
        self._seen: set[str] = set()
        # Kept open, and written by `os.write`: that does not call `hook` again.
        self._notes = notes
        self._open()

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._descriptor = os.open(self._notes, flags, 0o600)
        self._identity = _identity(self._descriptor)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a file that is opened; an audit hook of Python.

        What goes wrong here must not become an error of the code that opens the file.
        """
        if event not in ("open", "os.rename"):
            return
        try:
            if event == "os.rename":  # as what is written aside and moved
                self._seen.add(_absolute(arguments[1]))
                return
            path, _, flags = arguments
            if isinstance(path, int):  # a file that is open already
                return
            self._opened(_absolute(path), int(flags))
        except (TypeError, ValueError, OSError):
            return

    def _opened(self, path: str, flags: int) -> None:
        if path.endswith(".pyc"):  # compiled: what counts is its source
            path = importlib.util.source_from_cache(path)
        if f"{os.sep}__pycache__{os.sep}" in path:
            return
        if path in self._seen or path == self._notes or not self._counts(path):
            return
        writes = flags & os.O_ACCMODE != os.O_RDONLY
        anew = flags & os.O_ACCMODE == os.O_WRONLY or flags & (os.O_TRUNC | os.O_APPEND)
        if writes and (anew or not Path(path).exists()):
            self._seen.add(path)  # its own from now on
            return
        state = file_state(Path(path))
        if state is not None:
            self._seen.add(path)
            self._write({"read": [path, *state]})

    def _counts(self, path: str) -> bool:
        inside = path.startswith(self._folder)
        rest = path.removeprefix(self._folder)
        if not inside and not path.endswith(".py"):
            return False
        # The environment may lie in the notebook's folder.
        if path.startswith(self._python) or _INSTALLED & {*Path(rest).parts}:
            return False
        if os.path.realpath(path).startswith(self._python):
            return False
        # No folder, and no pipe: reading that would wait.
        return Path(path).is_file() or not Path(path).exists()

    def row(self, values: Mapping[str, object]) -> None:
        """Note a row."""
        self._write({"row": dict(values)})

    def _write(self, note: Mapping[str, object]) -> None:
        left = json.dumps(note).encode() + b"\n"
        if _identity(self._descriptor) != self._identity:  # closed, and perhaps reused
            self._open()
        while left:
            left = left[os.write(self._descriptor, left) :]


def file_state(path: Path) -> State | None:
    """Return what changes when a file does, or None if there is none."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_ctime_ns, state.st_size


def _absolute(path: Any) -> str:
    # Not `resolve`: a link in the folder to data elsewhere is an input of it.
    return os.path.abspath(os.fsdecode(path))  # noqa: PTH100


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        state = os.fstat(descriptor)
    except OSError:
        return None
    return state.st_dev, state.st_ino


#: The watch of this process. Audit hooks belong to a process and cannot be taken away.
_current: list[Watch] = []


def start() -> None:
    """Begin to note what this process does, where the environment asks for it."""
    notes = os.environ.get(NOTES)
    if notes and not _current:
        try:
            watch = Watch(str(Path.cwd()), notes)
        except FileNotFoundError:  # whoever started this is gone, with its folder
            sys.exit(1)
        _current.append(watch)
        sys.addaudithook(watch.hook)


def note_row(values: Mapping[str, object]) -> None:
    """Note a row, if this process is the kernel of a sweep."""
    for watch in _current:
        watch.row(values)


def read_notes(path: Path) -> tuple[list[dict[str, Any]], dict[str, State]]:
    """Return the rows of a file of notes, and the files read with their states then.

    Parameters
    ----------
    path : pathlib.Path
        What a `Watch` wrote; it may be missing.

    Returns
    -------
    rows : list of dict
        In the order of the calls.
    files : dict of str to (int, int, int)
        Absolute path, and its `file_state` when it was first opened.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    rows: list[dict[str, Any]] = []
    files: dict[str, State] = {}
    if not path.is_file():
        return rows, files
    for line in path.read_bytes().splitlines():
        note = json.loads(line)
        if "row" in note:
            rows.append(note["row"])
        else:
            name, *state = note["read"]
            files.setdefault(name, (state[0], state[1], state[2]))
    return rows, files
