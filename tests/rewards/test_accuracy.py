"""The largest error of private rewards: bounds, exact values, samples."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards import accuracy as a
from dplib.rewards.noise_law import input_noise
from dplib.rewards.perturbation import joint_noise, standard_draw
from dplib.rewards.tables import joint_reward
from dplib.rng import stream


@pytest.mark.parametrize("count", [1, 2, 3, 8, 100, 6400])
def test_independent_maximum_against_fifty_digits(count: int) -> None:
    with mpmath.workdps(30):
        exact = mpmath.quad(
            lambda x: 1 - mpmath.erf(x / mpmath.sqrt(2)) ** count,
            [0, 1, 2, 3, 4, 5, 6, 8, 12, 20],
        )
    value, bound = a.independent_maximum(count)
    assert abs(value - float(exact)) <= bound < 1e-10


def test_one_and_two_in_closed_form() -> None:
    assert a.independent_maximum(1)[0] == pytest.approx(math.sqrt(2 / math.pi))
    assert a.independent_maximum(2)[0] == pytest.approx(2 / math.sqrt(math.pi))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10), st.integers(1, 10**6))
def test_every_bound_is_above_the_value_for_independent_errors(n, pairs) -> None:
    size = {"sigma": 1.0, "n_agents": n, "pairs": pairs}
    least = a.sidak_bound(**size) * (1 - 1e-12)
    assert a.accuracy_bound(**size) >= least
    assert a.log_bound(**size) >= least


def test_samples_have_the_law_of_the_full_table() -> None:
    # Same law by two routes: without the table, and through J; and means that
    # differ by less than 4.9 standard errors (by chance once in a million).
    actions, n, sigma, samples = [2, 3], 4, 1.5, 20_000
    fast = a.sampled_maxima(
        actions, n_states=n, sigma=sigma, samples=samples, rng=stream(1, "fast")
    )
    draw = standard_draw(n, actions, samples=samples, rng=stream(1, "slow"))
    noise = joint_noise(input_noise(actions, sigma=sigma), draw)
    slow = np.abs(noise).max(axis=(1, 2))
    error = math.sqrt((fast.var() + slow.var()) / samples)
    assert abs(fast.mean() - slow.mean()) < 4.9 * error
    assert abs(fast.mean() - 1.1 * slow.mean()) > 4.9 * error  # it can tell


def test_the_largest_of_a_sum_of_effects_is_the_sum_of_the_largest() -> None:
    tables = [stream(1, "table", m).normal(size=(5, m)) for m in (2, 3, 4)]
    joint = joint_reward(tables)
    top = np.mean([t.max(axis=1) for t in tables], axis=0)
    bottom = np.mean([t.min(axis=1) for t in tables], axis=0)
    assert joint.max(axis=1) == pytest.approx(top)
    assert joint.min(axis=1) == pytest.approx(bottom)


@settings(max_examples=60)
@given(
    st.floats(0.01, 20), st.floats(1e-9, 0.49), st.floats(0.1, 5), st.integers(1, 9999)
)
def test_corollary_1_is_the_inverse_of_theorem_3(epsilon, delta, b, pairs) -> None:
    factor = a.accuracy_factor(n_agents=2, pairs=pairs)
    sigma = kappa_sigma(sensitivity=b, epsilon=epsilon, delta=delta)
    back = a.epsilon_for_accuracy(
        accuracy=factor * sigma, factor=factor, b=b, delta=delta
    )
    assert back == pytest.approx(epsilon, rel=1e-9)


def test_the_numbers_of_figure_2() -> None:
    sigma = kappa_sigma(sensitivity=1.0, epsilon=1.0, delta=0.01)
    size = {"sigma": sigma, "n_agents": 1, "pairs": 8}
    assert a.accuracy_bound(**size) == pytest.approx(6.040, abs=5e-4)
    assert a.sidak_bound(**size) == pytest.approx(4.502, abs=5e-4)


def test_value_loss_holds_for_a_one_state_problem() -> None:
    # Two actions, rewards 0 and -1e-9 with errors of 0.5: the wrong one is taken.
    loss = 1.0 / (1 - 0.9)  # of an action that is worse by just below 1
    assert a.value_loss_bound(0.5, discount=0.9) == pytest.approx(loss)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: a.accuracy_factor(n_agents=0, pairs=1), "'n_agents'"),
        (lambda: a.accuracy_factor(n_agents=1, pairs=1.5), "'pairs'"),
        (lambda: a.accuracy_bound(sigma=-1, n_agents=1, pairs=1), "'sigma'"),
        (lambda: a.independent_maximum(0), "'count'"),
        (
            lambda: a.epsilon_for_accuracy(accuracy=1, factor=1, b=1, delta=0.5),
            "strictly between 0 and 1/2",
        ),
        (
            lambda: a.epsilon_for_accuracy(
                accuracy=1e-60, factor=1e60, b=1e60, delta=0.1
            ),
            "'accuracy' parameter of epsilon_for_accuracy",
        ),
        (
            lambda: a.sampled_maxima(
                [2], n_states=10**10, sigma=1.0, samples=1, rng=stream(1)
            ),
            "'n_states' parameter of sampled_maxima",
        ),
        (lambda: a.value_loss_bound([-1.0], discount=0.9), "'max_error'.* >= 0"),
        (lambda: a.value_loss_bound(["a"], discount=0.9), "'max_error'.* real numbers"),
        (lambda: a.value_loss_bound(1.0, discount=1.0), "'discount'"),
        (
            lambda: a.sampled_maxima([2], n_states=1, sigma=1.0, samples=1, rng=1),
            "Generator",
        ),
    ],
)
def test_bad_arguments(call, words) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        call()
