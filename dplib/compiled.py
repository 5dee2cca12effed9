"""Whether compiled functions can be kept from one process to the next.

numba keeps them beside the source, or else in the user's own folder for caches, and
takes them up again while the file that defines a function is the same. It does not look
into other files: what a compiled function calls stands in the file of the function.
"""

from __future__ import annotations

import numba

__all__ = ["CACHE"]


def _kept() -> bool:
    """Try it; numba refuses where it can write nowhere (a read-only copy, no HOME)."""
    try:
        numba.njit(cache=True)(lambda: None)
    except RuntimeError:
        return False
    return True


#: What to hand to ``numba.njit(cache=...)``.
CACHE = _kept()
