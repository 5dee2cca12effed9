"""Whatever the reader's home folder holds, kernels show the same."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

import dplib
from dplib.book import notebooks

REPOSITORY = Path(__file__).resolve().parents[2]

CELL = """\
import matplotlib as mpl
import matplotlib.pyplot as plt
1
[sum([1, 2]), mpl.rcParams["savefig.transparent"], mpl.rcParams["text.usetex"]]"""
SHOWN = "[3, False, False]"

HOSTILE = {
    "config/matplotlib/matplotlibrc": "savefig.transparent: True\ntext.usetex: True\n",
    "ipython/profile_default/startup/00.py": "sum = lambda numbers: -1\n",
    "ipython/profile_default/ipython_kernel_config.py": (
        "c.InteractiveShell.ast_node_interactivity = 'all'\n"
    ),
    "jupyter/jupyter_config.json": '{"KernelManager": {"transport": "none"}}',
    "data/kernels/python3/kernel.json": (
        '{"argv": ["false"], "display_name": "none", "language": "python"}'
    ),
    "startup.py": "sum = lambda numbers: -2\n",
}

REFRESH = """
import nbformat; from pathlib import Path; from dplib.book import notebooks
book = nbformat.read("tiny.ipynb", 4)
notebooks.execute(book, Path())
"""
SWEEP = """
from pathlib import Path; from dplib.sweep.kernel import execute
book = execute(Path("tiny.ipynb").read_text(), {}, Path()).notebook
"""
COMPARE = f"""
(output,) = book.cells[-1].outputs
assert output.data["text/plain"] == "{SHOWN}", output
"""
NBVAL = (
    "import pytest; assert not pytest.main(['-p', 'conftest', '--nbval', 'tiny.ipynb'])"
)

run = functools.partial(
    subprocess.run, capture_output=True, text=True, timeout=300, check=False
)


def write_notebook(folder: Path) -> None:
    output = nbformat.v4.new_output(
        "execute_result", data={"text/plain": SHOWN}, execution_count=1
    )
    cell = nbformat.v4.new_code_cell(CELL, execution_count=1, outputs=[output])
    text = notebooks.verified_text(nbformat.v4.new_notebook(cells=[cell]))
    (folder / "tiny.ipynb").write_text(text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "route",
    [REFRESH + COMPARE, SWEEP + COMPARE, NBVAL],
    ids=("refresh", "sweep", "nbval"),
)
def test_what_a_home_folder_holds_changes_nothing(tmp_path: Path, route: str) -> None:
    for name, text in HOSTILE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    write_notebook(tmp_path)
    variables = {
        "HOME": "",
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "jupyter",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_PATH": "data",
        "MATPLOTLIBRC": "config/matplotlib",
        "MPLCONFIGDIR": "config/matplotlib",
        "PYTHONSTARTUP": "startup.py",
    }
    hostile = {name: str(tmp_path / place) for name, place in variables.items()}
    environment = {**os.environ, **hostile, "PYTHONPATH": str(REPOSITORY)}
    ended = run([sys.executable, "-c", route], cwd=tmp_path, env=environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A copy of the library, and a notebook, that others may read only."""
    folder = Path(tempfile.mkdtemp())  # pytest's own are closed to others
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(dplib.__file__).parent, folder / "dplib", ignore=ignore)
    write_notebook(folder)
    inside = [folder, *folder.rglob("*")]
    for path in inside:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in inside:
        path.chmod(0o755)
    shutil.rmtree(folder)


def nobody() -> list[str]:
    """Return what makes a command run as a user who may read and not write."""
    if os.getuid() != 0:
        return []
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    read = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    for command in ([*user, *read], user):
        if (
            shutil.which("setpriv")
            and not run([*command, sys.executable, "-V"]).returncode
        ):
            return command
    pytest.skip("this root cannot become a user who reaches this Python")


@pytest.mark.slow
def test_a_read_only_copy_without_a_home_folder(read_only: Path) -> None:
    code = "import dplib.mdp.kernel, dplib.truthful.kernel, dplib.rewards.flight\n"
    code += f"from dplib.compiled import CACHE\nassert not CACHE\n{REFRESH}{COMPARE}"
    kept = ("PATH", "TMPDIR", "LANG")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"HOME": str(read_only), "PYTHONPATH": str(read_only)}
    command = [*nobody(), sys.executable, "-c", code]
    ended = run(command, cwd=read_only, env=environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
