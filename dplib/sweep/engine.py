"""Points on a Dask cluster: local processes, or any scheduler that is running.

Dask moves points to workers, starts killed local workers anew, and runs again what
they were at. Ours is only the bound on points in flight, so that ten thousand of them
cost the scheduler no more than a few. A kernel or worker that is lost is tried again
(`TRIES` times in all); a cell that raises is not.
"""

from __future__ import annotations

import logging
import re
import signal
import uuid
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from multiprocessing import resource_tracker

import dask
from dask.system import CPU_COUNT
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed

from dplib import check
from dplib.sweep.errors import KernelLostError, SweepError
from dplib.sweep.worker import Outcome, Task, run_point

__all__ = ["TRIES", "connected", "outcomes"]

#: How often a point is started before a lost kernel or worker counts against it.
TRIES = 3

_ADDRESS = re.compile(r"[a-z]+://\S+:[0-9]+")
_SETTINGS = {
    "distributed.scheduler.allowed-failures": TRIES - 1,
    # One point at a time on a worker: one that waits there is blamed for its death.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.comm.timeouts.connect": "60s",
    "distributed.worker.memory.terminate": False,
}


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

    Raises
    ------
    ValueError
        If the address is not like ``tcp://HOST:PORT``.
    SweepError
        If there is no scheduler at the address.
    """
    with dask.config.set(_SETTINGS), _quiet(), warnings.catch_warnings():
        # About versions that differ; they are in every result's provenance.
        warnings.simplefilter("ignore")
        if scheduler is not None:
            if not _ADDRESS.fullmatch(scheduler):
                check.fail("scheduler", "sweep", "like tcp://HOST:PORT", scheduler)
            try:
                client = Client(scheduler, timeout="10s", set_as_default=False)
            except (OSError, ValueError) as error:
                raise SweepError(
                    f"There is no Dask scheduler at {scheduler}: {error}."
                ) from None
            with client:
                yield client
            return
        with (
            _started(min(workers or CPU_COUNT, most)) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the client's log off the terminal: what matters is raised."""
    loggers = [logging.getLogger(f"distributed{end}") for end in ("", ".client")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _started(workers: int) -> LocalCluster:
    """Start a local cluster that Ctrl-C reaches through this process only.

    The thread that starts workers, and the workers, inherit that SIGINT is blocked;
    one that comes meanwhile takes effect at the end.
    """
    # Started here, because starting it unblocks SIGINT in the thread that does.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=None,
            silence_logs=logging.CRITICAL,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def outcomes(client: Client, tasks: Sequence[Task]) -> Generator[tuple[Task, Outcome]]:
    """Run points, and yield each with its outcome as soon as it has one.

    Parameters
    ----------
    client : distributed.Client
        From `connected`.
    tasks : sequence of Task
        The points, started in this order.

    Yields
    ------
    tuple of Task and Outcome
        In the order of finishing.

    Raises
    ------
    SweepError
        If the scheduler is lost.
    """
    waiting = iter(tasks)
    flying: dict[str, Task] = {}
    finished = as_completed(loop=client.loop)
    run = uuid.uuid4().hex[:8]  # a key that Dask has seen would not be run again

    def top_up() -> None:
        room = 2 * max(1, sum(client.nthreads().values())) - len(flying)
        for task in islice(waiting, max(0, room)):
            name = f"point-{task.key}-{run}"
            flying[name] = task
            finished.add(
                client.submit(run_point, task, key=name, retries=TRIES - 1, pure=False)
            )

    try:
        top_up()
        for future in finished:
            outcome = _outcome(future)
            yield flying.pop(str(future.key)), outcome
            future.release()
            top_up()
    except OSError as error:  # of the connection: those of workers are outcomes
        raise _gone(client) from error
    except RuntimeError as error:
        if client.status == "running":
            raise
        raise _gone(client) from error


def _outcome(future: Future[Outcome]) -> Outcome:
    if future.status == "finished":
        outcome: Outcome = future.result()
        return outcome
    if future.status != "error":
        raise _gone(future.client)
    error = future.exception()
    if isinstance(error, KilledWorker):
        return Outcome("lost", f"The worker died {TRIES} times.")
    if isinstance(error, KernelLostError):
        return Outcome("lost", f"The kernel was lost {TRIES} times: {error}")
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return Outcome("stop", f"A worker cannot run points: {reason}")


def _gone(client: Client) -> SweepError:
    where = client.scheduler.address if client.scheduler else "?"
    return SweepError(f"The scheduler at {where} was lost.")
