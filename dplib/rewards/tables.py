r"""Reward tables, and the map J from the agents' to the joint one.

Benvenuti et al., Sections 2.1, 2.2 and 3.1, and Appendix A.

Model. N agents are in one of n joint states s. Agent i has :math:`m_i` local actions
and the *table* :math:`r^i(s, a^i)`, an array of shape (n, m_i). With the joint action
:math:`a = (a^1, \dots, a^N)`, one of :math:`m = m_1 \cdots m_N`, the joint reward is

.. math:: r(s, a) = J(r^1, \dots, r^N)(s, a) = \frac1N \sum_i r^i(s, a^i) ,

an array of shape (n, m). Joint actions count in C order: agent 0 slowest, as in
`numpy.ravel_multi_index`. J acts on every state for itself. One entry of agent i's
table appears in :math:`\mu_i = \prod_{l \ne i} m_l` entries of r, each time over N.

Adjacency. Two data are adjacent if one entry of one agent's table differs, by at most
b (Definition 3 and Remark 5). That is what is protected: not a whole reward function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check

__all__ = ["appearances", "averaging_matrix", "joint_reward", "reward_tables"]

FloatArray = NDArray[np.float64]


def reward_tables(tables: Sequence[ArrayLike], where: str) -> list[FloatArray]:
    """Return the agents' tables as arrays of shapes (n, m_i), checked to fit together.

    Examples
    --------
    >>> [table.shape for table in reward_tables([[[1, 2]], [[3, 4, 5]]], "f")]
    [(1, 2), (1, 3)]
    """
    arrays: list[FloatArray] = []
    for table in tables:
        n_states = arrays[0].shape[0] if arrays else None
        arrays.append(check.array("tables", table, where, shape=(n_states, None)))
    if not arrays or min(table.size for table in arrays) == 0:
        check.fail("tables", where, "one table or more, with entries", tables)
    return arrays


def joint_reward(tables: Sequence[FloatArray]) -> FloatArray:
    """Return the joint reward J(tables), the mean of what the agents earn.

    Parameters
    ----------
    tables : sequence of array, shapes (..., n, m_i)
        The agents' rewards; all but the last axis agree.

    Returns
    -------
    numpy.ndarray, shape (..., n, m)

    References
    ----------
    Benvenuti et al., Definition 2, Equation 1 and Remark 2.

    Examples
    --------
    Agents with two actions and with three, in one state:

    >>> joint_reward([np.array([[0.0, 6.0]]), np.array([[0.0, 2.0, 4.0]])])
    array([[0., 1., 2., 3., 4., 5.]])
    """
    total = tables[0]
    for table in tables[1:]:
        pairs = total[..., :, None] + table[..., None, :]
        total = pairs.reshape(*table.shape[:-1], -1)
    return np.asarray(total / len(tables))


def appearances(actions: Sequence[int]) -> tuple[int, ...]:
    r"""Return :math:`\mu_i`, the joint actions that hold one given action of agent i.

    Their maximum is the paper's mu.

    Examples
    --------
    >>> appearances([2, 3, 5])
    (15, 10, 6)
    """
    return tuple(math.prod(actions) // count for count in actions)


def averaging_matrix(actions: Sequence[int]) -> FloatArray:
    """Return J in one state as a matrix, for small teams.

    Returns
    -------
    numpy.ndarray, shape (m, m_0 + ... + m_{N-1})
        Times the agents' rows, one after the other, it is the joint reward.

    Examples
    --------
    >>> averaging_matrix([1, 2])
    array([[0.5, 0.5, 0. ],
           [0.5, 0. , 0.5]])
    """
    local = np.indices(tuple(actions)).reshape(len(actions), -1)
    columns = [
        own[:, None] == np.arange(count)
        for own, count in zip(local, actions, strict=True)
    ]
    return np.asarray(np.concatenate(columns, axis=1) / len(actions))
