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
from functools import cached_property
from typing import Any

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
    "lagrangian",
    "lagrangian_gradient",
    "lagrangian_hessian",
    "in_own_units",
    "is_slater_point",
    "pairwise_constraint",
    "hale_egerstedt",
]

FloatArray = NDArray[np.float64]

MAX_STATES = 10_000  # each constraint is a square matrix of that size


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
        Constant terms of the constraints.
    weights : array_like, shape (N,), optional
        Weights w_i >= 0 of the agents' costs; 1 by default.

    Raises
    ------
    TypeError, ValueError
        In one sentence: no agent or no constraint, sizes that do not match,
        a number that is not finite or above 1e60 in size, an empty box, a
        negative weight, or a constraint that is not convex (with its smallest
        eigenvalue).

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
        dims = _dims(self.dims, where)
        n = sum(dims)
        weights = np.ones(len(dims)) if self.weights is None else self.weights
        c = check.array("c", self.c, where, shape=(None,))
        if c.size == 0:
            check.fail("c", where, "one number for each of m >= 1 constraints", self.c)
        values: dict[str, Any] = {
            "dims": dims,
            "lower": check.array("lower", self.lower, where, shape=(n,)),
            "upper": check.array("upper", self.upper, where, shape=(n,)),
            "targets": check.array("targets", self.targets, where, shape=(n,)),
            "Q": check.array("Q", self.Q, where, shape=(c.size, n, n)),
            "a": check.array("a", self.a, where, shape=(c.size, n)),
            "c": c,
            "weights": check.array("weights", weights, where, shape=(len(dims),)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)  # the way into a frozen class
        empty = np.flatnonzero(self.lower > self.upper)
        if empty.size:
            k = empty[0]
            check.fail(
                "upper",
                where,
                f"at least 'lower' in coordinate {k}, {self.lower[k]} (the box is "
                "empty otherwise)",
                self.upper[k],
            )
        if np.any(self.weights < 0.0):
            check.fail("weights", where, "non-negative", self.weights.tolist())
        _check_convex(self.Q)

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


def _dims(dims: Sequence[int], where: str) -> tuple[int, ...]:
    if not isinstance(dims, Sequence) or isinstance(dims, str) or len(dims) == 0:
        check.fail("dims", where, "a sequence of at least one integer", dims)
    sizes = tuple(check.integer("dims", size, where, low=1) for size in dims)
    if sum(sizes) > MAX_STATES:
        must = f"sizes that add up to at most {MAX_STATES}"
        check.fail("dims", where, must, sum(sizes))
    return sizes


def _check_convex(Q: FloatArray) -> None:
    for j, hessian in enumerate(Q):
        size = float(np.abs(hessian).max())
        if np.abs(hessian - hessian.T).max() > 1e-12 * size:
            check.fail("Q", "Problem", f"symmetric in constraint {j}", hessian.tolist())
        smallest = float(np.linalg.eigvalsh(hessian)[0])
        # Eigenvalues of an exact zero come out as rounding of the largest entry.
        if smallest < -1e-12 * hessian.shape[0] * size:
            check.fail(
                "Q",
                "Problem",
                f"positive semidefinite in constraint {j} (the constraint is not "
                "convex otherwise)",
                f"smallest eigenvalue {smallest:.6g}",
            )


def agent(problem: Problem, i: int) -> slice:
    """Return the slice of agent i's coordinates in a stacked state.

    Parameters
    ----------
    problem : Problem
        The instance.
    i : int
        Agent, 0 to N - 1.

    Returns
    -------
    slice
        ``x[..., agent(problem, i)]`` is the state of agent i.

    Raises
    ------
    TypeError, ValueError
        If there is no such agent.

    Examples
    --------
    >>> agent(hale_egerstedt(), 5)
    slice(10, 12, None)
    """
    check.instance("problem", problem, "agent", Problem)
    i = check.integer("i", i, "agent", low=0, high=problem.n_agents - 1)
    start = sum(problem.dims[:i])
    return slice(start, start + problem.dims[i])


def _states(problem: Problem, x: ArrayLike, where: str) -> FloatArray:
    """Check states of shape (..., n)."""
    n = check.instance("problem", problem, where, Problem).n_states
    given = check.entries("x", x, where, f"an array of shape (..., {n})")
    if given.ndim == 0 or given.shape[-1] != n:
        raise ValueError(
            f"The 'x' parameter of {where} must be an array of shape (..., {n}). "
            f"Got an array of shape {given.shape} instead."
        )
    flat = check.array("x", given.reshape(-1, n), where, shape=(None, n))
    return flat.reshape(given.shape)


def _multipliers(problem: Problem, mu: ArrayLike, where: str) -> FloatArray:
    m = check.instance("problem", problem, where, Problem).n_constraints
    return check.array("mu", mu, where, shape=(m,))


def agent_objectives(problem: Problem, x: ArrayLike) -> FloatArray:
    """Return what each agent pays, f_i(x_i).

    Parameters
    ----------
    problem : Problem
        The instance.
    x : array_like, shape (..., n)
        Stacked states.

    Returns
    -------
    numpy.ndarray, shape (..., N)
        Costs of the agents, zero or greater.

    Raises
    ------
    TypeError, ValueError
        If `x` is not numeric and finite, or its last axis is not n long.

    Examples
    --------
    >>> agent_objectives(hale_egerstedt(), np.zeros(16))
    array([ 26. ,   4. ,  49. ,  72.5,  29. , 100. , 100. ,  36. ])
    """
    check.instance("problem", problem, "agent_objectives", Problem)
    states = _states(problem, x, "agent_objectives")
    squares = 0.5 * problem.coordinate_weights * (states - problem.targets) ** 2
    starts = np.cumsum((0, *problem.dims[:-1]))
    return np.asarray(np.add.reduceat(squares, starts, axis=-1))


def objective(problem: Problem, x: ArrayLike) -> FloatArray:
    """Return the total cost f(x), the sum of `agent_objectives`; shape (...).

    Examples
    --------
    >>> objective(hale_egerstedt(), np.zeros(16))
    array(416.5)
    """
    check.instance("problem", problem, "objective", Problem)
    return np.asarray(agent_objectives(problem, x).sum(axis=-1))


def objective_gradient(problem: Problem, x: ArrayLike) -> FloatArray:
    """Return the gradient of f, entries w_i (x_i - t_i); shape (..., n).

    Examples
    --------
    >>> objective_gradient(hale_egerstedt(), np.zeros(16))[:4]
    array([-6.,  4., -2., -2.])
    """
    check.instance("problem", problem, "objective_gradient", Problem)
    states = _states(problem, x, "objective_gradient")
    return problem.coordinate_weights * (states - problem.targets)


def constraints(problem: Problem, x: ArrayLike) -> FloatArray:
    """Return the values g(x) of the constraints, met where <= 0; shape (..., m).

    Examples
    --------
    >>> constraints(hale_egerstedt(), np.zeros(16))
    array([-5., -3., -3., -5.])
    """
    check.instance("problem", problem, "constraints", Problem)
    states = _states(problem, x, "constraints")
    # g = x^T (Q x + 2 a) / 2 + c, so that the Jacobian's product is used twice.
    rows = jacobian(problem, states) + problem.a
    return np.asarray(0.5 * np.einsum("...jk,...k->...j", rows, states) + problem.c)


def jacobian(problem: Problem, x: ArrayLike) -> FloatArray:
    """Return the Jacobian of g, row j being Q_j x + a_j; shape (..., m, n).

    Its columns that belong to agent i are the paper's g_{x_i}.

    Examples
    --------
    >>> g_x = jacobian(hale_egerstedt(), np.arange(16))
    >>> g_x[0, :6]
    array([-12., -12.,   4.,   4.,   8.,   8.])
    """
    check.instance("problem", problem, "jacobian", Problem)
    states = _states(problem, x, "jacobian")
    return np.asarray(np.einsum("jkl,...l->...jk", problem.Q, states) + problem.a)


def lagrangian(problem: Problem, x: ArrayLike, mu: ArrayLike) -> FloatArray:
    """Return L(x, mu) = f(x) + mu^T g(x) for one mu of shape (m,); shape (...).

    Examples
    --------
    >>> lagrangian(hale_egerstedt(), np.zeros(16), np.ones(4))
    array(400.5)
    """
    check.instance("problem", problem, "lagrangian", Problem)
    mu = _multipliers(problem, mu, "lagrangian")
    return np.asarray(objective(problem, x) + constraints(problem, x) @ mu)


def lagrangian_gradient(problem: Problem, x: ArrayLike, mu: ArrayLike) -> FloatArray:
    """Return L_x(x, mu), the gradient of L in x; shape (..., n).

    (The gradient in mu is `constraints`.)

    Examples
    --------
    >>> lagrangian_gradient(hale_egerstedt(), np.zeros(16), np.ones(4))[:4]
    array([-6.,  4., -2., -2.])
    """
    check.instance("problem", problem, "lagrangian_gradient", Problem)
    mu = _multipliers(problem, mu, "lagrangian_gradient")
    pull = np.einsum("...jk,j->...k", jacobian(problem, x), mu)
    return np.asarray(objective_gradient(problem, x) + pull)


def lagrangian_hessian(problem: Problem, mu: ArrayLike) -> FloatArray:
    """Return the Hessian of L in x, diag(w) + sum_j mu_j Q_j; shape (n, n).

    Examples
    --------
    >>> lagrangian_hessian(hale_egerstedt(), np.ones(4))[0, :3]
    array([ 5.,  0., -2.])
    """
    check.instance("problem", problem, "lagrangian_hessian", Problem)
    mu = _multipliers(problem, mu, "lagrangian_hessian")
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
    >>> own, length, prices = in_own_units(hale_egerstedt())
    >>> own.targets[:2], length, prices
    (array([ 0.75, -0.5 ]), 8.0, array([2., 4., 4., 2.]))
    """
    check.instance("problem", problem, "in_own_units", Problem)
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


def is_slater_point(problem: Problem, x: ArrayLike) -> bool:
    """Tell whether x, shape (n,), lies in the box and meets every g_j(x) < 0.

    Assumption 2.ii asks that such a point exists.

    Examples
    --------
    >>> is_slater_point(hale_egerstedt(), np.zeros(16))
    True
    >>> is_slater_point(hale_egerstedt(), hale_egerstedt().targets)
    False
    """
    check.instance("problem", problem, "is_slater_point", Problem)
    x = check.array("x", x, "is_slater_point", shape=(problem.n_states,))
    inside = np.all(x >= problem.lower) and np.all(x <= problem.upper)
    return bool(inside and np.all(constraints(problem, x) < 0.0))


def pairwise_constraint(
    dims: Sequence[int], pairs: Sequence[tuple[int, int]], *, limit: float
) -> tuple[FloatArray, FloatArray, float]:
    r"""Return (Q, a, c) of a bound on the squared distances of some pairs.

    The constraint is :math:`\sum_{(i,k)} \|x_i - x_k\|_2^2 - \text{limit} \le 0`;
    stack several to make a `Problem`.

    Parameters
    ----------
    dims : sequence of int
        Numbers of coordinates of the agents.
    pairs : sequence of (int, int)
        Pairs of different agents with equally many coordinates.
    limit : float
        Bound on the sum, greater than zero (at zero no Slater point exists).

    Returns
    -------
    Q : numpy.ndarray, shape (n, n)
        Hessian.
    a : numpy.ndarray, shape (n,)
        Zeros.
    c : float
        Minus the limit.

    Raises
    ------
    TypeError, ValueError
        If a pair names an agent that does not exist, one agent twice, or
        agents of different dimension, or the limit is not positive.

    Examples
    --------
    >>> Q, a, c = pairwise_constraint((1, 1), [(0, 1)], limit=4.0)
    >>> Q, a, c
    (array([[ 2., -2.],
           [-2.,  2.]]), array([0., 0.]), -4.0)
    """
    where = "pairwise_constraint"
    sizes = _dims(dims, where)
    limit = check.positive("limit", limit, where)
    starts = np.cumsum((0, *sizes[:-1]))
    Q = np.zeros((sum(sizes), sum(sizes)))
    must = "a sequence of pairs of agents"
    if not isinstance(pairs, Sequence) or isinstance(pairs, str):
        check.fail("pairs", where, must, pairs, TypeError)
    for pair in pairs:
        if not isinstance(pair, Sequence) or len(pair) != 2:
            check.fail("pairs", where, must, pair)
        i, k = (
            check.integer("pairs", one, where, low=0, high=len(sizes) - 1)
            for one in pair
        )
        if i == k or sizes[i] != sizes[k]:
            must = "pairs of different agents with equally many coordinates"
            check.fail("pairs", where, must, pair)
        at_i, at_k = (np.arange(starts[one], starts[one] + sizes[i]) for one in (i, k))
        Q[at_i, at_i] += 2.0
        Q[at_k, at_k] += 2.0
        Q[at_i, at_k] -= 2.0
        Q[at_k, at_i] -= 2.0
    return Q, np.zeros(sum(sizes)), -limit


def hale_egerstedt() -> Problem:
    """Return the paper's instance: 8 agents in the plane, 4 constraints.

    Source: Section VI and Table I. Agents here are the paper's less one.

    Examples
    --------
    >>> problem = hale_egerstedt()
    >>> problem.n_agents, problem.n_states, problem.n_constraints
    (8, 16, 4)
    """
    dims = (2,) * 8
    targets = [6, -4, 2, 2, -7, 7, 8, -9, 3, -7, 10, 10, -10, -10, 6, -6]
    terms = [
        pairwise_constraint(dims, [(0, 1), (0, 2)], limit=5.0),
        pairwise_constraint(dims, [(3, 4), (3, 5)], limit=3.0),
        pairwise_constraint(dims, [(6, 7), (6, 5)], limit=3.0),
        pairwise_constraint(dims, [(4, 2), (4, 6)], limit=5.0),
    ]
    Q, a, c = (np.array(part) for part in zip(*terms, strict=True))
    return Problem(
        dims, np.full(16, -10.0), np.full(16, 10.0), np.array(targets), Q, a, c
    )
