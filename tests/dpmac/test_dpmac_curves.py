"""Stored learning curves begin as the code does: a task of the day is trained again.

One of each result, others every day; it takes 20 to 60 CPU seconds, most of them to
compile. ``DPLIB_SAMPLE=20261231`` repeats the draw of a day.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dplib.book import ledger, stored, stored_work

RESULTS = stored.find(ledger.book_root(), ["dpmac/learning", "dpmac/replayed"])


@pytest.mark.slow
@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_forged_curve_does_not_begin_as_the_code_does(path: Path) -> None:
    definition = stored.load_definition(path)
    have = stored.load(definition.name, root=ledger.book_root())
    (task,) = stored_work.sample(definition, 1)
    print(f"DPLIB_SAMPLE={stored_work.sample_day()}: {task}")
    fresh = {task: definition.rows(task, whole=False)}
    assert len(fresh[task]) == 3
    assert stored.difference(definition, have, fresh) == ""
    width = len(definition.task)
    longer = tuple(
        (*row[:width], *(str(3.0 * float(x) + 1.0) for x in row[width:]))
        for row in have.rows
    )
    worse = tuple(
        (*row[: width + 1], *(str(3.0 * float(x)) for x in row[width + 1 :]))
        for row in have.rows
    )
    for rows in (longer, worse):
        forged = dataclasses.replace(have, rows=rows)
        assert stored.difference(definition, forged, fresh) != ""
