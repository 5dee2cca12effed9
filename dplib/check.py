"""Argument checks: every bad argument is met with one sentence of one shape.

The shape is "The 'epsilon' parameter of laplace_scale must be a positive
finite float. Got -1 instead." It names the argument, what it must be, and what
it was. Each function here returns the checked value, converted to the type
that it promises, so that a caller checks and converts in one line.

A parameter that has the wrong *type* raises ``TypeError``; one of the right
type with a wrong *value* raises ``ValueError``.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "array",
    "ascending",
    "entries",
    "finite",
    "fail",
    "instance",
    "integer",
    "member",
    "nonnegative",
    "positive",
    "probability",
    "sequence",
    "unit_interval",
]

#: Largest size of a number. Rooms multiply up to five of them, and square the product;
#: no system needs larger ones: the remedy is another unit.
LARGEST = 1e60

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Kind = TypeVar("Kind")


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
        What it was; shown by ``repr``, cut at 80 characters. A numpy scalar is
        shown as the Python number it holds, and what has no ``repr`` (an
        integer of thousands of digits) by the name of its type.
    error : type of Exception
        ``ValueError`` unless the type of the argument is at fault.

    Raises
    ------
    ValueError
        Always, or whatever `error` is.

    Examples
    --------
    >>> fail("epsilon", "laplace_scale", "a positive finite float", -1)
    Traceback (most recent call last):
    ...
    ValueError: The 'epsilon' parameter of laplace_scale must be a positive \
finite float. Got -1 instead.
    """
    try:
        shown = repr(got.item() if isinstance(got, np.generic) else got)
    except Exception:  # whatever it is: the sentence must come out
        shown = f"a value of type {type(got).__name__} that cannot be printed"
    shown = " ".join(shown.split())
    if len(shown) > 80:
        shown = shown[:77] + "..."
    raise error(
        f"The '{name}' parameter of {where} must be {must}. Got {shown} instead."
    )


def _real(name: str, value: object, where: str, must: str) -> float:
    # bool is a Real in Python; a truth value given for a number is a slip.
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        fail(name, where, must, value, TypeError)
    try:
        number = float(value)
    except OverflowError:
        fail(name, where, must, value)
    if not math.isfinite(number):
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
    return _real(name, value, where, "a finite float")


def positive(name: str, value: object, where: str) -> float:
    """Return `value` as a finite float greater than zero.

    Examples
    --------
    >>> positive("epsilon", 0.5, "f")
    0.5
    """
    must = "a positive finite float"
    number = _real(name, value, where, must)
    if number <= 0.0:
        fail(name, where, must, value)
    return number


def nonnegative(name: str, value: object, where: str) -> float:
    """Return `value` as a finite float that is zero or greater.

    Examples
    --------
    >>> nonnegative("epsilon", 0, "f")
    0.0
    """
    must = "a non-negative finite float"
    number = _real(name, value, where, must)
    if number < 0.0:
        fail(name, where, must, value)
    return number


def probability(name: str, value: object, where: str) -> float:
    """Return `value` as a float in the closed interval [0, 1].

    Examples
    --------
    >>> probability("delta", 1e-5, "f")
    1e-05
    """
    must = "a probability between 0 and 1"
    number = _real(name, value, where, must)
    if not 0.0 <= number <= 1.0:
        fail(name, where, must, value)
    return number


def unit_interval(name: str, value: object, where: str) -> float:
    """Return `value` as a float strictly between 0 and 1.

    Examples
    --------
    >>> unit_interval("gamma", 0.99, "f")
    0.99
    """
    must = "a float strictly between 0 and 1"
    number = _real(name, value, where, must)
    if not 0.0 < number < 1.0:
        fail(name, where, must, value)
    return number


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


def instance(name: str, value: object, where: str, kind: type[Kind]) -> Kind:
    """Return `value` if it is an object of the class `kind`.

    Examples
    --------
    >>> instance("word", "full", "f", str)
    'full'
    >>> instance("word", None, "f", str)
    Traceback (most recent call last):
    ...
    TypeError: The 'word' parameter of f must be a str. Got None instead.
    """
    if not isinstance(value, kind):
        word = kind.__name__
        article = "an" if word[0] in "AEIOU" else "a"
        fail(name, where, f"{article} {word}", value, TypeError)
    return value


def sequence(
    name: str, value: object, where: str, kind: type[Kind]
) -> tuple[Kind, ...]:
    """Return `value` as a tuple if it is a list or tuple of at least one `kind`.

    A generator is refused: it could be read only once.

    Examples
    --------
    >>> sequence("words", ["a", "b"], "f", str)
    ('a', 'b')
    """
    must = f"a sequence of at least one {kind.__name__}"
    if not isinstance(value, Sequence) or isinstance(value, str):
        fail(name, where, must, value, TypeError)
    if len(value) == 0:
        fail(name, where, must, value)
    for one in value:
        if not isinstance(one, kind):
            fail(name, where, f"a sequence of {kind.__name__} objects", one, TypeError)
    return tuple(value)


def entries(name: str, value: ArrayLike, where: str, must: str) -> NDArray[Any]:
    """Return `value` as numpy reads it, its numbers not yet looked at.

    Refused, with "must be `must`", are rows of different lengths. Masked entries
    are refused too: numpy would drop the mask and count what it hides.

    Examples
    --------
    >>> entries("x", [[1, 2], [3, 4]], "f", "an array").shape
    (2, 2)
    """
    if np.ma.is_masked(value):
        fail(name, where, "an array without masked entries", value)
    try:
        return np.asarray(value)
    except ValueError:  # rows of different lengths
        fail(name, where, must, value)


def ascending(
    name: str, value: ArrayLike, where: str, *, high: int | None = None
) -> IntArray:
    """Return `value` as a vector of one or more ascending integers from 0 on.

    Examples
    --------
    >>> ascending("record", [0, 10], "f", high=10)
    array([ 0, 10])
    >>> ascending("record", [7, 3], "f", high=10)
    Traceback (most recent call last):
    ...
    ValueError: The 'record' parameter of f must be ascending numbers between 0 \
and 10. Got [7, 3] instead.
    """
    must = "a one-dimensional array of integers"
    raw = entries(name, value, where, must)
    if raw.ndim != 1 or raw.size == 0 or raw.dtype.kind not in "iu":
        fail(name, where, must, value)
    top = np.iinfo(np.int64).max if high is None else high
    must = "ascending numbers from 0 on"
    if high is not None:
        must = f"ascending numbers between 0 and {high}"
    # Compared, not subtracted: a difference of unsigned integers wraps around.
    if raw.min() < 0 or raw.max() > top or np.any(raw[1:] <= raw[:-1]):
        fail(name, where, must, value)
    return raw.astype(np.int64)


def array(
    name: str, value: ArrayLike, where: str, *, shape: tuple[int | None, ...]
) -> FloatArray:
    """Return `value` as a new, read-only float array of the given shape.

    Parameters
    ----------
    name, where : str
        The argument and the function it belongs to.
    value : array_like
        Numbers; every one must be finite.
    shape : tuple
        The required shape; ``None`` stands for an axis of any length.

    Returns
    -------
    numpy.ndarray
        A copy that cannot be written to: problems are values, not state.

    Raises
    ------
    TypeError
        If `value` is not numeric.
    ValueError
        If its shape is another, an entry is masked, or a number is not finite.

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
    raw = entries(name, value, where, must)
    if raw.dtype.kind not in "iuf":
        fail(name, where, "an array of real numbers", value, TypeError)
    if raw.ndim != len(shape) or any(
        axis is not None and axis != have
        for axis, have in zip(shape, raw.shape, strict=True)
    ):
        raise ValueError(
            f"The '{name}' parameter of {where} must be {must}. "
            f"Got an array of shape {raw.shape} instead."
        )
    with np.errstate(over="ignore"):  # longer floats: inf, and refused below
        result = np.array(raw, dtype=np.float64)
    if not np.all(np.isfinite(result)):
        fail(name, where, "an array of finite numbers", value)
    if np.abs(result).max(initial=0.0) > LARGEST:
        must = f"an array of numbers of size at most {LARGEST:g} (choose other units)"
        fail(name, where, must, np.abs(result).max())
    result.flags.writeable = False
    return result
