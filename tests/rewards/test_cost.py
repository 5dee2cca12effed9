import dataclasses
import math

import numpy as np
import pytest

from dplib.mdp.evaluate import evaluate
from dplib.mdp.factored import dense
from dplib.mdp.model import MDP
from dplib.mdp.policy_iteration import policy_iteration
from dplib.privacy.gaussian import analytic_sigma, gaussian_epsilon, kappa_sigma
from dplib.rewards.central import central_shift
from dplib.rewards.cost import (
    ARMS,
    arms,
    cost_percent,
    costs_of_privacy,
    mean_estimate,
    optimum,
    paired_estimate,
)
from dplib.rewards.examples import example_one, example_two, one_agent
from dplib.rewards.mechanism import standard_draw


def test_no_noise_costs_nothing():
    team = example_two(5.0, discount=0.99)
    found = costs_of_privacy(team, np.zeros((2, 256, 25)))
    assert found.percent.max() < 1e-9
    assert found.stays.all()
    assert found.largest.all()


def test_costs_by_another_route():
    # Best private policy by trying all, and its true value by the dense equations.
    team = example_one(1, 0.8, discount=0.7)
    rng = np.random.default_rng(1)
    noise = 6.0 * rng.standard_normal((40, 2, 2))
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


def test_private_policies_are_those_of_an_exact_solver():
    """A tolerance of a tenth in the values would not do: it costs something."""
    team = example_two(5.0, discount=0.99)
    rng = np.random.default_rng(5)
    draw = standard_draw(256, [5, 5], samples=20, rng=rng)
    law = arms([5, 5], bound=1.0, epsilon=0.7, delta=0.1)["nominal", "input"]
    noise = law.noise(draw)
    found = costs_of_privacy(team, noise)
    best = optimum(team).values[team.start]
    for k in range(20):
        policy = policy_iteration(team.model, team.rewards + noise[k]).policy
        value = evaluate(team.model, team.rewards, policy)[team.start]
        cost = 100 * (best - value) / abs(best)
        assert found.percent[k, 0] == pytest.approx(cost, abs=1e-8)


@pytest.mark.parametrize("unit", [1e-40, 1e-9, 1e6, 1e40])
def test_the_unit_of_the_rewards_is_no_matter(unit):
    team = example_two(5.0, discount=0.99)
    other = dataclasses.replace(team, tables=tuple(unit * t for t in team.tables))
    law = arms([5, 5], bound=1.0, epsilon=1.0, delta=0.1)["nominal", "input"]
    rng = np.random.default_rng(6)
    noise = law.noise(standard_draw(256, [5, 5], samples=4, rng=rng))
    here, there = (
        costs_of_privacy(one, scale * noise)
        for one, scale in ((team, 1.0), (other, unit))
    )
    np.testing.assert_allclose(here.percent, there.percent, rtol=1e-7)
    assert here.percent.max() > 1.0


@pytest.mark.parametrize("discount", [0.5, 0.999, 0.9999])
def test_long_horizons_are_solved_as_well(discount):
    team = example_one(3, 0.9, discount=discount)
    noise = np.random.default_rng(7).standard_normal((3, 8, 8))
    assert np.isfinite(costs_of_privacy(team, noise).percent).all()


def test_the_optimum_of_other_rewards_is_refused():
    team, other = (example_two(r_max, discount=0.99) for r_max in (5.0, 50.0))
    with pytest.raises(ValueError, match="'reference' parameter of costs_of_privacy"):
        costs_of_privacy(team, np.zeros((1, 256, 25)), reference=optimum(other))


def test_an_evaluation_of_another_policy_is_no_optimum():
    team = example_two(5.0, discount=0.99)
    best = optimum(team)
    north = np.zeros(256, dtype=int)
    values = evaluate(team.model, team.rewards, north)
    wrong = dataclasses.replace(best, values=values, policy=north)
    with pytest.raises(ValueError, match="'reference' parameter of costs_of_privacy"):
        costs_of_privacy(team, np.zeros((1, 256, 25)), reference=wrong)


def test_a_value_of_rounding_errors_has_no_percentages():
    """Staying costs nothing and is best: the value of the start is 0."""
    model = MDP([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.3, 0.7]]], 0.9)
    team = one_agent(model, [[0.0, -1.0], [-3.0, -2.0]])
    with pytest.raises(ValueError, match=r"'starts' parameter .* other than 0"):
        costs_of_privacy(team, np.zeros((1, 2, 2)))
    assert costs_of_privacy(team, np.zeros((1, 2, 2)), starts=[1]).percent.max() < 1e-9


def test_a_sample_does_not_depend_on_the_others():
    team = example_two(5.0, discount=0.99)
    draw = standard_draw(256, [5, 5], samples=4, rng=np.random.default_rng(9))
    law = arms([5, 5], bound=1.0, epsilon=1.0, delta=0.1)["nominal", "input"]
    noise = law.noise(draw)
    alone = costs_of_privacy(team, noise[:3])
    noise[3] *= 1e12
    beside = costs_of_privacy(team, noise)
    assert np.array_equal(alone.percent, beside.percent[:3])
    assert np.array_equal(alone.bound, beside.bound[:3])


def test_a_forbidden_action_does_not_blur_the_others():
    """A penalty of 10^9 leaves the accuracy that floats have beside it."""
    rng = np.random.default_rng(10)
    model = MDP(rng.dirichlet(np.ones(6), size=(6, 3)), 0.95)
    rewards = rng.standard_normal((6, 3))
    rewards[:, 2] = -1e9
    team = one_agent(model, rewards)
    noise = 0.5 * rng.standard_normal((20, 6, 3))
    found = costs_of_privacy(team, noise)
    best = optimum(team).values[0]
    for k in range(20):
        policy = policy_iteration(model, rewards + noise[k]).policy
        value = evaluate(model, rewards, policy)[0]
        loss = 2 * found.bound[k]
        assert (
            abs(found.percent[k, 0] / 100 * abs(best) - (best - value)) <= loss + 1e-7
        )
        assert loss < 1.0


def test_many_successors_and_a_long_horizon_are_solved():
    rng = np.random.default_rng(11)
    model = MDP(rng.dirichlet(np.ones(150), size=(150, 2)), 0.9999)
    team = one_agent(model, rng.standard_normal((150, 2)))
    found = costs_of_privacy(team, rng.standard_normal((2, 150, 2)))
    assert np.isfinite(found.percent).all()


def test_noise_that_undoes_the_rewards_is_solved():
    team = example_one(2, 0.9, discount=0.9)
    assert np.isfinite(costs_of_privacy(team, -team.rewards[None]).percent).all()


@pytest.mark.parametrize("starts", [0, [], "0", [0.5], [[0]], [True, 1]])
def test_starts_are_a_sequence_of_states(starts):
    team = example_one(1, 0.8, discount=0.7)
    with pytest.raises((TypeError, ValueError), match="'starts' parameter"):
        costs_of_privacy(team, np.zeros((1, 2, 2)), starts=starts)


def test_a_constant_for_all_costs_nothing():
    # Adding one number to all rewards changes no policy.
    team = example_one(2, 0.9, discount=0.9)
    found = costs_of_privacy(team, np.full((1, 4, 4), 7.0))
    assert found.percent[0, 0] < 1e-9


def test_private_policies_never_earn_more_than_the_optimum():
    team = example_one(3, 0.9, discount=0.95)
    rng = np.random.default_rng(2)
    draw = standard_draw(8, [2, 2, 2], samples=50, rng=rng)
    best = optimum(team)
    for law in arms([2, 2, 2], bound=2.0, epsilon=1.0, delta=0.1).values():
        noise = law.noise(draw)
        found = costs_of_privacy(team, noise, reference=best, starts=range(8))
        assert found.percent.min() >= 0.0
        # The cost of a policy cannot exceed that of always earning the least.
        worst = (best.values + 1 / (1 - 0.95)) / np.abs(best.values)
        assert np.all(found.percent <= 100 * worst + 1e-6)


def test_arms_are_calibrated_as_they_say():
    laws = arms([5, 5], bound=2.0, epsilon=0.7, delta=0.1)
    assert tuple(laws) == ARMS
    for (group, name), law in laws.items():
        shift = central_shift(law, bound=2.0)
        true = gaussian_epsilon(sensitivity=shift, sigma=1.0, delta=0.1)
        if group == "matched":
            assert abs(true - 0.7) < 1e-6
        else:
            assert true < 0.7
        if (group, name) == ("analytic", "input"):
            ratio = law.agents[0] / laws["nominal", "input"].agents[0]
            sizes = {"sensitivity": 2.0, "epsilon": 0.7, "delta": 0.1}
            want = analytic_sigma(**sizes) / kappa_sigma(**sizes)
            assert abs(math.sqrt(ratio) - want) < 1e-9


def test_projected_output_at_the_analytic_sigma_is_matched():
    # One entry is seen through projected noise exactly as in its own table.
    law = arms([5, 5], bound=1.0, epsilon=1.0, delta=0.1)["matched", "projected"]
    sigma = analytic_sigma(sensitivity=1.0, epsilon=1.0, delta=0.1)
    assert abs(law.agents[0] / (sigma**2 * 5 / 4) - 1) < 1e-9


def test_pairs_are_tighter_than_two_samples():
    rng = np.random.default_rng(3)
    common = rng.standard_normal(200)
    one, two = common + 0.1 * rng.standard_normal(200), common
    assert paired_estimate(one, two).half < 0.2 * mean_estimate(one).half


def test_interval_is_student_s():
    found = mean_estimate([1.0, 2.0, 4.0], confidence=0.9)
    # Variance 7/3 over three; t of two degrees, 95 %: 2.919986.
    assert found.error == pytest.approx(math.sqrt(7 / 9), rel=1e-14)
    assert found.half == pytest.approx(2.919985580 * math.sqrt(7 / 9), rel=1e-9)


def test_intervals_cover_as_often_as_they_say():
    # 2000 intervals of 10 normals; fewer than 1863 or more than 1937 would be beyond
    # 3.8 standard deviations on either side (chance below 2e-4 without the fixed seed).
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(2000):
        estimate = mean_estimate(rng.standard_normal(10))
        hits += abs(estimate.mean) <= estimate.half
    assert 1863 <= hits <= 1937


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cost_percent([1.0], [0.0]), "values other than 0"),
        (lambda: cost_percent([1.0], [1.0, 2.0]), r"of shape \(..., 2\)"),
        (lambda: mean_estimate([1.0]), "two numbers or more"),
        (lambda: mean_estimate([1.0, 2.0], confidence=1.0), "strictly between"),
        (lambda: paired_estimate([1.0, 2.0], [1.0]), "'second' parameter"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bad_arguments_of_costs():
    team = example_one(2, 0.9, discount=0.9)
    with pytest.raises(ValueError, match=r"array of shape \(any, 4, 4\)"):
        costs_of_privacy(team, np.zeros((4, 4)))
    with pytest.raises(ValueError, match="'starts' parameter of costs_of_privacy"):
        costs_of_privacy(team, np.zeros((1, 4, 4)), starts=[4])
    with pytest.raises(TypeError, match="'example' parameter of costs_of_privacy"):
        costs_of_privacy(None, np.zeros((1, 4, 4)))
