r"""Training through the simulator: the gradient of the return, message by message.

The worlds are differentiable, so the gradient of an episode's return flows back through
all moves and all messages to every weight, with the same noise as in use. (The paper
estimates it by a replayed actor-critic: `dplib.dpmac.replay`.)

Each of several *seeds* is a training run of its own, with its own weights and random
numbers; they are stacked and run side by side. In every iteration each seed plays
`PARALLEL` episodes and takes one step of Adam along the mean gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from dplib.dpmac.agents import Team, Weights, episode, fresh

__all__ = ["Curve", "returns", "train"]

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


def train(
    team: Team,
    rng: np.random.Generator,
    *,
    iterations: int,
    seeds: int = 5,
    every: int = 25,
    episodes: int = 256,
) -> Curve:
    """Train several seeds side by side, and evaluate them every so many iterations.

    Parameters
    ----------
    rng : numpy.random.Generator
        Gives the key of all random numbers.
    iterations, every : int
        Steps of Adam in all, a multiple of every; and between evaluations.
    episodes : int
        Greedy episodes of an evaluation, for each seed.
    """
    key = jax.random.key(int(rng.integers(2**32)))
    key, own = jax.random.split(key)
    weights = jax.vmap(partial(fresh, team))(jax.random.split(own, seeds))
    rate = optax.linear_schedule(*RATES, iterations)
    adam = optax.chain(optax.clip_by_global_norm(CLIP), optax.adam(rate))
    memory = jax.vmap(adam.init)(weights)

    def loss(weights: Weights, key: jax.Array) -> jax.Array:
        return -returns(team, weights, key, episodes=PARALLEL, greedy=False).mean()

    def update(weights: Weights, memory: optax.OptState, key: jax.Array) -> tuple:
        gradient = jax.grad(loss)(weights, key)
        change, memory = adam.update(gradient, memory, weights)
        return optax.apply_updates(weights, change), memory

    @jax.jit
    def block(weights: Weights, memory: optax.OptState, key: jax.Array) -> tuple:
        def one(carry: tuple, key: jax.Array) -> tuple[tuple, None]:
            return jax.vmap(update)(*carry, jax.random.split(key, seeds)), None

        *keys, last = jax.random.split(key, every + 1)
        carry, _ = jax.lax.scan(one, (weights, memory), jnp.stack(keys))
        return *carry, score(carry[0], last)

    @jax.jit
    def score(weights: Weights, key: jax.Array) -> jax.Array:
        ask = partial(returns, team, episodes=episodes)
        return jax.vmap(ask)(weights, jax.random.split(key, seeds)).mean(axis=1)

    key, own = jax.random.split(key)
    found = [score(weights, own)]
    for _ in range(iterations // every):
        key, own = jax.random.split(key)
        weights, memory, now = block(weights, memory, own)
        found.append(now)
    moves = PARALLEL * team.world.steps * every * np.arange(len(found))
    return Curve(moves, np.array(found, dtype=float), weights)
