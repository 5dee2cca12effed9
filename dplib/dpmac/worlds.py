r"""The particle worlds in which the agents live, as pure functions.

Zhao et al., Section 7: cooperative navigation (CN), cooperative communication and
navigation (CCN), predator and prey (PP), with the dynamics, observations and rewards of
the authors' published code, since the paper's appendix is not in our text.

Model. Bodies are discs of mass 1 in the plane. In each step of :math:`\Delta t = 0.1`
a body loses a quarter of its velocity and gains :math:`F \Delta t`, where F is the push
of its agent and, if it is solid, the repulsion of the solid bodies that it touches;
then it moves with its *new* velocity. (The simulator mpe2 moves it with the old one:
``order="old"``.) Everything is differentiable but the choices of the prey.

Shapes: n agents, b bodies (agents first, then prey), L landmarks. Functions take one
world; `jax.vmap` stacks many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

__all__ = ["CCN", "CN", "MOVES", "PP", "WORLDS", "State", "World", "step"]

DT, DAMPING, CONTACT, MARGIN, PUSH, PREY_PUSH = 0.1, 0.25, 100.0, 1e-3, 5.0, 7.0
VIEW = 1.2  # beyond it a predator takes a prey to be as far as the far corner

#: What the five actions do: stay, right, left, up, down.
MOVES = ((0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))


class State(NamedTuple):
    """Where everything is."""

    position: jax.Array  # (b, 2)
    velocity: jax.Array  # (b, 2)
    landmarks: jax.Array  # (L, 2)
    goals: jax.Array  # (n,) the landmark of each agent in CCN, which the other knows


@dataclass(frozen=True)
class World:
    """A task: who moves in it, what agents see, and what they are paid together."""

    name: str
    agents: int
    steps: int  # moves of an episode
    size: float  # radius of an agent
    start: Callable[[jax.Array], State]  # from a random key
    observe: Callable[[State], jax.Array]  # (n, observation)
    reward: Callable[[State], jax.Array]  # () what the team gets in this state
    solid: bool = True  # whether agents repel each other
    prey: int = 0

    @property
    def observation(self) -> int:
        """Length of an agent's observation."""
        start = jax.eval_shape(self.start, jax.random.key(0))
        return int(jax.eval_shape(self.observe, start).shape[1])


def step(world: World, state: State, push: jax.Array, *, order: str = "new") -> State:
    """Return the state after all bodies have moved at once.

    Parameters
    ----------
    push : jax.Array, shape (n, 2)
        Direction in which each agent pushes: ``actions @ MOVES``.
    order : {"new", "old"}
        Velocity with which bodies move: the authors' and the original simulator's, or
        mpe2's.

    Examples
    --------
    Two agents far apart, the first pushes to the right: v = 5 dt, x = v dt.

    >>> state = CCN.start(jax.random.key(0))
    >>> push = jnp.array([[1.0, 0.0], [0.0, 0.0]])
    >>> print((step(CCN, state, push).position - state.position).round(3))
    [[0.05 0.  ]
     [0.   0.  ]]
    """
    force = PUSH * push
    if world.prey:
        force = jnp.concatenate([force, PREY_PUSH * _flight(world, state)])
    if world.solid:
        force = force.at[: world.agents].add(_repulsion(world, state))
    velocity = (1.0 - DAMPING) * state.velocity + DT * force
    moving = velocity if order == "new" else state.velocity
    return state._replace(position=state.position + DT * moving, velocity=velocity)


def _repulsion(world: World, state: State) -> jax.Array:
    """Return the force on every agent by those that it touches, shape (n, 2)."""
    apart, far = _pairs(state.position[: world.agents])
    depth = MARGIN * jnp.logaddexp(0.0, (2.0 * world.size - far) / MARGIN)
    strength = jnp.where(jnp.eye(world.agents, dtype=bool), 0.0, CONTACT * depth / far)
    return jnp.sum(strength[..., None] * apart, axis=1)


def _pairs(position: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return differences (n, n, 2) and distances (n, n), 1 on the diagonal."""
    apart = position[:, None] - position[None]
    return apart, _distances(position, position) + jnp.eye(len(position))


def _distances(these: jax.Array, those: jax.Array) -> jax.Array:
    """Return distances, shape (these, those)."""
    square = jnp.sum((these[:, None] - those[None]) ** 2, axis=-1)
    return jnp.sqrt(jnp.maximum(square, 1e-24))  # a gradient also at distance 0


def _flight(world: World, state: State) -> jax.Array:
    """Return what each prey does, shape (prey, 2): it flees along the longer axis.

    Near the border it adds twice a push inwards; caught, it stays.
    """
    hunters, prey = state.position[: world.agents], state.position[world.agents :]

    def one(x: jax.Array) -> jax.Array:
        far = _distances(x[None], hunters)[0]
        away = (x - hunters[jnp.argmin(far)]) / far.min()
        size = jnp.abs(away)
        lead, least = jnp.argmax(size), jnp.argmin(size)  # the same in a tie
        away = away.at[lead].set(jnp.sign(away[lead])).at[least].set(0.0)
        place = jnp.abs(x)
        outside = (place > 0.8) & (place > place[::-1])
        back = jnp.where(outside, -2.0 * jnp.sign(x), 0.0)
        return jnp.where(far.min() <= world.size + PREY_SIZE, 0.0, away + back)

    return jax.vmap(one)(prey)


PREY_SIZE = 0.05


def _placed(agents: int, landmarks: int, prey: int = 0) -> Callable[..., State]:
    """Return the random start: bodies on [-1, 1]^2, landmarks on [-0.8, 0.8]^2."""

    def start(key: jax.Array) -> State:
        keys = jax.random.split(key, 3)
        bodies = (agents + prey, 2)
        return State(
            position=jax.random.uniform(keys[0], bodies, minval=-1.0),
            velocity=jnp.zeros(bodies),
            landmarks=0.8 * jax.random.uniform(keys[1], (landmarks, 2), minval=-1.0),
            goals=jax.random.randint(keys[2], (agents,), 0, max(landmarks, 1)),
        )

    return start


def _others(x: jax.Array) -> jax.Array:
    """Return each agent's own row of (n, n, ...) without itself, (n, n - 1, ...)."""
    n = len(x)
    index = jnp.array([[j for j in range(n) if j != i] for i in range(n)])
    return x[jnp.arange(n)[:, None], index]


def _flat(*parts: jax.Array) -> jax.Array:
    """Return what each agent sees as one row."""
    return jnp.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


# --- cooperative navigation -------------------------------------------------------


def _cn_observe(state: State) -> jax.Array:
    """Own velocity and position, landmarks and others relative to it, (3, 14)."""
    at = state.position
    others = _others(at[None] - at[:, None])
    return _flat(state.velocity, at, state.landmarks[None] - at[:, None], others)


def _cn_reward(state: State) -> jax.Array:
    """Sum over agents: distance of the nearest agent to each landmark, collisions.

    Each agent collides with itself in the authors' code: 3 less in every step.
    """
    near = _distances(state.landmarks, state.position).min(axis=1).sum()
    _, far = _pairs(state.position)
    touching = jnp.sum(far < 2.0 * CN_SIZE)  # ordered pairs; the diagonal is 1
    return -3.0 * near - touching - 3.0


CN_SIZE = 0.15
CN = World("CN", 3, 25, CN_SIZE, _placed(3, 3), _cn_observe, _cn_reward)


# --- cooperative communication and navigation -------------------------------------


def _ccn_observe(state: State) -> jax.Array:
    """Own velocity, landmarks relative to it, colour of the *other's* goal, (2, 11)."""
    at = state.position
    colour = 0.25 + 0.5 * jax.nn.one_hot(state.goals[::-1], 3)
    return _flat(state.velocity, state.landmarks[None] - at[:, None], colour)


def _ccn_reward(state: State) -> jax.Array:
    """Sum of squared distances of the agents to their goals, negative."""
    return -jnp.sum((state.position - state.landmarks[state.goals]) ** 2)


CCN = World("CCN", 2, 25, 0.05, _placed(2, 3), _ccn_observe, _ccn_reward, solid=False)


# --- predator and prey ------------------------------------------------------------


def _pp_observe(state: State) -> jax.Array:
    """Own velocity and position, one prey, the other two by distance, (3, 10)."""
    at, prey = state.position[:3], state.position[3:]
    far = _distances(at, prey)
    corner = jnp.sqrt(jnp.sum((jnp.abs(at) + 1.0) ** 2, axis=1, keepdims=True))
    nearest = prey[jnp.argmin(jnp.where(far <= VIEW, far, corner), axis=1)] - at
    others = _others(at[None] - at[:, None])
    order = jnp.argsort(jnp.sum(others**2, axis=-1), axis=1)
    others = jnp.take_along_axis(others, order[..., None], axis=1)
    return _flat(state.velocity[:3], at, nearest, others)


def _pp_reward(state: State) -> jax.Array:
    """Distance of the nearest predator to each prey; collisions, 1 for a pair."""
    at, prey = state.position[:3], state.position[3:]
    _, far = _pairs(at)
    return -_distances(prey, at).min(axis=1).sum() - 0.5 * jnp.sum(far < 2.0 * PP_SIZE)


PP_SIZE = 0.04
PP = World("PP", 3, 40, PP_SIZE, _placed(3, 0, 2), _pp_observe, _pp_reward, prey=2)

#: The worlds by the names of the paper.
WORLDS = {world.name: world for world in (CN, CCN, PP)}
