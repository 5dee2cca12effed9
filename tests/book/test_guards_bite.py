"""Each guard, and nbval, notices what it is there for: we break a notebook.

One tiny book is executed once. Each test copies it, damages the copy in one
way, and expects the right guard (by its words) to complain, or nbval to fail.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import code_guards
import guards
import nbformat
import pytest
import tiny_book

from dplib.book import claims, notebooks

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    root = tmp_path_factory.mktemp("pristine") / "tiny"
    tiny_book.write(root)
    notebooks.refresh(root)
    return root


@pytest.fixture
def source(pristine, tmp_path):
    """A copy of the tiny book to damage; the path of its ``.md``."""
    shutil.copytree(pristine, tmp_path / "tiny")
    return tmp_path / "tiny" / "notebooks" / "truthful" / "01_tiny.md"


def edit_cells(source, change):
    """Change cells in both files alike, so that only other guards can notice."""
    stored = guards.stored(source)
    change(stored.cells)
    source.write_text(notebooks.source_text(stored), encoding="utf-8")
    source.with_suffix(".ipynb").write_text(
        notebooks.verified_text(stored), encoding="utf-8"
    )


def cell_with(cells, text):
    (found,) = [
        cell for cell in cells if cell.cell_type == "code" and text in cell.source
    ]
    return found


def complaints(source):
    return "\n".join(guards.problems(source))


def test_the_pristine_notebook_passes_every_guard(source):
    assert guards.problems(source) == []
    assert guards.book_problems(guards.root_of(source)) == []


def test_missing_ipynb(source):
    source.with_suffix(".ipynb").unlink()
    assert "has no .ipynb beside it" in complaints(source)


def test_missing_md(source):
    root = guards.root_of(source)
    source.unlink()
    found = "\n".join(guards.book_problems(root))
    assert "has no .md beside it" in found
    assert "truthful.half: its notebook truthful/01_tiny does not exist" in found


def test_edited_md(source):
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("size=4", "size=5"), encoding="utf-8")
    assert "differ in their cells" in complaints(source)


def test_edited_ipynb(source):
    other = source.with_suffix(".ipynb")
    text = other.read_text(encoding="utf-8")
    other.write_text(text.replace("size=4", "size=5"), encoding="utf-8")
    assert "differ in their cells" in complaints(source)


def test_edited_tag(source):
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("[parameters]", "[parameter]"), encoding="utf-8")
    assert "differ in their cells" in complaints(source)


def test_edited_caption(source):
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("Four draws", "Five draws"), encoding="utf-8")
    assert "differ in their cells" in complaints(source)


def test_outputs_stripped(source):
    def strip(cells):
        for cell in cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None

    edit_cells(source, strip)
    found = complaints(source)
    assert "no stored output" in found
    assert "execution counts are [None" in found
    assert "truthful.half: checked 0 times" in found


def test_one_cell_run_out_of_order(source):
    def again(cells):
        cell_with(cells, "largest draw").execution_count = 17

    edit_cells(source, again)
    assert "execution counts are [1, 2, 17" in complaints(source)


def test_stored_error(source):
    def fail(cells):
        cell_with(cells, "largest draw").outputs = [
            nbformat.v4.new_output("error", ename="ValueError", evalue="", traceback=[])
        ]

    edit_cells(source, fail)
    assert "a stored error: ValueError" in complaints(source)


def test_stored_warning(source):
    def warn(cells):
        cell_with(cells, "largest draw").outputs.append(
            nbformat.v4.new_output("stream", name="stderr", text="RuntimeWarning: ...")
        )

    edit_cells(source, warn)
    assert "a stored warning" in complaints(source)


def test_missing_parameters_tag(source):
    def untag(cells):
        cell_with(cells, "n = 2").metadata.tags = []

    edit_cells(source, untag)
    assert "0 cells are tagged 'parameters'" in complaints(source)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("n = 1 + 1  # how many", "not a plain literal"),
        ("n = 2", "without unit and range"),
        ("import math  # no", "not a one-line assignment"),
    ],
)
def test_bad_parameter(source, line, words):
    def change(cells):
        cell_with(cells, "n = 2").source = line

    edit_cells(source, change)
    assert words in complaints(source)


def test_absolute_path_in_output(source):
    def leak(cells):
        cell_with(cells, "largest draw").outputs[0].text = "/home/somebody/book\n"

    edit_cells(source, leak)
    assert "an absolute path: '/home/somebody" in complaints(source)


def test_absolute_path_on_a_line_of_its_own(source):
    """Escaped, its line break would look like a letter before the path."""

    def leak(cells):
        data = cell_with(cells, "figures.show").outputs[0].data
        data["text/plain"] = "saved to\n/home/somebody/plot.svg"

    edit_cells(source, leak)
    assert "an absolute path: '/home/somebody" in complaints(source)


def test_absolute_path_in_a_figure(source):
    def leak(cells):
        data = cell_with(cells, "figures.show").outputs[0].data
        svg = data["image/svg+xml"]
        data["image/svg+xml"] = svg.replace("<defs", "<!-- /home/somebody/ --><defs", 1)

    edit_cells(source, leak)
    assert "an absolute path: '/home/somebody" in complaints(source)


def test_absolute_path_in_code(source):
    def leak(cells):
        cell = cell_with(cells, "largest draw")
        cell.source = 'open("/tmp/data.csv")'

    edit_cells(source, leak)
    assert "an absolute path: '/tmp/data.csv" in complaints(source)


def found_in(code, guard):
    return "\n".join(guard(ast.parse(code)))


def test_guards_of_code_see_every_cell(source):
    def change(cells):
        cell_with(cells, "largest draw").source = "import time\ngap = n - n"

    edit_cells(source, change)
    assert "imports time" in complaints(source)
    assert "compares with itself: n - n" in complaints(source)


@pytest.mark.parametrize("bound", ["v = 0.5", "v = claims.printed('truthful.half')[0]"])
def test_check_on_a_typed_number_of_the_cell_above(source, bound):
    def change(cells):
        cell_with(cells, "largest draw").source = bound
        cell_with(cells, "check_value").source = "book.check_value('truthful.half', v)"

    edit_cells(source, change)
    assert NOTHING in complaints(source)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("np.random.seed(1)", "random, handed on"),
        ("np.random.default_rng()", "default_rng"),
        ("import random", "not among what"),
        ("from numpy.random import normal", "use dplib.rng.stream"),
        ("from numpy import random as r", "use dplib.rng.stream"),
        ("from numpy import linalg, random", "use dplib.rng.stream"),
        ("import numpy.random as r", "use dplib.rng.stream"),
        ("from scipy.stats import *", "and names"),
        ("r = np.random\nr.seed()", "random, handed on"),
        ('getattr(np, "ran" + "dom")', "getattr"),
        ("vars(np)['ran' + 'dom']", "vars"),
        ("hash('x')", "hash"),
        ("from dplib.rng import stream as s", "use dplib.rng.stream"),
        ("rng.stream(int('3'))", "a seed that is no parameter"),
        ("rng.stream(seed=3)", "a seed that is no parameter"),
        ("rng.stream(3, 'x')", "a seed that is no parameter"),
        ("norm.rvs(size=3)", "rvs draws"),
        ("norm.rvs(size=3, random_state=None)", "rvs draws"),
        ("stats.monte_carlo_test(x, norm.rvs, f)", "rvs, handed on"),
        ("qmc.Sobol(2)", "Sobol draws"),
        ("stats.bootstrap((x,), np.mean, rng=3)", "bootstrap draws"),
        ("stats.permutation_test((x, y), f)", "permutation_test draws"),
        ("optimize.differential_evolution(f, b)", "differential_evolution draws"),
        ("optimize.dual_annealing(f, b, seed=1)", "dual_annealing draws"),
        ("from scipy.optimize import basinhopping as find", "another name"),
        *(
            (f"import {name}", "not among what")
            for name in ("time", "datetime", "uuid", "os.path", "sys", "importlib.util")
        ),
        *(
            (f"from {name} import x", "not among what")
            for name in ("subprocess", "socket", "urllib.request", "requests", ".")
        ),
        ("np.datetime64('now')", "datetime64"),
        ("open('x', 'w')", "only reads"),
        ("Path('x').open(mode='a')", "only reads"),
        ("Path('x').write_text('')", "write_text"),
        ("fig.savefig('x')", "savefig"),
    ],
)
def test_chance_clocks_and_other_programs(code, words):
    assert words in found_in(code, code_guards.chance)


@pytest.mark.parametrize(
    "code",
    [
        "random.random(size=3)",
        "norm.rvs(size=3, random_state=random)",
        "stats.bootstrap((x,), np.mean, rng=random)",
        "random.multivariate_normal(mean, cov)",
        "rng.stream(seed + 1, 'x')",
        "import scipy.stats\nfrom matplotlib import pyplot as plt",
        "open('x')",
    ],
)
def test_seeded_randomness(code):
    assert found_in(code, code_guards.chance) == ""


NOTHING = "decides on what is typed or printed"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("book.check_value('a.b', claims.printed('a.b')[0])", NOTHING),
        ("v = claims.printed('a.b')[0]\nbook.check_value('a.b', float(v))", NOTHING),
        ("book.check_value('a.b', 0.5)", NOTHING),
        ("book.check_value('a.b', value, choices={'b = 1': 54.0})", NOTHING),
        ("book.check_holds('a.b', margin=1.0)", NOTHING),
        ("m = 3 - 1\nbook.check_holds('a.b', margin=m)", NOTHING),
        ("book.check_holds('a.b', margin={'x': found, 'y': -1})", NOTHING),
        ("book.check_holds('a.b', margin=m, trivial=0.1)", NOTHING),
        ("book.check_equal('a.b', gap=0, within=1e-9)", NOTHING),
        ("book.check_equal('a.b', gap=np.abs(1 - 1.0).max(), within=1e-9)", NOTHING),
        ("book.check_order('a.b', {'x': 1, 'y': 2})", NOTHING),
        ("book.check_readings('a.b', {'10 %': 1.0, '1 %': one})", NOTHING),
        ("(v,) = claims.printed('a.b')\nbook.check_value('a.b', v)", NOTHING),
        ("v: float = 0.5\nbook.check_value('a.b', v)", NOTHING),
        ("v, w = 0.5, f(x)\nbook.check_value('a.b', v)", NOTHING),
        ("v = 0.5\nw = v / 2\nbook.check_value('a.b', w)", NOTHING),
        ("book.check_holds('a.b', margin=abs(x))", "margin=abs(...) passes"),
        ("m = max(x)\nbook.check_holds('a.b', margin=float(m))", "margin=max(...)"),
        ("book.check_holds('a.b', margin={'x': x.max()})", "margin=max(...)"),
        ("book.check_equal('a.b', gap=np.min(g), within=1e-9)", "gap=min(...)"),
        ("book.check_holds('a.b', margin=min(x, default=1))", "a default decides"),
        ("gap = abs(found - found)", "compares with itself"),
        ("gap = f(x)[0] / f(x)[0] - 1", "compares with itself"),
        ("book.check_equal('a.b', gap=g, within=1e9)", "within=1"),
        ("book.check_equal('a.b', gap=g, within=f(x))", "within=f(x)"),
        ("w = 0.1\nbook.check_equal('a.b', gap=g, within=w)", "within=w"),
        ("book.done.clear()", "book: only its checks"),
        ("record(book)", "book: only its checks"),
        ("book = other", "book: only its checks"),
        ("b = claims.open_notebook('x')", "are called 'book'"),
        ("claims.VerdictError = ValueError", "claims: only its checks"),
        ("claims.ledger.load_all()", "claims: only its checks"),
        ("b._record(claim, 'reproduced', None, '')", "_record: what begins with _"),
        ("np.__dict__['ran' + 'dom']", "__dict__: what begins with _"),
        ("figures.show = print", "assigns to an attribute"),
        ("class A:\n    def _repr_html_(self):\n        pass", "what begins with _"),
    ],
)
def test_check_that_cannot_fail(code, words):
    assert words in found_in(code, code_guards.unfailing)


@pytest.mark.parametrize(
    "code",
    [
        "book.check_value('a.b', claims.printed('a.other')[0] / 2)",
        "book.check_value('a.b', ours, choices={'b = 1': one})",
        "book.check_holds('a.b', margin=0.1 - gaps.max())",
        "w = 0.0\nfor x in y:\n    w = max(w, x)\nbook.check_holds('a.b', margin=w)",
        "gaps = []\ngaps.append(x)\nbook.check_holds('a.b', margin=min(gaps))",
        "book.check_equal('a.b', gap=g, within=1e-9 * scale)",
        "book.check_order('a.b', {'zero': 0.0, 'ours': x})",
        "v, w = 0.5, f(x)\nbook.check_value('a.b', w)",
        "m = 1\ndef f(m):\n    book.check_holds('a.b', margin=m)",
        "book.check_holds('a.b', margin=1 - max(abs(x)))",
        "half = 2 / 2",
        "book.table()",
    ],
)
def test_check_that_can_fail(code):
    assert found_in(code, code_guards.unfailing) == ""


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import IPython", "not among what"),
        ("from dplib.book import verdicts", "use dplib.rng.stream, dplib.book.claims"),
        ("from dplib.book import claims as c", "another name"),
        ("display({claims.MIME_TYPE: {}}, raw=True)", "display: not in a notebook"),
        ("get_ipython()", "get_ipython: not in a notebook"),
        ("setattr(claims, 'printed', f)", "setattr: not in a notebook"),
    ],
)
def test_verdict_written_by_hand(code, words):
    assert words in found_in(code, code_guards.chance)


@pytest.mark.parametrize(
    "tag",
    [
        *("nbval-skip", "nbval-ignore-output", "raises-exception", "skip-execution"),
        *("remove-output", "hide-output", "remove-cell", "my-tag"),
    ],
)
def test_tag_that_hides_a_cell(source, tag):
    def hide(cells):
        cell_with(cells, "largest draw").metadata.tags = [tag]

    edit_cells(source, hide)
    assert f"the tag '{tag}' hides a cell" in complaints(source)


@pytest.mark.parametrize("line", ["# NBVAL_SKIP", "%matplotlib inline", "!ls"])
def test_code_that_hides_a_cell(source, line):
    def hide(cells):
        cell = cell_with(cells, "largest draw")
        cell.source = line + "\n" + cell.source

    edit_cells(source, hide)
    assert re.search("NBVAL comment|not plain Python", complaints(source))


def test_bitmap_figure(source):
    def swap(cells):
        data = cell_with(cells, "figures.show").outputs[0].data
        data["image/png"] = data.pop("image/svg+xml")

    edit_cells(source, swap)
    assert "image/png, which nbval skips" in complaints(source)


@pytest.mark.parametrize(
    "kind", ["application/vnd.jupyter.widget-view+json", "text/latex", "image/jpeg"]
)
def test_output_of_a_type_that_nbval_skips(source, kind):
    """The book would show it in the place of the figure."""

    def add(cells):
        cell_with(cells, "figures.show").outputs[0].data[kind] = "x"

    edit_cells(source, add)
    assert f"an output of type {kind}" in complaints(source)


@pytest.mark.parametrize(
    "metadata",
    [
        {"mystnb": {"remove_code_outputs": True}},
        {"jupyter": {"outputs_hidden": True}},
        {"collapsed": True},
    ],
)
def test_metadata_that_hide_an_output(source, metadata):
    def hide(cells):
        cell_with(cells, "largest draw").metadata.update(nbformat.from_dict(metadata))

    edit_cells(source, hide)
    assert "cell metadata that no page needs" in complaints(source)


def test_plain_value_shown_as_another_kind(source):
    def change(cells):
        output = nbformat.v4.new_output("display_data", {"text/plain": "3"})
        cell_with(cells, "largest draw").outputs.append(output)

    edit_cells(source, change)
    assert "a plain value as display_data" in complaints(source)


def test_output_without_its_parts(source):
    other = source.with_suffix(".ipynb")
    raw = json.loads(other.read_text(encoding="utf-8"))
    code = next(cell for cell in raw["cells"] if cell.get("outputs"))
    code["outputs"][0] = {"output_type": "stream"}
    other.write_text(json.dumps(raw, indent=1), encoding="utf-8")
    assert "not as refresh writes it" in "\n".join(guards.pair(source))


def test_output_shown_as_another_kind(source):
    def change(cells):
        cell = cell_with(cells, "check_value")
        cell.outputs[0].output_type = "execute_result"
        cell.outputs[0].execution_count = cell.execution_count

    edit_cells(source, change)
    assert "a figure or verdict as execute_result" in complaints(source)


@pytest.mark.parametrize("place", ["top", "cell", "attachment", "output", "metadata"])
def test_text_that_only_the_ipynb_has(source, place):
    other = source.with_suffix(".ipynb")
    raw = json.loads(other.read_text(encoding="utf-8"))
    code = next(cell for cell in raw["cells"] if cell.get("outputs"))
    if place == "top":
        raw["foo"] = "secret"
    elif place == "cell":
        code["foo"] = "secret"
    elif place == "attachment":
        raw["cells"][0]["attachments"] = {"a.png": {"image/png": "x"}}
    elif place == "output":
        code["outputs"][0]["foo"] = "secret"
    else:
        raw["metadata"]["foo"] = "secret"
    text = json.dumps(raw, indent=1, ensure_ascii=False) + "\n"
    other.write_text(text, encoding="utf-8")
    assert "not as refresh writes it" in "\n".join(guards.pair(source))


@pytest.mark.parametrize("suffix", [".md", ".ipynb"])
def test_line_ends_of_another_system(source, suffix):
    path = source.with_suffix(suffix)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    found = "\n".join(guards.pair(source))
    assert re.search("not as refresh writes it|has carriage returns", found)


def test_front_matter_is_refused_not_deleted(source):
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("---\n", "---\nmyst: {a: 1}\n", 1), encoding="utf-8")
    with pytest.raises(notebooks.NotebookError, match="the header has 'myst'"):
        notebooks.read_source(source)


def test_parameters_that_are_not_python(source):
    def spoil(cells):
        cell_with(cells, "n = 2").source = "n = = 2"

    edit_cells(source, spoil)
    assert "the parameters cell is not Python" in complaints(source)


def test_path_of_a_machine_in_alt_text(source):
    def leak(cells):
        cell = cell_with(cells, "figures.show")
        cell.metadata.mystnb.image.alt = "from /home/somebody/plot"

    edit_cells(source, leak)
    assert "an absolute path: '/home/somebody" in complaints(source)


@pytest.mark.parametrize(
    "text",
    [
        *("file:///home/a/b", "file://localhost/home/a", "file:/home/a", "at:/home/a"),
        *("C:/Users/a", "C:\\Users\\a", "c:\\\\Users\\\\a", "(/scratch/x)", "/srv/x"),
        *(f"/{folder}/x" for folder in ("Volumes", "data", "workspace", "home/.cache")),
        *(f"'/{folder}/book'" for folder in ("work", "root", "tmp")),
    ],
)
def test_paths_that_are_found(text):
    assert guards.machine_paths(text)


@pytest.mark.parametrize(
    "text",
    [f"{above}/x" for above in ("https://a.org/home", "notebooks/data", "..", "a", "~")]
    + [f"~/{folder}/x" for folder in ("work", "tmp")],
)
def test_paths_that_are_none_of_a_machine(text):
    assert guards.machine_paths(text) == []


def test_pair_in_a_nested_folder(source):
    root = guards.root_of(source)
    shutil.copytree(source.parent, root / "notebooks" / "x" / "truthful")
    found = "\n".join(guards.book_problems(root))
    assert "is not named CHAPTER/NN_topic.md" in found


def test_checkpoints_of_jupyterlab_are_no_pairs(source):
    folder = source.parent / ".ipynb_checkpoints"
    folder.mkdir()
    shutil.copy(source, folder / "01_tiny-checkpoint.md")
    assert guards.book_problems(guards.root_of(source)) == []


GHOST = {"key": "0" * 64, "cpu_seconds": 1.0}


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("notebooks", "truthful/77_ghost"), GHOST, "knows truthful/77_ghost, which"),
        (("notebooks",), [], "status.json is broken"),
        (("notebooks", "truthful/01_tiny"), 3, "status.json is broken"),
        (("versions",), {}, "not the versions that refresh notes"),
        (("versions", "numpy"), "9.9.9", "numpy 9.9.9 is not the lock's"),
        (("versions", "python"), "2.7.1", "a Python that the book does not run on"),
        (("date",), "yesterday", "'yesterday' is no date of the past"),
        (("date",), "9999-12-31", "'9999-12-31' is no date of the past"),
        (("machine",), "/home/alice", "'/home/alice' is no machine"),
        (("foo",), "secret", "date, machine, versions, notebooks, no more"),
    ],
)
def test_status_is_of_these_notebooks(source, place, value, words):
    root = guards.root_of(source)
    path = root / "book" / "status.json"
    noted = json.loads(path.read_text(encoding="utf-8"))
    versions = noted["versions"].items()
    lock = "".join(f"{name}=={version} \\\n" for name, version in versions)
    (root / "requirements.lock").write_text(lock, encoding="utf-8")
    assert guards.book_problems(root) == []
    inner = noted
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    path.write_text(json.dumps(noted), encoding="utf-8")
    assert words in "\n".join(guards.book_problems(root))


def test_status_that_says_a_thing_twice(source):
    path = guards.root_of(source) / "book" / "status.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("{", '{"machine": "x",', 1), encoding="utf-8")
    found = "\n".join(guards.book_problems(guards.root_of(source)))
    assert "status.json is not as refresh writes it" in found


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"key": "abc", "cpu_seconds": 1.0}, "a key that is none"),
        ({"key": "0" * 64}, "an entry has a key and CPU seconds"),
        (GHOST | {"foo": 1}, "an entry has a key and CPU seconds"),
        (GHOST | {"cpu_seconds": True}, "True CPU seconds"),
    ],
)
def test_status_of_a_notebook(source, entry, words):
    path = guards.root_of(source) / "book" / "status.json"
    noted = json.loads(path.read_text(encoding="utf-8"))
    noted["notebooks"]["truthful/01_tiny"] = entry
    path.write_text(json.dumps(noted), encoding="utf-8")
    assert words in complaints(source)


def test_figure_that_is_not_canonical(source):
    def date(cells):
        data = cell_with(cells, "figures.show").outputs[0].data
        data["image/svg+xml"] = '<?xml version="1.0"?>\n' + data["image/svg+xml"]

    edit_cells(source, date)
    assert "not canonical SVG" in complaints(source)


@pytest.mark.parametrize(
    ("part", "words"),
    [("image", "without alt text"), ("figure", "without caption")],
)
def test_figure_without_words(source, part, words):
    def drop(cells):
        del cell_with(cells, "figures.show").metadata.mystnb[part]

    edit_cells(source, drop)
    assert words in complaints(source)


def test_long_line(source):
    def widen(cells):
        cell_with(cells, "largest draw").source += "  # " + "long " * 20

    edit_cells(source, widen)
    assert "a line of 1" in complaints(source)


def test_no_closing_table(source):
    def drop(cells):
        cells.pop()

    edit_cells(source, drop)
    assert "does not end with the claim table" in complaints(source)


def test_not_in_the_contents(source):
    toc = guards.root_of(source) / "_toc.yml"
    toc.write_text(tiny_book.TOC.replace(".ipynb", ""), encoding="utf-8")
    assert "_toc.yml does not list" in complaints(source)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "does not know"),
        (91.0, "over 90"),
        (-5.0, "-5.0 CPU seconds"),
        (float("nan"), "nan CPU seconds"),
        ("1", "'1' CPU seconds"),
    ],
)
def test_budget_of_a_notebook(source, seconds, words):
    path = guards.root_of(source) / "book" / "status.json"
    noted = json.loads(path.read_text(encoding="utf-8"))
    if seconds is None:
        noted["notebooks"] = {}
    else:
        noted["notebooks"]["truthful/01_tiny"]["cpu_seconds"] = seconds
    path.write_text(json.dumps(noted), encoding="utf-8")
    assert words in complaints(source)


def test_budget_of_a_chapter(source):
    path = guards.root_of(source) / "book" / "status.json"
    noted = json.loads(path.read_text(encoding="utf-8"))
    for number in range(6):
        entry = {"key": "", "cpu_seconds": 80.0}
        noted["notebooks"][f"truthful/0{number}_tiny"] = entry
    path.write_text(json.dumps(noted), encoding="utf-8")
    found = "\n".join(guards.book_problems(guards.root_of(source)))
    assert "chapter truthful: 480 CPU seconds, over 450" in found


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "verdict: reproduced",
            "verdict: not reproduced\n  tried: all",
            "stored verdict",
        ),
        ("says: one half", "says: one third", "'says' is not the ledger's"),
        ('printed: "0.50"', 'printed: "0.51"', "'printed' or 'at' is not"),
        ("at: {n: 2}", "at: {n: 3}", "'printed' or 'at' is not"),
        ("truthful.half", "truthful.third", "not a claim of this notebook"),
    ],
)
def test_altered_claim_of_the_ledger(source, old, new, words):
    path = guards.root_of(source) / "book" / "claims" / "truthful.yml"
    path.write_text(tiny_book.LEDGER.replace(old, new), encoding="utf-8")
    assert words in complaints(source)


@pytest.mark.parametrize(("size", "wide"), [(0.05, False), (0.06, True)])
def test_tolerance_that_anything_passes(source, size, wide):
    root = guards.root_of(source)
    wider = f'printed: "0.50"\n  tolerance: {{abs: {size}, because: tried}}'
    text = tiny_book.LEDGER.replace('printed: "0.50"', wider)
    (root / "book" / "claims" / "truthful.yml").write_text(text, encoding="utf-8")
    found = "\n".join(guards.book_problems(root))
    assert ("truthful.half: a tolerance over a tenth" in found) == wide


def test_claim_that_no_cell_checks(source):
    path = guards.root_of(source) / "book" / "claims" / "truthful.yml"
    more = tiny_book.LEDGER.split("- id: truthful.later")[0].split("claims:\n")[1]
    more = more.replace("truthful.half", "truthful.more")
    path.write_text(tiny_book.LEDGER + more, encoding="utf-8")
    assert "truthful.more: checked 0 times" in complaints(source)


@pytest.mark.parametrize("ends", [[0.51, 0.6], [None, 0.49]])
def test_value_outside_its_interval(source, ends):
    def widen(cells):
        data = cell_with(cells, "check_value").outputs[0].data
        data[claims.MIME_TYPE]["interval"] = ends

    edit_cells(source, widen)
    assert "truthful.half: its value lies outside" in complaints(source)


def test_claim_output_deleted(source):
    def drop(cells):
        del cell_with(cells, "check_value").outputs[0].data[claims.MIME_TYPE]

    edit_cells(source, drop)
    assert "truthful.half: checked 0 times" in complaints(source)


# -- what only an execution shows: nbval ---------------------------------------


def _stale_number(cells):
    output = cell_with(cells, "largest draw").outputs[0]
    output.text = output.text.replace("draw ", "draw 9")


def _changed_figure(cells):
    data = cell_with(cells, "figures.show").outputs[0].data
    data["image/svg+xml"] = re.sub(r"M (\d)", r"M 9\1", data["image/svg+xml"], count=1)


def _changed_claim(cells):
    data = cell_with(cells, "check_value").outputs[0].data
    data[claims.MIME_TYPE]["value"] = 0.25


def _changed_verdict_line(cells):
    data = cell_with(cells, "check_value").outputs[0].data
    data["text/html"] = data["text/html"].replace("0.5", "0.7")


def _other_last_digit(cells):
    output = cell_with(cells, "largest draw").outputs[0]
    output.text = re.sub(r"\d$", lambda m: str((int(m.group()) + 5) % 10), output.text)


def _moved_figure(cells):
    data = cell_with(cells, "figures.show").outputs[0].data
    data["image/svg+xml"] = re.sub(
        r"M (\S+)",
        lambda m: f"M {float(m.group(1)) + 0.2:.2f}",
        data["image/svg+xml"],
    )


def _deleted_output(cells):
    cell_with(cells, "largest draw").outputs = []


def _changed_table(cells):
    data = cell_with(cells, "book.table").outputs[0].data
    data["text/html"] = data["text/html"].replace("one half", "one third")


def _untouched(cells):
    assert cells


DAMAGE = {
    "untouched": _untouched,
    "stale_number": _stale_number,
    "changed_figure": _changed_figure,
    "changed_claim": _changed_claim,
    "changed_verdict_line": _changed_verdict_line,
    "deleted_output": _deleted_output,
    "changed_table": _changed_table,
    "other_last_digit": _other_last_digit,
    "moved_figure": _moved_figure,
}
SAME = ("untouched", "moved_figure")


@pytest.fixture(scope="module")
def nbval_report(pristine, tmp_path_factory):
    """Run nbval once over one damaged notebook a kind; lines of its report."""
    root = tmp_path_factory.mktemp("damaged") / "tiny"
    shutil.copytree(pristine, root)
    first = root / "notebooks" / "truthful" / "01_tiny.md"
    for name, change in DAMAGE.items():
        stored = guards.stored(first)
        change(stored.cells)
        path = first.with_name(f"{name}.ipynb")
        path.write_text(notebooks.verified_text(stored), encoding="utf-8")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-rA", "--nbval", "--nbval-current-env", "--color=no", "-c", os.devnull),
            *("-p", "conftest"),
            *(f"{name}.ipynb" for name in DAMAGE),
        ],
        cwd=first.parent,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGE)
def test_nbval_notices(nbval_report, name):
    failed = re.search(rf"^FAILED \S*{name}\.ipynb", nbval_report, re.MULTILINE)
    passed = re.search(rf"^PASSED \S*{name}\.ipynb", nbval_report, re.MULTILINE)
    assert passed, nbval_report[-2000:]
    assert bool(failed) == (name not in SAME), nbval_report[-2000:]
