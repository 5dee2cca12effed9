"""One notebook, once, in a kernel of its own: papermill over sockets in a folder.

papermill injects the parameters and executes. What differs from its defaults:

- The kernel speaks through files (IPC) in a temporary folder, not through ports that
  another process may take between being chosen and being opened; only where the name
  of the temporary folder is too long for a socket do ports have to do.
- It is the Python that runs this, with the threads of a sweep (one), whatever kernel
  the notebook or the user's settings name.
- It notes down the rows it hands over and the files it reads (`dplib.sweep.watch`).
- Nothing is saved on the way; the executed notebook is returned whole.

A cell that raises, or ends Python with `sys.exit`, is a result (the notebook with its
traceback). A kernel that does not start or dies is none: `KernelLostError`, worth
another try.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import papermill
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec
from jupyter_core.utils import ensure_event_loop
from nbclient.exceptions import CellTimeoutError

from dplib.book.kernels import environment
from dplib.sweep.errors import KernelLostError
from dplib.sweep.parameters import Value
from dplib.sweep.watch import NOTES, State, read_notes

__all__ = ["Executed", "execute"]

#: No room, or no leave, to write: another try would end the same way.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
#: A socket's name has at most 107 characters (on macOS 103).
_LONGEST = 90
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = "dplib-sweep"
_LAUNCH = (
    # What lies in the notebook's folder must not hide modules of the kernel; the cells
    # get the folder back.
    "import sys; sys.path[:] = filter(None, sys.path); "
    "from dplib.sweep.watch import start; start(); "
    "from ipykernel.kernelapp import launch_new_instance; launch_new_instance()"
)
_COMMAND = [
    *(sys.executable, "-c", _LAUNCH, "-f", "{connection_file}"),
    # No notices; no history, whose database kernels would wait for.
    *("--IPKernelApp.log_level=40", "--HistoryManager.enabled=False"),
]


@dataclass(frozen=True)
class Executed:
    """A notebook that ran, to its end or to the cell that raised.

    Attributes
    ----------
    notebook : nbformat.NotebookNode or None
        With outputs; None if a cell took too long.
    rows : list of dict
        What it handed over, in order.
    files : dict
        What it read (`dplib.sweep.watch.read_notes`).
    error : str
        "" or the error in one line.
    traceback : str
        "" or the traceback.
    slow : bool
        Whether the error is that a cell took too long.
    """

    notebook: Any
    rows: list[dict[str, Any]]
    files: dict[str, State]
    error: str = ""
    traceback: str = ""
    slow: bool = False


def execute(
    text: str,
    point: Mapping[str, Value],
    folder: Path,
    *,
    timeout: float | None = None,
) -> Executed:
    """Run a notebook with parameters.

    Parameters
    ----------
    text : str
        The notebook as JSON.
    point : mapping of str to number or text
        Values for its parameters.
    folder : pathlib.Path
        The kernel's working directory.
    timeout : float, optional
        Seconds that a cell may take, rounded up to whole ones; any time by default.

    Returns
    -------
    Executed
        The notebook with outputs, and the error of the cell that raised, if any.

    Raises
    ------
    KernelLostError
        If the kernel does not start, or dies.
    OSError
        If there is no room for what it writes.
    """
    os.environ.update(environment())
    whole = None if timeout is None else math.ceil(timeout)
    # What matters is raised; by default errors would also go to the terminal.
    logging.getLogger("papermill").setLevel(logging.CRITICAL + 1)
    for old in Path(tempfile.gettempdir()).glob("dplib-*-*"):
        _forget(old)
    with tempfile.TemporaryDirectory(
        prefix=f"{_PREFIX}-{os.getpid()}-", ignore_cleanup_errors=True
    ) as place:
        saved, notes = Path(place) / "executed.ipynb", Path(place) / "notes"
        try:
            with _event_loop(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the machinery, not of the cells
                notebook = papermill.execute_notebook(
                    nbformat.reads(text, as_version=4),
                    str(saved),
                    parameters=dict(point),
                    kernel_name="python3",
                    language="python",
                    progress_bar=False,
                    request_save_on_cell_execute=False,
                    execution_timeout=whole,
                    resources={"metadata": {"path": str(folder)}},
                    kernel_manager_class=_manager(Path(place)),
                    shutdown_kernel="immediate",
                    # An output that got lost among very many: the notes have the rows.
                    raise_on_iopub_timeout=False,
                )
        except papermill.PapermillExecutionError as error:
            line = _COLOURS.sub("", f"{error.ename}: {error.evalue}").strip()
            trace = _COLOURS.sub("", "\n".join(error.traceback))
            line = line.split("\n")[0][:300]
            rows, files, _ = _noted(notes)  # half a note is what the error is about
            return Executed(_read(saved), rows, files, line, trace or line)
        except CellTimeoutError as error:
            line = f"a cell took more than {whole} seconds (--timeout)"
            rows, files, _ = _noted(notes)
            return Executed(None, rows, files, line, str(error), slow=True)
        except OSError as error:
            if error.errno in _FULL:
                raise
            raise KernelLostError(f"{type(error).__name__}: {error}") from None
        except Exception as error:
            raise KernelLostError(f"{type(error).__name__}: {error}") from None
        rows, files, damage = _noted(notes)
        line = _broken_off(notebook) or damage
        return Executed(notebook, rows, files, line, line)


def _noted(
    notes: Path,
) -> tuple[list[dict[str, Any]], dict[str, State], str]:
    """Return what a kernel noted, and what is wrong with it, or ""."""
    try:
        return *read_notes(notes), ""
    except ValueError:
        return [], {}, "a row could not be written whole: is the temporary folder full?"


def _broken_off(notebook: Any) -> str:
    """Return why cells were left, or "".

    papermill takes `sys.exit()` for success, and so an error whose output got lost.
    """
    for cell in notebook.cells:
        if cell.metadata.get("papermill", {}).get("exception"):
            for output in cell.outputs:
                if output.output_type == "error":
                    return f"{output.ename}: the cells after it did not run"
            return "a cell raised an error, which got lost among its outputs"
    return ""


def _read(path: Path) -> Any:
    return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)


@contextmanager
def _event_loop() -> Iterator[None]:
    """Close the event loop that papermill works in, which it leaves open."""
    loop = ensure_event_loop()
    try:
        yield
    finally:
        if not loop.is_running():
            loop.run_until_complete(loop.shutdown_asyncgens())
            asyncio.set_event_loop(None)
            loop.close()


def _manager(place: Path) -> type[AsyncKernelManager]:
    """Return the class of kernel managers whose files lie in a folder."""

    class Manager(AsyncKernelManager):  # type: ignore[misc]
        """Starts this Python as a kernel that speaks through files."""

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.connection_file = str(place / "kernel.json")
            if len(str(place)) < _LONGEST:
                self.transport, self.ip = "ipc", str(place / "k")

        @property
        def kernel_spec(self) -> KernelSpec:
            return KernelSpec(
                argv=_COMMAND,
                display_name="Python 3",
                language="python",
                env={NOTES: str(place / "notes")},
            )

    return Manager


def _forget(old: Path) -> None:
    """Delete a temporary folder whose process was killed."""
    try:
        process = int(old.name.split("-")[2])
        if old.stat().st_uid == os.getuid():
            os.kill(process, 0)
    except ProcessLookupError:
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, ValueError, IndexError):
        pass
