"""Each guard, and nbval, notices what it is there for: we break a notebook.

One tiny book is executed once. Each case copies it, damages the copy in one way, and
names the words by which the right guard complains.
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
MD = "notebooks/truthful/01_tiny.md"
IPYNB = "notebooks/truthful/01_tiny.ipynb"
LEDGER = "book/claims/truthful.yml"
STATUS = "book/status.json"
SVG = "image/svg+xml"

# The code cells of the tiny notebook, by a word of each.
PARAMETERS, DRAWS, FIGURE = "n = 2", "largest draw", "figures.show"
CHECK, TABLE, IMPORTS = "check_value", "book.table", "import matplotlib"
SOLUTION = "1 / (n + n)"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    root = tmp_path_factory.mktemp("pristine") / "tiny"
    tiny_book.write(root)
    notebooks.refresh(root)
    pins = json.loads((root / STATUS).read_text(encoding="utf-8"))["versions"].items()
    lock = "".join(f"{name}=={version} \\\n" for name, version in pins)
    (root / "requirements.lock").write_text(lock, encoding="utf-8")
    return root


@pytest.fixture
def root(pristine, tmp_path):
    """A copy of the tiny book to damage."""
    return shutil.copytree(pristine, tmp_path / "tiny")


def complaints(root):
    pair = guards.problems(root / MD) if (root / MD).is_file() else []
    return "\n".join([*pair, *guards.book_problems(root)])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("assert 1 / n < 1", ""),
        ("print(1 / n < 1)", "asserts its formulas"),
        ("assert 0 < 1", "asserts its formulas"),
        ("assert n", "asserts its formulas"),
        ("book.table()\nassert n > 0", "a claim on a page of no paper"),
    ],
)
def test_a_page_of_no_paper_asserts_something(root, monkeypatch, line, words):
    monkeypatch.setattr(guards, "WITHOUT_PAPER", {"truthful"})
    notebook = nbformat.read(root / IPYNB, as_version=4)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    if "a claim" not in words:
        for one in code:
            one.outputs = []
    code[-1].source = line
    nbformat.write(notebook, root / IPYNB)
    found = "\n".join(guards.verdicts(root / MD))
    assert words in found if words else found == ""


def test_the_pristine_book_passes_every_guard(root):
    checkpoints = root / "notebooks" / "truthful" / ".ipynb_checkpoints"
    checkpoints.mkdir()
    shutil.copy(root / MD, checkpoints / "01_tiny-checkpoint.md")  # no pair
    assert complaints(root) == ""


# -- ways to damage a book -----------------------------------------------------


def set_in(value, *place):
    """Set what lies at a place; a function is given what lies there."""
    *way, last, new = place
    for step in way:
        value = value[step]
    value[last] = new(value[last]) if callable(new) else new


def cell(words, *place):
    """Change a cell in both files alike, so that only other guards can notice."""

    def damage(root):
        stored = guards.stored(root / MD)
        change(stored.cells)
        (root / MD).write_text(notebooks.source_text(stored), encoding="utf-8")
        (root / IPYNB).write_text(notebooks.verified_text(stored), encoding="utf-8")

    def change(cells):
        (found,) = [c for c in cells if c.cell_type == "code" and words in c.source]
        set_in(found, *place)

    damage.change = change
    return damage


def output(kind, **parts):
    """Append an output to the cell that draws."""
    new = nbformat.v4.new_output(kind, **parts)
    return cell(DRAWS, "outputs", lambda old: [*old, new])


def data(words, kind, new):
    return cell(words, "outputs", 0, "data", kind, new)


def text(path, old, new, count=1):
    def damage(root):
        before = (root / path).read_text(encoding="utf-8")
        assert old in before
        after = before.replace(old, new, count)
        (root / path).write_text(after, encoding="utf-8", newline="")

    return damage


def in_json(path, *place):
    def damage(root):
        whole = json.loads((root / path).read_text(encoding="utf-8"))
        set_in(whole, *place)
        written = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
        (root / path).write_text(written, encoding="utf-8")

    return damage


def note(*place):
    return in_json(STATUS, *place)


def both(old, new):
    """Change the words of a page, in both files alike."""

    def damage(root):
        whole = notebooks.read_source(root / MD)
        old_text = notebooks.source_text(whole)
        assert old in old_text
        (root / MD).write_text(old_text.replace(old, new, 1), encoding="utf-8")
        changed, stored = notebooks.read_source(root / MD), guards.stored(root / MD)
        for cell, found in zip(changed.cells, stored.cells, strict=True):
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = (
                    found.outputs,
                    found.execution_count,
                )
        (root / IPYNB).write_text(notebooks.verified_text(changed), encoding="utf-8")

    return damage


def two_folded(root):
    """Fold two cells with their outputs."""
    for word in (DRAWS, SOLUTION):
        cell(word, "metadata", "tags", ["hide-cell"])(root)


def verdict(part, new):
    """Change the JSON of the check."""
    return cell(CHECK, "outputs", 0, "data", claims.MIME_TYPE, part, new)


def entry(**parts):
    return note("notebooks", "truthful/01_tiny", lambda old: old | parts)


def claim(old, new):
    return text(LEDGER, old, new)


def copy(path):
    def damage(root):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / MD, root / path)

    return damage


def untagged(metadata):
    return {name: part for name, part in metadata.items() if name != "tags"}


# -- what each guard says ------------------------------------------------------

DIFFER = "differ in their cells"
REFRESH = "not as refresh writes it"
IPYNB_IS = "the .ipynb is not as"
HIDES = "cell metadata that no page needs"
MACHINE = "an absolute path: '/home/somebody"
HOME = "/home/somebody/book"
ERRATUM = "```{admonition} Erratum: one\n:class: warning\n\nText.\n```\n"
RESULT = {"output_type": "execute_result", "execution_count": 5}
VERDICT = ("outputs", 0, "data", claims.MIME_TYPE)
GHOST = {"key": "0" * 64, "cpu_seconds": 1.0}
OTHER = tiny_book.LEDGER.split("claims:\n")[1].split("- id: truthful.later")[0]

PAIR = [
    (lambda root: (root / IPYNB).unlink(), "has no .ipynb beside it"),
    (lambda root: (root / MD).unlink(), "has no .md beside it"),
    (lambda root: (root / MD).unlink(), "truthful/01_tiny does not exist"),
    (text(MD, "size=4", "size=5"), DIFFER),
    (text(IPYNB, "size=4", "size=5"), DIFFER),
    (text(MD, "[parameters, ", "[parameter, "), DIFFER),
    (text(MD, "Four draws", "Five draws"), DIFFER),
    (text(MD, "\n", "\r\n", -1), REFRESH),
    (text(IPYNB, "\n", "\r\n", -1), REFRESH),
    (text(MD, "---\n", "---\nmyst: {a: 1}\n"), "the header has 'myst'"),
    # Text that only the .ipynb has, and an output without its parts.
    (in_json(IPYNB, "foo", "secret"), IPYNB_IS),
    (in_json(IPYNB, "metadata", "foo", "secret"), IPYNB_IS),
    (in_json(IPYNB, "cells", 3, "foo", "secret"), IPYNB_IS),
    (in_json(IPYNB, "cells", 0, "attachments", {"a.png": {"image/png": ""}}), IPYNB_IS),
    (in_json(IPYNB, "cells", 3, "outputs", 0, "foo", "secret"), IPYNB_IS),
    (in_json(IPYNB, "cells", 3, "outputs", 0, {"output_type": "stream"}), IPYNB_IS),
    (copy("notebooks/x/truthful/01_tiny.md"), "is not named CHAPTER/NN_topic.md"),
    (text("_toc.yml", ".ipynb", ""), "_toc.yml does not list"),
]
CELLS = [
    (cell(DRAWS, "execution_count", 17), "execution counts are [1, 2, 17"),
    (output("error", ename="Ouch", evalue="", traceback=[]), "a stored error: Ouch"),
    (output("stream", name="stderr", text="RuntimeWarning"), "a stored warning"),
    (output("display_data", data={"text/plain": "3"}), "a plain value as display_data"),
    (cell(PARAMETERS, "metadata", {}), "0 cells are tagged 'parameters'"),
    (cell(PARAMETERS, "source", "n = 1 + 1  # how many"), "not a plain literal"),
    (cell(PARAMETERS, "source", "n = 2"), "without unit and range"),
    (cell(PARAMETERS, "source", "import math  # no"), "not a one-line assignment"),
    (cell(PARAMETERS, "source", "n = = 2"), "the parameters cell is not Python"),
    (cell(DRAWS, "source", lambda old: f"{old}  # {'long ' * 20}"), "a line of 1"),
    (cell(TABLE, "source", "book"), "does not end with the claim table"),
    (cell(DRAWS, "source", "import time"), "imports time"),
    (cell(DRAWS, "source", "gap = n - n"), "compares with itself: n - n"),
    (cell(DRAWS, "source", lambda old: f"# NBVAL_SKIP\n{old}"), "NBVAL comment"),
    (cell(DRAWS, "source", lambda old: f"%time\n{old}"), "not plain Python"),
    (cell(DRAWS, "source", "!ls"), "not plain Python"),
    *(
        (cell(DRAWS, "metadata", "tags", [tag]), f"the tag '{tag}' hides a cell")
        for tag in ("nbval-skip", "raises-exception", "remove-output", "mine")
    ),
    (cell(DRAWS, "metadata", "mystnb", {"remove_code_outputs": True}), HIDES),
    (cell(DRAWS, "metadata", "jupyter", {"outputs_hidden": True}), HIDES),
    (cell(DRAWS, "metadata", "collapsed", True), DIFFER),
    # One story a page.
    (cell(CHECK, "metadata", "tags", ["hide-cell"]), "half: a headline out of sight"),
    (cell(FIGURE, "metadata", "tags", ["hide-cell"]), "a figure out of sight"),
    (cell(FIGURE, "metadata", untagged), "the code of a figure is not folded"),
    (cell(PARAMETERS, "metadata", "tags", ["parameters"]), "parameters are not folded"),
    (cell(IMPORTS, "metadata", untagged), "imports are not folded"),
    (two_folded, "2 cells with the tag hide-cell, not one"),
    (cell(DRAWS, "source", "n" + "\nn" * 20), "a visible cell of 21 lines, over 20: n"),
    (cell(DRAWS, "source", "n" + "\nn" * 100), "lines of code, over 100"),
    (verdict("finding", "word " * 20), "half: a verdict of 113 characters"),
    (both("{exercise} Compute", "{note} Compute"), "no {exercise}"),
    (both(":class: dropdown", ":hidden:"), "tiny-half: no {solution-start} tiny-half"),
    (both("{solution-end}", "{note}"), "a {solution-start} without {solution-end}"),
    (both(":label: tiny-half\n", ":label: tiny-more\n"), "exercise tiny-more: no"),
    *(
        (both("# A tiny", f"{erratum}\n# A tiny"), "an erratum that does not fold")
        for erratum in (
            ERRATUM,
            ERRATUM.replace("```", ":::"),
            ERRATUM.replace("Erratum: one", "An erratum"),
            ERRATUM.replace("{admonition} Erratum: one", "{warning} Errata"),
            "## Erratum: one\n",
            "**Erratum.** One.\n",
        )
    ),
    (both("```{solution-end}", "book.check_\n```{solution-end}"), "inside a solution"),
    # Paths of a machine; escaped, a line break would look like a letter before one.
    (cell(DRAWS, "outputs", 0, "text", HOME), MACHINE),
    (cell(DRAWS, "source", f'open("{HOME}")'), MACHINE),
    (data(FIGURE, "text/plain", f"saved to\n{HOME}"), MACHINE),
    (data(FIGURE, SVG, lambda svg: f"{svg}<!-- {HOME} -->"), MACHINE),
    (cell(FIGURE, "metadata", "mystnb", "image", "alt", f"from {HOME}"), MACHINE),
    # Figures; the book would show another type in the place of the figure.
    (data(FIGURE, "text/latex", "x"), "an output of type text/latex, which nbval"),
    (data(FIGURE, "image/png", "x"), "an output of type image/png, which nbval"),
    (data(FIGURE, SVG, lambda svg: f'<?xml version="1.0"?>\n{svg}'), "not canonical"),
    (
        data(FIGURE, SVG, lambda svg: svg.replace("scale(0.11", "scale(0.09")),
        "9 points",
    ),
    # An empty block of a header, `image:` or `figure:`, is None.
    (cell(FIGURE, "metadata", "mystnb", "image", None), "without alt text"),
    (cell(FIGURE, "metadata", "mystnb", "figure", None), "without caption"),
    (cell(FIGURE, "metadata", "mystnb", "figure", {"name": "a"}), "without caption"),
    (cell(FIGURE, "metadata", "mystnb", "figure", {"caption": "a"}), "without name"),
    (cell(CHECK, "outputs", 0, lambda old: old | RESULT), "verdict as execute_result"),
]
CLAIMS = [
    (
        claim("verdict: reproduced", "verdict: not reproduced\n  tried: all"),
        "'verdict' is not the ledger's",
    ),
    (claim("says: one half", "says: one third"), "'says' is not the ledger's"),
    (claim('printed: "0.50"', 'printed: "0.51"'), "'printed' is not the ledger's"),
    (claim("at: {n: 2}", "at: {n: 3}"), "'at' is not the ledger's"),
    (claim("truthful.half", "truthful.third"), "not a claim of this notebook"),
    (
        claim("claims:\n", "claims:\n" + OTHER.replace(".half", ".more")),
        "truthful.more: checked 0 times",
    ),
    (
        claim('"0.50"', '"0.50"\n  tolerance: {abs: 0.06, because: tried}'),
        "truthful.half: a tolerance over a tenth",
    ),
    (cell(CHECK, "source", "3"), "half: stored in a cell that does not check it"),
    (cell(CHECK, *VERDICT, "interval", [0.51, 0.6]), "half: its value lies outside"),
    (cell(CHECK, *VERDICT, "interval", [None, 0.49]), "half: its value lies outside"),
]
STATES = [
    (note("notebooks", "truthful/77_ghost", GHOST), "knows truthful/77_ghost, which"),
    (note("notebooks", {}), "does not know the notebook"),
    (note("versions", {}), "'python' is a required property"),
    (note("versions", "foo", "1.0"), "has too many properties"),
    (note("versions", "numpy", "9.9.9"), "numpy==9.9.9 is not the lock's"),
    (note("versions", "python", "2.7.1"), "'2.7.1' does not match"),
    (note("date", "yesterday"), "'yesterday' does not match"),
    (note("date", "9999-12-31"), "9999-12-31 is to come"),
    (note("machine", "/home/alice"), "'/home/alice' does not match"),
    (note("foo", "secret"), "('foo' was unexpected)"),
    (text(STATUS, "{", '{"machine": "x",'), f"status.json is {REFRESH}"),
    (text(STATUS, "{", ""), "status.json is broken"),
    (entry(key="abc"), "'abc' does not match"),
    (entry(foo=1), "('foo' was unexpected)"),
    (entry(cpu_seconds=True), "True is not of type 'number'"),
    (entry(cpu_seconds=-5.0), "-5.0 is less than or equal to the minimum"),
    (entry(cpu_seconds=91.0), "91.0 CPU seconds, over 90"),
    (entry(cpu_seconds=480.0), "chapter truthful: 480 CPU seconds, over 450"),
]


@pytest.mark.parametrize(("damage", "words"), [*PAIR, *CELLS, *CLAIMS, *STATES])
def test_a_guard_notices(root, damage, words):
    damage(root)
    assert words in complaints(root)


RESULT_OF_A_RUN = """\
PARAMETERS = {"steps": 3}
AGREEMENT = {"rule": "exact"}
TASK, COLUMNS = ("number",), ("value",)


def tasks():
    return [(0,)]


def run(number):
    return [(0,)]
"""
COMMAND = "python -m dplib.book.stored change truthful/run --set steps=5"
SHOW = "--show truthful/01_tiny --out runs/mine"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"`{COMMAND} {SHOW}`", ""),
        (f"```bash\n.venv/bin/{COMMAND} \\\n    {SHOW}\n```", ""),
        ("nothing", "no 'Change it' with a command for truthful/run"),
        (f"`{COMMAND}`", "it must show this page: --show truthful/01_tiny"),
        (f"`{COMMAND} --show truthful/02`", "Change it: There is no notebook"),
        (f"`{COMMAND.replace('steps=', 'step=')} {SHOW}`", "run has no 'step': there"),
        (f"`{COMMAND.replace('=5', '=five')} {SHOW}`", "steps must be like the book's"),
        (f"`{COMMAND.replace('/run', '/walk')} {SHOW}`", "results/walk.py"),
        (f"`{COMMAND} {SHOW} --more`", "unrecognized arguments: --more"),
        (f"`{COMMAND} {SHOW} 'open`", "Change it: No closing quotation"),
        (f"`{COMMAND} {SHOW}` or `{COMMAND}0 {SHOW}`", "two commands with one --out"),
    ],
)
def test_where_a_stored_run_is_drawn_one_may_change_it(root, command, words):
    definition = root / "notebooks" / "truthful" / "results" / "run.py"
    definition.parent.mkdir()
    definition.write_text(RESULT_OF_A_RUN, encoding="utf-8")
    cell(DRAWS, "source", lambda old: f'stored.load("truthful/run")\n{old}')(root)
    box = f"````{{admonition}} Change it\n:class: change-it\n\n{command}\n````\n"
    both("# A tiny", f"{box}\n# A tiny")(root)
    found = complaints(root)
    assert words in found
    assert bool(words) == bool(found)


@pytest.mark.parametrize(
    "erratum",
    [
        ERRATUM.replace("warning", "warning dropdown"),
        ERRATUM.replace(":class:", ":name: one\n:class: dropdown"),
        "We list errata elsewhere.\n",
    ],
)
def test_an_erratum_that_folds_passes(root, erratum):
    both("# A tiny", f"{erratum}\n# A tiny")(root)
    assert complaints(root) == ""


def test_a_notebook_without_outputs_is_noticed(root):
    for word in (PARAMETERS, IMPORTS, DRAWS, FIGURE, CHECK, SOLUTION, TABLE):
        cell(word, "outputs", [])(root)
        cell(word, "execution_count", None)(root)
    assert "no stored output" in complaints(root)
    assert "execution counts are [None" in complaints(root)


def test_a_tolerance_of_a_tenth_passes(root):
    claim('"0.50"', '"0.50"\n  tolerance: {abs: 0.05, because: tried}')(root)
    assert "over a tenth" not in complaints(root)


@pytest.mark.parametrize("bound", ["v = 0.5", "v = claims.printed('truthful.half')[0]"])
def test_a_check_on_a_typed_number_of_the_cell_above(root, bound):
    cell(DRAWS, "source", bound)(root)
    cell(CHECK, "source", "book.check_value('truthful.half', v)")(root)
    assert NOTHING in complaints(root)


def test_paths_of_a_machine():
    paths = [
        *("file:///home/a/b", "file://localhost/home/a", "file:/home/a"),
        *("at:/home/a", "C:/Users/a", "C:\\Users\\a", "c:\\\\Users\\\\a"),
        *("(/scratch/x)", "/srv/x", "/data/x", "/home/.cache/x", "'/tmp/a'"),
    ]
    others = ["https://a.org/home/x", "notebooks/data/x", "../x", "~/tmp/x"]
    assert [p for p in paths + others if guards.machine_paths(p)] == paths


# -- guards of code ------------------------------------------------------------

STREAM, UNKNOWN = "use dplib.rng.stream", "not among what"
SEED = "a seed that is no parameter"
NOTHING = "decides on what is typed or printed"
HIDDEN, OURS = "what begins with _", "book: only its checks"

CHANCE = [
    ("np.random.seed(1)", "random, handed on"),
    ("np.random.default_rng()", "default_rng"),
    ("import random", UNKNOWN),
    ("from numpy.random import normal", STREAM),
    ("from numpy import linalg, random", STREAM),
    ("import numpy.random as r", STREAM),
    ("from scipy.stats import *", "and names"),
    ('getattr(np, "ran" + "dom")', "getattr"),
    ("hash('x')", "hash"),
    ("from dplib.rng import stream as s", STREAM),
    ("rng.stream(int('3'))", SEED),
    ("rng.stream(seed=3)", SEED),
    ("rng.stream(3, 'x')", SEED),
    ("norm.rvs(size=3)", "rvs draws"),
    ("norm.rvs(size=3, random_state=None)", "rvs draws"),
    ("stats.monte_carlo_test(x, norm.rvs, f)", "rvs, handed on"),
    ("qmc.Sobol(2)", "Sobol draws"),
    ("stats.bootstrap((x,), np.mean, rng=3)", "bootstrap draws"),
    ("optimize.dual_annealing(f, b, seed=1)", "dual_annealing draws"),
    ("from scipy.optimize import basinhopping as find", "another name"),
    ("import time", UNKNOWN),
    ("import importlib.util", UNKNOWN),
    ("from urllib.request import x", UNKNOWN),
    ("from . import x", UNKNOWN),
    ("np.datetime64('now')", "datetime64"),
    ("open('x', 'w')", "only reads"),
    ("Path('x').open(mode='a')", "only reads"),
    ("Path('x').write_text('')", "write_text"),
    # A verdict that is written by hand.
    ("import IPython", UNKNOWN),
    ("from dplib.book import verdicts", "use dplib.rng.stream, dplib.book.claims"),
    ("from dplib.book import claims as c", "another name"),
    ("display({claims.MIME_TYPE: {}}, raw=True)", "display: not in a notebook"),
    ("setattr(claims, 'printed', f)", "setattr: not in a notebook"),
    # Seeded randomness.
    ("norm.rvs(size=3, random_state=random)", ""),
    ("stats.bootstrap((x,), np.mean, rng=random)", ""),
    ("random.multivariate_normal(mean, cov)", ""),
    ("rng.stream(seed + 1, 'x')", ""),
    ("import scipy.stats\nfrom matplotlib import pyplot as plt", ""),
    ("open('x')", ""),
]
UNFAILING = [
    ("book.check_value('a.b', claims.printed('a.b')[0])", NOTHING),
    ("v = claims.printed('a.b')[0]\nbook.check_value('a.b', float(v))", NOTHING),
    ("book.check_value('a.b', 0.5)", NOTHING),
    ("book.check_value('a.b', value, choices={'b = 1': 54.0})", NOTHING),
    ("m = 3 - 1\nbook.check_holds('a.b', margin=m)", NOTHING),
    ("book.check_holds('a.b', margin={'x': found, 'y': -1})", NOTHING),
    ("book.check_holds('a.b', margin=m, trivial=0.1)", NOTHING),
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
    ("book.done.clear()", OURS),
    ("record(book)", OURS),
    ("book = other", OURS),
    ("b = claims.open_notebook('x')", "are called 'book'"),
    ("claims.VerdictError = ValueError", "claims: only its checks"),
    ("claims.ledger.load_all()", "claims: only its checks"),
    ("b._record(claim, 'reproduced', None, '')", f"_record: {HIDDEN}"),
    ("np.__dict__['ran' + 'dom']", f"__dict__: {HIDDEN}"),
    ("figures.show = print", "assigns to an attribute"),
    ("class A:\n    def _repr_html_(self):\n        pass", HIDDEN),
    # Checks that can fail.
    ("book.check_value('a.b', claims.printed('a.other')[0] / 2)", ""),
    ("book.check_value('a.b', ours, choices={'b = 1': one})", ""),
    ("book.check_holds('a.b', margin=0.1 - gaps.max())", ""),
    ("w = 0.0\nfor x in y:\n    w = max(w, x)\nbook.check_holds('a.b', margin=w)", ""),
    ("gaps = []\ngaps.append(x)\nbook.check_holds('a.b', margin=min(gaps))", ""),
    ("book.check_equal('a.b', gap=g, within=1e-9 * scale)", ""),
    ("book.check_order('a.b', {'zero': 0.0, 'ours': x})", ""),
    ("v, w = 0.5, f(x)\nbook.check_value('a.b', w)", ""),
    ("m = 1\ndef f(m):\n    book.check_holds('a.b', margin=m)", ""),
    ("book.check_holds('a.b', margin=1 - max(abs(x)))", ""),
    ("book.table()", ""),
]


@pytest.mark.parametrize(
    ("guard", "code", "words"),
    [
        *((code_guards.chance, *case) for case in CHANCE),
        *((code_guards.unfailing, *case) for case in UNFAILING),
    ],
)
def test_a_guard_of_code_notices(guard, code, words):
    found = "\n".join(guard(ast.parse(code)))
    assert words in found
    assert bool(words) == bool(found)


# -- what only an execution shows: nbval ---------------------------------------


def moved(svg):
    """Move a figure by less than a quarter of a point."""
    return re.sub(r"M (\S+)", lambda m: f"M {float(m.group(1)) + 0.2:.2f}", svg)


def changed(old, new):
    return lambda said: said.replace(old, new, 1)


# One notebook a row: what is damaged in which code cell, and whether nbval must notice.
DRAWN, DRAWING, CHECKED, TABLED = 2, 3, 4, 6
DAMAGED = {
    "one": {
        DRAWN: (cell(DRAWS, "outputs", 0, "text", changed("draw ", "draw 9")), True),
        DRAWING: (data(FIGURE, SVG, changed("M ", "M 9")), True),
        CHECKED: (data(CHECK, claims.MIME_TYPE, lambda old: old | {"value": 9}), True),
        TABLED: (data(TABLE, "text/html", changed("one half", "one third")), True),
    },
    "two": {
        DRAWN: (cell(DRAWS, "outputs", []), True),
        DRAWING: (data(FIGURE, SVG, moved), False),
        CHECKED: (data(CHECK, "text/html", changed("0.5", "0.7")), True),
    },
}


@pytest.fixture(scope="module")
def nbval_report(pristine, tmp_path_factory):
    """Run nbval once over the damaged notebooks; return its report."""
    root = shutil.copytree(pristine, tmp_path_factory.mktemp("damaged") / "tiny")
    folder = (root / MD).parent
    for name, damages in DAMAGED.items():
        stored = guards.stored(root / MD)
        for damage, _ in damages.values():
            before = notebooks.verified_text(stored)
            damage.change(stored.cells)
            assert notebooks.verified_text(stored) != before
        text = notebooks.verified_text(stored)
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-rA", "--nbval", "--nbval-current-env", "--color=no", "-c", os.devnull),
            *("-p", "conftest"),
            *(f"{name}.ipynb" for name in DAMAGED),
        ],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGED)
def test_nbval_notices(nbval_report, name):
    pattern = rf"^(PASSED|FAILED) \S*{name}\.ipynb::Cell (\d+)"
    found = {
        int(number): word
        for word, number in re.findall(pattern, nbval_report, re.MULTILINE)
    }
    noticed = {number for number, (_, seen) in DAMAGED[name].items() if seen}
    wanted = {n: "FAILED" if n in noticed else "PASSED" for n in range(7)}
    assert found == wanted, nbval_report[-2000:]
