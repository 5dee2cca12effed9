"""The largest error of private rewards: bounds, and exact values."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards import accuracy
from dplib.rewards.accuracy import (
    accuracy_factor,
    epsilon_for_accuracy,
    independent_maximum,
    log_bound,
)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 100, 6400])
def test_independent_maximum_against_fifty_digits(count):
    with mpmath.workdps(30):
        exact = mpmath.quad(
            lambda x: 1 - mpmath.erf(x / mpmath.sqrt(2)) ** count,
            [0, 1, 2, 3, 4, 5, 6, 8, 12, 20],
        )
    value, bound = independent_maximum(count)
    assert abs(value - float(exact)) <= bound < 1e-10


def test_the_bound_holds_what_the_quadrature_could_not_do(monkeypatch):
    monkeypatch.setattr(accuracy.integrate, "quad", lambda *_, **__: (0.5, 1e-3))
    assert independent_maximum(8)[1] >= 3e-3


def test_one_and_two_in_closed_form():
    assert independent_maximum(1)[0] == pytest.approx(math.sqrt(2 / math.pi))
    assert independent_maximum(2)[0] == pytest.approx(2 / math.sqrt(math.pi))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10), st.integers(1, 10**6))
def test_every_bound_is_above_the_value_for_independent_errors(n, pairs):
    least = independent_maximum(pairs)[0] / math.sqrt(n) * (1 - 1e-12)
    assert accuracy_factor(n_agents=n, pairs=pairs) >= least
    assert log_bound(sigma=1.0, n_agents=n, pairs=pairs) >= least


@settings(max_examples=60)
@given(
    st.floats(0.01, 20), st.floats(1e-9, 0.49), st.floats(0.1, 5), st.integers(1, 9999)
)
def test_corollary_1_is_the_inverse_of_theorem_3(epsilon, delta, b, pairs):
    factor = accuracy_factor(n_agents=2, pairs=pairs)
    sigma = kappa_sigma(sensitivity=b, epsilon=epsilon, delta=delta)
    back = epsilon_for_accuracy(
        accuracy=factor * sigma, factor=factor, b=b, delta=delta
    )
    assert back == pytest.approx(epsilon, rel=1e-9)


def test_the_numbers_of_figure_2():
    sigma = kappa_sigma(sensitivity=1.0, epsilon=1.0, delta=0.01)
    bound = sigma * accuracy_factor(n_agents=1, pairs=8)
    assert bound == pytest.approx(6.040, abs=5e-4)
    assert sigma * independent_maximum(8)[0] == pytest.approx(4.502, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "junk"),
    [("accuracy", 0.0), ("factor", math.nan), ("b", -1.0), ("delta", 0.5)],
)
def test_privacy_is_checked(name, junk):
    good = {"accuracy": 1.0, "factor": 1.0, "b": 1.0, "delta": 0.1}
    with pytest.raises(ValueError, match=f"'{name}' parameter of epsilon_for"):
        epsilon_for_accuracy(**{**good, name: junk})
