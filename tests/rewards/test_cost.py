"""Costs of privacy: against trying all policies, and against an exact solver."""

import dataclasses
import math

import numpy as np
import pytest

from dplib.mdp.evaluate import evaluate
from dplib.mdp.factored import FactoredMDP, dense
from dplib.mdp.policy_iteration import policy_iteration
from dplib.privacy.gaussian import analytic_sigma, gaussian_epsilon, kappa_sigma
from dplib.rewards.central import central_shift
from dplib.rewards.cost import ARMS, arms, costs_of_privacy, optimum
from dplib.rewards.mechanism import standard_draw
from dplib.rewards.paper import Example, example_one, example_two

GRID = example_two(5.0, discount=0.99)


def of_the_grid(samples, seed, epsilon=1.0):
    """Return noise of Algorithm 1 on the grid."""
    rng = np.random.default_rng(seed)
    draw = standard_draw(256, [5, 5], samples=samples, rng=rng)
    laws = arms([5, 5], bound=1.0, epsilon=epsilon, delta=0.1)
    return laws["nominal", "input"].noise(draw)


def alone(law, rewards, discount, start=0):
    """Return a team of one agent."""
    return Example(FactoredMDP((law,), discount), (rewards,), start)


@pytest.mark.parametrize("shift", [0.0, 7.0])
def test_no_noise_and_a_constant_for_all_cost_nothing(shift):
    found = costs_of_privacy(GRID, np.full((2, 256, 25), shift))
    assert found.percent.max() < 1e-9
    assert found.stays.all()
    assert found.largest.all()


def test_noise_that_undoes_the_rewards_is_solved():
    assert np.isfinite(costs_of_privacy(GRID, -GRID.rewards[None]).percent).all()


def test_costs_by_another_route():
    """Best private policy by trying all, and its true value by the dense equations."""
    team = example_one(1, 0.8, discount=0.7)
    noise = 6.0 * np.random.default_rng(1).standard_normal((40, 2, 2))
    found = costs_of_privacy(team, noise, starts=[0, 1])
    policies = [[a, b] for a in range(2) for b in range(2)]
    law, best = dense(team.model).transitions, optimum(team).values
    for k in range(40):
        noisy = team.rewards + noise[k]
        values = [evaluate(team.model, noisy, policy) for policy in policies]
        policy = policies[int(np.argmax([v.sum() for v in values]))]
        system = np.eye(2) - 0.7 * law[[0, 1], policy]
        true = np.linalg.solve(system, team.rewards[[0, 1], policy])
        np.testing.assert_allclose(
            found.percent[k], 100 * np.abs((true - best) / best), atol=1e-9
        )
        assert found.stays[k] == (policy[1] == 0)
        assert found.largest[k] == (noisy.argmax() == 2)


def test_where_values_are_negative_the_cost_is_none_the_less_positive():
    # Best is -1 and then -1/2 for ever, -3/2 in all; the private policy earns -2.
    team = example_one(1, 1.0, discount=0.5, r_max=-0.5)
    found = costs_of_privacy(team, np.array([[[99.0, 0.0], [0.0, 99.0]]]))
    assert found.percent[0, 0] == pytest.approx(100 / 3)


def test_private_policies_are_those_of_an_exact_solver():
    """A tolerance of a tenth in the values would not do: it costs something."""
    noise = of_the_grid(20, seed=5, epsilon=0.7)
    found = costs_of_privacy(GRID, noise)
    best = optimum(GRID).values[GRID.start]
    for k in range(20):
        policy = policy_iteration(GRID.model, GRID.rewards + noise[k]).policy
        value = evaluate(GRID.model, GRID.rewards, policy)[GRID.start]
        cost = 100 * (best - value) / abs(best)
        assert found.percent[k, 0] == pytest.approx(cost, abs=1e-8)


@pytest.mark.parametrize("unit", [1e-40, 1e-9, 1e6, 1e40])
def test_the_unit_of_the_rewards_is_no_matter(unit):
    other = dataclasses.replace(GRID, tables=tuple(unit * t for t in GRID.tables))
    noise = of_the_grid(4, seed=6)
    here, there = costs_of_privacy(GRID, noise), costs_of_privacy(other, unit * noise)
    np.testing.assert_allclose(here.percent, there.percent, rtol=1e-7)
    assert here.percent.max() > 1.0


def test_a_sample_does_not_depend_on_the_others():
    noise = of_the_grid(4, seed=9)
    three = costs_of_privacy(GRID, noise[:3])
    noise[3] *= 1e12
    beside = costs_of_privacy(GRID, noise)
    assert np.array_equal(three.percent, beside.percent[:3])
    assert np.array_equal(three.bound, beside.bound[:3])


def test_a_value_of_rounding_errors_has_no_percentages():
    """Staying costs nothing and is best: the value of the start is 0."""
    law = [[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.3, 0.7]]]
    team = alone(law, [[0.0, -1.0], [-3.0, -2.0]], 0.9)
    with pytest.raises(ValueError, match=r"'starts' parameter .* other than 0"):
        costs_of_privacy(team, np.zeros((1, 2, 2)))
    assert costs_of_privacy(team, np.zeros((1, 2, 2)), starts=[1]).percent.max() < 1e-9


def test_a_forbidden_action_does_not_blur_the_others():
    """A penalty of 10^9 leaves the accuracy that floats have beside it."""
    rng = np.random.default_rng(10)
    law = rng.dirichlet(np.ones(6), size=(6, 3))
    rewards = rng.standard_normal((6, 3))
    rewards[:, 2] = -1e9
    team = alone(law, rewards, 0.95)
    noise = 0.5 * rng.standard_normal((20, 6, 3))
    found = costs_of_privacy(team, noise)
    best = optimum(team).values[0]
    for k in range(20):
        policy = policy_iteration(team.model, rewards + noise[k]).policy
        cost = best - evaluate(team.model, rewards, policy)[0]
        loss = 2 * found.bound[k]
        assert abs(found.percent[k, 0] / 100 * abs(best) - cost) <= loss + 1e-7
        assert loss < 1.0


def test_private_policies_never_earn_more_than_the_optimum():
    team = example_one(3, 0.9, discount=0.95)
    rng = np.random.default_rng(2)
    draw = standard_draw(8, [2, 2, 2], samples=50, rng=rng)
    best = optimum(team).values
    for law in arms([2, 2, 2], bound=2.0, epsilon=1.0, delta=0.1).values():
        found = costs_of_privacy(team, law.noise(draw), starts=range(8))
        assert found.percent.min() >= 0.0
        # The cost of a policy cannot exceed that of always earning the least.
        worst = (best + 1 / (1 - 0.95)) / np.abs(best)
        assert np.all(found.percent <= 100 * worst + 1e-6)


def test_arms_are_calibrated_as_they_say():
    laws = arms([5, 5], bound=2.0, epsilon=0.7, delta=0.1)
    assert tuple(laws) == ARMS
    for (group, _), law in laws.items():
        shift = central_shift(law, bound=2.0)
        true = gaussian_epsilon(sensitivity=shift, sigma=1.0, delta=0.1)
        assert abs(true - 0.7) < 1e-6 if group == "matched" else true < 0.7
    ratio = laws["analytic", "input"].agents[0] / laws["nominal", "input"].agents[0]
    sizes = {"sensitivity": 2.0, "epsilon": 0.7, "delta": 0.1}
    want = analytic_sigma(**sizes) / kappa_sigma(**sizes)
    assert math.sqrt(ratio) == pytest.approx(want, abs=1e-9)
    # One entry is seen through projected noise exactly as in its own table.
    sigma = analytic_sigma(**sizes)
    matched = laws["matched", "projected"].agents[0]
    assert matched == pytest.approx(sigma**2 * 5 / 4, rel=1e-9)
