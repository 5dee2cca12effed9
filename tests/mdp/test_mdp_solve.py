import itertools
import math

import numpy as np
import pytest
import quantecon
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.mdp.batch import evaluate_many, solve_many
from dplib.mdp.evaluate import evaluate
from dplib.mdp.factored import FactoredMDP, dense
from dplib.mdp.gridworld import SLIP_LAWS, gridworld
from dplib.mdp.model import MDP, backup
from dplib.mdp.policy_iteration import policy_iteration
from dplib.mdp.solve import solve, value_iteration


def random_mdp(rng, n, m, discount):
    law = rng.random((n, m, n)) * (rng.random((n, m, n)) < 0.5)
    law[..., 0] += 1e-2
    return MDP(law / law.sum(axis=2, keepdims=True), discount)


def team(discount=0.99, law="other action", n_agents=2, size=4):
    own = gridworld(size, size, slip=0.1, law=law)
    return FactoredMDP((own,) * n_agents, discount)


def corner_rewards(model, r_max=5.0):
    r = np.full((model.n_states, model.n_actions), -1.0)
    for s, a in ((0, i) for i in range(model.n_actions)):
        stays = sum(k == 4 for k in np.unravel_index(a, model.actions))
        r[s, a] += (r_max + 1) * stays / model.n_agents
    return r


def brute_force(model, r):
    """Best values over all deterministic policies; one policy is best everywhere."""
    best = np.full(model.n_states, -np.inf)
    for choice in itertools.product(range(model.n_actions), repeat=model.n_states):
        actions = np.array(choice)
        rows = np.arange(model.n_states)
        system = (
            np.eye(model.n_states)
            - model.discount * dense(model).transitions[rows, actions]
        )
        best = np.maximum(best, np.linalg.solve(system, r[rows, actions]))
    return best


METHODS = {
    "span": lambda *a, **k: solve(*a, sweeps=0, **k),
    "sup": lambda *a, **k: solve(*a, stopping="sup", sweeps=0, **k),
    "modified": lambda *a, **k: solve(*a, **k),
    "modified sup": lambda *a, **k: solve(*a, stopping="sup", sweeps=3, **k),
}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_all_methods_are_brute_force(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    model = random_mdp(rng, n, m, float(rng.uniform(0.05, 0.99)))
    r = rng.standard_normal((n, m)) * 10 ** rng.uniform(-2, 3)
    want = brute_force(model, r)
    tolerance = 1e-6 * max(1.0, np.abs(r).max())
    for method in METHODS.values():
        found = method(model, r, tolerance=tolerance)
        error = np.abs(found.values - want).max()
        assert error <= found.bound <= tolerance
        loss = (want - evaluate(model, r, found.policy)).max()
        assert loss <= 2 * found.bound
    exact = policy_iteration(model, r)
    assert np.abs(exact.values - want).max() <= exact.bound + 1e-12 * np.abs(want).max()


def test_team_by_brute_force():
    rng = np.random.default_rng(2)
    laws = tuple(
        random_mdp(rng, n, m, 0.9).transitions for n, m in ((2, 2), (2, 1), (1, 2))
    )
    model = FactoredMDP(laws, 0.9)
    r = rng.standard_normal((4, 4))
    want = brute_force(model, r)
    for method in METHODS.values():
        found = method(model, r, tolerance=1e-9)
        assert np.abs(found.values - want).max() <= found.bound


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99, 0.999])
def test_two_states_in_closed_form(discount):
    # Puterman's smallest example, Section 3.1: from state 0 one action pays 5 and
    # stays or moves with equal chances, the other pays 10 and moves; state 1 pays -1
    # and keeps. The values solve two linear equations.
    model = MDP([[[0.5, 0.5], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], discount)
    r = [[5.0, 10.0], [-1.0, -1.0]]
    rest = -1 / (1 - discount)
    first = (5 + 0.5 * discount * rest) / (1 - 0.5 * discount)
    want = [max(first, 10 + discount * rest), rest]
    tolerance = 1e-9 / (1 - discount) ** 2
    for name, method in METHODS.items():
        found = method(model, r, tolerance=tolerance)
        assert np.abs(found.values - want).max() <= found.bound, name
        assert found.policy[0] == (0 if first > want[0] - 1e-9 else 1)
    exact = policy_iteration(model, r)
    np.testing.assert_allclose(exact.values, want, rtol=1e-12)


@pytest.mark.parametrize("discount", [0.99, 0.999])
@pytest.mark.parametrize("law", ["other action", "any cell"])
def test_bounds_hold_on_the_grid(discount, law):
    model = team(discount, law)
    rng = np.random.default_rng(6)
    r = corner_rewards(model) + rng.standard_normal((256, 25))
    exact = policy_iteration(model, r)
    tolerance = 1e-3
    for name, method in METHODS.items():
        found = method(model, r, tolerance=tolerance)
        error = np.abs(found.values - exact.values).max()
        assert error <= found.bound + exact.bound, name
        assert found.bound <= tolerance
        if name in ("span", "sup"):  # and the bound is not much larger than the error
            assert found.bound < 50 * error + 1e-7


def test_a_residual_stop_is_not_a_bound():
    # What many programs do: the change is below the tolerance, the error is not.
    model = team()
    r = corner_rewards(model)
    exact = policy_iteration(model, r)
    found = value_iteration(model, r, tolerance=1e-3, stopping="residual")
    error = np.abs(found.values - exact.values).max()
    assert found.residual <= 1e-3 < error <= found.bound


def test_span_without_the_shift_is_wrong_by_hundreds():
    # The known defect of a library that stops on the span and returns T v.
    model = team()
    r = corner_rewards(model)
    exact = policy_iteration(model, r)
    found = value_iteration(model, r, tolerance=1e-7)
    v = np.zeros(256)
    for _ in range(found.iterations):
        v = backup(model, r, v).max(axis=1)
    assert np.abs(v - exact.values).max() > 100
    assert np.abs(found.values - exact.values).max() < 1e-7


@pytest.mark.parametrize("method", ["policy_iteration", "solve"])
def test_quantecon_agrees(method):
    rng = np.random.default_rng(9)
    for n, m, discount in ((7, 3, 0.9), (20, 4, 0.99), (5, 2, 0.999)):
        model = random_mdp(rng, n, m, discount)
        r = rng.standard_normal((n, m))
        oracle = quantecon.markov.DiscreteDP(r, np.array(model.transitions), discount)
        theirs = oracle.solve(method="policy_iteration")
        if method == "policy_iteration":
            ours = policy_iteration(model, r)
        else:
            ours = solve(model, r, tolerance=1e-7)
        np.testing.assert_allclose(ours.values, theirs.v, atol=1e-7)
        assert np.array_equal(ours.policy, theirs.sigma)


def test_dense_and_factored_agree():
    model = team(size=2)
    rng = np.random.default_rng(11)
    r = rng.standard_normal((16, 25))
    for method in (*METHODS.values(),):
        one, two = (method(x, r, tolerance=1e-9) for x in (model, dense(model)))
        np.testing.assert_allclose(one.values, two.values, atol=1e-11)
        assert np.array_equal(one.policy, two.policy)
        # Not exactly: the rounding that must be allowed for differs.
        assert abs(one.iterations - two.iterations) <= 0.01 * one.iterations + 1
    one, two = policy_iteration(model, r), policy_iteration(dense(model), r)
    np.testing.assert_allclose(one.values, two.values, atol=1e-10)


# Backups that a sup-norm stop at 1e-7 needs from zero on the grid; counted by an
# independent program for the reproduction of the printed 1761.
COUNTS = {
    "other action": 1752,
    "any action": 1755,
    "sure stay": 1765,
    "put": 1765,
    "sideways": 1765,
    "reachable": 1738,
    "neighbour": 1737,
    "any cell": 1681,
}


@pytest.mark.parametrize("law", SLIP_LAWS)
def test_counts_of_an_independent_program(law):
    model = team(law=law)
    found = value_iteration(
        model, corner_rewards(model), tolerance=1e-7, stopping="residual"
    )
    assert found.iterations == COUNTS[law]


def test_optimal_values_of_an_independent_program():
    model = team()
    for r_max, want in ((5.0, 397.857), (50.0, 4131.781)):
        found = policy_iteration(model, corner_rewards(model, r_max))
        assert abs(found.values[-1] - want) < 5e-4


def test_starts_change_the_work_and_not_the_answer():
    model = team()
    r = corner_rewards(model)
    cold = solve(model, r, tolerance=1e-6)
    warm = solve(model, r, tolerance=1e-6, start=cold.values)
    assert warm.iterations == 1 < cold.iterations
    np.testing.assert_allclose(warm.values, cold.values, atol=2e-6)
    exact = policy_iteration(model, r)
    again = policy_iteration(model, r, start=exact.policy)
    assert again.iterations == 1
    np.testing.assert_array_equal(again.values, exact.values)


def test_the_bound_of_policy_iteration_holds_for_evaluations_that_are_off(monkeypatch):
    model = MDP(np.ones((1, 1, 1)), 0.75)  # the value is 1 / (1 - 3/4)
    place = "dplib.mdp.policy_iteration.evaluate"
    monkeypatch.setattr(place, lambda *_: np.array([4.001]))
    found = policy_iteration(model, np.ones((1, 1)))
    assert found.bound >= found.values[0] - 4.0


def test_policy_iteration_does_not_alternate_between_equal_actions():
    # Every action is optimal; rounding must not be taken for a gain.
    model = team(0.999, size=3)
    found = policy_iteration(model, np.full((81, 25), math.pi))
    assert found.iterations == 1
    np.testing.assert_allclose(found.values, math.pi / 0.001, rtol=1e-10)


def test_not_converged_raises():
    model, r = team(), np.zeros((256, 25))
    r[0, 0] = 1.0
    for method in METHODS.values():
        with pytest.raises(RuntimeError, match="did not converge: after 2 backups"):
            method(model, r, tolerance=1e-9, max_iterations=2)
    with pytest.raises(RuntimeError, match="actions still change after 1 policies"):
        policy_iteration(model, corner_rewards(model), max_iterations=1)
    with pytest.raises(RuntimeError, match="the error of sample 1 may still be"):
        solve_many(
            model,
            np.stack([np.zeros((256, 25)), r]),
            tolerance=1e-9,
            max_iterations=2,
        )


def test_sparse_and_dense_evaluation_agree(monkeypatch):
    model = team()
    rng = np.random.default_rng(14)
    r, policy = rng.standard_normal((256, 25)), rng.integers(25, size=256)
    one = evaluate(model, r, policy)
    monkeypatch.setattr("dplib.mdp.evaluate.DENSE", 10)
    np.testing.assert_allclose(evaluate(model, r, policy), one, atol=1e-10)


def test_samples_of_a_batch_do_not_know_of_each_other():
    model = team(0.9, size=2)
    rng = np.random.default_rng(13)
    r = rng.standard_normal((6, 16, 25))
    options = {"tolerance": 1e-6, "sweeps": 7, "start": rng.standard_normal(16)}
    many = solve_many(model, r, **options)
    for k in range(6):
        one = solve(model, r[k], **options)
        np.testing.assert_array_equal(many.values[k], one.values)
        np.testing.assert_array_equal(many.policies[k], one.policy)
        assert many.iterations[k] == one.iterations
    policies = many.policies[[0, 1, 0, 2]]
    found = evaluate_many(model, r[0], policies)
    for values, policy in zip(found, policies, strict=True):
        np.testing.assert_array_equal(values, evaluate(model, r[0], policy))
