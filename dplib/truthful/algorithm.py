r"""Algorithm 1: agents descend, the cloud ascends, no noise yet.

Hale & Egerstedt (arXiv 1509.08161), Section II, Update (2) and Algorithm 1; step
sizes from Theorem 1.

Model. At step k the cloud, which holds the stacked states x(k) and the multipliers
:math:`\mu(k)`, sends agent i its message :math:`q_i(k) = g_{x_i}(x(k))^T\mu(k)`.
Then, at the same time,

.. math::
   x_i(k+1) &= \Pi_{X_i}[x_i(k) - \gamma_k(\nabla f_i(x_i(k)) + q_i(k)
               + \alpha_k x_i(k))], \\
   \mu(k+1) &= \Pi_M[\mu(k) + \gamma_k(g(x(k)) - \alpha_k\mu(k))],

with :math:`\gamma_k = \bar\gamma k^{-c_2}`, :math:`\alpha_k = \bar\alpha k^{-c_1}`,
and M the multipliers :math:`\mu \ge 0` of 1-norm at most R (Lemma 1).

A step is made of two pure functions: `messages` is what the cloud computes,
`step` what agents and cloud do with it. Whoever adds noise to the messages, or lies
in what is reported, changes what passes between the two.

Notation. "After s steps" means x(k) with k = first + s; the states at the start are
the record of step 0.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.truthful.problem import Problem

__all__ = [
    "StepSizes",
    "Run",
    "project_box",
    "project_multipliers",
    "messages",
    "step",
    "record_steps",
    "run",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class StepSizes:
    r"""Step sizes and regularisation of Theorem 1.

    :math:`\gamma_k = \bar\gamma k^{-c_2}`, :math:`\alpha_k = \bar\alpha k^{-c_1}`.
    The defaults are those of the paper's simulation, Section VI.

    Parameters
    ----------
    gamma_bar, alpha_bar : float
        Sizes at k = 1, greater than zero.
    c1, c2 : float
        Exponents with 0 < c1 < c2 and c1 + c2 < 1, without which Theorem 1
        does not apply.
    first : int
        The value of k at the first step, 1 or greater. (The paper starts at
        k = 0, where both sizes are infinite.)

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> sizes = StepSizes()
    >>> sizes.gamma(1), sizes.alpha(8)
    (array(0.01), array(0.25))
    """

    gamma_bar: float = 0.01
    alpha_bar: float = 0.5
    c1: float = 1 / 3
    c2: float = 3 / 5
    first: int = 1

    def __post_init__(self) -> None:
        where = "StepSizes"
        gamma_bar = check.positive("gamma_bar", self.gamma_bar, where)
        alpha_bar = check.positive("alpha_bar", self.alpha_bar, where)
        c1 = check.positive("c1", self.c1, where)
        c2 = check.positive("c2", self.c2, where)
        if not c1 < c2:
            check.fail("c1", where, f"less than 'c2', {c2} (Theorem 1)", c1)
        if not c1 + c2 < 1.0:
            check.fail("c2", where, f"less than 1 - 'c1', {1.0 - c1} (Theorem 1)", c2)
        first = check.integer("first", self.first, where, low=1, high=2**53)
        values = (gamma_bar, alpha_bar, c1, c2, first)
        for one, value in zip(fields(self), values, strict=True):
            # A fraction is a number too, but the compiled loop wants floats.
            object.__setattr__(self, one.name, value)

    def gamma(self, k: ArrayLike) -> FloatArray:
        """Return the step size gamma_k for steps k >= 1."""
        return np.asarray(self.gamma_bar * _steps(k, "StepSizes.gamma") ** -self.c2)

    def alpha(self, k: ArrayLike) -> FloatArray:
        """Return the weight alpha_k of the regularisation for steps k >= 1."""
        return np.asarray(self.alpha_bar * _steps(k, "StepSizes.alpha") ** -self.c1)

    def indices(self, steps: int) -> IntArray:
        """Return the values of k of the first `steps` steps, at most 10^9."""
        steps = check.integer("steps", steps, "StepSizes.indices", low=0, high=10**9)
        return np.arange(self.first, self.first + steps, dtype=np.int64)


def _steps(k: ArrayLike, where: str) -> FloatArray:
    """Check values of k, of any shape."""
    given = check.entries("k", k, where, "an array")
    flat = check.array("k", given.ravel(), where, shape=(None,))
    if flat.size and flat.min() < 1.0:
        check.fail("k", where, "1 or greater", flat.min())
    return flat.reshape(given.shape)


@dataclass(frozen=True, eq=False)
class Run:
    """States and multipliers of one run, at the recorded steps.

    A record of a fixed number of steps, not a solution: how close it came is
    for the caller to measure, for example with `dplib.truthful.saddle.residual`.

    Attributes
    ----------
    steps : numpy.ndarray of int, shape (r,)
        Numbers of steps done, ascending.
    x : numpy.ndarray, shape (r, n)
        Stacked states after that many steps.
    mu : numpy.ndarray, shape (r, m)
        Multipliers after that many steps.
    """

    steps: IntArray
    x: FloatArray
    mu: FloatArray


def project_box(v: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the point of the box that is nearest to v.

    Examples
    --------
    >>> project_box(np.array([-3.0, 0.5]), np.zeros(2), np.ones(2))
    array([0. , 0.5])
    """
    nearest: FloatArray = np.minimum(np.maximum(v, lower), upper)
    return nearest


def project_multipliers(v: FloatArray, radius: float) -> FloatArray:
    r"""Return the point of M that is nearest to v, in the 2-norm.

    M holds the vectors :math:`\mu \ge 0` with :math:`\|\mu\|_1 \le R`. If the
    positive part of v is in M, that is the answer. Otherwise the 1-norm is R
    and the answer is :math:`\max(v - \theta, 0)`; sorting v tells how many
    entries stay positive, and so the shift theta. The largest entry is
    subtracted first, without which R would be lost beside entries above 1e16.

    Parameters
    ----------
    v : numpy.ndarray, shape (m,)
        Any vector of finite numbers. (Not checked if its positive part is in M.)
    radius : float
        R, greater than zero; not checked: this is called once a step.

    Returns
    -------
    numpy.ndarray, shape (m,)
        The projection.

    Raises
    ------
    ValueError
        If an entry is not finite.

    Examples
    --------
    >>> project_multipliers(np.array([0.5, -1.0]), 2.0)
    array([0.5, 0. ])
    >>> project_multipliers(np.array([3.0, 2.0, -1.0]), 3.0)
    array([2., 1., 0.])
    """
    positive: FloatArray = np.maximum(v, 0.0)
    with np.errstate(over="ignore"):  # a sum that overflows is above R as well
        if np.add.reduce(positive) <= radius:
            return positive
    # Entry number s (of the sorted ones) stays positive if it exceeds the shift
    # that makes the s largest sum to R.
    v = check.array("v", v, "project_multipliers", shape=(v.size,))
    with np.errstate(over="ignore"):  # what falls to -inf is far outside M
        v = v - v.max()
        descending = np.sort(v)[::-1]
        shifts = (np.cumsum(descending) - radius) / np.arange(1, v.size + 1)
        theta = shifts[np.flatnonzero(descending > shifts)[-1]]
        return np.asarray(np.maximum(v - theta, 0.0))


def messages(
    problem: Problem, reported: FloatArray, mu: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Return what the cloud computes from reported states: q and g.

    Step 1 of Algorithm 1. Arguments are not checked: this is called once a step.

    Parameters
    ----------
    problem : Problem
        The instance.
    reported : numpy.ndarray, shape (n,)
        What the agents report as their states.
    mu : numpy.ndarray, shape (m,)
        Multipliers.

    Returns
    -------
    q : numpy.ndarray, shape (n,)
        Messages :math:`q_i = g_{x_i}^T \mu`, stacked.
    g : numpy.ndarray, shape (m,)
        Values of the constraints, the cloud's :math:`L_\mu`.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> q, g = messages(hale_egerstedt(), np.arange(16.0), np.ones(4))
    >>> q[:4], g
    (array([-12., -12.,   4.,   4.]), array([35., 37., 13., 59.]))
    """
    m, n = problem.a.shape
    # One product serves both: row j of the Jacobian is Q_j x + a_j, and
    # g_j = (Q_j x + 2 a_j)^T x / 2 + c_j.
    rows = (problem.Q.reshape(m * n, n) @ reported).reshape(m, n) + problem.a
    return mu @ rows, 0.5 * ((rows + problem.a) @ reported) + problem.c


def step(
    problem: Problem,
    x: FloatArray,
    mu: FloatArray,
    q: FloatArray,
    g: FloatArray,
    *,
    gamma: float,
    alpha: float,
    radius: float,
) -> tuple[FloatArray, FloatArray]:
    """Return states and multipliers after one step of Update (2).

    Steps 2 and 3 of Algorithm 1: agents use their own true states `x` and what
    the cloud sent them; the cloud uses `g`. Both use values of the same time k.
    Arguments are not checked: this is called once a step.

    Parameters
    ----------
    problem : Problem
        The instance.
    x : numpy.ndarray, shape (n,)
        True states.
    mu : numpy.ndarray, shape (m,)
        Multipliers.
    q : numpy.ndarray, shape (n,)
        Messages received, from `messages` or a noisy version of it.
    g : numpy.ndarray, shape (m,)
        Constraint values that the cloud uses, likewise.
    gamma, alpha : float
        Step size and regularisation of this step.
    radius : float
        R, the bound on the 1-norm of the multipliers.

    Returns
    -------
    x_next : numpy.ndarray, shape (n,)
        In the box.
    mu_next : numpy.ndarray, shape (m,)
        In M.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> problem, x, mu = hale_egerstedt(), np.zeros(16), np.zeros(4)
    >>> q, g = messages(problem, x, mu)
    >>> x, mu = step(problem, x, mu, q, g, gamma=0.01, alpha=0.5, radius=138.0)
    >>> x[:4], mu
    (array([ 0.06, -0.04,  0.02,  0.02]), array([0., 0., 0., 0.]))
    """
    descent = problem.coordinate_weights * (x - problem.targets) + q + alpha * x
    x_next = project_box(x - gamma * descent, problem.lower, problem.upper)
    return x_next, project_multipliers(mu + gamma * (g - alpha * mu), radius)


def record_steps(steps: int, count: int = 200) -> IntArray:
    """Return about `count` numbers of steps from 0 to `steps`, log-spaced.

    0, 1 and `steps` are among them; small numbers come once each.

    Examples
    --------
    >>> record_steps(1000, 7)
    array([   0,    1,    4,   16,   63,  251, 1000])
    """
    steps = check.integer("steps", steps, "record_steps", low=1, high=2**53)
    count = check.integer("count", count, "record_steps", low=3, high=10**6)
    spaced = np.rint(np.geomspace(1, steps, count - 1)).astype(np.int64)
    return np.unique(np.concatenate(([0], spaced, [steps])))


def run(
    problem: Problem,
    *,
    steps: int,
    radius: float,
    sizes: StepSizes | None = None,
    x0: ArrayLike | None = None,
    mu0: ArrayLike | None = None,
    record: ArrayLike | None = None,
) -> Run:
    """Run Algorithm 1 without noise for a fixed number of steps.

    The paper's instance takes about ten microseconds a step. The run ends with the
    last recorded step.

    Parameters
    ----------
    problem : Problem
        The instance.
    steps : int
        Number of steps, from 1 to a hundred million.
    radius : float
        R, greater than zero, for example from
        `dplib.truthful.constants.multiplier_radius`.
    sizes : StepSizes, optional
        The paper's by default.
    x0 : array_like, shape (n,), optional
        States at the start, in the box; by default the box's nearest point to 0.
    mu0 : array_like, shape (m,), optional
        Multipliers at the start, in M; zero by default.
    record : array_like of int, shape (r,), optional
        Ascending numbers of steps after which to keep the state, each between 0
        and `steps`; ``record_steps(steps)`` by default.

    Returns
    -------
    Run
        What was recorded.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range or does not match the problem's sizes.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> short = run(hale_egerstedt(), steps=100, radius=138.8, record=[0, 100])
    >>> short.x.shape, short.mu[-1].round(6)
    ((2, 16), array([0.002375, 0.069903, 0.496257, 0.033277]))
    """
    where = "run"
    check.instance("problem", problem, where, Problem)
    steps = check.integer("steps", steps, where, low=1, high=10**8)
    radius = check.positive("radius", radius, where)
    sizes = StepSizes() if sizes is None else sizes
    check.instance("sizes", sizes, where, StepSizes)
    lower, upper, n = problem.lower, problem.upper, problem.n_states
    start = np.clip(np.zeros(n), lower, upper) if x0 is None else x0
    x = check.array("x0", start, where, shape=(n,)).copy()
    if np.any(x < lower) or np.any(x > upper):
        check.fail("x0", where, "in the box", x.tolist())
    zero = np.zeros(problem.n_constraints) if mu0 is None else mu0
    mu = check.array("mu0", zero, where, shape=(problem.n_constraints,)).copy()
    if np.any(mu < 0.0) or mu.sum() > radius:
        check.fail("mu0", where, f"non-negative with sum <= {radius}", mu.tolist())
    if record is None:
        record = record_steps(steps)
    wanted = check.ascending("record", record, where, high=steps)

    kept_x, kept_mu = np.empty((wanted.size, n)), np.empty((wanted.size, mu.size))
    k = sizes.indices(steps)
    gammas, alphas = sizes.gamma(k).tolist(), sizes.alpha(k).tolist()
    done = 0
    for row, number in enumerate(wanted.tolist()):
        for s in range(done, number):
            q, g = messages(problem, x, mu)
            gamma, alpha = gammas[s], alphas[s]
            x, mu = step(problem, x, mu, q, g, gamma=gamma, alpha=alpha, radius=radius)
        done = number
        kept_x[row], kept_mu[row] = x, mu
    for kept in (wanted, kept_x, kept_mu):
        kept.flags.writeable = False
    return Run(steps=wanted, x=kept_x, mu=kept_mu)
