"""The example in CONTRIBUTING.md is an entry, a notebook, and passes as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from guards import GUARDS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TOC = "format: jb-book\nroot: book/intro\nchapters:\n"
TOC += "- file: notebooks/truthful/90_example.ipynb\n"
LEDGER = """\
paper: {key: nobody2020, title: A tiny paper, authors: N. Body}
claims:
"""


def block(fence: str, kind: str) -> str:
    """Return the first block of the page with this fence."""
    (found, *_) = re.findall(rf"^{fence}{kind}\n(.*?)^{fence}$", TEXT, re.M | re.S)
    return found


@pytest.mark.slow
def test_the_example_is_executed_and_passes_every_guard(tmp_path):
    source = tmp_path / "notebooks" / "truthful" / "90_example.md"
    ledger = tmp_path / "book" / "claims" / "truthful.yml"
    for folder in (source.parent, ledger.parent):
        folder.mkdir(parents=True)
    source.write_text(block("````", "markdown"), encoding="utf-8")
    ledger.write_text(LEDGER + block("```", "yaml"), encoding="utf-8")
    (tmp_path / "_toc.yml").write_text(TOC, encoding="utf-8")

    command = [sys.executable, "-m", "dplib.book.notebooks", "refresh", "--status"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    stored = source.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert "spends ε = 1" in stored
    assert {guard.__name__: guard(source) for guard in GUARDS} == {
        guard.__name__: [] for guard in GUARDS
    }
