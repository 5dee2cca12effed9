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
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROMISED = (
    *("jupyter-book", "jupytext", "numpy", "scipy", "cvxpy", "matplotlib", "seaborn"),
    *("papermill", "nbval"),
)


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


def test_every_declared_package_is_pinned_within_its_range():
    locked = pins()
    for want in declared():
        assert canonicalize_name(want.name) in locked, want.name
        for pin in locked[canonicalize_name(want.name)]:
            (exact,) = pin.specifier
            assert exact.operator == "=="
            assert want.specifier.contains(exact.version), f"{want} against {pin}"


@pytest.mark.parametrize("name", PROMISED)
def test_promised_packages_are_declared_and_pinned(name):
    assert name in [want.name for want in declared()]
    assert name in pins()


def test_every_pin_has_a_hash_and_no_index_is_named():
    blocks = re.split(r"\n(?=[A-Za-z0-9])", LOCK.strip())
    for block in blocks:
        assert "--hash=sha256:" in block, block.splitlines()[0]
    assert "://" not in LOCK
    assert "--index" not in LOCK
    assert "--find-links" not in LOCK


def test_one_numpy_and_one_scipy_for_all_pythons():
    for name in ("numpy", "scipy", "matplotlib", "cvxpy"):
        assert [pin.marker for pin in pins()[name]] == [None]


def test_the_environment_runs_what_the_lock_pins():
    """A stale environment would test other versions than readers get."""
    for want in declared():
        for pin in pins()[canonicalize_name(want.name)]:
            if pin.marker is None or pin.marker.evaluate():
                (exact,) = pin.specifier
                have = importlib.metadata.version(want.name)
                assert Version(have) == Version(exact.version), want.name


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


def test_the_library_is_marked_as_typed():
    assert (ROOT / "dplib" / "py.typed").is_file()
    assert PROJECT["tool"]["setuptools"]["package-data"]["dplib"] == ["py.typed"]


def test_conda_and_binder_use_the_same_lock():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    environment = yaml.safe_load(text)
    parts = environment["dependencies"]
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


def test_version_is_the_librarys():
    import dplib

    assert PROJECT["project"]["version"] == dplib.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == dplib.__version__


def find_python(
    folder: Path, python: str = "", **scripts: str
) -> subprocess.CompletedProcess[str]:
    """Run the search for a Python on a machine that has only `scripts`."""
    for name, body in scripts.items():
        path = folder / name.replace("_", ".")
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
    shell = shutil.which("sh")
    assert shell is not None
    return subprocess.run(
        [shell, str(ROOT / ".ci" / "python")],
        env={"PATH": str(folder), "PYTHON": python},
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_python_is_one_sentence(tmp_path):
    found = find_python(tmp_path)
    assert found.returncode == 1
    assert found.stderr.count("\n") == 1
    assert "needs Python 3.11, 3.12 or 3.13, and found none" in found.stderr


def test_old_python_is_named(tmp_path):
    found = find_python(tmp_path, python3="echo 3.9")
    assert found.returncode == 1
    assert "python3 is 3.9" in found.stderr


def test_broken_candidates_are_passed_over(tmp_path):
    # A version manager's shim exists for versions that are not there.
    good = (
        'case "$2" in *ensurepip*) exit 0;; *executable*) echo /a/python;; '
        "*) echo 3.12;; esac"
    )
    found = find_python(tmp_path, python3_11="exit 127", python3_12=good)
    assert (found.returncode, found.stdout) == (0, "/a/python\n")


GOOD = (
    'case "$2" in *ensurepip*) exit 0;; *executable*) echo "$0";; *) echo 3.12;; esac'
)


def test_a_python_in_a_path_with_spaces(tmp_path):
    folder = tmp_path / "my programs"
    folder.mkdir()
    path = folder / "python3"
    found = find_python(folder, str(path), python3=GOOD)
    assert (found.returncode, found.stdout) == (0, f"{path}\n")


def test_a_python_that_is_named_and_is_none(tmp_path):
    found = find_python(tmp_path, "/no/python", python3=GOOD)
    assert found.returncode == 1
    assert "found none: '/no/python' is no Python that runs;" in found.stderr
    assert found.stderr.count("\n") == 1


def test_set_up_leaves_nothing_behind_when_it_stops(tmp_path):
    """It once kept what it had found in a file, which an interrupt left there."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make")
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    spy = tmp_path / ".ci" / "spy"  # looks around in the moment of an interrupt
    spy.write_text("#!/bin/sh\nls -A > .ci/seen\nexit 1\n", encoding="utf-8")
    spy.chmod(0o755)
    run = subprocess.run(
        [make, "setup", f"PYTHON={spy}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert "is no Python that runs" in run.stderr
    seen = (tmp_path / ".ci" / "seen").read_text(encoding="utf-8").split()
    assert sorted(seen) == [".ci", "Makefile", "requirements.lock"]


def test_set_up_never_empties_an_environment_behind_a_link(tmp_path):
    # `venv --clear` follows the link, and once did.
    shutil.copytree(ROOT / ".ci", tmp_path / "book" / ".ci")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "python").touch()
    (tmp_path / "book" / ".venv").symlink_to(theirs)
    run = subprocess.run(
        ["sh", ".ci/setup"],
        cwd=tmp_path / "book",
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.startswith("Set-up would empty the environment")
    assert (theirs / "python").exists()


def test_programs_are_called_through_the_interpreter():
    # Their first lines name the folder of the installation, which may be renamed.
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert not re.findall(r"^\t@?\$\(BIN\).*", makefile, re.MULTILINE)


def test_lab_without_a_home_is_one_sentence(tmp_path):
    # It used to be a traceback of a hundred lines.
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements.lock").touch()
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".ok").touch()
    run = subprocess.run(
        ["make", "lab", f"HOME={tmp_path / 'none'}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert run.stderr.startswith("JupyterLab needs a home folder that it can write to")
    assert "Traceback" not in run.stderr


def test_missing_venv_module_is_named(tmp_path):
    bad = 'case "$2" in *ensurepip*) exit 1;; *) echo 3.11;; esac'
    found = find_python(tmp_path, python3=bad)
    assert found.returncode == 1
    assert "venv module, which python3 lacks" in found.stderr
