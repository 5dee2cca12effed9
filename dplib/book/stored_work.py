"""The work behind stored results: run tasks, survive being killed, recertify.

Every finished task leaves a file of its own in the git-ignored folder
``runs/stored/``, under the key of the code that made it; it is written aside and
then renamed, so that a half-written one never counts. Whoever starts the run again
goes on with the tasks that are not there. At the end description and table are
written in the same way, and the folder is removed. To recertify leaves that folder
alone.

A task's random numbers depend on the task alone (`dplib.rng.stream`), so that one
process, several, and a run that was interrupted write the same table.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import multiprocessing
import os
import platform
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dplib import check, rng
from dplib.book.kernels import surroundings
from dplib.book.stored import (
    CHANGED,
    Definition,
    Row,
    StoredError,
    Task,
    difference,
    load,
    load_definition,
    status,
)
from dplib.book.whole_files import table_text, versions, write_atomically

__all__ = ["produce", "recertify", "sample", "sample_day"]

_VERSIONED = ("numpy", "scipy", "numba")


# -- single tasks ----------------------------------------------------------


def _slot(folder: Path, task: Task) -> Path:
    digest = hashlib.sha256(json.dumps(task).encode()).hexdigest()[:24]
    return folder / f"{digest}.json"


def _finished(folder: Path, task: Task, width: int) -> dict[str, Any] | None:
    """Return what a finished task left, or None: damaged is not finished."""
    try:
        found = json.loads(_slot(folder, task).read_text(encoding="utf-8"))
        rows = found["rows"]
        whole = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
        if found["sha256"] != whole or tuple(found["task"]) != task:
            return None
        if not all(len(row) == width for row in rows):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return {"rows": [tuple(row) for row in rows], "seconds": float(found["seconds"])}


@lru_cache(maxsize=4)
def _definition(path: Path) -> Definition:
    return load_definition(path)


def _do(path: Path, folder: Path, task: Task) -> None:
    """Run one task and leave its file; works in any process."""
    definition = _definition(path)
    start = time.process_time()
    rows = definition.rows(task)
    text = json.dumps(
        {
            "task": task,
            "rows": rows,
            "seconds": time.process_time() - start,
            "sha256": hashlib.sha256(json.dumps(rows).encode()).hexdigest(),
        }
    )
    write_atomically(_slot(folder, task), text)


def _end_with(parent: int) -> None:
    """End this worker when the process that started it is gone."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _bar(done: int, total: int, name: str) -> None:
    """Draw a progress bar, on a terminal only."""
    if not sys.stderr.isatty():
        return
    filled = 30 * done // total
    end = "\n" if done == total else ""
    bar = "#" * filled + "." * (30 - filled)
    print(f"\r{name} [{bar}] {done}/{total}", end=end, file=sys.stderr, flush=True)


def _work(
    definition: Definition, tasks: Sequence[Task], folder: Path, workers: int
) -> None:
    """Run tasks and leave their files; a task that fails ends the run."""
    workers = check.integer("workers", workers, "produce", low=1)
    path, name, total = definition.path, definition.name, len(tasks)
    folder.mkdir(parents=True, exist_ok=True)
    if workers == 1 or total < 2:
        for count, task in enumerate(tasks, start=1):
            try:
                _do(path, folder, task)
            except Exception as error:
                raise StoredError(f"{name}: task {task} failed: {error}") from error
            _bar(count, total, name)
        return
    # Fresh processes: a forked one would inherit threads and locks.
    context = multiprocessing.get_context("spawn")
    with (
        surroundings(),
        ProcessPoolExecutor(
            min(workers, total), context, _end_with, (os.getpid(),)
        ) as pool,
    ):
        futures = {pool.submit(_do, path, folder, task): task for task in tasks}
        for count, future in enumerate(as_completed(futures), start=1):
            failure = future.exception()
            if failure is not None:
                pool.shutdown(cancel_futures=True)
                raise StoredError(
                    f"{name}: task {futures[future]} failed: {failure}"
                ) from failure
            _bar(count, total, name)


def _collect(
    definition: Definition, tasks: Sequence[Task], folder: Path, workers: int
) -> tuple[dict[Task, list[Row]], float]:
    """Return the rows of tasks, running those that have not been; and seconds."""
    width = len(definition.task) + len(definition.columns)
    open_ = [task for task in tasks if _finished(folder, task, width) is None]
    if open_:
        _work(definition, open_, folder, workers)
    found = {task: _finished(folder, task, width) for task in tasks}
    lost = [task for task, one in found.items() if one is None]
    if lost:
        raise StoredError(f"{definition.name}: the file of task {lost[0]} was lost.")
    whole = {task: one for task, one in found.items() if one is not None}
    seconds = sum(one["seconds"] for one in whole.values())
    return {task: one["rows"] for task, one in whole.items()}, seconds


def _folder(root: Path, definition: Definition) -> Path:
    chapter, name = definition.name.split("/")
    return root / "runs" / "stored" / chapter / name / definition.code[:16]


# -- whole results ---------------------------------------------------------


def _provenance() -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": versions(_VERSIONED),
    }


def _write_about(path: Path, about: dict[str, Any]) -> None:
    text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
    write_atomically(path, text)


def produce(definition: Definition, *, root: Path, workers: int = 1) -> None:
    """Run all tasks of a definition that have not been run, and write its result.

    Parameters
    ----------
    definition : Definition
        From `dplib.book.stored.load_definition`.
    root : pathlib.Path
        Folder of the book.
    workers : int
        Number of processes, 1 or greater.

    Raises
    ------
    StoredError
        If a task fails: those that were finished are not run again. Or if there is a
        table without description, which no run leaves.
    """
    table, sidecar = (definition.path.with_suffix(end) for end in (".csv", ".json"))
    if table.exists() and not sidecar.exists():
        raise StoredError(
            f"{definition.name}: {table.name} lies there without {sidecar.name}, so no "
            "run wrote it: move it away, or restore both."
        )
    folder = _folder(root, definition)
    # Another code: what it left is of no use, and must not pile up.
    if folder.parent.is_dir():
        for old in folder.parent.iterdir():
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
    found, seconds = _collect(definition, definition.tasks, folder, workers)
    rows = [row for task in definition.tasks for row in found[task]]
    text = table_text((*definition.task, *definition.columns), rows)
    about = {
        "name": definition.name,
        "parameters": definition.parameters,
        "agreement": definition.agreement,
        "task": definition.task,
        "columns": definition.columns,
        "tasks": len(definition.tasks),
        "rows": len(rows),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "code": definition.code,
        "provenance": {**_provenance(), "cpu_seconds": round(seconds)},
        "recertified": [],
    }
    # Killed between the two, the digests differ, the result is refused, and the
    # finished tasks are still there.
    _write_about(sidecar, about)
    write_atomically(table, text)
    shutil.rmtree(folder, ignore_errors=True)


def sample_day() -> int:
    """Return the seed of samples: today, or ``DPLIB_SAMPLE``, to repeat a day's."""
    return int(os.environ.get("DPLIB_SAMPLE") or f"{datetime.date.today():%Y%m%d}")


def sample(definition: Definition, points: int) -> list[Task]:
    """Choose tasks at random: others every day, and for every state of the code.

    Parameters
    ----------
    definition : Definition
        From `dplib.book.stored.load_definition`.
    points : int
        Number of tasks; of fewer, all.

    Returns
    -------
    list of tuple
        In the order of the table.
    """
    random = rng.stream(sample_day(), "sample", definition.name, definition.code)
    if definition.agreement["rule"] == "statistical":
        # Whole groups, so that there is a law to compare.
        groups = list(dict.fromkeys(task[:-1] for task in definition.tasks))
        group = groups[int(random.integers(len(groups)))]
        pool = [task for task in definition.tasks if task[:-1] == group]
    else:
        pool = list(definition.tasks)
    chosen = random.choice(len(pool), size=min(points, len(pool)), replace=False)
    return [pool[at] for at in np.sort(chosen)]


def recertify(
    definition: Definition,
    *,
    root: Path,
    points: int = 8,
    workers: int = 1,
    again: bool = False,
) -> str:
    """Run a random sample of tasks again; adopt the present code if they agree.

    Parameters
    ----------
    definition : Definition
        From `dplib.book.stored.load_definition`.
    root : pathlib.Path
        Folder of the book.
    points : int
        Number of tasks, 1 or greater; for the statistical rule at least 20, all
        of one group that is chosen at random.
    workers : int
        Number of processes.
    again : bool
        Whether to sample a result too whose code has not changed.

    Returns
    -------
    str
        A sentence that tells what was done.

    Raises
    ------
    StoredError
        If the result is missing, damaged, or made of other tasks, or the sample
        does not agree. Nothing is changed then.
    """
    points = check.integer("points", points, "recertify", low=1)
    if definition.agreement["rule"] == "statistical":
        points = max(points, 20)
    name = definition.name
    state = status(definition, root=root)
    if not state and not again:
        return f"{name}: current; nothing to do."
    if state and CHANGED not in state:
        raise StoredError(state)
    stored = load(name, root=root)
    tasks = sample(definition, points)
    with tempfile.TemporaryDirectory() as folder:
        fresh, _ = _collect(definition, tasks, Path(folder), workers)
    gap = difference(definition, stored, fresh)
    if gap:
        raise StoredError(
            f"{name}: does not agree with the present code ({gap}); run "
            f"'python -m dplib.book.stored run {name}', and say why it changed."
        )
    if not state:
        return f"{name}: {len(tasks)} tasks agree."
    about = dict(stored.about)
    entry = {**_provenance(), "tasks": len(tasks), "from": about["code"][:12]}
    about["recertified"] = [*about.get("recertified", []), entry]
    about["code"] = definition.code
    about["agreement"] = definition.agreement
    _write_about(definition.path.with_suffix(".json"), about)
    return f"{name}: {len(tasks)} tasks agree; the present code is adopted."
