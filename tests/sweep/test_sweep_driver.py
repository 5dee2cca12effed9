"""The driver, with points that are run in this process instead of on a cluster."""

import csv
import io
import json
import time
from contextlib import contextmanager

import pytest
import tiny_sweep

from dplib.sweep import __main__ as command
from dplib.sweep import driver, engine, inputs, report, table, watch, worker
from dplib.sweep.errors import SweepError
from dplib.sweep.notebook import read
from dplib.sweep.request import last_request, request
from dplib.sweep.store import Failure, Result, Store


@pytest.fixture
def ran(monkeypatch):
    """Replace the cluster; return the list of points that were run."""
    points = []

    @contextmanager
    def connected(scheduler, workers, most):
        yield scheduler, workers, most

    def outcomes(_client, tasks):
        for task in tasks:
            points.append(task.point["n"])
            yield task, act(task)

    monkeypatch.setattr(engine, "connected", connected)
    monkeypatch.setattr(engine, "outcomes", outcomes)
    return points


def act(task):
    """Do what a worker would: by n, finish, fail, get lost, stop, or be odd."""
    n = task.point["n"]
    about = {"seconds": 0.5, "versions": {"numpy": "1"}}
    if n == 13:
        failure = Failure("failed", "ValueError: unlucky", "Traceback ...", about)
        task.store.write_failure(task.key, task.point, failure)
        return worker.Outcome("failed", failure.message)
    if n == 17:
        failure = Failure("failed", "slow", "", about, {}, task.timeout or 7.0)
        task.store.write_failure(task.key, task.point, failure)
        return worker.Outcome("failed", "slow")
    if n == 14:
        return worker.Outcome("lost", "The worker died 3 times.")
    if n == 15:
        return worker.Outcome("stop", "The folder cannot be written.")
    files = {}
    if n == 18:
        data = task.store.source / "data.txt"
        if not data.exists():
            data.write_text("one")
        files = inputs.digests({str(data): watch.file_state(data)}, data.parent)
    row = {"y": 1} if n == 16 else {"x": task.point["a"] * n / 3}
    task.store.write_result(task.key, task.point, Result((row,), about, files))
    return worker.Outcome("done", "", 0.5, "here")


@pytest.fixture
def notebook(tmp_path):
    return tiny_sweep.write(tmp_path)


def sweep(notebook, n, **options):
    points = {"n": n, "a": [0.1, 1e-5]}
    return driver.sweep(notebook, points, out=notebook.parent / "out", **options)


@pytest.mark.usefixtures("ran")
def test_a_sweep_gives_one_table_in_the_order_of_the_points(notebook):
    found = sweep(notebook, [2, 1])
    assert found.succeeded
    assert found.counts() == "4 points: 4 done, 0 failed, 0 lost, 0 running, 0 to do"
    assert found.table.read_text() == (
        "a,n,word,wait,x\n"
        f"0.1,2,w,0.0,{0.1 * 2 / 3!r}\n"
        f"1e-05,2,w,0.0,{1e-5 * 2 / 3!r}\n"
        f"0.1,1,w,0.0,{0.1 / 3!r}\n"
        f"1e-05,1,w,0.0,{1e-5 / 3!r}\n"
    )


def test_a_finished_point_is_never_run_again(notebook, ran):
    first = sweep(notebook, [1, 2]).table.read_bytes()
    assert sweep(notebook, [1, 2]).table.read_bytes() == first
    assert ran == [1, 1, 2, 2]
    sweep(notebook, [1, 3])
    assert ran == [1, 1, 2, 2, 3, 3]


def test_a_failed_point_stops_nobody_and_is_run_again_on_request(notebook, ran):
    found = sweep(notebook, [13, 1])
    assert [s.word for s in found.states] == ["failed", "failed", "done", "done"]
    assert found.states[0].traceback == "Traceback ..."
    assert not found.succeeded
    assert len(found.table.read_text().splitlines()) == 3
    ran.clear()
    sweep(notebook, [13, 1])
    assert ran == []
    sweep(notebook, [13, 1], retry_failed=True)
    assert ran == [13, 13]


def test_a_lost_point_is_run_again_by_itself(notebook, ran):
    found = sweep(notebook, [14])
    assert {s.word for s in found.states} == {"lost"}
    assert not found.table.exists()
    ran.clear()
    sweep(notebook, [14])
    assert ran == [14, 14]


def test_a_worker_that_cannot_work_stops_the_sweep(notebook, ran):
    with pytest.raises(SweepError, match=r"be written\. Start the sweep again"):
        sweep(notebook, [1, 15])
    assert ran == [1, 1, 15]
    found = driver.status(last_request(notebook.parent / "out"))
    assert [s.word for s in found.states] == ["done", "done", "to do", "to do"]
    assert len(found.table.read_text().splitlines()) == 3  # what is finished


def test_a_point_that_took_too_long_is_run_again_with_more_time(notebook, ran):
    sweep(notebook, [17], timeout=5)
    ran.clear()
    assert not sweep(notebook, [17], timeout=5).succeeded
    assert ran == []
    sweep(notebook, [17], timeout=6)
    assert ran == [17, 17]
    ran.clear()
    sweep(notebook, [17])
    assert ran == [17, 17]


def test_a_folder_without_its_notebook_heals(notebook, ran):
    sweep(notebook, [1])
    (copy,) = notebook.parent.glob("out/versions/*/notebook.ipynb")
    copy.unlink()
    sweep(notebook, [1, 2])
    assert ran == [1, 1, 2, 2]
    assert copy.is_file()


def test_a_refusal_leaves_the_table(notebook, ran, monkeypatch):
    first = sweep(notebook, [1]).table.read_bytes()

    @contextmanager
    def refused(*_args, **_options):
        raise ValueError("The 'scheduler' parameter of sweep must be other.")
        yield

    monkeypatch.setattr(engine, "connected", refused)
    with pytest.raises(ValueError, match="scheduler"):
        sweep(notebook, [1, 2], scheduler="foo")
    assert (notebook.parent / "out" / "table.csv").read_bytes() == first
    assert ran == [1, 1]


def test_a_point_whose_file_has_changed_says_so(notebook, ran):
    sweep(notebook, [18])
    (notebook.parent / "data.txt").write_text("two")
    asked = last_request(notebook.parent / "out")
    states = driver.status(asked).states
    assert {s.word for s in states} == {"to do"}
    assert states[0].message == "data.txt has changed since it was run."
    ran.clear()
    assert sweep(notebook, [18]).succeeded
    assert ran == [18, 18]


def test_a_sweep_without_a_name_is_refused(notebook, ran):
    with pytest.raises(SweepError, match="must have a name"):
        driver.sweep(notebook, [{}], out="")
    assert command.main([str(notebook), "--grid", "n=1", "--out", ""]) == 2
    assert ran == []


@pytest.mark.parametrize(
    "name",
    ["table.csv", "points.csv", "request.json", "notes", "lock", ".mine.part"],
)
def test_a_folder_with_files_of_the_users_is_left_alone(notebook, ran, capsys, name):
    out = notebook.parent / "out"
    out.mkdir()
    (out / name).write_text("mine")
    status, _, errors = run(capsys, notebook, "--grid", "n=1", "--out", out)
    assert (status, errors.count("\n")) == (2, 1)
    assert "holds other files than a sweep's" in errors
    assert ran == []
    assert [path.name for path in out.iterdir()] == [name]
    assert (out / name).read_text() == "mine"


@pytest.mark.usefixtures("ran")
def test_the_file_of_points_is_never_overwritten(notebook, capsys):
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
    (out / "lock").touch()
    (out / ".request.json~host~1~01234567.part").write_text("{")
    assert sweep(notebook, [1]).succeeded
    assert ran == [1, 1]


def test_a_point_with_other_columns_fails_and_stays_out_of_the_table(notebook, ran):
    found = sweep(notebook, [1, 16, 2])
    words = [s.word for s in found.states]
    assert words == ["done", "done", "failed", "failed", "done", "done"]
    assert "columns (y) are not those of the first" in found.states[2].message
    assert len(found.table.read_text().splitlines()) == 5
    ran.clear()
    sweep(notebook, [1, 16, 2], retry_failed=True)
    assert ran == []  # its result is whole: it is the notebook that must change


def test_results_of_other_code_are_kept_apart(notebook, ran):
    first = sweep(notebook, [1]).table.read_bytes()
    changed = tiny_sweep.ROW.replace("a * n / 3", "a * n / 7")
    tiny_sweep.write(notebook.parent, changed)
    ran.clear()
    sweep(notebook, [1])
    assert ran == [1, 1]
    tiny_sweep.write(notebook.parent)
    ran.clear()
    assert sweep(notebook, [1]).table.read_bytes() == first
    assert ran == []
    versions = notebook.parent / "out" / "versions"
    assert len(list(versions.iterdir())) == 2


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
    assert "point a=0.1 n=13: failed in" in log  # by its values
    assert "point a=1e-05 n=13: failed in" in log


@pytest.mark.usefixtures("ran")
def test_many_points_are_listed_and_resumed_in_seconds(notebook):
    points = {"a": [i / 7 for i in range(50)], "n": list(range(100, 140))}
    asked = request(read(notebook), points, notebook.parent / "out")
    for key, point in list(zip(asked.keys, asked.points, strict=True))[:200]:
        act(worker.Task(asked.store, key, point, notebook.parent))
    start = time.process_time()
    found = driver.status(asked)
    assert found.counts().startswith("2000 points: 200 done")
    assert time.process_time() - start < 5.0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"workers": 0}, ValueError, "'workers' parameter of sweep must be an integer"),
        ({"workers": True}, TypeError, "'workers' parameter of sweep must be an"),
        ({"timeout": 0}, ValueError, "'timeout' parameter of sweep must be a positive"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(
    notebook, ran, options, error, message
):
    with pytest.raises(error, match=message):
        sweep(notebook, [1], **options)
    assert ran == []
    assert not (notebook.parent / "out").exists()


def test_a_file_where_a_folder_is_expected_is_refused(notebook, ran):
    out = notebook.parent / "out"
    out.write_text("mine")
    with pytest.raises(SweepError, match="is a file"):
        sweep(notebook, [1])
    with pytest.raises(SweepError, match="is a file"):
        driver.sweep(notebook, [{}], out=out / "deeper")
    out.unlink()
    out.mkdir()
    (out / "versions").write_text("mine")
    with pytest.raises(SweepError, match="cannot be written"):
        sweep(notebook, [1])
    assert ran == []
    assert (out / "versions").read_text() == "mine"


# -- what a worker makes of an executed notebook ---------------------------


POINT = {"a": 0.5, "n": 3}


def test_rows_leave_out_what_only_repeats_a_parameter():
    found = worker.rows_of([{"a": 0.5, "n": 3.0, "x": 1.0}], POINT)
    assert found == ({"x": 1.0},)
    found = worker.rows_of([{"x": 1}, {"x": 2}], POINT)
    assert found == ({"x": 1}, {"x": 2})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "never called sweep.record"),
        ([{"x": 1}, {"y": 1}], "rows with different columns: x; then y"),
        ([{"a": 0.25, "x": 1}], "The row says a=0.25, and the parameter is 0.5"),
        ([{"x": float("nan")}], "'x' parameter of record must be finite"),
        ([{}], "at least one named value"),
    ],
)
def test_rows_that_no_table_can_hold_fail_the_point(rows, message):
    with pytest.raises(ValueError, match=message):
        worker.rows_of(rows, POINT)


def test_columns_in_another_order_are_the_same_columns():
    results = [Result(({"x": 1, "y": 2},), {}), Result(({"y": 4, "x": 3},), {})]
    assert table.odd_columns(results) == {}
    assert table.text_of([{"n": 1}, {"n": 2}], results) == "n,x,y\n1,1,2\n2,3,4\n"


def test_a_worker_with_other_code_or_without_the_folder_stops(notebook, tmp_path):
    book = read(notebook)
    asked = request(book, [{}], tmp_path / "out")
    task = worker.Task(asked.store, asked.keys[0], asked.points[0])
    found = worker.run_point(task)
    assert found.state == "stop"
    assert "does not see" in found.message
    asked.store.out.mkdir()
    driver._prepare(book, asked)
    other = Store(asked.store.out, "0" * 64, book.folder)
    other.folder.mkdir(parents=True)
    (other.folder / "notebook.ipynb").write_text(book.text)
    found = worker.run_point(worker.Task(other, asked.keys[0], asked.points[0]))
    assert found.state == "stop"
    assert "not, or no longer, that of this sweep" in found.message


# -- the command line -------------------------------------------------------


def run(capsys, *arguments):
    status = command.main([str(a) for a in arguments])
    return status, *capsys.readouterr()


def test_a_dry_run_lists_the_points_and_makes_nothing(notebook, capsys):
    out = notebook.parent / "out"
    numbers = ",".join(map(str, range(30)))
    grid = ["--grid", f"n={numbers}", "--out", out, "--dry-run"]
    status, printed, _ = run(capsys, notebook, *grid)
    assert status == 0
    assert printed.startswith("30 points\n  1: a=0.5 n=0 word='w' wait=0.0\n")
    assert "... and 10 more" in printed
    _, printed, _ = run(capsys, notebook, *grid, "--verbose")
    assert len(printed.splitlines()) == 31
    assert not out.exists()


@pytest.mark.usefixtures("ran")
def test_the_command_runs_tells_and_exits(notebook, capsys):
    out = notebook.parent / "out"
    command_line = [notebook, "--grid", "n=1,13", "--out", out]
    status, printed, _ = run(capsys, *command_line)
    assert status == 1
    assert "failed   n=13" in printed
    assert "ValueError: unlucky" in printed
    assert "2 points: 1 done, 1 failed, 0 lost, 0 running, 0 to do" in printed
    assert run(capsys, "--status", "--out", out)[:2] == (1, printed)
    status, printed, _ = run(capsys, notebook, "--grid", "n=1", "--out", out)
    assert status == 0
    assert f"table: {out / 'table.csv'}\n" in printed
    many = ",".join(map(str, range(1, 40)))
    status, printed, _ = run(
        capsys, notebook, "--grid", f"n={many}", "--out", out, "--status"
    )
    assert status == 1
    assert "39 points: 1 done, 1 failed, 0 lost, 0 running, 37 to do" in printed
    assert "failed" in printed
    assert "n=2 " not in printed


@pytest.mark.usefixtures("ran")
def test_a_file_of_points_and_a_grid_go_together(notebook, capsys):
    file = notebook.parent / "points.csv"
    file.write_text("a\n0.1\n1e-5\n")
    out = notebook.parent / "out"
    given = ("--points", file, "--grid", "n=1,2", "--out", out)
    assert run(capsys, notebook, *given)[0] == 0
    lines = (out / "table.csv").read_text().splitlines()
    assert [line.split(",")[:2] for line in lines[1:]] == [
        ["0.1", "1"],
        ["0.1", "2"],
        ["1e-05", "1"],
        ["1e-05", "2"],
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--grid", "wrod=1"], 2, "did you mean 'word'?"),
        (["--grid", "n=1,1"], 2, "Points 1 and 2 are the same"),
        (["--grid", "n=1", "--grid", "n=2"], 2, "given once for each name"),
        (["--grid", "n"], 2, "NAME=VALUE"),
        ([], 2, "Which points?"),
        (["--points", "none.csv"], 2, "cannot be read"),
        (["--grid", "n=1", "--workers", "0"], 2, "'workers' parameter of sweep"),
    ],
)
def test_what_is_refused_is_told_in_one_line(
    notebook, ran, capsys, arguments, status, message
):
    out = notebook.parent / "out"
    found, printed, errors = run(capsys, notebook, *arguments, "--out", out)
    assert found == status
    assert message in errors
    assert errors.count("\n") == 1
    assert printed == ""
    assert ran == []


def test_a_sweep_that_is_not_there_has_no_status(tmp_path, capsys):
    status, _, errors = run(capsys, "--status", "--out", tmp_path)
    assert status == 2
    assert "There is no sweep in" in errors
    (tmp_path / "request.json").write_text(json.dumps([]))
    status, _, errors = run(capsys, "--status", "--out", tmp_path)
    assert status == 2
    assert "request.json is damaged" in errors


def test_a_fault_of_ours_is_not_dressed_as_a_refusal(notebook, monkeypatch):
    def broken(*_):
        raise ValueError("something else")

    monkeypatch.setattr(command, "read", broken)
    with pytest.raises(ValueError, match="something else"):
        command.main([str(notebook), "--grid", "n=1", "--out", "x", "--dry-run"])
