"""The law of a weighted sum of Laplace variables against quadrature and samples."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace

from dplib.privacy.laplace_sum import (
    laplace_sum_log_density,
    laplace_sum_loss,
    laplace_sum_survival,
)
from dplib.rng import stream

CASES = [[2.0], [1.0, 1.0], [1.0, 3.0], [2.0, 2.0, 0.5], [1.0, 1.0, 1.0, 1.0]]


@pytest.mark.parametrize("scales", CASES)
def test_density_is_the_convolution(scales):
    """Add the variables one at a time, by quadrature."""

    def density(y, parts):
        if len(parts) == 1:
            return laplace.pdf(y, scale=parts[0])
        kinks = sorted({0.0, y})
        edges = [-60.0, *kinks, 60.0]
        pieces = itertools.pairwise(edges)

        def inner(t):
            head = float(np.exp(laplace_sum_log_density(y - t, scales=parts[:-1])))
            return head * laplace.pdf(t, scale=parts[-1])

        return sum(quad(inner, a, b, epsabs=1e-12)[0] for a, b in pieces)

    for y in (0.3, -2.0):
        ours = float(np.exp(laplace_sum_log_density(y, scales=scales)))
        assert ours == pytest.approx(density(y, scales), rel=1e-8)


@pytest.mark.parametrize("scales", CASES)
def test_survival_is_the_integral_of_the_density(scales):
    for y in (0.0, 5.0):
        mass = quad(
            lambda t: float(np.exp(laplace_sum_log_density(t, scales=scales))), y, 200
        )[0]
        assert float(laplace_sum_survival(y, scales=scales)) == pytest.approx(mass)
        below = 1.0 - float(laplace_sum_survival(-y, scales=scales))
        assert below == pytest.approx(mass)


def test_far_tail_keeps_its_digits():
    at = float(laplace_sum_log_density(2000.0, scales=[1.0, 2.0]))
    # Partial fractions by hand: 4/3 of Lap(2), less 1/3 of Lap(1).
    assert at == pytest.approx(math.log(4 / 3 / 4) - 1000.0, rel=1e-14)
    assert 0.0 < float(laplace_sum_survival(700.0, scales=[1.0])) < 1e-300


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=1, max_size=4),
    st.floats(0.01, 5.0),
)
def test_loss_is_monotone_and_below_its_supremum(scales, shift):
    y = np.linspace(-30, 30, 301)
    loss = laplace_sum_log_density(y, scales=scales) - laplace_sum_log_density(
        y - shift, scales=scales
    )
    supremum = laplace_sum_loss(shift=shift, scales=scales)
    assert np.all(np.diff(loss) <= 1e-9)
    assert loss.max() <= supremum + 1e-9
    far = np.array([-1e7 * max(scales)])
    limit = laplace_sum_log_density(far, scales=scales) - laplace_sum_log_density(
        far - shift, scales=scales
    )
    # Equal scales approach the supremum only like 1/y; at 1e7 logs keep 1e-8.
    assert float(limit[0]) == pytest.approx(supremum, abs=3e-5)


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
        laplace_sum_log_density(0.0, scales=[1.0, 1.0 + 1e-9])
    with pytest.raises(ValueError, match="at least one positive"):
        laplace_sum_loss(shift=1.0, scales=[])
    with pytest.raises(ValueError, match="at least one positive"):
        laplace_sum_survival(1.0, scales=[1.0, 0.0])


def test_claims_never_below_exact_loss() -> None:
    loss = laplace_sum_loss(shift=1.0, scales=[3.0])
    assert Fraction(loss) >= Fraction(1, 3)
