"""Change it: a stored result for other parameters, outside the book; and its page."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import tiny_book

from dplib.book import claims, own_results, stored, stored_change, stored_work
from dplib.book.kernels import environment
from dplib.book.stored import StoredError

DEFINITION = '''\
"""A tiny run."""

from pathlib import Path

from dplib.rng import stream

PARAMETERS = {
    "seed": 1,
    "steps": 3,
    "variants": ["plain", "odd"],
    "scale": 1.0,
    "name": "1",
    "more": {"one": [1, "a"]},
}
DOUBLE = 2 * PARAMETERS["scale"]
AGREEMENT = {"rule": "relative", "tolerance": 1.0e-6}
TASK = ("variant", "run")
COLUMNS = ("step", "value")


def tasks():
    """Return the tasks."""
    return [(name, number) for name in PARAMETERS["variants"] for number in range(4)]


def run(variant, number):
    """Draw."""
    here = Path(__BOOK__)
    with (here / "log.txt").open("a") as log:
        log.write(f"{variant} {number}\\n")
    if (here / "stop").exists() and number == 2:
        raise ValueError("no more")
    rng = stream(PARAMETERS["seed"], "tiny", variant, number)
    return [(step, DOUBLE * rng.normal()) for step in range(PARAMETERS["steps"])]
'''
PAGE = (
    tiny_book.NOTEBOOK.replace("claims, figures", "claims, figures, stored")
    .replace(
        "draws = random.normal(size=4)\n",
        'stored.confirm("truthful/run", ("odd", 1))\n'
        'run = stored.load("truthful/run")\n'
        'draws = run.column("value", variant="plain", run=0)\n'
        "print(len(draws))\n",
    )
    .replace("1 / n)", "12 / len(run.rows))")
)
ODD = 'print(run.column("value", variant="odd").size)\n'
CHANGE = ["truthful/run", "--set", "steps=5"]


class Book:
    """A book of one stored result and the page that shows it."""

    def __init__(self, root):
        self.root, self.log, self.out = root, root / "log.txt", root / "runs" / "mine"
        self.page = tiny_book.write(root, PAGE)
        self.code = root / "notebooks" / "truthful" / "results" / "run.py"
        self.code.parent.mkdir()
        self.code.write_text(DEFINITION.replace("__BOOK__", repr(str(root))))
        stored_work.produce(stored.load_definition(self.code))
        self.log.unlink()

    def change(self, *arguments):
        return stored.main(["change", *arguments, "--out", str(self.out)])

    def table(self):
        return stored._read("truthful/run", self.out / "truthful" / "run.csv")

    def count(self):
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def files(self):
        return {
            path: path.read_bytes()
            for path in (self.root / "notebooks").rglob("*")
            if path.is_file()
        }


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book, of which no file below notebooks/ may be made, changed or lost."""
    found = Book(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = found.files()
    yield found
    assert found.files() == before


# -- the result -------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_changes_reach_tasks_rows_and_what_is_derived(book, workers, capsys):
    values = ("--set", 'variants=["plain", "even"]', "--set", "scale=0.5")
    assert book.change(*CHANGE, *values, "--workers", workers) == 0
    said = capsys.readouterr().out
    assert said.startswith("8 tasks (the book's 8 took 0 CPU seconds) ...\n")
    assert f"\n{book.out / 'truthful' / 'run.csv'}: steps = 5, variants" in said
    got = book.table()
    assert {row[0] for row in got.rows} == {"plain", "even"}
    assert len(got.rows) == 2 * 4 * 5
    assert (got.about["parameters"]["steps"], got.about["tasks"]) == (5, 8)
    ours = stored.load("truthful/run", root=book.root).column("value", variant="plain")
    mine = got.column("value", variant="plain").reshape(4, 5)
    assert mine[:, :3].ravel() == pytest.approx(ours / 2)
    names = {path.name for path in book.out.rglob("*")}
    assert names == {"changes.json", "truthful", "run.csv", "run.json"}


def test_what_is_there_is_not_run_again_and_not_lost(book, capsys):
    assert book.change(*CHANGE) == 0
    before = book.table().rows
    assert book.change(*CHANGE) == 0
    assert book.count() == 8
    assert book.change("truthful/run", "--set", "steps=4") == 1
    said = capsys.readouterr().err
    assert (
        said == f"{book.out} holds truthful/run with steps = 5: give another --out.\n"
    )
    assert book.table().rows == before
    assert book.count() == 8


def test_changed_code_runs_again(book, monkeypatch):
    assert book.change(*CHANGE) == 0
    code = stored.code_key.code_key
    monkeypatch.setattr(stored.code_key, "code_key", lambda *a: code(*a) + "other")
    assert book.change(*CHANGE) == 0
    assert book.count() == 16


def test_a_folder_with_other_things_is_left_alone(book, capsys):
    for make in (book.out.mkdir, lambda: (book.out / "mine.txt").write_text("mine")):
        make()
    assert book.change(*CHANGE) == 1
    assert "holds other things: give another --out." in capsys.readouterr().err
    assert [path.name for path in book.out.iterdir()] == ["mine.txt"]
    book.out = book.out / "mine.txt"
    assert book.change(*CHANGE) == 1
    assert book.out.read_text() == "mine"


def test_a_run_that_stopped_goes_on(book, capsys):
    (book.root / "stop").touch()
    assert book.change(*CHANGE) == 1
    said = capsys.readouterr().err
    assert said == "truthful/run: task ('plain', 2) failed: no more\n"
    (book.root / "stop").unlink()
    assert book.change(*CHANGE) == 0
    assert book.count() == 3 + 6  # the third a second time
    assert len(book.table().rows) == 40


def test_by_default_it_goes_to_runs(book):
    assert stored.main(["change", *CHANGE]) == 0
    assert (book.root / "runs" / "truthful-run" / "truthful" / "run.csv").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "arguments are required: CHAPTER/NAME; see 'python -m dplib"),
        (["truthful/none", *CHANGE[1:]], "there is no notebooks/truthful/results/none"),
        (["truthful/run"], "nothing to --set; there are seed, steps, variants,"),
        ([*CHANGE, "--sets", "steps=5"], "unrecognized arguments"),
        (["truthful/run", "--set", "step=5"], "has no 'step': there are seed, steps,"),
        (["truthful/run", "--set", "steps"], "--set needs PARAMETER=VALUE, not steps;"),
        (["truthful/run", "--set", "steps=2.5"], "steps must be like the book's"),
        (["truthful/run", "--set", "scale=1e400"], "scale must be like the book's"),
        ([*CHANGE, "--workers", "0"], "--workers must be 1 or more"),
        ([*CHANGE, "--set", "steps=many"], "like the book's, --set steps=3; it cannot"),
        ([*CHANGE, "--set", "steps=true"], "cannot be true"),
        ([*CHANGE, "--set", "scale=NaN"], "cannot be NaN"),
        ([*CHANGE, "--set", "scale=[1]"], "cannot be [1]"),
        ([*CHANGE, "--set", "variants=plain"], "like the book's, --set 'variants=[\""),
        ([*CHANGE, "--set", "variants=[1]"], "cannot be [1]"),
        ([*CHANGE, "--set", "variants=[]"], "cannot be []"),
        ([*CHANGE, "--set", 'more={"one": ["a", {}]}'], "more must be like the book's"),
        ([*CHANGE, "--set", 'variants=["a", "a"]'], "and none twice"),
        ([*CHANGE, "--show", "truthful/02_none"], "There is no notebook 'truthful/02"),
        ([*CHANGE, "--out", "notebooks/mine"], "--out must lie outside"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(book, capsys, arguments, words):
    before = sorted(book.root.rglob("*"))
    assert stored.main(["change", *arguments]) == 1
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert sorted(book.root.rglob("*")) == before


def test_a_definition_that_breaks_is_one_sentence(book):
    # `steps` is a number, so that nobody refuses it before the definition does.
    text = book.code.read_text().replace("range(4)", "range(4 // PARAMETERS['steps'])")
    other = book.root / "other" / "notebooks" / "truthful" / "results" / "run.py"
    other.parent.mkdir(parents=True)
    other.write_text(text)
    with pytest.raises(StoredError, match=r"run with steps = 0: integer div"):
        stored_change.parse(["truthful/run", "--set", "steps=0"], book.root / "other")


def test_a_whole_number_may_be_written_as_a_power_of_ten(book):
    found = stored_change.parse(["truthful/run", "--set", "steps=1e1"], book.root)
    assert found.definition.changes == {"steps": 10}


def test_a_change_that_failed_does_not_keep_its_folder(book, capsys):
    assert book.change("truthful/run", "--set", "seed=-1") == 1  # of no stream
    assert "task ('plain', 0) failed" in capsys.readouterr().err
    assert book.change("truthful/run", "--set", "seed=2") == 0


def test_a_text_may_look_like_a_number_and_a_mapping_have_other_names(book):
    values = ("--set", "name=2", "--set", 'more={"two": [2]}')
    found = stored_change.parse(["truthful/run", *values], book.root)
    assert found.definition.changes == {"name": "2", "more": {"two": [2]}}


def test_another_page_is_refused(book, capsys):
    book.code.with_name("walk.py").write_text(book.code.read_text())
    try:
        assert book.change("truthful/walk", *CHANGE[1:], "--show", "truthful/01_tiny")
    finally:
        book.code.with_name("walk.py").unlink()
    assert "truthful/01_tiny does not show truthful/walk." in capsys.readouterr().err
    assert not book.out.exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", [["run", "--again"], ["change", *CHANGE]])
def test_a_task_that_fails_is_a_sentence_on_the_command_line_too(book, command):
    (book.root / "stop").touch()
    done = subprocess.run(
        [sys.executable, "-m", "dplib.book.stored", *command],
        env=os.environ | {"PYTHONPATH": str(Path(stored.__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "truthful/run: task ('plain', 2) failed: no more\n"
    assert done.returncode == 1


# -- what a page sees -------------------------------------------------------


def test_a_page_reads_the_readers_result_first(book, monkeypatch):
    assert book.change(*CHANGE) == 0
    task = ("plain", 0)
    stored.confirm("truthful/run", task)
    book.log.unlink()
    monkeypatch.setenv(own_results.VARIABLE, str(book.out))
    assert len(stored.load("truthful/run").rows) == 40
    assert len(stored.load("truthful/run", root=book.root).rows) == 24
    stored.confirm("truthful/run", ("odd", 99))  # a task of the book's, or of none
    assert book.count() == 0
    # What the book holds is judged by what the book holds.
    assert stored.main(["check"]) == 0
    monkeypatch.setenv(own_results.VARIABLE, str(book.root / "none"))
    assert len(stored.load("truthful/run").rows) == 24


def test_no_kernel_inherits_it():
    assert environment()[own_results.VARIABLE] == ""


def test_no_claim_is_judged_by_other_results(book, monkeypatch):
    def checked():
        checks = claims.open_notebook("truthful/01_tiny", n=2)
        checks.check_value("truthful.half", 0.3)
        return checks.done[0]

    with pytest.raises(claims.VerdictError):
        checked()
    monkeypatch.setenv(own_results.VARIABLE, str(book.out))
    found = checked()
    assert found.verdict == "not applicable"
    words = "ours 0.3, printed 0.50 (other results: the claim is made for the book's"
    assert found.finding == f"{words} own runs)"


# -- the page ---------------------------------------------------------------


def shown(book):
    """Return what the executed page has: texts, figures, verdicts, errors."""
    notebook = nbformat.read(book.out / "01_tiny.ipynb", as_version=4)
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    data = [out.get("data", {}) for out in outputs]
    return {
        "note": notebook.cells[0].source,
        "texts": [out.text for out in outputs if out.output_type == "stream"],
        "figures": [one["image/svg+xml"] for one in data if "image/svg+xml" in one],
        "verdicts": [
            one[claims.MIME_TYPE]["verdict"] for one in data if claims.MIME_TYPE in one
        ],
        "errors": [out.ename for out in outputs if out.output_type == "error"],
    }


@pytest.mark.slow
def test_the_page_is_drawn_from_it(book, capsys):
    assert book.change(*CHANGE, "--show", "truthful/01_tiny") == 0
    said = capsys.readouterr().out
    target = book.out / "01_tiny.ipynb"
    assert f"\n{target}\nTo look at it, open {target.with_suffix('.html')}" in said
    found = shown(book)
    largest = book.table().column("value", variant="plain", run=0).max()
    assert found["texts"][0] == f"5\nlargest draw {largest:.3f}\n"
    assert found["verdicts"] == ["not applicable"]
    assert found["errors"] == []
    assert "`truthful/run` with steps = 5. Its text" in found["note"]
    (figure,) = found["figures"]
    curves = re.findall(r'<path d="([^"]*)" clip-path', figure)
    assert 4 in [curve.count("L") for curve in curves]  # five points
    assert "Other results" in target.with_suffix(".html").read_text(encoding="utf-8")
    # The same page again, with the same result.
    book.log.unlink()
    assert book.change(*CHANGE, "--show", "truthful/01_tiny") == 0
    assert book.count() == 0
    assert shown(book)["figures"] == [figure]


@pytest.mark.slow
def test_a_cell_that_lacks_rows_stops_alone(book, capsys):
    text = PAGE.replace("book.check_value", f"{ODD}book.check_value")
    book.page.write_text(text, encoding="utf-8")
    try:
        values = ("--set", 'variants=["plain"]', "--show", "truthful/01_tiny")
        assert book.change(*CHANGE, *values) == 1
    finally:
        book.page.write_text(PAGE, encoding="utf-8")
    said = capsys.readouterr()
    assert said.err == (
        "truthful/01_tiny: code cell 5 stopped with StoredError: truthful/run: no row "
        "with {'variant': 'odd'}; the file has all the others.\n"
    )
    assert str(book.out / "01_tiny.ipynb") in said.out
    found = shown(book)
    assert len(found["figures"]) == 1
    assert found["errors"] == ["StoredError"]
    assert json.loads((book.out / "changes.json").read_text())["truthful/run"]
