"""Every notebook of the book passes every guard."""

import guards
import pytest
from guards import GUARDS

from dplib.book import ledger, notebooks

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
    """Return every text of the book that a reader may see, code and data included.

    The texts of notebooks' outputs are the guard `paths`' concern.
    """
    kinds = {".md", ".yml", ".json", ".csv", ".bib", ".cff", ".css", ".toml", ".py"}
    folders = ("book", "notebooks", "dplib", "benchmarks")
    found = [path for path in sorted(ROOT.glob("*")) if path.suffix in kinds]
    for folder in folders:
        found += [p for p in sorted((ROOT / folder).rglob("*")) if p.suffix in kinds]
    hidden = (".ipynb_checkpoints", "mathjax")
    return [path for path in found if not set(hidden) & set(path.parts)]


def test_no_path_of_a_machine_in_any_page():
    assert len(pages()) > 50
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in pages()
        for text in guards.machine_paths(path.read_text(encoding="utf-8"))
    ]
    if found:
        pytest.fail("\n".join(found), pytrace=False)
