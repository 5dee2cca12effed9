r"""Value iteration, with a stopping rule that proves how close it came.

Benvenuti et al., Proposition 1 (value iteration). Stopping rules: Puterman, *Markov
Decision Processes* (1994), Sections 6.3 and 6.6.

Model. :math:`v_{k+1} = T v_k` with
:math:`T v(s) = \max_a r(s, a) + \gamma \sum_{s'} T(s, a, s') v(s')`. Let
:math:`\delta = T v_k - v_k`. The optimal values lie in the bracket

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
computer computed: rounding is in it. The returned policy loses at most twice that.

Rounding may also stall the change: where states take turns (a periodic chain), a
difference of two values shrinks by :math:`1 - \gamma` of itself in a step, and no
more once that is below half a unit in the last place. The error that can be certified
is then up to :math:`1 / (1 - \gamma)` times the rounding error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.mdp.kernel import iterate
from dplib.mdp.model import Model, action_values

__all__ = ["STOPPING", "Solution", "rounding_error", "value_iteration"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

STOPPING = ("sup", "span", "residual")

#: Most backups of one solve, and the most times states times actions by default: a
#: compiled loop cannot be interrupted, and should end within hours.
MOST_BACKUPS, MOST_UPDATES = 10**8, 10**12


@dataclass(frozen=True, eq=False)
class Solution:
    """Optimal values and a policy, and what vouches for them.

    Attributes
    ----------
    values : numpy.ndarray, shape (n,)
        Approximate optimal values.
    policy : numpy.ndarray of int, shape (n,)
        The action to take in each state.
    iterations : int
        Number of backups over all states and actions (for policy iteration, of
        policies evaluated).
    converged : bool
        True: what did not converge has raised.
    residual : float
        Largest change of a value in the last backup.
    bound : float
        No value is further than this from the optimal one; and the values of
        `policy` itself are at most twice this below the optimal ones.
    """

    values: FloatArray
    policy: IntArray
    iterations: int
    converged: bool
    residual: float
    bound: float


def value_iteration(
    model: Model,
    rewards: ArrayLike,
    *,
    tolerance: float,
    stopping: str = "span",
    start: ArrayLike | None = None,
    max_iterations: int | None = None,
) -> Solution:
    r"""Return optimal values by repeated backups.

    Parameters
    ----------
    model : Model
        The dynamics: an `MDP` or a `FactoredMDP`.
    rewards : array_like, shape (n, m)
        Reward for each state and action.
    tolerance : float
        Largest certified error of the values (of the last change, for "residual"),
        in the unit of the values, positive. It must be above twice the rounding
        error; that is necessary, and not always enough (see above).
    stopping : {"span", "sup", "residual"}
        The rule, see above.
    start : array_like, shape (n,), optional
        Values to start from; zeros if not given.
    max_iterations : int, optional
        Backups after which to give up, at most 10^8; by default the number after
        which theory says that it must have converged, were there no rounding.

    Returns
    -------
    Solution

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above; if the tolerance is below twice the rounding
        error; or if the default number of backups is above 10^8, or above 10^12
        updates of a state and action.
    RuntimeError
        If it has not converged after `max_iterations` backups, or if rounding keeps
        it from ever coming so close.

    References
    ----------
    Puterman (1994), Theorems 6.3.1 and 6.6.6; MacQueen (1966).

    Examples
    --------
    One state that pays 1 in every step: the value is 1 / (1 - 0.75).

    >>> from dplib.mdp.model import MDP
    >>> found = value_iteration(MDP([[[1.0]]], 0.75), [[1.0]], tolerance=1e-6)
    >>> print(found.values, found.iterations)
    [4.] 1
    >>> value_iteration(MDP([[[1.0]]], 0.75), [[1.0]], tolerance=1e-6,
    ...                 stopping="sup").iterations
    53
    """
    return solve(
        model,
        rewards,
        tolerance=tolerance,
        stopping=stopping,
        start=start,
        max_iterations=max_iterations,
        sweeps=0,
        where="value_iteration",
    )


def solve(
    model: Model,
    rewards: ArrayLike,
    *,
    tolerance: float,
    stopping: str,
    start: ArrayLike | None,
    max_iterations: int | None,
    sweeps: int,
    where: str,
) -> Solution:
    """Do the work of `value_iteration` and of `modified_policy_iteration`."""
    r = action_values(model, rewards, where)
    n, gamma = model.n_states, model.discount
    if start is None:
        v = np.zeros(n)
    else:
        v = check.array("start", start, where, shape=(n,)).copy()
    tolerance = check.positive("tolerance", tolerance, where)
    check.member("stopping", stopping, where, STOPPING)
    scale = max(float(np.abs(r).max()) / (1.0 - gamma), float(np.abs(v).max()))
    rounding = rounding_error(model, scale)
    limit = change_limit(model, tolerance, stopping, rounding, where)
    most = most_backups(model, limit, 2.0 * scale, tolerance, max_iterations, where)
    policy = np.zeros(n, dtype=np.int64)
    done, low, high = iterate(
        model.rows,
        np.array(r.T, order="C"),  # a copy: kernels are compiled for writable ones
        gamma,
        v,
        sweeps,
        stopping == "span",
        limit,
        most,
        policy,
    )
    shift, bound = bracket(gamma, low, high, stopping == "span")
    size = 0.5 * (high - low) if stopping == "span" else max(high, -low)
    if not size <= limit:
        raise RuntimeError(
            f"{where} did not converge: after {done} backups the error may still be "
            f"{bound + rounding:.3g}, and the tolerance is {tolerance:g}"
            f"{'' if max_iterations else ' (rounding may keep it from coming closer)'}."
        )
    return Solution(
        values=v + shift,
        policy=policy,
        iterations=int(done),
        converged=True,
        residual=float(max(high, -low)),
        bound=bound + rounding,
    )


def rounding_error(model: Model, scale: float) -> float:
    r"""Return how far rounding may move the bracket, for values up to `scale`.

    Each backup is a sum of products, :math:`\sum_i k_i` of them in a row at most with
    k_i the most successors in a row of agent i, so its relative error is about that
    many units in the last place; and 1 / (1 - discount) steps pile up.

    Parameters
    ----------
    model : Model
        The dynamics.
    scale : float
        Largest modulus of a value.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> rounding_error(MDP([[[1.0]]], 0.5), 1.0) < 1e-14
    True
    """
    rows = model.rows
    longest = 0
    for i, first in enumerate(rows.first_row):
        last = first + rows.n[i] * rows.m[i]
        longest += int(np.diff(rows.first_entry[first : last + 1]).max())
    # Weights carry one rounding each; then products, sums, discount, reward, change.
    count = 2 * longest + rows.n.size + 6
    if scale > 0.0:  # below the normal floats, rounding is no longer relative
        scale = max(scale, np.finfo(float).tiny)
    return float(count * np.finfo(float).eps * scale / (1.0 - model.discount))


def change_limit(
    model: Model, tolerance: float, stopping: str, rounding: float, where: str
) -> float:
    """Return the largest change at which a rule may stop."""
    if stopping == "residual":
        step = rounding * (1.0 - model.discount)  # of one backup
        if not tolerance > 2.0 * step:
            must = f"above {2.0 * step:.3g}, twice the rounding of a backup here"
            check.fail("tolerance", where, must, tolerance)
        return tolerance
    if not tolerance > 2.0 * rounding:
        must = f"above {2.0 * rounding:.3g}, twice the rounding error here"
        check.fail("tolerance", where, must, tolerance)
    return (tolerance - rounding) * (1.0 - model.discount) / model.discount


def needed_iterations(gamma: float, limit: float, change: float) -> int:
    """Return the backups after which a first change has shrunk below a limit."""
    if change <= limit:
        return 2
    return 3 + math.ceil(math.log(limit / change) / math.log(gamma))


def most_backups(
    model: Model,
    limit: float,
    change: float,
    tolerance: float,
    max_iterations: int | None,
    where: str,
) -> int:
    """Return the backups after which to give up: those given, or those needed."""
    if max_iterations is not None:
        return check.integer(
            "max_iterations", max_iterations, where, low=1, high=MOST_BACKUPS
        )
    most = needed_iterations(model.discount, limit, change)
    allowed = min(MOST_BACKUPS, MOST_UPDATES // (model.n_states * model.n_actions))
    if most > allowed:
        must = (
            f"larger, or 'max_iterations' be given: up to {most} backups may be needed "
            f"here, and {allowed} are the most by default"
        )
        check.fail("tolerance", where, must, tolerance)
    return most


def bracket(gamma: float, low: float, high: float, middle: bool) -> tuple[float, float]:
    """Return what to add to the values after a backup, and how far off they are."""
    factor = gamma / (1.0 - gamma)
    if middle:
        return 0.5 * factor * (low + high), 0.5 * factor * (high - low)
    return 0.0, factor * max(high, -low)
