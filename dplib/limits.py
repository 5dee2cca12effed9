"""How large and how small the numbers of a problem may be.

Rooms multiply up to five given numbers (a constraint is quadratic in the states, a
Lagrangian cubic in states and multipliers) and square what comes out. A number above
1e60 could overflow on the way, and a divisor below 1e-60 too; what then comes out is
infinite or not a number, or a warning from deep inside. No team needs such numbers:
they are refused where they are given, and the remedy is another unit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check

__all__ = [
    "ENTRIES",
    "LARGEST",
    "SMALLEST",
    "array",
    "finite",
    "nonnegative",
    "positive",
]

FloatArray = NDArray[np.float64]

#: Largest size of a number, and smallest of one that is divided by.
LARGEST, SMALLEST = 1e60, 1e-60

#: Most numbers in one array of samples: 8 GB of them.
ENTRIES = 10**9


def array(
    name: str, value: ArrayLike, where: str, *, shape: tuple[int | None, ...]
) -> FloatArray:
    """Return `check.array` of numbers of size at most `LARGEST`.

    Examples
    --------
    >>> array("x", [1e200], "f", shape=(1,))
    Traceback (most recent call last):
    ...
    ValueError: The 'x' parameter of f must be an array of numbers of size at most \
1e+60 (choose other units). Got 1e+200 instead.
    """
    result = check.array(name, value, where, shape=shape)
    sizes = np.abs(result)
    if sizes.size and sizes.max() > LARGEST:
        must = f"an array of numbers of size at most {LARGEST:g} (choose other units)"
        check.fail(name, where, must, result.flat[int(np.argmax(sizes))])
    return result


def finite(name: str, value: object, where: str) -> float:
    """Return `value` as a float of size at most `LARGEST`.

    Examples
    --------
    >>> finite("altitude", -2, "f")
    -2.0
    """
    number = check.finite(name, value, where)
    return float(array(name, number, where, shape=()))


def positive(name: str, value: object, where: str) -> float:
    """Return `value` as a float between `SMALLEST` and `LARGEST`.

    Examples
    --------
    >>> positive("gamma", 0.5, "f")
    0.5
    """
    number = check.positive(name, value, where)
    if not SMALLEST <= number <= LARGEST:
        must = f"between {SMALLEST:g} and {LARGEST:g} (choose other units)"
        check.fail(name, where, must, value)
    return number


def nonnegative(name: str, value: object, where: str) -> float:
    """Return `value` as a float between 0 and `LARGEST`.

    Examples
    --------
    >>> nonnegative("alpha", 0, "f")
    0.0
    """
    number = check.nonnegative(name, value, where)
    if number > LARGEST:
        must = f"between 0 and {LARGEST:g} (choose other units)"
        check.fail(name, where, must, value)
    return number
