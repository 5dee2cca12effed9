"""Notebooks that a sweep can run, and keys that change with what decides a row."""

from pathlib import Path

import jupytext
import nbformat
import pytest
import tiny_sweep

from dplib.book import code_key
from dplib.sweep import notebook as notebooks
from dplib.sweep.parameters import RefusedError

ROOT = Path(__file__).resolve().parents[2]


def test_a_notebook_is_read(tmp_path):
    path = tiny_sweep.write(tmp_path / "chapter")
    found = notebooks.read(path)
    assert found.name == "chapter/tiny"
    assert found.folder == path.parent
    assert len(found.cells) == 3
    assert [p.name for p in found.parameters] == ["a", "n", "word", "wait"]
    assert notebooks.read(path.with_suffix("")).cells == found.cells


@pytest.fixture
def batch(tmp_path, monkeypatch):
    """A book that holds one notebook of ours, as it is edited."""
    source = ROOT / "notebooks" / "truthful" / "08_batch.md"
    copy = tmp_path / "notebooks" / "truthful" / source.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(source.read_bytes())
    (tmp_path / "dplib").symlink_to(ROOT / "dplib")
    monkeypatch.setattr(notebooks, "_LIBRARY", tmp_path / "dplib")
    return notebooks.read("truthful/08_batch")


def test_a_notebook_of_the_book_is_found_by_its_name(batch):
    assert batch.name == "truthful/08_batch"
    assert [p.name for p in batch.parameters][:2] == ["epsilon", "B"]


def refused(message, path):
    with pytest.raises(RefusedError, match=message):
        notebooks.read(path)


def test_what_no_sweep_can_run_is_refused(tmp_path):
    refused("There is no notebook 'none/at_all'", "none/at_all")
    refused("There is no notebook", tmp_path)
    broken = tmp_path / "broken.ipynb"
    broken.write_text("{}")
    refused("cannot be read|must have one cell", broken)
    broken.write_bytes(b"\xff")
    refused("cannot be read", broken)
    bare = tiny_sweep.write(tmp_path, parameters=None, name="bare")
    refused("must have one cell tagged 'parameters', of code. Got none", bare)
    odd = tiny_sweep.write(tmp_path, "if True print(1)", name="odd")
    refused("A cell of .* is not Python", odd)
    computed = tiny_sweep.write(tmp_path, parameters="n = 2 * 3", name="computed")
    refused("must hold plain literals", computed)


@pytest.mark.parametrize("kind", ["markdown", "raw", "code"])
def test_a_second_cell_where_papermill_would_write_is_refused(tmp_path, kind):
    """It writes below the first with the tag: the parameters cell would win."""
    path = tiny_sweep.write(tmp_path)
    notebook = nbformat.read(path, as_version=4)
    cell = getattr(nbformat.v4, f"new_{kind}_cell")("1")
    notebook.cells.insert(0, cell)
    for tag, message in (
        ("parameters", f"one cell tagged 'parameters', of code. Got {kind}, code"),
        ("injected-parameters", "was made by a sweep or papermill"),
    ):
        cell.metadata["tags"] = [tag]
        nbformat.write(notebook, path)
        refused(message, path)


@pytest.mark.parametrize(
    "cell",
    [
        "n = 5",
        "n += 1",
        "for n in range(3):\n    pass",
        "import numpy as n",
        "def n():\n    pass",
        "if (n := 5) > 4:\n    pass",
        "def f():\n    global n\n    n = 5",
        "%matplotlib inline\nx, (n, y) = 1, (2, 3)",
        "%%capture\nn = 7",
        "%%time\n%time n = 7",
        "if True:\n    %time n = 7",
    ],
)
def test_s3_a_later_cell_that_assigns_a_parameter_again_is_refused(tmp_path, cell):
    path = tiny_sweep.write(tmp_path, cell, tiny_sweep.ROW)
    refused("assigns its parameter 'n' again in a later cell", path)


def test_a_later_cell_that_imports_everything_is_refused(tmp_path):
    path = tiny_sweep.write(tmp_path, "%%time\nfrom math import *", tiny_sweep.ROW)
    refused("imports everything of a module", path)


@pytest.mark.parametrize(
    "cell", ["x = a * n", "# sweep.record(x=a)\nx = a", "record = [a]\nrecord.pop()"]
)
def test_a_notebook_that_records_nothing_is_refused(tmp_path, cell):
    refused(
        "No cell of .*/silent calls sweep.record",
        tiny_sweep.write(tmp_path, cell, name="silent"),
    )


@pytest.mark.parametrize(
    "cell",
    [
        "from dplib import sweep as s\ns.record(x=a)",
        "from dplib.sweep import record as keep\nkeep(x=a)",
        "import dplib.sweep\n%time dplib.sweep.record(x=a)",
    ],
)
def test_a_row_may_be_recorded_under_any_import(tmp_path, cell):
    assert notebooks.read(tiny_sweep.write(tmp_path, cell)).name


def test_s3_what_binds_another_n_is_no_assignment(tmp_path):
    cell = (
        "def f(n):\n    n = n + 1\n    return n\n"
        "m = [n for n in range(3)]\nx = dict(n=n)\nclass C:\n    n = 5"
    )
    cell += "\n%timeit -n 3 m\n%cd n = 5 of them"
    assert notebooks.read(tiny_sweep.write(tmp_path, cell, tiny_sweep.ROW)).name


def test_a_pair_whose_files_hold_other_code_is_refused(tmp_path):
    path = tiny_sweep.write(tmp_path)
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata["jupytext"] = {"formats": "ipynb,md:myst"}
    text = jupytext.writes(notebook, fmt="md:myst")
    path.with_suffix(".md").write_text(text)
    assert notebooks.read(path).cells == notebooks.read(tmp_path / "tiny.md").cells
    path.with_suffix(".md").write_text(text.replace("n == 13", "n == 14"))
    refused("hold other code", path)


def version(tmp_path, *cells, parameters=tiny_sweep.PARAMETERS):
    path = tiny_sweep.write(tmp_path, *cells, tiny_sweep.ROW, parameters=parameters)
    return notebooks.code_version(notebooks.read(path).cells)


def test_the_version_changes_with_code_and_defaults_only(tmp_path):
    before = version(tmp_path, "x = 1")
    assert version(tmp_path, "x  =  1  # one") == before
    assert version(tmp_path, "x = 2") != before
    changed = tiny_sweep.PARAMETERS.replace("n = 3", "n = 4")
    assert version(tmp_path, "x = 1", parameters=changed) != before
    told = tiny_sweep.PARAMETERS.replace("an integer", "another word")
    assert version(tmp_path, "x = 1", parameters=told) == before
    magic = version(tmp_path, "%cd a\nx = 1")
    assert version(tmp_path, "%cd b\nx = 1") != magic


def test_the_version_changes_with_the_library_that_is_reached(tmp_path, monkeypatch):
    library = tmp_path / "dplib"
    library.mkdir()
    (library / "__init__.py").write_text("")
    (library / "used.py").write_text("x = 1\n")
    (library / "other.py").write_text("y = 1\n")
    monkeypatch.setattr(notebooks, "_LIBRARY", library)
    cells = ("from dplib import used",)
    before = notebooks.code_version(cells)
    (library / "other.py").write_text("y = 22\n")
    assert notebooks.code_version(cells) == before
    (library / "used.py").write_text("x = 1  # the same, told at length\n")
    assert notebooks.code_version(cells) == before
    (library / "used.py").write_text("x = 2222\n")
    assert notebooks.code_version(cells) != before


def test_a_batch_notebook_does_not_reach_the_driver(batch):
    reached = code_key.reached("\n".join(batch.cells), ROOT / "dplib")
    ours = {name for name in reached if name.startswith("dplib.sweep.")}
    assert ours == {"dplib.sweep.rows"}


def test_the_key_of_a_point_is_version_values_and_files(tmp_path):
    def key(version="v", **change):
        point = {"a": 0.5, "n": 1, "file": ""} | change
        return notebooks.point_key(version, point, tmp_path)

    assert key() == notebooks.point_key("v", {"file": "", "n": 1, "a": 0.5}, tmp_path)
    found = [key(), key("w"), key(a=0.25), key(n=2), key(n=1.0), key(file="team.yml")]
    (tmp_path / "team.yml").write_text("one")
    found.append(key(file="team.yml"))
    (tmp_path / "team.yml").write_text("two")
    found.append(key(file="team.yml"))
    found.append(key(file="x" * 5000))
    assert len(set(found)) == len(found)
