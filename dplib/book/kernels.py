"""What a kernel finds around it: the same, whatever the reader's home folder holds.

One thread, no display, fixed hashes; and settings of IPython, Jupyter and matplotlib
from folders that are empty, so that no profile, start-up file or ``matplotlibrc`` of
the reader changes what a notebook shows, and none needs a home folder to write to.

``env $(python -m dplib.book.kernels) COMMAND`` gives a command the first three.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from dplib.book import own_results

__all__ = ["FIXED", "environment", "surroundings"]

#: One thread (more only fight over the same cores), no display, fixed hashes.
FIXED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "PYTHONHASHSEED": "0",
}
_NOTHING_ELSE = {
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHONSTARTUP": "",  # IPython runs it too
    "PYTHONVERBOSE": "",
    "JUPYTER_PATH": "",
    "JUPYTER_CONFIG_PATH": "",
    own_results.VARIABLE: "",  # the book's results, unless a command says otherwise
}
_FOLDERS = {
    "IPYTHONDIR": "ipython",
    "JUPYTER_CONFIG_DIR": "jupyter",
    "JUPYTER_DATA_DIR": "jupyter",  # of kernels, this leaves those of this Python
    "JUPYTER_RUNTIME_DIR": "jupyter/runtime",
    "MPLCONFIGDIR": "matplotlib",
    "MATPLOTLIBRC": "matplotlib",  # without a file there, the defaults hold
}


@cache
def environment() -> dict[str, str]:
    """Return what a kernel's environment must hold.

    The folders that it names are made for this process, and deleted with it.

    Examples
    --------
    >>> environment()["OMP_NUM_THREADS"]
    '1'
    """
    place = Path(tempfile.mkdtemp(prefix=f"dplib-kernels-{os.getpid()}-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    for folder in _FOLDERS.values():
        (place / folder).mkdir(exist_ok=True)
    folders = {name: str(place / folder) for name, folder in _FOLDERS.items()}
    return FIXED | _NOTHING_ELSE | folders


@contextmanager
def surroundings(**more: str) -> Iterator[None]:
    """Give this environment, and more, to the processes that are started meanwhile."""
    saved = dict(os.environ)
    os.environ.update(environment() | more)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(saved)


if __name__ == "__main__":
    print(*(f"{name}={value}" for name, value in FIXED.items()))
