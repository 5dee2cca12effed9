"""Notebooks are compared by the rules of the book, in kernels that it surrounds.

nbval executes and compares; here it is told which outputs are the same. What was
compared is counted, for `dplib.book.notebooks` to hold against what is stored.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import pytest
from nbval.plugin import IPyNbCell

from dplib.book import kernels

os.environ.update(kernels.environment())  # before numpy is loaded, which reads it

from dplib.book import ledger, notebooks, outputs

_exactly = IPyNbCell.compare_outputs
_compared: Counter[str] = Counter()


def _compare(cell: Any, fresh: Any, stored: Any, *skip: Any, **skips: Any) -> bool:
    same: bool = _exactly(cell, outputs.settle(stored, fresh), stored, *skip, **skips)
    if same:
        cell.user_properties.append(("compared", notebooks.name_of(cell.path)))
    return same


IPyNbCell.compare_outputs = _compare


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count a cell that was executed and compared, here or in another process."""
    if report.when == "call" and report.passed:
        _compared.update(
            name for what, name in report.user_properties if what == "compared"
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the counts, in the process that has them all."""
    if _compared and not hasattr(session.config, "workerinput"):
        folder = ledger.book_root() / ".cache"
        folder.mkdir(exist_ok=True)
        (folder / "compared.json").write_text(json.dumps(_compared, indent=1))
