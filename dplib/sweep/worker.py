"""One point on a worker: checked, run, and stored.

The worker finds everything in the folder of the sweep, which it must see under the
same path, and makes sure that its own `dplib` is that of the version it works for,
before and after the run: a result never belongs to other code than its key says. What
came out lies in the folder; nothing travels back but that it is there, or an error.
"""

from __future__ import annotations

import contextlib
import datetime
import platform
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
from distributed import get_worker

from dplib.book.whole_files import versions, write_atomically
from dplib.sweep.kernel import KernelLostError, execute
from dplib.sweep.notebook import code_version, point_key
from dplib.sweep.points import Point
from dplib.sweep.rows import row
from dplib.sweep.store import Result, Row, Store

__all__ = ["PointError", "StopError", "Task", "provenance", "rows_of", "run_point"]

#: How often a point is started before a lost kernel or worker counts against it.
TRIES = 3

_VERSIONED = ("numpy", "scipy", "numba", "cvxpy", "papermill", "ipykernel")


class PointError(Exception):
    """A point is not done: its state, and why."""


class StopError(Exception):
    """Nothing more will go on this worker."""


@dataclass(frozen=True)
class Task:
    """A point to run.

    Attributes
    ----------
    store : Store
        Where everything lies.
    key : str
        Key of the point.
    point : dict
        Values of the parameters.
    keep_notebook : bool
        Whether to store the executed notebook.
    timeout : float or None
        Seconds that it may take.
    """

    store: Store
    key: str
    point: Point
    keep_notebook: bool = True
    timeout: float | None = None


def provenance() -> dict[str, Any]:
    """Return date, machine and versions of this process."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}",
        "host": socket.gethostname(),
        "versions": versions(_VERSIONED),
    }


def run_point(task: Task) -> None:
    """Run a point, and store what came out.

    Raises
    ------
    PointError
        If it failed or was lost, which is stored.
    StopError
        If the folder, the code or the file system of this worker is not as it must be.
    """
    store, host = task.store, socket.gethostname()
    # Dask deletes this folder, also where it belonged to a process that was killed.
    tempfile.tempdir = get_worker().local_directory
    try:
        text, cells = _notebook(store.folder / "notebook.ipynb")
    except OSError:
        where = store.folder / "notebook.ipynb"
        raise StopError(f"The worker on {host} does not see {where}.") from None
    if store.done(task.key):  # by a worker of an earlier driver
        return
    mark = store.path("running", task.key)
    try:
        _check_code(task, cells)
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
        result = _run(task, text)
        _check_code(task, cells)
        store.write(task.key, task.point, result)
    except OSError as error:
        reason = error.strerror or error
        message = f"{store.out} cannot be written by {host}: {reason}."
        raise StopError(message) from None
    finally:
        with contextlib.suppress(OSError):
            mark.unlink(missing_ok=True)
    if result.state != "done":
        raise PointError(result.state, result.message)


@lru_cache(maxsize=4)
def _notebook(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the notebook to run, as text, and its code cells."""
    text = path.read_text(encoding="utf-8")
    cells = nbformat.reads(text, as_version=4).cells
    return text, tuple(c.source.strip() for c in cells if c.cell_type == "code")


def _check_code(task: Task, cells: tuple[str, ...]) -> None:
    version = code_version(cells)
    if task.key != point_key(version, task.point, task.store.source):
        raise StopError(
            f"The code on {socket.gethostname()} (dplib, or a file that a parameter "
            "names) is not, or no longer, that of this sweep."
        )


def _run(task: Task, text: str) -> Result:
    """Execute, store the executed notebook, and return what came of it."""
    start = time.monotonic()
    for _ in range(TRIES):
        left = None
        if task.timeout is not None:
            left = task.timeout + start - time.monotonic()
        try:
            result = _result(task, text, left)
            break
        except KernelLostError as error:
            message = f"The kernel was lost {TRIES} times: {error}"
            result = Result("lost", message=message)
    seconds = round(time.monotonic() - start, 3)
    return replace(result, provenance=provenance() | {"seconds": seconds})


def _result(task: Task, text: str, timeout: float | None) -> Result:
    try:
        executed = execute(text, task.point, task.store.source, timeout=timeout)
        if task.keep_notebook and executed.notebook is not None:
            path = task.store.path("notebooks", task.key)
            write_atomically(path, nbformat.writes(executed.notebook))
        if executed.error:
            return Result("failed", [], executed.error, executed.traceback)
        return Result("done", rows_of(executed.rows, task.point))
    except (TypeError, ValueError) as error:
        return Result("failed", message=str(error))


def rows_of(recorded: Sequence[Mapping[str, object]], point: Point) -> list[Row]:
    """Return the rows that a notebook handed over, checked against its point.

    All have the same columns, none of them named like a parameter: a value that only
    repeats a parameter is left out.

    Examples
    --------
    >>> rows_of([{"n": 3, "x": 0.5}], {"n": 3})
    [{'x': 0.5}]
    """
    rows: list[Row] = []
    for given in recorded:
        values = row(**given)
        for name in point.keys() & values.keys():
            if values[name] != point[name]:
                raise ValueError(
                    f"The row says {name}={values[name]!r}, and the parameter is "
                    f"{point[name]!r}: give the column another name."
                )
        new = {name: v for name, v in values.items() if name not in point}
        if rows and list(new) != list(rows[0]):
            raise ValueError(
                "The notebook recorded rows with different columns: "
                f"{', '.join(rows[0])}; then {', '.join(new)}."
            )
        rows.append(new)
    if not rows:
        raise ValueError("The notebook never called sweep.record.")
    return rows
