"""Which rewards keep their places: exact against bounds, sampling and quadrature."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards import survival as s
from dplib.rng import stream

rewards = st.lists(st.floats(-5, 5), min_size=3, max_size=8)


def oracle(values: list[float], top: int, sigma: float) -> float:
    """P(all top entries above all others), by adaptive quadrature."""
    ordered = sorted(values)
    high, low = ordered[-top:], ordered[:-top]

    def density(t: float) -> float:
        total = 0.0
        for k, level in enumerate(high):
            rest = high[:k] + high[k + 1 :]
            total += stats.norm.pdf(t, level, sigma) * math.prod(
                stats.norm.sf(t, other, sigma) for other in rest
            )
        return total * math.prod(stats.norm.cdf(t, other, sigma) for other in low)

    ends = (min(ordered) - 10 * sigma, max(ordered) + 10 * sigma)
    return integrate.quad(density, *ends, limit=500, epsabs=1e-11)[0]


@settings(max_examples=40, deadline=None)
@given(rewards, st.integers(1, 2), st.floats(0.3, 5))
def test_exact_against_quadrature_and_between_its_bounds(values, top, sigma) -> None:
    value, bound = s.survival(values, top=top, sigma=sigma)
    assert abs(value - oracle(values, top, sigma)) <= bound + 1e-8
    assert bound < 1e-9
    assert s.survival_lower_bound(values, top=top, sigma=sigma) <= value + bound
    assert value <= s.survival_upper_bound(values, top=top, sigma=sigma) + bound


@pytest.mark.parametrize("top", [1, 2, 3])
def test_ties_survive_as_often_as_counting_says(top: int) -> None:
    value, bound = s.survival(np.zeros(7), top=top, sigma=2.0)
    assert abs(value - 1 / math.comb(7, top)) <= bound


def test_exact_against_sampling() -> None:
    # 4.9 standard errors: fails by chance less than once in a million.
    values, top, sigma, n = np.array([3.0, 2.5, 0.0, -1.0, 1.0]), 2, 1.5, 200_000
    noisy = values + sigma * stream(1, "survival").standard_normal((n, 5))
    kept = noisy[:, :2].min(axis=1) > noisy[:, 2:].max(axis=1)
    value, _ = s.survival(values, top=top, sigma=sigma)
    assert abs(kept.mean() - value) < 4.9 * math.sqrt(value * (1 - value) / n)


def test_half_the_noise_is_told_apart() -> None:
    values = [3.0, 2.5, 0.0]
    right = s.survival(values, top=1, sigma=1.0)[0]
    assert abs(s.survival(values, top=1, sigma=0.5)[0] - right) > 0.05


@pytest.mark.parametrize(
    ("b", "r_max", "epsilon", "exact", "upper"),
    [
        (1, 5, 0.1, 0.0032, 0.6261),
        (1, 5, 1.0, 0.6663, 0.9961),
        (1, 50, 0.1, 0.7011, 0.9969),
        (2, 5, 1.0, 0.0874, 0.9082),
    ],
)
def test_the_goal_of_the_grid(b, r_max, epsilon, exact, upper) -> None:
    sigma = kappa_sigma(sensitivity=b, epsilon=epsilon, delta=0.1)
    values = np.full(1280, -1.0)
    values[17] = r_max
    assert s.survival(values, top=1, sigma=sigma)[0] == pytest.approx(exact, abs=5e-5)
    bound = s.survival_upper_bound(values, top=1, sigma=sigma)
    assert bound == pytest.approx(upper, abs=5e-5)
    low = s.survival_lower_bound(values, top=1, sigma=sigma)
    assert exact / 3 < low < exact


def test_the_largest_and_the_smallest_are_mirror_images() -> None:
    values = np.array([4.0, 1.0, 0.5, -2.0])
    both = s.theorem5_bound(values, top=1, bottom=2, sigma=1.0)
    halves = (
        s.survival_upper_bound(values, top=1, sigma=1.0),
        s.survival_upper_bound(-values, top=2, sigma=1.0),
    )
    assert both == min(halves)


@given(st.floats(0.2, 0.999), st.integers(1, 2000), st.floats(0.1, 10))
@settings(max_examples=30, deadline=None)
def test_designs_keep_what_they_promise(probability, others, sigma) -> None:
    if probability <= 1 / (others + 1) + 1e-3:
        return
    width = s.gap_for_survival(probability=probability, others=others, sigma=sigma)
    if width <= 0:
        return
    values = np.concatenate(([width], np.zeros(others)))
    value, bound = s.survival(values, top=1, sigma=sigma)
    assert abs(value - probability) < 1e-7 + bound
    most = s.sigma_for_survival(probability=probability, others=others, width=width)
    assert most == pytest.approx(sigma, rel=1e-9)


def test_pairs_are_the_better_bound_where_survival_is_likely() -> None:
    values, r = [4.0, 3.0, 0.0, 0.0], math.sqrt(2.0)
    pairs = (stats.norm.cdf(4 / r) * stats.norm.cdf(3 / r)) ** 2
    low = s.survival_lower_bound(values, top=2, sigma=1.0)
    assert low == pytest.approx(pairs, rel=1e-12)
    c = np.linspace(-1.0, 5.0, 601)  # no threshold comes near
    above = stats.norm.cdf(4 - c) * stats.norm.cdf(3 - c)
    assert (above * stats.norm.cdf(c) ** 2).max() < low - 0.05
    assert low < s.survival(values, top=2, sigma=1.0)[0]


def test_lower_bound_in_blocks(monkeypatch) -> None:
    values = stream(2, "survival").normal(size=60) + 20.0 * (np.arange(60) < 7)
    whole = s.survival_lower_bound(values, top=7, sigma=4.0)
    monkeypatch.setattr(s, "BLOCK", 120)
    parts = s.survival_lower_bound(values, top=7, sigma=4.0)
    assert parts == pytest.approx(whole, rel=1e-13)


def test_too_many_pairs_are_refused() -> None:
    values = np.arange(4000.0)
    with pytest.raises(ValueError, match="'rewards' parameter of survival must be"):
        s.survival(values, top=2000, sigma=1.0)
    with pytest.raises(ValueError, match="'rewards' parameter of survival_lower"):
        s.survival_lower_bound(np.zeros(70_000), top=35_000, sigma=1.0)


@pytest.mark.parametrize("far", [0.0, 1e3, 1e6 + 1 / 3, 1e10 / 3, 1e20])
@pytest.mark.parametrize("top", [1, 2])
def test_bound_holds_for_ties_far_from_zero(far, top) -> None:
    value, bound = s.survival([far] * 3, top=top, sigma=0.7)
    assert abs(value - 1 / 3) <= bound
    if far < 2e3:
        assert bound < 1e-10


def test_chance_of_a_tie_to_rounding_is_refused() -> None:
    for others in (1, 79, 10**7):
        size = {"others": others, "sigma": 1.0}
        tie = 1 / (others + 1)
        with pytest.raises(ValueError, match="the chance without any gap"):
            s.gap_for_survival(probability=np.nextafter(tie, 1), **size)
        assert s.gap_for_survival(probability=tie * (1 + 2e-9), **size) > 0.0


def test_huge_rewards_and_tiny_noise() -> None:
    assert s.survival([1e9, 0.0], top=1, sigma=1e-3)[0] == pytest.approx(1.0, abs=1e-12)
    assert s.survival_lower_bound([1e9, 0.0], top=1, sigma=1e-3) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: s.gap([1.0], top=1), "two rewards or more"),
        (lambda: s.gap([1.0, 2.0], top=2), "'top' parameter"),
        (lambda: s.gap([1.0, np.nan], top=1), "finite numbers"),
        (lambda: s.survival([1.0, 2.0], top=1, sigma=0.0), "positive finite"),
        (
            lambda: s.gap_for_survival(probability=0.5, others=1, sigma=1.0),
            "the chance without any gap",
        ),
        (
            lambda: s.gap_for_survival(probability=1.0, others=1, sigma=1.0),
            "strictly between 0 and 1",
        ),
        (
            lambda: s.sigma_for_survival(probability=0.9, others=1, width=0.0),
            "'width' parameter",
        ),
    ],
)
def test_bad_arguments(call, words) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        call()
