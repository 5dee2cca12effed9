import numpy as np
import pytest

from dplib.mdp.model import MDP
from dplib.mdp.policy_iteration import policy_iteration
from dplib.rewards.examples import Example, example_one, example_two, one_agent


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
    r = team.rewards
    assert np.all(r[:-1] == -1)
    # In state (1, 1, 1) each agent that takes a earns 5.
    assert r[-1].tolist() == [5, 3, 3, 1, 3, 1, 1, -1]


def test_example_two_rewards():
    team = example_two(50.0, discount=0.9)
    r = team.rewards
    assert np.all(r[1:] == -1)
    assert r[0, 24] == 50
    assert r[0, 4] == r[0, 20] == 24.5
    assert (team.goal_state, team.goal_action, team.start) == (0, 24, 255)
    assert r.argmax() == team.goal_state * 25 + team.goal_action


def test_other_sizes():
    team = example_two(5.0, discount=0.9, n_agents=3, size=2, law="put", slip=0.2)
    assert (team.model.n_states, team.model.n_actions) == (64, 125)
    assert team.start == 63


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tables": (np.zeros((4, 2)),)}, "tables of shapes"),
        ({"goal_state": 4}, "an integer between 0 and 3"),
        ({"goal_action": -1}, "an integer between 0 and 3"),
        ({"start": 4}, "an integer between 0 and 3"),
    ],
)
def test_examples_are_checked(change, message):
    team = example_one(2, 0.9, discount=0.9)
    fields = {
        name: getattr(team, name)
        for name in ("model", "tables", "goal_state", "goal_action", "start")
    }
    with pytest.raises(ValueError, match=message):
        Example(**(fields | change))


@pytest.mark.parametrize("n_agents", [7, 16, 17, 2**80])
def test_large_teams_are_refused(n_agents):
    with pytest.raises(ValueError, match="'n_agents' parameter of example_two"):
        example_two(5.0, discount=0.9, n_agents=n_agents)


def test_bad_arguments():
    with pytest.raises(ValueError, match="'n_agents' parameter of example_one"):
        example_one(0, 0.9, discount=0.9)
    with pytest.raises(ValueError, match="'r_max' parameter of example_two"):
        example_two(float("inf"), discount=0.9)
    with pytest.raises(ValueError, match="'slip' parameter of gridworld"):
        example_two(5.0, discount=0.9, slip=2.0)


def test_one_agent_is_solved_like_its_process():
    rng = np.random.default_rng(8)
    model = MDP(rng.dirichlet(np.ones(4), size=(4, 3)), 0.9)
    rewards = rng.standard_normal((4, 3))
    team = one_agent(model, rewards, start=2)
    assert team.start == 2
    assert team.rewards[team.goal_state, team.goal_action] == rewards.max()
    here, there = (policy_iteration(m, rewards).values for m in (model, team.model))
    np.testing.assert_allclose(here, there, rtol=1e-13)


@pytest.mark.parametrize("rewards", [[[1.0, 1.0]], [[1.0]], [["a", "b"]]])
def test_one_agent_needs_rewards_that_differ(rewards):
    with pytest.raises((TypeError, ValueError), match="'rewards' parameter of one_ag"):
        one_agent(MDP([[[1.0], [1.0]]], 0.5), rewards)


def test_the_goal_of_one_agent_is_the_first_of_its_largest_rewards():
    model = MDP(np.full((2, 2, 2), 0.5), 0.5)
    team = one_agent(model, [[0.0, 7.0], [7.0, 0.0]])
    assert (team.goal_state, team.goal_action) == (0, 1)
