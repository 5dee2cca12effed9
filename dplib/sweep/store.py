"""The folder of a sweep, and how a result gets into it whole or not at all.

::

    runs/NAME/
      table.csv              the rows of what was last asked for, in its order
      points.csv             one line a point: state, seconds, message
      request.json           the points that were last asked for
      log.txt                what happened when
      lock                   held by the driver at work
      versions/VERSION/      one for each state of the code
        about.json           notebook, version, provenance
        notebook.ipynb       what is run, without outputs
        results/KEY.json     parameters, rows, files read, provenance of a point
        failures/KEY.json    the same for a failed one: message and traceback
        notebooks/KEY.ipynb  executed notebooks
        running/KEY          points at work

A file is written under another name, forced to disk, and renamed. A result is the
last file of its point, and carries a digest: what is half-written or damaged does not
count, nor what read files that hold something else by now; the point is run again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dplib.book.whole_files import abandoned, write_atomically
from dplib.sweep.inputs import changed
from dplib.sweep.parameters import Value

__all__ = ["Failure", "Result", "Store", "clean"]

Row = dict[str, Value]


@dataclass(frozen=True)
class Result:
    """What a finished point left: its rows, where they come from, files it read."""

    rows: tuple[Row, ...]
    provenance: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """What a failed point left.

    Attributes
    ----------
    kind : str
        ``failed``: a cell raised, or the rows are wrong; the same code will do so
        again. ``lost``: kernel or worker died again and again; it may go better.
    message : str
        One line.
    traceback : str
        All of it.
    provenance : mapping
        Date, seconds, machine, versions.
    files : mapping
        Files it read, with digests.
    limit : float or None
        Seconds that were too few for a cell; None if that was not the reason.
    """

    kind: str
    message: str
    traceback: str
    provenance: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    limit: float | None = None


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

    def result(self, key: str, point: Mapping[str, Value]) -> Result | None:
        """Return the result of a point, or None: damaged or outdated is none."""
        result = self._stored(key, point)
        return None if result is None or self._changed(result) else result

    def outdated(self, key: str, point: Mapping[str, Value]) -> str:
        """Return the file because of which a result does not count, or ""."""
        result = self._stored(key, point)
        return "" if result is None else self._changed(result)

    def _changed(self, found: Result | Failure) -> str:
        return changed(found.files, self.source)

    def _stored(self, key: str, point: Mapping[str, Value]) -> Result | None:
        found = _whole(self.path("results", key))
        if found is None or found.get("parameters") != dict(point):
            return None
        try:
            rows = tuple(dict(row) for row in found["rows"])
            files = dict(found["files"])
            return Result(rows, dict(found["provenance"]), files) if rows else None
        except (KeyError, TypeError, ValueError):
            return None

    def failure(self, key: str) -> Failure | None:
        """Return why a point failed, or None, also if it read other files then."""
        found = _whole(self.path("failures", key))
        try:
            failure = Failure(**found["failure"]) if found else None
        except (KeyError, TypeError):
            return None
        return None if failure is None or self._changed(failure) else failure

    def write_result(
        self, key: str, point: Mapping[str, Value], result: Result
    ) -> None:
        """Store the result of a point; a failure of old is forgotten."""
        body = {
            "parameters": dict(point),
            "rows": list(result.rows),
            "files": dict(result.files),
            "provenance": dict(result.provenance),
        }
        write_atomically(self.path("results", key), _sealed(body))
        self.path("failures", key).unlink(missing_ok=True)

    def write_failure(
        self, key: str, point: Mapping[str, Value], failure: Failure
    ) -> None:
        """Store why a point failed."""
        body = {"parameters": dict(point), "failure": vars(failure)}
        write_atomically(self.path("failures", key), _sealed(body))

    def running(self, keys: Sequence[str]) -> list[str]:
        """Return those points that a worker says it is at."""
        return [key for key in keys if self.path("running", key).exists()]


def _seal(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _sealed(body: Mapping[str, Any]) -> str:
    return json.dumps({**body, "sha256": _seal(body)}, indent=1) + "\n"


def _whole(path: Path) -> dict[str, Any] | None:
    """Return what a sealed file holds, or None if it is missing or damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        digest = found.pop("sha256")
        return found if _seal(found) == digest else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


# -- files ------------------------------------------------------------------


def clean(store: Store) -> None:
    """Delete what killed processes left: files written aside, marks of points.

    Files of a process that lives, or of another machine in the last day, stay.

    Raises
    ------
    OSError
        If the folder cannot be read or written.
    """
    for folder in (store.out, *(store.folder / k for k in _KINDS), store.folder):
        if not folder.is_dir():
            continue
        for entry in os.scandir(folder):
            path = Path(entry.path)
            if abandoned(path):
                path.unlink(missing_ok=True)
    for mark in (store.folder / "running").glob("*"):
        mark.unlink(missing_ok=True)


_KINDS = ("results", "failures", "notebooks")
