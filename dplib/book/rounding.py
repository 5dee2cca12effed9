"""Numbers as a reader may see them: rounded to what their error bound certifies.

A printed value carries at most six significant digits, and none that its error bound
makes meaningless: the last digit is the first one worth at most twice the bound, so
that what is shown lies within the bound of the value. An interval is rounded outward,
to digits that its width resolves, so that the value shown lies in the interval shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["DIGITS", "outward", "rounded", "shown"]

#: Most significant digits that the book prints.
DIGITS = 6


def _decimals(value: float, bound: float, digits: int) -> int:
    """Return the number of decimals to keep (negative: tens, hundreds, ...)."""
    size = 0 if value == 0.0 else math.floor(math.log10(abs(value)))
    keep = digits - 1 - size
    if bound > 0.0:
        keep = min(keep, math.ceil(-math.log10(2.0 * bound)))
    return keep


def rounded(value: float, *, bound: float = 0.0, digits: int = DIGITS) -> float:
    """Return `value` rounded to so many significant digits that stay within `bound`.

    Infinities and NaN come back; zero if no digit is worth showing, and never -0.

    Examples
    --------
    >>> rounded(311.4141036049725)
    311.414
    >>> rounded(311.4141036049725, bound=0.004), rounded(0.02859, bound=1.0)
    (311.414, 0.0)
    >>> rounded(124.1, bound=0.7)
    124.0
    """
    value = float(value)
    if not math.isfinite(value):
        return value
    return round(value, _decimals(value, bound, digits)) + 0.0


def _text(number: float, decimals: int, digits: int, *, strip: bool) -> str:
    """Return a number that is rounded to so many decimals as a reader sees it."""
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    if number == 0.0:
        return "0"
    exponent = ""
    if abs(number) < 1.0e-4 or abs(number) >= 1.0e7:
        size = math.floor(math.log10(abs(number)))
        places = max(0, min(digits - 1, decimals + size))
        text, power = f"{number:.{places}e}".split("e")
        exponent = f"e{int(power)}"
    else:
        text = f"{number:.{max(0, decimals)}f}"
    if strip and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text + exponent


def shown(value: float, *, bound: float = 0.0, digits: int = DIGITS) -> str:
    """Return the text of `rounded`, zeros that matter included.

    Examples
    --------
    >>> shown(2.5, bound=1.0e-3), shown(250000), shown(1.0e-12), shown(-0.0)
    ('2.500', '250000', '1e-12', '0')
    >>> shown(float("inf")), shown(float("nan"))
    ('∞', 'not a number')
    """
    if math.isnan(value):
        return "not a number"
    number = rounded(value, bound=bound, digits=digits)
    # Of the rounded number: 0.9999999 becomes 1.00000, not 1.000000.
    decimals = 0 if math.isinf(number) else _decimals(number, bound, digits)
    return _text(number, decimals, digits, strip=bound == 0.0)


def outward(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Return a value and the ends of its interval as texts, the ends rounded outward.

    All on one grid: a fifth of the width or less, at most six digits. An end may be
    infinite.

    Examples
    --------
    >>> outward(124.1, 123.39, 124.82), outward(2.0, -math.inf, 2.5)
    (('124.1', '123.3', '124.9'), ('2.0', '−∞', '2.5'))
    """
    finite = [number for number in (value, low, high) if math.isfinite(number)]
    size = max(map(abs, finite))
    decimals = DIGITS - 1 - (math.floor(math.log10(size)) if size else 0)
    if (width := max(finite) - min(finite)) > 0.0:
        decimals = min(decimals, math.ceil(-math.log10(width / 5.0)))

    def grid(number: float, to_integer: Callable[[float], float]) -> str:
        if math.isfinite(number):
            number = to_integer(number * 10.0**decimals) / 10.0**decimals
        return _text(number, decimals, DIGITS, strip=width == 0.0)

    return grid(value, round), grid(low, math.floor), grid(high, math.ceil)
