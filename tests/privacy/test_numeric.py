"""Rounding up, and log(1 - exp x)."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.privacy._numeric import log1mexp, round_up

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
