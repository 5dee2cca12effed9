"""Results on disk: files that are whole or absent, tables, and where they come from.

What stored results (`dplib.book.stored_work`) and sweeps (`dplib.sweep.store`) share.
Both may be killed at any moment and go on later, so a file is written under another
name, forced to disk, and renamed: at every moment it is the old one or the new one.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.metadata
import io
import os
import platform
import re
import socket
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["abandoned", "table_text", "versions", "write_atomically"]

_HOST = socket.gethostname().replace("~", "-")
_DAY = 86_400.0
_ASIDE = re.compile(r"\..+~([^~]+)~([0-9]+)~[0-9a-f]{8}\.part", re.DOTALL)


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that it is, at every moment, the old one or the new one.

    Parameters
    ----------
    path : pathlib.Path
        The file; its folder is made if it is not there.
    text : str
        All that it shall hold.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Host and process tell `abandoned` whether somebody is still at it.
    tail = f"{_HOST}~{os.getpid()}~{uuid.uuid4().hex[:8]}.part"
    aside = path.with_name(f".{path.name}~{tail}")
    try:
        with aside.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)  # there only if something failed
    _force(path.parent)


def _force(folder: Path) -> None:
    """Force a folder's entries to disk, where the file system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    with contextlib.suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)


def abandoned(path: Path) -> bool:
    """Say whether a file written aside belongs to a process that is gone.

    Those of a process that lives, or of another machine in the last day, do not; nor
    does a file that `write_atomically` did not name.

    Parameters
    ----------
    path : pathlib.Path
        Any file.
    """
    ours = _ASIDE.fullmatch(path.name)
    if ours is None:
        return False
    host, process = ours.groups()
    try:
        if host == _HOST:
            os.kill(int(process), 0)
            return False
        return time.time() - path.stat().st_mtime > _DAY
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # it lives and is another's; or it is gone
        return False


def table_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a table as CSV; floats as the shortest text that reads back the same.

    Examples
    --------
    >>> table_text(("epsilon", "lie"), [(0.1, "none"), (3.0, "a,b")])
    'epsilon,lie\n0.1,none\n3.0,"a,b"\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([repr(v) if isinstance(v, float) else str(v) for v in row])
    return out.getvalue()


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the version of Python and of those packages that are installed.

    Examples
    --------
    >>> list(versions(["numpy", "no-such-package"]))
    ['python', 'numpy']
    """
    found = {"python": platform.python_version()}
    for name in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
