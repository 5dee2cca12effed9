r"""Policy iteration, and its modified form that does not evaluate to the end.

Puterman, *Markov Decision Processes* (1994), Sections 6.4 and 6.5.

Model. Policy iteration evaluates a policy exactly (`dplib.mdp.evaluate`) and then takes
better actions where there are some; it ends after finitely many policies. Modified
policy iteration replaces the evaluation by a few sweeps
:math:`v \leftarrow r_\pi + \gamma T_\pi v` after each backup, and stops by the same
bracket as value iteration (`dplib.mdp.solve`). A sweep costs a small share of a backup,
so it is the fast one on large problems.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.mdp.evaluate import evaluate, policy_array
from dplib.mdp.model import Model, action_values
from dplib.mdp.solve import Solution, rounding_error, solve

__all__ = ["modified_policy_iteration", "policy_iteration"]

#: Sweeps after each backup, where nothing else is asked for, and the most there may be.
SWEEPS, MOST_SWEEPS = 10, 10**6


def policy_iteration(
    model: Model,
    rewards: ArrayLike,
    *,
    start: ArrayLike | None = None,
    max_iterations: int = 1000,
) -> Solution:
    """Return optimal values by exact evaluation of better and better policies.

    Parameters
    ----------
    model : Model
        The dynamics.
    rewards : array_like, shape (n, m)
        Reward for each state and action.
    start : array_like of int, shape (n,), optional
        First policy; by default the best actions for the next reward alone.
    max_iterations : int
        Policies after which to give up, 1 or more.

    Returns
    -------
    Solution
        With the values of the last policy. Its `bound` is what a last backup proves,
        and is of the size of rounding errors.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    RuntimeError
        If actions still change after `max_iterations` policies, or `evaluate` cannot
        certify the values of one.

    References
    ----------
    Howard (1960); Puterman (1994), Theorem 6.4.2.

    Examples
    --------
    Stay in state 0 and get 1 each time, or pass once, for 3, to state 1, that pays 0:

    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> found = policy_iteration(model, [[1, 3], [0, 0]])
    >>> print(found.values.round(12), found.policy)
    [3. 0.] [1 0]
    """
    where = "policy_iteration"
    r = action_values(model, rewards, where)
    n, gamma = model.n_states, model.discount
    most = check.integer("max_iterations", max_iterations, where, low=1)
    states = np.arange(n)
    policy = r.argmax(axis=1)
    if start is not None:
        policy = policy_array(start, model, where, name="start")
    for iteration in range(1, most + 1):
        values = evaluate(model, r, policy)
        q = r + gamma * model.expected(values)
        change = q.max(axis=1) - values
        scale = max(float(np.abs(values).max()), float(np.abs(r).max()))
        rounding = rounding_error(model, scale)
        # A gain below rounding error is none: else two equal actions may alternate.
        better = q.max(axis=1) > q[states, policy] + 2.0 * rounding * (1.0 - gamma)
        if not better.any():
            residual = float(np.abs(change).max())
            return Solution(
                values=values,
                policy=policy,
                iterations=iteration,
                converged=True,
                residual=residual,
                bound=residual / (1.0 - gamma) + rounding,
            )
        policy = np.where(better, q.argmax(axis=1), policy)
    raise RuntimeError(
        f"{where} did not converge: actions still change after {most} policies."
    )


def modified_policy_iteration(
    model: Model,
    rewards: ArrayLike,
    *,
    tolerance: float,
    stopping: str = "span",
    sweeps: int = SWEEPS,
    start: ArrayLike | None = None,
    max_iterations: int | None = None,
) -> Solution:
    """Return optimal values by backups, with sweeps under the new policy in between.

    Parameters
    ----------
    model, rewards, tolerance, stopping, start, max_iterations
        As in `dplib.mdp.solve.value_iteration`.
    sweeps : int
        Sweeps after each backup, 0 to 10^6; 0 is value iteration.

    Returns
    -------
    Solution
        `iterations` counts backups, not sweeps.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above; if the tolerance is below twice the rounding
        error; or if the default number of backups is above what `value_iteration`
        allows.
    RuntimeError
        If it has not converged after `max_iterations` backups, or if rounding keeps
        it from ever coming so close.

    References
    ----------
    Puterman and Shin (1978); Puterman (1994), Section 6.5.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> found = modified_policy_iteration(model, [[1, 3], [0, 0]], tolerance=1e-9)
    >>> print(found.values.round(6), found.policy)
    [3. 0.] [1 0]
    """
    where = "modified_policy_iteration"
    return solve(
        model,
        rewards,
        tolerance=tolerance,
        stopping=stopping,
        start=start,
        max_iterations=max_iterations,
        sweeps=check.integer("sweeps", sweeps, where, low=0, high=MOST_SWEEPS),
        where=where,
    )
