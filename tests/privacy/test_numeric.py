"""Rounding up, log(1 - exp x), and arrays of any shape."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.privacy._numeric import enlarge, exact, log1mexp, real_array, round_up

quick = settings(max_examples=200, deadline=None, derandomize=True, database=None)


@quick
@given(st.fractions(min_value=0))
def test_round_up_is_the_least_float_not_below(exact) -> None:
    rounded = round_up(exact)
    assert Fraction(rounded) >= exact
    if rounded > 0.0:
        assert Fraction(math.nextafter(rounded, -math.inf)) < exact


def test_round_up_at_the_ends() -> None:
    assert round_up(Fraction(0)) == 0.0
    assert round_up(Fraction(1, 10**400)) == 5e-324
    assert round_up(Fraction(10**400)) == math.inf
    # Rounding to nearest gives 0.3333333333333333, which is below 1/3.
    assert round_up(Fraction(1, 3)) == 0.33333333333333337


@pytest.mark.parametrize(
    "x", [-1e-300, -1e-17, -1e-5, -0.5, -0.6931, -0.6932, -1.0, -37.0, -700.0]
)
def test_log1mexp_against_many_digits(x) -> None:
    with mpmath.workdps(400):
        exact = float(mpmath.log(1 - mpmath.exp(mpmath.mpf(x))))
    assert log1mexp(x) == pytest.approx(exact, rel=4e-16, abs=0)


def test_log1mexp_at_the_ends() -> None:
    assert log1mexp(0.0) == -math.inf
    assert log1mexp(-math.inf) == 0.0
    assert log1mexp([[-1.0], [0.0]]).shape == (2, 1)


def test_real_array() -> None:
    assert real_array("x", 1, "f").shape == ()
    assert real_array("x", np.ones((2, 0, 3)), "f").shape == (2, 0, 3)
    with pytest.raises(ValueError, match="an array of numbers >= 0"):
        real_array("x", [-1.0], "f", low=0.0)
    with pytest.raises(ValueError, match="an array of real numbers"):
        real_array("x", [[1.0], [1.0, 2.0]], "f")


def test_enlarge_and_exact() -> None:
    assert enlarge(1.0, 0) == 1.0
    assert enlarge(1.0, 3) == 1.0 + 3 * 2.0**-52
    for value in (3, 0.1, np.float32(0.1), np.longdouble(1) / 3):
        assert exact(value) == Fraction(*value.as_integer_ratio())
    assert exact(np.int64(3)) == 3
    assert exact(Fraction(1, 3)) == Fraction(1, 3)
