r"""Agents that see, hear, act and speak: four ways to talk on one actor.

Zhao et al., Section 5 (DPMAC) and Section 7 (the baselines TarMAC and MADDPG).

Model. In each step agent i acts on its observation :math:`o_i` and on :math:`q_i`, what
it has made of the messages of the others in the step before. Then it moves and speaks.
Agents differ only in how they talk:

- ``"none"`` (MADDPG): :math:`q_i = 0`.
- ``"dpmac"``: a message is drawn from :math:`N(\mu, \mathrm{diag}(s^2))`, with
  :math:`\mu` and :math:`s \in [1/e, e]` computed from :math:`(o_i, a_i)`; the receiver
  attends to the messages, and reads out of what it attends to.
- ``"plain"``: DPMAC with :math:`\mu` as message.
- ``"tarmac"``: a value and a signature of :math:`o_i`; the receiver weighs values by
  how well signatures answer a query made from its own observation.
- ``"i2c"``: a code of :math:`o_i`, which another agent asks for only if its *prior*
  network, trained by `dplib.dpmac.replay`, expects that it would act otherwise.

Privacy. Given a deviation ``sigma``, messages are scaled to the norm C and get Gaussian
noise, fresh for every message: at the sender, but for TarMAC and I2C at the receiver,
as the paper has it. Without it, messages have any norm.

Networks are lists of (weights, bias), with one leading axis for the agents.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp

from dplib import check
from dplib.dpmac.worlds import MOVES, State, World, step

__all__ = [
    "Episode",
    "Team",
    "act",
    "apply",
    "choose",
    "episode",
    "fresh",
    "hear",
    "others",
    "speak",
]

ACTIONS, MESSAGE, SIGNATURE = len(MOVES), 8, 16
TALKS = ("none", "plain", "dpmac", "tarmac", "i2c")

Network = list[tuple[jax.Array, jax.Array]]
Weights = dict[str, Network]


@dataclass(frozen=True)
class Team:
    """Which world, how agents talk in it, and how noisily."""

    world: World
    talk: str = "dpmac"  # one of TALKS
    sigma: float | None = None  # deviation of the privacy noise in each coordinate
    bound: float = 0.5  # C, the norm of private messages
    hidden: int = 64

    def __post_init__(self) -> None:
        check.member("talk", self.talk, "Team", TALKS)
        least = 1 if self.talk == "none" else 2
        check.integer("world.agents", self.world.agents, "Team", low=least)
        if self.sigma is not None:
            check.nonnegative("sigma", self.sigma, "Team")
        check.positive("bound", self.bound, "Team")
        check.integer("hidden", self.hidden, "Team", low=1)


class Episode(NamedTuple):
    """What happened, step by step; T moves."""

    states: State  # with a leading axis T, before each move
    rewards: jax.Array  # (T,) after each move
    messages: jax.Array  # (T, n, message) as sent after each move
    actions: jax.Array  # (T, n, ACTIONS)


def fresh(team: Team, key: jax.Array) -> Weights:
    """Return untrained networks of all agents."""
    n, seen, hidden = team.world.agents, team.world.observation, team.hidden
    sizes = {"actor": [seen + MESSAGE, hidden, hidden, ACTIONS]}
    if team.talk in ("dpmac", "plain"):
        sizes |= {"sender": [seen + ACTIONS, 32, 2 * MESSAGE]}
        sizes |= {"attention": [MESSAGE, 3 * 32], "reader": [32 * (n - 1), MESSAGE]}
    elif team.talk == "tarmac":
        sizes |= {"sender": [seen, 32, SIGNATURE + MESSAGE]}
        sizes |= {"query": [seen, 32, SIGNATURE]}
    elif team.talk == "i2c":
        sizes |= {"sender": [seen, 32, MESSAGE], "prior": [seen, 32, n - 1]}
    result = {}
    for name, widths in sizes.items():
        layers = []
        for fan, out in pairwise(widths):
            key, own = jax.random.split(key)
            w = jax.random.normal(own, (n, fan, out)) * jnp.sqrt(2.0 / fan)
            layers.append((w, jnp.zeros((n, out))))
        result[name] = layers
    last, bias = result["actor"][-1]
    result["actor"][-1] = (0.01 * last, bias)
    return result


def apply(network: Network, x: jax.Array) -> jax.Array:
    """Apply every agent's network to its own row, (n, in) to (n, out)."""
    for w, b in network[:-1]:
        x = jax.nn.relu(jnp.einsum("ni,nio->no", x, w) + b)
    w, b = network[-1]
    return jnp.einsum("ni,nio->no", x, w) + b


def _private(team: Team, x: jax.Array, key: jax.Array) -> jax.Array:
    """Scale to the norm C and add noise, if the team is private."""
    if team.sigma is None:
        return x
    norm = jnp.sqrt(jnp.sum(x**2, axis=-1, keepdims=True) + 1e-12)
    return team.bound / norm * x + team.sigma * jax.random.normal(key, x.shape)


def others(n: int) -> list[list[int]]:
    """Return the numbers of the other agents, for every agent."""
    return [[j for j in range(n) if j != i] for i in range(n)]


def speak(
    team: Team, weights: Weights, seen: jax.Array, actions: jax.Array, key: jax.Array
) -> jax.Array:
    """Return what every agent sends, (n, message)."""
    n = team.world.agents
    if team.talk == "none":
        return jnp.zeros((n, MESSAGE))
    if team.talk in ("tarmac", "i2c"):
        return apply(weights["sender"], seen)
    own, noise = jax.random.split(key)
    out = apply(weights["sender"], jnp.concatenate([seen, actions], axis=1))
    mean, width = out[:, :MESSAGE], jnp.exp(jnp.tanh(out[:, MESSAGE:]))
    if team.talk == "dpmac":
        mean = mean + width * jax.random.normal(own, mean.shape)
    return _private(team, mean, noise)


def hear(
    team: Team, weights: Weights, seen: jax.Array, sent: jax.Array, key: jax.Array
) -> jax.Array:
    """Return what every agent makes of the messages of the others, (n, MESSAGE)."""
    n = team.world.agents
    if team.talk == "none":
        return sent
    got = sent[jnp.array(others(n))]  # (n, n - 1, message)
    if team.talk == "tarmac":
        signature, value = got[..., :SIGNATURE], got[..., SIGNATURE:]
        query = apply(weights["query"], seen)
        match = jnp.einsum("nd,njd->nj", query, signature) / SIGNATURE**0.5
        merged = jnp.einsum("nj,njd->nd", jax.nn.softmax(match), value)
        return _private(team, merged, key)
    if team.talk == "i2c":
        asked = (apply(weights["prior"], seen) > 0.0).astype(got.dtype)
        total = jnp.maximum(asked.sum(axis=1, keepdims=True), 1.0)
        return _private(team, jnp.einsum("nj,njd->nd", asked / total, got), key)
    w, b = weights["attention"][0]
    queries, keys, values = jnp.split(
        jnp.einsum("nji,nio->njo", got, w) + b[:, None], 3, axis=-1
    )
    match = jnp.einsum("njd,nkd->njk", queries, keys) / 32**0.5
    read = jnp.einsum("njk,nkd->njd", jax.nn.softmax(match), values)
    return apply(weights["reader"], read.reshape(n, -1))


def act(weights: Weights, seen: jax.Array, heard: jax.Array) -> jax.Array:
    """Return the logits of every agent's actions, (n, ACTIONS)."""
    return apply(weights["actor"], jnp.concatenate([seen, heard], axis=1))


def choose(logits: jax.Array, key: jax.Array, greedy: bool) -> jax.Array:
    """Return one action each: the best, or one drawn by Gumbel noise.

    Drawn ones have the gradient of the softmax (straight through).
    """
    if greedy:
        return jax.nn.one_hot(jnp.argmax(logits, axis=1), ACTIONS)
    soft = jax.nn.softmax(logits + jax.random.gumbel(key, logits.shape))
    hard = jax.nn.one_hot(jnp.argmax(soft, axis=1), ACTIONS)
    return hard + soft - jax.lax.stop_gradient(soft)


def episode(
    team: Team, weights: Weights, key: jax.Array, *, greedy: bool = False
) -> Episode:
    """Return one episode; differentiable in the weights, step by step.

    Messages reach the others one step after they were made; in the first step all
    agents hear what messages of zeros make them hear.
    """
    world = team.world
    begin, key = jax.random.split(key)

    def one(
        carry: tuple[State, jax.Array], key: jax.Array
    ) -> tuple[tuple[State, jax.Array], Episode]:
        state, sent = carry
        keys = jax.random.split(key, 3)
        seen = world.observe(state)
        heard = hear(team, weights, seen, sent, keys[0])
        actions = choose(act(weights, seen, heard), keys[1], greedy)
        after = step(world, state, actions @ jnp.array(MOVES))
        sent = speak(team, weights, seen, actions, keys[2])
        return (after, sent), Episode(state, world.reward(after), sent, actions)

    silence = jnp.zeros(
        (world.agents, SIGNATURE + MESSAGE if team.talk == "tarmac" else MESSAGE)
    )
    start = world.start(begin), silence
    return jax.lax.scan(one, start, jax.random.split(key, world.steps))[1]
