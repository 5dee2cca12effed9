r"""The solver: optimal policies for many rewards of one model, each with its proof.

Benvenuti et al., Proposition 1 (value iteration) and Section 8 (500 or 1,000 private
rewards for each setting). Stopping rules: Puterman, *Markov Decision Processes* (1994),
Sections 6.3, 6.5 and 6.6.

Model. Value iteration is :math:`v_{k+1} = T v_k` with
:math:`T v(s) = \max_a r(s, a) + \gamma \sum_{s'} T(s, a, s') v(s')`. *Modified policy
iteration* adds after each backup some sweeps
:math:`v \leftarrow r_\pi + \gamma T_\pi v` under the new policy; a sweep costs a small
share of a backup. With :math:`\delta = T v_k - v_k` the optimal values lie in the
bracket

.. math:: T v_k + \frac{\gamma}{1 - \gamma} \min \delta \;\le\; v^*
          \;\le\; T v_k + \frac{\gamma}{1 - \gamma} \max \delta ,

and the values of the policy that is greedy for :math:`v_k` do, too. Three rules:

- ``"sup"``: the values are :math:`T v_k`; stop when
  :math:`\gamma/(1-\gamma) \max |\delta|` is at most the tolerance.
- ``"span"``: the values are the middle of the bracket; stop when half its width,
  :math:`\gamma/(1-\gamma) (\max \delta - \min \delta) / 2`, is. A constant that is
  still missing everywhere no longer counts, which may save most of the work.
- ``"residual"``: as "sup", but stop when :math:`\max |\delta|` itself is. This is what
  many programs do; the error may be :math:`\gamma/(1-\gamma)` times the tolerance.

``bound`` is in every case a bound on the error of the values that holds for what the
computer computed: rounding is in it. Where states take turns (a periodic chain),
rounding may stall the change at up to :math:`1 / (1 - \gamma)` times its own size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.mdp.evaluate import evaluate
from dplib.mdp.kernel import iterate_each
from dplib.mdp.model import Model

__all__ = ["STOPPING", "SWEEPS", "Solutions", "evaluate_many", "solve_many"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

STOPPING = ("sup", "span", "residual")

#: Sweeps after each backup, where nothing else is asked for.
SWEEPS = 10

#: Most backups by default, and the most times states times actions: a compiled loop
#: cannot be interrupted, and should end within hours.
MOST_BACKUPS, MOST_UPDATES = 10**8, 10**12


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
    residual : numpy.ndarray, shape (S,)
        Largest change of a value in the last backup.
    bound : numpy.ndarray, shape (S,)
        Largest error of the values of each; a policy loses at most twice that.
    """

    values: FloatArray
    policies: IntArray
    iterations: IntArray
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
        The dynamics: an `MDP` or a `FactoredMDP`.
    rewards : array_like, shape (S, n, m)
        One reward array for every sample.
    tolerance : float or array_like, shape (S,), optional
        Largest certified error of the values (of the last change, for "residual"), in
        the unit of the values; above twice the rounding error. By default four times
        the rounding error of each sample: as exact as can be certified, in any unit.
    stopping : {"span", "sup", "residual"}
        The rule, see above.
    sweeps : int
        Sweeps after each backup; 0 is value iteration.
    start : array_like, shape (n,), optional
        Values that every solve starts from; zeros if not given.
    max_iterations : int, optional
        Backups after which to give up; by default the number after which theory says
        that it must have converged, were there no rounding.

    Returns
    -------
    Solutions
        All converged: what does not raises a RuntimeError that names the sample.

    References
    ----------
    Puterman and Shin (1978); Puterman (1994), Theorems 6.3.1 and 6.6.6; MacQueen
    (1966).

    Examples
    --------
    Stay in state 0 and get 1 each time, or pass once, for 3, to state 1, that pays 0;
    and the same with nothing to get for passing:

    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> found = solve_many(model, [[[1, 3], [0, 0]], [[1, 0], [0, 0]]], tolerance=1e-9)
    >>> print(found.policies.tolist(), found.values.round(6).tolist())
    [[1, 0], [0, 0]] [[3.0, 0.0], [2.0, 0.0]]
    """
    n, m, gamma = model.n_states, model.n_actions, model.discount
    # The compiled loops read past the end of an array of another shape.
    r = check.array("rewards", rewards, "solve_many", shape=(None, n, m))
    v = np.zeros(n)
    if start is not None:
        v = check.array("start", start, "solve_many", shape=(n,))
    check.member("stopping", stopping, "solve_many", STOPPING)
    spread = stopping == "span"
    # Sample by sample: what is large in one must not blur another.
    scale = np.maximum(np.abs(r).max(axis=(1, 2)) / (1.0 - gamma), np.abs(v).max())
    rounding = rounding_error(model, scale)
    if tolerance is None:  # with all rewards 0, any will do
        tolerance = np.where(rounding > 0.0, 4.0 * rounding, 1.0)
    wanted = np.broadcast_to(np.asarray(tolerance, dtype=float), rounding.shape)
    limit = _change_limit(gamma, wanted, rounding, stopping)
    most = np.full(len(r), max_iterations or 0, dtype=np.int64)
    if max_iterations is None:
        most = _backups_needed(model, limit, 2.0 * scale)
    values = np.tile(v, (len(r), 1))
    policies, done, low, high = iterate_each(
        model.rows, r, gamma, values, sweeps, spread, limit, most
    )
    largest = np.maximum(high, -low)
    factor = gamma / (1.0 - gamma)
    if spread:
        size, bound = 0.5 * (high - low), 0.5 * factor * (high - low)
        values += (0.5 * factor * (low + high))[:, None]
    else:
        size, bound = largest, factor * largest
    bound = bound + rounding
    failed = np.flatnonzero(~(size <= limit))
    if failed.size:
        k = int(failed[0])
        raise RuntimeError(
            f"solve_many did not converge: after {done[k]} backups the error of sample "
            f"{k} may still be {bound[k]:.3g}, and the tolerance is {wanted[k]:g}"
            f"{'' if max_iterations else ' (rounding may keep it from coming closer)'}."
        )
    return Solutions(values, policies, done, largest, bound)


def rounding_error(model: Model, scale: FloatArray) -> FloatArray:
    r"""Return how far rounding may move the bracket, for values up to `scale`.

    Each backup is a sum of products, :math:`\sum_i k_i` of them in a row at most with
    k_i the most successors in a row of agent i, so its relative error is about that
    many units in the last place; and 1 / (1 - discount) steps pile up.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> print(rounding_error(MDP([[[1.0]]], 0.5), np.array(1.0)) < 1e-14)
    True
    """
    longest = sum(int(np.count_nonzero(law, axis=2).max()) for law in model.factors)
    # Weights carry one rounding each; then products, sums, discount, reward, change.
    count = 2 * longest + len(model.factors) + 6
    return np.asarray(count * np.finfo(float).eps * scale / (1.0 - model.discount))


def _change_limit(
    gamma: float, tolerance: FloatArray, rounding: FloatArray, stopping: str
) -> FloatArray:
    """Return the largest change at which a rule may stop."""
    # The residual rule asks for one backup only, and that rounds so much less.
    off = rounding * (1.0 - gamma) if stopping == "residual" else rounding
    if not np.all(tolerance > 2.0 * off):
        k = int(np.flatnonzero(~(tolerance > 2.0 * off))[0])
        must = f"above {2.0 * off[k]:.3g}, twice the rounding error here"
        check.fail("tolerance", "solve_many", must, float(tolerance[k]))
    if stopping == "residual":
        return tolerance
    return np.asarray((tolerance - rounding) * (1.0 - gamma) / gamma)


def _backups_needed(model: Model, limit: FloatArray, change: FloatArray) -> IntArray:
    """Return the backups after which first changes have shrunk below the limits."""
    shrink = np.log(np.maximum(change / limit, 1.0))
    most = 3 + np.ceil(shrink / -np.log(model.discount))
    allowed = min(MOST_BACKUPS, MOST_UPDATES // (model.n_states * model.n_actions))
    if most.max() > allowed:
        must = (
            f"larger, or 'max_iterations' be given: up to {most.max():.0f} backups may "
            f"be needed here, and {allowed} are the most by default"
        )
        check.fail("tolerance", "solve_many", must, float(limit.min()))
    return np.asarray(most, dtype=np.int64)


def evaluate_many(model: Model, rewards: ArrayLike, policies: ArrayLike) -> FloatArray:
    """Return the exact values of many policies under one reward, shape (S, n).

    Parameters
    ----------
    model : Model
        The dynamics.
    rewards : array_like, shape (n, m)
        Reward for each state and action.
    policies : array_like of int, shape (S, n)
        The action in each state; equal policies are evaluated once.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> evaluate_many(model, [[1, 3], [0, 0]], [[0, 0], [1, 0], [0, 0]]).tolist()
    [[2.0, 0.0], [3.0, 0.0], [2.0, 0.0]]
    """
    different, place = np.unique(policies, axis=0, return_inverse=True)
    values = np.array([evaluate(model, rewards, policy) for policy in different])
    return np.asarray(values[place.ravel()])
