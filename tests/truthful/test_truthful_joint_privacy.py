"""Upper bounds by composition: by hand, by transcripts, by another accountant."""

from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from small_teams import ADJACENCY, CALIBRATED, EPSILON, PROBLEM, alone, star, tied

from dplib.privacy.adjacency import Adjacency
from dplib.rng import stream
from dplib.truthful.algorithm import StepSizes
from dplib.truthful.joint_privacy import heard_sensitivities, joint_epsilons
from dplib.truthful.kernel import project_multipliers
from dplib.truthful.noise import (
    NoiseScales,
    calibrated,
    table_one,
    trajectory_adjacency,
)
from dplib.truthful.problem import agent, constraints, jacobian

# Agents joined by a constraint of Section VI, and how many such pairs each has.
NEIGHBOURS = [[1, 2], [0], [0, 4], [4, 5], [3, 2, 6], [3, 6], [7, 5, 4], [6]]
OTHERS_OF_7 = [0, 1, 2, 3, 4, 5, 7]


def factors_by_hand():
    """One third of K_g for each pair, and 2 over L for each neighbour."""
    return [
        Fraction(len(near), 3) + sum(Fraction(1, len(NEIGHBOURS[j])) for j in near)
        for near in NEIGHBOURS
    ]


@pytest.mark.parametrize(("receivers", "own"), [("others", 0), ("all", 1)])
def test_epsilons_are_the_factors_times_epsilon(receivers, own):
    ours = joint_epsilons(PROBLEM, CALIBRATED, adjacency=ADJACENCY, receivers=receivers)
    by_hand = np.array([float(factor + own) for factor in factors_by_hand()])
    assert np.allclose(ours, by_hand * EPSILON, rtol=1e-14, atol=0)
    assert max(factors_by_hand()) == Fraction(17, 6)


def test_epsilons_of_table_one():
    table = joint_epsilons(PROBLEM, table_one(), adjacency=ADJACENCY)
    expected = [2.9302, 0.9157, 1.6482, 1.6482, 3.1133, 1.6482, 3.1133, 0.7325]
    assert np.allclose(table, expected, atol=6e-5)


def test_broken_variants_are_noticed():
    right = joint_epsilons(PROBLEM, CALIBRATED, adjacency=ADJACENCY)
    half = joint_epsilons(PROBLEM, CALIBRATED.scaled(0.5), adjacency=ADJACENCY)
    assert np.allclose(half, 2 * right)
    # One output forgotten: agent 7 without what its constraint partner 8 hears.
    fewer = joint_epsilons(
        PROBLEM, CALIBRATED, adjacency=ADJACENCY, receivers=OTHERS_OF_7[:-1]
    )
    assert fewer[6] == pytest.approx(11 / 6 * EPSILON)
    # The wrong norm is refused rather than used, and so is no noise.
    l2 = Adjacency(name="a", unit="b", norm="l2", radius=3.0)
    with pytest.raises(ValueError, match="in the l1 norm"):
        joint_epsilons(PROBLEM, CALIBRATED, adjacency=l2)
    with pytest.raises(ValueError, match="positive"):
        joint_epsilons(PROBLEM, table_one().scaled(0.0), adjacency=ADJACENCY)


def test_one_receiver():
    """Agent 2 learns 5/3 epsilon about agent 1, agent 8 learns 2 about agent 7."""
    for i, receivers, factor in ((0, [1], 5 / 3), (0, [1, 1], 5 / 3), (6, [7], 2.0)):
        alone = joint_epsilons(
            PROBLEM, CALIBRATED, adjacency=ADJACENCY, receivers=receivers
        )
        assert alone[i] == pytest.approx(factor * EPSILON, rel=1e-14)


@pytest.mark.parametrize("i", [0, 6])
def test_dp_accounting_agrees(i):
    """Compose the channels with Google's accountant; pure epsilon is its end."""
    composed = None
    moved = heard_sensitivities(PROBLEM)[i]
    for one, scale in zip(moved, CALIBRATED.stacked, strict=True):
        if one > 0.0:
            pld = privacy_loss_distribution.from_laplace_mechanism(
                scale / (3.0 * one), value_discretization_interval=1e-3
            )
            composed = pld if composed is None else composed.compose(pld)
    ours = joint_epsilons(PROBLEM, CALIBRATED, adjacency=ADJACENCY)[i]
    assert composed.get_epsilon_for_delta(0.0) == pytest.approx(ours, abs=6e-3)
    assert composed.get_delta_for_epsilon(ours + 6e-3) < 1e-12
    assert composed.get_delta_for_epsilon(EPSILON) > 0.05  # Theorem 2 wants 0


def transcript_loss(problem, scales, gradients, values, reports, adjacent, receivers):
    """Log likelihood ratio of noisy quantities under two report trajectories."""

    def told(noisy, of):
        return np.abs(noisy - of(problem, adjacent)) - np.abs(
            noisy - of(problem, reports)
        )

    loss = told(values, constraints).sum() / scales.b_g
    turned = told(gradients, jacobian)
    for j in receivers:
        loss += turned[..., agent(problem, j)].sum() / scales.b[j]
    return loss


@pytest.mark.parametrize("scales", [table_one(), CALIBRATED])
def test_upper_bound_is_the_supremum_for_the_noisy_quantities(scales):
    """Far in the tail, B over many steps: the loss tends to the bound from below."""
    bound = joint_epsilons(PROBLEM, scales, adjacency=ADJACENCY)[6]
    losses = []
    for steps in (1, 10, 1000):  # agent 7 spends B in equal parts where g is steep
        x = PROBLEM.lower.copy()
        x[12:14] = 10.0
        reports = np.tile(x, (steps, 1))
        adjacent = reports - 3.0 / steps * np.eye(16)[12]
        far = 1e6 * np.sign(jacobian(PROBLEM, reports) - jacobian(PROBLEM, adjacent))
        gradients = jacobian(PROBLEM, reports) + far
        values = constraints(PROBLEM, reports) + 1e6
        losses.append(
            transcript_loss(
                PROBLEM, scales, gradients, values, reports, adjacent, OTHERS_OF_7
            )
        )
    assert losses[0] < losses[1] < losses[2] <= bound
    assert losses[2] > 0.9995 * bound
    # The noise that Theorem 2 asks for is not enough, and half of it even less so.
    assert losses[0] > 2.7 * EPSILON


def test_closed_loop_transcripts_stay_within_the_bound():
    """Agent 1 of the star starts elsewhere and follows the algorithm."""
    problem, sizes, steps = star(), StepSizes(gamma_bar=0.3), 60
    scales = NoiseScales(40.0, np.array([4.0, 2.0, 2.0]))
    random = stream(5, "closed loop")
    k = np.arange(1, steps + 1)
    gamma, alpha = sizes.gamma(k), sizes.alpha(k)
    # The length of a trajectory difference that starts with 1 and meets no box.
    length = 1.0 + np.cumprod(np.abs(1.0 - gamma * (1.0 + alpha))[:-1]).sum()
    for start in (0.5, 2.0):
        for _ in range(20):
            runs = [np.array([1.0, -4.0, 3.0]), np.array([1.0 + start, -4.0, 3.0])]
            mu = np.array([1.0])
            reports, gradients, values = [[], []], [], []
            for k in range(steps):
                G = jacobian(problem, runs[0]) + random.laplace(0, 2.0, (1, 3))
                g = constraints(problem, runs[0]) + random.laplace(0, 40.0, 1)
                for world in (0, 1):
                    reports[world].append(runs[world])
                    x = runs[world] * (1 - gamma[k] * (1 + alpha[k]))
                    runs[world] = np.clip(x - gamma[k] * (mu @ G), -10, 10)
                mu = project_multipliers(mu + gamma[k] * (g - alpha[k] * mu), 50.0)
                gradients.append(G)
                values.append(g)
            first, second = map(np.array, reports)
            assert np.array_equal(first[:, 1:], second[:, 1:])
            distance = np.abs(first - second).sum()
            assert distance <= start * length + 1e-12
            loss = transcript_loss(
                problem, scales, gradients, values, first, second, [1, 2]
            )
            adjacency = trajectory_adjacency(distance)
            assert loss <= joint_epsilons(problem, scales, adjacency=adjacency)[0]


def test_an_agent_that_touches_nobody_loses_nothing():
    lonely = tied([(0, 1)], [-1] * 3, [1] * 3, [0] * 3, limit=1.0)
    scales = calibrated(lonely, adjacency=ADJACENCY, epsilon=1.0)
    assert joint_epsilons(lonely, scales, adjacency=ADJACENCY)[2] == 0.0
    # Nor does an agent alone, whose prices reach nobody else.
    assert not heard_sensitivities(alone()).any()
