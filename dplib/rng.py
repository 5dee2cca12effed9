"""Random streams that are keyed by the task, not by the order of execution.

Every stochastic function of the library takes a ``numpy.random.Generator``. Where many
tasks run (replicates, sweep points, agents), each derives its own generator from the
root seed and a *key* that names the task. The numbers that a task draws then depend on
that key alone: a serial run, eight workers, and a run that was killed and resumed draw
the same.

The construction is numpy's own: a `numpy.random.SeedSequence` with the root seed as
entropy and the key as ``spawn_key``, feeding PCG64. Words of a key are turned into
integers by SHA-256, so that the same key gives the same stream on every machine.
"""

from __future__ import annotations

import hashlib

import numpy as np

from dplib import check

__all__ = ["stream"]


def _words(part: str | int) -> tuple[int, ...]:
    """One part of a key as 32-bit words, a tag first to keep the kinds apart."""
    if isinstance(part, str):
        # Lone surrogates, as in some file names, are allowed: any text is a key.
        digest = hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest()
        return (1, *(int.from_bytes(digest[i : i + 4], "big") for i in (0, 4, 8, 12)))
    number = check.integer("key", part, "stream", low=0, high=2**64 - 1)
    return (0, number >> 32, number & 0xFFFFFFFF)


def stream(seed: int, *key: str | int) -> np.random.Generator:
    """Return the generator that belongs to `key` under the root `seed`.

    Parameters
    ----------
    seed : int
        Root seed, ``0..2**128-1``; one per notebook, among its parameters.
    *key : str or int
        Name of the task, from the general to the particular, for example
        ``"pair", 17``. Integers must lie in ``0..2**64-1``.

    Returns
    -------
    numpy.random.Generator
        Independent (to all statistical purposes) of the stream of any other
        key or seed.

    Examples
    --------
    >>> stream(2026, "pair", 1).integers(1000, size=3)
    array([805, 443, 179])
    >>> a = stream(2026, "pair", 1).random()
    >>> b = stream(2026, "pair", 2).random()
    >>> a == b, a == stream(2026, "pair", 1).random()
    (False, True)
    """
    # numpy appends the key to the seed's words, and pads seeds to 128 bits. A
    # longer seed could spell out a shorter one and its key: same stream.
    root = check.integer("seed", seed, "stream", low=0, high=2**128 - 1)
    words = tuple(word for part in key for word in _words(part))
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(root, spawn_key=words))
    )
