"""Constants in the 1-norm: exact values, brute force, and the printed table."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_teams import PROBLEM, STARS, flat, random_problem

from dplib.truthful.constants import (
    constraint_lipschitz,
    diameter,
    influence,
    multiplier_radius,
    objective_lipschitz,
)
from dplib.truthful.problem import (
    Problem,
    agent,
    agent_objectives,
    constraints,
    jacobian,
)


def corners(problem):
    ends = zip(problem.lower, problem.upper, strict=True)
    return np.array(list(product(*ends)))


def largest_column(problem, points):
    """Largest 1-norm of a column of the Jacobian, agent by agent."""
    norms = np.abs(jacobian(problem, points)).sum(axis=1).max(axis=0)
    return np.array([norms[agent(problem, i)].max() for i in range(problem.n_agents)])


def test_values_of_the_instance():
    np.testing.assert_array_equal(
        objective_lipschitz(PROBLEM), [16, 12, 17, 19, 17, 20, 20, 16]
    )
    np.testing.assert_array_equal(diameter(PROBLEM), np.full(8, 40))
    K = constraint_lipschitz(PROBLEM)
    np.testing.assert_array_equal(K, [80, 40, 80, 80, 120, 80, 120, 40])
    expected = np.diag([4.0, 2, 4, 4, 6, 4, 6, 2])
    for pairs, _ in STARS:
        for i, k in pairs:
            expected[i - 1, k - 1] = expected[k - 1, i - 1] = 2.0
    np.testing.assert_array_equal(influence(PROBLEM), expected)


def test_a_linear_constraint_counts():
    # Its Q is zero: it touches a coordinate by its linear term alone.
    np.testing.assert_array_equal(constraint_lipschitz(flat([3, -2], -9)), [3, 2])


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_exact_constants_equal_brute_force(seed):
    problem = random_problem(seed)
    points = corners(problem)
    exact = constraint_lipschitz(problem)
    np.testing.assert_allclose(largest_column(problem, points), exact, rtol=1e-12)
    slopes = np.abs(
        np.repeat(problem.weights, problem.dims) * (points - problem.targets)
    ).max(axis=0)
    K = [slopes[agent(problem, i)].max() for i in range(3)]
    np.testing.assert_allclose(objective_lipschitz(problem), K, rtol=1e-14)


@given(st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_sampled_ratios_never_exceed_the_constants(seed):
    rng = np.random.default_rng(seed)
    problem = PROBLEM if seed % 2 else random_problem(seed)
    x = rng.uniform(problem.lower, problem.upper)
    i = int(rng.integers(problem.n_agents))
    own, y = agent(problem, i), x.copy()
    y[own] = rng.uniform(problem.lower[own], problem.upper[own])
    moved = np.abs(x - y).sum() * (1 + 1e-9)
    change = np.abs(constraints(problem, x) - constraints(problem, y)).sum()
    assert change <= constraint_lipschitz(problem)[i] * moved
    costs = np.abs(agent_objectives(problem, x) - agent_objectives(problem, y)).sum()
    assert costs <= objective_lipschitz(problem)[i] * moved
    assert moved <= diameter(problem)[i] * (1 + 1e-8)
    entries = np.abs(jacobian(problem, x) - jacobian(problem, y)).sum(axis=0)
    for k in range(problem.n_agents):
        total = entries[agent(problem, k)].sum()
        assert total <= influence(problem)[k, i] * moved


def test_steps_along_an_axis_attain_the_influence():
    problem = random_problem(7)
    attained = np.zeros((3, 3))
    for i in range(3):
        for axis in np.eye(6)[agent(problem, i)]:
            entries = np.abs(jacobian(problem, axis) - jacobian(problem, 0 * axis))
            for k in range(3):
                total = entries[:, agent(problem, k)].sum()
                attained[k, i] = max(attained[k, i], total)
    np.testing.assert_allclose(influence(problem), attained, rtol=1e-12)


def test_constants_taken_in_other_norms_would_be_caught():
    """Norm slips that are smaller than the true constant."""
    # 2-norm of a column of the entries of g_{x_i}:
    euclidean = np.sqrt(np.array([np.sum(Q**2, axis=0) for Q in PROBLEM.Q]).sum(axis=0))
    assert euclidean.max() < influence(PROBLEM).max()
    # largest entry of the Jacobian instead of the largest column sum:
    entry = np.abs(jacobian(PROBLEM, corners(PROBLEM))).max()
    assert entry == 80.0 < constraint_lipschitz(PROBLEM).max()


def test_lemma_1_radius():
    origin = np.zeros(16)
    assert multiplier_radius(PROBLEM, origin) == 416.5 / 3
    consensus = np.tile([2.25, -2.125], 8)
    assert multiplier_radius(PROBLEM, consensus) == pytest.approx(126.0625, abs=1e-12)
    # A target outside of its box: f_lower is 4, not 0.
    outside = Problem((1,), [-1.0], [1.0], [3.0], [[[2.0]]], [[0.0]], [-0.5], [2.0])
    assert multiplier_radius(outside, [0.0]) == (9.0 - 4.0) / 0.5
    with pytest.raises(ValueError, match=r"'slater' .*every constraint below zero"):
        multiplier_radius(PROBLEM, PROBLEM.targets)


def test_where_many_constraints_touch_a_coordinate_the_value_is_a_bound():
    # |x + 1| + |x - 1| + ... : the terms are largest at different ends.
    for m, value in ((16, 16.0), (18, 36.0)):
        Q, a = np.ones((m, 1, 1)), np.array([[1.0], [-1.0]] * (m // 2))
        problem = Problem((1,), [-1.0], [1.0], [0.0], Q, a, -np.ones(m))
        assert constraint_lipschitz(problem)[0] == value
