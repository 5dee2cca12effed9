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
what is left (`dplib.truthful.kkt`, where the bound is explained). All this happens in
the problem's own units (`dplib.truthful.problem.in_own_units`), so that those in which
it is given do not matter. Of constraints that are multiples of each other one is kept;
the least-norm multipliers share its price.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.truthful.convex import (
    SOLVERS,
    find_slater_point,
    first_success,
    solve_convex,
)
from dplib.truthful.kkt import (
    certify,
    forces,
    polish,
    residual,
    smallest_singular_value,
)
from dplib.truthful.problem import Problem, in_own_units, jacobian, objective

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


def _without_multiples(problem: Problem) -> tuple[Problem, FloatArray]:
    """Return the problem with one constraint of each direction, and a matrix.

    It takes its multipliers to the least-norm ones of all constraints.
    """
    rows = np.column_stack(
        [problem.Q.reshape(len(problem.c), -1), problem.a, problem.c]
    )
    sizes = np.abs(rows).max(axis=1)
    _, first, which = np.unique(
        rows / sizes[:, None], axis=0, return_index=True, return_inverse=True
    )
    kept = np.sort(first)
    ratios = sizes[:, None] / sizes[kept] * (first[which][:, None] == kept)
    few = replace(problem, Q=problem.Q[kept], a=problem.a[kept], c=problem.c[kept])
    return few, ratios / (ratios**2).sum(axis=0)


def _certified(
    problem: Problem, x: FloatArray, mu: FloatArray, alpha: float, tolerance: float
) -> tuple[FloatArray, FloatArray, int, float, BoolArray]:
    """Polish and certify: states, multipliers, steps, error bound, held coordinates."""
    x, mu, iterations = polish(problem, x, mu, alpha, tolerance)
    bound, _, at_bound = certify(problem, x, mu, alpha)
    return x, mu, iterations, bound, at_bound


def _finish(
    problem: Problem,
    alpha: float,
    x: FloatArray,
    mu: FloatArray,
    iterations: int,
    bound: float,
    at_bound: BoolArray,
) -> SaddlePoint:
    """Gather the result."""
    active = mu > 0.0
    in_x, in_mu = forces(problem, x, mu, alpha)
    licq = smallest_singular_value(jacobian(problem, x)[active][:, ~at_bound])
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
    problem: Problem, *, solver: str | None = None, tolerance: float = 1e-12
) -> SaddlePoint:
    """Return the saddle point of Problem 0: optimal states and multipliers.

    Parameters
    ----------
    problem : Problem
        The instance, in any units; Assumption 2 is checked first.
    solver : {"CLARABEL", "SCS"}, optional
        Convex solver that supplies the start; by default the first, and the second
        where that fails.
    tolerance : float
        Largest residual accepted after polishing, in the problem's own units,
        greater than zero; or the rounding error of the residual itself (bounded, and
        part of the error bound) where that is larger.

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
        the tolerance, or the point cannot be certified.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> point = saddle_point(hale_egerstedt())
    >>> round(point.objective, 10), point.multipliers.round(8)
    (311.414103605, array([0.83932255, 1.79489244, 3.39858204, 1.97909554]))
    >>> point.residual < 1e-12, point.bound < 1e-11
    (True, True)
    """
    where = "saddle_point"
    check.instance("problem", problem, where, Problem)
    tolerance = check.positive("tolerance", tolerance, where)
    if solver is not None:
        check.member("solver", solver, where, SOLVERS)
    find_slater_point(problem)
    few, shares = _without_multiples(problem)
    own, length, prices = in_own_units(few)

    def solve(name: str) -> tuple[FloatArray, FloatArray, int, float, BoolArray]:
        x, mu = solve_convex(own, solver=name)
        return _certified(own, x, np.maximum(mu, 0.0), 0.0, tolerance)

    x, mu, iterations, bound, at_bound = first_success(solver, solve)
    shares = shares * prices
    bound *= max(length, float(np.linalg.norm(shares, axis=0).max()))
    return _finish(problem, 0.0, length * x, shares @ mu, iterations, bound, at_bound)


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
    >>> from dplib.truthful.paper import hale_egerstedt
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
    alpha = check.positive("alpha", alpha, where)
    tolerance = check.positive("tolerance", tolerance, where)
    if start is not None:
        check.instance("start", start, where, SaddlePoint)
        mu = np.maximum(start.multipliers, 0.0)
        try:
            found = _certified(problem, start.x, mu, alpha, tolerance)
            return _finish(problem, alpha, *found)
        except RuntimeError:
            pass  # the start is too far off for Newton's method: do without it
    x, mu = solve_convex(problem, alpha=alpha)
    found = _certified(problem, x, np.maximum(mu, 0.0), alpha, tolerance)
    return _finish(problem, alpha, *found)
