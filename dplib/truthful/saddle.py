r"""The saddle point of Problem 0, with a proof of how close it is.

Hale & Egerstedt (arXiv 1509.08161), Section II-A, Eq. (1).

Model. :math:`(\hat x, \hat\mu)` with :math:`L(\hat x, \mu) \le L(\hat x, \hat\mu)
\le L(x, \hat\mu)` for all x in the box and all :math:`\mu \ge 0`: then
:math:`\hat x` solves Problem 0. The regularised saddle point belongs to
:math:`L + \tfrac{\alpha}{2}\|x\|^2 - \tfrac{\alpha}{2}\|\mu\|^2`, which is what
Update (2) tracks at each step.

Method. A convex solver (`dplib.truthful.convex`) gives a start; its answer is good to
six or seven digits and is never the result. Newton's method on the optimality
conditions then reaches rounding error, and the Newton-Kantorovich theorem bounds
what is left (`dplib.truthful.kkt`, where the bound is explained).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplib import check, limits
from dplib.truthful.convex import SOLVERS, find_slater_point, solve_convex
from dplib.truthful.kkt import certify, forces, polish, residual
from dplib.truthful.problem import Problem, jacobian, objective

__all__ = [
    "SaddlePoint",
    "saddle_point",
    "regularised_saddle_point",
    "find_slater_point",
    "solve_convex",
    "residual",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SaddlePoint:
    """A saddle point and what vouches for it.

    Attributes
    ----------
    x : numpy.ndarray, shape (n,)
        Stacked optimal states.
    multipliers : numpy.ndarray, shape (m,)
        Optimal multipliers.
    alpha : float
        Weight of the regularisation; 0 for Problem 0 itself.
    objective : float
        f(x), without the regularisation.
    active : numpy.ndarray of bool, shape (m,)
        Constraints with a positive multiplier (equalities, when alpha is 0).
    at_bound : numpy.ndarray of bool, shape (n,)
        Coordinates that a bound of the box holds.
    stationarity : float
        Largest entry of ``x - clip(x - L_x - alpha x)``.
    feasibility : float
        Largest of 0 and ``g_j(x) - alpha mu_j``.
    complementarity : float
        Largest ``|mu_j (g_j(x) - alpha mu_j)|``.
    residual : float
        Largest violation of the saddle-point equations (`residual`).
    bound : float
        Proven bound on the 2-norm distance from (x, multipliers) to the exact
        saddle point, for both together and so for either.
    licq : float
        Smallest singular value of the active rows of the Jacobian, restricted
        to coordinates off their bounds. Positive: the multipliers are unique
        ("linear independence constraint qualification"). Infinite if no
        constraint is active.
    iterations : int
        Newton steps taken.
    converged : bool
        True: what did not converge, or could not be certified, has raised.
    """

    x: FloatArray
    multipliers: FloatArray
    alpha: float
    objective: float
    active: BoolArray
    at_bound: BoolArray
    stationarity: float
    feasibility: float
    complementarity: float
    residual: float
    bound: float
    licq: float
    iterations: int
    converged: bool


def _finish(
    problem: Problem, x: FloatArray, mu: FloatArray, alpha: float, tolerance: float
) -> SaddlePoint:
    """Polish, certify, and gather the result."""
    x, mu, iterations = polish(problem, x, mu, alpha, tolerance)
    bound, active, at_bound = certify(problem, x, mu, alpha)
    in_x, in_mu = forces(problem, x, mu, alpha)
    rows = jacobian(problem, x)[active][:, ~at_bound]
    # More active rows than free columns: dependent, though svd returns fewer values.
    licq = np.inf
    if len(rows):
        short = rows.shape[0] > rows.shape[1]
        licq = 0.0 if short else float(np.linalg.svd(rows, compute_uv=False)[-1])
    step = x - np.clip(x - in_x, problem.lower, problem.upper)
    for one in (x, mu, active, at_bound):
        one.flags.writeable = False
    return SaddlePoint(
        x=x,
        multipliers=mu,
        alpha=alpha,
        objective=float(objective(problem, x)),
        active=active,
        at_bound=at_bound,
        stationarity=float(np.abs(step).max()),
        feasibility=float(max(0.0, in_mu.max())),
        complementarity=float(np.abs(mu * in_mu).max()),
        residual=residual(problem, x, mu, alpha=alpha),
        bound=bound,
        licq=licq,
        iterations=iterations,
        converged=True,
    )


def saddle_point(
    problem: Problem, *, solver: str = "CLARABEL", tolerance: float = 1e-12
) -> SaddlePoint:
    """Return the saddle point of Problem 0: optimal states and multipliers.

    Parameters
    ----------
    problem : Problem
        The instance; Assumption 2 is checked first. Choose units in which its
        numbers are neither tiny nor huge (up to thousands is safe).
    solver : {"CLARABEL", "SCS"}
        Convex solver that supplies the start.
    tolerance : float
        Largest residual accepted after polishing, greater than zero. Where the
        problem's numbers are so large that the residual's own rounding error
        (bounded, and part of the error bound) exceeds it, that counts instead.

    Returns
    -------
    SaddlePoint
        With a proven bound on its error (see `dplib.truthful.kkt`).

    Raises
    ------
    ValueError
        If the problem is infeasible or has no Slater point.
    RuntimeError
        If the solver's status is not 'optimal', Newton's method does not reach
        the tolerance, or the point cannot be certified because it is
        degenerate.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> point = saddle_point(hale_egerstedt())
    >>> round(point.objective, 10), point.multipliers.round(8)
    (311.414103605, array([0.83932255, 1.79489244, 3.39858204, 1.97909554]))
    >>> point.residual < 1e-12, point.bound < 1e-11
    (True, True)
    """
    where = "saddle_point"
    check.instance("problem", problem, where, Problem)
    tolerance = check.positive("tolerance", tolerance, where)
    check.member("solver", solver, where, SOLVERS)
    find_slater_point(problem)
    x, mu = solve_convex(problem, solver=solver)
    return _finish(problem, x, np.maximum(mu, 0.0), 0.0, tolerance)


def regularised_saddle_point(
    problem: Problem,
    alpha: float,
    *,
    start: SaddlePoint | None = None,
    tolerance: float = 1e-12,
) -> SaddlePoint:
    """Return the saddle point of L_alpha, which Update (2) tracks at one step.

    The multipliers range over ``mu >= 0``: if they come out inside the ball M of
    Lemma 1, they are those over M too. No Slater point is needed.

    Parameters
    ----------
    problem : Problem
        The instance.
    alpha : float
        Weight of the Tikhonov terms, greater than zero.
    start : SaddlePoint, optional
        Where Newton's method starts, for example at a near-by `alpha`. Without
        it, or if it does not lead there, what a convex solver finds.
    tolerance : float
        Largest residual accepted, greater than zero.

    Returns
    -------
    SaddlePoint
        Unique for every alpha > 0; as alpha decreases to 0 it tends to the
        saddle point of least norm.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range.
    RuntimeError
        If the solver's status is not 'optimal', Newton's method does not reach
        the tolerance, or the result cannot be certified.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> problem = hale_egerstedt()
    >>> exact = saddle_point(problem)
    >>> near = regularised_saddle_point(problem, 0.5 * 250_000 ** (-1 / 3))
    >>> float(np.linalg.norm(near.x - exact.x).round(5))
    0.06998
    >>> float(np.linalg.norm(near.multipliers - exact.multipliers).round(5))
    0.02259
    """
    where = "regularised_saddle_point"
    check.instance("problem", problem, where, Problem)
    alpha = limits.positive("alpha", alpha, where)
    tolerance = check.positive("tolerance", tolerance, where)
    if start is not None:
        check.instance("start", start, where, SaddlePoint)
        mu = np.maximum(start.multipliers, 0.0)
        try:
            return _finish(problem, start.x, mu, alpha, tolerance)
        except RuntimeError:
            pass  # the start is too far off for Newton's method: do without it
    x, mu = solve_convex(problem, alpha=alpha)
    return _finish(problem, x, np.maximum(mu, 0.0), alpha, tolerance)
