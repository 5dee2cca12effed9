"""Lock, `pyproject.toml` and `environment.yml` hold together, and set-up speaks."""

import ast
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from ruamel.yaml import YAML

import dplib

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROMISED = (
    *("jupyter-book", "jupytext", "numpy", "scipy", "cvxpy", "matplotlib", "seaborn"),
    *("papermill", "nbval"),
)


def in_yaml(name: str) -> dict[str, object]:
    return dict(YAML(typ="safe").load(ROOT / name))


def pins() -> dict[str, list[Requirement]]:
    """Return the lock's pins by canonical name (several if a marker splits one)."""
    found: dict[str, list[Requirement]] = {}
    for line in LOCK.splitlines():
        if re.match(r"[A-Za-z0-9]", line):
            pin = Requirement(line.rstrip("\\").strip())
            found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def declared() -> list[Requirement]:
    project = PROJECT["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    return [Requirement(line) for line in lines]


# -- the lock ------------------------------------------------------------------


def test_every_declared_package_is_pinned_within_its_range_and_runs_here():
    """A stale environment would test other versions than readers get."""
    locked = pins()
    for want in declared():
        for pin in locked[canonicalize_name(want.name)]:
            (exact,) = pin.specifier
            assert exact.operator == "=="
            assert want.specifier.contains(exact.version), f"{want} against {pin}"
            if pin.marker is None or pin.marker.evaluate():
                have = importlib.metadata.version(want.name)
                assert Version(have) == Version(exact.version), want.name
    assert {want.name for want in declared()} >= {*PROMISED}


def test_every_pin_has_a_hash_and_no_index_is_named():
    for block in re.split(r"\n(?=[A-Za-z0-9])", LOCK.strip()):
        assert "--hash=sha256:" in block, block.splitlines()[0]
    assert not re.search("://|--index|--find-links", LOCK)


def test_one_numpy_and_one_scipy_for_all_pythons():
    for name in ("numpy", "scipy", "matplotlib", "cvxpy"):
        assert [pin.marker for pin in pins()[name]] == [None]


def imported(*patterns: str) -> set[str]:
    """Return the distributions that files import, the book's own modules left out."""
    files = [path for pattern in patterns for path in ROOT.glob(pattern)]
    own = {"dplib", *(path.stem for path in files)}
    names = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    names -= own | set(sys.stdlib_module_names)
    known = importlib.metadata.packages_distributions()
    return {canonicalize_name(known[name][0]) for name in names}


def test_what_is_imported_is_declared():
    folders = ("dplib", "book/_ext", "tests", "benchmarks")
    used = imported(*(f"{folder}/**/*.py" for folder in folders))
    assert used <= {canonicalize_name(want.name) for want in declared()}


def test_privacy_alone_needs_the_core_dependencies_only():
    core = {Requirement(line).name for line in PROJECT["project"]["dependencies"]}
    assert core == {"numpy", "scipy", "numba"}
    floors = ("dplib/privacy/*.py", "dplib/mdp/*.py")
    assert imported(*floors, "dplib/check.py", "dplib/rng.py") <= core


def test_the_library_is_typed_and_has_one_version():
    assert (ROOT / "dplib" / "py.typed").is_file()
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["dplib"]
    assert PROJECT["project"]["version"] == dplib.__version__
    assert str(in_yaml("CITATION.cff")["version"]) == dplib.__version__


def test_conda_and_binder_use_the_same_lock():
    parts = in_yaml("environment.yml")["dependencies"]
    (python,) = [p for p in parts if isinstance(p, str) and p.startswith("python=")]
    version = python.removeprefix("python=")
    assert version in Requirement(f"x{PROJECT['project']['requires-python']}").specifier
    (pip,) = [p for p in parts if isinstance(p, dict)]
    # The editable install may not stand beside a hashed lock: pip refuses it.
    assert pip == {"pip": ["-r requirements.lock"]}
    script = (ROOT / "postBuild").read_text(encoding="utf-8")
    assert "pip install --no-deps --no-build-isolation -e ." in script
    assert "dplib.book.notebooks trust" in script
    assert os.access(ROOT / "postBuild", os.X_OK)


# -- set-up --------------------------------------------------------------------


def run(command: list[str], folder: Path, **variables: str) -> tuple[int, str, str]:
    how = {"cwd": folder, "env": os.environ | variables, "text": True}
    ended = subprocess.run(command, capture_output=True, check=False, **how)
    return ended.returncode, ended.stdout, ended.stderr


def python3(version: str, venv: str = "exit 0") -> str:
    """Return a script that answers as a Python does."""
    return (
        f'#!/bin/sh\ncase "$2" in *ensurepip*) {venv};; '
        f'*executable*) echo "$0";; *) echo {version};; esac\n'
    )


@pytest.mark.parametrize(
    ("scripts", "given", "words"),
    [
        ({}, "", "needs Python 3.11, 3.12 or 3.13, and found none: no Python at all;"),
        ({"python3": python3("3.9")}, "", "found none: python3 is 3.9;"),
        ({"python3": python3("3.12")}, "/no/python", "'/no/python' is no Python that"),
        ({"python3": python3("3.11", "exit 1")}, "", "venv module, which python3"),
        # A version manager's shim exists for versions that are not there.
        ({"python3.11": "exit 127\n", "python3.12": python3("3.12")}, "", ""),
        ({"my programs/python3": python3("3.12")}, "{}/my programs/python3", ""),
    ],
)
def test_the_search_for_a_python_finds_one_or_says_one_sentence(
    tmp_path, scripts, given, words
):
    for name, body in scripts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(body, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    machine = {"PATH": str(tmp_path), "PYTHON": given.format(tmp_path)}
    search = [str(shutil.which("sh")), str(ROOT / ".ci" / "python")]
    status, found, said = run(search, tmp_path, **machine)
    assert (status == 0) == (words == "")
    assert words in said
    if words:
        assert said.count("\n") == 1
    else:
        assert found == f"{tmp_path / list(scripts)[-1]}\n"


def test_set_up_leaves_nothing_behind_when_it_stops(tmp_path):
    """It once kept what it had found in a file, which an interrupt left there."""
    for name in ("Makefile", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    spy = tmp_path / ".ci" / "spy"  # looks around in the moment of an interrupt
    spy.write_text("#!/bin/sh\nls -A > .ci/seen\nexit 1\n", encoding="utf-8")
    spy.chmod(0o755)
    status, _, said = run(["make", "setup", f"PYTHON={spy}"], tmp_path)
    assert status != 0
    assert "is no Python that runs" in said
    seen = (tmp_path / ".ci" / "seen").read_text(encoding="utf-8").split()
    assert sorted(seen) == [".ci", "Makefile", "requirements.lock"]


def test_set_up_never_empties_an_environment_behind_a_link(tmp_path):
    # `venv --clear` follows the link, and once did.
    shutil.copytree(ROOT / ".ci", tmp_path / "book" / ".ci")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "python").touch()
    (tmp_path / "book" / ".venv").symlink_to(tmp_path / "theirs")
    status, _, said = run(["sh", ".ci/setup"], tmp_path / "book")
    assert status == 1
    assert said.startswith("Set-up would empty the environment")
    assert (tmp_path / "theirs" / "python").exists()


def test_lab_without_a_home_is_one_sentence(tmp_path):
    # It used to be a traceback of a hundred lines.
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements.lock").touch()
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".ok").touch()
    status, _, said = run(["make", "lab", f"HOME={tmp_path / 'none'}"], tmp_path)
    assert status != 0
    assert said.startswith("JupyterLab needs a home folder that it can write to")
    assert "Traceback" not in said


def test_programs_are_called_through_the_interpreter():
    # Their first lines name the folder of the installation, which may be renamed.
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert not re.findall(r"^\t@?\$\(BIN\).*", makefile, re.MULTILINE)
