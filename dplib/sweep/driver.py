"""A sweep from its points to its table.

`sweep` reads the notebook, checks every point before a kernel starts, runs those that
are not finished, and writes the table. Killed at any moment and called again it goes on
where it was, and ends with the same table: a row depends on its point alone, since
random streams are keyed by the parameters (`dplib.rng`).

A point that failed is not run again by itself, since the same code would fail again;
`retry_failed` does. One that was lost is.
"""

from __future__ import annotations

import contextlib
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from dplib import check
from dplib.book.whole_files import write_atomically
from dplib.sweep.notebook import Notebook, code_version, point_key, read
from dplib.sweep.parameters import RefusedError
from dplib.sweep.points import checked
from dplib.sweep.report import Log, Report, State, bar, report
from dplib.sweep.store import (
    Request,
    Store,
    SweepError,
    locked,
    must_be_ours,
    save,
)

__all__ = ["request", "sweep"]

Points = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]
_ADDRESS = re.compile(r"[a-z]+://\S+:[0-9]+")
#: Seconds between two tables that are written on the way.
_EVERY = 20.0


def request(book: Notebook, points: Points, out: str | Path) -> Request:
    """Check the points of a notebook, and say where their results lie; see `sweep`."""
    rows, grid = ([{}], points) if isinstance(points, Mapping) else (points, {})
    found = checked(rows, grid, book.parameters, book.name)
    version = code_version(book.cells)
    keys = [point_key(version, point, book.folder) for point in found]
    store = Store(must_be_ours(out), version, book.folder)
    return Request(book.name, found, keys, store)


def sweep(
    notebook: str | Path,
    points: Points,
    *,
    out: str | Path,
    scheduler: str | None = None,
    workers: int | None = None,
    limit: int | None = None,
    max_failures: int | None = None,
    retry_failed: bool = False,
    keep_notebooks: bool = True,
    timeout: float | None = None,
    progress: bool = True,
) -> Report:
    """Run the points of a notebook that are not finished, and write the table.

    Parameters
    ----------
    notebook : str or pathlib.Path
        As for `dplib.sweep.notebook.read`.
    points : mapping of str to sequence, or sequence of mappings
        A grid (every combination; ranges as in `dplib.sweep.points.axis`), or
        the points themselves. Parameters that are not given keep their defaults.
    out : str or pathlib.Path
        Folder of the sweep; made if it is not there.
    scheduler : str, optional
        Address of a Dask scheduler; a local cluster by default. Its workers must
        see the book and `out` under the same paths.
    workers : int, optional
        Local processes; as many as this process has cores by default.
    limit : int, optional
        Run at most so many points now.
    max_failures : int, optional
        Stop once so many have failed or were lost.
    retry_failed : bool
        Whether to run points again that failed.
    keep_notebooks : bool
        Whether to store executed notebooks.
    timeout : float, optional
        Seconds that a point may take; any time by default.
    progress : bool
        Whether to draw a progress bar, on a terminal.

    Raises
    ------
    RefusedError
        If an argument or the notebook is wrong. Nothing was started.
    SweepError
        If the folder or the cluster is not as it must be, or `max_failures` is
        reached. What was finished stays finished.
    """
    from dplib.sweep import engine, worker  # Dask, papermill: the status needs neither

    if scheduler is not None and not _ADDRESS.fullmatch(scheduler):
        must = "like tcp://HOST:PORT"
        check.fail("scheduler", "sweep", must, scheduler, RefusedError)
    book = read(notebook)
    asked = request(book, points, out)
    store = asked.store
    try:
        with locked(store.out):
            store.clean()
            write_atomically(store.folder / "notebook.ipynb", book.text)
            save(asked)
            before = _write(asked)
            again = {"to do", "lost", "failed" if retry_failed else "lost"}
            each = zip(asked.keys, asked.points, before.states, strict=True)
            tasks = [
                worker.Task(store, key, point, keep_notebooks, timeout)
                for key, point, state in each
                if state.word in again and not store.done(key)
            ][:limit]
            log, run = Log(asked), {task.key for task in tasks}
            log.add(f"{asked.name}: {before.counts()}; {len(tasks)} to run")
            done = len(asked.points) - len(tasks)
            try:
                with (
                    bar(done, len(asked.points), progress) as advance,
                    closing(engine.run(tasks, scheduler, workers, _tell)) as flow,
                ):
                    _follow(flow, asked, log, advance, max_failures)
            except BaseException as error:
                log.add(str(error) or "interrupted")
                with contextlib.suppress(OSError):  # as it may be what stopped it
                    _finish(asked, run, log)
                raise
            return _finish(asked, run, log)
    except OSError as error:
        place = error.filename or store.out
        reason = error.strerror or str(error)
        raise SweepError(f"{place} cannot be written: {reason}.") from error


def _write(asked: Request) -> Report:
    """Write both tables as of now."""
    found = report(asked)
    if found.text:
        write_atomically(found.table, found.text)
    else:
        found.table.unlink(missing_ok=True)
    write_atomically(asked.store.out / "points.csv", found.points_text())
    return found


def _follow(
    flow: Iterable[tuple[str, State]],
    asked: Request,
    log: Log,
    advance: Callable[[str], None],
    max_failures: int | None,
) -> None:
    """Log how points go, and write the table now and then."""
    bad, due = 0, time.monotonic() + _EVERY
    for key, state in flow:
        log.ended(key, state)
        advance(state.word)
        bad += state.word != "done"
        if bad == max_failures:
            raise SweepError(f"{bad} points failed: stopped. --status tells which.")
        if time.monotonic() > due:
            start = time.monotonic()
            _write(asked)
            # Many results take a while to read: a twentieth of the time at most.
            due = time.monotonic() + max(_EVERY, 20 * (time.monotonic() - start))


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _finish(asked: Request, run: set[str], log: Log) -> Report:
    """Write both tables, and log what ended meanwhile, as during Ctrl-C."""
    found = _write(asked)
    for key, state in zip(asked.keys, found.states, strict=True):
        if key in run - log.told and state.word != "to do":
            log.ended(key, state)
    log.add(found.counts())
    return replace(found, run=run)
