"""The work behind stored results: run tasks, survive being killed, recertify.

Every finished task leaves a file of its own in the git-ignored folder
``runs/stored/`` (outside the book: where the result goes), under the key of the code
that made it; it is written aside and then renamed, so that a half-written one never
counts. Whoever starts the run again goes on with the tasks that are not there. At the
end description and table are written in the same way, and the folder is removed. To
recertify leaves that folder alone.

A task's random numbers depend on the task alone (`dplib.rng.stream`), so that one
process, several, and a run that was interrupted write the same table.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from tqdm import tqdm

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

_VERSIONED = ("numpy", "scipy", "numba", "jax")


# -- tasks -----------------------------------------------------------------


@lru_cache(maxsize=4)
def _definition(path: Path, code: str, changes: str) -> Definition:  # noqa: ARG001
    """Read a definition once a process, as long as its code is the same."""
    return load_definition(path, json.loads(changes))


def _run(
    path: Path, code: str, changes: str, task: Task, kept: Path | None, whole: bool
) -> tuple[Any, float]:
    """Run one task, or its first rows, in any process; return rows, and seconds.

    They are written to the file `kept`, or read from it if it is there.
    """
    if kept is not None:
        with contextlib.suppress(OSError, ValueError):  # not there, or damaged
            rows, seconds = json.loads(kept.read_text(encoding="utf-8"))
            return [tuple(row) for row in rows], seconds
    definition = _definition(path, code, changes)
    start = time.process_time()
    try:
        rows = definition.rows(task, whole=whole)
    except Exception as error:
        message = f"{definition.name}: task {task} failed: {error}"
        raise StoredError(message) from error
    seconds = time.process_time() - start
    if kept is not None:
        write_atomically(kept, json.dumps([rows, seconds]))
    return rows, seconds


def _perform(
    definition: Definition,
    tasks: Sequence[Task],
    workers: int,
    folder: Path | None = None,
) -> tuple[dict[Task, list[Row]], float]:
    """Return the rows of tasks, and seconds; a task that fails ends the run.

    Without a folder, only the first rows. In a folder, every finished task leaves a
    file, and is not run again.
    """
    jobs = (
        joblib.delayed(_run)(
            definition.path,
            definition.code,
            json.dumps(definition.changes),
            task,
            folder and folder / f"{definition.tasks.index(task)}.json",
            folder is not None,
        )
        for task in tasks
    )
    with surroundings():
        # A process holds one task, so that little is lost when it is killed; those of
        # a run that was killed end when they have been idle.
        held = {"batch_size": 1, "pre_dispatch": "n_jobs", "idle_worker_timeout": 10}
        done = joblib.Parallel(workers, return_as="generator", **held)(jobs)
        # The bar is drawn on a terminal only.
        results = list(tqdm(done, definition.name, len(tasks), disable=None))
    rows = {task: rows for task, (rows, _) in zip(tasks, results, strict=True)}
    return rows, sum(seconds for _, seconds in results)


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


def produce(definition: Definition, *, workers: int = 1) -> None:
    """Run all tasks of a definition that have not been run, and write its result.

    Parameters
    ----------
    definition : Definition
        From `dplib.book.stored.load_definition`.
    workers : int
        Number of processes.
    """
    table = definition.table
    sidecar = table.with_suffix(".json")
    if table.exists() and not sidecar.exists():
        raise StoredError(
            f"{definition.name}: {table.name} lies there without {sidecar.name}, so no "
            "run wrote it: move it away, or restore both."
        )
    folder = definition.kept / definition.code[:16]
    # Another code: what it left is of no use, and must not pile up.
    for old in folder.parent.glob("*"):
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)
    found, seconds = _perform(definition, definition.tasks, workers, folder)
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
    shutil.rmtree(folder.parent, ignore_errors=True)


def sample_day() -> int:
    """Return the seed of samples: today, or ``DPLIB_SAMPLE``, to repeat a day's."""
    return int(os.environ.get("DPLIB_SAMPLE") or f"{datetime.date.today():%Y%m%d}")


def sample(definition: Definition, points: int) -> list[Task]:
    """Choose tasks at random: others every day, and for every state of the code.

    They come in the order of the table; if there are fewer than `points`, all. For the
    statistical rule, all are of one group that is chosen at random.
    """
    random = rng.stream(sample_day(), "sample", definition.name, definition.code)
    pool = list(definition.tasks)
    if definition.agreement["rule"] == "statistical":
        groups = list(dict.fromkeys(task[:-1] for task in pool))
        group = groups[int(random.integers(len(groups)))]
        pool = [task for task in pool if task[:-1] == group]
    chosen = random.choice(len(pool), size=min(points, len(pool)), replace=False)
    return [pool[at] for at in np.sort(chosen)]


def recertify(
    definition: Definition,
    *,
    points: int = 8,
    workers: int = 1,
    again: bool = False,
) -> str:
    """Run a random sample of tasks again; adopt the present code if they agree.

    If they do not, or the result is missing, damaged or made of other tasks, it raises
    and changes nothing.

    Parameters
    ----------
    definition : Definition
        From `dplib.book.stored.load_definition`.
    points : int
        Number of tasks, 1 or greater; for the statistical rule at least 20.
    workers : int
        Number of processes.
    again : bool
        Whether to sample a result too whose code has not changed.

    Returns
    -------
    str
        A sentence that tells what was done.
    """
    points = check.integer("points", points, "recertify", low=1)
    if definition.agreement["rule"] == "statistical":
        points = max(points, 20)
    name = definition.name
    state = status(definition)
    if not state and not again:
        return f"{name}: current; nothing to do."
    if state and CHANGED not in state:
        raise StoredError(state)
    stored = load(name, root=definition.path.parents[3])
    tasks = sample(definition, points)
    gap = difference(definition, stored, _perform(definition, tasks, workers)[0])
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
    _write_about(definition.table.with_suffix(".json"), about)
    return f"{name}: {len(tasks)} tasks agree; the present code is adopted."
