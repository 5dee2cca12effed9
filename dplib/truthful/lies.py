r"""Constant lies: where the algorithm ends if one agent always reports the same.

Hale & Egerstedt (arXiv 1509.08161), Section II-C (misreporting) and Section VI (agent 6
always reports its own target).

Model. Agent i reports y at every step. For the cloud and the others agent i *is* at y,
so they go to the saddle point of the problem with x_i pinned at y. Let
:math:`V_i(y)` be the least total cost of the others there. Its multipliers
:math:`\mu` give agent i the reply :math:`q_i = g_{x_i}^T\mu`, which is the gradient of
V_i at y (an envelope theorem), and the true state goes where
:math:`f_i(x_i) + q_i^T x_i` is least over X_i:

.. math:: x_i = \Pi_{X_i}[t_i - q_i / w_i].

The prices of the algorithm stay in the set M of Lemma 1, whose radius bounds their sum.
All this holds as long as M contains :math:`\mu`, which the parameter `radius` checks;
where it does not, the algorithm ends elsewhere, at prices that M cuts off.

Three consequences.

1. No lie gains more than the truthful cost less :math:`\min f_i`.
2. If V_i is least at a point y of the inside of X_i, then :math:`q_i = 0` there, the
   true state is the nearest point to the target, and that most is attained. Such a y
   is the state of agent i in the problem *without* f_i: the lie is to pretend to
   have no wishes (`dplib.truthful.lie_search.indifferent_report`).
3. The truth minimises :math:`f_i + V_i`, this lie V_i alone: it never raises the cost
   of the others. What pays for the gain is the constraints, which hold for the
   reported states and not for the true ones.

Every equilibrium carries the residual of the saddle point equations and a proven bound
on the error of the gain, from that of the saddle points (`dplib.truthful.kkt`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib.truthful.kkt import certify, polish, residual
from dplib.truthful.problem import (
    Problem,
    agent,
    agent_objectives,
    constraints,
    in_own_units,
    jacobian,
)
from dplib.truthful.saddle import SaddlePoint, saddle_point

__all__ = ["Equilibrium", "constant_lie", "pinned"]

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Where the algorithm ends when one agent always reports the same state.

    Attributes
    ----------
    report : numpy.ndarray, shape (n_i,)
        What agent i reports.
    x : numpy.ndarray, shape (n,)
        True states of all agents.
    multipliers : numpy.ndarray, shape (m,)
        Prices.
    q : numpy.ndarray, shape (n_i,)
        The reply to the agent that lies.
    costs : numpy.ndarray, shape (N,)
        What each agent pays.
    gain : float
        Cost of the agent when truthful, minus its cost now. Positive: it pays.
    others_gain : float
        The same for all other agents together.
    violation : float
        Largest constraint value at the true states; above zero, they violate it.
    residual : float
        Largest violation of the saddle point equations at the reported states.
    bound : float
        Proven bound on the error of `gain`.
    """

    report: FloatArray
    x: FloatArray
    multipliers: FloatArray
    q: FloatArray
    costs: FloatArray
    gain: float
    others_gain: float
    violation: float
    residual: float
    bound: float


def pinned(problem: Problem, i: int, report: ArrayLike) -> Problem:
    """Return the problem in which agent i cannot move from its report, a point of X_i.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> still = pinned(hale_egerstedt(), 5, [10, 10])
    >>> still.lower[10:12], still.upper[10:12]
    (array([10., 10.]), array([10., 10.]))
    """
    lower, upper = problem.lower.copy(), problem.upper.copy()
    mine = agent(problem, i)
    lower[mine] = upper[mine] = report
    return replace(problem, lower=lower, upper=upper)


def constant_lie(
    problem: Problem,
    i: int,
    report: ArrayLike,
    *,
    radius: float = math.inf,
    truth: SaddlePoint | None = None,
    start: Equilibrium | None = None,
) -> Equilibrium:
    """Return where the algorithm ends if agent i reports the same at every step.

    Parameters
    ----------
    problem : Problem
        The instance.
    i : int
        Agent that lies, 0 to N - 1.
    report : array_like, shape (n_i,)
        What it reports, a point of X_i.
    radius : float
        That of M (`dplib.truthful.constants.multiplier_radius`), if the prices
        are kept in it; infinite by default.
    truth : SaddlePoint, optional
        ``saddle_point(problem)``, where it has been computed already.
    start : Equilibrium, optional
        That of a report near by, to start from; by default the truth.

    Raises
    ------
    ValueError
        If the report leaves the others no way to meet the constraints strictly.
    RuntimeError
        If an equilibrium could not be certified, or its prices are not in M.

    Examples
    --------
    The paper's lie, to report the own target, hurts agent 6 (here 5):

    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem = hale_egerstedt()
    >>> lie = constant_lie(problem, 5, [10, 10])
    >>> lie.x[10:12], float(lie.costs[5]), round(lie.gain, 6)
    (array([-10., -10.]), 400.0, -302.985639)
    """
    truth = saddle_point(problem) if truth is None else truth
    still = pinned(problem, i, report)
    reported, mu, error = _saddle(still, truth if start is None else start)
    if mu.sum() + math.sqrt(mu.size) * error > radius:
        raise RuntimeError(
            f"The prices for this report of agent {i} add up to {mu.sum():.6g}, more "
            f"than M allows ({radius:.6g}): the algorithm does not end there."
        )
    mine = agent(problem, i)
    q, own = _response(problem, i, reported, mu)
    x = reported.copy()
    x[mine] = own
    honest, costs = agent_objectives(problem, truth.x), agent_objectives(problem, x)
    off = np.linalg.norm(truth.x[mine] - problem.targets[mine])
    bound = problem.weights[i] * (off * truth.bound + 0.5 * truth.bound**2)
    bound += _cost_error(problem, i, reported, mu, error)
    bound += 8.0 * np.finfo(np.float64).eps * (honest[i] + costs[i])
    return Equilibrium(
        report=reported[mine].copy(),
        x=x,
        multipliers=mu,
        q=q,
        costs=costs,
        gain=float(honest[i] - costs[i]),
        others_gain=float(np.delete(honest - costs, i).sum()),
        violation=float(constraints(problem, x).max()),
        residual=residual(still, reported, mu),
        bound=float(bound),
    )


def _saddle(
    still: Problem, start: SaddlePoint | Equilibrium
) -> tuple[FloatArray, FloatArray, float]:
    """Return the saddle point of a pinned problem, and a bound on its 2-norm error.

    By Newton's method from `start`, and by `saddle_point` where that fails.
    """
    x = np.clip(start.x, still.lower, still.upper)
    own, length, prices = in_own_units(still)
    try:
        x, mu, _ = polish(own, x / length, start.multipliers / prices, 0.0, TOLERANCE)
        error, _, _ = certify(own, x, mu, 0.0)
    except RuntimeError:
        found = saddle_point(still, tolerance=TOLERANCE)
        return found.x, found.multipliers, found.bound
    return length * x, prices * mu, error * max(length, prices.max())


def _response(
    problem: Problem, i: int, reported: FloatArray, mu: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the reply q_i and the true state that follows it."""
    mine = agent(problem, i)
    q = mu @ jacobian(problem, reported)[:, mine]
    lower, upper, w = problem.lower[mine], problem.upper[mine], problem.weights[i]
    if w == 0.0:  # no wishes: it drifts with the reply, and stays if there is none
        end = np.where(q > 0.0, lower, upper)
        return q, np.where(q == 0.0, reported[mine], end)
    return q, np.clip(problem.targets[mine] - q / w, lower, upper)


def _cost_error(
    problem: Problem, i: int, reported: FloatArray, mu: FloatArray, error: float
) -> float:
    """Bound the error of agent i's cost, if (reported, mu) is off by up to `error`."""
    mine, w = agent(problem, i), float(problem.weights[i])
    if w == 0.0:
        return 0.0
    rows = jacobian(problem, reported)[:, mine]
    own = problem.Q[:, mine, :]
    slope = np.linalg.norm(np.tensordot(mu, own, 1), ord=2) * error
    # q is bilinear in (mu, x): the two first-order terms, and their product.
    second = np.sqrt(np.sum(np.linalg.norm(own, ord=2, axis=(1, 2)) ** 2)) * error**2
    dq = float(np.linalg.norm(rows, ord=2) * error + slope + second)
    unit = np.finfo(np.float64).eps
    dq += 4.0 * problem.n_states * unit * float(np.abs(mu) @ np.abs(rows).sum(axis=1))
    q, own_state = _response(problem, i, reported, mu)
    aim = problem.targets[mine] - q / w
    # A coordinate that is clipped by more than the error does not move at all.
    beyond = np.maximum(aim - problem.upper[mine], problem.lower[mine] - aim)
    off = np.where(beyond > dq / w, 0.0, own_state - problem.targets[mine])
    moves = np.any(beyond <= dq / w)
    return float(np.linalg.norm(off)) * dq + (0.5 * dq**2 / w if moves else 0.0)
