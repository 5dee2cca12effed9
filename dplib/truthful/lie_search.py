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

from dplib.truthful.lies import Equilibrium, constant_lie
from dplib.truthful.problem import Problem, agent, agent_objectives
from dplib.truthful.saddle import SaddlePoint, saddle_point, solve_convex

__all__ = [
    "BestLie",
    "best_constant_lie",
    "indifferent_report",
    "lie_map",
    "objective_range",
    "opposite_corner",
]

FloatArray = NDArray[np.float64]


def objective_range(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest value of each f_i over X_i, exactly, (N,) each.

    Their difference bounds every gain of agent i, private or not. (The cost is a sum
    over coordinates, each least at the nearest point of its interval to the target
    and largest at the end that is further away.)

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> low, high = objective_range(hale_egerstedt())
    >>> low.max(), high
    (np.float64(0.0), array([226. , 144. , 289. , 342.5, 229. , 400. , 400. , 256. ]))
    """
    lower, upper, targets = problem.lower, problem.upper, problem.targets
    far = np.where(np.abs(upper - targets) > np.abs(lower - targets), upper, lower)
    near = np.clip(targets, lower, upper)
    return agent_objectives(problem, near), agent_objectives(problem, far)


def indifferent_report(problem: Problem, i: int) -> FloatArray:
    """Return agent i's state in the problem where it has no wishes (weight 0).

    It is where V_i of `dplib.truthful.lies` is least (if at several points, one of
    them). Inside the box it is the best constant lie there is: the reply `q` of
    `constant_lie` is then zero, up to its error.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> indifferent_report(hale_egerstedt(), 5).round(9)
    array([ 0.9584759 , -5.52793908])
    """
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

    Each equilibrium is sought from the one before, so neighbours should follow each
    other.

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

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> found = lie_map(hale_egerstedt(), 5, [[10, 10], [-10, -10]])
    >>> [round(one.gain, 3) for one in found]
    [-302.986, 97.014]
    """
    truth = saddle_point(problem) if truth is None else truth
    found: list[Equilibrium | None] = []
    near = None
    for report in np.asarray(reports, dtype=np.float64):
        try:
            near = constant_lie(
                problem, i, report, radius=radius, truth=truth, start=near
            )
            found.append(near)
        except (RuntimeError, ValueError):  # degenerate, outside M; no Slater point
            found.append(None)
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
    """

    lie: Equilibrium
    ceiling: float

    @property
    def proved(self) -> bool:
        """Whether no lie is better: the gain reaches the ceiling, up to errors."""
        return self.lie.gain >= self.ceiling - 2.0 * self.lie.bound


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

    Raises
    ------
    RuntimeError
        If no lie that was tried could be certified.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> best = best_constant_lie(hale_egerstedt(), 5)
    >>> round(best.lie.gain, 9), round(best.ceiling, 9), best.proved
    (97.014360837, 97.014360837, True)
    """
    mine = agent(problem, i)
    truth = saddle_point(problem) if truth is None else truth
    low, _ = objective_range(problem)
    ceiling = float(agent_objectives(problem, truth.x)[i] - low[i])

    def better(best: BestLie | None, reports: ArrayLike) -> BestLie | None:
        for lie in lie_map(problem, i, reports, radius=radius, truth=truth):
            if lie and (best is None or lie.gain > best.lie.gain):
                best = BestLie(lie, ceiling)
        return best

    best = None
    calm, here = indifferent_report(problem, i), truth.x[mine]
    # A hair towards the truth: on its own constraint there is no Slater point.
    for report in (calm, calm + 1e-3 * (here - calm), opposite_corner(problem, i)):
        best = better(best, [report])
        if best and best.proved:
            return best
    lower, upper = problem.lower[mine], problem.upper[mine]
    axes = list(np.linspace(lower, upper, points).T)
    spacing = (upper - lower) / (points - 1)
    for _ in range(6):
        best = better(best, list(product(*axes)))
        if best is None:
            break
        spacing = spacing / 2.0
        around = best.lie.report + np.outer([-1.0, 0.0, 1.0], spacing)
        axes = list(np.clip(around, lower, upper).T)
    if best is None:
        raise RuntimeError(
            f"No constant lie of agent {i} could be certified: all are degenerate, "
            "leave the others no Slater point, or lead to prices outside M."
        )
    return best
