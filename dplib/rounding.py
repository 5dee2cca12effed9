"""Numbers as a reader may see them: rounded to what their error bound certifies.

A printed value carries at most six significant digits, and no digit that its
error bound does not certify: the last digit shown is worth at least twice the
bound. Stored outputs are compared byte for byte, so the same rounding also
keeps a notebook the same on another processor.
"""

from __future__ import annotations

import math

from dplib import check

__all__ = ["DIGITS", "rounded", "shown"]

#: Most significant digits that the book prints.
DIGITS = 6


def _decimals(value: float, bound: float, digits: int) -> int:
    """Return the number of decimals to keep (negative: tens, hundreds, ...)."""
    size = 0 if value == 0.0 else math.floor(math.log10(abs(value)))
    keep = digits - 1 - size
    if bound > 0.0:
        unit = 2.0 * bound
        if not math.isfinite(unit):
            return -309  # no digit of any float is certified
        keep = min(keep, math.floor(-math.log10(unit)))
    return keep


def rounded(value: float, *, bound: float = 0.0, digits: int = DIGITS) -> float:
    """Return `value` rounded to the digits that `bound` certifies.

    Parameters
    ----------
    value : float
        Any number; infinities and NaN are returned as they are.
    bound : float
        A bound on the absolute error of `value`, 0 or greater.
    digits : int
        At most so many significant digits, 1 to 15.

    Returns
    -------
    float
        Zero if `bound` certifies no digit. Rounded towards zero where the nearer
        number is too large for a float: 1.7e308 to one digit is 1e308.

    Raises
    ------
    TypeError, ValueError
        If `bound` is not a non-negative finite float or `digits` not in 1..15.

    Examples
    --------
    >>> rounded(311.4141036049725)
    311.414
    >>> rounded(311.4141036049725, bound=0.004), rounded(0.02859, bound=1.0)
    (311.41, 0.0)
    """
    bound = check.nonnegative("bound", bound, "rounded")
    digits = check.integer("digits", digits, "rounded", low=1, high=15)
    value = float(value)
    if not math.isfinite(value):
        return value
    decimals = _decimals(value, bound, digits)
    try:
        result = round(value, decimals)
    except OverflowError:
        unit = 10**-decimals  # such numbers have no decimals: exact integers
        result = math.copysign(float(abs(int(value)) // unit * unit), value)
    return result + 0.0  # no negative zero


def shown(value: float, *, bound: float = 0.0, digits: int = DIGITS) -> str:
    """Return the text of `rounded`, zeros that are certified included.

    Examples
    --------
    >>> shown(2.5, bound=1.0e-3), shown(250000), shown(1.0e-12), shown(-0.0)
    ('2.50', '250000', '1e-12', '0')
    >>> shown(float("inf"))
    '∞'
    """
    value = float(value)
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    number = rounded(value, bound=bound, digits=digits)
    if number == 0.0:
        return "0"
    # Of the rounded number: 0.9999999 becomes 1.00000, not 1.000000.
    decimals = _decimals(number, bound, digits)
    if abs(number) < 1.0e-4 or abs(number) >= 1.0e7:
        size = math.floor(math.log10(abs(number)))
        text = f"{number:.{max(0, min(digits - 1, decimals + size))}e}"
        mantissa, exponent = text.split("e")
        if bound == 0.0 and "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa}e{int(exponent)}"
    text = f"{number:.{max(0, decimals)}f}"
    if bound == 0.0 and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text
