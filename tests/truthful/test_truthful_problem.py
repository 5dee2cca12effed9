"""Problem 0: values against the paper's own formulas, derivatives, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_teams import PROBLEM, STARS, TABLE_I, random_problem

from dplib.truthful.problem import (
    Problem,
    agent,
    agent_objectives,
    constraints,
    is_slater_point,
    jacobian,
    lagrangian_gradient,
    lagrangian_hessian,
    objective,
    objective_gradient,
)


def differences(function, x, h=1e-5):
    """Central differences, exact for quadratics up to rounding."""
    eye = np.eye(x.size)
    return np.array(
        [(function(x + h * e) - function(x - h * e)) / (2 * h) for e in eye]
    )


@given(st.lists(st.floats(-10, 10), min_size=16, max_size=16))
@settings(max_examples=50, deadline=None)
def test_instance_is_that_of_section_vi(values):
    x, states = np.array(values), np.reshape(values, (8, 2))
    g = [
        sum(np.sum((states[i - 1] - states[k - 1]) ** 2) for i, k in pairs) - limit
        for pairs, limit in STARS
    ]
    np.testing.assert_allclose(constraints(PROBLEM, x), g, rtol=0, atol=1e-11)
    costs = 0.5 * np.linalg.norm(states - TABLE_I, axis=1) ** 2
    np.testing.assert_allclose(agent_objectives(PROBLEM, x), costs, rtol=0, atol=1e-11)
    assert objective(PROBLEM, x) == pytest.approx(costs.sum(), abs=1e-10)


def test_derivatives_against_differences():
    rng = np.random.default_rng(1)
    problem = random_problem(rng)
    x, mu = rng.normal(size=6), rng.uniform(size=3)

    def lagrangian(y):
        return objective(problem, y) + constraints(problem, y) @ mu

    slopes = differences(lambda y: constraints(problem, y), x).T
    for ours, exact in (
        (
            objective_gradient(problem, x),
            differences(lambda y: objective(problem, y), x),
        ),
        (jacobian(problem, x), slopes),
        (lagrangian_gradient(problem, x, mu), differences(lagrangian, x)),
        (
            lagrangian_hessian(problem, mu),
            differences(lambda y: lagrangian_gradient(problem, y, mu), x),
        ),
    ):
        np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-8)
    # A Jacobian without its linear term would be caught.
    assert np.abs(problem.Q @ x - slopes).max() > 0.1


def test_runs_are_evaluated_at_once():
    rng = np.random.default_rng(3)
    problem, x, mu = random_problem(rng), rng.normal(size=(4, 5, 6)), np.ones(3)
    for function in (agent_objectives, objective, constraints, jacobian):
        one_by_one = [[function(problem, x[i, j]) for j in range(5)] for i in range(4)]
        np.testing.assert_allclose(function(problem, x), one_by_one, atol=1e-12)
    one_by_one = [
        [lagrangian_gradient(problem, x[i, j], mu) for j in range(5)] for i in range(4)
    ]
    all_at_once = lagrangian_gradient(problem, x, mu)
    np.testing.assert_allclose(all_at_once, one_by_one, atol=1e-12)


def test_agents_of_any_dimension():
    problem = random_problem(4)
    slices = [agent(problem, i) for i in range(3)]
    assert slices == [slice(0, 1), slice(1, 4), slice(4, 6)]
    x = np.arange(6.0)
    costs = [
        0.5 * problem.weights[i] * np.sum((x[s] - problem.targets[s]) ** 2)
        for i, s in enumerate(slices)
    ]
    np.testing.assert_allclose(agent_objectives(problem, x), costs, rtol=1e-14)


def test_slater_point_needs_room_in_every_constraint():
    on_the_edge = np.zeros(16)
    on_the_edge[2:4] = 1.0, 2.0  # g_1 = 1 + 4 - 5
    assert constraints(PROBLEM, on_the_edge)[0] == 0.0
    assert not is_slater_point(PROBLEM, on_the_edge)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dims": ()}, "'dims' .* at least one agent"),
        ({"dims": (2, 0)}, "'dims' .* an integer >= 1"),
        ({"lower": [0, 0, 0]}, r"'lower' .* shape \(2,\)"),
        ({"upper": [1, -2]}, "'upper' .* 'lower' in coordinate 1, -1.0"),
        ({"targets": [np.nan, 0]}, "'targets' .* finite numbers"),
        ({"weights": [1, -1]}, "'weights' .* non-negative"),
        ({"c": []}, "'c' .* m >= 1 constraints"),
        ({"a": [[1, 2, 3]]}, r"'a' .* shape \(1, 2\)"),
        ({"Q": [[[2, 1], [0, 2]]]}, "'Q' .* symmetric in constraint 0"),
        (
            {"Q": [np.eye(2), [[1, 3], [3, 1]]], "a": np.zeros((2, 2)), "c": [0, 0]},
            "'Q' .* semidefinite in constraint 1 .*smallest eigenvalue -2",
        ),
    ],
)
def test_a_problem_that_is_none_is_refused_in_one_sentence(change, sentence):
    good = {
        "dims": (1, 1),
        "lower": [-1, -1],
        "upper": [1, 1],
        "targets": [0, 0],
        "Q": [np.eye(2)],
        "a": [[0, 0]],
        "c": [-1],
    }
    Problem(**good)
    with pytest.raises(ValueError, match=sentence):
        Problem(**(good | change))


def test_a_convex_constraint_is_not_refused_for_rounding():
    root = np.random.default_rng(5).normal(size=(1, 12))
    Q = (root.T @ root)[None]  # rank one: eleven eigenvalues are rounding
    Problem(
        (12,), -np.ones(12), np.ones(12), np.zeros(12), Q, np.zeros((1, 12)), [-1.0]
    )
