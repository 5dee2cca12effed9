r"""Problem 0: N agents with costs of their own and constraints in common.

Hale & Egerstedt (arXiv 1509.08161), Section II-A; the instance is Section VI.

Model. Agent i chooses a state :math:`x_i \in X_i = [l_i, u_i]` (a box in
:math:`\mathbb{R}^{n_i}`) and pays

.. math:: f_i(x_i) = \tfrac{w_i}{2} \|x_i - t_i\|_2^2, \qquad w_i \ge 0,

its weighted squared distance from a target. (The paper's simulation has every
weight 1; weight 0 is an agent without wishes.) All agents together must keep

.. math:: g_j(x) = \tfrac12 x^T Q_j x + a_j^T x + c_j \le 0, \qquad j = 1..m,

with every :math:`Q_j` positive semidefinite. Here x stacks all states, n numbers
in all. Its Jacobian, row j being :math:`Q_j x + a_j`, is affine in x. The Lagrangian
is :math:`L(x, \mu) = f(x) + \mu^T g(x)` for multipliers :math:`\mu \ge 0`.

Notation. N agents, n stacked coordinates, m constraints; agents, coordinates and
constraints count from 0. Where a function takes states ``x``, leading axes are
allowed: an array of shape (..., n) is a whole run, evaluated at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check

__all__ = [
    "Problem",
    "agent",
    "agent_objectives",
    "objective",
    "objective_gradient",
    "constraints",
    "jacobian",
    "lagrangian_gradient",
    "lagrangian_hessian",
    "in_own_units",
    "is_slater_point",
    "pairwise_constraint",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """One instance of Problem 0, checked when it is made.

    Parameters
    ----------
    dims : sequence of int
        Number of coordinates n_i of each agent, 1 or more; n is their sum.
    lower, upper : array_like, shape (n,)
        Boxes X_i, stacked; ``lower <= upper``. Equal ends pin a coordinate.
    targets : array_like, shape (n,)
        Targets t_i, stacked; they need not lie in the box.
    Q : array_like, shape (m, n, n)
        Hessians of the constraints, symmetric and positive semidefinite.
    a : array_like, shape (m, n)
        Linear terms of the constraints.
    c : array_like, shape (m,)
        Constant terms of the constraints, one or more.
    weights : array_like, shape (N,), optional
        Weights w_i >= 0 of the agents' costs; 1 by default.

    Examples
    --------
    Two agents on a line want to be at 0 and 4, and within distance 2:

    >>> Q, a, c = pairwise_constraint((1, 1), [(0, 1)], limit=4.0)
    >>> pair = Problem((1, 1), [-9, -9], [9, 9], [0, 4], [Q], [a], [c])
    >>> objective(pair, [1, 3]), constraints(pair, [1, 3])
    (array(1.), array([0.]))
    """

    dims: tuple[int, ...]
    lower: FloatArray
    upper: FloatArray
    targets: FloatArray
    Q: FloatArray
    a: FloatArray
    c: FloatArray
    weights: FloatArray = field(default=None)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        where = "Problem"
        dims = tuple(check.integer("dims", size, where, low=1) for size in self.dims)
        n, m, N = sum(dims), np.size(self.c), len(dims)
        if N == 0:
            check.fail("dims", where, "the sizes of at least one agent", self.dims)
        if m == 0:
            check.fail("c", where, "one number for each of m >= 1 constraints", self.c)
        set_field = partial(object.__setattr__, self)  # the way into a frozen class
        set_field("dims", dims)
        if self.weights is None:
            set_field("weights", np.ones(N))
        shapes = {"lower": (n,), "upper": (n,), "targets": (n,), "weights": (N,)}
        for name, shape in (shapes | {"Q": (m, n, n), "a": (m, n), "c": (m,)}).items():
            set_field(name, check.array(name, getattr(self, name), where, shape=shape))
        empty = np.flatnonzero(self.lower > self.upper)
        if empty.size:
            k = empty[0]
            must = f"at least 'lower' in coordinate {k}, {self.lower[k]}"
            check.fail("upper", where, must, self.upper[k])
        if np.any(self.weights < 0.0):
            check.fail("weights", where, "non-negative", self.weights.tolist())
        for j, Q in enumerate(self.Q):
            rounding = 1e-12 * np.abs(Q).max()
            if np.abs(Q - Q.T).max() > rounding:
                check.fail("Q", where, f"symmetric in constraint {j}", Q.tolist())
            smallest = np.linalg.eigvalsh(Q)[0]
            if smallest < -n * rounding:
                must = f"positive semidefinite in constraint {j} (convex)"
                check.fail("Q", where, must, f"smallest eigenvalue {smallest:.6g}")

    @cached_property
    def coordinate_weights(self) -> FloatArray:
        """Weight w_i of the agent that each coordinate belongs to, shape (n,)."""
        weights = np.repeat(self.weights, self.dims)
        weights.flags.writeable = False
        return weights

    @property
    def n_agents(self) -> int:
        """Number of agents, N."""
        return len(self.dims)

    @property
    def n_states(self) -> int:
        """Number of stacked coordinates, n."""
        return int(self.lower.size)

    @property
    def n_constraints(self) -> int:
        """Number of constraints in common, m."""
        return int(self.c.size)


def agent(problem: Problem, i: int) -> slice:
    """Return the slice of agent i's coordinates in a stacked state.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> agent(hale_egerstedt(), 5)
    slice(10, 12, None)
    """
    start = sum(problem.dims[:i])
    return slice(start, start + problem.dims[i])


def agent_objectives(problem: Problem, x: FloatArray) -> FloatArray:
    """Return what each agent pays, f_i(x_i); shape (..., N) for x of (..., n).

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> agent_objectives(hale_egerstedt(), np.zeros(16))
    array([ 26. ,   4. ,  49. ,  72.5,  29. , 100. , 100. ,  36. ])
    """
    squares = 0.5 * problem.coordinate_weights * (x - problem.targets) ** 2
    starts = np.cumsum((0, *problem.dims[:-1]))
    return np.asarray(np.add.reduceat(squares, starts, axis=-1))


def objective(problem: Problem, x: FloatArray) -> FloatArray:
    """Return the total cost f(x), the sum of `agent_objectives`; shape (...)."""
    return np.asarray(agent_objectives(problem, x).sum(axis=-1))


def objective_gradient(problem: Problem, x: FloatArray) -> FloatArray:
    """Return the gradient of f, entries w_i (x_i - t_i); shape (..., n)."""
    return problem.coordinate_weights * (x - problem.targets)


def constraints(problem: Problem, x: FloatArray) -> FloatArray:
    """Return the values g(x) of the constraints, met where <= 0; shape (..., m).

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> constraints(hale_egerstedt(), np.zeros(16))
    array([-5., -3., -3., -5.])
    """
    # g = x^T (Q x + 2 a) / 2 + c, so that the Jacobian's product is used twice.
    rows = jacobian(problem, x) + problem.a
    return np.asarray(0.5 * np.einsum("...jk,...k->...j", rows, x) + problem.c)


def jacobian(problem: Problem, x: FloatArray) -> FloatArray:
    """Return the Jacobian of g, row j being Q_j x + a_j; shape (..., m, n).

    Its columns that belong to agent i are the paper's g_{x_i}.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> jacobian(hale_egerstedt(), np.arange(16))[0, :6]
    array([-12., -12.,   4.,   4.,   8.,   8.])
    """
    return np.asarray(np.einsum("jkl,...l->...jk", problem.Q, x) + problem.a)


def lagrangian_gradient(problem: Problem, x: FloatArray, mu: FloatArray) -> FloatArray:
    """Return L_x(x, mu) for one mu of shape (m,); shape (..., n).

    (The gradient in mu is `constraints`.)

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> lagrangian_gradient(hale_egerstedt(), np.zeros(16), np.ones(4))[:4]
    array([-6.,  4., -2., -2.])
    """
    pull = np.einsum("...jk,j->...k", jacobian(problem, x), mu)
    return np.asarray(objective_gradient(problem, x) + pull)


def lagrangian_hessian(problem: Problem, mu: FloatArray) -> FloatArray:
    """Return the Hessian of L in x, diag(w) + sum_j mu_j Q_j; shape (n, n).

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> lagrangian_hessian(hale_egerstedt(), np.ones(4))[0, :3]
    array([ 5.,  0., -2.])
    """
    hessian = np.diag(problem.coordinate_weights) + np.tensordot(mu, problem.Q, 1)
    return np.asarray(hessian)


def in_own_units(problem: Problem) -> tuple[Problem, float, FloatArray]:
    """Return the problem in units in which its numbers are near 1, and the units.

    The unit of length is the size of the targets (or of the narrowest constraint, if
    that is larger), that of cost what the largest weight makes of it, and each
    constraint has its own. All are powers of two, so that nothing is rounded.

    Returns
    -------
    own : Problem
        The same problem in other units.
    length : float
        States of `problem` are those of `own` times this.
    prices : numpy.ndarray, shape (m,)
        Multipliers of `problem` are those of `own` times these.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> own, length, prices = in_own_units(hale_egerstedt())
    >>> own.targets[:2], length, prices
    (array([ 0.75, -0.5 ]), 8.0, array([2., 4., 4., 2.]))
    """
    slope = np.abs(problem.a).max(axis=1)
    curve, c = np.abs(problem.Q).max(axis=(1, 2)), np.abs(problem.c)
    bent = curve > 0.0
    radius = np.sqrt(c[bent] / curve[bent]).min() if bent.any() else 0.0
    length = _power_of_two(max(np.abs(problem.targets).max(), radius))
    weight = _power_of_two(problem.weights.max())
    Q, a = length * length * problem.Q, length * problem.a
    # How steep a constraint is where it is zero.
    steep = length * (np.sqrt(c * curve) + slope)
    rows = _power_of_two(np.where(steep > 0.0, steep, c))
    own = Problem(
        problem.dims,
        problem.lower / length,
        problem.upper / length,
        problem.targets / length,
        Q / rows[:, None, None],
        a / rows[:, None],
        problem.c / rows,
        problem.weights / weight,
    )
    return own, float(length), weight * length * length / rows


def _power_of_two(size: ArrayLike) -> FloatArray:
    """Return the largest power of two up to each size, and 1 for a size of 0."""
    given = np.asarray(size, dtype=np.float64)
    _, exponent = np.frexp(np.where(given > 0.0, np.clip(given, 1e-30, 1e30), 1.0))
    return np.asarray(np.ldexp(1.0, exponent - 1))


def is_slater_point(problem: Problem, x: FloatArray) -> bool:
    """Tell whether x, shape (n,), lies in the box and meets every g_j(x) < 0.

    Assumption 2.ii asks that such a point exists.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> problem = hale_egerstedt()
    >>> is_slater_point(problem, np.zeros(16)), is_slater_point(problem, [11.0] * 16)
    (True, False)
    """
    inside = np.all(x >= problem.lower) and np.all(x <= problem.upper)
    return bool(inside and np.all(constraints(problem, x) < 0.0))


def pairwise_constraint(
    dims: Sequence[int], pairs: Sequence[tuple[int, int]], *, limit: float
) -> tuple[FloatArray, FloatArray, float]:
    r"""Return (Q, a, c) of a bound on the squared distances of some pairs.

    The constraint is :math:`\sum_{(i,k)} \|x_i - x_k\|_2^2 - \text{limit} \le 0`;
    stack several to make a `Problem`. Agents of a pair have equally many of the
    coordinates `dims`; a `limit` of zero would leave no Slater point.

    Examples
    --------
    >>> Q, a, c = pairwise_constraint((1, 1), [(0, 1)], limit=4.0)
    >>> Q, a, c
    (array([[ 2., -2.],
           [-2.,  2.]]), array([0., 0.]), -4.0)
    """
    starts = np.cumsum((0, *dims[:-1]))
    Q = np.zeros((sum(dims), sum(dims)))
    for i, k in pairs:
        at_i, at_k = (np.arange(starts[one], starts[one] + dims[i]) for one in (i, k))
        Q[at_i, at_i] += 2.0
        Q[at_k, at_k] += 2.0
        Q[at_i, at_k] -= 2.0
        Q[at_k, at_i] -= 2.0
    return Q, np.zeros(sum(dims)), -limit
