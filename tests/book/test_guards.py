"""Every notebook of the book passes every guard."""

import json
import re

import guards
import pytest
from guards import GUARDS

from dplib import ledger, notebooks

ROOT = ledger.book_root()
SOURCES = notebooks.find(ROOT)


def test_the_book_has_a_notebook():
    assert SOURCES


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.__name__)
@pytest.mark.parametrize("source", SOURCES, ids=notebooks.name_of)
def test_notebook_passes(source, guard):
    if guard is not guards.pair and not source.with_suffix(".ipynb").is_file():
        pytest.skip("no .ipynb yet: the guard 'pair' says so")
    found = guard(source)
    if found:
        pytest.fail("\n".join([str(source.relative_to(ROOT)), *found]), pytrace=False)


def test_no_half_pair_no_lost_claim_no_chapter_over_budget():
    found = guards.book_problems(ROOT)
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def pages():
    """Return every text of the book that a reader may see."""
    folders = ("book", "notebooks")
    return [
        *sorted(ROOT.glob("*.md")),
        *(path for name in folders for path in sorted((ROOT / name).rglob("*.md"))),
        *sorted((ROOT / "book" / "claims").glob("*.yml")),
        ROOT / "book" / "status.json",
        ROOT / "_config.yml",
    ]


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_no_path_of_a_machine_in_any_page(path):
    assert guards.machine_paths(path.read_text(encoding="utf-8")) == []


def test_status_is_of_the_locked_versions():
    noted = json.loads((ROOT / "book" / "status.json").read_text(encoding="utf-8"))
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for name, version in noted["versions"].items():
        if name != "python":
            assert re.search(rf"^{name}=={re.escape(version)} ", lock, re.M), name
