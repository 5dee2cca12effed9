r"""Constants of Problem 0 in the 1-norm: how far a change of one agent reaches.

Hale & Egerstedt (arXiv 1509.08161), Section II-A and footnote 1, Lemma 1, and
Lemma 6, which turns two of these constants into sensitivities.

All Lipschitz constants are with respect to the metric of the 1-norm, in and out.
For a map that is differentiable on a box, the least such constant is the largest
1-norm of a column of its Jacobian over the box; restricted to changes of agent
i, the largest among agent i's columns. (For a real function: the largest
inf-norm of the gradient.) A diameter is measured in the 1-norm too.

Every value here is exact, unless the docstring says otherwise. Boxes are taken to
have an interior; for a pinned coordinate the values are upper bounds.

======================  ==============  =========================================
here                    paper           of what
======================  ==============  =========================================
`objective_lipschitz`   K_i             f_i over X_i
`diameter`              D_i             X_i
`constraint_lipschitz`  K_{g,i}         g over X when agent i alone changes; the
                                        largest is the paper's K_g
`gradient_lipschitz`    L_{g,i}         the entries of g_{x_i}
`influence`             L_{i<-k}        the same when agent k alone changes
`multiplier_radius`     Lemma 1         1-norm of the optimal multipliers
======================  ==============  =========================================
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.truthful.problem import (
    Problem,
    constraints,
    is_slater_point,
    objective,
)

__all__ = [
    "objective_lipschitz",
    "diameter",
    "constraint_lipschitz",
    "influence",
    "gradient_lipschitz",
    "objective_minimum",
    "multiplier_radius",
]

FloatArray = NDArray[np.float64]

# 2^15 sign patterns a coordinate: a fraction of a second for tens of agents.
MAX_TOUCHING = 16


def _starts(problem: Problem) -> NDArray[np.intp]:
    return np.cumsum((0, *problem.dims[:-1]))


def objective_lipschitz(problem: Problem) -> FloatArray:
    """Return K_i, the least Lipschitz constant of f_i over X_i.

    The gradient w_i (x_i - t_i) is affine in each coordinate apart, so its
    largest entry is at an end of an interval.

    Parameters
    ----------
    problem : Problem
        The instance.

    Returns
    -------
    numpy.ndarray, shape (N,)
        Cost per unit of 1-norm distance.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> objective_lipschitz(hale_egerstedt())
    array([16., 12., 17., 19., 17., 20., 20., 16.])
    """
    check.instance("problem", problem, "objective_lipschitz", Problem)
    reach = np.maximum(
        np.abs(problem.lower - problem.targets), np.abs(problem.upper - problem.targets)
    )
    return np.asarray(
        np.maximum.reduceat(problem.coordinate_weights * reach, _starts(problem))
    )


def diameter(problem: Problem) -> FloatArray:
    """Return D_i, the 1-norm diameter of X_i: the sum of the box's sides, (N,).

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> diameter(hale_egerstedt())
    array([40., 40., 40., 40., 40., 40., 40., 40.])
    """
    check.instance("problem", problem, "diameter", Problem)
    return np.asarray(np.add.reduceat(problem.upper - problem.lower, _starts(problem)))


def constraint_lipschitz(problem: Problem, *, method: str = "exact") -> FloatArray:
    r"""Return K_{g,i}, how much g can change per unit that agent i moves.

    Column k of the Jacobian has the 1-norm
    :math:`\sum_j |(Q_j x + a_j)_k|`. With the signs s of the terms fixed this is
    affine in x, and the largest value of an affine function over a box is its
    value at the centre plus its absolute slopes times the half sides. The largest
    over all signs is the largest 1-norm, exactly. Only the constraints that touch
    coordinate k need signs.

    Parameters
    ----------
    problem : Problem
        The instance.
    method : {"exact", "interval", "safe"}
        ``"interval"`` takes the largest value of each term apart. That is an
        *upper bound*, still valid as a sensitivity, at the cost of one pass.
        ``"safe"`` is exact for a coordinate that at most 16 constraints touch,
        and the interval bound for another.

    Returns
    -------
    numpy.ndarray, shape (N,)
        1-norm of the change of g per unit of 1-norm; the paper's K_g is the
        largest entry.

    Raises
    ------
    ValueError
        If `method` is another word, or ``"exact"`` is asked for and more than
        16 constraints touch one coordinate.

    Notes
    -----
    Finite only because states lie in their boxes: for reports outside of them
    a quadratic g has no Lipschitz constant.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> constraint_lipschitz(hale_egerstedt())
    array([ 80.,  40.,  80.,  80., 120.,  80., 120.,  40.])
    """
    where = "constraint_lipschitz"
    check.instance("problem", problem, where, Problem)
    check.member("method", method, where, ("exact", "interval", "safe"))
    centre = 0.5 * (problem.lower + problem.upper)
    half = 0.5 * (problem.upper - problem.lower)
    columns = np.zeros(problem.n_states)
    for k in range(problem.n_states):
        slopes, at_centre = problem.Q[:, k, :], problem.Q[:, k, :] @ centre
        at_centre = at_centre + problem.a[:, k]
        touching = np.any(slopes != 0.0, axis=1) | (problem.a[:, k] != 0.0)
        slopes, at_centre = slopes[touching], at_centre[touching]
        if method == "interval":
            columns[k] = np.sum(np.abs(at_centre) + np.abs(slopes) @ half)
            continue
        if len(slopes) > MAX_TOUCHING and method == "safe":
            columns[k] = np.sum(np.abs(at_centre) + np.abs(slopes) @ half)
            continue
        if len(slopes) > MAX_TOUCHING:
            must = (
                f"'interval' where more than {MAX_TOUCHING} constraints touch one "
                f"coordinate ({len(slopes)} touch coordinate {k})"
            )
            check.fail("method", where, must, method)
        if len(slopes) == 0:
            continue
        # The norm is even, so the first sign may stay +, but then both ends count.
        tails = product((1.0, -1.0), repeat=len(slopes) - 1)
        signs = np.array([(1.0, *tail) for tail in tails])
        values = np.abs(signs @ at_centre) + np.abs(signs @ slopes) @ half
        columns[k] = values.max()
    return np.asarray(np.maximum.reduceat(columns, _starts(problem)))


def influence(problem: Problem) -> FloatArray:
    """Return L_{i<-k}, how much g_{x_i} changes per unit that agent k moves.

    The entries of g_{x_i}, m times n_i numbers, are affine in x with constant
    slopes ``Q[j, c, d]`` (constraint j, coordinate c of agent i, coordinate d
    of agent k), so the constant is the largest over d of the sum over j and c
    of ``|Q[j, c, d]|``. It needs no box. It is zero where no constraint joins
    the two agents.

    Parameters
    ----------
    problem : Problem
        The instance.

    Returns
    -------
    numpy.ndarray, shape (N, N)
        Entry [i, k] is L_{i<-k}; the diagonal is an agent's effect on its own
        messages.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> influence(hale_egerstedt())[:3, :3]
    array([[4., 2., 2.],
           [2., 2., 0.],
           [2., 0., 4.]])
    """
    check.instance("problem", problem, "influence", Problem)
    starts = _starts(problem)
    slopes = np.abs(problem.Q).sum(axis=0)
    return np.asarray(
        np.maximum.reduceat(np.add.reduceat(slopes, starts, axis=0), starts, axis=1)
    )


def gradient_lipschitz(problem: Problem) -> FloatArray:
    """Return L_{g,i}, how much g_{x_i} changes per unit that any one agent moves.

    The largest entry in row i of `influence`, shape (N,). A change of several
    agents at once of total 1-norm 1 does no more.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> gradient_lipschitz(hale_egerstedt())
    array([4., 2., 4., 4., 6., 4., 6., 2.])
    """
    check.instance("problem", problem, "gradient_lipschitz", Problem)
    return np.asarray(influence(problem).max(axis=1))


def objective_minimum(problem: Problem) -> float:
    """Return the least value of f over the box X, a valid ``f_lower``.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> objective_minimum(hale_egerstedt())
    0.0
    """
    check.instance("problem", problem, "objective_minimum", Problem)
    nearest = np.clip(problem.targets, problem.lower, problem.upper)
    return float(objective(problem, nearest))


def multiplier_radius(
    problem: Problem, slater: ArrayLike, *, f_lower: float | None = None
) -> float:
    r"""Return the radius of M, a bound on the 1-norm of every optimal multiplier.

    Source: Lemma 1,
    :math:`(f(\bar x) - f_{lower}) / \min_j\{-g_j(\bar x)\}`.

    Parameters
    ----------
    problem : Problem
        The instance.
    slater : array_like, shape (n,)
        A point of X with g < 0 everywhere.
    f_lower : float, optional
        A lower bound on f over X; `objective_minimum` by default.

    Returns
    -------
    float
        Radius, zero or greater.

    Raises
    ------
    TypeError, ValueError
        If `slater` is not a Slater point, or `f_lower` is above f there.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> round(multiplier_radius(hale_egerstedt(), np.zeros(16)), 4)
    138.8333
    """
    where = "multiplier_radius"
    check.instance("problem", problem, where, Problem)
    point = check.array("slater", slater, where, shape=(problem.n_states,))
    if not is_slater_point(problem, point):
        largest = float(constraints(problem, point).max())
        must = "in the box with every constraint below zero"
        check.fail("slater", where, must, f"largest constraint {largest:.6g}")
    cost = float(objective(problem, point))
    if f_lower is None:
        f_lower = objective_minimum(problem)
    f_lower = check.finite("f_lower", f_lower, where)
    if f_lower > cost:
        check.fail("f_lower", where, f"at most f(slater), {cost:.6g}", f_lower)
    return (cost - f_lower) / float(-constraints(problem, point).max())
