"""What numba keeps is never the code of yesterday, and nothing must be kept."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dplib

LIBRARY = Path(dplib.__file__).parent
COMPILED = [
    path for path in LIBRARY.rglob("*.py") if "@numba.njit" in path.read_text("utf-8")
]

SOLVE = """
from dplib.mdp.batch import solve_many
from dplib.mdp.model import MDP
print(solve_many(MDP([[[1.0]]], 0.5), [[[1.0]]], tolerance=1e-9).iterations[0])
"""


def python(code: str, folder: Path, **variables: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(LIBRARY, tmp_path / "dplib", ignore=ignore)
    return tmp_path


def test_what_a_compiled_function_calls_stands_in_its_file() -> None:
    assert COMPILED
    for path in COMPILED:
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        ours = {
            alias.asname or alias.name
            for node in nodes
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dplib")
            for alias in node.names
        }
        for node in nodes:
            decorators = getattr(node, "decorator_list", [])
            if any("njit" in ast.unparse(one) for one in decorators):
                body = [part for line in node.body for part in ast.walk(line)]
                used = {part.id for part in body if isinstance(part, ast.Name)}
                assert not used & ours, f"{path.name}: {node.name}"


@pytest.mark.slow
def test_an_edited_callee_runs(copy: Path) -> None:
    before = int(python(SOLVE, copy))
    kernel = copy / "dplib" / "mdp" / "kernel.py"
    text = kernel.read_text("utf-8")
    old = "= iteration, least, largest"
    assert text.count(old) == 1
    kernel.write_text(text.replace(old, "= iteration + 5, least, largest"))
    assert int(python(SOLVE, copy)) == before + 5
