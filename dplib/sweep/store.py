"""The folder of a sweep, and how a result gets into it whole or not at all.

::

    runs/NAME/
      table.csv              the rows of all finished points
      points.csv             one line a point that was last asked for
      log.txt                what happened when
      request.json           what was last asked for
      .dplib-sweep           marks the folder; locked by the driver at work
      versions/VERSION/      one for each state of the code
        notebook.ipynb       what is run
        results/KEY.json     parameters, rows and provenance of a finished point
        failures/KEY.json    the same of a failed one: message and traceback
        notebooks/KEY.ipynb  executed notebooks
        running/KEY          points at work

A file is written under another name, forced to disk, and renamed. A result is the
last file of its point, and carries a digest: what is half-written or damaged does not
count, and the point is run again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from dplib.book.whole_files import abandoned, write_atomically
from dplib.sweep.parameters import RefusedError, Value
from dplib.sweep.points import Point

__all__ = [
    "Request",
    "Result",
    "Store",
    "SweepError",
    "last_request",
    "locked",
    "must_be_ours",
    "save",
    "since",
]

Row = dict[str, Value]

#: Its presence tells a sweep's folder from a folder of the user's.
MARK = ".dplib-sweep"
_PATIENCE = 1.0  # seconds: `since` takes the lock for a moment


class SweepError(RuntimeError):
    """A sweep cannot start, or cannot go on; what is finished stays finished."""


@dataclass(frozen=True)
class Result:
    """What a point left.

    Attributes
    ----------
    state : str
        ``done``; ``failed``: a cell raised, took too long, or what it recorded is no
        row; ``lost``: kernel or worker died again and again, and may do better.
    rows : list of dict
        What it recorded.
    message, traceback : str
        Why it is not done, in one line and in full.
    provenance : dict
        Date, seconds, machine, versions.
    """

    state: str
    rows: list[Row] = field(default_factory=list)
    message: str = ""
    traceback: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Store:
    """The folder of one version of the code inside the folder of a sweep.

    Attributes
    ----------
    out : pathlib.Path
        Folder of the sweep, absolute.
    version : str
        Key of the code.
    source : pathlib.Path
        The notebook's folder, absolute, where kernels work.
    """

    out: Path
    version: str
    source: Path

    @property
    def folder(self) -> Path:
        """Folder of this version."""
        return self.out / "versions" / self.version[:16]

    def path(self, kind: str, key: str) -> Path:
        """Return the file of a point: in results, failures, notebooks or running."""
        endings = {"notebooks": ".ipynb", "running": ""}
        return self.folder / kind / f"{key}{endings.get(kind, '.json')}"

    def finished(self) -> dict[str, tuple[Point, Result]]:
        """Return the point and result of every key whose result is whole."""
        found = {}
        for path in (self.folder / "results").glob("*.json"):
            body = _whole(path)
            if body is not None:
                found[path.stem] = (body["point"], Result(**body["result"]))
        return found

    def done(self, key: str) -> bool:
        """Say whether the result of a point is there, whole."""
        return _whole(self.path("results", key)) is not None

    def failure(self, key: str) -> Result | None:
        """Return why a point is not done, if it was tried."""
        body = _whole(self.path("failures", key))
        return None if body is None else Result(**body["result"])

    def write(self, key: str, point: Point, result: Result) -> None:
        """Store what a point left; a failure of old is forgotten."""
        kind = "results" if result.state == "done" else "failures"
        body = {"key": key, "point": point, "result": asdict(result)}
        text = json.dumps({**body, "sha256": _seal(body)}, indent=1)
        write_atomically(self.path(kind, key), text + "\n")
        if kind == "results":
            self.path("failures", key).unlink(missing_ok=True)

    def clean(self) -> None:
        """Delete what killed processes left: files written aside, marks of points."""
        kinds = ("results", "failures", "notebooks")
        for folder in (self.out, self.folder, *(self.folder / kind for kind in kinds)):
            for path in folder.glob(".*.part"):
                if abandoned(path):
                    path.unlink(missing_ok=True)
        for mark in (self.folder / "running").glob("*"):
            mark.unlink(missing_ok=True)


def _seal(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _whole(path: Path) -> dict[str, Any] | None:
    """Return what a sealed file holds; None if it is missing, damaged or another's."""
    try:
        body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        digest = body.pop("sha256")
        return body if (_seal(body), body["key"]) == (digest, path.stem) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


# -- what is asked for ------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """What is asked for: points of a notebook, and the folder for what they give.

    Attributes
    ----------
    name : str
        The notebook.
    points : sequence of dict
        Checked points, in order.
    keys : sequence of str
        Their keys.
    store : Store
        Where results lie.
    """

    name: str
    points: Sequence[Point]
    keys: Sequence[str]
    store: Store


def save(asked: Request) -> None:
    """Write a request into its folder, for `last_request`."""
    whole = asdict(asked)
    text = json.dumps(whole, default=str)
    write_atomically(asked.store.out / "request.json", text)


def last_request(out: str | Path) -> Request:
    """Return what was last asked for in a folder."""
    where = Path(out).absolute()
    try:
        found = json.loads((where / "request.json").read_text(encoding="utf-8"))
        store = Store(where, found["store"]["version"], Path(found["store"]["source"]))
        return Request(found["name"], found["points"], found["keys"], store)
    except OSError:
        raise RefusedError(
            f"No sweep has begun in {where} (a dry run leaves nothing)."
        ) from None
    except (ValueError, KeyError, TypeError):
        raise RefusedError(
            f"{where / 'request.json'} is damaged: start the sweep again."
        ) from None


# -- one driver at a time, in a folder of its own ---------------------------


def must_be_ours(out: str | Path) -> Path:
    """Return a folder as an absolute path; refuse one that holds the user's files."""
    if not str(out).strip():
        raise RefusedError("The folder of the sweep (--out) must have a name.")
    where = Path(out).absolute()
    for place in (where, *where.parents):
        if place.exists() and not place.is_dir():
            raise RefusedError(f"The folder {where} cannot be: {place} is a file.")
    if where.exists() and any(where.iterdir()) and not (where / MARK).is_file():
        raise RefusedError(
            f"The folder {where} is not empty, and not a sweep's: give --out a new one."
        )
    return where


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the lock of a sweep's folder, which ends with this process at the latest."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / MARK).open("a+", encoding="utf-8") as file:
        end = time.monotonic() + _PATIENCE
        while not _taken(file):
            if time.monotonic() > end:
                file.seek(0)
                who = file.read().partition(" since ")[0] or "another process"
                raise SweepError(
                    f"The folder {out} is in use by {who}: wait for it, or end it."
                )
            time.sleep(0.05)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()} since {_now()}")
        file.flush()
        yield


def since(out: Path) -> float | None:
    """Return the time at which the driver at work began, or None if there is none."""
    try:
        with (out / MARK).open("r+", encoding="utf-8") as file:
            return None if _taken(file) else float(file.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return None


def _now() -> float:
    return round(time.time(), 3)


def _taken(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
