"""A notebook that starts fast, and commands that sweep it, for the tests of sweeps."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]

PARAMETERS = (
    "a = 0.5  # a float\nn = 3  # an integer\nword = 'w'  # text\nwait = 0.0  # s"
)

#: Waits, then hands over one row.
ROW = """\
import time
from dplib import sweep
time.sleep(wait)
sweep.record(x=a * n / 3, said=word)
"""

LUCK = "if n == 13:\n    raise ValueError('unlucky')"


def write(folder, *cells, parameters=PARAMETERS, name="tiny"):
    """Write a notebook with a parameters cell (unless None) and other cells."""
    made = []
    if parameters is not None:
        cell = nbformat.v4.new_code_cell(parameters)
        cell.metadata["tags"] = ["parameters"]
        made.append(cell)
    made += [nbformat.v4.new_code_cell(source) for source in cells or (LUCK, ROW)]
    notebook = nbformat.v4.new_notebook(cells=made)
    path = Path(folder) / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    return path


class Place:
    """A folder with the notebook, and a temporary folder of its own for kernels."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.notebook = write(self.folder)
        # Short: the name of a socket has few characters.
        self.temporary = tempfile.TemporaryDirectory(prefix="sw-")
        self.environment = {**os.environ, "TMPDIR": self.temporary.name}

    def close(self):
        self.temporary.cleanup()

    def start(self, out, *options, before="pass"):
        """Start a sweep in a session of its own; `before` is run first in its process.

        Not by `preexec_fn`: that forks, and JAX forbids it once a test has used it.
        """
        # Kernels' clients leave event loops and sockets to the collector.
        strict = ["-W", "error", "-W", "ignore::ResourceWarning"]
        first = f"import os, resource, signal, sys; {before}; "
        first += "os.execv(sys.argv[1], sys.argv[1:])"
        command = [sys.executable, "-c", first]
        command += [sys.executable, *strict, "-m", "dplib.sweep"]
        command += [str(self.notebook), "--out", str(self.folder / out), *options]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            start_new_session=True,
            cwd=ROOT,
        )

    def run(self, out, *options, before="pass"):
        """Run a sweep; return exit status and what it printed."""
        process = self.start(out, *options, before=before)
        printed, errors = process.communicate(timeout=120)
        return process.returncode, printed, errors

    def table(self, out):
        return (self.folder / out / "table.csv").read_bytes()

    def results(self, out):
        return sorted((self.folder / out).glob("versions/*/results/*.json"))

    def states(self, out):
        lines = (self.folder / out / "points.csv").read_text().splitlines()
        at = lines[0].split(",").index("state")
        return [line.split(",")[at] for line in lines[1:]]

    def rests(self, out):
        """Return what a killed run left: files written aside, marks, processes."""
        files = [*(self.folder / out).rglob("*.part")]
        files += [*(self.folder / out).glob("versions/*/running/*")]
        return files

    def kernels(self):
        """Return the processes of kernels that this place's sweeps started."""
        return processes(self.temporary.name)


def processes(word):
    """Return the numbers of living processes whose command holds a word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if word in command and alive(folder.name):
            found.append(int(folder.name))
    return found


def children(process):
    """Return the numbers of the living processes that a process started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        fields = _fields(folder.name)
        if fields is not None and fields[1] == process:
            found.append(int(folder.name))
    return found


def until(true, seconds=300.0):
    """Wait until something is true, and return it; fail only if all hangs."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
    return found


def _fields(process):
    """Return state and parent of a process, or None if it is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    state, above = text.rpartition(")")[2].split()[:2]
    return None if state == "Z" else (state, int(above))


def alive(process):
    """Return whether a process lives."""
    return _fields(process) is not None


def parent(process):
    """Return the number of the process that started another; 0 if it is gone."""
    return (_fields(process) or ("", 0))[1]


def kill(process):
    """Kill a process at once, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


@contextlib.contextmanager
def cluster(folder, environment=None):
    """Give the address of a Dask scheduler, its process, and what starts a worker."""

    def dask(*words):
        command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
        command += ["--scheduler-file", str(file)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen(command, cwd=ROOT, env=environment, **quiet))
        return started[-1]

    def worker():
        own = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
        return dask("worker", *own)

    def address():
        with contextlib.suppress(OSError, ValueError):
            return json.loads(file.read_text())["address"]

    file, started = Path(folder) / "scheduler.json", []
    scheduler = dask("scheduler", "--port", "0", "--host", "127.0.0.1")
    try:
        yield until(address), scheduler, worker
    finally:
        for process in started:
            process.kill()
            process.wait()
