"""The files that a point read: what they held, and whether they still do.

A result depends on its point, on the code in its key, and on files that the code names
itself: stored numbers, a module beside the notebook. What a kernel read
(`dplib.sweep.watch`) is kept with the result as digests, by names relative to the
notebook's folder, so that the folder may move. A result whose files hold something
else by now does not count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from dplib.sweep.errors import KernelLostError
from dplib.sweep.watch import State, file_state

__all__ = ["changed", "digests"]


def digests(files: Mapping[str, State], source: Path) -> dict[str, str]:
    """Return what the files that a kernel read hold.

    Parameters
    ----------
    files : mapping of str to (int, int, int)
        Absolute paths, with their `dplib.sweep.watch.file_state` when they were
        opened.
    source : pathlib.Path
        The notebook's folder.

    Returns
    -------
    dict of str to str
        Names, relative to the folder for what lies below it, and digests. A file
        that is gone by now, as one written and deleted meanwhile, is left out.

    Raises
    ------
    KernelLostError
        If a file has changed since it was read.
    """
    found = {}
    for name, before in sorted(files.items()):
        path = Path(name)
        now = file_state(path)
        if now is None:
            continue
        if now != before:
            raise KernelLostError(f"{path} changed while a point was reading it.")
        short = path.relative_to(source) if path.is_relative_to(source) else path
        found[short.as_posix()] = _digest(path, *now)
    return found


def changed(files: Mapping[str, str], source: Path) -> str:
    """Return the first file that does not hold what it did, or "".

    Parameters
    ----------
    files : mapping of str to str
        From `digests`.
    source : pathlib.Path
        The notebook's folder.
    """
    for name, digest in files.items():
        path = source / name
        now = file_state(path)
        if now is None or _digest(path, *now) != digest:
            return name
    return ""


@lru_cache(maxsize=1024)
def _digest(path: Path, *state: int) -> str:  # noqa: ARG001
    # Asked for each of many points: a file is read again only if it has changed.
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
