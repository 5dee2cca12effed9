"""Counts of Theorems 4 and 6: exact values, oracles, and mutants that must fail."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards import iterations

FIG4 = {"eta": 1e-8, "discount": 0.99}


def test_counts_of_figure_four_and_of_the_grid():
    assert iterations.sweeps([1, 10], **FIG4).tolist() == [2888, 3117]
    assert iterations.sweeps(5, **FIG4) == 3048
    assert iterations.sweeps_from_zero(5, **FIG4) == 2521


@given(
    st.floats(0.01, 100.0),
    st.floats(1e-6, 1.0),
    st.sampled_from([0.3, 0.5, 0.9, 0.99]),
)
def test_the_count_from_zero_is_the_least_for_a_single_state(R, eta, discount):
    K = int(iterations.sweeps_from_zero(R, eta=eta, discount=discount))
    error = R * discount**K / (1 - discount)
    assert error <= eta / 2 * (1 + 1e-9)
    if K > 0:
        assert error / discount >= eta / 2 * (1 - 1e-9)
    assert iterations.sweeps(R, eta=eta, discount=discount) >= K


def test_a_looser_count_is_not_the_least():
    # Mutant: one sweep more would pass the first half of the test above.
    K = int(iterations.sweeps_from_zero(1.0, eta=0.25, discount=0.5)) + 1
    assert Fraction(1, 2) ** (K - 1) * 2 <= Fraction(1, 8)


@pytest.mark.parametrize("version", ["restored", "log"])
@pytest.mark.parametrize("pairs", [1, 2, 3, 8, 10, 100, 256])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
def test_repaired_bounds_hold_exactly(version, pairs, epsilon):
    sigma = kappa_sigma(sensitivity=1.0, epsilon=epsilon, delta=0.1)
    rewards = np.full(pairs, -1.0)
    value, error = iterations.expected_sweeps(rewards, sigma=sigma, **FIG4)
    size = {"sigma": sigma, "n_agents": 1, "pairs": pairs, "version": version}
    bound = iterations.excess_bound(1.0, **size, **FIG4)
    assert value - 2888 + error <= bound


@pytest.mark.parametrize(
    ("pairs", "value", "bound"),
    [(1, 3081.5, 2889), (2, 3139.4, 3107), (8, 3197.9, 3196)],
)
def test_theorem_six_fails_as_printed(pairs, value, bound):
    sigma = kappa_sigma(sensitivity=1.0, epsilon=0.1, delta=0.1)
    rewards = np.ones(pairs)
    exact, error = iterations.expected_sweeps(rewards, sigma=sigma, **FIG4)
    assert abs(exact - value) < 0.2
    printed = iterations.excess_bound(1.0, sigma=sigma, n_agents=1, pairs=pairs, **FIG4)
    assert printed + 2888 == bound
    assert exact - error > bound


@pytest.mark.parametrize("n_agents", [1, 2, 5])
def test_theorem_six_as_it_is_printed(n_agents):
    """The formula in one line, its root over N."""
    noise = 1.5 * math.sqrt((1 - 2 / math.pi) * 255 / n_agents)
    true, private = (
        math.ceil(math.log(4 * R / (1e-8 * 0.01**2)) / math.log(1 / 0.99))
        for R in (2.0, 2.0 + noise)
    )
    size = {"sigma": 1.5, "n_agents": n_agents, "pairs": 256}
    assert iterations.excess_bound(2.0, **size, **FIG4) == private + 1 - true


def test_log_version_with_the_printed_ceilings():
    sigma = kappa_sigma(sensitivity=1.0, epsilon=1.0, delta=0.1)
    size = {"sigma": sigma, "n_agents": 2, "pairs": 256, "version": "log"}
    assert 256 * iterations.excess_bound(1.0, **size, **FIG4) == 41216
    assert 256 * iterations.excess_bound(10.0, **size, **FIG4) == 8704


def test_expectation_agrees_with_sampling():
    # Within 6 standard errors: fails by chance less often than once in 10^8.
    rewards, sigma = np.array([1.0, -2.0, 0.5, 0.0]), 1.5
    size = {"eta": 0.01, "discount": 0.9}
    rng = np.random.default_rng(7)
    noisy = rewards + sigma * rng.standard_normal((40_000, 4))
    sample = iterations.sweeps(np.abs(noisy).max(axis=1), **size)
    value, _ = iterations.expected_sweeps(rewards, sigma=sigma, **size)
    error = sample.std() / math.sqrt(sample.size)
    assert abs(sample.mean() - value) < 6 * error
    # Mutant: half the noise is told apart.
    half, _ = iterations.expected_sweeps(rewards, sigma=sigma / 2, **size)
    assert abs(sample.mean() - half) > 6 * error


def test_expectation_of_very_many_rewards_loses_no_tail():
    """Of 10^5 the largest is usually above four deviations; summed with no end."""
    size = {"eta": 0.01, "discount": 0.9}
    value, bound = iterations.expected_sweeps(np.zeros(100_000), sigma=3.0, **size)
    t = 0.01 * 0.1**2 / 4 / 0.9 ** np.arange(400)
    log_inside = special.log_ndtr(t / 3.0) + np.log1p(
        -special.ndtr(-t / 3.0) / special.ndtr(t / 3.0)
    )
    exact = -np.expm1(100_000 * log_inside).sum()
    assert abs(value - exact) <= bound + 1e-9


def test_many_sweeps_go_in_blocks():
    size = {"eta": 1e-8, "discount": 0.999}
    value, bound = iterations.expected_sweeps([1.0, 1.0], sigma=1e-6, **size)
    count = int(iterations.sweeps(1.0, **size))
    assert abs(value - count) < 1
    assert count > 3 * 4096
    assert bound < 1e-6


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
    value, bound = iterations.expected_sweeps([1.008086992353879], sigma=sigma, **FIG4)
    exact = forty_digits(1.008086992353879, sigma, 1e-8, 0.99)
    assert abs(exact - value) <= bound
    if sigma == 1e-9:  # no bound of rounding alone would do
        assert abs(exact - value) > 1e-6
    if sigma >= 1e-3:
        assert bound < 1e-10


@pytest.mark.parametrize(("sigma", "discount"), [(0.3, 0.5), (2.5, 0.9), (2.5, 0.99)])
def test_bound_is_tiny_for_ordinary_rewards(sigma, discount):
    size = {"eta": 1e-8, "discount": discount}
    value, bound = iterations.expected_sweeps([1.3], sigma=sigma, **size)
    exact = forty_digits(1.3, sigma, **size)
    assert abs(exact - value) <= bound < 1e-10


def test_many_different_rewards_go_in_smaller_blocks(monkeypatch):
    rewards = np.linspace(-2.0, 3.0, 300)
    size = {"sigma": 1.0, "eta": 1e-4, "discount": 0.9}
    whole = iterations.expected_sweeps(rewards, **size)
    monkeypatch.setattr(iterations, "BLOCK_TERMS", 2**13)
    parts = iterations.expected_sweeps(rewards, **size)
    assert parts == pytest.approx(whole, rel=1e-13)


@pytest.mark.parametrize("discount", [1 - 1e-8, 1 - 2**-53])
def test_too_many_sweeps_to_add_up_are_refused(discount):
    with pytest.raises(ValueError, match="'discount' parameter of expected_sweeps"):
        iterations.expected_sweeps([1.0], sigma=1.0, eta=1e-8, discount=discount)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"largest": 0.0}, "'largest' parameter of sweeps_real"),
        ({"largest": "1"}, "'largest' parameter of sweeps_real"),
        ({"eta": 0.0}, "'eta' parameter of sweeps_real"),
        ({"discount": 1.0}, "'discount' parameter of sweeps_real"),
    ],
)
def test_arguments_are_checked(change, words):
    arguments = {"largest": 1.0, "eta": 0.1, "discount": 0.5} | change
    with pytest.raises((TypeError, ValueError), match=words):
        iterations.sweeps(arguments.pop("largest"), **arguments)


def test_other_arguments_are_checked():
    size = {"sigma": 1.0, "n_agents": 1, "pairs": 2, **FIG4}
    with pytest.raises(ValueError, match="'version' parameter of excess_bound"):
        iterations.excess_bound(1.0, **size, version="tight")
    with pytest.raises(ValueError, match="'rewards' parameter of expected_sweeps"):
        iterations.expected_sweeps([], sigma=1.0, **FIG4)
