"""Argument checks: a bad argument is met with one sentence of one shape.

The shape is "The 'epsilon' parameter of laplace_scale must be a positive finite float.
Got -1 instead." It names the argument, what it must be, and what it was. Checked, once,
is what a reader types, the birth of a value that holds data from outside, and the entry
points of privacy; inside, types do it. Each function here returns the checked value,
converted to the type that it promises. A wrong *type* raises ``TypeError``, a wrong
*value* ``ValueError``.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "array",
    "fail",
    "finite",
    "integer",
    "member",
    "nonnegative",
    "positive",
    "probability",
]

#: Largest size of a number. Rooms multiply up to five of them, and square the product;
#: no system needs larger ones: the remedy is another unit.
LARGEST = 1e60

FloatArray = NDArray[np.float64]


def fail(
    name: str, where: str, must: str, got: object, error: type[Exception] = ValueError
) -> NoReturn:
    """Raise `error` with the one sentence that every bad argument gets.

    Parameters
    ----------
    name : str
        The argument's name.
    where : str
        The function (or class, or file) whose argument it is.
    must : str
        What the argument must be: completes "must be ...".
    got : object
        What it was; shown by ``repr``, cut at 80 characters.
    error : type of Exception
        ``ValueError`` unless the type of the argument is at fault.

    Examples
    --------
    >>> fail("epsilon", "laplace_scale", "a positive finite float", -1)
    Traceback (most recent call last):
    ...
    ValueError: The 'epsilon' parameter of laplace_scale must be a positive \
finite float. Got -1 instead.
    """
    shown = repr(got.item() if isinstance(got, np.generic) else got)
    shown = " ".join(shown.split())
    if len(shown) > 80:
        shown = shown[:77] + "..."
    raise error(
        f"The '{name}' parameter of {where} must be {must}. Got {shown} instead."
    )


def _real(
    name: str, value: object, where: str, must: str, low: float, high: float
) -> float:
    # bool is a Real in Python; a truth value given for a number is a slip.
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        fail(name, where, must, value, TypeError)
    number = float(value)
    if not low <= number <= high:  # refuses nan as well
        fail(name, where, must, value)
    if abs(number) > LARGEST:
        fail(name, where, f"of size at most {LARGEST:g} (choose other units)", value)
    return number


def finite(name: str, value: object, where: str) -> float:
    """Return `value` as a finite float.

    Examples
    --------
    >>> finite("x", 3, "f")
    3.0
    """
    most = sys.float_info.max
    return _real(name, value, where, "a finite float", -most, most)


def positive(name: str, value: object, where: str) -> float:
    """Return `value` as a finite float greater than zero.

    Examples
    --------
    >>> positive("epsilon", 0.5, "f")
    0.5
    """
    least, most = math.nextafter(0.0, 1.0), sys.float_info.max
    return _real(name, value, where, "a positive finite float", least, most)


def nonnegative(name: str, value: object, where: str) -> float:
    """Return `value` as a finite float that is zero or greater.

    Examples
    --------
    >>> nonnegative("epsilon", 0, "f")
    0.0
    """
    must = "a non-negative finite float"
    return _real(name, value, where, must, 0.0, sys.float_info.max)


def probability(name: str, value: object, where: str) -> float:
    """Return `value` as a float in the closed interval [0, 1].

    Examples
    --------
    >>> probability("delta", 1e-5, "f")
    1e-05
    """
    return _real(name, value, where, "a probability between 0 and 1", 0.0, 1.0)


def integer(
    name: str,
    value: object,
    where: str,
    *,
    low: int | None = None,
    high: int | None = None,
) -> int:
    """Return `value` as an int in ``low..high`` (either end may be open).

    Examples
    --------
    >>> integer("steps", 10, "f", low=1)
    10
    >>> integer("steps", 0, "f", low=1)
    Traceback (most recent call last):
    ...
    ValueError: The 'steps' parameter of f must be an integer >= 1. Got 0 instead.
    """
    must = "an integer"
    if low is not None and high is not None:
        must = f"an integer between {low} and {high}"
    elif low is not None:
        must = f"an integer >= {low}"
    elif high is not None:
        must = f"an integer <= {high}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        fail(name, where, must, value, TypeError)
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        fail(name, where, must, value)
    return number


def member(name: str, value: Any, where: str, allowed: Collection[str]) -> str:
    """Return `value` if it is one of the `allowed` words.

    Examples
    --------
    >>> member("noise", "full", "f", ("full", "structural"))
    'full'
    """
    words = "one of " + ", ".join(repr(word) for word in sorted(allowed))
    if not isinstance(value, str):
        fail(name, where, words, value, TypeError)
    if value not in allowed:
        fail(name, where, words, value)
    return value


def array(
    name: str, value: ArrayLike, where: str, *, shape: tuple[int | None, ...]
) -> FloatArray:
    """Return `value` as a new, read-only float array of the given shape.

    Parameters
    ----------
    name, where : str
        The argument and the function it belongs to.
    value : array_like
        Real numbers; every one must be finite.
    shape : tuple
        The required shape; ``None`` stands for an axis of any length.

    Returns
    -------
    numpy.ndarray
        A copy that cannot be written to: problems are values, not state.

    Examples
    --------
    >>> array("x", [1, 2], "f", shape=(2,))
    array([1., 2.])
    >>> array("x", [1, 2], "f", shape=(3,))
    Traceback (most recent call last):
    ...
    ValueError: The 'x' parameter of f must be an array of shape (3,). \
Got an array of shape (2,) instead.
    """
    letters = ["any" if axis is None else str(axis) for axis in shape]
    wanted = "(" + ", ".join(letters) + ("," if len(shape) == 1 else "") + ")"
    must = f"an array of shape {wanted}"
    try:
        raw = np.asarray(value)
    except ValueError:  # rows of different lengths
        fail(name, where, must, value)
    if raw.dtype.kind not in "iuf":
        fail(name, where, "an array of real numbers", value, TypeError)
    if raw.ndim != len(shape) or any(
        axis not in (None, have) for axis, have in zip(shape, raw.shape, strict=True)
    ):
        raise ValueError(
            f"The '{name}' parameter of {where} must be {must}. "
            f"Got an array of shape {raw.shape} instead."
        )
    result = np.array(raw, dtype=np.float64)
    if not np.all(np.isfinite(result)):
        fail(name, where, "an array of finite numbers", value)
    largest = np.abs(result).max(initial=0.0)
    if largest > LARGEST:
        must = f"an array of numbers of size at most {LARGEST:g} (choose other units)"
        fail(name, where, must, largest)
    result.flags.writeable = False
    return result
