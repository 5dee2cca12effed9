"""Numerical helpers that the privacy files share: rounding up, logs, arrays.

An upper bound that was rounded to nearest may lie below the number that it
bounds. Claims about privacy (an epsilon or delta that somebody relies on) are
therefore computed exactly (a float is a fraction) and rounded once, upwards;
where they hold a logarithm or an exponential, an allowance for its rounding is
added (`enlarge`). Curves and densities are rounded to nearest, and say so.
"""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check

__all__ = [
    "UNIT",
    "FloatArray",
    "Floats",
    "enlarge",
    "exact",
    "log1mexp",
    "noise_fits",
    "real_array",
    "round_up",
]

FloatArray = NDArray[np.float64]
Floats = np.float64 | NDArray[np.float64]  # a scalar for scalar arguments

UNIT = 2.0**-53
"""Largest relative error of one rounding to nearest."""


def exact(value: Any) -> Fraction:
    """Return a real number as the fraction that it is, not the nearest float.

    Examples
    --------
    >>> exact(0.5), exact(Fraction(1, 3))
    (Fraction(1, 2), Fraction(1, 3))
    """
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(*value.as_integer_ratio())


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


def enlarge(value: float, steps: int) -> float:
    """Return the float that lies `steps` floats above `value`, zero or greater.

    Examples
    --------
    >>> enlarge(1.0, 2) - 1.0 == 4 * UNIT
    True
    """
    for _ in range(steps):
        value = math.nextafter(value, math.inf)
    return value


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
    axes = check.entries(name, value, where, "an array of real numbers").ndim
    result = check.array(name, value, where, shape=(None,) * axes)
    if np.any(result < low):
        check.fail(name, where, f"an array of numbers >= {low:g}", value)
    return result


def noise_fits(name: str, scale: FloatArray, value: FloatArray, where: str) -> None:
    """Refuse noise that floats cannot add: lost between two, or beyond the last.

    It is told from the arguments alone, never from a draw.

    Examples
    --------
    >>> noise_fits("scale", np.array(1.0), np.array(1e17), "f")
    Traceback (most recent call last):
    ...
    ValueError: The 'scale' parameter of f must be at least the spacing of floats at \
the value, and small enough that noisy values are finite. Got 1.0 instead.
    """
    size = np.abs(value)
    with np.errstate(over="ignore"):
        fits = (np.spacing(size) <= scale) & np.isfinite(size + 1000.0 * scale)
    if not np.all(fits):
        must = "at least the spacing of floats at the value, "
        must += "and small enough that noisy values are finite"
        check.fail(name, where, must, scale.tolist())
