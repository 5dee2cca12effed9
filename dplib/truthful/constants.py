r"""Constants of Problem 0 in the 1-norm: how far a change of one agent reaches.

Hale & Egerstedt (arXiv 1509.08161), Section II-A and footnote 1, Lemma 1, and
Lemma 6, which turns two of these constants into sensitivities.

All Lipschitz constants are with respect to the metric of the 1-norm, in and out.
For a map that is differentiable on a box, the least such constant is the largest
1-norm of a column of its Jacobian over the box; restricted to changes of agent
i, the largest among agent i's columns. (For a real function: the largest
inf-norm of the gradient.) A diameter is measured in the 1-norm too.

Every value here is exact, unless the docstring says otherwise. Boxes are taken to
have an interior; for a pinned coordinate the values are upper bounds. Each function
gives one number an agent, shape (N,), but for `influence` and `multiplier_radius`.

======================  ==============  =========================================
here                    paper           of what
======================  ==============  =========================================
`objective_lipschitz`   K_i             f_i over X_i
`diameter`              D_i             X_i
`constraint_lipschitz`  K_{g,i}         g over X when agent i alone changes; the
                                        largest is the paper's K_g
`influence`             L_{i<-k}        the entries of g_{x_i} when agent k alone
                                        changes; the largest is the paper's L_{g,i}
`multiplier_radius`     Lemma 1         1-norm of the optimal multipliers
======================  ==============  =========================================
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.truthful.problem import Problem, constraints, is_slater_point, objective

__all__ = [
    "objective_lipschitz",
    "diameter",
    "constraint_lipschitz",
    "influence",
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

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> objective_lipschitz(hale_egerstedt())
    array([16., 12., 17., 19., 17., 20., 20., 16.])
    """
    reach = np.maximum(
        np.abs(problem.lower - problem.targets), np.abs(problem.upper - problem.targets)
    )
    return np.asarray(
        np.maximum.reduceat(problem.coordinate_weights * reach, _starts(problem))
    )


def diameter(problem: Problem) -> FloatArray:
    """Return D_i, the 1-norm diameter of X_i: the sum of the box's sides."""
    return np.asarray(np.add.reduceat(problem.upper - problem.lower, _starts(problem)))


def constraint_lipschitz(problem: Problem) -> FloatArray:
    r"""Return K_{g,i}, how much g can change per unit that agent i moves.

    Column k of the Jacobian has the 1-norm
    :math:`\sum_j |(Q_j x + a_j)_k|`. With the signs s of the terms fixed this is
    affine in x, and the largest value of an affine function over a box is its
    value at the centre plus its absolute slopes times the half sides. The largest
    over all signs is the largest 1-norm, exactly. Only the constraints that touch
    coordinate k need signs. Where more than 16 do, the sum of the largest terms is
    taken instead: an *upper bound*, still valid as a sensitivity.

    Finite only because states lie in their boxes: for reports outside of them
    a quadratic g has no Lipschitz constant.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> constraint_lipschitz(hale_egerstedt())
    array([ 80.,  40.,  80.,  80., 120.,  80., 120.,  40.])
    """
    centre = 0.5 * (problem.lower + problem.upper)
    half = 0.5 * (problem.upper - problem.lower)
    columns = np.zeros(problem.n_states)
    for k in range(problem.n_states):
        slopes, at_centre = problem.Q[:, k, :], problem.Q[:, k, :] @ centre
        at_centre = at_centre + problem.a[:, k]
        touching = np.any(slopes != 0.0, axis=1) | (problem.a[:, k] != 0.0)
        slopes, at_centre = slopes[touching], at_centre[touching]
        if len(slopes) > MAX_TOUCHING:
            columns[k] = np.sum(np.abs(at_centre) + np.abs(slopes) @ half)
        elif len(slopes) > 0:
            # The norm is even: the first sign may stay +, but then both ends count.
            tails = product((1.0, -1.0), repeat=len(slopes) - 1)
            signs = np.array([(1.0, *tail) for tail in tails])
            values = np.abs(signs @ at_centre) + np.abs(signs @ slopes) @ half
            columns[k] = values.max()
    return np.asarray(np.maximum.reduceat(columns, _starts(problem)))


def influence(problem: Problem) -> FloatArray:
    """Return L_{i<-k}, how much g_{x_i} changes per unit that agent k moves; (N, N).

    The entries of g_{x_i}, m times n_i numbers, are affine in x with constant
    slopes ``Q[j, c, d]`` (constraint j, coordinate c of agent i, coordinate d
    of agent k), so the constant is the largest over d of the sum over j and c
    of ``|Q[j, c, d]|``. It needs no box. It is zero where no constraint joins
    the two agents; on the diagonal stands an agent's effect on its own messages.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> influence(hale_egerstedt())[:3, :3]
    array([[4., 2., 2.],
           [2., 2., 0.],
           [2., 0., 4.]])
    """
    starts = _starts(problem)
    slopes = np.abs(problem.Q).sum(axis=0)
    return np.asarray(
        np.maximum.reduceat(np.add.reduceat(slopes, starts, axis=0), starts, axis=1)
    )


def multiplier_radius(problem: Problem, slater: FloatArray) -> float:
    r"""Return the radius of M, a bound on the 1-norm of every optimal multiplier.

    Source: Lemma 1, :math:`(f(\bar x) - f_{lower}) / \min_j\{-g_j(\bar x)\}`, where
    `slater` is :math:`\bar x` and :math:`f_{lower}` the least value of f over the box.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> round(multiplier_radius(hale_egerstedt(), np.zeros(16)), 4)
    138.8333
    """
    if not is_slater_point(problem, slater):
        largest = constraints(problem, slater).max()
        must = "in the box with every constraint below zero"
        got = f"largest constraint {largest:.6g}"
        check.fail("slater", "multiplier_radius", must, got)
    nearest = np.clip(problem.targets, problem.lower, problem.upper)
    room = objective(problem, slater) - objective(problem, nearest)
    return float(room / -constraints(problem, slater).max())
