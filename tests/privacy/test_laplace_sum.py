"""A weighted sum of Laplace variables against quadrature, by hand, and samples."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace

from dplib.privacy.laplace_sum import laplace_sum_survival
from dplib.rng import stream

CASES = [[2.0], [1.0, 1.0], [1.0, 3.0], [2.0, 2.0, 0.5], [1.0, 1.0, 1.0, 1.0]]


@pytest.mark.parametrize("scales", CASES)
@pytest.mark.parametrize("y", [5.0, 0.3, -2.0])
def test_survival_is_that_of_the_convolution(scales, y):
    """Given the last variable, the rest of the sum must exceed what is left."""
    *rest, last = scales
    if not rest:
        assert laplace_sum_survival(y, scales=scales) == pytest.approx(
            laplace.sf(y, scale=last), rel=1e-14
        )
        return

    def given_last(t):
        return laplace_sum_survival(y - t, scales=rest) * laplace.pdf(t, scale=last)

    edges = [-120.0, *sorted({0.0, y}), 120.0]
    pieces = [
        quad(given_last, a, b, epsabs=1e-13, limit=200)[0]
        for a, b in itertools.pairwise(edges)
    ]
    ours = float(laplace_sum_survival(y, scales=scales))
    assert ours == pytest.approx(sum(pieces), rel=1e-8)
    assert float(laplace_sum_survival(-y, scales=scales)) == pytest.approx(1.0 - ours)


def test_far_tail_keeps_its_digits():
    # Partial fractions by hand: 4/3 of Lap(2), less 1/3 of Lap(1).
    at = float(laplace_sum_survival(1200.0, scales=[1.0, 2.0]))
    assert at == pytest.approx(2 / 3 * math.exp(-600.0), rel=1e-12, abs=0)


def test_sampled():
    """4e5 draws: the Dvoretzky-Kiefer-Wolfowitz bound, 1e-7 chance of failure."""
    n, scales = 400_000, [1.0, 2.0, 2.0]
    draws = np.sort(stream(1, "laplace sum").laplace(0, scales, (n, 3)).sum(axis=1))
    empirical = 1.0 - (np.arange(n) + 0.5) / n
    gap = np.abs(laplace_sum_survival(draws, scales=scales) - empirical).max()
    limit = math.sqrt(math.log(2 / 1e-7) / (2 * n)) + 1 / n
    assert gap < limit
    wrong = np.abs(laplace_sum_survival(draws, scales=[1.0, 2.0, 1.9]) - empirical)
    assert wrong.max() > limit  # a wrong scale is noticed


def test_scales_that_almost_agree_are_refused():
    with pytest.raises(ValueError, match="equal, or apart"):
        laplace_sum_survival(0.0, scales=[1.0, 1.0 + 1e-9])
