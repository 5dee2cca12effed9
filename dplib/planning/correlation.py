r"""Total correlation: how much the agents' paths depend on each other, in nats.

Chen et al., Equation 1 and Section 6.

Model. Equation 1 is the sum of the entropies of the agents' own state-action paths,
less the entropy of the joint path, with truthful communication, up to the end of the
episode. An agent's own path is a hidden Markov chain, whose entropy has no closed form.
The *proxy* bounds it by that of a Markov chain with the same local occupancy measure;
transitions are independent and cancel. With x the joint occupancy measure, stopping
counted as an action,

.. math:: C(x) = -\sum_i \sum_{s_i, a_i} x_{s_i a_i} \ln \frac{x_{s_i a_i}}{x_{s_i}}
   + \sum_{s, a} x_{s a} \ln \frac{x_{s a}}{x_s} .
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from dplib.planning.game import MarkovGame

__all__ = ["local_counts", "proxy"]

FloatArray = NDArray[np.float64]


def local_counts(team: MarkovGame, occupancy: FloatArray) -> list[FloatArray]:
    """Return each agent's own occupancy measure, shapes (n_i, m_i + 1)."""
    N = team.n_agents
    axes = range(2 * N)
    return [
        occupancy.sum(axis=tuple(axis for axis in axes if axis not in (i, N + i)))
        for i in range(N)
    ]


def proxy(team: MarkovGame, occupancy: FloatArray) -> float:
    """Return C(x), which is at least the total correlation of Equation 1.

    Parameters
    ----------
    team : MarkovGame
        The problem.
    occupancy : numpy.ndarray, shape (n_1, ..., n_N, m_1 + 1, ..., m_N + 1)
        Joint occupancy measure; the last action of each agent is to have stopped.
    """
    own = sum(_entropy(x) for x in local_counts(team, occupancy))
    return own - _entropy(occupancy.reshape(team.n_states, -1))


def _entropy(x: FloatArray) -> float:
    """Return the conditional entropy of the action, added over all visits."""
    return -float(rel_entr(x, x.sum(axis=1, keepdims=True)).sum())
