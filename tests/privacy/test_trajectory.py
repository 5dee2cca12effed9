"""One l1 budget for a trajectory: the horizon's epsilon, and what it is not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dplib.privacy.adjacency import Adjacency
from dplib.privacy.laplace import laplace_scale
from dplib.privacy.trajectory import LaplaceChannel, laplace_budget
from dplib.rng import stream

quick = settings(max_examples=80, deadline=None, derandomize=True, database=None)


def trajectory(radius: float, norm: str = "l1") -> Adjacency:
    unit = "one agent's states at all times; the other agents' states are equal"
    return Adjacency(name="trajectory", unit=unit, norm=norm, radius=radius)


def channel(sensitivity: float, scale: float, name: str = "m") -> LaplaceChannel:
    return LaplaceChannel(name=name, sensitivity=sensitivity, scale=scale)


def transcript_loss(
    maps: list[np.ndarray],
    scales: list[float],
    first: np.ndarray,
    second: np.ndarray,
    noise: np.ndarray,
    feedback: float,
) -> float:
    """Log likelihood ratio of one transcript, in closed loop, step by step.

    Both data answer the *same* messages: the state sent at step k is that of
    the trajectory plus a function of what was received before.
    """
    loss, moved = 0.0, 0.0
    for k in range(len(first)):
        step = 0
        for matrix, scale in zip(maps, scales, strict=True):
            here = matrix @ (first[k] + moved)
            there = matrix @ (second[k] + moved)
            message = here + scale * noise[k, step : step + len(here)]
            step += len(here)
            loss += np.sum(
                stats.laplace.logpdf(message, here, scale)
                - stats.laplace.logpdf(message, there, scale)
            )
        moved = feedback * math.tanh(float(message[0]))
    return float(loss)


# --- exact values --------------------------------------------------------------


def test_exact_value() -> None:
    channels = [channel(2.0, 12.0), channel(8.0, 32.0)]
    whole = laplace_budget(channels, adjacency=trajectory(3.0), name="all")
    assert (whole.epsilon, whole.delta) == (1.25, 0.0)
    assert whole.adjacency == trajectory(3.0)


def test_rounded_up() -> None:
    channels = [channel(1.0, 3.0), channel(1.0, 7.0), channel(0.1, 0.3)]
    whole = laplace_budget(channels, adjacency=trajectory(0.7), name="all")
    exact = Fraction(0.7) * (
        Fraction(1, 3) + Fraction(1, 7) + Fraction(0.1) / Fraction(0.3)
    )
    assert Fraction(whole.epsilon) >= exact
    assert Fraction(math.nextafter(whole.epsilon, 0.0)) < exact


def test_releases_that_were_calibrated_one_by_one_add_up() -> None:
    # Eight states in a ring of constraints: messages to neighbours and to all.
    # Each channel alone is ln 3; together they are 17/6 ln 3 for one agent.
    epsilon, radius = math.log(3.0), 3.0
    norms = {"all": (120.0, 120.0), "8": (2.0, 2.0), "6": (4.0, 2.0), "5": (6.0, 2.0)}
    channels = [
        channel(mine, laplace_scale(sensitivity=worst * radius, epsilon=epsilon), to)
        for to, (worst, mine) in norms.items()
    ]
    one = trajectory(radius)
    for one_of_them in channels:
        alone = laplace_budget([one_of_them], adjacency=one, name="alone")
        assert alone.epsilon <= epsilon
    whole = laplace_budget(channels, adjacency=one, name="agent 7")
    assert whole.epsilon == pytest.approx(17 / 6 * epsilon, rel=1e-14)
    gradients = laplace_budget(channels[1:], adjacency=one, name="gradients of 7")
    assert gradients.epsilon == pytest.approx(11 / 6 * epsilon, rel=1e-14)


def test_by_an_accountant() -> None:
    # The same gradients when the whole budget moves one entry of each message.
    epsilon = math.log(3.0)
    ratios = [epsilon, epsilon / 2, epsilon / 3]
    laws = [
        pld.from_laplace_mechanism(
            1.0, sensitivity=r, value_discretization_interval=1e-3
        )
        for r in ratios
    ]
    joint = laws[0].compose(laws[1]).compose(laws[2])
    channels = [channel(1.0, 1.0 / r) for r in ratios]
    whole = laplace_budget(channels, adjacency=trajectory(1.0), name="all")
    theirs = joint.get_epsilon_for_delta(0.0)
    assert whole.epsilon <= theirs
    assert whole.epsilon == pytest.approx(theirs, abs=5e-3)
    # A single epsilon for all of them, as if only one were sent, is no promise.
    assert joint.get_delta_for_epsilon(epsilon) == pytest.approx(0.1487, abs=1e-3)


# --- the proof, transcript by transcript ---------------------------------------


@quick
@given(st.integers(0, 2**32), st.integers(1, 6), st.floats(0.01, 5.0), st.floats(0, 50))
def test_no_transcript_exceeds_the_budget(seed, steps, radius, feedback) -> None:
    rng = stream(seed)
    maps = [rng.normal(size=(3, 2)), rng.normal(size=(2, 2))]
    scales = [0.7, 2.0]
    first = rng.normal(size=(steps, 2))
    change = rng.laplace(size=(steps, 2)) * (rng.random((steps, 1)) < 0.6)
    change *= radius * rng.random() / max(np.abs(change).sum(), 1e-300)
    noise = rng.laplace(size=(steps, 5)) * rng.choice([0.01, 1.0, 30.0])
    second = first + change
    one = trajectory(radius)
    assert one.relates(first, second)
    channels = [
        channel(float(np.abs(matrix).sum(axis=0).max()), scale)
        for matrix, scale in zip(maps, scales, strict=True)
    ]
    whole = laplace_budget(channels, adjacency=one, name="all")
    loss = transcript_loss(maps, scales, first, second, noise, feedback)
    assert abs(loss) <= whole.epsilon + 1e-9


def worst_loss(budget: float, steps: int, scale: float) -> float:
    """Loss when all messages fall beyond the shift; four entries move equally."""
    matrix = np.ones((4, 1))
    first = np.zeros((steps, 1))
    second = np.full((steps, 1), budget / steps)
    noise = np.full((steps, 4), -1.0)
    return transcript_loss([matrix], [scale], first, second, noise, 0.0)


@pytest.mark.parametrize("steps", [1, 10, 1000])
def test_the_budget_is_attained_over_any_horizon(steps) -> None:
    whole = laplace_budget(
        [channel(4.0, 6.0)], adjacency=trajectory(3.0), name="one message a step"
    )
    assert worst_loss(3.0, steps, scale=6.0) == pytest.approx(whole.epsilon)


def test_half_the_noise_and_the_l2_norm_are_caught() -> None:
    whole = laplace_budget([channel(4.0, 6.0)], adjacency=trajectory(3.0), name="all")
    assert worst_loss(3.0, 10, scale=3.0) > 1.9 * whole.epsilon
    l2 = float(np.linalg.norm(np.ones((4, 1)), 2))
    wrong = laplace_budget([channel(l2, 6.0)], adjacency=trajectory(3.0), name="all")
    assert worst_loss(3.0, 10, scale=6.0) > 1.9 * wrong.epsilon
