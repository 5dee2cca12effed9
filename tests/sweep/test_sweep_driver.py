"""The driver, with points that are run in this process instead of on a cluster."""

import csv
import io
import itertools
import json
import time
from types import SimpleNamespace

import pytest
import tiny_sweep

from dplib.sweep import __main__ as command
from dplib.sweep import driver, engine, report, worker
from dplib.sweep.notebook import point_key, read
from dplib.sweep.parameters import RefusedError
from dplib.sweep.store import Request, Result, Store, SweepError, last_request, locked


@pytest.fixture
def ran(monkeypatch):
    """Replace the cluster; return the list of points that were run."""
    points = []

    def run(tasks, _scheduler, _workers, _tell):
        for task in tasks:
            points.append(task.point["n"])
            yield task.key, report.State(*act(task), 0.5)

    monkeypatch.setattr(engine, "run", run)
    return points


def act(task):
    """Do what a worker would: by n, finish, fail, get lost, stop, or be odd."""
    n = task.point["n"]
    about = worker.provenance() | {"seconds": 0.5, "versions": {"numpy": "1"}}
    if n == 13:
        failed = Result("failed", [], "ValueError: unlucky", "Traceback ...", about)
        task.store.write(task.key, task.point, failed)
        return "failed", failed.message
    if n == 14:
        lost = Result("lost", [], "The worker died 3 times.", "", about)
        task.store.write(task.key, task.point, lost)
        return "lost", lost.message
    if n == 15:
        raise SweepError("The folder cannot be written.")
    row = {"y": 1} if n == 16 else {"x": task.point["a"] * n / 3}
    task.store.write(task.key, task.point, Result("done", [row], "", "", about))
    if n == 18:  # it ends while Ctrl-C does its work
        raise KeyboardInterrupt
    return "done", ""


@pytest.fixture
def notebook(tmp_path):
    return tiny_sweep.write(tmp_path)


def sweep(notebook, n, **options):
    points = {"n": n, "a": [0.1, 1e-5]}
    return driver.sweep(notebook, points, out=notebook.parent / "out", **options)


def words(found):
    return [state.word for state in found.states]


@pytest.mark.usefixtures("ran")
def test_a_sweep_gives_one_table_sorted_by_the_parameters(notebook):
    found = sweep(notebook, [2, 1])
    assert found.succeeded
    assert found.counts() == "4 points: 4 done, 0 failed, 0 lost, 0 running, 0 to do"
    assert found.table.read_text() == (
        "a,n,word,wait,x\n"
        f"1e-05,1,w,0.0,{1e-5 / 3!r}\n"
        f"1e-05,2,w,0.0,{1e-5 * 2 / 3!r}\n"
        f"0.1,1,w,0.0,{0.1 / 3!r}\n"
        f"0.1,2,w,0.0,{0.1 * 2 / 3!r}\n"
    )


def test_a_finished_point_is_never_run_again_and_stays_in_the_table(notebook, ran):
    sweep(notebook, [1, 2])
    sweep(notebook, [1, 2])
    assert ran == [1, 1, 2, 2]
    found = sweep(notebook, [3])
    assert found.counts().startswith("2 points: 2 done")
    assert ran == [1, 1, 2, 2, 3, 3]
    out = notebook.parent / "again"
    again = driver.sweep(notebook, {"n": [3, 1, 2], "a": [0.1, 1e-5]}, out=out)
    assert again.table.read_bytes() == found.table.read_bytes()


def test_a_failed_point_stops_nobody_and_is_run_again_on_request(notebook, ran):
    found = sweep(notebook, [13, 1])
    assert words(found) == ["failed", "failed", "done", "done"]
    assert found.asked.store.failure(found.asked.keys[0]).traceback == "Traceback ..."
    assert not found.succeeded
    assert len(found.table.read_text().splitlines()) == 3
    ran.clear()
    sweep(notebook, [13, 1])
    assert ran == []
    sweep(notebook, [13, 1], retry_failed=True)
    assert ran == [13, 13]


def test_a_lost_point_is_run_again_by_itself(notebook, ran):
    found = sweep(notebook, [14])
    assert words(found) == ["lost", "lost"]
    assert not found.table.exists()
    ran.clear()
    sweep(notebook, [14])
    assert ran == [14, 14]


def test_what_stops_the_sweep_leaves_the_table_so_far(notebook, ran):
    with pytest.raises(SweepError, match="cannot be written"):
        sweep(notebook, [1, 15])
    assert ran == [1, 1, 15]
    found = report.report(last_request(notebook.parent / "out"))
    assert words(found) == ["done", "done", "to do", "to do"]
    assert len(found.table.read_text().splitlines()) == 3


def test_a_point_that_ends_during_ctrl_c_is_in_the_log(notebook, ran):
    with pytest.raises(KeyboardInterrupt):
        sweep(notebook, [1, 18])
    log = (notebook.parent / "out" / "log.txt").read_text()
    assert log.count("interrupted") == 1
    assert log.count("point a=0.1 n=18: done in") == 1
    assert log.count(": done in") == 3
    assert ran == [1, 1, 18]


def test_s5_limit_runs_a_few_points(notebook, ran):
    found = sweep(notebook, [1, 2, 3], limit=2)
    assert words(found) == ["done"] * 2 + ["to do"] * 4
    assert not found.succeeded
    sweep(notebook, [1, 2, 3], limit=3)
    assert ran == [1, 1, 2, 2, 3]


def test_s5_max_failures_stops_after_so_many(notebook, ran):
    with pytest.raises(SweepError, match="2 points failed: stopped"):
        sweep(notebook, [1, 13, 14, 2], max_failures=2)
    assert ran == [1, 1, 13, 13]
    found = report.report(last_request(notebook.parent / "out"))
    assert words(found) == ["done"] * 2 + ["failed"] * 2 + ["to do"] * 4


@pytest.mark.usefixtures("ran")
def test_s5_the_table_is_written_while_the_sweep_runs(notebook, monkeypatch):
    seen, table = [], notebook.parent / "out" / "table.csv"

    def run(tasks, _scheduler, _workers, _tell):
        for task in tasks:
            yield task.key, report.State(*act(task), 0.5)
            seen.append(len(table.read_text().splitlines()))

    monkeypatch.setattr(engine, "run", run)
    monkeypatch.setattr(driver, "_EVERY", 0.0)
    clock = itertools.count(0.0, 100.0)
    monkeypatch.setattr(driver.time, "monotonic", lambda: next(clock))
    sweep(notebook, [1, 2])
    assert seen == sorted(seen)
    assert seen[0] == 2


@pytest.mark.usefixtures("ran")
def test_s5_status_tells_the_time_left(notebook, capsys):
    points = {"n": list(range(1, 41))}
    out = notebook.parent / "out"
    driver.sweep(notebook, points, out=out, limit=10)
    asked = last_request(out)
    mark = asked.store.path("running", asked.keys[20])
    mark.parent.mkdir()
    mark.touch()
    began = time.time() - 10
    found = report.report(asked, began)
    assert found.counts().endswith("10 done, 0 failed, 0 lost, 1 running, 29 to do")
    assert 29 < found.left < 40
    assert "left\ntable: " in report.summary(found)
    with locked(out):
        act(worker.Task(asked.store, asked.keys[10], asked.points[10]))
        status, printed, _ = run(capsys, "--status", "--out", out)
    assert (status, "about 0:00:" in printed) == (1, True)
    # Without a driver, nobody is at work.
    _, printed, _ = run(capsys, "--status", "--out", out)
    assert "0 running, 29 to do" in printed
    assert "left" not in printed


def test_a_folder_without_its_notebook_heals(notebook, ran):
    sweep(notebook, [1])
    (copy,) = notebook.parent.glob("out/versions/*/notebook.ipynb")
    copy.unlink()
    sweep(notebook, [1, 2])
    assert ran == [1, 1, 2, 2]
    assert copy.is_file()


@pytest.mark.parametrize("name", ["table.csv", "points.csv", "lock"])
def test_s1_files_of_the_users_are_left_alone(notebook, ran, capsys, name):
    out = notebook.parent / "out"
    out.mkdir()
    (out / name).write_text("mine")
    status, _, errors = run(capsys, notebook, "--grid", "n=1", "--out", out)
    assert (status, errors.count("\n")) == (2, 1)
    assert "is not empty, and not a sweep's" in errors
    assert ran == []
    assert [path.name for path in out.iterdir()] == [name]
    assert (out / name).read_text() == "mine"


@pytest.mark.usefixtures("ran")
def test_s1_the_file_of_points_is_never_overwritten(notebook, capsys):
    out = notebook.parent / "out"
    sweep(notebook, [1])
    (out / "points.csv").write_text("n\n2\n")
    given = ("--points", out / "points.csv", "--out", out)
    status, _, errors = run(capsys, notebook, *given)
    assert status == 2
    assert "lies in the folder of the sweep" in errors
    assert (out / "points.csv").read_text() == "n\n2\n"


def test_a_sweep_killed_at_its_start_goes_on(notebook, ran):
    out = notebook.parent / "out"
    (out / "versions").mkdir(parents=True)
    (out / ".dplib-sweep").touch()
    (out / ".request.json~host~1~01234567.part").write_text("{")
    assert sweep(notebook, [1]).succeeded
    assert ran == [1, 1]


def test_s4_the_odd_columns_fail_whoever_finished_first(notebook, ran):
    found = sweep(notebook, [16, 20, 21])
    assert words(found) == ["failed"] * 2 + ["done"] * 4
    assert "columns (y) are not those of most points (x)" in found.states[0].message
    assert len(found.table.read_text().splitlines()) == 5
    ran.clear()
    sweep(notebook, [16, 20, 21], retry_failed=True)
    assert ran == []  # its result is whole: it is the notebook that must change


def test_s4_columns_in_another_order_are_the_same_columns(tmp_path):
    store, points = Store(tmp_path, "f" * 64, tmp_path), ({"n": 1}, {"n": 2})
    about = {"seconds": 1.0}
    rows = {"x": 1, "y": 2}, {"y": 4, "x": 3}
    keys = [point_key(store.version, point, tmp_path) for point in points]
    for key, point, row in zip(keys, points, rows, strict=True):
        store.write(key, point, Result("done", [row], "", "", about))
    found = report.report(Request("n", points, keys, store))
    assert (found.succeeded, found.text) == (True, "n,x,y\n1,1,2\n2,3,4\n")


def test_results_of_other_code_are_kept_apart(notebook, ran):
    first = sweep(notebook, [1]).table.read_bytes()
    changed = tiny_sweep.ROW.replace("a * n / 3", "a * n / 7")
    tiny_sweep.write(notebook.parent, changed)
    ran.clear()
    assert len(sweep(notebook, [1]).table.read_text().splitlines()) == 3
    assert ran == [1, 1]
    tiny_sweep.write(notebook.parent)
    ran.clear()
    assert sweep(notebook, [1]).table.read_bytes() == first
    assert ran == []


def test_a_point_whose_file_has_changed_has_one_row(notebook, ran):
    data, out = notebook.parent / "data.txt", notebook.parent / "out"
    for text in ("one", "two", "one"):
        data.write_text(text)
        found = driver.sweep(notebook, {"word": ["data.txt"]}, out=out)
        assert found.succeeded
        assert len(found.table.read_text().splitlines()) == 2
    assert ran == [3, 3]  # the third time, as the first result is found again
    data.write_text("three")
    assert words(report.report(last_request(out))) == ["to do"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_bar_is_drawn_on_a_terminal_only(monkeypatch):
    drawn = []
    for screen, wanted in ((Terminal(), True), (Terminal(), False), (io.StringIO(), 1)):
        monkeypatch.setattr("sys.stderr", screen)
        with report.bar(2, 4, wanted) as advance:
            advance("failed")
            advance("done")
        drawn.append(screen.getvalue())
    assert "4/4" in drawn[0]
    assert "failed=1" in drawn[0]
    assert drawn[1:] == ["", ""]


@pytest.mark.usefixtures("ran")
def test_points_csv_and_log_tell_point_by_point(notebook):
    sweep(notebook, [1, 13])
    out = notebook.parent / "out"
    with (out / "points.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["state"] for line in lines] == ["done", "done", "failed", "failed"]
    assert lines[2]["message"] == "ValueError: unlucky"
    assert (lines[0]["number"], lines[0]["a"], lines[0]["n"]) == ("1", "0.1", "1")
    log = (out / "log.txt").read_text()
    assert "4 to run" in log
    assert "point a=0.1 n=13: failed in 0.5 s ValueError: unlucky" in log
    assert "point a=1e-05 n=13: failed in" in log


def test_a_file_where_a_folder_is_expected_is_refused(notebook, ran):
    out = notebook.parent / "out"
    out.write_text("mine")
    with pytest.raises(RefusedError, match="is a file"):
        sweep(notebook, [1])
    out.unlink()
    sweep(notebook, [1])
    version = next((out / "versions").iterdir())
    version.rename(out / "elsewhere")
    version.write_text("mine")
    with pytest.raises(SweepError, match="cannot be written"):
        sweep(notebook, [1])
    assert version.read_text() == "mine"
    assert ran == [1, 1]


# -- what a worker makes of an executed notebook ---------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "never called sweep.record"),
        ([{"x": 1}, {"y": 1}], "rows with different columns: x; then y"),
        ([{"a": 0.25, "x": 1}], "The row says a=0.25, and the parameter is 0.5"),
        ([{"x": float("nan")}], "'x' parameter of record must be finite"),
    ],
)
def test_rows_that_no_table_can_hold_fail_the_point(rows, message):
    with pytest.raises(ValueError, match=message):
        worker.rows_of(rows, {"a": 0.5, "n": 3})


def test_a_worker_with_other_code_or_without_the_folder_stops(
    notebook, tmp_path, monkeypatch
):
    here = SimpleNamespace(local_directory=None)
    monkeypatch.setattr(worker, "get_worker", lambda: here)
    book = read(notebook)
    asked = driver.request(book, [{}], tmp_path / "out")
    with pytest.raises(worker.StopError, match="does not see"):
        worker.run_point(worker.Task(asked.store, asked.keys[0], asked.points[0]))
    other = Store(tmp_path / "out", "0" * 64, book.folder)
    other.folder.mkdir(parents=True)
    (other.folder / "notebook.ipynb").write_text(book.text)
    with pytest.raises(worker.StopError, match="not, or no longer, that of this sweep"):
        worker.run_point(worker.Task(other, "0" * 32, asked.points[0]))


def test_a_file_that_changes_under_a_point_stops(notebook, tmp_path, monkeypatch):
    data = tmp_path / "data.txt"
    data.write_text("one")

    def execute(*_args, **_options):
        data.write_text("two")
        return SimpleNamespace(notebook=None, rows=[{"x": 1}], error="")

    monkeypatch.setattr(
        worker, "get_worker", lambda: SimpleNamespace(local_directory=None)
    )
    monkeypatch.setattr(worker, "execute", execute)
    book = read(notebook)
    asked = driver.request(book, [{"word": "data.txt"}], tmp_path / "out")
    asked.store.folder.mkdir(parents=True)
    (asked.store.folder / "notebook.ipynb").write_text(book.text)
    with pytest.raises(worker.StopError, match="a file that a parameter names"):
        worker.run_point(worker.Task(asked.store, asked.keys[0], asked.points[0]))
    assert not asked.store.done(asked.keys[0])


# -- the command line -------------------------------------------------------


def run(capsys, *arguments):
    status = command.main([str(a) for a in arguments])
    return status, *capsys.readouterr()


def test_a_dry_run_lists_the_points_and_makes_nothing(notebook, capsys):
    out = notebook.parent / "out"
    grid = ["--grid", "n=0:29", "--out", out, "--dry-run"]
    status, printed, _ = run(capsys, notebook, *grid)
    assert status == 0
    assert printed.startswith("30 points\n  1: a=0.5 n=0 word='w' wait=0.0\n")
    assert "... and 10 more" in printed
    _, printed, _ = run(capsys, notebook, *grid, "--verbose")
    assert len(printed.splitlines()) == 31
    assert not out.exists()
    status, _, errors = run(capsys, "--status", "--out", out)
    assert status == 2
    assert errors == f"No sweep has begun in {out} (a dry run leaves nothing).\n"


@pytest.mark.usefixtures("ran")
def test_the_command_runs_tells_and_exits(notebook, capsys):
    out = notebook.parent / "out"
    status, printed, _ = run(capsys, notebook, "--grid", "n=1,13", "--out", out)
    assert status == 1
    assert "failed   n=13" in printed
    assert "ValueError: unlucky" in printed
    assert "2 points: 1 done, 1 failed, 0 lost, 0 running, 0 to do" in printed
    assert run(capsys, "--status", "--out", out)[:2] == (1, printed)
    status, printed, _ = run(capsys, notebook, "--grid", "n=1", "--out", out)
    assert status == 0
    assert f"table: {out / 'table.csv'}\n" in printed
    assert run(capsys, "--status", "--out", out)[:2] == (0, printed)
    status, printed, _ = run(
        capsys, notebook, "--grid", "n=20:50", "--out", out, "--limit", "2"
    )
    assert status == 0  # what it was to run is done
    assert "31 points: 2 done, 0 failed, 0 lost, 0 running, 29 to do" in printed
    assert "n=20 " not in printed
    assert run(capsys, "--status", "--out", out)[0] == 1


def test_with_a_limit_the_points_of_this_run_are_judged(notebook, ran, capsys):
    options = ("--out", notebook.parent / "out", "--limit", "1")
    assert run(capsys, notebook, "--grid", "n=13", *options)[0] == 1
    status, printed, _ = run(capsys, notebook, "--grid", "n=13,1,2", *options)
    assert (status, ran) == (0, [13, 1])
    assert "3 points: 1 done, 1 failed, 0 lost, 0 running, 1 to do" in printed
    assert "runs failed points again, other than those with odd columns" in printed
    assert run(capsys, notebook, "--grid", "n=14,2", *options)[0] == 1


@pytest.mark.usefixtures("ran")
def test_a_file_of_points_and_a_grid_go_together(notebook, capsys):
    file = notebook.parent / "points.csv"
    file.write_text("a\n0.1\n1e-5\n")
    out = notebook.parent / "out"
    given = ("--points", file, "--grid", "n=1,2", "--out", out)
    assert run(capsys, notebook, *given)[0] == 0
    lines = (out / "table.csv").read_text().splitlines()
    found = [line.split(",")[:2] for line in lines[1:]]
    assert found == [["1e-05", "1"], ["1e-05", "2"], ["0.1", "1"], ["0.1", "2"]]


def test_s5_replicates_give_every_point_its_seeds(tmp_path, capsys):
    cell = "n = 1\nseed = 2026"
    notebook = tiny_sweep.write(
        tmp_path, tiny_sweep.ROW, parameters=cell, name="seeded"
    )
    options = ("--replicates", "3", "--out", tmp_path / "out", "--dry-run")
    status, printed, _ = run(capsys, notebook, "--grid", "n=5,6", *options)
    assert (status, printed.count("seed=")) == (0, 6)
    assert "2: n=5 seed=2\n" in printed
    status, _, errors = run(capsys, notebook, "--grid", "seed=1", *options)
    assert (status, "given twice" in errors) == (2, True)
    bare = tiny_sweep.write(tmp_path)
    status, _, errors = run(capsys, bare, *options)
    assert (status, "Got 'seed' instead" in errors) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--grid", "wrod=1"], "did you mean 'word'?"),
        (["--grid", "n=1,1"], "Points 1 and 2 are the same"),
        (["--grid", "n=1", "--grid", "n=2"], "A parameter is given twice"),
        (["--grid", "n=1:1000000000"], "a range of at most 1000000 numbers"),
        (["--grid", "n=1e-5"], "must be an integer, as its default 3 is"),
        (["--grid", "n"], "NAME=VALUE"),
        ([], "Which points?"),
        (["--points", "none.csv"], "cannot be read"),
        (["--grid", "n=1", "--out", ""], "must have a name"),
        (["--grid", "n=1", "--scheduler", "foo"], "must be like tcp://HOST:PORT"),
    ],
)
def test_what_is_refused_is_told_in_one_line(notebook, ran, capsys, arguments, message):
    out = notebook.parent / "out"
    found, printed, errors = run(capsys, notebook, "--out", out, *arguments)
    assert found == 2
    assert message in errors
    assert (errors.count("\n"), printed, ran, out.exists()) == (1, "", [], False)


def test_a_notebook_that_records_nothing_starts_nothing(tmp_path, ran, capsys):
    silent = tiny_sweep.write(tmp_path, "x = a * n", name="silent")
    out = tmp_path / "out"
    found, printed, errors = run(capsys, silent, "--grid", "n=1", "--out", out)
    assert (found, "calls sweep.record" in errors) == (2, True)
    assert (errors.count("\n"), printed, ran, out.exists()) == (1, "", [], False)


@pytest.mark.parametrize("option", ["--workers", "--limit", "--timeout"])
def test_a_number_below_one_is_refused(notebook, ran, capsys, option):
    with pytest.raises(SystemExit, match="2"):
        run(capsys, notebook, "--grid", "n=1", "--out", "x", option, "0")
    assert "must be 1 or more. Got 0 instead." in capsys.readouterr().err
    assert ran == []


def test_a_damaged_request_is_told(tmp_path, capsys):
    (tmp_path / "request.json").write_text(json.dumps([]))
    status, _, errors = run(capsys, "--status", "--out", tmp_path)
    assert status == 2
    assert "request.json is damaged" in errors
