"""Every notebook of the book passes every guard."""

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
