"""Rounding that keeps a promise, and logarithms that keep their digits.

An upper bound that was rounded to nearest may lie below the number that it bounds.
What somebody relies on (an epsilon, a delta, a scale of noise) is therefore computed
in fractions, exactly, and rounded once, to the safe side. Curves are rounded to
nearest.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check

__all__ = ["FloatArray", "Floats", "log1mexp", "real_array", "round_up"]

FloatArray = NDArray[np.float64]
Floats = np.float64 | NDArray[np.float64]  # a scalar for scalar arguments


def round_up(exact: Fraction) -> float:
    """Return the least float that is not below `exact`; inf if there is none.

    Examples
    --------
    >>> round_up(Fraction(1, 4)), round_up(Fraction(1, 3)) > Fraction(1, 3)
    (0.25, True)
    """
    try:
        nearest = exact.numerator / exact.denominator  # correctly rounded
    except OverflowError:
        return math.inf
    if Fraction(nearest) < exact:
        return math.nextafter(nearest, math.inf)
    return nearest


def log1mexp(x: ArrayLike) -> Floats:
    """Return log(1 - exp(x)) for x <= 0, accurate at both ends; -inf at 0.

    Examples
    --------
    >>> print(log1mexp(-1e-20).round(9), log1mexp(-700.0) < 0)
    -46.05170186 True
    """
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(divide="ignore"):
        near = np.log(-np.expm1(x))
        # Below -log 2 the sum 1 - exp(x) is no longer small: log1p is better.
        far = np.log1p(-np.exp(np.minimum(x, -0.5)))
        result: Floats = np.where(x > -math.log(2.0), near, far)[()]
    return result


def real_array(
    name: str, value: ArrayLike, where: str, *, low: float = -math.inf
) -> FloatArray:
    """Return `value`, of any shape, as a read-only array of finite numbers >= low.

    Examples
    --------
    >>> real_array("epsilon", [1, 2], "f", low=0.0)
    array([1., 2.])
    """
    result = check.array(name, value, where, shape=(None,) * np.ndim(value))
    if np.any(result < low):
        check.fail(name, where, f"an array of numbers >= {low:g}", value)
    return result
