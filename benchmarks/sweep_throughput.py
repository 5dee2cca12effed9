"""A sweep against a bare loop around papermill, and ten thousand points.

Prints, for the same points of a notebook that does next to nothing (so that all is
overhead), the time a point takes in a plain ``for`` loop around
``papermill.execute_notebook``, and in a sweep of one worker, in turn; and the median
ratio of the two. Checks of the points, the lock, results forced to disk, and the
table are counted; the start of the local cluster, once a sweep, is shown apart.

Then the seconds that it takes to list ten thousand points, to tell their status, and
to resume a sweep of which all are finished. It writes into a temporary folder only.

    python benchmarks/sweep_throughput.py
"""

import os
import statistics
import tempfile
import time
from pathlib import Path

import nbformat
import papermill

from dplib.book.kernels import environment
from dplib.sweep import driver, engine
from dplib.sweep.notebook import read
from dplib.sweep.report import report
from dplib.sweep.store import Result, locked
from dplib.sweep.worker import provenance

POINTS, ROUNDS, MANY = 5, 5, 10_000
# What was promised: per point at most so many times the loop; so many seconds.
RATIO, SECONDS = 1.1, 10.0

ROW = """\
from dplib import sweep
sweep.record(x=a * n / 3)
"""


def notebook(folder):
    """Write a notebook of two cells."""
    cell = nbformat.v4.new_code_cell("a = 0.5\nn = 1")
    cell.metadata["tags"] = ["parameters"]
    made = nbformat.v4.new_notebook(cells=[cell, nbformat.v4.new_code_cell(ROW)])
    made.metadata["kernelspec"] = {
        "name": "python3",
        "language": "python",
        "display_name": "Python 3",
    }
    path = Path(folder) / "tiny.ipynb"
    path.write_text(nbformat.writes(made), encoding="utf-8")
    return path


def timed(function, *arguments, **options):
    """Return the seconds that a call takes, and what it returns."""
    start = time.perf_counter()
    result = function(*arguments, **options)
    return time.perf_counter() - start, result


def loop(path, folder, values):
    """Do what one would write instead."""
    for n in values:
        papermill.execute_notebook(
            path,
            folder / f"loop-{n}.ipynb",
            parameters={"n": n},
            progress_bar=False,
            extra_arguments=["--IPKernelApp.log_level=40"],  # no notice about TCP
        )


def throughput(path, folder):
    """Return seconds of each round: of the loop, and of the sweep."""
    pairs = []
    start = time.perf_counter()
    with engine.connected(None, 1, most=1) as client:
        print(f"start of a local cluster: {time.perf_counter() - start:.1f} s")
        for turn in range(ROUNDS + 1):
            values = list(range(turn * POINTS, (turn + 1) * POINTS))
            one, _ = timed(loop, path, folder, values)
            other, found = timed(
                driver.sweep,
                path,
                {"n": values},
                out=folder / f"sweep-{turn}",
                scheduler=client.scheduler.address,
            )
            assert found.succeeded
            if turn:  # the first warms both
                pairs.append((one, other))
    return pairs


def fill(asked):
    """Finish all points without running them."""
    about = provenance() | {"seconds": 1.0}
    sync, os.fsync = os.fsync, lambda _: None  # the disk is not what is timed
    with locked(asked.store.out):
        for key, point in zip(asked.keys, asked.points, strict=True):
            row = {"x": point["a"] * point["n"] / 3}
            result = Result("done", [row], provenance=about)
            asked.store.write(key, point, result)
    os.fsync = sync


def main():
    """Measure, and print what was promised beside it."""
    os.environ.update(environment())
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        path = notebook(folder)
        pairs = throughput(path, folder)
        ratio = statistics.median(other / one for one, other in pairs)
        for name, at in (("bare papermill loop", 0), ("sweep, one worker", 1)):
            seconds = statistics.median(pair[at] for pair in pairs) / POINTS
            print(f"{name:36}{seconds:8.2f} s a point")
        print(f"{'median ratio':36}{ratio:8.2f}     promised: at most {RATIO}")

        points = {"a": [i / 7 for i in range(100)], "n": list(range(MANY // 100))}
        out = folder / "many"
        listing, asked = timed(driver.request, read(path), points, out)
        none, _ = timed(report, asked)
        fill(asked)
        everything, _ = timed(report, asked)
        resuming, found = timed(driver.sweep, path, points, out=out)
        assert found.succeeded
        for name, seconds in (
            ("check and list", listing),
            ("status, none finished", none),
            ("status, all finished", everything),
            ("resume, all finished", resuming),
        ):
            told = f"promised: at most {SECONDS:g}"
            print(f"{MANY} points: {name:23}{seconds:8.2f} s   {told}")


if __name__ == "__main__":
    main()
