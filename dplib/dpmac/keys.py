"""Random keys of jax from the book's random streams."""

from __future__ import annotations

import jax
import numpy as np

__all__ = ["keys"]


def keys(rng: np.random.Generator, count: int) -> jax.Array:
    """Return so many keys, which depend on the stream alone, shape (count,).

    Examples
    --------
    >>> keys(np.random.default_rng(1), 3).shape
    (3,)
    """
    return jax.random.split(jax.random.key(int(rng.integers(2**32))), count)
