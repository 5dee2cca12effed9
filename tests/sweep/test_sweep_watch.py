"""What a kernel notes down: every row, and every file that its rows may depend on."""

import concurrent.futures
import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import tiny_sweep

from dplib.sweep import kernel, watch
from dplib.sweep import notebook as notebooks
from dplib.sweep.worker import rows_of

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
            point = point or {"n": 1}
            task = pool.submit(
                kernel.execute, book.text, point, folder, timeout=timeout
            )
            return task.result()

        yield execute


@pytest.mark.slow
def test_no_row_is_lost_among_very_many_outputs(run, tmp_path):
    """Messages of a kernel that sends more than is read are dropped; notes are not."""
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


def test_a_cleared_output_leaves_its_row(run, tmp_path):
    clear = "from IPython.display import clear_output\nclear_output()"
    found = run(tmp_path, f"{RECORD}\n{clear}\nsweep.record(x=2.0)")
    assert found.rows == [{"x": 0.5 / 3}, {"x": 2.0}]


@pytest.mark.parametrize("leave", ["sys.exit()", "sys.exit(0)", "sys.exit(3)"])
def test_a_notebook_that_ends_python_early_has_failed(run, tmp_path, leave):
    found = run(tmp_path, f"{RECORD}\nimport sys\n{leave}", "sweep.record(x=2.0)")
    assert len(found.rows) == 1
    assert "sys.exit" in found.error or "SystemExit" in found.error


def test_a_row_that_repeats_its_point_is_one(run, tmp_path):
    found = run(tmp_path, "from dplib import sweep\nsweep.record(n=n, x=1.0)", n=4)
    assert rows_of(found.rows, {"n": 4}) == ({"x": 1.0},)


READERS = {
    "module": "import helper",
    "module in a cell with a magic": "%matplotlib inline\nimport helper",
    "package without an init": "import parts.helper",
    "script": "%run helper.py",
    "text": "open('helper.py').read()",
    "array": "import numpy as np\nnp.load('data/x.npy')",
    "descriptor": "import os\nos.close(os.open('helper.py', os.O_RDONLY))",
    "map": "import numpy as np\nnp.memmap('helper.py', dtype='u1')",
    "after a pipe": "import os\nos.path.exists('p') or os.mkfifo('p')\n"
    "os.open('p', 2)\nopen('helper.py')",
    "elsewhere": "import sys\nsys.path.insert(0, ELSEWHERE)\nimport far",
}


@pytest.mark.parametrize("how", READERS)
def test_what_a_notebook_reads_is_noted(run, tmp_path, how):
    import numpy as np

    folder, far = tmp_path / "book", tmp_path / "far"
    for place in (folder / "parts", folder / "data", far):
        place.mkdir(parents=True)
    for path in (folder / "helper.py", folder / "parts" / "helper.py", far / "far.py"):
        path.write_text("y = 1\n")
    np.save(folder / "data" / "x.npy", np.zeros(2))
    cell = READERS[how].replace("ELSEWHERE", repr(str(far)))
    wanted = {
        "package without an init": folder / "parts" / "helper.py",
        "array": folder / "data" / "x.npy",
        "elsewhere": far / "far.py",
    }.get(how, folder / "helper.py")
    # Twice: the second time Python has the module compiled.
    for _ in range(2 if "import" in cell else 1):
        found = run(folder, cell, RECORD)
        assert found.error == ""
        assert found.files == {str(wanted): watch.file_state(wanted)}


WRITERS = {
    "plainly": "open('own.txt', 'w').write('1')",
    "appending": "open('own.txt', 'a').write('1')",
    "both ways": "open('own.txt', 'w+').write('1')",
    "aside": "import os\nopen('x', 'w').write('1')\nos.replace('x', 'own.txt')",
}


@pytest.mark.parametrize("how", WRITERS)
def test_what_a_notebook_writes_is_no_input_of_it(run, tmp_path, how):
    found = run(tmp_path, WRITERS[how], "open('own.txt').read()", RECORD)
    assert found.error == ""
    assert found.files == {}


def test_what_a_failed_notebook_read_is_noted(run, tmp_path):
    (tmp_path / "own.txt").write_text("1")
    found = run(tmp_path, "open('own.txt').read()\nraise ValueError", RECORD)
    assert list(found.files) == [str(tmp_path / "own.txt")]


def test_a_notebook_that_closes_all_files_still_hands_over(run, tmp_path):
    (tmp_path / "in.txt").write_text("1")
    cell = """
import os
if os.fork() == 0:
    os.closerange(3, 256)
    with open('out.txt', 'w') as file:
        file.write(open('in.txt').read())
    os._exit(0)
os.wait()
"""
    found = run(tmp_path, cell, RECORD)
    assert (tmp_path / "out.txt").read_text() == "1"
    assert list(found.files) == [str(tmp_path / "in.txt")]
    assert len(found.rows) == 1


def test_a_fraction_of_a_second_is_a_time_that_a_cell_may_take(run, tmp_path):
    found = run(tmp_path, "import time\ntime.sleep(30)", RECORD, timeout=0.5)
    assert found.slow
    assert "took more than 1 seconds" in found.error


def test_a_module_of_the_folder_hides_none_of_the_kernel(run, tmp_path):
    (tmp_path / "json.py").write_text("raise ValueError('hidden')")
    assert run(tmp_path, RECORD).error == ""


def test_a_changed_helper_is_run_again(tmp_path):
    """From end to end: the table never mixes old and new."""
    place = tiny_sweep.Place(tmp_path)
    helper = tmp_path / "helper.py"
    tiny_sweep.write(
        tmp_path, "import helper", "from dplib import sweep\nsweep.record(x=helper.y)"
    )
    for y in (1, 22):
        helper.write_text(f"y = {y}\n")
        points = "n=1" if y == 1 else "n=1,2"
        status, printed, errors = place.run("out", "--grid", points, "--workers", "1")
        assert (status, errors) == (0, ""), printed
    lines = place.table("out").decode().split()
    assert [line.split(",")[-1] for line in lines[1:]] == ["22", "22"]
    place.close()


# -- without a kernel -------------------------------------------------------


def test_a_process_that_is_no_kernel_notes_nothing():
    code = (
        "from dplib.sweep import watch; watch.start(); watch.note_row({'x': 1}); "
        "print(watch._current)"
    )
    clean = {k: v for k, v in os.environ.items() if k != watch.NOTES}
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_kernel_whose_sweep_is_gone_ends_without_a_word(tmp_path):
    """It may be just starting when the worker that wants it is killed."""
    code = "from dplib.sweep import watch; watch.start(); print('on')"
    lost = {**os.environ, watch.NOTES: str(tmp_path / "gone" / "notes")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=lost, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_half_a_note_fails_the_point(tmp_path):
    """As on a full disk, where the cell may have caught the error."""
    notes = tmp_path / "notes"
    notes.write_text('{"row": {"x": 1}}\n{"row": {"x"')
    rows, files, damage = kernel._noted(notes)
    assert (rows, files) == ([], {})
    assert "could not be written whole" in damage


def test_notes_are_read_back_and_damaged_ones_are_refused(tmp_path):
    path = tmp_path / "notes"
    assert watch.read_notes(path) == ([], {})
    noted = watch.Watch(str(tmp_path), str(path))
    row = {"x": 1 / 3, "said": "a\nb\u2028ü", "n": 2**70, "yes": True}
    noted.row(row)
    (tmp_path / "data").write_text("one")
    for argument in ("data", b"data", Path("data"), 3, None, "gone", "x\0y"):
        whole = argument
        if isinstance(argument, (str, Path)):
            whole = os.path.join(tmp_path, argument)  # noqa: PTH118
        noted.hook("open", (whole, "r", os.O_RDONLY))
    noted.hook("import", ("something",))
    rows, files = watch.read_notes(path)
    assert rows == [row]
    assert list(files) == [str(tmp_path / "data")]
    path.write_text(path.read_text()[:-5])
    with pytest.raises(json.JSONDecodeError):
        watch.read_notes(path)


def test_an_environment_in_the_folder_is_no_input(tmp_path, monkeypatch):
    """As of a notebook that lies where the environment does."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    places = [".venv/lib/x.py", ".venv/bin/tool", "more/site-packages/y.py", "own.py"]
    noted = watch.Watch(str(tmp_path), str(tmp_path / "notes"))
    for name in places:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        noted.hook("open", (str(path), "r", os.O_RDONLY))
    _, files = watch.read_notes(tmp_path / "notes")
    assert list(files) == [str(tmp_path / "own.py")]


def test_a_notebook_is_stored_with_what_it_showed(run, tmp_path):
    found = run(tmp_path, RECORD)
    assert nbformat.validate(found.notebook) is None
    (output,) = found.notebook.cells[-1].outputs
    assert "x = 0.166667" in output.data["text/plain"]
