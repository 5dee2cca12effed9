"""One notebook, once, in a kernel of its own: papermill injects and executes.

The kernel is the Python that runs this, in the surroundings that all kernels of the
book have (`dplib.book.kernels`), whatever kernel the notebook or the user's settings
name. It speaks through files (IPC) in a temporary folder, not through ports that
another process may take between being chosen and being opened.

A cell that raises, or ends Python with `sys.exit`, is a result (the notebook with its
traceback). A kernel that does not start, or dies, is none: `KernelLostError`, worth
another try.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError
from papermill.exceptions import strip_color
from traitlets.config import Config

from dplib.book.kernels import environment
from dplib.sweep.parameters import Value
from dplib.sweep.rows import FILE

__all__ = ["Executed", "KernelLostError", "execute"]

#: A socket's name has at most 107 characters (on macOS 103).
_LONGEST = 90


class KernelLostError(RuntimeError):
    """A kernel did not start, or died: worth another try, unlike a failed cell."""


@dataclass(frozen=True)
class Executed:
    """A notebook that ran, to its end or to the cell that raised.

    Attributes
    ----------
    notebook : nbformat.NotebookNode or None
        With outputs; None if it took too long.
    rows : list of dict
        What it handed over, in order.
    error, traceback : str
        "" or why it did not end well, in one line and in full.
    """

    notebook: Any
    rows: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""
    traceback: str = ""


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
        Seconds that it may take; any time by default.

    Raises
    ------
    KernelLostError
        If the kernel does not start, or dies.
    OSError
        If there is no room for what it writes.
    """
    os.environ.update(environment())
    # A kernel that starts while its worker is killed misses its folders.
    os.environ["PYTHONWARNINGS"] = "ignore::UserWarning:IPython.paths"
    # What matters is raised; by default errors would also go to the terminal.
    for name in ("papermill", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    end = None if timeout is None else time.monotonic() + timeout
    with tempfile.TemporaryDirectory(prefix="dplib-sweep-") as place:
        saved, rows = Path(place) / "executed.ipynb", Path(place) / "rows"
        tell = f"import os; os.environ[{FILE!r}] = {str(rows)!r}"
        options: dict[str, Any] = {
            "resources": {"metadata": {"path": str(folder)}},
            "shutdown_kernel": "immediate",
            # An output that got lost among very many: the file has the rows.
            "raise_on_iopub_timeout": False,
            "extra_arguments": [
                "--IPKernelApp.log_level=50",  # silent: notices, and Ctrl-C told twice
                "--HistoryManager.enabled=False",  # kernels would wait for its database
                f"--IPKernelApp.exec_lines={tell}",
            ],
        }
        if len(place) < _LONGEST:
            files = {"transport": "ipc", "ip": str(Path(place) / "k")}
            options["config"] = Config(KernelManager=files)
        if end is not None:
            options["timeout_func"] = lambda _: max(end - time.monotonic(), 0.01)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the machinery, not of the cells
                notebook = papermill.execute_notebook(
                    nbformat.reads(text, as_version=4),
                    str(saved),
                    parameters=dict(point),
                    kernel_name="python3",
                    language="python",
                    progress_bar=False,
                    request_save_on_cell_execute=False,
                    **options,
                )
        except papermill.PapermillExecutionError as error:
            line = strip_color(f"{error.ename}: {error.evalue}").strip().split("\n")[0]
            trace = strip_color("\n".join(error.traceback))
            return Executed(nbformat.read(saved, 4), [], line[:300], trace)
        except CellTimeoutError:
            return Executed(None, [], f"it took more than {timeout:.3g} s (--timeout)")
        except RuntimeError as error:
            raise KernelLostError(f"{type(error).__name__}: {error}") from None
        if notebook.metadata.papermill["exception"]:
            # What papermill takes for success.
            return Executed(notebook, [], "sys.exit: the cells after it did not run")
        return Executed(notebook, _read(rows))


def _read(rows: Path) -> list[dict[str, Any]]:
    if not rows.is_file():
        return []
    with rows.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
