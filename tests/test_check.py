"""Every bad argument is met with one sentence; every good one comes back converted."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dplib import check

REAL_CHECKS = [check.finite, check.positive, check.nonnegative, check.probability]


def test_the_sentence() -> None:
    with pytest.raises(ValueError, match=r"^The 'epsilon' parameter") as caught:
        check.positive("epsilon", np.float64(-1.5), "laplace_scale")
    assert str(caught.value) == (
        "The 'epsilon' parameter of laplace_scale must be a positive finite float. "
        "Got -1.5 instead."
    )


def test_a_long_value_is_cut_to_one_line_of_80_characters() -> None:
    with pytest.raises(TypeError) as caught:
        check.finite("x", np.zeros((50, 50)), "f")
    message = str(caught.value)
    assert "\n" not in message
    shown = message.split("Got ")[1].removesuffix(" instead.")
    assert len(shown) == 80
    assert shown.endswith("...")


@pytest.mark.parametrize("function", REAL_CHECKS)
def test_real_numbers(function) -> None:
    for value in (0.5, np.float32(0.5), Fraction(1, 2)):
        result = function("x", value, "f")
        assert type(result) is float
        assert result == 0.5
    for value in (True, np.True_, "1", None, 1j, [0.5], Decimal("0.5")):
        with pytest.raises(TypeError, match="The 'x' parameter of f must be"):
            function("x", value, "f")
    for value in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="The 'x' parameter of f must be"):
            function("x", value, "f")


@pytest.mark.parametrize(
    ("function", "inside", "outside"),
    [
        (check.finite, [-1e60, 1e60], [1.1e60]),
        (check.positive, [5e-324, 1e60], [0.0, -0.0, -1e-300, 1.1e60]),
        (check.nonnegative, [0.0, 5e-324], [-5e-324]),
        (check.probability, [0.0, 1.0], [-5e-324, 1.0000000000000002]),
    ],
)
def test_the_ends_of_each_range(function, inside, outside) -> None:
    for value in inside:
        assert function("x", value, "f") == value
    for value in outside:
        with pytest.raises(ValueError, match="The 'x' parameter of f must be"):
            function("x", value, "f")


def test_integers() -> None:
    assert type(check.integer("n", np.int64(3), "f")) is int
    assert check.integer("n", 2**70, "f") == 2**70
    for value in (3.0, True, np.True_, "3", None):
        with pytest.raises(TypeError, match="must be an integer"):
            check.integer("n", value, "f")
    with pytest.raises(ValueError, match=r"an integer between 1 and 3\. Got 4"):
        check.integer("n", 4, "f", low=1, high=3)
    with pytest.raises(ValueError, match=r"an integer <= 3\. Got 4"):
        check.integer("n", 4, "f", high=3)


def test_words() -> None:
    assert check.member("noise", "full", "f", {"full", "structural"}) == "full"
    with pytest.raises(ValueError, match="one of 'full', 'structural'"):
        check.member("noise", "ful", "f", {"full", "structural"})
    with pytest.raises(TypeError, match="one of 'full'"):
        check.member("noise", None, "f", ["full"])


def test_arrays_are_read_only_copies() -> None:
    mine = np.array([[1.0, 2.0]])
    result = check.array("x", mine, "f", shape=(None, 2))
    mine[0, 0] = 9.0
    assert result.tolist() == [[1.0, 2.0]]
    assert result.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        result[0, 0] = 1.0


@pytest.mark.parametrize(
    ("value", "shape", "error", "message"),
    [
        (["a"], (1,), TypeError, "an array of real numbers"),
        ([True], (1,), TypeError, "an array of real numbers"),
        ([1j], (1,), TypeError, "an array of real numbers"),
        ([None], (1,), TypeError, "an array of real numbers"),
        ([1.0, 2.0], (3,), ValueError, r"an array of shape \(3,\)"),
        ([1.0], (None, 2), ValueError, r"an array of shape \(any, 2\)"),
        ([[1.0], [1.0, 2.0]], (2, 2), ValueError, r"an array of shape \(2, 2\)"),
        ([0.0, math.nan], (2,), ValueError, "an array of finite numbers"),
        ([0.0, math.inf], (2,), ValueError, "an array of finite numbers"),
        ([0.0, 1.1e60], (2,), ValueError, r"of size at most 1e\+60"),
    ],
)
def test_what_is_no_such_array(value, shape, error, message) -> None:
    with pytest.raises(error, match=f"The 'x' parameter of f must be .*{message}"):
        check.array("x", value, "f", shape=shape)
