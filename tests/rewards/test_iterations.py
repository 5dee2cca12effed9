"""Counts of Theorems 4 and 6: exact values, oracles, and mutants that must fail."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards import iterations
from dplib.rewards.accuracy import accuracy_factor, log_bound
from dplib.rewards.iterations import excess_bound, expected_sweeps, sweeps

FIG4 = {"eta": 1e-8, "discount": 0.99}


def printed_noise(sigma, n_agents, pairs):
    """Sigma times the root of Theorem 6 as printed."""
    return sigma * math.sqrt((1 - 2 / math.pi) * (pairs - 1) / n_agents)


def test_counts_of_figure_four_and_of_the_grid():
    assert sweeps([1, 10], **FIG4).tolist() == [2888, 3117]
    assert sweeps(5, **FIG4) == 3048
    assert sweeps(1e-30, **FIG4) == 0


@given(
    st.floats(0.01, 100.0),
    st.floats(1e-6, 1.0),
    st.sampled_from([0.3, 0.5, 0.9, 0.99]),
)
def test_the_count_is_enough_for_a_single_state(R, eta, discount):
    """From zero the error after K sweeps is R gamma^K / (1 - gamma)."""
    K = int(sweeps(R, eta=eta, discount=discount))
    assert R * discount**K / (1 - discount) <= eta / 2 * (1 + 1e-9)


@pytest.mark.parametrize("pairs", [1, 2, 3, 8, 10, 100, 256])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
def test_repaired_bounds_hold_exactly(pairs, epsilon):
    sigma = kappa_sigma(sensitivity=1.0, epsilon=epsilon, delta=0.1)
    value, error = expected_sweeps(np.full(pairs, -1.0), sigma=sigma, **FIG4)
    for noise in (
        sigma * accuracy_factor(n_agents=1, pairs=pairs),
        log_bound(sigma=sigma, n_agents=1, pairs=pairs),
    ):
        assert value - 2888 + error <= excess_bound(1.0, noise=noise, **FIG4)


@pytest.mark.parametrize(
    ("pairs", "value", "bound"),
    [(1, 3081.5, 2889), (2, 3139.4, 3107), (8, 3197.9, 3196)],
)
def test_theorem_six_fails_as_printed(pairs, value, bound):
    sigma = kappa_sigma(sensitivity=1.0, epsilon=0.1, delta=0.1)
    exact, error = expected_sweeps(np.ones(pairs), sigma=sigma, **FIG4)
    assert abs(exact - value) < 0.2
    printed = excess_bound(1.0, noise=printed_noise(sigma, 1, pairs), **FIG4)
    assert printed + 2888 == bound
    assert exact - error > bound


@pytest.mark.parametrize("n_agents", [1, 2, 5])
def test_theorem_six_as_it_is_printed(n_agents):
    noise = printed_noise(1.5, n_agents, 256)
    true, private = (
        math.ceil(math.log(4 * R / (1e-8 * 0.01**2)) / math.log(1 / 0.99))
        for R in (2.0, 2.0 + noise)
    )
    assert excess_bound(2.0, noise=noise, **FIG4) == private + 1 - true


def test_log_version_with_the_printed_ceilings():
    sigma = kappa_sigma(sensitivity=1.0, epsilon=1.0, delta=0.1)
    noise = log_bound(sigma=sigma, n_agents=2, pairs=256)
    assert 256 * excess_bound(1.0, noise=noise, **FIG4) == 41216
    assert 256 * excess_bound(10.0, noise=noise, **FIG4) == 8704


def test_expectation_agrees_with_sampling():
    # Within 6 standard errors: fails by chance less often than once in 10^8.
    rewards, sigma = np.array([1.0, -2.0, 0.5, 0.0]), 1.5
    size = {"eta": 0.01, "discount": 0.9}
    rng = np.random.default_rng(7)
    noisy = rewards + sigma * rng.standard_normal((40_000, 4))
    sample = sweeps(np.abs(noisy).max(axis=1), **size)
    value, _ = expected_sweeps(rewards, sigma=sigma, **size)
    error = sample.std() / math.sqrt(sample.size)
    assert abs(sample.mean() - value) < 6 * error
    # Mutant: half the noise is told apart.
    half, _ = expected_sweeps(rewards, sigma=sigma / 2, **size)
    assert abs(sample.mean() - half) > 6 * error


def test_expectation_of_very_many_rewards_loses_no_tail():
    """Of 10^5 the largest is usually above four deviations; summed with no end."""
    value, bound = expected_sweeps(np.zeros(100_000), sigma=3.0, eta=0.01, discount=0.9)
    t = 0.01 * 0.1**2 / 4 / 0.9 ** np.arange(400)
    log_inside = special.log_ndtr(t / 3.0) + np.log1p(
        -special.ndtr(-t / 3.0) / special.ndtr(t / 3.0)
    )
    exact = -np.expm1(100_000 * log_inside).sum()
    assert abs(value - exact) <= bound + 1e-9


def test_many_sweeps_go_in_blocks():
    size = {"eta": 1e-8, "discount": 0.999}
    value, bound = expected_sweeps([1.0, 1.0], sigma=1e-6, **size)
    count = int(sweeps(1.0, **size))
    assert abs(value - count) < 1
    assert count > 3 * iterations.BLOCK
    assert bound < 1e-6


def test_many_different_rewards_go_in_smaller_blocks(monkeypatch):
    rewards = np.linspace(-2.0, 3.0, 300)
    size = {"sigma": 1.0, "eta": 1e-4, "discount": 0.9}
    whole = expected_sweeps(rewards, **size)
    monkeypatch.setattr(iterations, "BLOCK_TERMS", 2**13)
    assert expected_sweeps(rewards, **size) == pytest.approx(whole, rel=1e-13)


def forty_digits(reward, sigma, eta, discount):
    """Expected sweeps of one reward, term by term."""
    with mpmath.workdps(40):
        t = mpmath.mpf(eta) * (1 - mpmath.mpf(discount)) ** 2 / 4
        total = mpmath.mpf(0)
        while t < reward + 60 * mpmath.mpf(sigma):
            ends = (t - reward) / mpmath.mpf(sigma), (-t - reward) / mpmath.mpf(sigma)
            inside = 0 if ends[0] < -60 else mpmath.ncdf(ends[0]) - mpmath.ncdf(ends[1])
            total += 1 - inside
            t /= mpmath.mpf(discount)
        return total


@pytest.mark.parametrize("sigma", [0.1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-17])
def test_bound_holds_where_a_reward_lies_on_a_threshold(sigma):
    """The rounding of a threshold over sigma is large where sigma is small."""
    value, bound = expected_sweeps([1.008086992353879], sigma=sigma, **FIG4)
    exact = forty_digits(1.008086992353879, sigma, **FIG4)
    assert abs(exact - value) <= bound
    if sigma == 1e-9:  # no bound of rounding alone would do
        assert abs(exact - value) > 1e-6
    if sigma >= 1e-3:
        assert bound < 1e-10


@pytest.mark.parametrize(("sigma", "discount"), [(0.3, 0.5), (2.5, 0.9), (2.5, 0.99)])
def test_bound_is_tiny_for_ordinary_rewards(sigma, discount):
    size = {"eta": 1e-8, "discount": discount}
    value, bound = expected_sweeps([1.3], sigma=sigma, **size)
    assert abs(forty_digits(1.3, sigma, **size) - value) <= bound < 1e-10
