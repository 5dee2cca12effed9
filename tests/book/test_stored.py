"""Stored results: made, resumed, refused, recertified; on tiny books of their own."""

import hashlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dplib.book import stored, stored_work
from dplib.book.stored import StoredError

TINY = '''\
"""A tiny run."""

from dplib.rng import stream

PARAMETERS = {"seed": 1, "steps": 3}
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-6}
TASK = ("variant", "run")
COLUMNS = ("step", "value")


def tasks():
    """Return the tasks."""
    return [(name, number) for name in ("plain", "odd") for number in range(4)]


def run(variant, number):
    """Draw."""
    rng = stream(PARAMETERS["seed"], "tiny", variant, number)
    return [(step, rng.normal()) for step in range(PARAMETERS["steps"])]
'''


@pytest.fixture
def book(tmp_path):
    (tmp_path / "book" / "claims").mkdir(parents=True)
    (tmp_path / "notebooks" / "tiny" / "results").mkdir(parents=True)
    write(tmp_path, TINY)
    return tmp_path


def place(book, suffix=".py"):
    return book / "notebooks" / "tiny" / "results" / f"run{suffix}"


def write(book, text):
    place(book).write_text(text, encoding="utf-8")
    stored_work._definition.cache_clear()


def define(book):
    return stored.load_definition(place(book))


def made(book, **how):
    stored_work.produce(define(book), root=book, **how)
    return stored.load("tiny/run", root=book)


def table(book):
    return place(book, ".csv").read_bytes()


# -- the table --------------------------------------------------------------


def test_a_result_is_made_and_read_back(book):
    got = made(book)
    assert got.header == ("variant", "run", "step", "value")
    assert len(got.rows) == 24
    assert [(v, int(n), int(k), float(x)) for v, n, k, x in got.rows] == [
        row for task in define(book).tasks for row in define(book).rows(task)
    ]
    assert got.column("value", variant="odd", run=3).shape == (3,)
    assert got.column("run", variant="odd").dtype.kind == "i"
    assert got.column("value").dtype.kind == "f"
    assert got.column("variant", run=1)[0] == "plain"
    assert got.of_task("plain", 0) == list(got.rows[:3])
    assert got.about["provenance"]["versions"]["numpy"] == np.__version__
    assert stored.status(define(book), root=book) == ""
    assert not (book / "runs" / "stored" / "tiny" / "run").exists() or not any(
        (book / "runs" / "stored" / "tiny" / "run").iterdir()
    )
    assert not list(place(book).parent.glob(".*"))  # nothing half-written


@pytest.mark.slow
def test_serial_and_parallel_runs_write_the_same_table(book):
    made(book)
    serial = table(book)
    made(book, workers=2)
    assert table(book) == serial


def test_asking_for_what_is_not_there_says_what_is(book):
    got = made(book)
    with pytest.raises(StoredError, match="no column 'x'; there are variant, run"):
        got.column("x")
    with pytest.raises(StoredError, match="no row with"):
        got.column("value", variant="even")
    with pytest.raises(
        StoredError, match=r"there is no notebooks/tiny/results/no\.csv"
    ):
        stored.load("tiny/no", root=book)
    with pytest.raises(ValueError, match="like 'truthful/finals'"):
        stored.load("../../etc/passwd", root=book)


# -- what is damaged is refused ---------------------------------------------


@pytest.mark.parametrize("cut", [0, 1, 40, -1])
def test_a_cut_table_is_refused_in_one_sentence(book, cut):
    made(book)
    place(book, ".csv").write_bytes(table(book)[:cut])
    with pytest.raises(StoredError, match=r"is not the table that run\.json describes"):
        stored.load("tiny/run", root=book)
    assert "restore both files" in stored.status(define(book), root=book)


def test_one_digit_changed_is_noticed(book):
    made(book)
    content = bytearray(table(book))
    content[-3] = content[-3] ^ 1
    place(book, ".csv").write_bytes(bytes(content))
    with pytest.raises(StoredError, match=r"run\.csv is not the table"):
        stored.load("tiny/run", root=book)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"sha256": 3}', "null"])
def test_a_broken_description_is_refused(book, text):
    made(book)
    place(book, ".json").write_text(text, encoding="utf-8")
    with pytest.raises(StoredError, match=r"run\.json is damaged"):
        stored.load("tiny/run", root=book)


def test_killed_between_description_and_table_is_refused_and_can_go_on(
    book, monkeypatch
):
    made(book)
    old = table(book)
    write(book, TINY.replace('"seed": 1', '"seed": 2'))

    write_whole = stored_work.write_atomically

    def killed(path, text):
        if path == place(book, ".csv"):
            raise KeyboardInterrupt
        write_whole(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(stored_work, "write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            stored_work.produce(define(book), root=book)
    assert table(book) == old
    with pytest.raises(StoredError, match="is not the table"):
        stored.load("tiny/run", root=book)

    def never(*_):
        raise AssertionError("all tasks were finished")

    with monkeypatch.context() as patch:
        patch.setattr(stored_work, "_do", never)
        stored_work.produce(define(book), root=book)
    assert stored.status(define(book), root=book) == ""


def test_a_table_that_no_run_wrote_is_not_overwritten(book):
    place(book, ".csv").write_text("mine")
    with pytest.raises(StoredError, match="move it away"):
        made(book)
    assert table(book) == b"mine"


# -- interrupted runs -------------------------------------------------------

COUNTING = TINY.replace(
    "    rng = stream",
    "    with open(LOG, 'a') as log:\n        log.write(f'{variant} {number}\\n')\n"
    "    if STOP.exists() and number == 2:\n        raise ValueError('no more')\n"
    "    rng = stream",
)


def counting(book):
    log, stop = book / "log.txt", book / "stop"
    head = (
        f"from pathlib import Path\n\nLOG = {str(log)!r}\nSTOP = Path({str(stop)!r})\n"
    )
    write(book, COUNTING.replace("PARAMETERS =", f"{head}\nPARAMETERS =", 1))
    return log, stop


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_finished_tasks_are_not_run_again(book, workers):
    made(book)
    want = table(book)
    log, stop = counting(book)
    stop.touch()
    with pytest.raises(StoredError, match=r"task \('plain', 2\) failed: no more"):
        stored_work.produce(define(book), root=book, workers=1)
    stop.unlink()
    before = log.read_text().splitlines()
    assert before == ["plain 0", "plain 1", "plain 2"]
    stored_work.produce(define(book), root=book, workers=workers)
    after = log.read_text().splitlines()[3:]
    assert sorted(after) == sorted(
        f"{v} {n}"
        for v, n in define(book).tasks
        if (v, n) not in {("plain", 0), ("plain", 1)}
    )
    assert table(book) == want


def test_what_a_killed_write_left_never_counts(book):
    log, stop = counting(book)
    stop.touch()
    with pytest.raises(StoredError):
        stored_work.produce(define(book), root=book)
    stop.unlink()
    folder = stored_work._folder(book, define(book))
    done = sorted(folder.glob("*.json"))
    assert len(done) == 2
    done[0].write_text(done[0].read_text()[:-20])  # cut
    found = json.loads(done[1].read_text())
    found["rows"][0][-1] += 1.0  # altered
    done[1].write_text(json.dumps(found))
    (folder / ".half.json.1.part").write_text("{")
    log.unlink()
    stored_work.produce(define(book), root=book)
    assert len(log.read_text().splitlines()) == 8  # all of them again
    write(book, TINY)
    want = table(book)
    made(book)
    assert table(book) == want


def test_what_other_code_left_is_not_used(book):
    log, stop = counting(book)
    stop.touch()
    with pytest.raises(StoredError):
        stored_work.produce(define(book), root=book)
    stop.unlink()
    write(book, place(book).read_text().replace('"seed": 1', '"seed": 3'))
    log.unlink()
    stored_work.produce(define(book), root=book)
    assert len(log.read_text().splitlines()) == 8


SLOW = TINY.replace(
    "    rng = stream", "    import time\n\n    time.sleep(0.25)\n    rng = stream"
)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_and_started_again_ends_with_the_same_table(book, workers):
    made(book)
    want = table(book)
    place(book, ".csv").unlink()
    place(book, ".json").unlink()
    write(book, SLOW)
    command = [sys.executable, "-m", "dplib.book.stored", "run", "tiny/run"]
    command += ["--workers", str(workers)]
    environment = os.environ | {"PYTHONPATH": str(Path(stored.__file__).parents[2])}
    first = subprocess.Popen(
        command, cwd=book, env=environment, stderr=subprocess.PIPE, text=True
    )
    folder = stored_work._folder(book, define(book))
    deadline = time.monotonic() + 60
    while len(list(folder.glob("*.json"))) < 2:
        assert time.monotonic() < deadline, "no task finished"
        assert first.poll() is None, first.stderr.read()
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stderr.close()
    time.sleep(1.2)  # workers notice within half a second
    left = {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    assert 2 <= len(left) < 8
    assert not place(book, ".csv").exists()
    done = subprocess.run(
        command, cwd=book, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "tiny/run: written.\n"
    assert done.stderr == ""  # no progress bar where there is no terminal
    assert table(book) == want


# -- changed code -----------------------------------------------------------


def test_a_comment_or_docstring_changes_nothing(book):
    made(book)
    write(book, TINY.replace('"""Draw."""', '"""Draw, well."""  # a comment'))
    assert stored.status(define(book), root=book) == ""


CHANGED = TINY.replace("rng.normal()", "0.0 + rng.normal()")
LOOSE = {"rule": "relative", "tolerance": 0.001}
WRONG = TINY.replace("rng.normal()", "1.00001 * rng.normal()")


def test_changed_code_is_told_and_recertified_if_it_agrees(book):
    made(book)
    before = table(book)
    write(book, CHANGED)
    assert stored.status(define(book), root=book) == (
        "tiny/run: the code behind it has changed; run "
        "'python -m dplib.book.stored recertify tiny/run'."
    )
    said = stored_work.recertify(define(book), root=book, points=3)
    assert said == "tiny/run: 3 tasks agree; the present code is adopted."
    assert stored.status(define(book), root=book) == ""
    assert table(book) == before
    about = stored.load("tiny/run", root=book).about
    assert about["recertified"][0]["tasks"] == 3
    said = stored_work.recertify(define(book), root=book)
    assert said == "tiny/run: current; nothing to do."


def test_recertifying_notes_the_rule_by_which_the_sample_agreed(book):
    made(book)
    write(book, re.sub(r"AGREEMENT = .*", f"AGREEMENT = {LOOSE!r}", CHANGED))
    stored_work.recertify(define(book), root=book, points=2)
    assert stored.load("tiny/run", root=book).about["agreement"] == LOOSE


def test_recertifying_refuses_what_does_not_agree_and_changes_nothing(book):
    made(book)
    files = (table(book), place(book, ".json").read_bytes())
    write(book, WRONG)
    with pytest.raises(StoredError, match="does not agree with the present code"):
        stored_work.recertify(define(book), root=book, points=2)
    assert (table(book), place(book, ".json").read_bytes()) == files


def test_recertifying_leaves_the_tasks_of_an_interrupted_run(book):
    made(book)
    _, stop = counting(book)
    stop.touch()
    with pytest.raises(StoredError):
        stored_work.produce(define(book), root=book)
    stop.unlink()
    folder = stored_work._folder(book, define(book))
    left = sorted(folder.iterdir())
    stored_work.recertify(define(book), root=book, points=2)
    assert len(left) == 2
    assert sorted(folder.iterdir()) == left


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"seed": 1', '"seed": 2'), "other parameters"),
        (('"step", "value"', '"step", "worth"'), "other columns"),
        (("range(4)", "range(5)"), "other tasks"),
    ],
)
def test_another_run_cannot_be_recertified(book, change, words):
    made(book)
    write(book, TINY.replace(*change))
    assert words in stored.status(define(book), root=book)
    with pytest.raises(StoredError, match=words):
        stored_work.recertify(define(book), root=book)


def test_a_missing_result_cannot_be_recertified(book):
    with pytest.raises(StoredError, match=r"there is no .*run\.csv"):
        stored_work.recertify(define(book), root=book)


def test_another_state_of_the_code_tries_other_tasks(book):
    one = stored_work.sample(define(book), 3)
    write(book, CHANGED)
    other = stored_work.sample(define(book), 3)
    assert one == sorted(one, key=define(book).tasks.index)
    assert one != other


def test_another_day_tries_other_tasks(book, monkeypatch):
    def of(day):
        monkeypatch.setenv("DPLIB_SAMPLE", day)
        return stored_work.sample(define(book), 3)

    assert of("20261128") == of("20261128")
    assert len({tuple(of(f"2026112{n}")) for n in range(5)}) > 1


def test_a_current_result_is_sampled_on_request(book):
    made(book)
    recertify = stored_work.recertify
    assert "nothing to do" in recertify(define(book), root=book)
    before = place(book, ".json").read_bytes()
    assert "8 tasks agree." in recertify(define(book), root=book, again=True)
    assert place(book, ".json").read_bytes() == before
    forge(book)
    with pytest.raises(StoredError, match=r"does not agree .*value: "):
        recertify(define(book), root=book, again=True)


def forge(book):
    """Alter a column, and the digest with it."""
    text = place(book, ".csv").read_text().replace(",0.", ",0.9").replace(",1.", ",1.9")
    place(book, ".csv").write_text(text)
    about = json.loads(place(book, ".json").read_text())
    about["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    place(book, ".json").write_text(json.dumps(about))


# -- rules of agreement -----------------------------------------------------


def fresh(book, name, change=lambda value: value):
    definition = define(book)
    task = ("odd", 1)
    rows = [(*row[:-1], change(row[-1])) for row in definition.rows(task)]
    return stored.difference(definition, stored.load(name, root=book), {task: rows})


def test_the_relative_rule(book):
    made(book)
    assert fresh(book, "tiny/run") == ""
    assert fresh(book, "tiny/run", lambda v: v * (1 + 0.9e-6)) == ""
    assert "('odd', 1), value" in fresh(book, "tiny/run", lambda v: v * (1 + 1.1e-6))
    assert fresh(book, "tiny/run", lambda _: math.nan) != ""
    assert fresh(book, "tiny/run", lambda _: "text") != ""


def test_the_exact_rule(book):
    write(book, TINY.replace('"relative", "tolerance": 1.0e-6', '"exact"'))
    made(book)
    assert fresh(book, "tiny/run") == ""
    assert fresh(book, "tiny/run", lambda v: np.nextafter(v, 9.0).item()) != ""


def test_a_task_with_other_rows_does_not_agree(book):
    got = made(book)
    definition, task = define(book), ("odd", 1)
    rows = definition.rows(task)[:-1]
    assert "2 rows, stored 3" in stored.difference(definition, got, {task: rows})


def test_numbers_may_name_tasks_as_texts(book):
    write(book, TINY.replace('"plain", "odd"', '"0.10", "3"'))
    got = made(book)
    assert stored.status(define(book), root=book) == ""
    assert got.column("variant").dtype.kind == "f"
    assert got.column("value", variant="0.10").shape == (12,)
    stored.confirm("tiny/run", ("0.10", 2), root=book)


LAWFUL = TINY.replace('"relative", "tolerance": 1.0e-6', '"statistical"').replace(
    "range(4)", "range(60)"
)


def test_the_statistical_rule(book):
    write(book, LAWFUL)
    made(book)
    # Other draws of the same law agree; half the noise does not.
    other = LAWFUL.replace('"tiny"', '"other"')
    write(book, other)
    said = stored_work.recertify(define(book), root=book)
    assert "20 tasks agree" in said
    write(book, other.replace("rng.normal()", "0.3 * rng.normal()"))
    with pytest.raises(StoredError, match="another law"):
        stored_work.recertify(define(book), root=book, points=60)


def test_confirm_runs_tasks_here_and_now(book):
    made(book)
    stored.confirm("tiny/run", ("odd", 1), ("plain", 0), root=book)
    with pytest.raises(StoredError, match="has no task"):
        stored.confirm("tiny/run", ("even", 1), root=book)
    write(book, WRONG)
    with pytest.raises(StoredError, match="here and now does not agree"):
        stored.confirm("tiny/run", ("odd", 1), root=book)


# -- definitions ------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("def run(", "def runs("), "lacks run"),
        (("COLUMNS =", "COLS ="), "lacks COLUMNS"),
        (('"relative"', '"roughly"'), "the rule must be one of"),
        ((', "tolerance": 1.0e-6', ""), "'tolerance' goes with"),
        (("range(4)", "range(0)"), "at least one task"),
        (("range(4)", "(1, 1)"), "none twice"),
        (("(name, number) for", "(name,) for"), "does not have the parts|none twice"),
        (("range(4)", "(0.5,)"), "texts and integers"),
        (("range(4)", '("1", 1)'), "none twice"),
    ],
)
def test_a_bad_definition_is_refused(book, change, words):
    assert change[0] in TINY
    write(book, TINY.replace(*change))
    with pytest.raises(StoredError, match=words):
        define(book)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("float('nan')", "must be finite"),
        ("None", "number or text"),
        ("True", "number or text"),
        ("1.0, 2.0", "row of 3 values"),
    ],
)
def test_a_bad_value_is_refused(book, value, words):
    write(book, TINY.replace("rng.normal()", value))
    with pytest.raises(StoredError, match=words):
        made(book)


def test_numpy_numbers_are_stored_as_numbers(book):
    write(book, TINY.replace("rng.normal()", "rng.normal(size=1).sum()"))
    assert float(made(book).rows[0][-1]) == define(book).rows(("plain", 0))[0][-1]


# -- command line -----------------------------------------------------------


def test_the_command_line(book, monkeypatch, capsys):
    monkeypatch.chdir(book)
    assert stored.main(["check"]) == 1
    assert "there is no" in capsys.readouterr().out
    assert stored.main(["run"]) == 0
    assert stored.main(["run"]) == 0
    assert capsys.readouterr().out == "tiny/run: written.\ntiny/run: current.\n"
    assert stored.main(["check", "tiny/run"]) == 0
    write(book, CHANGED)
    assert stored.main(["check"]) == 1
    assert stored.main(["recertify", "--points", "2"]) == 0
    assert "2 tasks agree" in capsys.readouterr().out
    assert stored.main(["run", "--again"]) == 0
    write(book, WRONG)
    assert stored.main(["recertify"]) == 1
    assert "does not agree" in capsys.readouterr().err
    assert stored.main(["run", "tiny/none"]) == 1
    assert capsys.readouterr().err == (
        "tiny/none: there is no notebooks/tiny/results/none.py.\n"
    )


def test_the_progress_bar_is_for_terminals(monkeypatch, capsys):
    stored_work._bar(1, 2, "tiny/run")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    stored_work._bar(1, 2, "tiny/run")
    assert capsys.readouterr().err.endswith("#...............] 1/2")
