"""Problem 0 by a general convex solver: a start, a second opinion, a Slater point.

Hale & Egerstedt (arXiv 1509.08161), Section II-A, Assumption 2.ii.

This is the only file of the room that knows of cvxpy. A solver's word is never
final: its status must be 'optimal', what it returns is checked or polished in
numpy by others (`dplib.truthful.kkt`), and where one solver fails a second is asked.
Solvers see every problem in units of its own (`dplib.truthful.problem.in_own_units`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.truthful.problem import (
    Problem,
    constraints,
    in_own_units,
    is_slater_point,
)

__all__ = ["SOLVERS", "find_slater_point", "solve_convex"]

FloatArray = NDArray[np.float64]

SOLVERS: dict[str, dict[str, Any]] = {
    # Interior point and operator splitting share no code and no idea.
    # Tighter gaps than these can end in 'optimal_inaccurate'.
    "CLARABEL": {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 500_000},
}
SLATER_MARGIN = 1e-8  # of a constraint's own unit: a solver's zero proves nothing

T = TypeVar("T")


def first_success(solver: str | None, solve: Callable[[str], T]) -> T:
    """Return `solve` of the named solver; of each in turn if none is named.

    Examples
    --------
    >>> first_success(None, str.lower)
    'clarabel'
    """
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
            f"Problem 0 is infeasible: no point of the box meets all constraints "
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
    in numpy.

    Parameters
    ----------
    problem : Problem
        The instance.
    solver : {"CLARABEL", "SCS"}, optional
        Convex solver; by default the first, and the second where that fails.

    Returns
    -------
    numpy.ndarray, shape (n,)
        A Slater point: in the box, every g_j(x) < 0.

    Raises
    ------
    ValueError
        If the least possible largest constraint is not below -1e-8 of its unit:
        then no Slater point exists, or none that floating point could vouch for.
    RuntimeError
        If no solver reports 'optimal'.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem = hale_egerstedt()
    >>> is_slater_point(problem, find_slater_point(problem))
    True
    """
    check.instance("problem", problem, "find_slater_point", Problem)
    if solver is not None:
        check.member("solver", solver, "find_slater_point", SOLVERS)
    own, length, _ = in_own_units(problem)
    x, s = cp.Variable(problem.n_states), cp.Variable()
    box, values = _box_and_values(own, x)
    program = cp.Problem(cp.Minimize(s), box + [value <= s for value in values])
    first_success(solver, lambda name: _run(program, name, "the Slater point"))
    found = length * np.asarray(x.value)
    point: FloatArray = np.clip(found, problem.lower, problem.upper)
    sizes = constraints(own, point / length)
    worst = int(np.argmax(sizes))
    if sizes[worst] >= -SLATER_MARGIN or not is_slater_point(problem, point):
        none = sizes[worst] > SLATER_MARGIN
        kind = "infeasible" if none else "without a Slater point"
        raise ValueError(
            f"Problem 0 is {kind}: the largest of its constraints is at least "
            f"{constraints(problem, point)[worst]:.6g} everywhere in the box "
            f"(constraint {worst} at the best point), where Assumption 2 wants a point "
            "with all of them below 0."
        )
    return point


def solve_convex(
    problem: Problem, *, alpha: float = 0.0, solver: str | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return states and multipliers as a convex solver gives them, unpolished.

    Good to four to nine digits: use `dplib.truthful.saddle` for anything that
    counts on more. It is public so that two solvers can be compared.

    With ``alpha > 0`` the program is the primal of the regularised saddle point:
    minimise ``f(x) + alpha/2 |x|^2 + alpha/2 |mu|^2`` subject to
    ``g(x) <= alpha mu``. It is always feasible.

    Parameters
    ----------
    problem : Problem
        The instance.
    alpha : float
        Weight of the regularisation, zero or greater.
    solver : {"CLARABEL", "SCS"}, optional
        Interior-point method, or operator splitting; by default the first, and the
        second where that fails.

    Returns
    -------
    x : numpy.ndarray, shape (n,)
        States.
    mu : numpy.ndarray, shape (m,)
        Multipliers of g.

    Raises
    ------
    ValueError
        If the problem is infeasible, or `solver` is another word.
    RuntimeError
        If the status of no solver is 'optimal'.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> x, mu = solve_convex(hale_egerstedt())
    >>> mu.round(3)
    array([0.839, 1.795, 3.399, 1.979])
    """
    where = "solve_convex"
    check.instance("problem", problem, where, Problem)
    alpha = check.nonnegative("alpha", alpha, where)
    if solver is not None:
        check.member("solver", solver, where, SOLVERS)
    # The regularisation adds states and multipliers: it is about the units as given.
    own, length, prices = problem, 1.0, np.ones(problem.n_constraints)
    if alpha == 0.0:
        own, length, prices = in_own_units(problem)
    x = cp.Variable(problem.n_states)
    box, values = _box_and_values(own, x)
    roots = np.sqrt(own.coordinate_weights)
    cost = 0.5 * cp.sum_squares(cp.multiply(roots, x - own.targets))
    excess: Any = np.zeros(problem.n_constraints)
    if alpha > 0.0:
        slack = cp.Variable(problem.n_constraints)
        cost = cost + 0.5 * alpha * (cp.sum_squares(x) + cp.sum_squares(slack))
        excess = alpha * slack
    coupling = [value <= excess[j] for j, value in enumerate(values)]
    program = cp.Problem(cp.Minimize(cost), box + coupling)
    first_success(solver, lambda name: _run(program, name, "Problem 0"))
    mu = np.concatenate([np.ravel(one.dual_value) for one in coupling])
    return length * np.asarray(x.value, dtype=np.float64), prices * mu
