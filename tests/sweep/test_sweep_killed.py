"""Kill what can be killed: nothing is lost, counted twice or half-written.

Whatever happens to a sweep, the same command ends with the table of a serial run, to
the last byte, leaves no half-written file, and does not run a finished point again.
"""

import os
import random
import signal
import subprocess
import time

import pytest
import tiny_sweep
from tiny_sweep import Place, alive, children, cluster, kill, parent, until

from dplib.book import whole_files

pytestmark = pytest.mark.slow

GRID = ("--grid", "a=0.1,1e-5", "--grid", "n=1,2,7", "--grid", "wait=0.3")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    made = Place(tmp_path_factory.mktemp("sweeps"))
    yield made
    until(lambda: not made.kernels())  # none survives its sweep
    made.close()


@pytest.fixture(scope="module")
def serial(place):
    """The table of an undisturbed run of one worker."""
    status, printed, errors = place.run("serial", *GRID, "--workers", "1")
    assert (status, errors) == (0, "")
    assert "6 points: 6 done" in printed
    assert place.rests("serial") == []
    # Columns as they were recorded, not as a notebook's file sorts them.
    assert place.table("serial").startswith(b"a,n,word,wait,x,said\n1e-05,1,w,0.3,3.3")
    return place.table("serial")


def ended(place, out, serial, *options):
    """End a sweep undisturbed, and make sure that nothing was done twice."""
    before = {path: path.read_bytes() for path in place.results(out)}
    status, printed, errors = place.run(out, *GRID, *options)
    assert (status, errors) == (0, ""), printed
    assert place.table(out) == serial
    assert place.rests(out) == []
    assert len(place.results(out)) == 6
    for path, content in before.items():
        assert path.read_bytes() == content  # provenance has its date
    return printed


def test_a_driver_killed_at_random_moments_is_resumed(place, serial):
    chance = random.Random(20261128)
    for start in (True, False, False):
        process = place.start("killed", *GRID, "--workers", "2")
        before = len(place.results("killed"))
        if start:
            time.sleep(chance.uniform(0.5, 4.0))
        else:
            until(lambda before=before: len(place.results("killed")) > before)
            time.sleep(chance.uniform(0.0, 0.9))
        process.kill()
        process.communicate()
        # Its workers end with it, and the kernels with them.
        until(lambda: not place.kernels())
    ended(place, "killed", serial)


def test_a_second_driver_is_refused_and_ctrl_c_ends_the_first_quietly(place, serial):
    process = place.start(
        "interrupted",
        *GRID,
        "--workers",
        "2",
        # Not inherited: a shell has its background processes ignore it.
        before="signal.signal(signal.SIGINT, signal.SIG_DFL)",
    )
    until((place.folder / "interrupted" / "request.json").is_file)
    status, _, errors = place.run("interrupted", *GRID)
    assert status == 1
    assert f"is in use by process {process.pid} on" in errors
    assert errors.count("\n") == 1
    until(lambda: place.results("interrupted"))
    workers = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (printed, errors) == (
        "",
        "Interrupted. The same command goes on where it was.\n",
    )
    until(lambda: not place.kernels())
    until(lambda: not any(alive(worker) for worker in workers))
    lines = place.table("interrupted").splitlines()  # of what was finished
    assert set(lines[1:]) < set(serial.splitlines())
    ended(place, "interrupted", serial)


def test_a_driver_that_is_told_to_end_leaves_the_table_so_far(place, serial):
    """As a queue does with SIGTERM when the time is up."""
    process = place.start("ended", *GRID, "--workers", "1")
    until(lambda: place.results("ended"))
    process.terminate()
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert printed == ""
    assert errors == ""
    until(lambda: not place.kernels())
    rows = place.table("ended").splitlines()[1:]
    assert set(rows) < set(serial.splitlines())
    assert place.states("ended").count("done") == len(rows)
    ended(place, "ended", serial)


def working(place, process):
    """Return the workers of a sweep that are at a point."""
    return {parent(kernel) for kernel in place.kernels()} & {*children(process.pid)}


def test_a_worker_and_a_kernel_killed_at_a_point_cost_nothing(place, serial):
    process = place.start("bereft", *GRID, "--workers", "2")
    until(lambda: place.results("bereft"))
    kill(until(lambda: working(place, process)).pop())
    time.sleep(1.0)
    kill(until(place.kernels)[-1])
    printed, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert "6 points: 6 done" in printed
    assert place.table("bereft") == serial
    until(lambda: not place.kernels())


def test_damaged_results_are_made_again(place, serial):
    damaged = place.folder / "damaged"
    subprocess.run(["cp", "-r", place.folder / "serial", damaged], check=True)
    first, second, third, *_ = place.results("damaged")
    first.write_bytes(first.read_bytes()[:100])
    text = second.read_text()
    assert '"x": ' in text
    second.write_text(text.replace('"x": ', '"x": 1'))
    third.unlink()
    kept = {path: path.read_bytes() for path in place.results("damaged")[2:]}
    half = first.with_name(f".half~{whole_files._HOST}~999999999~01234567.part")
    half.write_text("half")
    status, printed, errors = place.run("damaged", *GRID, "--workers", "1")
    assert (status, errors) == (0, ""), printed
    assert place.table("damaged") == serial
    assert not half.exists()
    assert all(path.read_bytes() == content for path, content in kept.items())


def test_a_full_disk_stops_the_sweep_in_one_sentence(place, serial):
    """Executed notebooks do not fit: results come after them, so none counts."""
    options = (*GRID, "--workers", "1")
    small = "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))"
    status, _, errors = place.run("full", *options, before=small)
    assert status == 1
    assert "File too large" in errors
    assert errors.count("\n") == 1
    assert place.results("full") == []
    assert place.rests("full") == []
    ended(place, "full", serial)


def test_failing_and_silent_notebooks_fail_their_points_only(place):
    notebook = tiny_sweep.write(
        place.folder,
        "import os, signal\nif n == 9:\n    os.kill(os.getpid(), signal.SIGKILL)",
        tiny_sweep.LUCK,
        "import time\nif n == 4:\n    time.sleep(60)",
        f"if n != 5:\n    exec({tiny_sweep.ROW!r})",
        name="trouble",
    )
    mine, place.notebook = place.notebook, notebook
    try:
        options = ("--grid", "n=1,13,4,5,9", "--workers", "2", "--timeout", "10")
        status, printed, errors = place.run("trouble", *options)
        assert (status, errors) == (1, "")
        assert place.states("trouble") == ["done", *["failed"] * 3, "lost"]
        assert "ValueError: unlucky" in printed
        assert "it took more than 10 s" in printed
        assert "The notebook never called sweep.record." in printed
        assert "The kernel was lost 3 times: DeadKernelError" in printed
        found = (place.folder / "trouble").glob("versions/*/failures/*.json")
        assert any("raise ValueError" in path.read_text() for path in found)
        kept = list((place.folder / "trouble").glob("versions/*/notebooks/*.ipynb"))
        assert len(kept) == 3  # that of the failed point has its traceback
        # Only the lost point is run again, and only it.
        status, printed, _ = place.run("trouble", *options)
        assert status == 1
        log = (place.folder / "trouble" / "log.txt").read_text()
        assert "1 to run" in log.splitlines()[-3]
    finally:
        place.notebook = mine


def test_a_running_cluster_gives_the_same_table(place, serial, tmp_path):
    """Of two workers one is killed; then the scheduler."""
    with cluster(tmp_path, place.environment) as (where, scheduler, worker):
        first, _ = worker(), worker()
        options = ("--scheduler", where)
        process = place.start("cluster", *GRID, *options)
        until(lambda: place.results("cluster"))
        first.kill()
        printed, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, ""), printed
        assert place.table("cluster") == serial

        process = place.start("forlorn", *GRID, *options)
        until(lambda: place.results("forlorn"))
        scheduler.kill()
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 1
        assert errors == f"The scheduler at {where} was lost.\n"
    until(lambda: not place.kernels())
    ended(place, "forlorn", serial)


def test_no_scheduler_is_one_sentence(place):
    status, _, errors = place.run("none", *GRID, "--scheduler", "tcp://127.0.0.1:9")
    assert (status, errors.count("\n")) == (1, 1)
    assert "There is no Dask scheduler at tcp://127.0.0.1:9" in errors
