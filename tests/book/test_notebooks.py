"""A pair is written whole or not at all, and twice the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_server.services.contents.filemanager import FileContentsManager
from jupytext.cli import jupytext as jupytext_command
from jupytext.sync_contentsmanager import build_sync_jupytext_contents_manager_class
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from dplib.book import claims, ledger, notebooks
from dplib.book.notebooks import NotebookError

ROOT = Path(__file__).resolve().parents[2]
NAME = "truthful/01_tiny"

LEDGER = """\
paper: {key: nobody2020, title: A tiny paper, authors: N. Body}
claims:
- {id: truthful.half, where: Theorem 1, kind: number, level: headline, says: one half,
   printed: "0.50", at: {n: 2}, verdict: reproduced, evidence: exact,
   notebook: truthful/01_tiny}
- {id: truthful.later, where: Theorem 2, kind: theorem, level: headline, says: more,
   verdict: open, notebook: null}
"""

HEADER = """\
---
jupytext:
  formats: ipynb,md:myst
  notebook_metadata_filter: -jupytext.text_representation.jupytext_version
  text_representation:
    extension: .md
    format_name: myst
    format_version: 0.13
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
"""

SOURCE = f"""\
{HEADER}
# Tiny

```{{code-cell}} ipython3
:tags: [parameters]

n = 2  # how many
```

```{{code-cell}} ipython3
import os
import sys
import threading

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


def write_book(root: Path, **pages: str) -> Path:
    """Write a book of one chapter, and return its notebooks' folder."""
    folder = root / "notebooks" / "truthful"
    folder.mkdir(parents=True)
    (root / "book" / "claims").mkdir(parents=True)
    (root / "book" / "claims" / "truthful.yml").write_text(LEDGER, encoding="utf-8")
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/intro\n")
    (folder / "index.md").write_text("# A chapter\n")
    for name, text in pages.items():
        (folder / f"{name.lstrip('_')}.md").write_text(text, encoding="utf-8")
    return folder


def cell(code: str) -> str:
    return f"{HEADER}\n```{{code-cell}} ipython3\n{code}\n```\n"


def files(root: Path) -> dict[str, bytes]:
    """Return every file of the book, hidden ones included."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUPYTER_DATA_DIR", os.devnull)  # nobody's signatures
    write_book(tmp_path, _01_tiny=SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the kernel: every code cell prints its number."""
    ran: list[str] = []

    def execute(notebook: Any, folder: Path, **_: Any) -> float:
        ran.append(folder.name)
        code = [c for c in notebook.cells if c.cell_type == "code"]
        for number, item in enumerate(code, start=1):
            item.execution_count = number
            text = f"{number}\n"
            item.outputs = [nbformat.v4.new_output("stream", text=text)]
        return 1.26

    monkeypatch.setattr(notebooks, "execute", execute)
    return ran


# -- a tiny book, refreshed for real (one kernel start is about two seconds) ---


@dataclass(frozen=True)
class Refreshed:
    root: Path
    changed: tuple[list[str], list[str]]
    after: tuple[dict[str, bytes], dict[str, bytes]]


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory: pytest.TempPathFactory) -> Refreshed:
    root = tmp_path_factory.mktemp("book")
    write_book(root, _01_tiny=SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        # What the kernel must not take over from whoever starts it.
        patch.setenv("PYTHONHASHSEED", "17")
        patch.setenv("OMP_NUM_THREADS", "2")
        patch.delenv("NUMBA_NUM_THREADS", raising=False)
        changed, after = [], []
        for _ in range(2):
            changed.append(notebooks.refresh(root))
            after.append(files(root))
        assert os.environ["PYTHONHASHSEED"] == "17"
        assert os.environ["OMP_NUM_THREADS"] == "2"
        assert "NUMBA_NUM_THREADS" not in os.environ
    return Refreshed(root, (changed[0], changed[1]), (after[0], after[1]))


def stored(book: Refreshed) -> Any:
    text = book.after[0][f"notebooks/{NAME}.ipynb"].decode()
    return nbformat.reads(text, as_version=4)


def test_the_first_refresh_writes_the_pair_and_its_status(refreshed) -> None:
    assert refreshed.changed[0] == [f"notebooks/{NAME}.ipynb", "book/status.json"]
    # ... and nothing else: no part of a file, no checkpoint.
    assert set(refreshed.after[0]) == {
        "_toc.yml",
        "book/claims/truthful.yml",
        "book/status.json",
        "notebooks/truthful/index.md",
        f"notebooks/{NAME}.md",
        f"notebooks/{NAME}.ipynb",
    }


def test_the_second_refresh_changes_no_byte(refreshed) -> None:
    assert refreshed.changed[1] == []
    assert refreshed.after[1] == refreshed.after[0]


def test_the_source_was_canonical_already(refreshed) -> None:
    assert refreshed.after[0][f"notebooks/{NAME}.md"].decode() == SOURCE


def test_the_notebook_ran_once_in_order_with_fixed_ids(refreshed) -> None:
    notebook = stored(refreshed)
    nbformat.validate(notebook)
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert [c.execution_count for c in code] == [1, 2, 3, 4]
    assert [c.id for c in notebook.cells] == [f"c{i:03d}" for i in range(6)]
    assert code[0].metadata == {"tags": ["parameters"]}
    assert set(notebook.metadata) == {"dplib", "kernelspec", "jupytext"}


def test_no_time_no_machine_no_version_in_it(refreshed) -> None:
    text = refreshed.after[0][f"notebooks/{NAME}.ipynb"].decode()
    for word in ("iopub", "language_info", 'version":', str(refreshed.root)):
        assert word not in text
    assert text.endswith("}\n")
    assert not text.endswith("\n\n")


def test_the_kernel_ran_in_its_folder_and_environment(refreshed) -> None:
    code = [c for c in stored(refreshed).cells if c.cell_type == "code"]
    streams = {o.name: o.text for o in code[1].outputs}
    assert streams["stdout"] == "1 0\n"
    assert streams["stderr"] == "words to the other stream\n"
    result = code[2].outputs[-1]["data"]["text/plain"]
    expected = subprocess.run(
        [sys.executable, "-c", "print((hash('text'), 'truthful'))"],
        env={"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result == expected.stdout.strip()


def test_the_verdict_is_stored(refreshed) -> None:
    found = [
        output.data[claims.MIME_TYPE]
        for c in stored(refreshed).cells
        for output in c.get("outputs", [])
        if claims.MIME_TYPE in output.get("data", {})
    ]
    assert [(item["id"], item["verdict"]) for item in found] == [
        ("truthful.half", "reproduced")
    ]


def test_the_status_has_time_key_and_versions(refreshed) -> None:
    status = json.loads(refreshed.after[0]["book/status.json"])
    entry = status["notebooks"][NAME]
    source = refreshed.root / "notebooks" / f"{NAME}.md"
    notebook = notebooks.read_source(source)
    assert entry["key"] == notebooks.key(notebook, NAME, refreshed.root)
    assert 0.1 < entry["cpu_seconds"] < 60.0
    assert status["versions"]["python"].startswith("3.")
    assert {"numpy", "scipy", "matplotlib"} <= set(status["versions"])
    assert len(status["date"]) == 10
    assert status["machine"]


def test_a_failing_cell_writes_nothing_and_is_named(tmp_path) -> None:
    write_book(
        tmp_path,
        _01_tiny=cell('x = "all is well"')
        + "\n```{code-cell} ipython3\n1 / (3 - 3)\n```\n",
    )
    pair = tmp_path / "notebooks" / "truthful" / "01_tiny.ipynb"
    pair.write_text("as it was\n")
    before = files(tmp_path)
    with pytest.raises(NotebookError) as caught:
        notebooks.refresh(tmp_path)
    message = str(caught.value)
    assert message.startswith(
        f"{NAME}: a cell failed; neither file of the pair was written.\n"
    )
    assert "1 / (3 - 3)" in message
    assert "ZeroDivisionError" in message
    assert "all is well" not in message
    assert "\x1b" not in message
    assert files(tmp_path) == before


# -- find ---------------------------------------------------------------------


def test_find_all_in_order(tmp_path) -> None:
    folder = write_book(tmp_path, _10_ten=SOURCE, _02_two=SOURCE, _notes=SOURCE)
    other = tmp_path / "notebooks" / "planning"
    other.mkdir()
    (other / "03_three.md").write_text(SOURCE)
    (folder / "results").mkdir()
    (folder / "results" / "01_deep.md").write_text(SOURCE)
    assert [notebooks.name_of(path) for path in notebooks.find(tmp_path)] == [
        "planning/03_three",
        "truthful/02_two",
        "truthful/10_ten",
    ]


@pytest.mark.parametrize(
    "name",
    [
        NAME,
        f"{NAME}.md",
        f"{NAME}.ipynb",
        f"notebooks/{NAME}.md",
        f"./notebooks/{NAME}.ipynb",
    ],
)
def test_find_by_name_or_path(root, name) -> None:
    assert notebooks.find(root, [name]) == [root / "notebooks" / f"{NAME}.md"]


@pytest.mark.parametrize(
    "name", ["truthful/02_none", "01_tiny", "rewards/01_tiny", "truthful/index", ""]
)
def test_find_refuses_what_is_no_notebook(root, name) -> None:
    # truthful/index.md is a page; it used to be found.
    with pytest.raises(NotebookError, match=f"There is no notebook '{name}' \\(looked"):
        notebooks.find(root, [NAME, name])


# -- read and write -----------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "# A page\n",
        "",
        "\n" + SOURCE,
        # Other front matter is no jupytext header; it used to be taken for one.
        "---\ntitle: A page\n---\n\n```{code-cell} ipython3\n1\n```\n",
        "---\ntitle: A page\n---\n\njupytext: is mentioned\n",
    ],
)
def test_read_source_refuses_what_has_no_header(tmp_path, text) -> None:
    path = tmp_path / "01_page.md"
    path.write_text(text)
    with pytest.raises(NotebookError, match=r"^01_page\.md is not a notebook: it must"):
        notebooks.read_source(path)


def test_source_text_is_idempotent_and_drops_the_version(tmp_path) -> None:
    path = tmp_path / "01_tiny.md"
    path.write_text(
        SOURCE.replace(
            "    format_version: 0.13\n",
            "    format_version: 0.13\n    jupytext_version: 1.16.0\n",
        )
        + "\n\n\n"
    )
    text = notebooks.source_text(notebooks.read_source(path))
    assert text == SOURCE
    path.write_text(text)
    assert notebooks.source_text(notebooks.read_source(path)) == text


def test_what_differs_between_runs_is_not_written(tmp_path) -> None:
    path = tmp_path / "01_tiny.md"
    path.write_text(SOURCE)
    texts = []
    for run in (1, 2):
        notebook = notebooks.read_source(path)
        notebook.metadata["language_info"] = {"version": f"3.{run}"}
        notebook.metadata["widgets"] = {"state": run}
        for number, item in enumerate(notebook.cells):
            item.id = f"random{run}{number}"
        item = notebook.cells[1]
        item.metadata["execution"] = {"iopub.status.busy": f"2020-01-0{run}"}
        output = nbformat.v4.new_output(
            "execute_result", {"text/plain": "2"}, execution_count=1
        )
        output.metadata = {"time": run}
        output["transient"] = {"display_id": run}
        item.outputs = [output]
        before = nbformat.writes(notebook)
        texts.append(notebooks.verified_text(notebook))
        assert nbformat.writes(notebook) == before  # the argument is not changed
    assert texts[0] == texts[1]
    assert '"text/plain": "2"' in texts[0].replace('[\n       "2"\n      ]', '"2"')


# -- refresh, without a kernel ------------------------------------------------


@pytest.mark.usefixtures("no_kernel")
class TestStatus:
    def status(self, root: Path) -> Any:
        return json.loads((root / "book" / "status.json").read_text())

    def change(self, root: Path, **values: Any) -> Any:
        path = root / "book" / "status.json"
        status = self.status(root) | values
        path.write_text(json.dumps(status, indent=1) + "\n")
        return status

    def test_an_old_time_and_date_stay_while_the_key_does(self, root) -> None:
        notebooks.refresh(root)
        old = self.status(root)
        old["notebooks"][NAME]["cpu_seconds"] = 99.0
        self.change(root, date="2000-01-01", notebooks=old["notebooks"])
        assert notebooks.refresh(root) == []
        assert self.status(root)["notebooks"][NAME]["cpu_seconds"] == 99.0
        assert self.status(root)["date"] == "2000-01-01"

    def test_a_new_key_brings_a_new_time_and_no_new_date(self, root) -> None:
        notebooks.refresh(root)
        self.change(root, date="2000-01-01")
        source = root / "notebooks" / f"{NAME}.md"
        source.write_text(SOURCE.replace("n = 2", "n = 3"))
        before = self.status(root)["notebooks"][NAME]["key"]
        assert "book/status.json" in notebooks.refresh(root)
        entry = self.status(root)["notebooks"][NAME]
        assert entry["key"] != before
        assert entry["cpu_seconds"] == 1.3
        assert self.status(root)["date"] == "2000-01-01"

    def test_words_alone_bring_none(self, root) -> None:
        notebooks.refresh(root)
        source = root / "notebooks" / f"{NAME}.md"
        source.write_text(SOURCE.replace("# Tiny", "# Small"))
        assert notebooks.refresh(root) == [f"notebooks/{NAME}.ipynb"]

    def test_status_notes_everything_anew(self, root) -> None:
        notebooks.refresh(root)
        old = self.status(root)
        self.change(root, date="2000-01-01", versions={"python": "2.7"}, machine="?")
        assert notebooks.refresh(root, status=True) == ["book/status.json"]
        assert self.status(root) == old

    def test_notebooks_that_are_gone_are_forgotten_others_kept(self, root) -> None:
        other = root / "notebooks" / "truthful" / "02_other.md"
        other.write_text(cell("1"))
        notebooks.refresh(root)
        status = self.status(root)
        assert list(status["notebooks"]) == [NAME, "truthful/02_other"]
        status["notebooks"]["truthful/00_gone"] = {"key": "0", "cpu_seconds": 1.0}
        self.change(root, notebooks=status["notebooks"])
        notebooks.refresh(root, [NAME])
        assert list(self.status(root)["notebooks"]) == [NAME, "truthful/02_other"]


def test_refresh_one_by_name(root, no_kernel) -> None:
    (root / "notebooks" / "truthful" / "02_other.md").write_text(cell("1"))
    assert notebooks.refresh(root, ["truthful/02_other"]) == [
        "notebooks/truthful/02_other.ipynb",
        "book/status.json",
    ]
    assert no_kernel == ["truthful"]


@pytest.mark.parametrize(
    "error", [DeadKernelError("Kernel died"), CellTimeoutError("A cell timed out")]
)
def test_a_kernel_that_dies_or_hangs_is_a_failing_cell(
    root, monkeypatch, error
) -> None:
    # Used to come out as nbclient's own errors, past `main`, as a traceback.
    def execute(*_: Any) -> float:
        raise error

    monkeypatch.setattr(notebooks, "execute", execute)
    before = files(root)
    with pytest.raises(NotebookError, match=f"^{NAME}: a cell failed; neither file"):
        notebooks.refresh(root)
    assert files(root) == before


def test_an_edit_during_the_run_is_not_overwritten(root, monkeypatch) -> None:
    # The text as read before the run used to be written over the edit.
    source = root / "notebooks" / f"{NAME}.md"
    edited = SOURCE.replace("# Tiny", "# Tiny, and better")

    def execute(*_: Any) -> float:
        source.write_text(edited)
        return 1.0

    monkeypatch.setattr(notebooks, "execute", execute)
    with pytest.raises(NotebookError, match="the pair was edited while it ran"):
        notebooks.refresh(root)
    assert source.read_text() == edited
    assert not source.with_suffix(".ipynb").exists()


EDITED = SOURCE.replace("n = 2", "n = 3")


@pytest.mark.usefixtures("no_kernel")
@pytest.mark.parametrize("elsewhere", [False, True])
def test_an_edit_of_the_ipynb_alone_is_not_overwritten(root, elsewhere) -> None:
    # Refresh used to write the cells of the .md over it, without a word.
    notebooks.refresh(root)
    source = root / "notebooks" / f"{NAME}.md"
    stored = source.with_suffix(".ipynb")
    stored.write_text(stored.read_text().replace("n = 2", "n = 3"))
    if elsewhere:  # both files have edits
        source.write_text(SOURCE.replace("# Tiny", "# Small"))
    before = files(root)
    with pytest.raises(NotebookError, match=r"the \.md lacks the edit") as caught:
        notebooks.refresh(root)
    assert "jupytext --to md:myst" in str(caught.value)
    assert f"make refresh NB={NAME} DISCARD=1" in str(caught.value)
    assert files(root) == before
    notebooks.refresh(root, discard=True)
    assert "n = 2" in stored.read_text()


@pytest.mark.usefixtures("no_kernel")
@pytest.mark.parametrize("both", [False, True])
def test_an_edit_of_the_md_is_taken(root, both) -> None:
    notebooks.refresh(root)
    source = root / "notebooks" / f"{NAME}.md"
    stored = source.with_suffix(".ipynb")
    source.write_text(EDITED)
    if both:  # as a save in JupyterLab
        stored.write_text(stored.read_text().replace("n = 2", "n = 3"))
    notebooks.refresh(root)
    assert source.read_text() == EDITED
    assert "n = 3" in stored.read_text()


@pytest.mark.usefixtures("no_kernel")
def test_what_the_md_cannot_hold_is_no_edit(root) -> None:
    # A save that folds a long output used to be refused for ever.
    notebooks.refresh(root)
    stored = root / "notebooks" / f"{NAME}.ipynb"
    notebook = nbformat.read(stored, as_version=4)
    notebook.cells[1].metadata["scrolled"] = True
    notebook.cells[0].source += "\n"
    nbformat.write(notebook, stored)
    notebooks.refresh(root)
    notebook.cells[0]["attachments"] = {"a.png": {"image/png": ""}}
    nbformat.write(notebook, stored)
    with pytest.raises(NotebookError, match="was edited"):
        notebooks.refresh(root)


def test_an_edit_while_another_notebook_runs_is_not_overwritten(
    root, monkeypatch
) -> None:
    # Edits used to be looked for once, before the first notebook ran.
    monkeypatch.setattr(notebooks, "execute", lambda *_: 1.0)
    other = root / "notebooks" / "truthful" / "02_tiny.md"
    other.write_text(SOURCE)
    notebooks.refresh(root)
    stored = other.with_suffix(".ipynb")

    def execute(*_: Any) -> float:
        stored.write_text(stored.read_text().replace("n = 2", "n = 3"))
        return 1.0

    monkeypatch.setattr(notebooks, "execute", execute)
    with pytest.raises(NotebookError, match=r"02_tiny: the \.ipynb was edited"):
        notebooks.refresh(root)
    assert "n = 3" in stored.read_text()


@pytest.mark.usefixtures("no_kernel")
def test_equal_cells_keep_their_own_outputs(root, monkeypatch) -> None:
    # They used to get those of the last cell with the same source.
    twice = "\n\n```{code-cell} ipython3\nprint(n)\n```\n"
    (root / "notebooks" / f"{NAME}.md").write_text(SOURCE.rstrip() + 2 * twice)
    texts = ["0.25\n", "0.26\n"]

    def execute(notebook: Any, *_: Any) -> float:
        cells = [cell for cell in notebook.cells if cell.source == "print(n)"]
        for cell, text in zip(cells, texts, strict=True):
            cell.outputs = [nbformat.v4.new_output("stream", text=text)]
        return 1.0

    monkeypatch.setattr(notebooks, "execute", execute)
    notebooks.refresh(root)
    before = files(root)
    notebooks.refresh(root)
    assert files(root) == before


@pytest.mark.usefixtures("no_kernel")
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n{}\n", "", "[]", "{}"])
def test_a_broken_ipynb_is_refreshed(root, known, text) -> None:
    # Conflict marks used to end in a traceback where only outputs differed.
    stored = root / "notebooks" / f"{NAME}.ipynb"
    if known:
        notebooks.refresh(root)
    stored.write_text(text)
    notebooks.trust(root)
    notebooks.refresh(root)
    assert json.loads(stored.read_text())["cells"]


def test_conflict_marks_in_the_md_are_refused(tmp_path) -> None:
    path = tmp_path / "01_tiny.md"
    path.write_text(f"{SOURCE}\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> other\n")
    with pytest.raises(NotebookError, match="marks of a merge conflict"):
        notebooks.read_source(path)


@pytest.mark.usefixtures("no_kernel")
def test_a_broken_ledger_writes_nothing(root) -> None:
    # The key, which reads the ledger, used to be made after the pair was written.
    path = root / "book" / "claims" / "truthful.yml"
    path.write_text(LEDGER.replace("kind: number", "kind: lemma"))
    before = files(root)
    with pytest.raises(ledger.LedgerError, match="'kind' must be one of"):
        notebooks.refresh(root)
    assert files(root) == before


EMPTY = '{"date": null, "machine": null, '


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "{}", '{"versions": {}}', "[" * 100_000),
        EMPTY + '"versions": {}, "notebooks": []}',
        EMPTY + '"versions": [], "notebooks": {}}',
        EMPTY + '"versions": {}, "notebooks": {"truthful/01_tiny": 3}}',
    ],
)
def test_refresh_with_a_broken_status_writes_nothing(root, text) -> None:
    (root / "book" / "status.json").write_text(text)
    before = files(root)
    with pytest.raises(NotebookError, match=r"book/status\.json is broken"):
        notebooks.refresh(root)
    assert files(root) == before


@pytest.mark.parametrize(
    "body",
    [
        b"---\njupytext: [\n---\n",
        b"---\njupytext: {}\n---\n\xff\n",
        b"---\njupytext: {}\n---\n```{code-cell}\n---\na: [\n---\n1\n```\n",
        b"---\njupytext: {}\n---\n```{code-cell}\n:tags: [\n\n1\n```\n",
        b"---\njupytext: 3\n---\n",
        b"---\njupytext: {}\nmyst: {html_meta: {a: b}}\n---\n",
        b"---\njupytext: {}\n---\n".replace(b"\n", b"\r\n"),
    ],
)
def test_main_says_one_sentence(root, capsys, body) -> None:
    notebooks.find(root)[0].write_bytes(body)
    for command in (["refresh"], ["changed"], ["verified"]):
        assert notebooks.main(command) == 1
        said = capsys.readouterr().err
        assert said.startswith("01_tiny.md")
        assert said.count("\n") == 1


def test_main_says_that_the_note_of_what_was_verified_is_broken(root, capsys) -> None:
    (root / ".cache").mkdir()
    (root / ".cache" / "verified.json").write_text("{")
    for command in ("changed", "verified"):
        assert notebooks.main([command]) == 1
        said = capsys.readouterr().err
        assert said.startswith(".cache/verified.json is broken")
        assert said.count("\n") == 1


def test_main_says_that_nothing_can_be_written(root, capsys) -> None:
    # A read-only tree, for which a test that may be run by root has no better.
    (root / ".cache").write_text("a file where a folder must be")
    assert notebooks.main(["verified"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_main_says_that_there_is_no_book(monkeypatch, capsys) -> None:
    def nowhere() -> Path:
        raise FileNotFoundError("No folder 'book/claims'.")

    monkeypatch.setattr(ledger, "book_root", nowhere)
    assert notebooks.main(["changed"]) == 1
    assert capsys.readouterr().err == "No folder 'book/claims'.\n"


# -- in Jupyter ---------------------------------------------------------------


def browser(value: Any) -> Any:
    """Return JSON as JavaScript writes it: 1.0 becomes 1."""
    if isinstance(value, dict):
        return {name: browser(item) for name, item in value.items()}
    if isinstance(value, list):
        return [browser(item) for item in value]
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


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


@pytest.mark.usefixtures("no_kernel")
def test_a_trusted_notebook_shows_its_figures(tmp_path, monkeypatch) -> None:
    # A fresh clone in JupyterLab showed no figure and no verdict.
    write_book(tmp_path, _01_tiny=SOURCE)
    notebooks.refresh(tmp_path)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    lab = FileContentsManager(root_dir=str(tmp_path))

    def trusted() -> set[bool]:
        cells = lab.get(f"notebooks/{NAME}.ipynb")["content"]["cells"]
        return {c["metadata"]["trusted"] for c in cells if c["cell_type"] == "code"}

    assert trusted() == {False}
    notebooks.trust(tmp_path)
    assert trusted() == {True}


@pytest.mark.usefixtures("no_kernel")
def test_trust_without_a_home_is_silent(root, monkeypatch, capfd) -> None:
    notebooks.refresh(root)
    (root / "home").write_text("a file where a folder must be")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(root / "home" / "none"))
    capfd.readouterr()
    notebooks.trust(root)
    assert capfd.readouterr() == ("", "")


# -- the key ------------------------------------------------------------------


@pytest.fixture
def keyed(root: Path) -> Path:
    """Return a book whose notebook reaches a library beside it."""
    (root / "dplib").mkdir()
    (root / "dplib" / "__init__.py").write_text('"""A library."""\n')
    (root / "dplib" / "claims.py").write_text("def open_notebook():\n    return 1\n")
    (root / "dplib" / "far.py").write_text("VALUE = 1\n")
    return root


def key_of(root: Path) -> str:
    source = root / "notebooks" / f"{NAME}.md"
    return notebooks.key(notebooks.read_source(source), NAME, root)


@pytest.mark.parametrize(
    ("path", "old", "new", "changes"),
    [
        (f"notebooks/{NAME}.md", "n = 2", "n = 3", True),
        (f"notebooks/{NAME}.md", "# how many", "# how many, from 1 on", True),
        (f"notebooks/{NAME}.md", "# Tiny", "# Small", False),
        (f"notebooks/{NAME}.md", "A formula", "The formula", False),
        ("book/claims/truthful.yml", "one half", "a half", True),
        ("book/claims/truthful.yml", '"0.50"', '"0.500"', True),
        ("book/claims/truthful.yml", "{n: 2}", "{n: 2, m: 1}", True),
        ("book/claims/truthful.yml", "says: more", "says: much more", False),
        ("book/claims/truthful.yml", "A tiny paper", "A small paper", False),
        ("dplib/claims.py", "return 1", "return 2", True),
        ("dplib/claims.py", "    return 1", "    # one\n    return 1", False),
        ("dplib/__init__.py", "A library", "The library", False),
        ("dplib/far.py", "1", "2", False),
    ],
)
def test_the_key_follows_cells_claims_and_code(keyed, path, old, new, changes) -> None:
    before = key_of(keyed)
    file = keyed / path
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    assert (key_of(keyed) != before) == changes


def test_the_key_does_not_follow_a_readers_own_file(keyed) -> None:
    # A team of one's own beside the notebooks used to make them all stale.
    before = key_of(keyed)
    (keyed / "notebooks" / "truthful" / "mine.yml").write_text("agents: []\n")
    assert key_of(keyed) == before


def test_the_key_does_not_follow_outputs(keyed) -> None:
    source = keyed / "notebooks" / f"{NAME}.md"
    notebook = notebooks.read_source(source)
    before = notebooks.key(notebook, NAME, keyed)
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="x")]
    notebook.cells[1].execution_count = 7
    assert notebooks.key(notebook, NAME, keyed) == before


def test_a_notebook_without_a_ledger_has_a_key(keyed) -> None:
    notebook = notebooks.read_source(keyed / "notebooks" / f"{NAME}.md")
    assert len(notebooks.key(notebook, "rewards/01_x", keyed)) == 64


def test_a_cell_that_is_not_python_is_named(root) -> None:
    # Used to be a bare SyntaxError of the line in the joined cells.
    source = root / "notebooks" / f"{NAME}.md"
    source.write_text(cell("listing = !ls"))
    with pytest.raises(NotebookError, match=f"^{NAME}: a cell is not Python: "):
        key_of(root)


# -- another processor ----------------------------------------------------------


def refresh_with(monkeypatch, root: Path, text: str) -> str:
    """Refresh the notebook as if its last cell gave a text; return what is stored."""

    def execute(notebook: Any, _: Path) -> float:
        for number, item in enumerate(notebook.cells[1:], start=1):
            if item.cell_type == "code":
                item.execution_count, item.outputs = number, []
        item.outputs = [nbformat.v4.new_output("stream", text=text)]
        return 1.0

    monkeypatch.setattr(notebooks, "execute", execute)
    notebooks.refresh(root)
    stored = nbformat.read(root / "notebooks" / f"{NAME}.ipynb", as_version=4)
    return str(stored.cells[-1].outputs[0].text)


def test_another_processor_rewrites_nothing(root, monkeypatch) -> None:
    assert refresh_with(monkeypatch, root, "0.125 m\n") == "0.125 m\n"
    assert refresh_with(monkeypatch, root, "0.126 m\n") == "0.125 m\n"
    assert refresh_with(monkeypatch, root, "0.128 m\n") == "0.128 m\n"


def test_other_code_rewrites_what_is_nearly_the_same(root, monkeypatch) -> None:
    assert refresh_with(monkeypatch, root, "0.2\n") == "0.2\n"
    source = notebooks.find(root)[0]
    source.write_text(source.read_text().replace("n = 2", "n = 3"))
    assert refresh_with(monkeypatch, root, "0.3\n") == "0.3\n"


# -- the commands -------------------------------------------------------------


def changed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert notebooks.main(["changed"]) == 0
    return capsys.readouterr().out.split()


def compare(root: Path, **counts: int) -> None:
    """Note so many cells as executed and compared."""
    (root / ".cache").mkdir(exist_ok=True)
    noted = {f"truthful/{name.lstrip('_')}": count for name, count in counts.items()}
    (root / ".cache" / "compared.json").write_text(json.dumps(noted))


@pytest.mark.usefixtures("no_kernel")
class TestCommands:
    @pytest.mark.parametrize("counts", [{}, {"_01_tiny": 3}])
    def test_what_was_not_compared_is_not_verified(self, root, capsys, counts) -> None:
        # A conftest.py or --nbval-lax could hide a notebook, or what it shows.
        notebooks.main(["refresh"])
        compare(root, **counts)
        assert notebooks.main(["verified"]) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"{NAME} is not verified: of its 4 code cells, ")
        assert changed(capsys) == [f"notebooks/{NAME}.ipynb"]

    def test_changed_until_verified(self, root, capsys) -> None:
        other = root / "notebooks" / "truthful" / "02_other.md"
        other.write_text(cell("1"))
        both = [f"notebooks/{NAME}.ipynb", "notebooks/truthful/02_other.ipynb"]
        assert notebooks.main(["refresh"]) == 0
        assert changed(capsys) == both
        compare(root, _01_tiny=4, _02_other=1)
        assert notebooks.main(["verified", NAME]) == 0
        assert changed(capsys) == both[1:]
        assert notebooks.main(["verified"]) == 0
        assert changed(capsys) == []

    @pytest.mark.parametrize(
        ("path", "old", "new"),
        [
            (f"notebooks/{NAME}.md", "n = 2", "n = 3"),
            (f"notebooks/{NAME}.ipynb", '"1\\n"', '"2\\n"'),
            ("book/claims/truthful.yml", "one half", "a half"),
        ],
    )
    def test_a_change_of_cells_outputs_or_claims_shows(
        self, root, capsys, path, old, new
    ) -> None:
        notebooks.main(["refresh"])
        compare(root, _01_tiny=4)
        notebooks.main(["verified"])
        text = (root / path).read_text()
        assert old in text
        (root / path).write_text(text.replace(old, new))
        assert changed(capsys) == [f"notebooks/{NAME}.ipynb"]

    def test_a_page_of_other_code_is_not_current(self, root, capsys) -> None:
        # `make book` used to build it, with what the old code had found.
        (root / "dplib").mkdir()
        (root / "dplib" / "__init__.py").write_text("")
        library = root / "dplib" / "claims.py"
        library.write_text("VALUE = 5.0\n")
        assert notebooks.main(["refresh"]) == 0
        assert notebooks.main(["current"]) == 0
        library.write_text('"""Say more."""\n\nVALUE = 5.0\n')
        assert notebooks.main(["current"]) == 0
        library.write_text("VALUE = 6.0\n")
        capsys.readouterr()
        assert notebooks.main(["current"]) == 1
        said = capsys.readouterr().err
        assert said.endswith(f"make refresh NB='{NAME}'\n")
        assert said.count("\n") == 1

    def test_refresh_tells_what_changed(self, root, capsys) -> None:
        assert notebooks.main(["refresh", NAME]) == 0
        said = capsys.readouterr().out
        assert f"refresh {NAME}: 1.3 CPU seconds" in said
        assert said.endswith(f"changed: notebooks/{NAME}.ipynb, book/status.json\n")
        assert notebooks.main(["refresh", "--status"]) == 0
        assert capsys.readouterr().out.endswith("changed: nothing\n")
        assert (root / "book" / "status.json").is_file()

    @pytest.mark.parametrize("command", ["refresh", "verified"])
    def test_a_name_that_is_none_is_one_sentence(self, root, capsys, command) -> None:
        before = files(root)
        assert notebooks.main([command, "truthful/09_none"]) == 1
        said = capsys.readouterr()
        assert said.err.startswith("There is no notebook 'truthful/09_none'")
        assert files(root) == before

    def test_a_broken_ledger_is_one_sentence(self, root, capsys) -> None:
        path = root / "book" / "claims" / "truthful.yml"
        path.write_text(LEDGER.replace("kind: number", "kind: lemma"))
        assert notebooks.main(["changed"]) == 1
        assert capsys.readouterr().err.startswith("truthful.yml: truthful.half: ")

    @pytest.mark.parametrize("arguments", [[], ["refesh"], ["changed", NAME]])
    def test_other_words_are_refused(self, arguments, capsys) -> None:
        with pytest.raises(SystemExit, match="2"):
            notebooks.main(arguments)
        assert "usage: python -m dplib.book.notebooks" in capsys.readouterr().err
