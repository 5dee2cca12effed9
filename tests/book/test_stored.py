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
from dplib.book.replicates import mean_interval
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
CHANGED = TINY.replace("rng.normal()", "0.0 + rng.normal()")
WRONG = TINY.replace("rng.normal()", "1.00001 * rng.normal()")
# Every task that is run leaves a line; the third fails as long as there is a file.
COUNTING = TINY.replace(
    "    rng = stream",
    "    from pathlib import Path\n\n"
    "    here = Path(__BOOK__)\n"
    "    with (here / 'log.txt').open('a') as log:\n"
    "        log.write(f'{variant} {number}\\n')\n"
    "    if (here / 'stop').exists() and number == 2:\n"
    "        raise ValueError('no more')\n"
    "    rng = stream",
)


class Book:
    """A book of one stored result."""

    def __init__(self, root):
        self.root = root
        self.log, self.stop = root / "log.txt", root / "stop"
        self.code = root / "notebooks" / "tiny" / "results" / "run.py"
        self.table, self.sidecar = (self.code.with_suffix(s) for s in (".csv", ".json"))
        self.code.parent.mkdir(parents=True)
        (root / "book" / "claims").mkdir(parents=True)
        self.write(TINY)

    def write(self, text):
        self.code.write_text(text.replace("__BOOK__", repr(str(self.root))), "utf-8")

    def define(self):
        return stored.load_definition(self.code)

    def make(self, workers=1):
        stored_work.produce(self.define(), workers=workers)
        return stored.load("tiny/run", root=self.root)

    def status(self):
        return stored.status(self.define())

    def recertify(self, **how):
        return stored_work.recertify(self.define(), **how)

    def kept(self):
        """Return the files of finished tasks."""
        return sorted((self.root / "runs").rglob("*.json"))

    def interrupt(self):
        """Run the two tasks before the one that fails."""
        self.write(COUNTING)
        self.stop.touch()
        with pytest.raises(StoredError, match=r"task \('plain', 2\) failed: no more"):
            self.make()
        self.stop.unlink()
        assert self.log.read_text().split("\n")[:3] == ["plain 0", "plain 1", "plain 2"]
        self.log.unlink()
        assert len(self.kept()) == 2


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path)


# -- the table --------------------------------------------------------------


def test_a_result_is_made_and_read_back(book):
    got = book.make()
    assert got.header == ("variant", "run", "step", "value")
    assert [(v, int(n), int(k), float(x)) for v, n, k, x in got.rows] == [
        row for task in book.define().tasks for row in book.define().rows(task)
    ]
    assert got.column("value", variant="odd", run=3).shape == (3,)
    kinds = [got.column(name).dtype.kind for name in got.header]
    assert kinds == ["U", "i", "i", "f"]
    assert got.of_task("plain", 0) == list(got.rows[:3])
    assert got.about["provenance"]["versions"]["numpy"] == np.__version__
    assert book.status() == ""
    assert not book.kept()
    with pytest.raises(StoredError, match="no column 'x'; there are variant, run"):
        got.column("x")
    with pytest.raises(StoredError, match="no row with"):
        got.column("value", variant="even")
    assert sorted(book.code.parent.iterdir()) == [book.table, book.sidecar, book.code]


def test_numbers_may_name_tasks_as_texts(book):
    book.write(TINY.replace('"plain", "odd"', '"0.10", "3"'))
    got = book.make()
    assert book.status() == ""
    assert got.column("variant").dtype.kind == "f"
    assert got.column("value", variant="0.10").shape == (12,)
    stored.confirm("tiny/run", ("0.10", 2), root=book.root)


# -- what is damaged is refused ---------------------------------------------


TABLE, SIDECAR = "is not the table that run.json describes", "run.json is damaged"


@pytest.mark.parametrize(
    ("suffix", "change", "words"),
    [
        (".csv", lambda _: b"", TABLE),
        (".csv", lambda body: body[:-1], TABLE),
        (".csv", lambda body: body[:-3] + bytes([body[-3] ^ 1]) + body[-2:], TABLE),
        (".json", lambda _: b"", SIDECAR),
        (".json", lambda _: b"[]", SIDECAR),
        (".json", lambda _: b'{"sha256": 3}', SIDECAR),
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence(book, suffix, change, words):
    book.make()
    path = book.code.with_suffix(suffix)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(StoredError, match=words):
        stored.load("tiny/run", root=book.root)
    assert "restore both files" in book.status()


def test_a_table_that_no_run_wrote_is_not_overwritten(book):
    book.table.write_text("mine")
    with pytest.raises(StoredError, match="move it away"):
        book.make()
    assert book.table.read_bytes() == b"mine"


# -- interrupted runs -------------------------------------------------------


def test_killed_between_description_and_table_is_refused_and_can_go_on(
    book, monkeypatch
):
    book.make()
    old = book.table.read_bytes()
    book.write(COUNTING.replace('"seed": 1', '"seed": 2'))
    write_whole = stored_work.write_atomically

    def killed(path, text):
        if path == book.table:
            raise KeyboardInterrupt
        write_whole(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(stored_work, "write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            book.make()
    assert book.table.read_bytes() == old
    with pytest.raises(StoredError, match="is not the table"):
        stored.load("tiny/run", root=book.root)
    book.make()
    assert len(book.log.read_text().splitlines()) == 8  # none a second time
    assert book.status() == ""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_finished_tasks_are_not_run_again(book, workers):
    book.make()
    want = book.table.read_bytes()
    book.interrupt()
    book.make(workers)
    tasks = [f"{variant} {number}" for variant, number in book.define().tasks]
    assert sorted(book.log.read_text().splitlines()) == sorted(tasks[2:])
    assert book.table.read_bytes() == want  # of one process, of several, resumed


def test_what_is_damaged_or_half_written_does_not_count(book):
    book.interrupt()
    first = book.kept()[0]
    first.write_text(first.read_text()[:-20])
    first.with_name(".half.json.1.part").write_text("{")
    got = book.make()
    assert len(book.log.read_text().splitlines()) == 7
    assert float(got.rows[0][-1]) == book.define().rows(("plain", 0))[0][-1]


def test_what_other_code_left_is_kept_and_not_used(book):
    book.make()
    book.interrupt()
    book.recertify(points=2)
    assert len(book.kept()) == 2
    book.log.unlink()
    book.write(COUNTING.replace('"seed": 1', '"seed": 3'))
    book.make()
    assert len(book.log.read_text().splitlines()) == 8


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_and_started_again_ends_with_the_same_table(book, workers):
    book.make()
    want = book.table.read_bytes()
    book.sidecar.unlink()
    book.table.unlink()
    slow = "    import time\n\n    time.sleep(0.25)\n    rng = stream"
    book.write(TINY.replace("    rng = stream", slow))
    command = [sys.executable, "-m", "dplib.book.stored", "run", "tiny/run"]
    how = {
        "args": [*command, "--workers", str(workers)],
        "cwd": book.root,
        "env": os.environ | {"PYTHONPATH": str(Path(stored.__file__).parents[2])},
        "text": True,
    }
    with subprocess.Popen(**how, stderr=subprocess.PIPE) as first:
        deadline = time.monotonic() + 60
        while len(book.kept()) < 2:
            assert time.monotonic() < deadline, "no task finished"
            assert first.poll() is None, first.stderr.read()
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
    time.sleep(0.5)  # a worker may end the task that it is at
    assert 2 <= len(book.kept()) < 8
    assert not book.table.exists()
    done = subprocess.run(**how, capture_output=True, check=True)
    assert done.stderr == ""  # no progress bar where there is no terminal
    assert book.table.read_bytes() == want


# -- changed code -----------------------------------------------------------


def test_a_comment_or_docstring_changes_nothing(book):
    book.make()
    book.write(TINY.replace('"""Draw."""', '"""Draw, well."""  # a comment'))
    assert book.status() == ""


def test_the_library_is_part_of_the_code(book, monkeypatch, tmp_path):
    # After a move of the file, the key stood for the definition alone.
    library = tmp_path / "dplib"
    library.mkdir()
    (library / "rng.py").write_text("one = 1\n")
    monkeypatch.setattr(stored, "_DPLIB", library)
    before = book.define().code
    (library / "rng.py").write_text("one = 2\n")
    assert book.define().code != before


def test_changed_code_is_told_and_recertified_if_it_agrees(book):
    book.make()
    before = book.table.read_bytes()
    rule = {"rule": "relative", "tolerance": 0.001}
    book.write(re.sub(r"AGREEMENT = .*", f"AGREEMENT = {rule!r}", CHANGED))
    assert "run 'python -m dplib.book.stored recertify tiny/run'" in book.status()
    assert "3 tasks agree; the present code is adopted" in book.recertify(points=3)
    assert book.status() == ""
    assert book.table.read_bytes() == before
    about = stored.load("tiny/run", root=book.root).about
    assert about["recertified"][0]["tasks"] == 3
    assert about["agreement"] == rule  # the one by which they agreed
    assert "nothing to do" in book.recertify()


def test_recertifying_refuses_what_does_not_agree_and_changes_nothing(book):
    book.make()
    files = (book.table.read_bytes(), book.sidecar.read_bytes())
    book.write(WRONG)
    with pytest.raises(StoredError, match="does not agree with the present code"):
        book.recertify(points=2)
    assert (book.table.read_bytes(), book.sidecar.read_bytes()) == files


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"seed": 1', '"seed": 2'), "other parameters"),
        (('"step", "value"', '"step", "worth"'), "other columns"),
        (("range(4)", "range(5)"), "other tasks"),
    ],
)
def test_another_run_cannot_be_recertified(book, change, words):
    with pytest.raises(StoredError, match=r"there is no .*run\.csv"):
        book.recertify()
    book.make()
    book.write(TINY.replace(*change))
    assert words in book.status()
    with pytest.raises(StoredError, match=words):
        book.recertify()


def test_another_day_or_state_of_the_code_tries_other_tasks(book, monkeypatch):
    def of(day, term=0):
        monkeypatch.setenv("DPLIB_SAMPLE", f"2026112{day}")
        book.write(TINY.replace("rng.normal()", f"{term}.0 + rng.normal()"))
        return tuple(stored_work.sample(book.define(), 3))

    assert of(8) == of(8) == tuple(sorted(of(8), key=book.define().tasks.index))
    assert len({of(day) for day in range(8)}) > 1
    assert len({of(8, term) for term in range(8)}) > 1


def test_a_current_result_is_sampled_on_request(book):
    book.make()
    before = book.sidecar.read_bytes()
    assert "8 tasks agree." in book.recertify(again=True)
    assert book.sidecar.read_bytes() == before
    # Alter a column, and the digest with it.
    text = book.table.read_text().replace(",0.", ",0.9").replace(",1.", ",1.9")
    about = json.loads(book.sidecar.read_text())
    about["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    book.table.write_text(text)
    book.sidecar.write_text(json.dumps(about))
    with pytest.raises(StoredError, match=r"does not agree .*value: "):
        book.recertify(again=True)


# -- rules of agreement -----------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "change", "agrees"),
    [
        ('"relative", "tolerance": 1.0e-6', lambda v: v * (1 + 0.9e-6), True),
        ('"relative", "tolerance": 1.0e-6', lambda v: v * (1 + 1.1e-6), False),
        ('"relative", "tolerance": 1.0e-6', lambda _: math.nan, False),
        ('"relative", "tolerance": 1.0e-6', lambda _: "text", False),
        ('"exact"', lambda v: v, True),
        ('"exact"', lambda v: np.nextafter(v, 9.0).item(), False),
    ],
)
def test_the_rules_of_single_numbers(book, rule, change, agrees):
    book.write(TINY.replace('"relative", "tolerance": 1.0e-6', rule))
    got, task = book.make(), ("odd", 1)
    fresh = [(*row[:-1], change(row[-1])) for row in book.define().rows(task)]
    said = stored.difference(book.define(), got, {task: fresh})
    assert agrees == (said == "")
    assert agrees or said.startswith("task ('odd', 1), value: ")
    assert "2 rows, stored 3" in stored.difference(
        book.define(), got, {task: fresh[:-1]}
    )


def test_the_statistical_rule(book):
    text = TINY.replace('"relative", "tolerance": 1.0e-6', '"statistical"')
    text = text.replace("range(4)", "range(60)")
    book.write(text)
    book.make()
    # Other draws of the same distribution agree; less noise does not.
    text = text.replace('"tiny"', '"other"')
    book.write(text)
    assert "20 tasks agree" in book.recertify()
    book.write(text.replace("rng.normal()", "0.3 * rng.normal()"))
    with pytest.raises(StoredError, match="another distribution"):
        book.recertify(points=60)


def test_confirm_runs_tasks_here_and_now(book):
    book.make()
    stored.confirm("tiny/run", ("odd", 1), ("plain", 0), root=book.root)
    with pytest.raises(StoredError, match="has no task"):
        stored.confirm("tiny/run", ("even", 1), root=book.root)
    book.write(WRONG)
    with pytest.raises(StoredError, match="here and now does not agree"):
        stored.confirm("tiny/run", ("odd", 1), root=book.root)


# -- what contributors write, and type --------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("def run(", "def runs(", "lacks run"),
        ("COLUMNS =", "COLS =", "lacks COLUMNS"),
        ('"relative"', '"roughly"', "the rule must be"),
        (', "tolerance": 1.0e-6', "", "'tolerance' goes with"),
        ("range(4)", "range(0)", "at least one task"),
        ("range(4)", '("1", 1)', "none twice"),
        ("(name, number) for", "(name, number, 1) for", "the parts that TASK names"),
        ("rng.normal()", "float('nan')", "must be finite"),
        ("rng.normal()", "None", "number or text"),
        ("rng.normal()", "1.0, 2.0", "row of 3 values"),
    ],
)
def test_a_bad_definition_or_value_is_refused(book, old, new, words):
    assert old in TINY
    book.write(TINY.replace(old, new))
    with pytest.raises(StoredError, match=words):
        book.make()


def test_the_command_line(book, monkeypatch, capsys):
    monkeypatch.chdir(book.root)
    assert stored.main(["check"]) == 1
    assert stored.main(["run"]) == 0
    assert stored.main(["run"]) == 0
    said = capsys.readouterr().out
    assert said.endswith("tiny/run: written.\ntiny/run: current.\n")
    assert stored.main(["check", "tiny/run"]) == 0
    book.write(CHANGED)
    assert stored.main(["check"]) == 1
    assert stored.main(["recertify", "--points", "2"]) == 0
    assert "2 tasks agree" in capsys.readouterr().out
    assert stored.main(["run", "--again"]) == 0
    book.write(WRONG)
    assert stored.main(["recertify"]) == 1
    assert "does not agree" in capsys.readouterr().err
    assert stored.main(["run", "tiny/none"]) == 1
    assert "there is no notebooks/tiny/results/none.py" in capsys.readouterr().err


def test_a_stored_mean_has_the_interval_of_its_sample():
    sample = np.array([1.0, 2.0, 4.0])
    error = sample.std(ddof=1) / 3**0.5
    rows = (("a", repr(float(sample.mean())), repr(float(error))), ("b", "0.0", "1.0"))
    about = {"parameters": {"samples": 3}}
    table = stored.Stored("x/y", ("arm", "mean", "error"), rows, about)
    found = table.interval("mean", "error", cases=5, arm="a")
    want = mean_interval(sample, chance=1e-6 / 5)
    assert found.chance == want.chance
    assert found.low == pytest.approx(want.low)
    assert found.high == pytest.approx(want.high)
