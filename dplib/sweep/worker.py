"""One point on a worker: checked, run, and stored.

The worker finds everything in the folder of the sweep, which it must see under the
same path, and makes sure that its own `dplib` is that of the version it works for,
before and after the run: a result never belongs to other code than its key says.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import platform
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from dplib.book.whole_files import versions, write_atomically
from dplib.sweep.inputs import digests
from dplib.sweep.notebook import code_version, point_key
from dplib.sweep.parameters import Value
from dplib.sweep.rows import row
from dplib.sweep.store import Failure, Result, Row, Store

__all__ = ["Outcome", "Task", "provenance", "rows_of", "run_point"]

_VERSIONED = ("numpy", "scipy", "numba", "cvxpy", "papermill", "ipykernel")


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
        Seconds that a cell may take.
    """

    store: Store
    key: str
    point: dict[str, Value]
    keep_notebook: bool = True
    timeout: float | None = None


@dataclass(frozen=True)
class Outcome:
    """How a point went: done, failed, lost, or stop (nothing more will go).

    Attributes
    ----------
    state : str
        ``done``, ``failed``, ``lost`` or ``stop``.
    message : str
        "" or what is wrong, in one line.
    seconds : float
        Time it took.
    machine : str
        Where.
    """

    state: str
    message: str = ""
    seconds: float = 0.0
    machine: str = ""


def provenance() -> dict[str, Any]:
    """Return date, machine and versions of this process."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}",
        "host": socket.gethostname(),
        "versions": versions(_VERSIONED),
    }


def run_point(task: Task) -> Outcome:
    """Run a point and store what came out.

    Parameters
    ----------
    task : Task
        What to run.

    Returns
    -------
    Outcome
        ``done`` and ``failed`` are stored; ``stop`` if the folder, the code or the
        file system of this worker is not as it must be.

    Raises
    ------
    KernelLostError
        If the kernel was lost. Nothing is stored.
    """
    store, host = task.store, socket.gethostname()
    try:
        text, cells = _notebook(store.folder / "notebook.ipynb")
    except OSError:
        where = store.folder / "notebook.ipynb"
        return Outcome("stop", f"The worker on {host} does not see {where}.")
    if store.result(task.key, task.point) is not None:  # by an earlier driver's worker
        return Outcome("done", machine=host)
    mark, start = store.path("running", task.key), time.monotonic()
    try:
        if not _same_code(task, cells):
            return _other_code(host)
        mark.parent.mkdir(exist_ok=True)
        mark.write_text(host, encoding="utf-8")
        found = _run(task, text)
        if not _same_code(task, cells):
            return _other_code(host)
        seconds = round(time.monotonic() - start, 3)
        about = {**provenance(), "seconds": seconds}
        if isinstance(found, Failure):
            store.write_failure(task.key, task.point, replace(found, provenance=about))
            return Outcome("failed", found.message, seconds, host)
        store.write_result(task.key, task.point, replace(found, provenance=about))
        return Outcome("done", "", seconds, host)
    except OSError as error:
        reason = f"{error.strerror or error}"
        return Outcome("stop", f"{store.out} cannot be written by {host}: {reason}.")
    finally:
        with contextlib.suppress(OSError):
            mark.unlink(missing_ok=True)


@lru_cache(maxsize=4)
def _notebook(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the notebook to run, as text, and its code cells."""
    text = path.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"]
    code = [c["source"] for c in cells if c["cell_type"] == "code"]
    return text, tuple(c if isinstance(c, str) else "".join(c) for c in code)


def _same_code(task: Task, cells: tuple[str, ...]) -> bool:
    version = code_version(cells)
    same = version == task.store.version
    return same and point_key(version, task.point, task.store.source) == task.key


def _other_code(host: str) -> Outcome:
    return Outcome(
        "stop",
        f"The code on {host} (dplib, or a file that a parameter names) is not, or no "
        "longer, that of this sweep.",
    )


def _run(task: Task, text: str) -> Result | Failure:
    """Execute, store the executed notebook, and return what came of it."""
    import nbformat

    from dplib.sweep.kernel import execute

    source = task.store.source
    executed = execute(text, task.point, source, timeout=task.timeout)
    files = digests(executed.files, source)
    if task.keep_notebook and executed.notebook is not None:
        path = task.store.path("notebooks", task.key)
        write_atomically(path, nbformat.writes(executed.notebook))
    if executed.error:
        limit = task.timeout if executed.slow else None
        error, trace = executed.error, executed.traceback
        return Failure("failed", error, trace, {}, files, limit)
    try:
        return Result(rows_of(executed.rows, task.point), {}, files)
    except (TypeError, ValueError) as error:
        return Failure("failed", str(error), str(error), {}, files)


def rows_of(recorded: Sequence[Row], point: dict[str, Value]) -> tuple[Row, ...]:
    """Return the rows that a notebook handed over, checked against its point.

    Parameters
    ----------
    recorded : sequence of dict
        What it recorded, in order.
    point : dict
        The parameters it ran with.

    Returns
    -------
    tuple of dict
        At least one; all with the same columns, none of them named like a parameter:
        a value that only repeats a parameter is left out.

    Raises
    ------
    TypeError, ValueError
        If there is no row, two have different columns, a value is neither finite
        number nor text, or one named like a parameter differs from it.
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
    return tuple(rows)
