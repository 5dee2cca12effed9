r"""One model, many rewards: the solves and evaluations of a Monte Carlo study.

Benvenuti et al., Section 8 (500 or 1,000 private rewards for each setting).

Model. For rewards :math:`r_1, \dots, r_S` of one model: optimal policies, one by one,
by modified policy iteration in one compiled loop (nothing is set up anew for each); and
the exact values of many policies under one reward, each different policy once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.mdp.evaluate import evaluate, policy_array
from dplib.mdp.kernel import iterate_each
from dplib.mdp.model import Model, action_values
from dplib.mdp.policy_iteration import MOST_SWEEPS, SWEEPS
from dplib.mdp.solve import (
    STOPPING,
    bracket,
    change_limit,
    most_backups,
    rounding_error,
)

__all__ = ["Solutions", "evaluate_many", "solve_many"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Solutions:
    """Optimal values and policies for S rewards, and what vouches for them.

    Attributes
    ----------
    values : numpy.ndarray, shape (S, n)
        Approximate optimal values.
    policies : numpy.ndarray of int, shape (S, n)
        The action to take in each state.
    iterations : numpy.ndarray of int, shape (S,)
        Backups over all states and actions.
    converged : bool
        True: what did not converge has raised.
    residual : numpy.ndarray, shape (S,)
        Largest change of a value in the last backup.
    bound : numpy.ndarray, shape (S,)
        Largest error of the values of each; a policy loses at most twice that.
    """

    values: FloatArray
    policies: IntArray
    iterations: IntArray
    converged: bool
    residual: FloatArray
    bound: FloatArray


def solve_many(
    model: Model,
    rewards: ArrayLike,
    *,
    tolerance: ArrayLike | None = None,
    stopping: str = "span",
    sweeps: int = SWEEPS,
    start: ArrayLike | None = None,
    max_iterations: int | None = None,
) -> Solutions:
    """Solve one model for many rewards, each by modified policy iteration.

    Parameters
    ----------
    model : Model
        The dynamics.
    rewards : array_like, shape (S, n, m)
        One reward array for every sample.
    tolerance : float or array_like, shape (S,), optional
        As in `dplib.mdp.policy_iteration.modified_policy_iteration`, for all samples
        or for each. By default four times the rounding error of each sample: as
        exact as can be certified, in any unit of its rewards.
    stopping, sweeps, max_iterations
        As in `dplib.mdp.policy_iteration.modified_policy_iteration`.
    start : array_like, shape (n,), optional
        Values that every solve starts from: those of the true rewards are near.

    Returns
    -------
    Solutions
        Sample by sample what `modified_policy_iteration` returns.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above; if the tolerance is below twice the rounding
        error; or if the default number of backups of a sample is above what
        `value_iteration` allows.
    RuntimeError
        If a sample has not converged; it is named.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> found = solve_many(model, [[[1, 3], [0, 0]], [[1, 0], [0, 0]]], tolerance=1e-9)
    >>> print(found.policies.tolist(), found.values.round(6).tolist())
    [[1, 0], [0, 0]] [[3.0, 0.0], [2.0, 0.0]]
    """
    where = "solve_many"
    check.instance("model", model, where, Model)
    n, m, gamma = model.n_states, model.n_actions, model.discount
    r = check.array("rewards", rewards, where, shape=(None, n, m))
    if r.size == 0:
        check.fail("rewards", where, "at least one array of rewards", r.shape)
    v = np.zeros(n) if start is None else check.array("start", start, where, shape=(n,))
    check.member("stopping", stopping, where, STOPPING)
    sweeps = check.integer("sweeps", sweeps, where, low=0, high=MOST_SWEEPS)
    # Sample by sample: what is large in one must not blur another.
    scale = np.abs(r).max(axis=(1, 2)) / (1.0 - gamma)
    scale = np.maximum(scale, float(np.abs(v).max()))
    rounding = np.array([rounding_error(model, one) for one in scale.tolist()])
    wanted = _tolerances(tolerance, rounding, where)
    limit = np.empty(r.shape[0])
    most = np.empty(r.shape[0], dtype=np.int64)
    for k, (want, off) in enumerate(zip(wanted, rounding, strict=True)):
        limit[k] = change_limit(model, float(want), stopping, float(off), where)
        most[k] = most_backups(
            model,
            float(limit[k]),
            2.0 * float(scale[k]),
            float(want),
            max_iterations,
            where,
        )
    spread = stopping == "span"
    values = np.tile(v, (r.shape[0], 1))
    policies = np.zeros((r.shape[0], n), dtype=np.int64)
    done = np.zeros(r.shape[0], dtype=np.int64)
    low, high = np.empty(r.shape[0]), np.empty(r.shape[0])
    iterate_each(
        model.rows,
        r,
        gamma,
        values,
        sweeps,
        spread,
        limit,
        most,
        policies,
        done,
        low,
        high,
    )
    size = 0.5 * (high - low) if spread else np.maximum(high, -low)
    shift, bound = np.empty(low.size), np.empty(low.size)
    for k in range(low.size):
        shift[k], bound[k] = bracket(gamma, float(low[k]), float(high[k]), spread)
    failed = np.flatnonzero(~(size <= limit))
    if failed.size:
        k = int(failed[0])
        raise RuntimeError(
            f"{where} did not converge: after {done[k]} backups the error of sample "
            f"{k} may still be {bound[k] + rounding[k]:.3g}, and the tolerance is "
            f"{wanted[k]:g}"
            f"{'' if max_iterations else ' (rounding may keep it from coming closer)'}."
        )
    return Solutions(
        values=values + shift[:, None],
        policies=policies,
        iterations=done,
        converged=True,
        residual=np.maximum(high, -low),
        bound=bound + rounding,
    )


def _tolerances(
    tolerance: ArrayLike | None, rounding: FloatArray, where: str
) -> FloatArray:
    """Return the tolerance of every sample."""
    if tolerance is None:
        # All rewards 0: any tolerance will do.
        return np.where(rounding > 0.0, 4.0 * rounding, 1.0)
    if np.ndim(tolerance) == 0:
        return np.full(rounding.size, check.positive("tolerance", tolerance, where))
    each = check.array("tolerance", tolerance, where, shape=rounding.shape)
    if not np.all(each > 0.0):
        check.fail("tolerance", where, "positive", float(each.min()))
    return each


def evaluate_many(model: Model, rewards: ArrayLike, policies: ArrayLike) -> FloatArray:
    """Return the exact values of many policies under one reward.

    Parameters
    ----------
    model : Model
        The dynamics.
    rewards : array_like, shape (n, m)
        Reward for each state and action.
    policies : array_like of int, shape (S, n)
        The action in each state; equal policies are evaluated once.

    Returns
    -------
    numpy.ndarray, shape (S, n)

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    RuntimeError
        If the values of a policy cannot be certified, see `dplib.mdp.evaluate`.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> evaluate_many(model, [[1, 3], [0, 0]], [[0, 0], [1, 0], [0, 0]]).tolist()
    [[2.0, 0.0], [3.0, 0.0], [2.0, 0.0]]
    """
    where = "evaluate_many"
    r = action_values(model, rewards, where)
    must = f"an array of policies, shape (S, {model.n_states})"
    raw = check.entries("policies", policies, where, must)
    if raw.ndim != 2 or raw.shape[0] == 0:
        check.fail("policies", where, must, raw.shape)
    known: dict[bytes, FloatArray] = {}
    result = np.empty((raw.shape[0], model.n_states))
    for k, row in enumerate(raw):
        policy = policy_array(row, model, where, name="policies")
        key = policy.tobytes()
        if key not in known:
            known[key] = evaluate(model, r, policy)
        result[k] = known[key]
    return result
