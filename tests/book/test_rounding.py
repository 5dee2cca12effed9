"""What is shown lies within the error bound of the value, in at most six digits."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dplib.book.rounding import rounded, shown

VALUES = st.floats(min_value=-1e300, max_value=1e300)
BOUNDS = st.one_of(st.just(0.0), st.floats(min_value=1e-300, max_value=1e300))
COUNTS = st.integers(min_value=1, max_value=15)


@pytest.mark.parametrize(
    ("value", "bound", "text"),
    [
        (311.4141036049725, 0.0, "311.414"),
        (2.5, 1e-3, "2.500"),  # a zero that matters is shown
        (2.5, 0.0, "2.5"),
        (0.02859, 1.0, "0"),  # no digit is certified
        (12345.0, 100.0, "12300"),
        (12345678.0, 1000.0, "1.2346e7"),
        (-0.000123456789, 0.0, "-0.000123457"),
        (-0.0000123456789, 0.0, "-1.23457e-5"),
        (1e-12, 1e-16, "1.0000e-12"),
        (999999.7, 0.0, "1000000"),
        (1e22, 0.0, "1e22"),
        (np.int64(7), 0.0, "7"),
        # The last digit is the first one worth at most twice the bound: 0.05 allows
        # tenths, the next float below does not.
        (math.pi, 0.05, "3.1"),
        (math.pi, 0.0499999, "3.14"),
        (math.pi, 0.5, "3"),
        (math.pi, 0.49, "3.1"),
        (math.pi, 5.0, "0"),
        # 0.9999999 has its first digit at the tenths, 1.00000 at the ones; the text
        # used to have the decimals of the former: 1.000000, seven digits.
        (0.9999999, 1e-9, "1.00000"),
        (9.99999999e-5, 1e-13, "0.000100000"),
        (9999999.7, 1e-3, "1.00000e7"),
    ],
)
def test_exact_cases(value, bound, text) -> None:
    assert shown(value, bound=bound) == text
    assert rounded(value, bound=bound) == float(text)


def test_what_is_not_finite_comes_back_and_no_negative_zero() -> None:
    assert rounded(-math.inf, bound=1.0) == -math.inf
    assert math.isnan(rounded(math.nan))
    assert shown(-math.inf) == "−∞"
    assert math.copysign(1.0, rounded(-1e-9, bound=1e-3)) == 1.0


@given(VALUES, BOUNDS, COUNTS)
@example(999999.5, 0.0, 6)
@example(124.1, 0.7, 6)
def test_what_is_shown_is_within_the_bound(value, bound, digits) -> None:
    # Or within half a unit of the last digit asked for.
    result = rounded(value, bound=bound, digits=digits)
    limit = max(bound, 0.5 * abs(value) * 10.0 ** (1 - digits))
    assert abs(result - value) <= limit * (1.0 + 1e-9)
    # Rounding is idempotent and odd.
    assert rounded(result, bound=bound, digits=digits) == result
    assert rounded(-value, bound=bound, digits=digits) == -result


@given(VALUES, BOUNDS, COUNTS)
@example(0.9999999, 1e-9, 6)
@example(9.9999999e-05, 0.0, 3)
def test_the_text_is_that_number_in_no_more_digits(value, bound, digits) -> None:
    text = shown(value, bound=bound, digits=digits)
    assert float(text) == rounded(value, bound=bound, digits=digits)
    _, figures, exponent = Decimal(text).as_tuple()
    if "." in text or "e" in text:  # else zeros may only hold the place
        assert len(figures) <= digits
        assert float(f"1e{exponent}") > 0.2 * bound * (1.0 - 1e-12)
