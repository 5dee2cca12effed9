"""A particle world behind PettingZoo's interface, for tools that are not of this book.

Zhao et al., Section 7. All agents move at once, so it is a ``ParallelEnv``: actions in,
and observations, rewards and ends out, all of them dictionaries with a key per agent.
Every agent is paid the whole reward of the team, as in the authors' code. An episode is
truncated after ``world.steps`` moves; nothing ends it earlier.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from dplib import check
from dplib.dpmac.worlds import MOVES, State, World, step

__all__ = ["ParticleEnv"]

Observations = dict[str, NDArray[np.float32]]


class ParticleEnv(ParallelEnv[str, NDArray[np.float32], int]):  # type: ignore[misc]
    """One world; its agents are ``agent_0``, ``agent_1``, ...

    An action is a number in 0..4: a row of `MOVES`.

    Attributes
    ----------
    state : State
        Where everything is now.

    Examples
    --------
    >>> from dplib.dpmac.worlds import CN
    >>> env = ParticleEnv(CN)
    >>> seen, _ = env.reset(seed=1)
    >>> env.observation_space("agent_0").contains(seen["agent_0"])
    True
    >>> env.action_space("agent_0")
    Discrete(5)
    >>> seen, paid, _, _, _ = env.step({agent: 0 for agent in env.agents})
    >>> len(set(paid.values()))
    1
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.metadata = {"name": world.name, "render_modes": []}
        self.render_mode = None
        self.possible_agents = [f"agent_{i}" for i in range(world.agents)]
        self.agents: list[str] = []
        shape, names = (world.observation,), self.possible_agents
        self._seen = {a: Box(-np.inf, np.inf, shape, np.float32) for a in names}
        self._actions = {a: Discrete(len(MOVES)) for a in names}
        self._seed, self._episode = 0, -1

    def observation_space(self, agent: str) -> Box:
        """Return what an agent may see."""
        return self._seen[agent]

    def action_space(self, agent: str) -> Discrete:
        """Return what an agent may do."""
        return self._actions[agent]

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> tuple[Observations, dict[str, dict[str, Any]]]:
        """Return the first observations of a new episode, and nothing else to know.

        Episode e (0, 1, ...) after ``reset(seed=s)`` begins at
        ``world.start(fold_in(key(s), e))``, with the functions of `jax.random`. If no
        seed was ever given, it is 0. There are no `options`.
        """
        if seed is not None:
            self._seed = check.integer("seed", seed, "reset", low=0, high=2**32 - 1)
            self._episode = -1
        self._episode += 1
        self._moves = 0
        self.agents = list(self.possible_agents)
        key = jax.random.fold_in(jax.random.key(self._seed), self._episode)
        self.state, seen = _begin(self.world, key)
        return self._each(seen), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[
        Observations,
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Move all agents; return what they see, are paid, two ends, and no more."""
        if not self.agents or set(actions) != set(self.agents):
            must = f"a dict with the keys {self.agents} (none: call reset)"
            check.fail("actions", "step", must, actions)
        moves = [
            check.integer(f"actions[{agent}]", actions[agent], "step", low=0, high=4)
            for agent in self.agents
        ]
        self.state, seen, reward = _advance(self.world, self.state, np.array(moves))
        self._moves += 1
        over = self._moves == self.world.steps
        names = self.agents
        self.agents = [] if over else names
        return (
            self._each(seen),
            dict.fromkeys(names, float(reward)),
            dict.fromkeys(names, False),
            dict.fromkeys(names, over),
            {agent: {} for agent in names},
        )

    def _each(self, seen: jax.Array) -> Observations:
        """Return the rows by agent, as arrays that may be written to."""
        return dict(zip(self.possible_agents, np.array(seen, np.float32), strict=True))


@partial(jax.jit, static_argnums=0)
def _begin(world: World, key: jax.Array) -> tuple[State, jax.Array]:
    state = world.start(key)
    return state, world.observe(state)


@partial(jax.jit, static_argnums=0)
def _advance(
    world: World, state: State, moves: jax.Array
) -> tuple[State, jax.Array, jax.Array]:
    after = step(world, state, jnp.array(MOVES)[moves])
    return after, world.observe(after), world.reward(after)
