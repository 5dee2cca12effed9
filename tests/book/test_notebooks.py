"""A pair is written whole or not at all, and twice the same."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
import tiny_book
from jupyter_server.services.contents.filemanager import FileContentsManager
from jupytext.cli import jupytext as jupytext_command
from jupytext.sync_contentsmanager import build_sync_jupytext_contents_manager_class
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from dplib.book import claims, ledger, notebooks
from dplib.book.notebooks import NotebookError

ROOT = Path(__file__).resolve().parents[2]
NAME = "truthful/01_tiny"
MD, IPYNB = f"notebooks/{NAME}.md", f"notebooks/{NAME}.ipynb"
STATUS = "book/status.json"

SOURCE = f"""\
{tiny_book.HEADER}
# Tiny

```{{code-cell}} ipython3
:tags: [parameters]

n = 2  # how many
```

```{{code-cell}} ipython3
import os
import sys

from dplib.book import claims

book = claims.open_notebook("{NAME}", n=n)
print(os.environ["OMP_NUM_THREADS"], os.environ["PYTHONHASHSEED"])
print("words to the other stream", file=sys.stderr)
```

A formula: $x_1 \\le 2$.

```{{code-cell}} ipython3
book.check_value("truthful.half", 1 / n)
hash("text"), os.path.basename(os.getcwd())
```

```{{code-cell}} ipython3
book.table()
```
"""


def cell(code: str) -> str:
    return f"{tiny_book.HEADER}\n```{{code-cell}} ipython3\n{code}\n```\n"


def files(root: Path) -> dict[str, bytes]:
    """Return every file of the book, hidden ones included."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUPYTER_DATA_DIR", os.devnull)  # nobody's signatures
    tiny_book.write(tmp_path, SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


Kernel = Callable[[Any], None]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Callable[[Kernel], None]:
    """Replace the kernel: every code cell prints its number, then something is done."""

    def use(then: Kernel) -> None:
        def execute(notebook: Any, _: Path) -> float:
            code = [c for c in notebook.cells if c.cell_type == "code"]
            for number, item in enumerate(code, start=1):
                item.execution_count = number
                item.outputs = [nbformat.v4.new_output("stream", text=f"{number}\n")]
            then(notebook)
            return 1.26

        monkeypatch.setattr(notebooks, "execute", execute)

    use(lambda _: None)
    return use


# -- a tiny book, refreshed for real (one kernel start is about two seconds) ---


def test_twice_the_same_in_its_folder_and_environment(root, monkeypatch) -> None:
    # What the kernel must not take over from whoever starts it.
    ours = {"PYTHONHASHSEED": "17", "OMP_NUM_THREADS": "2"}
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    before = files(root)
    assert notebooks.refresh(root) == [IPYNB, STATUS]
    after = files(root)
    # ... and nothing else: no part of a file, no checkpoint, no other form.
    assert after.keys() - before.keys() == {IPYNB, STATUS}
    assert before.items() <= after.items()
    assert notebooks.refresh(root) == []
    assert files(root) == after
    assert ours.items() <= dict(os.environ).items()
    assert "NUMBA_NUM_THREADS" not in os.environ
    (entry,) = json.loads(after[STATUS])["notebooks"].values()
    assert entry["key"] == key_of(root)
    notebook = nbformat.reads(after[IPYNB].decode(), as_version=4)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    streams = {o.name: o.text for o in code[1].outputs}
    assert streams == {"stdout": "1 0\n", "stderr": "words to the other stream\n"}
    verdict, result = (output["data"] for output in code[2].outputs)
    assert verdict[claims.MIME_TYPE]["verdict"] == "reproduced"
    code_there = "print((hash('text'), 'truthful'))"
    hashed = subprocess.check_output(
        [sys.executable, "-c", code_there], env={"PYTHONHASHSEED": "0"}, text=True
    )
    assert result["text/plain"] == hashed.strip()


def test_a_failing_cell_writes_nothing_and_is_named(root) -> None:
    text = cell('x = "all is well"') + "\n```{code-cell} ipython3\n1 / (3 - 3)\n```\n"
    (root / MD).write_text(text)
    (root / IPYNB).write_text("as it was\n")
    before = files(root)
    with pytest.raises(NotebookError) as caught:
        notebooks.refresh(root)
    message = str(caught.value)
    assert message.startswith(
        f"{NAME}: a cell failed; neither file of the pair was written.\n"
    )
    assert "1 / (3 - 3)" in message
    assert "ZeroDivisionError" in message
    assert "all is well" not in message
    assert "\x1b" not in message
    assert files(root) == before


@pytest.mark.parametrize(
    "error", [DeadKernelError("Kernel died"), CellTimeoutError("A cell timed out")]
)
def test_a_kernel_that_dies_or_hangs_is_a_failing_cell(root, kernel, error) -> None:
    def fail(_: Any) -> None:
        raise error

    kernel(fail)
    before = files(root)
    with pytest.raises(NotebookError, match=f"^{NAME}: a cell failed; neither file"):
        notebooks.refresh(root)
    assert files(root) == before


# -- find, read and write -----------------------------------------------------


def test_find_all_in_order(root) -> None:
    for name in ("truthful/10_ten", "planning/03_three", "truthful/results/01_deep"):
        path = root / "notebooks" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(SOURCE)
    (root / "notebooks" / "truthful" / "index.md").write_text("# A chapter\n")
    assert [notebooks.name_of(path) for path in notebooks.find(root)] == [
        *("planning/03_three", "truthful/01_tiny", "truthful/10_ten")
    ]


@pytest.mark.parametrize("name", [NAME, f"{NAME}.md", MD, f"./{IPYNB}"])
def test_find_by_name_or_path(root, name) -> None:
    assert notebooks.find(root, [name]) == [root / MD]


@pytest.mark.parametrize("name", ["truthful/02_none", "truthful/index", ""])
def test_find_refuses_what_is_no_notebook(root, name) -> None:
    (root / "notebooks" / "truthful" / "index.md").write_text("# A page, no notebook\n")
    with pytest.raises(NotebookError, match=f"There is no notebook '{name}' \\(looked"):
        notebooks.find(root, [NAME, name])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# A page\n", "is not a notebook"),
        ("\n" + SOURCE, "is not a notebook"),
        # Other front matter is no jupytext header; it used to be taken for one.
        ("---\ntitle: A\n---\n\n```{code-cell} ipython3\n1\n```\n", "not a notebook"),
        ("---\njupytext: {}\n---\n\udcff\n", "cannot be read"),
        ("---\njupytext: 3\n---\n", "cannot be read"),
        ("---\njupytext: {}\n---\n```{code-cell}\n:tags: [\n\n1\n```\n", "cannot be"),
        ("---\njupytext: {}\nmyst: {a: b}\n---\n", "the header has 'myst', which"),
        (f"{SOURCE}\n<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> b\n", "of a merge conflict"),
    ],
)
def test_what_cannot_be_a_source_is_one_sentence(root, capsys, text, words) -> None:
    (root / MD).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert notebooks.main(["refresh"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("01_tiny.md")
    assert words in said
    assert said.count("\n") == 1


def test_source_text_is_idempotent_and_drops_the_version(root) -> None:
    number = "    format_version: 0.13\n"
    edit(root / MD, number, f"{number}    jupytext_version: 1.16.0\n")
    with (root / MD).open("a") as file:
        file.write("\n\n\n")
    assert notebooks.source_text(notebooks.read_source(root / MD)) == SOURCE


def test_what_differs_between_runs_is_not_written(root) -> None:
    texts = []
    for run in (1, 2):
        notebook = notebooks.read_source(root / MD)
        notebook.metadata["language_info"] = {"version": f"3.{run}"}
        for number, item in enumerate(notebook.cells):
            item.id = f"random{run}{number}"
        item = notebook.cells[1]
        item.metadata["execution"] = {"iopub.status.busy": f"2020-01-0{run}"}
        data = {"application/json": {"b": 1.0, "a": 2.5}}
        output = nbformat.v4.new_output("execute_result", data, execution_count=1)
        output.metadata = {"time": run}
        output["transient"] = {"display_id": run}
        item.outputs = [output]
        before = nbformat.writes(notebook)
        texts.append(notebooks.verified_text(notebook))
        assert nbformat.writes(notebook) == before  # the argument is not changed
    assert texts[0] == texts[1]
    assert '{"a":2.5,"b":1}' in "".join(texts[0].split())  # as a browser has it


# -- refresh, without a kernel ------------------------------------------------


@pytest.mark.usefixtures("kernel")
class TestStatus:
    def status(self, root: Path) -> Any:
        return json.loads((root / STATUS).read_text())

    def change(self, root: Path, **values: Any) -> None:
        text = json.dumps(self.status(root) | values, indent=1) + "\n"
        (root / STATUS).write_text(text)

    def test_an_old_time_and_date_stay_while_the_key_does(self, root) -> None:
        notebooks.refresh(root)
        old = self.status(root)["notebooks"]
        old[NAME]["cpu_seconds"] = 99.0
        self.change(root, date="2000-01-01", notebooks=old)
        assert notebooks.refresh(root) == []
        edit(root / MD, "# Tiny", "# Small")  # words alone
        assert notebooks.refresh(root) == [IPYNB]
        edit(root / MD, "n = 2", "n = 3")
        assert notebooks.refresh(root) == [IPYNB, STATUS]
        assert self.status(root)["notebooks"][NAME]["cpu_seconds"] == 1.3
        assert self.status(root)["date"] == "2000-01-01"

    def test_status_notes_everything_anew(self, root) -> None:
        notebooks.refresh(root)
        old = self.status(root)
        self.change(root, date="2000-01-01", versions={"python": "2.7"}, machine="?")
        assert notebooks.main(["refresh", "--status"]) == 0
        assert self.status(root) == old

    def test_notebooks_that_are_gone_are_forgotten_others_kept(self, root) -> None:
        other = "truthful/02_other"
        (root / "notebooks" / f"{other}.md").write_text(cell("1"))
        assert notebooks.refresh(root, [other]) == [f"notebooks/{other}.ipynb", STATUS]
        entries = self.status(root)["notebooks"]
        assert list(entries) == [other]
        entries["truthful/00_gone"] = {"key": "0", "cpu_seconds": 1.0}
        self.change(root, notebooks=entries)
        notebooks.refresh(root, [NAME])
        assert list(self.status(root)["notebooks"]) == [NAME, other]


@pytest.mark.parametrize(
    ("path", "old"),
    [
        (MD, "# Tiny"),
        ("book/claims/truthful.yml", "one half"),
        ("dplib/book.py", "= 1"),
    ],
)
def test_an_edit_during_the_run_is_not_overwritten(root, kernel, path, old) -> None:
    # The text as read before the run used to be written over the edit, and a page of
    # the code of before to be taken for one of the code of after.
    (root / "dplib").mkdir()
    (root / "dplib" / "book.py").write_text("one = 1\n")
    kernel(lambda _: edit(root / path, old, f"{old}0"))
    with pytest.raises(NotebookError, match="was edited while it ran; neither"):
        notebooks.refresh(root)
    assert f"{old}0" in (root / path).read_text()
    assert not (root / IPYNB).exists()


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("elsewhere", [False, True])
def test_an_edit_of_the_ipynb_alone_is_not_overwritten(root, elsewhere) -> None:
    # Refresh used to write the cells of the .md over it, without a word.
    notebooks.refresh(root)
    edit(root / IPYNB, "n = 2", "n = 3")
    if elsewhere:  # both files have edits
        edit(root / MD, "# Tiny", "# Small")
    before = files(root)
    with pytest.raises(NotebookError, match=r"the \.md lacks the edit") as caught:
        notebooks.refresh(root)
    assert "jupytext --to md:myst" in str(caught.value)
    assert f"make refresh NB={NAME} DISCARD=1" in str(caught.value)
    assert files(root) == before
    assert notebooks.main(["refresh", "--discard"]) == 0
    assert "n = 2" in (root / IPYNB).read_text()


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("both", [False, True])
def test_an_edit_of_the_md_is_taken(root, both) -> None:
    notebooks.refresh(root)
    for path in (MD, IPYNB) if both else (MD,):  # both: as a save in JupyterLab
        edit(root / path, "n = 2", "n = 3")
    notebooks.refresh(root)
    assert (root / MD).read_text() == SOURCE.replace("n = 2", "n = 3")
    assert "n = 3" in (root / IPYNB).read_text()


@pytest.mark.usefixtures("kernel")
def test_what_the_md_cannot_hold_is_no_edit(root) -> None:
    # A save that folds a long output used to be refused for ever.
    notebooks.refresh(root)
    notebook = nbformat.read(root / IPYNB, as_version=4)
    notebook.cells[1].metadata["scrolled"] = True
    notebook.cells[0].source += "\n"
    nbformat.write(notebook, root / IPYNB)
    notebooks.refresh(root)
    notebook.cells[0]["attachments"] = {"a.png": {"image/png": ""}}
    nbformat.write(notebook, root / IPYNB)
    with pytest.raises(NotebookError, match="was edited"):
        notebooks.refresh(root)


def test_an_edit_while_another_notebook_runs_is_not_overwritten(root, kernel) -> None:
    other = root / "notebooks" / "truthful" / "02_tiny.md"
    other.write_text(SOURCE)
    notebooks.refresh(root)
    stored = other.with_suffix(".ipynb")
    kernel(lambda _: edit(stored, "n = 2", "n = 3"))
    with pytest.raises(NotebookError, match=r"02_tiny: the \.ipynb was edited"):
        notebooks.refresh(root)
    assert "n = 3" in stored.read_text()


def printing(*texts: str) -> Kernel:
    """Return a kernel in which the last cells print texts."""

    def then(notebook: Any) -> None:
        for item, text in zip(notebook.cells[-len(texts) :], texts, strict=True):
            item.outputs = [nbformat.v4.new_output("stream", text=text)]

    return then


def test_another_processor_rewrites_nothing(root, kernel) -> None:
    for value, stored in (
        *(("0.125", "0.125"), ("0.126", "0.125"), ("0.128", "0.128")),
        ("0.127", "0.128"),
    ):
        kernel(printing(f"{value} m\n"))
        notebooks.refresh(root)
        assert f"{stored} m\\n" in (root / IPYNB).read_text()
    edit(root / MD, "n = 2", "n = 3")  # other code does
    notebooks.refresh(root)
    assert "0.127 m" in (root / IPYNB).read_text()


def test_equal_cells_keep_their_own_outputs(root, kernel) -> None:
    # They used to get those of the last cell with the same source.
    twice = "\n\n```{code-cell} ipython3\nprint(n)\n```\n"
    (root / MD).write_text(SOURCE.rstrip() + 2 * twice)
    kernel(printing("0.25\n", "0.26\n"))
    notebooks.refresh(root)
    before = files(root)
    notebooks.refresh(root)
    assert files(root) == before
    edit(root / MD, "A formula", "Words\n\n+++\n\nA formula")  # a cell more, of words
    kernel(printing("0.26\n", "0.27\n"))
    notebooks.refresh(root)
    assert '"0.25\\n"' in (root / IPYNB).read_text()


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n{}\n", "", "{}"])
def test_a_broken_ipynb_is_refreshed(root, known, text) -> None:
    # Conflict marks used to end in a traceback where only outputs differed.
    if known:
        notebooks.refresh(root)
    (root / IPYNB).write_text(text)
    notebooks.trust(root)
    notebooks.refresh(root)
    assert json.loads((root / IPYNB).read_text())["cells"]


@pytest.mark.parametrize(
    ("path", "text"), [("book/claims/truthful.yml", "claims: ["), (STATUS, "3")]
)
def test_a_broken_ledger_or_status_writes_nothing(root, kernel, path, text) -> None:
    kernel(lambda _: pytest.fail("it must not run"))
    (root / path).write_text(text)
    before = files(root)
    with pytest.raises((NotebookError, ledger.LedgerError), match=Path(path).name):
        notebooks.refresh(root)
    assert notebooks.main(["current"]) == 1
    assert files(root) == before


# -- in Jupyter ---------------------------------------------------------------


def browser(value: Any) -> Any:
    """Return JSON as JavaScript writes it: 1.0 becomes 1."""
    if isinstance(value, dict):
        return {name: browser(item) for name, item in value.items()}
    if isinstance(value, list):
        return [browser(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


@pytest.fixture(params=[".md", ".ipynb"])
def pairs(tmp_path, request) -> list[Path]:
    """Return a copy of all pairs of the book, one file much newer than the other."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    found = notebooks.find(tmp_path)
    for source in found:
        for suffix in (".md", ".ipynb"):
            when = 2e9 if suffix == request.param else 1e9
            os.utime(source.with_suffix(suffix), (when, when))
    return found


def test_a_save_in_jupyterlab_changes_no_byte(pairs, tmp_path) -> None:
    # After a pull, JupyterLab used to refuse a pair; a save rewrote both files.
    manager = build_sync_jupytext_contents_manager_class(FileContentsManager)
    lab = manager(root_dir=str(tmp_path))
    before = files(tmp_path / "notebooks")
    for source in pairs:
        for path in (source.with_suffix(".ipynb"), source):
            name = str(path.relative_to(tmp_path))
            content = json.loads(json.dumps(lab.get(name)["content"]))
            lab.save({"type": "notebook", "content": browser(content)}, name)
    after = files(tmp_path / "notebooks")
    after = {name: body for name, body in after.items() if "checkpoint" not in name}
    assert after == before


def test_jupytext_sync_changes_no_byte(pairs, tmp_path) -> None:
    before = files(tmp_path)
    for source in pairs:
        jupytext_command(["--quiet", "--sync", str(source)])
    assert files(tmp_path) == before


@pytest.mark.usefixtures("kernel")
def test_a_trusted_notebook_shows_its_figures(root, monkeypatch, capfd) -> None:
    # A fresh clone in JupyterLab showed no figure and no verdict.
    notebooks.refresh(root)
    (root / "home").mkdir()
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(root / "home"))
    lab = FileContentsManager(root_dir=str(root))

    def trusted() -> set[bool]:
        cells = lab.get(IPYNB)["content"]["cells"]
        return {c["metadata"]["trusted"] for c in cells if c["cell_type"] == "code"}

    assert trusted() == {False}
    notebooks.trust(root)
    assert trusted() == {True}
    # Without a home folder it is silent.
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(root / MD / "none"))
    capfd.readouterr()
    notebooks.trust(root)
    assert capfd.readouterr() == ("", "")


def test_signing_leaves_the_logging_of_the_process_alone(tmp_path, monkeypatch) -> None:
    # Handlers were shut down, and one of them closed the stderr of the tests with it.
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "made"))
    closed: list[logging.Handler] = []

    class Handler(logging.Handler):
        def close(self) -> None:
            closed.append(self)
            super().close()

    mine = Handler()
    notebooks.sign(nbformat.v4.new_notebook())
    assert (tmp_path / "made" / "nbsignatures.db").exists()
    assert closed == []
    mine.close()


# -- the key ------------------------------------------------------------------


@pytest.fixture
def keyed(root: Path) -> Path:
    """Return a book whose notebook reaches a library beside it."""
    (root / "dplib" / "book").mkdir(parents=True)
    (root / "dplib" / "__init__.py").write_text('"""A library."""\n')
    claims = root / "dplib" / "book" / "claims.py"
    claims.write_text("def open_notebook():\n    return 1\n")
    (root / "dplib" / "far.py").write_text("VALUE = 1\n")
    (root / "notebooks" / "truthful" / "results").mkdir()
    return root


def key_of(root: Path) -> str:
    return notebooks.key(notebooks.read_source(root / MD), NAME, root)


@pytest.mark.parametrize(
    ("path", "old", "new", "changes"),
    [
        (MD, "n = 2", "n = 3", True),
        (MD, "# Tiny", "# Small", False),
        ("book/claims/truthful.yml", "one half", "a half", True),
        ("book/claims/truthful.yml", "{n: 2}", "{n: 2, m: 1}", True),
        ("book/claims/truthful.yml", "says: something", "says: anything", False),
        ("dplib/book/claims.py", "return 1", "return 2", True),
        ("dplib/far.py", "1", "2", False),
        ("notebooks/truthful/results/a.csv", "", "x\n1\n", True),
        # A team of one's own beside the notebooks used to make them all stale.
        ("notebooks/truthful/mine.yml", "", "agents: []\n", False),
    ],
)
def test_the_key_follows_cells_claims_and_code(keyed, path, old, new, changes) -> None:
    before = key_of(keyed)
    if old:
        edit(keyed / path, old, new)
    else:
        (keyed / path).write_text(new)
    assert (key_of(keyed) != before) == changes


def test_the_key_does_not_follow_outputs(keyed) -> None:
    notebook = notebooks.read_source(keyed / MD)
    before = notebooks.key(notebook, NAME, keyed)
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="x")]
    notebook.cells[1].execution_count = 7
    assert notebooks.key(notebook, NAME, keyed) == before
    assert len(notebooks.key(notebook, "rewards/01_x", keyed)) == 64  # no ledger


def test_a_cell_that_is_not_python_is_named(root) -> None:
    (root / MD).write_text(cell("listing = !ls"))
    with pytest.raises(NotebookError, match=f"^{NAME}: a cell is not Python: "):
        key_of(root)


# -- the commands -------------------------------------------------------------


@pytest.mark.usefixtures("kernel")
class TestCommands:
    @pytest.fixture
    def run(self, capsys) -> Callable[..., tuple[int, str, str]]:
        return lambda *arguments: (notebooks.main(arguments), *capsys.readouterr())

    def compare(self, root: Path, **counts: int) -> None:
        """Note so many cells as executed and compared."""
        (root / ".cache").mkdir(exist_ok=True)
        noted = {f"truthful/{name[1:]}": count for name, count in counts.items()}
        (root / ".cache" / "compared.json").write_text(json.dumps(noted))

    @pytest.mark.parametrize("counts", [{}, {"_01_tiny": 3}])
    def test_what_was_not_compared_is_not_verified(self, root, run, counts) -> None:
        # A conftest.py or --nbval-lax could hide a notebook, or what it shows.
        run("refresh")
        self.compare(root, **counts)
        status, _, said = run("verified")
        assert status == 1
        assert said.startswith(f"{NAME} is not verified: of its 4 code cells, ")
        assert run("changed")[1] == f"{IPYNB}\n"

    @pytest.mark.parametrize(
        ("path", "old", "new"),
        [
            (MD, "n = 2", "n = 3"),
            (IPYNB, '"1\\n"', '"2\\n"'),
            ("book/claims/truthful.yml", "one half", "a half"),
        ],
    )
    def test_changed_until_verified(self, root, run, path, old, new) -> None:
        other = "notebooks/truthful/02_other"
        (root / f"{other}.md").write_text(cell("1"))
        assert run("refresh")[0] == 0
        assert run("changed")[1].split() == [IPYNB, f"{other}.ipynb"]
        self.compare(root, _01_tiny=4, _02_other=1)
        assert run("verified", NAME)[0] == 0
        assert run("changed")[1].split() == [f"{other}.ipynb"]
        assert run("verified") == (0, "", "")
        assert run("changed")[1].split() == []
        edit(root / path, old, new)
        assert run("changed")[1].split() == [IPYNB]

    def test_a_page_of_other_code_is_not_current(self, keyed, run) -> None:
        # `make book` used to build it, with what the old code had found.
        assert run("refresh")[0] == 0
        library = keyed / "dplib" / "book" / "claims.py"
        assert run("current") == (0, "", "")
        edit(library, "return 1", "return 2")
        status, _, said = run("current")
        assert status == 1
        assert said.endswith(f"make refresh NB='{NAME}'\n")
        assert said.count("\n") == 1

    def test_what_cannot_be_read_or_written_is_one_sentence(self, root, run) -> None:
        before = files(root)
        assert run("verified", "truthful/09_none")[0] == 1
        assert files(root) == before
        (root / ".cache").write_text("a file where a folder must be")
        assert run("verified")[2].count("\n") == 1
        (root / ".cache").unlink()
        self.compare(root)
        (root / ".cache" / "verified.json").write_text("{")
        broken = ".cache/verified.json is broken: restore it or delete it.\n"
        assert run("changed") == run("verified") == (1, "", broken)
