r"""A team that must reach a target together, and who listens to whom.

Chen et al., Section 2.1 (cooperative Markov games, reach-avoid problems) and Section 3
(Assumption 2).

Model. Agent i has local states, local actions and transition probabilities
:math:`T_i(s_i, a_i, s'_i)`; a joint state is the tuple of local ones, and all agents
move at once and independently. The team starts in a joint state. An episode ends in
success once it is in the target set, and in failure once it is in the dead set: the
states to avoid, and those from which the target cannot be reached. All other joint
states are *active*. The local policy of agent i uses its own state and what the agents
in ``depends[i]`` tell; no agent may depend on itself through others (Assumption 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.mdp.model import Model, transition_law

__all__ = ["MarkovGame"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class MarkovGame(Model):
    """A reach-avoid problem of several agents, without discount.

    Parameters
    ----------
    transitions : tuple of numpy.ndarray, shapes (n_i, m_i, n_i)
        Transition probabilities of every agent, at ``[s, a, s']``.
    start : tuple of int
        The joint state in which the team starts, which is public.
    target, dead : numpy.ndarray of bool, shape (n_1, ..., n_N)
        Joint states in which an episode ends, in success and in failure.
    depends : tuple of tuples of int
        Whose states the policy of each agent uses, beside its own, in rising order.

    Examples
    --------
    Two lamps, each switched on or left alone. Both must burn; the second agent hears
    whether the first does.

    >>> lamp = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]
    >>> team = MarkovGame(transitions=(lamp, lamp), start=(0, 0), depends=((), (0,)),
    ...             target=[[False, False], [False, True]], dead=np.zeros((2, 2), bool))
    >>> team.n_states, team.n_actions, team.told
    (4, 4, (0,))
    """

    transitions: tuple[FloatArray, ...]
    start: tuple[int, ...]
    target: BoolArray
    dead: BoolArray
    depends: tuple[tuple[int, ...], ...]
    discount = 1.0

    def __post_init__(self) -> None:
        where = "MarkovGame"
        laws = tuple(
            transition_law(law, where, f"agent {i}, ")
            for i, law in enumerate(self.transitions)
        )
        object.__setattr__(self, "transitions", laws)
        shape = tuple(law.shape[0] for law in laws)
        for name in ("target", "dead"):
            value = np.array(getattr(self, name), dtype=bool)
            if value.shape != shape:
                check.fail(name, where, f"an array of shape {shape}", value.shape)
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        if np.any(self.target & self.dead) or not np.any(self.target):
            must = "one or more joint states, none of which is dead"
            check.fail("target", where, must, int(self.target.sum()))
        agents = range(len(laws))
        if len(self.start) != len(laws) or any(
            s not in range(n) for s, n in zip(self.start, shape, strict=True)
        ):
            check.fail(
                "start", where, f"one local state below {shape} each", self.start
            )
        if not self.active[self.start]:
            check.fail("start", where, "neither target nor dead", self.start)
        known = [
            sorted(set(on) & set(agents) - {i}) for i, on in enumerate(self.depends)
        ]
        if known != [list(on) for on in self.depends] or len(known) != len(laws):
            must = "the numbers of other agents, in rising order, for every agent"
            check.fail("depends", where, must, self.depends)
        try:
            TopologicalSorter(dict(enumerate(self.depends))).prepare()
        except CycleError as error:
            must = "without a circle of agents that depend on each other"
            check.fail("depends", where, must, error.args[1])

    @property
    def n_agents(self) -> int:
        """Number N of agents."""
        return len(self.transitions)

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of local states n_i."""
        return self.target.shape

    @property
    def actions(self) -> tuple[int, ...]:
        """Numbers of local actions m_i."""
        return tuple(law.shape[1] for law in self.transitions)

    @property
    def told(self) -> tuple[int, ...]:
        """Agents whose states others use, in rising order."""
        return tuple(sorted({j for on in self.depends for j in on}))

    @cached_property
    def active(self) -> BoolArray:
        """Joint states in which the episode goes on, shape (n_1, ..., n_N)."""
        return np.asarray(~(self.target | self.dead))
