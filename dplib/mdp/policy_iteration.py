"""Policy iteration: exact evaluation of better and better policies.

Howard (1960); Puterman, *Markov Decision Processes* (1994), Section 6.4.

Model. A policy is evaluated exactly (`dplib.mdp.evaluate`), and then better actions are
taken where there are some; it ends after finitely many policies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplib.mdp.batch import rounding_error
from dplib.mdp.evaluate import evaluate
from dplib.mdp.model import Model
from dplib.mdp.solve import Solution

__all__ = ["policy_iteration"]


def policy_iteration(
    model: Model,
    rewards: ArrayLike,
    *,
    start: ArrayLike | None = None,
    max_iterations: int = 1000,
) -> Solution:
    """Return optimal values; the bound is of the size of rounding errors.

    Parameters
    ----------
    model : Model
        The dynamics.
    rewards : array_like, shape (n, m)
        Reward for each state and action.
    start : array_like of int, shape (n,), optional
        First policy; by default the best actions for the next reward alone.
    max_iterations : int
        Policies after which to give up with a RuntimeError.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> found = policy_iteration(model, [[1, 3], [0, 0]])
    >>> print(found.values.round(12), found.policy)
    [3. 0.] [1 0]
    """
    r = np.asarray(rewards, dtype=float)
    gamma, states = model.discount, np.arange(model.n_states)
    policy = r.argmax(axis=1) if start is None else np.asarray(start)
    for iteration in range(1, max_iterations + 1):
        values = evaluate(model, r, policy)
        q = r + gamma * model.expected(values)
        scale = np.maximum(np.abs(values).max(), np.abs(r).max())
        rounding = float(rounding_error(model, scale))
        # A gain below rounding error is none: else two equal actions may alternate.
        better = q.max(axis=1) > q[states, policy] + 2.0 * rounding * (1.0 - gamma)
        if not better.any():
            residual = float(np.abs(q.max(axis=1) - values).max())
            bound = residual / (1.0 - gamma) + rounding
            return Solution(values, policy, iteration, residual, bound)
        policy = np.where(better, q.argmax(axis=1), policy)
    raise RuntimeError(
        "policy_iteration did not converge: actions still change after "
        f"{max_iterations} policies."
    )
