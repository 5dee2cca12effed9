import numpy as np
import pytest

from dplib.mdp.evaluate import evaluate
from dplib.mdp.policy_iteration import policy_iteration
from dplib.mdp.tabular import from_tabular


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


def test_rewards_are_means_under_the_law_of_the_model():
    """Named bug: the law was divided by its sum 1 - 9e-10, and the reward was not."""
    P = {0: {0: [(1 - 9e-10, 0, 1e9, False)]}}
    model, rewards = from_tabular(P, 0.5)
    assert model.transitions.tolist() == [[[1.0]]]
    assert rewards[0, 0] == pytest.approx(1e9, rel=1e-15)


STAY = (1.0, 0, 0.0, False)


@pytest.mark.parametrize(
    ("P", "message"),
    [
        ({}, "a mapping of states 0, 1, 2"),
        ({1: {0: [STAY]}}, "a mapping of states 0, 1, 2"),
        ({0: {}}, "a mapping of states 0, 1, 2"),
        ({0: {0: [STAY]}, 1: {1: [STAY]}}, "mappings of the same actions"),
        ({0: {0: [STAY[:3]]}}, "outcome of action 0 in state 0"),
        ({0: {0: [STAY], 1: [(1.5, 0, 0.0, False)]}}, "outcome of action 1 in state 0"),
        ({0: {0: [(1.0, 1, 0.0, False)]}}, "next state below 1"),
        ({0: {0: [(1.0, 0, np.nan, False)]}}, "finite reward"),
        ({0: {0: [(1.0, 0, "1", False)]}}, "finite reward"),
        ({0: {0: []}}, "a sum of 0 in state 0, action 0"),
        ({0: {0: [STAY], 1: [(0.9, *STAY[1:])]}}, "a sum of 0.9 in state 0, action 1"),
    ],
)
def test_what_is_wrong_is_named(P, message):
    with pytest.raises(ValueError, match=message):
        from_tabular(P, 0.9)
