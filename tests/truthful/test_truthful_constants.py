"""Constants in the 1-norm: exact values, brute force, and the printed table."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.truthful.constants import (
    constraint_lipschitz,
    diameter,
    influence,
    multiplier_radius,
    objective_lipschitz,
)
from dplib.truthful.paper import hale_egerstedt
from dplib.truthful.problem import (
    Problem,
    agent,
    agent_objectives,
    constraints,
    jacobian,
)

# Agents that share a term |x_i - x_k|^2, counted as in the paper.
EDGES = [(1, 2), (1, 3), (4, 5), (4, 6), (7, 8), (7, 6), (5, 3), (5, 7)]


def random_problem(seed, dims=(1, 3, 2), m=3):
    rng = np.random.default_rng(seed)
    n = sum(dims)
    roots = rng.normal(size=(m, 2, n))
    lower = rng.uniform(-3, 0, size=n)
    return Problem(
        dims,
        lower,
        lower + rng.uniform(0.5, 3, size=n),
        rng.normal(size=n),
        np.einsum("jka,jkb->jab", roots, roots),
        rng.normal(size=(m, n)),
        rng.normal(size=m),
        rng.uniform(0.1, 2, size=len(dims)),
    )


def corners(problem):
    ends = zip(problem.lower, problem.upper, strict=True)
    return np.array(list(product(*ends)))


def largest_column(problem, points):
    """Largest 1-norm of a column of the Jacobian, agent by agent."""
    norms = np.abs(jacobian(problem, points)).sum(axis=1).max(axis=0)
    return np.array([norms[agent(problem, i)].max() for i in range(problem.n_agents)])


def test_values_of_the_instance():
    problem = hale_egerstedt()
    np.testing.assert_array_equal(
        objective_lipschitz(problem), [16, 12, 17, 19, 17, 20, 20, 16]
    )
    np.testing.assert_array_equal(diameter(problem), np.full(8, 40))
    K = constraint_lipschitz(problem)
    np.testing.assert_array_equal(K, [80, 40, 80, 80, 120, 80, 120, 40])
    expected = np.diag([4.0, 2, 4, 4, 6, 4, 6, 2])
    for i, k in EDGES:
        expected[i - 1, k - 1] = expected[k - 1, i - 1] = 2.0
    np.testing.assert_array_equal(influence(problem), expected)


def test_a_linear_constraint_counts():
    # Its Q is zero: it touches a coordinate by its linear term alone.
    flat, ends = np.zeros((1, 2, 2)), np.ones(2)
    problem = Problem((1, 1), -ends, ends, 0 * ends, flat, [[3.0, -2.0]], [-9.0])
    np.testing.assert_array_equal(constraint_lipschitz(problem), [3, 2])


def test_vertices_attain_the_instance_constants():
    problem = hale_egerstedt()
    points = corners(problem)  # 2^16 of them
    np.testing.assert_array_equal(
        largest_column(problem, points), constraint_lipschitz(problem)
    )


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
    problem = hale_egerstedt() if seed % 2 else random_problem(seed)
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
    # Everybody moves:
    z = rng.uniform(problem.lower, problem.upper)
    moved = np.abs(x - z).sum() * (1 + 1e-9)
    change = np.abs(constraints(problem, x) - constraints(problem, z)).sum()
    assert change <= constraint_lipschitz(problem).max() * moved
    entries = np.abs(jacobian(problem, x) - jacobian(problem, z)).sum(axis=0)
    for k in range(problem.n_agents):
        total = entries[agent(problem, k)].sum()
        assert total <= influence(problem)[k].max() * moved


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
    problem = hale_egerstedt()
    # 2-norm of a column of the entries of g_{x_i}:
    euclidean = np.sqrt(np.array([np.sum(Q**2, axis=0) for Q in problem.Q]).sum(axis=0))
    assert euclidean.max() < influence(problem).max()
    # largest entry of the Jacobian instead of the largest column sum:
    entry = np.abs(jacobian(problem, corners(problem))).max()
    assert entry == 80.0 < constraint_lipschitz(problem).max()


def relabelled(problem, order):
    """The same problem with agents in another order."""
    take = np.concatenate(
        [np.arange(problem.n_states)[agent(problem, i)] for i in order]
    )
    return Problem(
        tuple(problem.dims[i] for i in order),
        problem.lower[take],
        problem.upper[take],
        problem.targets[take],
        problem.Q[:, take][:, :, take],
        problem.a[:, take],
        problem.c,
        problem.weights[list(order)],
    )


@given(st.permutations(range(8)))
@settings(max_examples=20, deadline=None)
def test_constants_do_not_depend_on_labels(order):
    problem = hale_egerstedt()
    other = relabelled(problem, order)
    for constant in (
        objective_lipschitz,
        diameter,
        constraint_lipschitz,
    ):
        np.testing.assert_array_equal(constant(other), constant(problem)[list(order)])
    np.testing.assert_array_equal(
        influence(other), influence(problem)[np.ix_(order, order)]
    )


def test_lemma_1_radius():
    problem = hale_egerstedt()
    origin = np.zeros(16)
    assert multiplier_radius(problem, origin) == 416.5 / 3
    consensus = np.tile([2.25, -2.125], 8)
    assert multiplier_radius(problem, consensus) == pytest.approx(126.0625, abs=1e-12)
    # A target outside of its box: f_lower is 4, not 0.
    outside = Problem((1,), [-1.0], [1.0], [3.0], [[[2.0]]], [[0.0]], [-0.5], [2.0])
    assert multiplier_radius(outside, [0.0]) == (9.0 - 4.0) / 0.5
    with pytest.raises(ValueError, match=r"'slater' .*every constraint below zero"):
        multiplier_radius(problem, problem.targets)


def test_where_many_constraints_touch_a_coordinate_the_value_is_a_bound():
    # |x + 1| + |x - 1| + ... : the terms are largest at different ends.
    for m, value in ((16, 16.0), (18, 36.0)):
        Q, a = np.ones((m, 1, 1)), np.array([[1.0], [-1.0]] * (m // 2))
        problem = Problem((1,), [-1.0], [1.0], [0.0], Q, a, -np.ones(m))
        assert constraint_lipschitz(problem)[0] == value
