r"""Which constant lie is best: candidates, a map of all of them, a certificate.

Hale & Egerstedt (arXiv 1509.08161), Section II-C; the paper looks at one lie only.

Model. The gain of the constant report y is that of `dplib.truthful.lies`. It is never
more than the *ceiling*, the truthful cost less :math:`\min f_i`, so a lie that
attains the ceiling is proved best without a search. Where the report of an agent
without wishes lies inside the box it does so; else a grid is tried and refined, and
what is found is a lower bound, the ceiling an upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.truthful.incentives import objective_range
from dplib.truthful.lies import (
    Equilibrium,
    constant_lie,
    equilibrium,
    pinned,
    pinned_saddle,
)
from dplib.truthful.problem import Problem, agent, agent_objectives
from dplib.truthful.saddle import SaddlePoint, saddle_point, solve_convex

__all__ = [
    "BestLie",
    "best_constant_lie",
    "indifferent_report",
    "opposite_corner",
    "lie_map",
]

FloatArray = NDArray[np.float64]


def indifferent_report(problem: Problem, i: int) -> FloatArray:
    """Return agent i's state in the problem where it has no wishes (weight 0).

    It is where V_i of `dplib.truthful.lies` is least. If several points are, one of
    them is returned.

    Parameters
    ----------
    problem : Problem
        The instance.
    i : int
        Agent, 0 to N - 1.

    Returns
    -------
    numpy.ndarray, shape (n_i,)
        A report. Inside the box it is the best constant lie there is; that it is
        can be read off `constant_lie`: the reply `q` is zero, up to its error.

    Raises
    ------
    TypeError, ValueError
        If there is no such agent, or no Slater point.
    RuntimeError
        If the solver's status is not 'optimal'.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> indifferent_report(hale_egerstedt(), 5).round(9)
    array([ 0.9584759 , -5.52793908])
    """
    check.instance("problem", problem, "indifferent_report", Problem)
    mine = agent(problem, i)
    weights = problem.weights.copy()
    weights[i] = 0.0
    indifferent = replace(problem, weights=weights)
    try:
        return saddle_point(indifferent).x[mine].copy()
    except RuntimeError:
        # Not unique (its constraints do not bind): an interior point method
        # ends in the middle of the set, where nothing is degenerate.
        x, _ = solve_convex(indifferent)
        return np.asarray(np.clip(x, problem.lower, problem.upper)[mine])


def opposite_corner(problem: Problem, i: int) -> FloatArray:
    """Return the corner of X_i that is furthest from agent i's target.

    A lie that asks for no knowledge of the others: pull the other way, hard.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> opposite_corner(hale_egerstedt(), 5)
    array([-10., -10.])
    """
    check.instance("problem", problem, "opposite_corner", Problem)
    mine = agent(problem, i)
    lower, upper, t = problem.lower[mine], problem.upper[mine], problem.targets[mine]
    return np.asarray(np.where(upper - t >= t - lower, upper, lower))


def lie_map(
    problem: Problem,
    i: int,
    reports: ArrayLike,
    *,
    radius: float = math.inf,
    truth: SaddlePoint | None = None,
) -> list[Equilibrium | None]:
    """Return where many constant lies of one agent lead.

    Each saddle point is sought by Newton's method from the one before, and by
    `saddle_point` where that fails, so neighbours should follow each other.

    Parameters
    ----------
    problem : Problem
        The instance.
    i : int
        Agent that lies, 0 to N - 1.
    reports : array_like, shape (r, n_i)
        Reports, points of X_i.
    radius, truth
        As for `dplib.truthful.lies.constant_lie`.

    Returns
    -------
    list of Equilibrium or None
        One a report; None where no equilibrium could be certified, or its prices
        are not in M.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> found = lie_map(hale_egerstedt(), 5, [[10, 10], [-10, -10]])
    >>> [round(one.gain, 3) for one in found]
    [-302.986, 97.014]
    """
    check.instance("problem", problem, "lie_map", Problem)
    if truth is not None:
        check.instance("truth", truth, "lie_map", SaddlePoint)
    i = check.integer("i", i, "lie_map", low=0, high=problem.n_agents - 1)
    wanted = check.array("reports", reports, "lie_map", shape=(None, problem.dims[i]))
    truth = saddle_point(problem) if truth is None else truth
    found: list[Equilibrium | None] = []
    x, mu = truth.x, truth.multipliers
    for report in wanted:
        one = None
        try:
            x, mu, error = pinned_saddle(problem, i, report, x, mu)
            one = equilibrium(problem, i, truth, x, mu, error, radius=radius)
        except RuntimeError:  # degenerate, or prices outside M
            pass
        except ValueError:  # without Slater point
            pinned(problem, i, report)  # a report outside the box is no such case
        found.append(one)
    return found


@dataclass(frozen=True, eq=False)
class BestLie:
    """The best constant lie that was found, and how good any could be.

    Attributes
    ----------
    lie : Equilibrium
        Where it ends; `lie.gain` is its gain.
    ceiling : float
        Upper bound on the gain of every lie, constant or not.
    proved : bool
        True if the gain reaches the ceiling to within their error bounds: then no
        lie is better.
    """

    lie: Equilibrium
    ceiling: float
    proved: bool


def best_constant_lie(
    problem: Problem,
    i: int,
    *,
    points: int = 9,
    radius: float = math.inf,
    truth: SaddlePoint | None = None,
) -> BestLie:
    """Return the best constant lie of agent i, with a certificate.

    Parameters
    ----------
    problem : Problem
        The instance.
    i : int
        Agent that lies, 0 to N - 1.
    points : int
        Points of the grid along each coordinate, 3 or more; used only if the
        candidates do not reach the ceiling. Five refinements follow, each around
        the best point so far with half the spacing.
    radius, truth
        As for `dplib.truthful.lies.constant_lie`; lies whose prices are not in M
        are not counted.

    Returns
    -------
    BestLie
        The lie, the ceiling, and whether they meet.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.
    RuntimeError
        If no candidate could be certified.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> best = best_constant_lie(hale_egerstedt(), 5)
    >>> round(best.lie.gain, 9), round(best.ceiling, 9), best.proved
    (97.014360837, 97.014360837, True)
    """
    check.instance("problem", problem, "best_constant_lie", Problem)
    if truth is not None:
        check.instance("truth", truth, "best_constant_lie", SaddlePoint)
    where = "best_constant_lie"
    mine = agent(problem, i)
    points = check.integer("points", points, where, low=3)
    truth = saddle_point(problem) if truth is None else truth
    low, _ = objective_range(problem)
    ceiling = float(agent_objectives(problem, truth.x)[i] - low[i])
    best: Equilibrium | None = None
    calm, here = indifferent_report(problem, i), truth.x[mine]
    # A hair towards the truth: on its own constraint there is no Slater point.
    for report in (calm, calm + 1e-3 * (here - calm), opposite_corner(problem, i)):
        try:
            one = constant_lie(problem, i, report, radius=radius, truth=truth)
        except (RuntimeError, ValueError):  # degenerate, outside M, no Slater point
            continue
        if best is None or one.gain > best.gain:
            best = one
        if best.gain >= ceiling - 2.0 * best.bound:
            return BestLie(best, ceiling, True)
    lower, upper = problem.lower[mine], problem.upper[mine]
    axes = [np.linspace(lo, hi, points) for lo, hi in zip(lower, upper, strict=True)]
    spacing = (upper - lower) / (points - 1)
    for _ in range(6):
        grid = np.array(list(product(*axes)))
        for found in lie_map(problem, i, grid, radius=radius, truth=truth):
            if found and (best is None or found.gain > best.gain):
                best = found
        if best is None:
            break
        spacing = spacing / 2.0
        axes = [
            np.clip(y + step * np.array([-1.0, 0.0, 1.0]), lo, hi)
            for y, step, lo, hi in zip(best.report, spacing, lower, upper, strict=True)
        ]
    if best is None:
        raise RuntimeError(
            f"No constant lie of agent {i} could be certified: all are degenerate, "
            "leave the others no Slater point, or lead to prices outside M."
        )
    return BestLie(best, ceiling, best.gain >= ceiling - 2.0 * best.bound)
