"""One driver at a time in the folder of a sweep."""

from __future__ import annotations

import fcntl
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dplib.sweep.errors import SweepError

__all__ = ["held", "is_lock", "locked"]

_PATIENCE = 1.0  # seconds: `held` takes the lock for a moment


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the lock of a sweep's folder.

    The lock belongs to the process and ends with it, however it ends.

    Raises
    ------
    SweepError
        If another driver holds it.
    OSError
        If the folder cannot be written.
    """
    with (out / "lock").open("a+", encoding="utf-8") as file:
        end = time.monotonic() + _PATIENCE
        while not _try(file.fileno()):
            if time.monotonic() > end:
                file.seek(0)
                who = file.read().strip() or "another process"
                raise SweepError(
                    f"The folder {out} is in use by {who}: wait for it, or end it."
                )
            time.sleep(0.05)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield
        file.truncate(0)


def is_lock(path: Path) -> bool:
    """Return whether a file is the lock of a sweep, held or not, by what it holds."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.fullmatch(r"(process [0-9]+ on \S+)?", text) is not None


def held(out: Path) -> bool:
    """Return whether a driver is at work in a folder."""
    try:
        with (out / "lock").open("r+", encoding="utf-8") as file:
            return not _try(file.fileno())
    except OSError:
        return False


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
