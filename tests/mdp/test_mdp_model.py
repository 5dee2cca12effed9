import numpy as np
import pytest

from dplib.mdp.factored import (
    FactoredMDP,
    backup_operations,
    dense,
)
from dplib.mdp.gridworld import gridworld
from dplib.mdp.kernel import improve, policy_rows
from dplib.mdp.model import MDP, backup


def random_law(rng, n, m, sparse=False):
    law = rng.random((n, m, n)) + 1e-3
    if sparse:
        law *= rng.random((n, m, n)) < 0.4
        law[..., 0] += 1e-3
    return law / law.sum(axis=2, keepdims=True)


def random_team(rng, sizes, discount=0.9, sparse=True):
    laws = tuple(random_law(rng, n, m, sparse) for n, m in sizes)
    return FactoredMDP(laws, discount)


def by_hand(model, rewards, values):
    """One backup, by enumerating joint states, actions and successors."""
    result = np.array(rewards, dtype=float)
    n = [law.shape[0] for law in model.factors]
    m = [law.shape[1] for law in model.factors]
    for s, local in enumerate(np.ndindex(*n)):
        for a, acts in enumerate(np.ndindex(*m)):
            for t, after in enumerate(np.ndindex(*n)):
                p = 1.0
                for i, law in enumerate(model.factors):
                    p *= law[local[i], acts[i], after[i]]
                result[s, a] += model.discount * p * values[t]
    return result


TEAMS = [
    [(3, 2)],
    [(2, 3), (3, 2)],
    [(2, 2), (1, 3), (3, 1)],
    [(2, 2), (3, 1), (2, 3), (2, 2)],
]


@pytest.mark.parametrize("sizes", TEAMS)
def test_backup_is_the_enumerated_sum(sizes):
    rng = np.random.default_rng(3)
    team = random_team(rng, sizes)
    r = rng.standard_normal((team.n_states, team.n_actions))
    v = rng.standard_normal(team.n_states)
    want = by_hand(team, r, v)
    np.testing.assert_allclose(backup(team, r, v), want, atol=1e-13)
    np.testing.assert_allclose(backup(dense(team), r, v), want, atol=1e-13)


def compiled(model, r, v):
    """Return the best values and actions of the compiled backup."""
    n, m = r.shape
    best, policy = np.empty(n), np.empty(n, dtype=np.int64)
    scratch = np.empty((2, n * m // model.factors[0].shape[1]))
    improve(model.rows, r.T.copy(), model.discount, v, scratch, best, policy)
    return best, policy


@pytest.mark.parametrize("sizes", TEAMS)
def test_compiled_backup_is_the_numpy_one(sizes):
    rng = np.random.default_rng(4)
    team = random_team(rng, sizes)
    n, m = team.n_states, team.n_actions
    r, v = rng.standard_normal((n, m)), rng.standard_normal(n)
    want = backup(team, r, v)
    for model in (team, dense(team)):
        best, policy = compiled(model, r, v)
        np.testing.assert_allclose(best, want.max(axis=1), atol=1e-13)
        assert np.array_equal(policy, want.argmax(axis=1))


def test_compiled_backup_in_groups_of_actions():
    # More than 1024 joint states of agents 1..: the fused step works in groups.
    own = gridworld(6, 6, slip=0.1, law="other action")
    team = FactoredMDP((gridworld(2, 1, slip=0.0, law="put"), own, own), 0.9)
    rng = np.random.default_rng(0)
    n, m = team.n_states, team.n_actions
    r, v = rng.standard_normal((n, m)), rng.standard_normal(n)
    best, policy = compiled(team, r, v)
    want = backup(team, r, v)
    np.testing.assert_allclose(best, want.max(axis=1), atol=1e-13)
    assert np.array_equal(policy, want.argmax(axis=1))


def test_first_of_equal_actions_is_taken():
    model = MDP([[[1.0]] * 3], 0.5)
    assert compiled(model, np.array([[1.0, 2.0, 2.0]]), np.zeros(1))[1] == 1


@pytest.mark.parametrize("sizes", TEAMS)
def test_policy_rows_are_rows_of_the_joint_transitions(sizes):
    rng = np.random.default_rng(5)
    team = random_team(rng, sizes)
    policy = rng.integers(team.n_actions, size=team.n_states)
    first, column, value = policy_rows(team.rows, policy)
    law = dense(team).transitions
    for s in range(team.n_states):
        row = np.zeros(team.n_states)
        np.add.at(row, column[first[s] : first[s + 1]], value[first[s] : first[s + 1]])
        np.testing.assert_allclose(row, law[s, policy[s]], atol=1e-15)


def test_agent_zero_is_the_slowest_index():
    swap, stay = [[[0.0, 1.0]], [[1.0, 0.0]]], [[[1.0, 0.0]], [[0.0, 1.0]]]
    law = dense(FactoredMDP([swap, stay], 0.9)).transitions
    # (0, 0) -> (1, 0), which is number 2; the other order would give number 1.
    assert law[0, 0].tolist() == [0, 0, 1, 0]


def test_operations_are_those_of_the_kernel():
    # The formula by walking the same loops as the compiled backup.
    rng = np.random.default_rng(8)
    team = random_team(rng, [(2, 3), (3, 2), (2, 2)])
    total, before, acts, done = 0, team.n_states, 1, 1
    for law in reversed(team.factors):
        before //= law.shape[0]
        total += before * acts * done * np.count_nonzero(law)
        acts, done = acts * law.shape[1], done * law.shape[0]
    assert backup_operations(team) == total


def test_rows_are_made_to_sum_to_one():
    law = np.array([[[0.1] * 10]] * 10) * (1 + 5e-10)
    assert abs(MDP(law, 0.9).transitions.sum(axis=2) - 1).max() < 4e-16


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ([[[0.5, 0.6]], [[0, 1]]], "a sum of 1.1 in state 0, action 0"),
        ([[[1, 0], [1, 0]], [[0, 1], [0.4, 0.4]]], "a sum of 0.8 in state 1, action 1"),
        ([[[1.5, -0.5]], [[0, 1]]], "-0.5 in state 0, action 0"),
        ([[[1, 0]]], r"array of shape \(n, m, n\)"),
        ([[[np.nan]]], "finite numbers"),
    ],
)
def test_bad_transitions_are_named(law, message):
    with pytest.raises(ValueError, match=message):
        MDP(law, 0.9)
    with pytest.raises(ValueError, match=message.replace("state", "agent 1, state")):
        FactoredMDP([[[[1.0]]], law], 0.9)


@pytest.mark.parametrize("discount", [0.0, 1.0, -0.5, float("nan")])
def test_bad_discounts_are_refused(discount):
    for build in (lambda: MDP([[[1.0]]], discount), lambda: FactoredMDP([], discount)):
        with pytest.raises(ValueError, match="'discount' parameter of"):
            build()
