"""One notebook in one kernel: every row arrives, whatever the notebook prints."""

import concurrent.futures
import multiprocessing

import nbformat
import pytest
import tiny_sweep

from dplib.sweep import kernel
from dplib.sweep import notebook as notebooks

RECORD = "from dplib import sweep\nsweep.record(x=a * n / 3)"


@pytest.fixture(scope="module")
def run():
    """Give a function that executes cells in a kernel of a sweep.

    In another process, as a sweep does: the machinery leaves sockets to the collector.
    """
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, spawn) as pool:

        def execute(folder, *cells, timeout=None, **point):
            book = notebooks.read(tiny_sweep.write(folder, *cells))
            point = {"n": 1} | point
            task = pool.submit(
                kernel.execute, book.text, point, folder, timeout=timeout
            )
            return task.result()

        yield execute


@pytest.mark.slow
def test_no_row_is_lost_among_very_many_outputs(run, tmp_path):
    """Messages of a kernel that sends more than is read are dropped; rows are not."""
    cell = (
        "from dplib import sweep\n"
        "for k in range(12_000):\n"
        "    print(k, flush=True)\n"
        "    if k % 4 == 0:\n"
        "        sweep.record(k=k)"
    )
    found = run(tmp_path, cell)
    assert found.error == ""
    assert [row["k"] for row in found.rows] == list(range(0, 12_000, 4))


def test_a_notebook_gives_rows_and_what_it_showed(run, tmp_path):
    # A module of its folder hides none of the kernel's.
    (tmp_path / "json.py").write_text("raise ValueError('hidden')")
    clear = "from IPython.display import clear_output\nclear_output()"
    fork = "import os\nif os.fork() == 0:\n    sweep.record(x=3.0)\n    os._exit(0)"
    cells = (f"{RECORD}\n{clear}\nsweep.record(x=2.0)", f"{fork}\nos.wait();")
    found = run(tmp_path, *cells, RECORD)
    assert (found.error, found.traceback) == ("", "")
    assert [row["x"] for row in found.rows] == [0.5 / 3, 2.0, 3.0, 0.5 / 3]
    assert nbformat.validate(found.notebook) is None
    (output,) = found.notebook.cells[-1].outputs
    assert "x = 0.166667" in output.data["text/plain"]


def test_a_cell_that_raises_is_a_result(run, tmp_path):
    found = run(tmp_path, tiny_sweep.LUCK, RECORD, n=13)
    assert (found.error, found.rows) == ("ValueError: unlucky", [])
    assert "raise ValueError" in found.traceback
    assert "\x1b" not in found.traceback
    assert "unlucky" in nbformat.writes(found.notebook)


@pytest.mark.parametrize("leave", ["sys.exit()", "sys.exit(3)"])
def test_a_notebook_that_ends_python_early_has_failed(run, tmp_path, leave):
    found = run(tmp_path, f"{RECORD}\nimport sys\n{leave}", "sweep.record(x=2.0)")
    assert "sys.exit" in found.error or "SystemExit" in found.error


def test_a_timeout_is_for_the_whole_notebook(run, tmp_path):
    nap = "import time\ntime.sleep(1.2)"
    found = run(tmp_path, nap, nap, nap, RECORD, timeout=2.5)
    assert found.error == "it took more than 2.5 s (--timeout)"
    assert run(tmp_path, nap, RECORD, timeout=30).error == ""


def test_a_kernel_that_dies_is_worth_another_try(run, tmp_path):
    cell = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(kernel.KernelLostError, match="DeadKernelError"):
        run(tmp_path, cell, RECORD)
