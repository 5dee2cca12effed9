"""Intervals of replicates: coverage by exact binomial sums, edges."""

import math

import numpy as np
import pytest
from scipy import stats

from dplib.book.replicates import (
    Interval,
    mean_interval,
    quantile_interval,
    share_interval,
)


@pytest.mark.parametrize("n", [5, 20, 60, 400])
@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("miss", [0.05, 1e-6])
def test_a_quantile_is_covered_at_least_so_often(n, q, miss):
    """Exactly, since the count below the quantile is binomial."""
    found = quantile_interval(np.arange(1.0, n + 1), q, chance=miss)
    lower = 0 if found.low == -np.inf else int(found.low)
    upper = n + 1 if found.high == np.inf else int(found.high)
    chance = stats.binom(n, q).pmf(np.arange(lower, upper)).sum()
    assert chance >= 1.0 - miss - 1e-12
    # One order statistic less on either side would not do, or is half the chance.
    assert stats.binom(n, q).cdf(lower) > miss / 2 or lower == 0


@pytest.mark.parametrize(("count", "total"), [(0, 10), (3, 60), (60, 60), (28, 400)])
def test_a_share_is_the_clopper_pearson_interval(count, total):
    found = share_interval(count, total, chance=0.05)
    exact = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert found.value == count / total


def test_a_mean_is_students_interval():
    sample = np.random.default_rng(5).exponential(size=30)
    found = mean_interval(sample, chance=1e-3)
    theirs = stats.ttest_1samp(sample, 0.0).confidence_interval(1.0 - 1e-3)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    assert found.half == pytest.approx(found.high - found.value)


def test_an_interval_moves_with_its_value():
    one = Interval(1.0, 0.5, 3.0, 1e-6)
    assert -one == Interval(-1.0, -3.0, -0.5, 1e-6)
    assert one + 1 == 1 + one == Interval(2.0, 1.5, 4.0, 1e-6)
    assert one - 1 == Interval(0.0, -0.5, 2.0, 1e-6)
    assert 1 - one == Interval(0.0, -2.0, 0.5, 1e-6)
    assert one * -2 == -2 * one == Interval(-2.0, -6.0, -1.0, 1e-6)
    assert one.half == 2.0


def test_two_intervals_are_subtracted_end_from_opposite_end():
    one, other = Interval(2.0, 1.5, 4.0, 1e-6), Interval(1.0, -0.5, 1.25, 2e-6)
    assert one - other == Interval(1.0, 0.25, 4.5, 3e-6)
    assert one + other == other + one == Interval(3.0, 1.0, 5.25, 3e-6)
    assert (one - one).low < 0 < (one - one).high  # nothing is known of dependence
    endless = Interval(0.0, -math.inf, math.inf, 1e-6)
    assert ((one - endless).low, (one - endless).high) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("one", "size"),
    [
        ((2.0, 1.0, 3.0), (2.0, 1.0, 3.0)),
        ((-2.0, -3.0, -1.0), (2.0, 1.0, 3.0)),
        ((-1.0, -3.0, 2.0), (1.0, 0.0, 3.0)),
        ((-1.0, -3.0, 0.0), (1.0, 0.0, 3.0)),
        ((1.0, 0.0, 3.0), (1.0, 0.0, 3.0)),
    ],
)
def test_the_size_of_an_interval_holds_the_size_of_every_number_in_it(one, size):
    assert abs(Interval(*one, 1e-6)) == Interval(*size, 1e-6)


def test_a_number_lies_in_the_interval_that_is_shown():
    """120 % used to be shown for an interval from 123.4 % to 124.8 %."""
    for value, low, high in (
        (124.1, 123.39, 124.82),
        (44.4, 42.36, 46.51),
        (1, 0, 9e9),
    ):
        texts = Interval(value, low, high, 1e-6).text().replace("(", "").split()
        shown = [float(text.strip(")")) for text in (texts[0], texts[1], texts[3])]
        assert shown[1] <= shown[0] <= shown[2]
        assert shown[1] <= low
        assert high <= shown[2]
    assert Interval(1.0, -math.inf, 2.0, 1e-6).text("m") == "1.0 m (−∞ m to 2.0 m)"


def test_a_value_outside_its_own_interval_is_none():
    for ends in ((1.0, 2.0, 3.0), (np.nan, 0.0, 1.0), (1.0, 0.0, np.nan)):
        with pytest.raises(ValueError, match="between low and high"):
            Interval(*ends, 1e-6)
