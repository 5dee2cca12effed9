"""Workers that are missing, or frozen: told, and waited for no longer than stated."""

import os
import signal
import time

import pytest
from distributed import Client, LocalCluster
from tiny_sweep import Place, children, cluster, until

from dplib.sweep import engine
from dplib.sweep.store import Store, SweepError
from dplib.sweep.worker import Task

pytestmark = pytest.mark.slow


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    made.close()


def test_s2_a_scheduler_without_workers_is_told_and_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "_SOON", 0.5)
    monkeypatch.setattr(engine, "_WAIT", 1.0)
    told = []
    with cluster(tmp_path) as (where, _, _):
        start = time.monotonic()
        with pytest.raises(SweepError, match=f"at {where} has no worker"):
            next(engine.run([object()], where, None, told.append))
        assert time.monotonic() - start < 10
    assert told == [f"The scheduler at {where} has no worker: waiting 1 s for one."]


def test_s2_a_frozen_worker_does_not_idle_the_sweep(place, tmp_path):
    """Of two workers one is stopped: the other does all points but one."""
    with cluster(tmp_path) as (where, _, worker):
        frozen, _ = worker(), worker()
        with Client(where) as client:
            client.wait_for_workers(2, timeout=60)
        grid = ("--grid", "n=1:6", "--grid", "wait=0.2", "--scheduler", where)
        process = place.start("frozen", *grid)
        until(lambda: place.results("frozen"))
        os.kill(frozen.pid, signal.SIGSTOP)
        until(lambda: len(place.results("frozen")) >= 5)
        # The scheduler drops it (after five minutes, or now), and its point goes on.
        frozen.kill()
        printed, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, ""), printed


def test_s2_a_frozen_local_worker_does_not_idle_the_sweep(place):
    process = place.start("local", "--grid", "n=1:6", "--workers", "2")
    until(lambda: place.results("local"))
    frozen = until(lambda: [w for w in children(process.pid) if children(w)])[0]
    os.kill(frozen, signal.SIGSTOP)
    until(lambda: len(place.results("local")) >= 5)
    os.kill(frozen, signal.SIGKILL)
    printed, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, ""), printed


def sleep_long(task):
    """Stand for a worker that does not answer, but for one point."""
    if task.key != "good":
        time.sleep(8)


def test_s2_a_point_overdue_is_given_to_another_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "_GRACE", 0.5)
    monkeypatch.setattr(engine, "_TICK", 0.2)
    monkeypatch.setattr(engine, "run_point", sleep_long)
    store = Store(tmp_path, "f" * 64, tmp_path)
    tasks = [Task(store, key, {}, timeout=1) for key in ("bad", "good")]
    with (
        LocalCluster(4, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        found = [
            (task.key, word, why)
            for task, word, why, _ in engine._outcomes(client, tasks, print)
        ]
    assert found == [
        ("good", "done", ""),
        ("bad", "lost", "3 workers did not answer in time."),
    ]
