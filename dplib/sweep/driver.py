"""A sweep from its points to its table.

`sweep` reads the notebook, checks every point before a kernel starts, runs those that
are not finished, and writes the table of all. Killed at any moment and called again it
goes on where it was, and ends with the same table: a row depends on its point alone,
since random streams are keyed by the parameters (`dplib.rng`), and rows stand in the
points' order, whoever finished first.

A point whose cell raised is not run again by itself, since the same code would raise
again; `retry_failed` does. One that took too long is, if it is given longer; so is one
whose kernel or worker was lost, and one that read files which hold something else now.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from dplib import check
from dplib.book.whole_files import write_atomically
from dplib.sweep import report, table
from dplib.sweep.errors import SweepError
from dplib.sweep.lock import held, locked
from dplib.sweep.notebook import Notebook, read
from dplib.sweep.points import describe
from dplib.sweep.report import Report, State
from dplib.sweep.request import Points, Request, request, save
from dplib.sweep.store import Failure, Result, clean
from dplib.sweep.worker import Task, provenance

__all__ = ["status", "sweep"]


def sweep(
    notebook: str | Path,
    points: Points,
    *,
    out: str | Path,
    scheduler: str | None = None,
    workers: int | None = None,
    retry_failed: bool = False,
    keep_notebooks: bool = True,
    timeout: float | None = None,
    progress: bool = True,
) -> Report:
    """Run the points of a notebook that are not finished, and write the table of all.

    Parameters
    ----------
    notebook : str or pathlib.Path
        As for `dplib.sweep.notebook.read`.
    points : mapping of str to sequence, or sequence of mappings
        A grid (every combination), or the points themselves. Parameters that are
        not given keep their defaults.
    out : str or pathlib.Path
        Folder of the sweep; made if it is not there.
    scheduler : str, optional
        Address of a Dask scheduler; a local cluster by default. Its workers must
        see the book and `out` under the same paths.
    workers : int, optional
        Local processes; as many as this process has cores by default.
    retry_failed : bool
        Whether to run points again whose cells raised.
    keep_notebooks : bool
        Whether to store executed notebooks.
    timeout : float, optional
        Seconds that a cell may take; any time by default.
    progress : bool
        Whether to draw a progress bar, on a terminal.

    Returns
    -------
    Report
        State of every point.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong. No kernel was started.
    SweepError
        If the notebook, the folder or the cluster is not as it must be. What was
        finished stays finished.
    """
    if workers is not None:
        workers = check.integer("workers", workers, "sweep", low=1)
    if timeout is not None:
        timeout = check.positive("timeout", timeout, "sweep")
    book = read(notebook)
    asked = request(book, points, out)
    store = asked.store
    try:
        store.out.mkdir(parents=True, exist_ok=True)
        with locked(store.out):
            _prepare(book, asked)
            before = status(asked)
            tasks = [
                Task(store, key, point, keep_notebooks, timeout)
                for key, point, state in zip(
                    asked.keys, asked.points, before.states, strict=True
                )
                if _again(state, timeout, retry_failed)
            ]
            log = report.log_to(store.out / "log.txt")
            log(f"{asked.name}: {before.counts()}; {len(tasks)} to run")
            try:
                if tasks:
                    _work(tasks, before, scheduler, workers, progress, log)
            except BaseException as error:
                log(str(error) or "interrupted")
                with contextlib.suppress(OSError):  # as it may be what stopped it
                    _finish(asked, log)
                raise
            return _finish(asked, log)
    except OSError as error:
        place = error.filename or store.out
        reason = error.strerror or str(error)
        raise SweepError(f"{place} cannot be written: {reason}.") from error


def _again(state: State, timeout: float | None, retry_failed: bool) -> bool:
    """Return whether a point in this state is to be run."""
    if state.word != "failed":
        return state.word != "done"
    if state.odd:  # it would come out the same
        return False
    longer = state.limit is not None and (timeout is None or timeout > state.limit)
    return retry_failed or longer


def _prepare(book: Notebook, asked: Request) -> None:
    """Write down what is asked for, and clear what killed processes left."""
    store = asked.store
    clean(store)
    if not (store.folder / "notebook.ipynb").is_file():
        write_atomically(store.folder / "notebook.ipynb", book.text)
    if not (store.folder / "about.json").is_file():
        about = {"notebook": book.name, "version": store.version, **provenance()}
        write_atomically(store.folder / "about.json", json.dumps(about, indent=1))
    save(asked)


def _work(
    tasks: list[Task],
    before: Report,
    scheduler: str | None,
    workers: int | None,
    progress: bool,
    log: Callable[[str], None],
) -> None:
    """Run tasks; raise if nothing more will go."""
    from dplib.sweep import engine

    # By their values: numbers change with what is asked for.
    names = dict(
        zip(before.keys, map(describe, report.varied(before.points)), strict=True)
    )
    done = sum(state.word == "done" for state in before.states)
    with (
        engine.connected(scheduler, workers, most=len(tasks)) as client,
        report.bar(done, done + len(tasks), progress) as advance,
        closing(engine.outcomes(client, tasks)) as flow,
    ):
        # Not earlier: what is refused leaves everything as it was.
        (before.out / "table.csv").unlink(missing_ok=True)
        for task, outcome in flow:
            if outcome.state == "stop":
                raise SweepError(f"{outcome.message} Start the sweep again to go on.")
            if outcome.state == "lost":
                failure = Failure("lost", outcome.message, "", provenance())
                task.store.write_failure(task.key, task.point, failure)
            log(
                f"point {names[task.key]}: {outcome.state} in {outcome.seconds:.1f} s "
                f"on {outcome.machine or '?'} {outcome.message}".rstrip()
            )
            advance(outcome.state)


def _finish(asked: Request, log: Callable[[str], None]) -> Report:
    """Write both tables, and return the states."""
    results = _results(asked)
    final = _report(asked, results, running=())
    text = table.text_of(asked.points, _even(results))
    path = asked.store.out / "table.csv"
    if text:
        write_atomically(path, text)
    else:
        path.unlink(missing_ok=True)
    write_atomically(asked.store.out / "points.csv", report.points_text(final))
    log(final.counts())
    return final


def _results(asked: Request) -> list[Result | None]:
    pairs = zip(asked.keys, asked.points, strict=True)
    return [asked.store.result(key, point) for key, point in pairs]


def _even(results: Sequence[Result | None]) -> list[Result | None]:
    odd = table.odd_columns(results)
    return [None if n in odd else result for n, result in enumerate(results)]


def _report(
    asked: Request, results: Sequence[Result | None], running: Sequence[str]
) -> Report:
    odd, busy, states = table.odd_columns(results), set(running), []
    for n, (key, result) in enumerate(zip(asked.keys, results, strict=True)):
        if result is not None:
            seconds = float(result.provenance.get("seconds", 0.0))
            word = "failed" if n in odd else "done"
            states.append(State(word, odd.get(n, ""), seconds, odd=n in odd))
        elif key in busy:
            states.append(State("running"))
        elif (failure := asked.store.failure(key)) is not None:
            seconds = float(failure.provenance.get("seconds", 0.0))
            states.append(
                State(
                    failure.kind,
                    failure.message,
                    seconds,
                    failure.traceback,
                    limit=failure.limit,
                )
            )
        else:
            file = asked.store.outdated(key, asked.points[n])
            why = f"{file} has changed since it was run." if file else ""
            states.append(State("to do", why))
    versions = [r.provenance.get("versions", {}) for r in results if r is not None]
    mixed = report.mixed_versions(versions)
    return Report(
        asked.name, asked.store.out, asked.points, asked.keys, tuple(states), mixed
    )


def status(asked: Request) -> Report:
    """Return the state of every point, from the folder alone."""
    running = asked.store.running(asked.keys) if held(asked.store.out) else []
    return _report(asked, _results(asked), running)
