r"""A team's Markov decision process: agents that move independently of each other.

Benvenuti et al., Section 2.1 (Definition 1, transitions of a multi-agent MDP).

Model. Agent i has :math:`n_i` local states, :math:`m_i` local actions and transition
probabilities :math:`T_i`. A joint state is the tuple of local ones, a joint action
likewise, and

.. math:: T(s, a, s') = \prod_i T_i(s_i, a_i, s'_i) .

Joint states and joint actions count in C order, agent 0 slowest
(`numpy.ravel_multi_index`). The product, an array of :math:`n^2 m` numbers, is not
stored: the mean over s' is taken agent by agent, one axis at a time. For each (s, a)
that costs in the order of :math:`\sum_i` of the local successors, not their product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplib.mdp.model import MDP, Model, discount_factor, transition_law

__all__ = ["FactoredMDP", "backup_operations", "dense", "dense_operations"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FactoredMDP(Model):
    """A Markov decision process of several agents, each with its own dynamics.

    Parameters
    ----------
    transitions : sequence of numpy.ndarray, shapes (n_i, m_i, n_i)
        One array for every agent, as in `dplib.mdp.model.MDP`. Agents may differ.
    discount : float
        Discount factor, strictly between 0 and 1.

    Examples
    --------
    >>> coin = [[[0.5, 0.5]], [[0.5, 0.5]]]
    >>> lamp = [[[1.0], [1.0], [1.0]]]
    >>> team = FactoredMDP([coin, lamp], 0.9)
    >>> team.n_states, team.n_actions
    (2, 3)
    """

    transitions: tuple[FloatArray, ...]
    discount: float

    def __post_init__(self) -> None:
        where = "FactoredMDP"
        laws = tuple(
            transition_law(law, where, f"agent {i}, ")
            for i, law in enumerate(self.transitions)
        )
        object.__setattr__(self, "transitions", laws)
        object.__setattr__(self, "discount", discount_factor(self.discount, where))

    @property
    def n_agents(self) -> int:
        """Number N of agents."""
        return len(self.transitions)

    @property
    def states(self) -> tuple[int, ...]:
        """Numbers of local states n_i."""
        return tuple(law.shape[0] for law in self.transitions)

    @property
    def actions(self) -> tuple[int, ...]:
        """Numbers of local actions m_i."""
        return tuple(law.shape[1] for law in self.transitions)


def dense(model: Model) -> MDP:
    """Return the same process with all n * m * n joint transitions, for small teams.

    Examples
    --------
    >>> swap = [[[0.0, 1.0]], [[1.0, 0.0]]]
    >>> dense(FactoredMDP([swap, swap], 0.9)).transitions[1, 0]
    array([0., 0., 1., 0.])
    """
    law = model.factors[0]
    for own in model.factors[1:]:
        n, m = law.shape[0] * own.shape[0], law.shape[1] * own.shape[1]
        law = np.einsum("sat,ubv->suabtv", law, own).reshape(n, m, n)
    return MDP(law, model.discount)


def backup_operations(model: Model) -> int:
    r"""Return the multiplications of one backup, agent by agent.

    With :math:`k_i` successors of agent i in all (what is not zero in :math:`T_i`), the
    last agent first:

    .. math:: n \sum_i \frac{k_i}{n_i} \prod_{l > i} m_l .

    Examples
    --------
    Two coins that are tossed: 4 joint states, one action, 2 successors an agent.

    >>> coin = [[[0.5, 0.5]], [[0.5, 0.5]]]
    >>> team = FactoredMDP([coin, coin], 0.9)
    >>> backup_operations(team), dense_operations(team)
    (16, 16)
    """
    total, later = 0, 1
    for law in reversed(model.factors):
        total += model.n_states // law.shape[0] * np.count_nonzero(law) * later
        later *= law.shape[1]
    return int(total)


def dense_operations(model: Model) -> int:
    """Return the multiplications of one backup with stored joint transitions.

    Only those that are not zero count: the product of the agents' numbers.

    Examples
    --------
    >>> stay = [[[1.0, 0.0]], [[0.0, 1.0]]]
    >>> dense_operations(FactoredMDP([stay, stay], 0.9))
    4
    """
    return math.prod(int(np.count_nonzero(law)) for law in model.factors)
