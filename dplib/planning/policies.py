r"""Local policies: what each agent does, given its own state and what it is told.

Chen et al., Section 6 (the marginalisation after Equation 3).

Model. The policy of agent i is an array with an axis for each agent in ``depends[i]``,
then one for its own state, and one for its actions. It is read off the joint occupancy
measure x: how often the team is in a joint state and takes a joint action,

.. math:: \pi^i(s_{\text{dep}}, s_i, a_i) \propto
   \sum_{\text{others' states and actions}} x_{s, a} .

What never happens under x has a quotient of nothing by nothing. `synthesis` leaves a
trace everywhere, with which such observations get the uniform policy. They never occur
if agents tell the truth, and often if they do not: `complete` fills them otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dplib.planning.game import MarkovGame

__all__ = ["Policies", "complete", "counts", "marginalise"]

FloatArray = NDArray[np.float64]

Policies = tuple[FloatArray, ...]
"""One array for each agent, of shape (n of each in depends[i]..., n_i, m_i)."""


def counts(team: MarkovGame, occupancy: FloatArray) -> Policies:
    """Return how often each agent takes each action at each observation.

    Parameters
    ----------
    team : MarkovGame
        Says who depends on whom.
    occupancy : numpy.ndarray, shape (n_1, ..., n_N, m_1 + 1, ..., m_N + 1)
        Joint occupancy measure; the last action of each agent is to have stopped.
    """
    N, result = team.n_agents, []
    for i, on in enumerate(team.depends):
        kept = {*on, i, N + i}
        gone = tuple(axis for axis in range(2 * N) if axis not in kept)
        # Axes left: dependencies and own state in rising order, then the action.
        sums = occupancy.sum(axis=gone)
        own = sorted((*on, i)).index(i)
        result.append(np.moveaxis(sums, own, -2)[..., : team.actions[i]])
    return tuple(result)


def marginalise(team: MarkovGame, occupancy: FloatArray) -> Policies:
    """Return the local policies that a joint occupancy measure induces."""
    return tuple(
        table / table.sum(axis=-1, keepdims=True) for table in counts(team, occupancy)
    )


def complete(team: MarkovGame, occupancy: FloatArray, *, kappa: float) -> Policies:
    r"""Return local policies that fall back on the agent's own state.

    Where the observation is rare, agent i acts as it does on average in its own state:
    with :math:`q^i(a_i | s_i)` from the same occupancy measure,
    :math:`\pi^i \propto x(s_{\text{dep}}, s_i, a_i) + \kappa \, q^i(a_i | s_i)`.
    """
    result = []
    for table in counts(team, occupancy):
        own = table.sum(axis=tuple(range(table.ndim - 2)))
        mixed = table + kappa * own / own.sum(axis=-1, keepdims=True)
        result.append(mixed / mixed.sum(axis=-1, keepdims=True))
    return tuple(result)
