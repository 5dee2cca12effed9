"""Which rewards keep their places: exact against quadrature, counting and sampling."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards import survival as module
from dplib.rewards.survival import gap_for_survival, survival
from dplib.rng import stream


def oracle(values, top, sigma):
    """P(all top entries above all others), by adaptive quadrature."""
    ordered = sorted(values)
    high, low = ordered[-top:], ordered[:-top]

    def density(t):
        total = 0.0
        for k, level in enumerate(high):
            rest = high[:k] + high[k + 1 :]
            total += stats.norm.pdf(t, level, sigma) * math.prod(
                stats.norm.sf(t, other, sigma) for other in rest
            )
        return total * math.prod(stats.norm.cdf(t, other, sigma) for other in low)

    ends = (min(ordered) - 10 * sigma, max(ordered) + 10 * sigma)
    return integrate.quad(density, *ends, limit=500, epsabs=1e-11)[0]


def theorem_5(values, top, sigma):
    """The bound of Theorem 5, from the gap alone."""
    ordered = sorted(values)
    gap = ordered[-top] - ordered[-top - 1]
    return stats.norm.cdf(gap / (math.sqrt(2) * sigma))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-5, 5), min_size=3, max_size=8),
    st.integers(1, 2),
    st.floats(0.3, 5),
)
def test_exact_against_quadrature_and_below_theorem_5(values, top, sigma):
    value, bound = survival(values, top=top, sigma=sigma)
    assert abs(value - oracle(values, top, sigma)) <= bound + 1e-8
    assert bound < 1e-9
    assert value <= theorem_5(values, top, sigma) + bound


@pytest.mark.parametrize("top", [1, 2, 3])
def test_ties_survive_as_often_as_counting_says(top):
    value, bound = survival(np.zeros(7), top=top, sigma=2.0)
    assert abs(value - 1 / math.comb(7, top)) <= bound


def test_the_bound_tells_that_steps_are_too_coarse(monkeypatch):
    monkeypatch.setattr(module, "STEP", 2.0)
    value, bound = survival(np.zeros(3), top=1, sigma=1.0)
    assert 1e-4 < abs(value - 1 / 3) <= bound


def test_exact_against_sampling_and_half_the_noise_is_told_apart():
    # 4.9 standard errors: fails by chance less than once in a million.
    values, n = np.array([3.0, 2.5, 0.0, -1.0, 1.0]), 200_000
    noisy = values + 1.5 * stream(1, "survival").standard_normal((n, 5))
    kept = noisy[:, :2].min(axis=1) > noisy[:, 2:].max(axis=1)
    for sigma, agrees in ((1.5, True), (0.75, False)):
        value, _ = survival(values, top=2, sigma=sigma)
        error = math.sqrt(value * (1 - value) / n)
        assert (abs(kept.mean() - value) < 4.9 * error) == agrees


@pytest.mark.parametrize(
    ("b", "r_max", "epsilon", "exact", "upper"),
    [
        (1, 5, 0.1, 0.0032, 0.6261),
        (1, 5, 1.0, 0.6663, 0.9961),
        (1, 50, 0.1, 0.7011, 0.9969),
        (2, 5, 1.0, 0.0874, 0.9082),
    ],
)
def test_the_goal_of_the_grid(b, r_max, epsilon, exact, upper):
    sigma = kappa_sigma(sensitivity=b, epsilon=epsilon, delta=0.1)
    values = np.full(1280, -1.0)
    values[17] = r_max
    assert survival(values, top=1, sigma=sigma)[0] == pytest.approx(exact, abs=5e-5)
    assert theorem_5(values, 1, sigma) == pytest.approx(upper, abs=5e-5)


@given(st.floats(0.01, 0.99), st.integers(1, 2000), st.floats(0.1, 10))
@settings(max_examples=30, deadline=None)
def test_designs_keep_what_they_promise(above_a_tie, others, sigma):
    tie = 1 / (others + 1)
    wanted = tie + above_a_tie * (1 - tie)
    width = gap_for_survival(probability=wanted, others=others, sigma=sigma)
    value, bound = survival([width, *np.zeros(others)], top=1, sigma=sigma)
    assert abs(value - wanted) < 1e-7 + bound


@pytest.mark.parametrize("far", [0.0, 1e3, 1e6 + 1 / 3, 1e10 / 3, 1e20])
@pytest.mark.parametrize("top", [1, 2])
def test_bound_holds_for_ties_far_from_zero(far, top):
    value, bound = survival([far] * 3, top=top, sigma=0.7)
    assert abs(value - 1 / 3) <= bound
    if far < 2e3:
        assert bound < 1e-10


@pytest.mark.parametrize("far", [0.0, 2.0**20, 2.0**40])
def test_bound_holds_where_division_by_sigma_moves_two_rewards(far):
    for sigma in (0.3, 0.7, 1.1, 1.3):
        value, bound = survival([far, far + 1], top=1, sigma=sigma)
        assert abs(value - theorem_5([0.0, 1.0], 1, sigma)) <= bound
