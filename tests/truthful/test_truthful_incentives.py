"""Section V's bounds: exact values, brute force, and slips that must be noticed."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.truthful.constants import objective_lipschitz
from dplib.truthful.incentives import (
    READINGS,
    beta,
    lemma7_bounds,
    lemma8_bounds,
    linear_step_limit,
    objective_range,
)
from dplib.truthful.paper import hale_egerstedt
from dplib.truthful.problem import (
    Problem,
    agent_objectives,
    pairwise_constraint,
)

LN3 = float(np.log(3.0))
ORIGIN = np.zeros(16)
MEAN = np.tile([2.25, -2.125], 8)


@st.composite
def problems(draw):
    """Two agents in boxes that overlap, so that a consensus is a Slater point."""
    number = st.floats(-20, 20, allow_nan=False)
    side = st.floats(0, 10, allow_nan=False)
    lower = np.array([-draw(side) for _ in range(4)])
    upper = np.array([draw(side) for _ in range(4)])
    targets = [draw(number) for _ in range(4)]
    weights = [draw(st.floats(0, 3)) for _ in range(2)]
    Q, a, c = pairwise_constraint((2, 2), [(0, 1)], limit=1.0)
    return Problem((2, 2), lower, upper, targets, [Q], [a], [c], weights)


def test_published_constants():
    problem = hale_egerstedt()
    lam = [666, 484, 729, 832.5, 709, 900, 900, 676]
    np.testing.assert_array_equal(lemma7_bounds(problem, ORIGIN), lam)
    rho = [640, 480, 680, 760, 680, 800, 800, 640]
    np.testing.assert_array_equal(lemma8_bounds(problem, ORIGIN), rho)


@pytest.mark.parametrize(
    ("reading", "slater", "value"),
    [
        ("printed", ORIGIN, 2588.7511),
        ("proof", ORIGIN, 3577.5021),
        ("braced", ORIGIN, 3577.5021),
        ("printed", MEAN, 2592.6391),
        ("proof", MEAN, 3585.2782),
        ("braced", MEAN, 3590.7713),
    ],
)
def test_beta_in_every_reading(reading, slater, value):
    found = beta(hale_egerstedt(), slater, epsilon=LN3, reading=reading)[5]
    assert found == pytest.approx(value, abs=5e-5)


def test_braces_cover_the_proof_and_print_does_not():
    problem = hale_egerstedt()
    proof, printed, braced = (
        beta(problem, MEAN, epsilon=LN3, reading=reading)
        for reading in ("proof", "printed", "braced")
    )
    assert np.all(braced >= proof)
    assert np.any(printed < proof)


@given(problems(), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_range_lemmas_and_beta_at_random_points(problem, seed):
    random = np.random.default_rng(seed)
    points = random.uniform(problem.lower, problem.upper, size=(50, 4))
    ends = np.where(random.integers(0, 2, (50, 4)), problem.lower, problem.upper)
    costs = agent_objectives(problem, np.concatenate((points, ends)))
    low, high = objective_range(problem)
    slack = 1e-9 * (1.0 + high)
    assert np.all(costs >= low - slack)
    assert np.all(costs <= high + slack)
    slater = np.zeros(4)
    assert np.all(high <= lemma7_bounds(problem, slater) + slack)
    assert np.all(high - low <= lemma8_bounds(problem, slater) + slack)
    for reading in READINGS:
        bound = beta(problem, slater, epsilon=0.5, reading=reading)
        assert np.all(high - low <= bound + slack)


def test_range_is_attained():
    problem = hale_egerstedt()
    corners = np.array([[a, b] for a in (-10, 10) for b in (-10, 10)], dtype=float)
    low, high = objective_range(problem)
    costs = agent_objectives(problem, np.tile(corners, 8))
    np.testing.assert_array_equal(costs.max(axis=0), high)
    np.testing.assert_array_equal(low, 0.0)


def test_a_two_norm_in_lemma_7_would_be_noticed():
    """The paper's proof bounds a 2-norm by K_i; with 2-norms throughout it fails."""
    problem = hale_egerstedt()
    K = objective_lipschitz(problem)
    mutant = agent_objectives(problem, ORIGIN) + K * np.sqrt(2 * 20.0**2)
    start = np.tile([-10.0, 10.0], 8)
    assert np.all(mutant >= agent_objectives(problem, ORIGIN))
    # K_i of agent 6 is 20; the 2-norm of its gradient reaches more.
    far = np.linalg.norm([-10.0 - 10.0, -10.0 - 10.0])
    assert far > K[5] * 1.4
    # From the corner next to the target the 2-norm bound misses the far corner.
    one = Problem((2,), [-1, -1], [1, 1], [1, 1], [np.zeros((2, 2))], [[0, 0]], [-1])
    at_target, diameter = np.array([0.9, 0.9]), np.sqrt(8)
    value = agent_objectives(one, at_target)[0] + 1.0 * diameter
    assert value < objective_range(one)[1][0]  # K_i halved: caught
    assert lemma7_bounds(one, at_target)[0] >= objective_range(one)[1][0]
    assert start.shape == (16,)


def test_half_a_diameter_would_be_noticed():
    problem = Problem((1,), [0], [1], [-100], [np.zeros((1, 1))], [[0]], [-1])
    low, high = objective_range(problem)
    assert high[0] - low[0] > 0.5 * lemma8_bounds(problem, [0.0])[0]


def test_lemma_8_needs_costs_that_are_not_too_negative():
    """f(x) = x - 1000 on [0, 1]: the second term of the minimum is negative."""
    lam = Fraction(0 - 1000) + 1 * 1
    rho = min(Fraction(1), 2 * lam)
    assert Fraction(1) - Fraction(0) > rho


def test_linear_step_limit_is_lamberts():
    exact = (
        -mpmath.lambertw(-mpmath.exp(-mpmath.mpf(1) / 2) / 2, -1) - mpmath.mpf(1) / 2
    )
    assert linear_step_limit() == pytest.approx(float(exact), abs=1e-15)
    assert np.expm1(LN3) <= 2 * LN3  # beyond the paper's interval, and still true
    assert np.expm1(1.26) > 2 * 1.26


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0.0}, "'epsilon' parameter of beta must be a positive"),
        ({"reading": "other"}, "'reading' parameter of beta must be one of"),
        ({"slater": np.full(16, 11.0)}, "'slater' parameter of beta must be in"),
        ({"slater": np.zeros(3)}, "'slater' parameter of beta must be an array"),
    ],
)
def test_bad_arguments(change, message):
    given = {"slater": ORIGIN, "epsilon": 1.0} | change
    with pytest.raises(ValueError, match=message):
        beta(hale_egerstedt(), given.pop("slater"), **given)
