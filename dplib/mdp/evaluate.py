r"""The exact values of a given policy.

Benvenuti et al., Section 2.1 (value function); Puterman (1994), Section 6.1.

Model. A deterministic policy :math:`\pi` earns :math:`r_\pi(s) = r(s, \pi(s))` and
moves by :math:`T_\pi(s, s') = T(s, \pi(s), s')`. Its values solve the linear system

.. math:: (I - \gamma T_\pi) \, v = r_\pi .

It is solved directly, by a dense factorisation up to `DENSE` states and a sparse one
above. The residual of what comes out certifies it: the error is at most
:math:`\|r_\pi + \gamma T_\pi v - v\|_\infty / (1 - \gamma)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import spsolve

from dplib.mdp.kernel import policy_rows
from dplib.mdp.model import Model

__all__ = ["evaluate"]

FloatArray = NDArray[np.float64]

#: Number of states up to which a dense factorisation is the faster one.
DENSE = 1024

#: Certified relative error above which an evaluation raises.
ACCURACY = 1e-8


def evaluate(model: Model, rewards: ArrayLike, policy: ArrayLike) -> FloatArray:
    """Return the values of a policy under any rewards, shape (n,).

    Under *private* rewards these are what the policy believes to earn, under the
    *true* ones what it earns.

    Parameters
    ----------
    model : Model
        The dynamics.
    rewards : array_like, shape (n, m)
        Reward for each state and action.
    policy : array_like of int, shape (n,)
        The action in each state.

    Raises
    ------
    RuntimeError
        If the certified error exceeds 1e-8 of the largest value: the discount is too
        close to 1 for double precision, or the rewards cancel to values that are
        small beside them.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> evaluate(model, [[1, 3], [0, 0]], [0, 0])
    array([2., 0.])
    """
    n, gamma = model.n_states, model.discount
    actions = np.asarray(policy, dtype=np.int64)
    earned = np.asarray(rewards, dtype=float)[np.arange(n), actions]
    first, column, weight = policy_rows(model.rows, actions)
    move: csr_array = csr_array((weight, column, first), shape=(n, n))
    if n <= DENSE:
        solved = np.linalg.solve(np.eye(n) - gamma * move.toarray(), earned)
    else:
        system = eye_array(n, format="csc") - gamma * move.tocsc()
        solved = spsolve(system.tocsc(), earned)
    values = np.asarray(solved, dtype=np.float64)
    gap = float(np.abs(earned + gamma * (move @ values) - values).max())
    longest = int(np.diff(first).max())
    scale = float(np.abs(earned).max() + 2.0 * np.abs(values).max())
    rounding = (2 * longest + 6) * np.finfo(float).eps * scale
    bound = (gap + rounding) / (1.0 - gamma)
    if not bound <= ACCURACY * float(np.abs(values).max()):
        raise RuntimeError(
            f"evaluate could not certify the values: their error may be {bound:.3g}."
        )
    return values
