"""Results of a reader's own, in the place of the book's.

``python -m dplib.book.stored change`` (`dplib.book.stored_change`) runs the definition
of a stored result with other parameters into a folder, and executes a page with
``DPLIB_RESULTS`` set to that folder. There `dplib.book.stored` looks first, for
``<chapter>/<name>.csv`` and ``.json``; and no claim of the book is judged, since all
are made for its own runs.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["VARIABLE", "folder"]

#: The environment variable; kernels get it empty (`dplib.book.kernels`) or from `show`.
VARIABLE = "DPLIB_RESULTS"


def folder() -> Path | None:
    """Return the folder of a reader's own results; None if the book's are in use."""
    name = os.environ.get(VARIABLE)
    return Path(name) if name else None
