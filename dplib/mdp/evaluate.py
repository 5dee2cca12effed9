r"""The exact values of a given policy.

Benvenuti et al., Section 2.1 (value function); Puterman (1994), Section 6.1.

Model. A deterministic policy :math:`\pi` earns :math:`r_\pi(s) = r(s, \pi(s))` and
moves by :math:`T_\pi(s, s') = T(s, \pi(s), s')`. Its values solve the linear system

.. math:: (I - \gamma T_\pi) \, v = r_\pi .

It is solved directly, by a dense factorisation up to `DENSE` states and a sparse one
above; no iteration is cut off anywhere. The residual of what comes out certifies it:
the error is at most :math:`\|r_\pi + \gamma T_\pi v - v\|_\infty / (1 - \gamma)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import spsolve

from dplib import check
from dplib.mdp.kernel import policy_rows
from dplib.mdp.model import Model, action_values

__all__ = ["evaluate", "evaluation_bound", "policy_array", "policy_transitions"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Number of states up to which a dense factorisation is the faster one.
DENSE = 1024

#: Certified relative error above which an evaluation raises.
ACCURACY = 1e-8


def evaluate(model: Model, rewards: ArrayLike, policy: ArrayLike) -> FloatArray:
    """Return the values of a policy under any rewards.

    Under *private* rewards these are what the policy believes to earn, under the
    *true* ones what it earns.

    Parameters
    ----------
    model : Model
        The dynamics.
    rewards : array_like, shape (n, m)
        Reward for each state and action.
    policy : array_like of int, shape (n,)
        The action in each state, 0..m-1.

    Returns
    -------
    numpy.ndarray, shape (n,)
        Discounted sums of rewards, by the state that one starts in.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    RuntimeError
        If the certified error exceeds 1e-8 of the largest value. That is so if the
        discount is too close to 1 for double precision: if 1 - discount is below
        about ``(k + 3) * 1e-7``, with k the most successors of a state; or earlier,
        if the rewards cancel to values that are small beside them.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> evaluate(model, [[1, 3], [0, 0]], [0, 0])
    array([2., 0.])
    """
    r = action_values(model, rewards, "evaluate")
    actions = policy_array(policy, model, "evaluate")
    earned = r[np.arange(model.n_states), actions]
    move = policy_transitions(model, actions)
    if model.n_states <= DENSE:
        system = np.eye(model.n_states) - model.discount * move.toarray()
        solved = np.linalg.solve(system, earned)
    else:
        system = eye_array(model.n_states, format="csc") - model.discount * move.tocsc()
        solved = spsolve(system.tocsc(), earned)
    values = np.asarray(solved, dtype=np.float64)
    bound = _bound(model, earned, move, values)
    if not bound <= ACCURACY * max(float(np.abs(values).max()), np.finfo(float).tiny):
        raise RuntimeError(
            f"evaluate could not certify the values: their error may be {bound:.3g}."
        )
    return values


def evaluation_bound(
    model: Model, rewards: ArrayLike, policy: ArrayLike, values: ArrayLike
) -> float:
    """Return a bound on the error of `values` as the values of `policy`.

    Parameters
    ----------
    model, rewards, policy
        As in `evaluate`.
    values : array_like, shape (n,)
        The values to be judged.

    Returns
    -------
    float
        No value is further than this from the right one; rounding is in it.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> round(evaluation_bound(model, [[1, 3], [0, 0]], [0, 0], [2.25, 0]), 9)
    0.25
    """
    where = "evaluation_bound"
    r = action_values(model, rewards, where)
    actions = policy_array(policy, model, where)
    v = check.array("values", values, where, shape=(model.n_states,))
    earned = r[np.arange(model.n_states), actions]
    return _bound(model, earned, policy_transitions(model, actions), v)


def policy_transitions(model: Model, policy: IntArray) -> csr_array:
    """Return the joint transitions under a policy, a sparse array of shape (n, n).

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> policy_transitions(model, np.array([1, 0])).toarray()
    array([[0., 1.],
           [0., 1.]])
    """
    first, column, value = policy_rows(model.rows, policy)
    return csr_array((value, column, first), shape=(model.n_states, model.n_states))


def policy_array(
    policy: ArrayLike, model: Model, where: str, *, name: str = "policy"
) -> IntArray:
    """Return `policy`, checked to be one action of `model` for every state.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> policy_array([0, 1], MDP([[[1.0]]], 0.5), "f")
    Traceback (most recent call last):
    ...
    ValueError: The 'policy' parameter of f must be an array of 1 actions from 0 to 0. \
Got [0, 1] instead.
    """
    must = f"an array of {model.n_states} actions from 0 to {model.n_actions - 1}"
    raw = check.entries(name, policy, where, must)
    if raw.dtype.kind not in "iu":
        check.fail(name, where, must, policy, TypeError)
    if raw.shape != (model.n_states,) or raw.min() < 0 or raw.max() >= model.n_actions:
        check.fail(name, where, must, policy)
    return raw.astype(np.int64)


def _bound(
    model: Model, earned: FloatArray, move: csr_array, values: FloatArray
) -> float:
    gamma = model.discount
    gap = float(np.abs(earned + gamma * (move @ values) - values).max())
    longest = int(np.diff(move.indptr).max())
    scale = float(np.abs(earned).max() + 2.0 * np.abs(values).max())
    if scale > 0.0:  # below the normal floats, rounding is no longer relative
        scale = max(scale, np.finfo(float).tiny)
    rounding = (2 * longest + 6) * np.finfo(float).eps * scale
    return float((gap + rounding) / (1.0 - gamma))
