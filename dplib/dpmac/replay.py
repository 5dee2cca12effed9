r"""Training by a replayed actor-critic, as the paper does it.

Zhao et al., Section 5.2 and 7; Lowe et al., *Multi-agent actor-critic for mixed
cooperative-competitive environments* (MADDPG), 2017; Ding et al., *Learning
individually inferred communication* (I2C), 2020.

Model. Played moves go into a memory. A critic :math:`Q(o, a)`, which sees what all
agents see and do, is fitted to :math:`r + \gamma Q'(o', a')` on a batch of them, where
primes mean slowly following copies and :math:`a'` what the actors would do next. Then
all actors, senders and receivers take a step along the gradient of :math:`Q(o, a)`, in
which :math:`a` is what they would do now, on messages made anew from what was seen and
done a move earlier.

In the first move of an episode, messages are made of zeros. Before training, `FIRST`
episodes are played by untrained agents, which the curve does not count.

The reward is shared, so one critic serves all agents (the authors train one each).
Networks have no memory (the authors' have a recurrent layer of 128 units).

I2C asks agent j if that changes what agent i does: if the actions that Q favours,
:math:`p(a_i, a_j) \propto e^{Q}`, differ in the mean over :math:`a_j` from those at the
actual :math:`a_j`, by a divergence above the median of the batch.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from dplib.dpmac.agents import (
    ACTIONS,
    Team,
    Weights,
    act,
    apply,
    choose,
    episode,
    fresh,
    hear,
    others,
    speak,
)
from dplib.dpmac.training import Curve, stacked

__all__ = ["train"]

PLAYED = 8  # episodes played in an iteration, for each seed
KEPT, FIRST = 1_000, 200  # episodes in memory at most, and before training
BATCH, UPDATES = 512, 2  # moves in a batch; batches in an iteration
RATE, CLIP = 1e-3, 1.0  # Adam's, and the largest norm of a gradient
FOLLOW, DISCOUNT = 0.01, 0.95
FLAT = 1e-2  # penalty on squared logits, which keeps actors trying things
CRITIC = 64  # units of each of the two layers of the critic


class Moves(NamedTuple):
    """What is remembered of moves; the first axis counts them."""

    before: jax.Array  # (m, n, observation) seen a move earlier
    did: jax.Array  # (m, n, ACTIONS) done a move earlier
    seen: jax.Array
    actions: jax.Array
    reward: jax.Array  # (m,)
    after: jax.Array  # (m, n, observation)


class Learner(NamedTuple):
    """Everything that training changes, of one seed."""

    weights: Weights
    critic: Any
    slow: tuple[Weights, Any]  # the copies that follow
    optimisers: tuple[Any, Any]
    memory: Moves
    played: jax.Array  # iterations so far


def _critic(critic: Any, seen: jax.Array, actions: jax.Array) -> jax.Array:
    """Return Q of one joint move, ()."""
    x = jnp.concatenate([seen.ravel(), actions.ravel()])
    for w, b in critic[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = critic[-1]
    return (x @ w + b)[0]


def _play(team: Team, weights: Weights, key: jax.Array) -> Moves:
    """Return the moves of one episode with drawn actions."""
    played = episode(team, weights, key)
    seen = jax.vmap(team.world.observe)(played.states)
    first = jnp.zeros_like(seen[:1])
    # What is seen after the last move is not known: that move is left out.
    return Moves(
        jnp.concatenate([first, seen[:-2]]),
        jnp.concatenate([jnp.zeros_like(played.actions[:1]), played.actions[:-2]]),
        seen[:-1],
        jax.lax.stop_gradient(played.actions[:-1]),
        played.rewards[:-1],
        seen[1:],
    )


def _logits(
    team: Team,
    weights: Weights,
    before: jax.Array,
    did: jax.Array,
    seen: jax.Array,
    key: jax.Array,
) -> jax.Array:
    """Return what the agents lean to, on messages that are made anew, (n, ACTIONS)."""
    keys = jax.random.split(key)
    sent = speak(team, weights, before, did, keys[0])
    heard = hear(team, weights, seen, sent, keys[1])
    return act(weights, seen, heard)


def _influence(critic: Any, moves: Moves, i: int, j: int) -> jax.Array:
    """Return how much the action of j matters for that of i, in nats, of one move."""

    def value(mine: jax.Array, theirs: jax.Array) -> jax.Array:
        joint = moves.actions.at[i].set(mine).at[j].set(theirs)
        return _critic(critic, moves.seen, joint)

    every = jnp.eye(ACTIONS)
    table = jax.vmap(lambda a: jax.vmap(lambda b: value(a, b))(every))(every)
    given = jax.nn.log_softmax(table @ moves.actions[j])
    mean = jax.nn.log_softmax(jax.nn.logsumexp(table, axis=1))
    return jnp.sum(jnp.exp(given) * (given - mean))


def _losses(team: Team, scale: tuple[jax.Array, jax.Array]) -> tuple[Any, Any]:
    """Return the losses of the critic and of the agents on a batch."""

    def critic_loss(
        critic: Any, slow: tuple[Weights, Any], batch: Moves, keys: jax.Array
    ) -> jax.Array:
        mean, spread = scale

        def one(move: Moves, key: jax.Array) -> jax.Array:
            own, key = jax.random.split(key)
            logits = _logits(team, slow[0], move.seen, move.actions, move.after, own)
            there = choose(logits, key, False)
            target = (move.reward - mean) / spread
            target += DISCOUNT * _critic(slow[1], move.after, there)
            found = _critic(critic, move.seen, move.actions)
            return (found - jax.lax.stop_gradient(target)) ** 2

        return jax.vmap(one)(batch, keys).mean()

    def agents_loss(
        weights: Weights, critic: Any, batch: Moves, keys: jax.Array
    ) -> jax.Array:
        def one(move: Moves, key: jax.Array) -> jax.Array:
            own, key = jax.random.split(key)
            logits = _logits(team, weights, move.before, move.did, move.seen, own)
            did = choose(logits, key, False)
            return FLAT * jnp.mean(logits**2) - _critic(critic, move.seen, did)

        loss = jax.vmap(one)(batch, keys).mean()
        if team.talk == "i2c":
            loss += _prior_loss(team, weights, critic, batch)
        return loss

    return critic_loss, agents_loss


def _prior_loss(team: Team, weights: Weights, critic: Any, batch: Moves) -> jax.Array:
    """Return the cross-entropy of whom the prior networks ask, and whom they should."""
    n = team.world.agents
    asks = jax.vmap(partial(apply, weights["prior"]))(batch.seen)  # (m, n, n - 1)
    pairs = [(i, j) for i in range(n) for j in others(n)[i]]
    effect = jnp.stack(
        [
            jax.vmap(lambda m, i=i, j=j: _influence(critic, m, i, j))(batch)
            for i, j in pairs
        ],
        axis=1,
    )
    label = (effect > jnp.median(effect)).astype(float).reshape(asks.shape)
    label = jax.lax.stop_gradient(label)
    return optax.sigmoid_binary_cross_entropy(asks, label).mean()


def train(
    team: Team,
    rng: np.random.Generator,
    *,
    iterations: int,
    seeds: int = 5,
    every: int = 50,
    episodes: int = 256,
    points: int | None = None,
) -> Curve:
    """Train several seeds side by side; parameters as in `training.train`."""
    world = team.world
    length = world.steps - 1  # moves of an episode that are remembered
    adam = optax.chain(optax.clip_by_global_norm(CLIP), optax.adam(RATE))

    def begin(key: jax.Array) -> Learner:
        keys = jax.random.split(key, 4)
        weights = fresh(team, keys[0])
        widths = [world.agents * (world.observation + ACTIONS), CRITIC, CRITIC, 1]
        critic = [
            (jax.random.normal(k, (a, b)) * jnp.sqrt(2.0 / a), jnp.zeros(b))
            for k, a, b in zip(keys[1:], widths[:-1], widths[1:], strict=True)
        ]
        # Untrained agents draw their actions evenly.
        some = jax.vmap(partial(_play, team, weights))(jax.random.split(key, FIRST))
        rest = (KEPT - FIRST) * length
        memory = jax.tree.map(
            lambda x: jnp.pad(
                x.reshape(-1, *x.shape[2:]), [(0, rest)] + [(0, 0)] * (x.ndim - 2)
            ),
            some,
        )
        optimisers = adam.init(weights), adam.init(critic)
        return Learner(
            weights,
            critic,
            (weights, critic),
            optimisers,
            memory,
            jnp.array(FIRST // PLAYED),
        )

    def iterate(learner: Learner, key: jax.Array) -> Learner:
        key, own = jax.random.split(key)
        play = partial(_play, team, learner.weights)
        fresh_moves = jax.vmap(play)(jax.random.split(own, PLAYED))
        at = (learner.played * PLAYED * length) % (KEPT * length)
        memory = jax.tree.map(
            lambda old, new: jax.lax.dynamic_update_slice_in_dim(
                old, new.reshape(-1, *new.shape[2:]), at, axis=0
            ),
            learner.memory,
            fresh_moves,
        )
        learner = learner._replace(memory=memory, played=learner.played + 1)
        filled = jnp.minimum(learner.played * PLAYED, KEPT) * length
        for own in jax.random.split(key, UPDATES):
            learner = _update(team, adam, learner, filled, own)
        return learner

    blocks = iterations // every if points is None else points - 1
    counts = {"blocks": blocks, "seeds": seeds, "every": every}
    return stacked(team, rng, begin, iterate, **counts, plays=PLAYED, tests=episodes)


def _update(
    team: Team,
    adam: optax.GradientTransformation,
    learner: Learner,
    filled: jax.Array,
    key: jax.Array,
) -> Learner:
    """Take one step of the critic, one of the agents, and let the copies follow."""
    weights, critic, slow, (own, its), memory, _ = learner
    keys = jax.random.split(key, 3)
    index = jax.random.randint(keys[0], (BATCH,), 0, filled)
    batch = jax.tree.map(lambda x: x[index], memory)
    scale = batch.reward.mean(), batch.reward.std() + 1e-6
    critic_loss, agents_loss = _losses(team, scale)
    noise = jax.random.split(keys[1], BATCH)
    gradient = jax.grad(critic_loss)(critic, slow, batch, noise)
    change, its = adam.update(gradient, its, critic)
    critic = optax.apply_updates(critic, change)
    noise = jax.random.split(keys[2], BATCH)
    gradient = jax.grad(agents_loss)(weights, critic, batch, noise)
    change, own = adam.update(gradient, own, weights)
    weights = optax.apply_updates(weights, change)
    slow = optax.incremental_update((weights, critic), slow, FOLLOW)
    return learner._replace(
        weights=weights, critic=critic, slow=slow, optimisers=(own, its)
    )
