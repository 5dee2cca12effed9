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
            r"the actions 0 to 0 of state 0 in state 1. Got \[1\] instead",
        ),
        ({0: {0: []}}, "of action 0 in state 0 are a list of at least one. Got"),
        ({0: {0: [(1.0, 0, 0.0)]}}, "are .probability, next state, reward, term"),
        (
            {0: {0: [(1.5, 0, 0.0, False)]}},
            "of action 0 in state 0 have prob.* Got 1.5",
        ),
        ({0: {0: [(1.0, 1, 0.0, False)]}}, "next states from 0 to 0. Got 1 instead"),
        ({0: {0: [(1.0, False, 0.0, False)]}}, "next states from 0 to 0. Got False"),
        ({0: {0: [(1.0, 0, np.nan, False)]}}, r"finite rewards .* 1e\+60. Got nan"),
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


@pytest.mark.parametrize(
    "outcome",
    [
        (1.0, 0, 10**400, False),
        (10**400, 0, 0.0, False),
        (1.0, 10**5000, 0.0, False),
        (1.0, 0, 10**5000, False),
        (1.0, 0, 1e300, False),
        (1.0, 0, np.eye(30), False),
    ],
)
def test_numbers_that_no_float_holds_are_refused_in_one_short_line(outcome):
    """Named bug: an OverflowError, Python's limit on digits, or 4204 characters."""
    with pytest.raises(ValueError, match="parameter of from_tabular must") as caught:
        from_tabular({0: {0: [outcome]}}, 0.9)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_states_and_actions_too_many_are_shown_cut_short():
    """Named bug: 5000 actions too many were all printed."""
    stay = [(1.0, 0, 0.0, False)]
    for P in ({0: {0: stay}, 1: dict.fromkeys(range(5000), stay)}, {10**5000: 1}):
        with pytest.raises(ValueError, match="parameter of from_tabular") as caught:
            from_tabular(P, 0.9)
        assert len(str(caught.value)) < 300


def test_rewards_are_means_under_the_law_of_the_model():
    """Named bug: the law was divided by its sum 1 - 9e-10, and the reward was not."""
    P = {0: {0: [(1 - 9e-10, 0, 1e9, False)]}}
    model, rewards = from_tabular(P, 0.5)
    assert model.transitions.tolist() == [[[1.0]]]
    assert rewards[0, 0] == pytest.approx(1e9, rel=1e-15)


def test_the_function_that_was_called_is_named():
    """Named bug: a bad discount and a bad row were those of MDP."""
    P = {0: {0: [(1.0, 0, 1.0, False)]}}
    with pytest.raises(ValueError, match="'discount' parameter of from_tabular"):
        from_tabular(P, 1.5)
    with pytest.raises(ValueError, match="'discount' parameter of from_arrays"):
        from_arrays([[[1.0]]], [[1.0]], 1.5)
    with pytest.raises(ValueError, match="'transitions' parameter of from_arrays"):
        from_arrays([[[0.5]]], [[1.0]], 0.5)


def test_rewards_whose_mean_would_overflow_are_refused():
    with pytest.raises(ValueError, match="'rewards' parameter of from_arrays"):
        from_arrays([[[0.5, 0.5]], [[0.5, 0.5]]], np.full((2, 1, 2), 1.7e308), 0.5)
