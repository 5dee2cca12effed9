import numpy as np
import pytest

from dplib.mdp.evaluate import evaluate
from dplib.mdp.policy_iteration import policy_iteration
from dplib.mdp.tabular import from_arrays, from_tabular


def lake():
    """A slippery corridor in Gymnasium's form: a hole at 0, the end at 3."""
    P = {s: {a: [] for a in range(2)} for s in range(4)}
    for s in range(4):
        for a in range(2):
            if s in (0, 3):
                P[s][a] = [(1.0, s, 0, True)]
                continue
            for move, p in ((2 * a - 1, 0.75), (1 - 2 * a, 0.25)):
                to = s + move
                P[s][a].append((p, to, float(to == 3), to in (0, 3)))
    return P


def test_values_of_a_lake_are_those_of_its_equations():
    model, rewards = from_tabular(lake(), 0.9)
    assert model.n_states == 5  # one more, where nothing is earned
    found = policy_iteration(model, rewards)
    # v1 = .9 * .75 v2, v2 = .75 + .9 * .25 v1.
    v2 = 0.75 / (1 - 0.9 * 0.25 * 0.9 * 0.75)
    want = [0.0, 0.675 * v2, v2, 0.0, 0.0]
    np.testing.assert_allclose(found.values, want, atol=1e-12)


def test_nothing_is_earned_after_termination():
    # Without the extra state the reward would come in every step: 1 / (1 - 0.9).
    model, rewards = from_tabular({0: {0: [(1.0, 0, 1.0, True)]}}, 0.9)
    assert evaluate(model, rewards, [0, 0])[0] == 1.0


def test_outcomes_of_one_state_add_up():
    P = {0: {0: [(0.25, 0, 4.0, False), (0.5, 1, 0.0, False), (0.25, 0, 0.0, False)]}}
    P[1] = {0: [(1.0, 1, 0.0, False)]}
    model, rewards = from_tabular(P, 0.9)
    assert model.transitions[0, 0].tolist() == [0.5, 0.5]
    assert rewards.tolist() == [[1.0], [0.0]]


def test_numpy_numbers_are_numbers():
    P = {np.int64(0): {0: [(np.float64(1), np.int64(0), np.float32(2), np.bool_(0))]}}
    model, rewards = from_tabular(P, 0.5)
    assert evaluate(model, rewards, [0]).tolist() == [4.0]


@pytest.mark.parametrize(
    ("P", "message"),
    [
        ({}, "a mapping of states 0, 1, 2"),
        ({1: {0: [(1.0, 1, 0.0, False)]}}, "a mapping of states 0, 1, 2"),
        ({0: {}}, "a mapping of states 0, 1, 2"),
        (
            {0: {0: [(1.0, 0, 0.0, False)]}, 1: {1: [(1.0, 0, 0.0, False)]}},
            r"Got \[1\] in state 1 instead",
        ),
        ({0: {0: []}}, "a list of outcomes. Got .* in state 0, action 0 instead"),
        ({0: {0: [(1.0, 0, 0.0)]}}, "outcomes .probability, next state, reward, term"),
        ({0: {0: [(1.5, 0, 0.0, False)]}}, "Got 1.5 in state 0, action 0 instead"),
        ({0: {0: [(1.0, 1, 0.0, False)]}}, "next states from 0 to 0. Got 1 in state 0"),
        ({0: {0: [(1.0, 0, np.nan, False)]}}, "finite rewards. Got nan"),
        ({0: {0: [(1.0, 0, 0.0, 1)]}}, "a truth value for termination. Got 1"),
        (
            {0: {0: [(1.0, 0, 0.0, False)], 1: [(0.9, 0, 0.0, False)]}},
            "Got a sum of 0.9 in state 0, action 1 instead",
        ),
    ],
)
def test_what_is_wrong_is_named(P, message):
    with pytest.raises(ValueError, match=message):
        from_tabular(P, 0.9)


def test_a_mapping_is_wanted():
    with pytest.raises(TypeError, match="a mapping of states"):
        from_tabular([1], 0.9)


def test_rewards_of_successors_become_means():
    law = [[[0.25, 0.75]], [[1.0, 0.0]]]
    each = [[[4.0, 8.0]], [[1.0, 99.0]]]
    model, rewards = from_arrays(law, each, 0.5)
    assert rewards.tolist() == [[7.0], [1.0]]
    same, given = from_arrays(law, rewards, 0.5)
    assert given.tolist() == rewards.tolist()
    np.testing.assert_array_equal(same.transitions, model.transitions)


def test_arrays_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match="'rewards' parameter of from_arrays"):
        from_arrays([[[1.0]]], [[1.0, 2.0]], 0.5)
    with pytest.raises(ValueError, match="'transitions' parameter of from_arrays"):
        from_arrays([[1.0]], [[1.0]], 0.5)
