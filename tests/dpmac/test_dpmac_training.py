"""Training through the simulator: streams, counts, the first step, and learning."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dplib.dpmac import training
from dplib.dpmac.agents import ACTIONS, Team, Weights, episode
from dplib.dpmac.training import Curve, returns, stacked, train
from dplib.dpmac.worlds import CCN, State
from dplib.rng import stream

pytestmark = pytest.mark.usefixtures("quick_compilation")

TEAM = Team(replace(CCN, steps=3), "none", hidden=8)
SMALL = {"iterations": 3, "every": 1, "seeds": 2, "episodes": 8}


@pytest.fixture(scope="module")
def full(quick_compilation: None) -> Curve:  # noqa: ARG001
    return train(TEAM, stream(1, "full"), rates=(0.01, 0.0), **SMALL)


@pytest.fixture(scope="module")
def begun(quick_compilation: None) -> Curve:  # noqa: ARG001
    return train(TEAM, stream(1, "full"), rates=(0.01, 0.0), points=1, **SMALL)


@pytest.fixture(scope="module")
def stopped(quick_compilation: None) -> Curve:  # noqa: ARG001
    return train(TEAM, stream(1, "full"), rates=(0.01, 0.0), points=3, **SMALL)


def test_points_are_a_prefix_of_the_run_with_the_same_seed(
    full: Curve, stopped: Curve, begun: Curve
) -> None:
    assert full.returns.shape == (4, 2)
    assert full.moves.tolist() == [0, 192, 384, 576]  # 64 episodes of 3 moves
    for part, points in ((begun, 1), (stopped, 3)):
        assert part.moves.tolist() == full.moves[:points].tolist()
        np.testing.assert_array_equal(part.returns, full.returns[:points])


def test_seeds_in_a_stack_differ_and_so_do_streams(full: Curve, begun: Curve) -> None:
    assert np.abs(np.diff(full.returns, axis=1)).min() > 1e-3
    for curve in (full, begun):
        w = curve.weights["actor"][0][0]
        assert w.shape[:2] == (2, TEAM.world.agents)
        assert np.abs(w[0] - w[1]).max() > 0.1
    other = train(TEAM, stream(2, "full"), points=1, **SMALL)
    assert np.abs(other.returns - begun.returns).min() > 1e-3


def test_the_first_steps_of_adam_go_uphill_at_rates_that_fall(
    begun: Curve, stopped: Curve, full: Curve
) -> None:
    """Adam starts with steps of the rates themselves: 3, 2 and 1 times a third of 0.01.

    The gradient is that on other episodes.
    """

    @jax.jit
    def slope(weights: Weights) -> Weights:
        def mean(weights: Weights) -> jax.Array:
            key = jax.random.key(99)
            return returns(TEAM, weights, key, episodes=1024, greedy=False).mean()

        return jax.vmap(jax.grad(mean))(weights)

    def change(one: Curve, other: Curve) -> list[jax.Array]:
        return jax.tree.leaves(
            jax.tree.map(lambda a, b: b - a, one.weights, other.weights)
        )

    moved = change(begun, stopped)
    sizes = np.concatenate([np.abs(x).ravel() for x in moved])
    assert sizes.max() == pytest.approx(0.05 / 3.0, rel=0.02)
    assert (sizes > 0.01).mean() > 0.5
    pairs = zip(moved, jax.tree.leaves(slope(begun.weights)), strict=True)
    for seed in range(2):
        pairs = list(pairs)
        gain = [float(jnp.sum(a[seed] * b[seed])) for a, b in pairs]
        most = [float(0.05 / 3.0 * jnp.sum(jnp.abs(b[seed]))) for _, b in pairs]
        assert sum(gain) > 0.5 * sum(most)
    last = max(np.abs(x).max() for x in change(stopped, full))
    assert last == pytest.approx(0.01 / 3.0, rel=0.1)


def test_returns_are_the_sums_of_rewards(begun: Curve) -> None:
    weights = jax.tree.map(lambda x: x[0], begun.weights)
    key = jax.random.key(5)
    found = returns(TEAM, weights, key, episodes=8)
    play = jax.jit(jax.vmap(lambda key: episode(TEAM, weights, key, greedy=True)))
    played = play(jax.random.split(key, 8))
    goal = np.take_along_axis(
        played.states.landmarks, played.states.goals[..., None], axis=2
    )
    cost = np.sum((played.states.position - goal) ** 2, axis=(2, 3))
    np.testing.assert_allclose(played.rewards[:, :-1], -cost[:, 1:], rtol=1e-5)
    np.testing.assert_allclose(found, played.rewards.sum(axis=1), rtol=1e-5)


class Counter(NamedTuple):
    """A learner that counts, and adds up what it draws."""

    weights: Weights


def test_a_learner_is_iterated_and_evaluated_as_often_as_is_said() -> None:
    """Agents that barely prefer to stay: greedily they never move."""
    start = State(
        position=jnp.array([[1.0, 0.0], [0.0, 0.5]]),
        velocity=jnp.zeros((2, 2)),
        landmarks=jnp.zeros((3, 2)),
        goals=jnp.zeros(2, int),
    )
    world = replace(CCN, steps=3, start=lambda key: start)  # noqa: ARG005
    team = Team(world, "none", hidden=8)
    w = jnp.zeros((2, world.observation + 8, ACTIONS))
    actor = [(w, jnp.zeros((2, ACTIONS)).at[:, 0].set(1e-3))]

    def begin(key: jax.Array) -> Counter:
        drawn = jax.random.uniform(key)
        return Counter({"actor": actor, "count": jnp.array(0), "drawn": drawn})

    def iterate(counter: Counter, key: jax.Array) -> Counter:
        weights = counter.weights
        count, drawn = weights["count"] + 1, jax.random.uniform(key)
        return Counter(weights | {"count": count, "drawn": weights["drawn"] + drawn})

    run = partial(stacked, team, begin=begin, iterate=iterate)
    sizes = {"seeds": 2, "every": 3, "plays": 7, "tests": 4}
    curve = run(stream(1, "a"), blocks=2, **sizes)
    assert curve.moves.tolist() == [0, 63, 126]
    np.testing.assert_allclose(curve.returns, np.full((3, 2), -3.75), rtol=1e-6)
    assert curve.weights["count"].tolist() == [6, 6]
    drawn = np.asarray(curve.weights["drawn"])
    assert abs(drawn[0] - drawn[1]) > 1e-3
    begun = run(stream(1, "a"), blocks=0, **sizes).weights["drawn"]
    assert np.all((drawn > begun) & (drawn < begun + 6.0))
    assert abs(begun[0] - begun[1]) > 1e-3
    assert abs(np.diff(drawn - np.asarray(begun))[0]) > 1e-3
    # The same agents in two seeds, on starts that are drawn: other episodes.
    elsewhere = replace(team, world=replace(CCN, steps=3))
    two = stacked(elsewhere, stream(1, "a"), begin, iterate, blocks=0, **sizes)
    assert abs(np.diff(two.returns)[0, 0]) > 1e-3


@pytest.mark.slow
def test_silent_agents_learn_to_go_where_they_do_best_without_a_word() -> None:
    """No silent team can be above -20.5 or so; an untrained one is at -70."""
    curve = train(
        Team(CCN, "none"), stream(1, "learn"), iterations=120, every=120, seeds=2
    )
    assert curve.returns[0].max() < -40.0
    assert curve.returns[-1].min() > -23.0
    assert curve.returns[-1].max() < -18.0
    assert curve.moves[-1] == training.PARALLEL * 25 * 120
