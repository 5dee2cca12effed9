r"""Training through the simulator: the gradient of the return, message by message.

The worlds are differentiable, so the gradient of an episode's return flows back through
all moves and all messages to every weight, with the same noise as in use. (The paper
estimates it by a replayed actor-critic: `dplib.dpmac.replay`.)

Each of several *seeds* is a training run of its own, with its own weights and random
numbers; they are stacked and run side by side. In every iteration each seed plays
`PARALLEL` episodes and takes one step of Adam along the mean gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from numpy.typing import NDArray

from dplib.dpmac.agents import Team, Weights, episode, fresh

__all__ = ["Curve", "returns", "stacked", "train"]

PARALLEL = 64  # episodes in an iteration, for each seed
RATES = (3e-3, 3e-4)  # Adam's, at the first and the last iteration
CLIP = 1.0  # largest norm of a gradient


@dataclass(frozen=True, eq=False)
class Curve:
    """Learning curves of several seeds, and what they have learned.

    Attributes
    ----------
    moves : numpy.ndarray of int, shape (points,)
        Moves of the world that each seed has seen at each evaluation.
    returns : numpy.ndarray, shape (points, seeds)
        Mean return of greedy episodes at each evaluation, noise on.
    weights : Weights
        At the end, with a leading axis for the seeds.
    """

    moves: NDArray[np.int64]
    returns: NDArray[np.float64]
    weights: Weights


@partial(jax.jit, static_argnames=("team", "episodes", "greedy"))
def returns(
    team: Team, weights: Weights, key: jax.Array, *, episodes: int, greedy: bool = True
) -> jax.Array:
    """Return the returns of many episodes, shape (episodes,)."""
    keys = jax.random.split(key, episodes)

    def one(key: jax.Array) -> jax.Array:
        return episode(team, weights, key, greedy=greedy).rewards.sum()

    return jax.vmap(one)(keys)


class Learner(NamedTuple):
    """What training through the simulator changes, of one seed."""

    weights: Weights
    adam: optax.OptState


def train(
    team: Team,
    rng: np.random.Generator,
    *,
    iterations: int,
    rates: tuple[float, float] = RATES,
    seeds: int = 5,
    every: int = 25,
    episodes: int = 256,
    points: int | None = None,
) -> Curve:
    """Train several seeds side by side, and evaluate them every so many iterations.

    Parameters
    ----------
    rng : numpy.random.Generator
        Gives the key of all random numbers.
    iterations, every : int
        Steps of Adam in all, a multiple of every; and between evaluations.
    rates : tuple of float
        Adam's rate at the first and at the last iteration.
    episodes : int
        Greedy episodes of an evaluation, for each seed.
    points : int, optional
        Stop after so many evaluations.
    """
    rate = optax.linear_schedule(*rates, iterations)
    adam = optax.chain(optax.clip_by_global_norm(CLIP), optax.adam(rate))

    def begin(key: jax.Array) -> Learner:
        weights = fresh(team, key)
        return Learner(weights, adam.init(weights))

    def loss(weights: Weights, key: jax.Array) -> jax.Array:
        return -returns(team, weights, key, episodes=PARALLEL, greedy=False).mean()

    def iterate(learner: Learner, key: jax.Array) -> Learner:
        gradient = jax.grad(loss)(learner.weights, key)
        change, state = adam.update(gradient, learner.adam)
        return Learner(optax.apply_updates(learner.weights, change), state)

    blocks = iterations // every if points is None else points - 1
    counts = {"blocks": blocks, "seeds": seeds, "every": every}
    return stacked(team, rng, begin, iterate, **counts, plays=PARALLEL, tests=episodes)


def stacked(
    team: Team,
    rng: np.random.Generator,
    begin: Callable[[jax.Array], Any],
    iterate: Callable[[Any, jax.Array], Any],
    *,
    blocks: int,
    seeds: int,
    every: int,
    plays: int,
    tests: int,
) -> Curve:
    """Run a learner of any kind in several seeds side by side, and evaluate it.

    Parameters
    ----------
    begin, iterate : callable
        Make one learner from a key, with ``weights``; and change it in an iteration.
    blocks, every : int
        Evaluations after the first, and iterations between them.
    plays, tests : int
        Episodes in an iteration, and in an evaluation, for each seed.
    """

    def score(weights: Weights, key: jax.Array) -> jax.Array:
        ask = partial(returns, team, episodes=tests)
        return jax.vmap(ask)(weights, jax.random.split(key, seeds)).mean(axis=1)

    @partial(jax.jit, static_argnames="count")
    def block(learner: Any, key: jax.Array, count: int) -> tuple[Any, jax.Array]:
        def one(learner: Any, key: jax.Array) -> tuple[Any, None]:
            return jax.vmap(iterate)(learner, jax.random.split(key, seeds)), None

        key, last = jax.random.split(key)
        learner, _ = jax.lax.scan(one, learner, jax.random.split(key, count))
        return learner, score(learner.weights, last)

    key = jax.random.key(int(rng.integers(2**32)))
    key, own = jax.random.split(key)
    learner = jax.vmap(begin)(jax.random.split(own, seeds))
    found = []
    for count in (0,) + (every,) * blocks:
        key, own = jax.random.split(key)
        learner, now = block(learner, own, count)
        found.append(now)
    moves = plays * team.world.steps * every * np.arange(len(found))
    return Curve(moves, np.array(found, dtype=float), learner.weights)
