"""Points on a Dask cluster: local processes, or any scheduler that is running.

Dask moves points to workers, starts killed local workers anew, and runs again what
they were at. Handed out are as many points as there are threads: more would wait at a
worker that may be frozen. For the same reason nothing is fetched from workers: that a
point is done, or its error, lies with the scheduler.
"""

from __future__ import annotations

import logging
import math
import time
import uuid
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

import dask
from dask.system import CPU_COUNT
from distributed import (
    CancelledError,
    Client,
    Future,
    KilledWorker,
    LocalCluster,
    TimeoutError,
    wait,
)

from dplib.sweep.report import State
from dplib.sweep.store import Result, SweepError
from dplib.sweep.worker import TRIES, PointError, StopError, Task, provenance, run_point

__all__ = ["connected", "run"]

_SETTINGS = {
    "distributed.scheduler.allowed-failures": TRIES - 1,
    # One point at a time on a worker: one that waits there is blamed for its death.
    "distributed.scheduler.worker-saturation": 1.0,
    # A local worker that is silent for so long is started anew.
    "distributed.scheduler.worker-ttl": "30s",
}
#: Ctrl-C on the terminal reaches workers through the driver only.
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
_TICK, _SOON, _WAIT = 2.0, 5.0, 600.0  # seconds
#: What a point may take beyond its timeout before it is given to another worker.
_GRACE = 30.0


@contextmanager
def connected(
    scheduler: str | None, workers: int | None, *, most: int
) -> Iterator[Client]:
    """Give a client of a running cluster, or of a local one.

    Parameters
    ----------
    scheduler : str or None
        Address, as ``tcp://127.0.0.1:8786``; None for a local cluster, which ends
        with the context, or with this process however it ends.
    workers : int or None
        Number of local processes, of one thread each; None for one on each core
        that this process may use.
    most : int
        Number of local processes that have something to do.
    """
    for name in ("distributed", "distributed.client"):  # what matters is raised
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with dask.config.set(_SETTINGS), warnings.catch_warnings():
        # About versions that differ; they are in every result's provenance.
        warnings.simplefilter("ignore")
        if scheduler is not None:
            try:
                client = Client(scheduler, timeout="10s")
            except (OSError, ValueError) as error:
                raise SweepError(
                    f"There is no Dask scheduler at {scheduler}: {error}."
                ) from None
            with client:
                yield client
            return
        with (
            LocalCluster(
                n_workers=min(workers or CPU_COUNT, most),
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=None,
                memory_limit=None,
                silence_logs=logging.CRITICAL,
                preload=[_DEAF],
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client


def run(
    tasks: Sequence[Task],
    scheduler: str | None,
    workers: int | None,
    tell: Callable[[str], None],
) -> Generator[tuple[str, State]]:
    """Run points; yield key and state of each as soon as it ended.

    Parameters
    ----------
    tasks : sequence of worker.Task
        The points, started in this order.
    scheduler, workers : str or None, int or None
        As for `connected`.
    tell : callable
        Is called with what a user should know who waits.
    """
    if tasks:
        with connected(scheduler, workers, most=len(tasks)) as client:
            for task, word, why, start in _outcomes(client, tasks, tell):
                seconds = time.monotonic() - start
                if word == "lost":
                    about = provenance() | {"seconds": seconds}
                    lost = Result(word, [], why, "", about)
                    task.store.write(task.key, task.point, lost)
                yield task.key, State(word, why, seconds)


def _outcomes(
    client: Client, tasks: Sequence[Task], tell: Callable[[str], None]
) -> Iterator[tuple[Task, str, str, float]]:
    """Yield task, state, why, and when it was handed out, of every point that ended."""
    waiting, flying = deque(tasks), dict[Future[None], tuple[Task, float]]()
    overdue = Counter[str]()
    try:
        _find_workers(client, tell)
        while waiting or flying:
            threads = sum(client.nthreads().values())
            while waiting and len(flying) < max(threads, 1):
                task = waiting.popleft()
                # A key that Dask has seen would not be run again.
                key = f"point-{task.key}-{uuid.uuid4().hex[:8]}"
                future = client.submit(run_point, task, key=key, pure=False)
                flying[future] = task, time.monotonic()
            try:
                done = wait([*flying], _TICK, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                _find_workers(client, tell)
                done = set()
            for future in done:
                task, start = flying.pop(future)
                yield task, *_outcome(future), start
            for future, (task, start) in list(flying.items()):
                # At a worker that must be frozen, or that has lost it.
                limit = math.inf if task.timeout is None else task.timeout + _GRACE
                if time.monotonic() - start > limit:
                    del flying[future]
                    future.cancel()
                    overdue[task.key] += 1
                    if overdue[task.key] < TRIES:
                        waiting.appendleft(task)
                    else:
                        why = f"{TRIES} workers did not answer in time."
                        yield task, "lost", why, start
    except (OSError, CancelledError) as error:
        raise SweepError(f"The scheduler {_place(client)} was lost.") from error


def _find_workers(client: Client, tell: Callable[[str], None]) -> None:
    """Wait for a worker, if there is none; say so, and end after a while."""
    for patience in (_SOON, _WAIT):
        try:
            if not client.nthreads():
                client.wait_for_workers(1, timeout=patience)
            return
        except TimeoutError:
            if patience == _SOON:
                tell(
                    f"The scheduler {_place(client)} has no worker: waiting "
                    f"{_WAIT:g} s for one."
                )
    raise SweepError(f"The scheduler {_place(client)} has no worker.")


def _place(client: Client) -> str:
    return f"at {client.scheduler.address}" if client.scheduler else "of this sweep"


def _outcome(future: Future[None]) -> tuple[str, str]:
    """Return state and message of a point that ended."""
    error = future.exception()
    if error is None:
        return "done", ""
    if isinstance(error, PointError):
        state, message = error.args
        return state, message
    if isinstance(error, KilledWorker):
        return "lost", f"The worker died {TRIES} times."
    if not isinstance(error, StopError):
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        error = StopError(f"A worker cannot run points: {reason}")
    raise SweepError(f"{error} Start the sweep again to go on.")
