"""Intervals of replicates: coverage by exact binomial sums, edges, arguments."""

import numpy as np
import pytest
from scipy import stats

from dplib.replicates import quantile_interval, share_interval


@pytest.mark.parametrize("n", [5, 20, 60, 400])
@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
def test_a_quantile_is_covered_at_least_so_often(n, q):
    """Exactly, since the count below the quantile is binomial."""
    low, _, high = quantile_interval(np.arange(1.0, n + 1), q)
    lower = 0 if low == -np.inf else int(low)
    upper = n + 1 if high == np.inf else int(high)
    counts = np.arange(lower, upper)
    chance = stats.binom(n, q).pmf(counts).sum()
    assert chance >= 0.95
    # One order statistic less on either side would not do, or is a tail of 2.5 %.
    assert stats.binom(n, q).cdf(lower) > 0.025 or lower == 0


@pytest.mark.parametrize(("count", "total"), [(0, 10), (3, 60), (60, 60), (28, 400)])
def test_a_share_is_the_clopper_pearson_interval(count, total):
    low, share, high = share_interval(count, total)
    exact = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert share == count / total


def test_bad_arguments_get_one_sentence():
    with pytest.raises(ValueError, match="'q' parameter of quantile_interval"):
        quantile_interval([1.0], 1.0)
    with pytest.raises(ValueError, match="at least one number"):
        quantile_interval([])
    with pytest.raises(ValueError, match="'count' parameter of share_interval"):
        share_interval(3, 2)
