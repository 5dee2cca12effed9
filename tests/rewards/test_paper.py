"""The paper's examples: against closed forms, and what a reader can get wrong."""

import dataclasses

import numpy as np
import pytest

from dplib.mdp.policy_iteration import policy_iteration
from dplib.rewards.paper import Example, Scenario, example_one, example_two


@pytest.mark.parametrize("N", [1, 2, 3, 4])
@pytest.mark.parametrize(("p", "gamma"), [(0.6, 0.5), (0.9, 0.99), (1.0, 0.9)])
def test_example_one_in_closed_form(N, p, gamma):
    team = example_one(N, p, discount=gamma)
    found = policy_iteration(team.model, team.rewards)
    start = (-1 + 6 * gamma * p**N) / (1 - gamma)
    np.testing.assert_allclose(found.values[:-1], start, rtol=1e-11, atol=1e-10)
    assert abs(found.values[-1] - (start + 6)) < 1e-9
    assert found.policy[team.goal_state] == team.goal_action == 0
    assert found.policy[team.start] == 2**N - 1  # everybody changes over


def test_example_one_rewards():
    team = example_one(3, 0.9, discount=0.9)
    assert team.model.states == team.model.actions == (2, 2, 2)
    assert np.all(team.rewards[:-1] == -1)
    # In state (1, 1, 1) each agent that takes a earns 5.
    assert team.rewards[-1].tolist() == [5, 3, 3, 1, 3, 1, 1, -1]


def test_example_two_rewards():
    team = example_two(50.0, discount=0.9)
    r = team.rewards
    assert np.all(r[1:] == -1)
    assert r[0, 24] == 50
    assert r[0, 4] == r[0, 20] == 24.5
    assert (team.goal_state, team.goal_action, team.start) == (0, 24, 255)


def test_example_two_of_another_size():
    team = example_two(5.0, discount=0.9, n_agents=3, size=2, law="put", slip=0.2)
    assert (team.model.n_states, team.model.n_actions) == (64, 125)
    assert team.start == 63


def test_the_goal_is_the_first_of_the_largest_joint_rewards():
    team = example_one(1, 0.9, discount=0.9)
    other = dataclasses.replace(team, tables=([[0.0, 7.0], [7.0, 0.0]],))
    assert (other.goal_state, other.goal_action) == (0, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: example_one(2, 1.5, discount=0.9), "probabilities"),
        (lambda: example_one(2, 0.9, discount=1.0), "'discount' parameter"),
        (lambda: example_two(np.nan, discount=0.9), "'r_max' parameter"),
        (lambda: example_two(5.0, discount=0.9, slip=2.0), "'slip' parameter"),
        (lambda: example_two(5.0, discount=0.9, law="far"), "'law' parameter"),
        (lambda: _example(tables=(np.zeros((4, 3)),) * 2), "'tables' parameter"),
        (lambda: _example(start=4), "'start' parameter"),
        (lambda: Scenario(radius=0.0), "'radius' parameter"),
        (lambda: Scenario(decay=-1.0), "'decay' parameter"),
        (lambda: Scenario(in_a_row=0), "'in_a_row' parameter"),
        (lambda: Scenario(switch_range=-80.0), "'switch_range' parameter"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def _example(**change) -> Example:
    return dataclasses.replace(example_one(2, 0.9, discount=0.9), **change)
