r"""The saddle point of Problem 0, with a proof of how close it is.

Hale & Egerstedt (arXiv 1509.08161), Section II-A, Equation 1 and Assumption 2.

Model. :math:`(\hat x, \hat\mu)` with :math:`L(\hat x, \mu) \le L(\hat x, \hat\mu)
\le L(x, \hat\mu)` for all x in the box and all :math:`\mu \ge 0`: then
:math:`\hat x` solves Problem 0.

Method. A convex solver gives a start; its answer is good to six or seven digits and is
never the result. Its status must be 'optimal', and where one solver fails a second is
asked. Newton's method on the optimality conditions then reaches rounding error, and
the Newton-Kantorovich theorem bounds what is left (`dplib.truthful.kkt`, where the
bound is explained). All this happens in the problem's own units
(`dplib.truthful.problem.in_own_units`), so that those in which it is given do not
matter. Of constraints that are multiples of each other one is kept; the least-norm
multipliers share its price.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from dplib.truthful.kkt import certify, polish, residual, smallest_singular_value
from dplib.truthful.problem import (
    Problem,
    constraints,
    in_own_units,
    is_slater_point,
    jacobian,
    objective,
)

__all__ = ["SaddlePoint", "find_slater_point", "saddle_point", "solve_convex"]

FloatArray = NDArray[np.float64]

SOLVERS: dict[str, dict[str, Any]] = {
    # Interior point and operator splitting share no code and no idea.
    # Tighter gaps than these can end in 'optimal_inaccurate'.
    "CLARABEL": {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 500_000},
}
SLATER_MARGIN = 1e-8  # of a constraint's own unit: a solver's zero proves nothing

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SaddlePoint:
    """A saddle point and what vouches for it.

    Attributes
    ----------
    x : numpy.ndarray, shape (n,)
        Stacked optimal states.
    multipliers : numpy.ndarray, shape (m,)
        Optimal multipliers.
    objective : float
        f(x).
    residual : float
        Largest violation of the saddle-point equations (`dplib.truthful.kkt`).
    bound : float
        Proven bound on the 2-norm distance from (x, multipliers) to the exact
        saddle point, for both together and so for either. (What did not converge, or
        could not be certified, has raised.)
    licq : float
        Smallest singular value of the active rows of the Jacobian, restricted
        to coordinates off their bounds. Positive: the multipliers are unique
        ("linear independence constraint qualification"). Infinite if no
        constraint is active.
    """

    x: FloatArray
    multipliers: FloatArray
    objective: float
    residual: float
    bound: float
    licq: float


def _first_success(solver: str | None, solve: Callable[[str], T]) -> T:
    """Return `solve` of the named solver; of each in turn if none is named."""
    *others, last = SOLVERS if solver is None else [solver]
    for name in others:
        try:
            return solve(name)
        except RuntimeError:
            continue
    return solve(last)


def _box_and_values(
    problem: Problem, x: cp.Variable
) -> tuple[list[cp.Constraint], list[cp.Expression]]:
    """Describe the box as constraints and each g_j as an expression."""
    pinned = problem.lower == problem.upper
    box: list[cp.Constraint] = []
    # An interval of no length would leave an interior-point method no interior.
    if np.any(pinned):
        box.append(x[pinned] == problem.lower[pinned])
    if not np.all(pinned):
        box.append(x[~pinned] >= problem.lower[~pinned])
        box.append(x[~pinned] <= problem.upper[~pinned])
    values = []
    for Q, a, c in zip(problem.Q, problem.a, problem.c, strict=True):
        eigenvalues, vectors = np.linalg.eigh(Q)
        kept = eigenvalues > 1e-12 * np.abs(eigenvalues).max()
        value = a @ x + c
        if np.any(kept):
            root = np.sqrt(eigenvalues[kept])[:, None] * vectors[:, kept].T
            value = value + 0.5 * cp.sum_squares(root @ x)
        values.append(value)
    return box, values


def _run(program: cp.Problem, solver: str, what: str) -> None:
    """Solve quietly; anything but the status 'optimal' raises."""
    try:
        with warnings.catch_warnings():
            # "Solution may be inaccurate" is in the status, which is read below.
            warnings.simplefilter("ignore", UserWarning)
            program.solve(solver=solver, verbose=False, **SOLVERS[solver])
    except cp.SolverError as error:
        raise RuntimeError(f"{solver} failed on {what} ({error})") from error
    if program.status in ("infeasible", "infeasible_inaccurate"):
        raise ValueError(
            f"The problem is infeasible: no point of the box meets all constraints "
            f"({solver} reports '{program.status}')."
        )
    if program.status != "optimal":
        raise RuntimeError(
            f"{solver} did not solve {what}: its status is '{program.status}', "
            "not 'optimal'."
        )


def find_slater_point(problem: Problem, *, solver: str | None = None) -> FloatArray:
    """Return the point of the box whose largest constraint is least.

    Source: Assumption 2.ii. It solves the convex program "minimise s subject to
    g_j(x) <= s, x in X", each g_j in a unit of its own; the point found is then checked
    in numpy. Solvers as in `solve_convex`.

    Raises
    ------
    ValueError
        If the least possible largest constraint is not below -1e-8 of its unit:
        then no Slater point exists, or none that floating point can vouch for.
    RuntimeError
        If no solver reports 'optimal'.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem = hale_egerstedt()
    >>> is_slater_point(problem, find_slater_point(problem))
    True
    """
    own, length, _ = in_own_units(problem)
    x, s = cp.Variable(problem.n_states), cp.Variable()
    box, values = _box_and_values(own, x)
    program = cp.Problem(cp.Minimize(s), box + [value <= s for value in values])
    _first_success(solver, lambda name: _run(program, name, "the Slater point"))
    found = length * np.asarray(x.value)
    point: FloatArray = np.clip(found, problem.lower, problem.upper)
    sizes = constraints(own, point / length)
    worst = int(np.argmax(sizes))
    if sizes[worst] >= -SLATER_MARGIN or not is_slater_point(problem, point):
        none = sizes[worst] > SLATER_MARGIN
        kind = "The problem is infeasible" if none else "No Slater point was found"
        raise ValueError(
            f"{kind}: at the best point of the box the largest constraint, number "
            f"{worst}, is {constraints(problem, point)[worst]:.6g}; Assumption 2 wants "
            f"all of them below 0, by more than {SLATER_MARGIN:g} of their size."
        )
    return point


def solve_convex(
    problem: Problem, *, solver: str | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return states and multipliers as a convex solver gives them, unpolished.

    Good to four to nine digits: use `saddle_point` for anything that counts on more.
    It is public so that two solvers can be compared.

    Parameters
    ----------
    problem : Problem
        The instance.
    solver : {"CLARABEL", "SCS"}, optional
        Interior-point method, or operator splitting; by default the first, and the
        second where that fails.

    Raises
    ------
    ValueError
        If the problem is infeasible.
    RuntimeError
        If the status of no solver is 'optimal'.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> x, mu = solve_convex(hale_egerstedt())
    >>> mu.round(3)
    array([0.839, 1.795, 3.399, 1.979])
    """
    own, length, prices = in_own_units(problem)
    x = cp.Variable(problem.n_states)
    box, values = _box_and_values(own, x)
    roots = np.sqrt(own.coordinate_weights)
    cost = 0.5 * cp.sum_squares(cp.multiply(roots, x - own.targets))
    coupling = [value <= 0.0 for value in values]
    program = cp.Problem(cp.Minimize(cost), box + coupling)
    _first_success(solver, lambda name: _run(program, name, "Problem 0"))
    mu = np.concatenate([np.ravel(one.dual_value) for one in coupling])
    return length * np.asarray(x.value, dtype=np.float64), prices * mu


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
        where that does not lead to a certified point.
    tolerance : float
        Largest residual accepted after polishing, in the problem's own units,
        greater than zero; or the rounding error of the residual itself (bounded, and
        part of the error bound) where that is larger.

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
    find_slater_point(problem)
    few, shares = _without_multiples(problem)
    own, length, prices = in_own_units(few)

    def solve(name: str) -> tuple[FloatArray, FloatArray, float, NDArray[np.bool_]]:
        x, mu = solve_convex(own, solver=name)
        x, mu, _ = polish(own, x, np.maximum(mu, 0.0), 0.0, tolerance)
        bound, _, at_bound = certify(own, x, mu, 0.0)
        return x, mu, bound, at_bound

    x, mu, bound, at_bound = _first_success(solver, solve)
    shares = shares * prices
    x, mu = length * x, shares @ mu
    for array in (x, mu):
        array.flags.writeable = False
    return SaddlePoint(
        x=x,
        multipliers=mu,
        objective=float(objective(problem, x)),
        residual=residual(problem, x, mu),
        bound=bound * max(length, float(np.linalg.norm(shares, axis=0).max())),
        licq=smallest_singular_value(jacobian(problem, x)[mu > 0.0][:, ~at_bound]),
    )
