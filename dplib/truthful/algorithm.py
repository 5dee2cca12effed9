r"""Algorithms 1 and 2: the iteration, run truthfully and with lies on the same noise.

Hale & Egerstedt (arXiv 1509.08161), Algorithm 1 (Equation 2), Algorithm 2, Theorem 1;
Sections II, IV-A and VI. The notebook 01_problem writes Algorithm 1 out as printed.

Model. The cloud adds Laplace noise to what it computes from the reported states
r(k) (see `dplib.truthful.noise` for the scales and shapes):

.. math::
   \tilde q_i(k) &= (g_{x_i}(r(k)) + w_i(k))^T \mu(k), \\
   x_i(k+1) &= \Pi_{X_i}[x_i(k) - \gamma_k(\nabla f_i(x_i(k)) + \tilde q_i(k)
               + \alpha_k x_i(k))], \\
   \mu(k+1) &= \Pi_M[\mu(k) + \gamma_k(g(r(k)) + w_g(k) - \alpha_k\mu(k))],

M being the multipliers :math:`\mu \ge 0` of 1-norm at most R (Lemma 1). Without noise
this is Algorithm 1. Agents move by their own true states; only the cloud sees the
reports. A liar's false report therefore enters g and *every* :math:`g_{x_j}`, and it
follows the messages that result, as the paper has it.

Pairs. The truthful replica and one replica for each lie run *on the same noise*: the
difference of two replicas is the effect of the lie alone. Each replica by itself is
distributed as a run of Algorithm 2.

Noise on the reports (*input perturbation*, not in the paper). The cloud computes
everything from :math:`s(k) = r(k) + v(k)`, v being Laplace noise of scale b on every
coordinate. For quadratic g that raises the mean of :math:`g_j` by
:math:`b^2\,\mathrm{tr}\,Q_j`, which it subtracts. The notebook 04_convergence has the
proof that with b = B / epsilon all outputs together are epsilon-private.

Notation. "After s steps" means x(k) with k = first + s; the states at the start are
the record of step 0. Only the recorded steps are kept; memory does not grow with the
number of steps.

Idealised: noise of double precision is not exactly Laplace noise, and a deployment
would need a sampler that is safe against that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from dplib import check
from dplib.truthful.kernel import Draws, Rows, Sizes, advance
from dplib.truthful.noise import NoiseScales, noise_support
from dplib.truthful.problem import Problem
from dplib.truthful.reports import Lie, Pretence, replicas

__all__ = [
    "Plan",
    "Simulation",
    "StepSizes",
    "record_steps",
    "simulate",
    "simulate_pairs",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class StepSizes:
    r"""Step sizes and regularisation of Theorem 1; by default those of Section VI.

    :math:`\gamma_k = \bar\gamma k^{-c_2}`, :math:`\alpha_k = \bar\alpha k^{-c_1}`,
    with :math:`0 < c_1 < c_2` and :math:`c_1 + c_2 < 1`, without which the theorem
    does not apply.

    Parameters
    ----------
    gamma_bar, alpha_bar : float
        Sizes at k = 1, greater than zero.
    c1, c2 : float
        Exponents.
    first : int
        The value of k at the first step, 1 or greater. (The paper starts at
        k = 0, where both sizes are infinite.)

    Examples
    --------
    >>> sizes = StepSizes()
    >>> sizes.gamma(1), sizes.alpha(8), sizes.indices(3)
    (array(0.01), array(0.25), array([1, 2, 3]))
    """

    gamma_bar: float = 0.01
    alpha_bar: float = 0.5
    c1: float = 1 / 3
    c2: float = 3 / 5
    first: int = 1

    def __post_init__(self) -> None:
        where = "StepSizes"
        for name in ("gamma_bar", "alpha_bar", "c1", "c2"):
            check.positive(name, getattr(self, name), where)
        if not self.c1 < self.c2:
            must = f"less than 'c2', {self.c2} (Theorem 1)"
            check.fail("c1", where, must, self.c1)
        if not self.c1 + self.c2 < 1.0:
            must = f"less than 1 - 'c1', {1.0 - self.c1} (Theorem 1)"
            check.fail("c2", where, must, self.c2)
        check.integer("first", self.first, where, low=1)

    def gamma(self, k: ArrayLike) -> FloatArray:
        """Return the step size gamma_k for steps k >= 1."""
        return np.asarray(self.gamma_bar * np.asarray(k, np.float64) ** -self.c2)

    def alpha(self, k: ArrayLike) -> FloatArray:
        """Return the weight alpha_k of the regularisation for steps k >= 1."""
        return np.asarray(self.alpha_bar * np.asarray(k, np.float64) ** -self.c1)

    def indices(self, steps: int) -> IntArray:
        """Return the values of k of the first `steps` steps."""
        return np.arange(self.first, self.first + steps, dtype=np.int64)


def record_steps(steps: int, count: int = 200) -> IntArray:
    """Return about `count` numbers of steps from 0 to `steps`, log-spaced.

    0, 1 and `steps` are among them; small numbers come once each.

    Examples
    --------
    >>> record_steps(1000, 7)
    array([   0,    1,    4,   16,   63,  251, 1000])
    """
    spaced = np.rint(np.geomspace(1, steps, count - 1)).astype(np.int64)
    return np.unique(np.concatenate(([0], spaced, [steps])))


@dataclass(frozen=True, eq=False)
class Plan:
    """What a simulation runs, all but the random numbers.

    Parameters
    ----------
    problem : Problem
        The instance.
    radius : float
        R, the bound on the 1-norm of the multipliers, greater than zero; for
        example from `dplib.truthful.constants.multiplier_radius`.
    record : array_like of int, shape (r,)
        Ascending numbers of steps after which to keep the state. The run ends with
        the last.
    scales : NoiseScales, optional
        Noise on g and g_x; none by default, which is Algorithm 1.
    shape : {"full", "structural"}
        Shape of the noise, no array's: which entries of g_x get noise
        (`dplib.truthful.noise`).
    report_scale : float
        Scale of noise on the reports, 0 or greater.
    sizes : StepSizes
        The paper's by default.
    lies : sequence of Lie or Pretence
        One replica each, beside the truthful one; all share the noise.
    x0 : array_like, shape (n,), optional
        States at the start, in the box; by default the box's nearest point to 0.
    mu0 : array_like, shape (m,), optional
        Multipliers at the start, in M; zero by default.

    Examples
    --------
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> Plan(hale_egerstedt(), radius=138.8, record=[0, 1000]).mu0
    array([0., 0., 0., 0.])
    """

    problem: Problem
    _: KW_ONLY
    radius: float
    record: IntArray
    scales: NoiseScales | None = None
    shape: str = "full"
    report_scale: float = 0.0
    sizes: StepSizes = field(default_factory=StepSizes)
    lies: tuple[Lie | Pretence, ...] = ()
    x0: FloatArray = field(default=None)  # type: ignore[arg-type]
    mu0: FloatArray = field(default=None)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        where, problem = "Plan", self.problem
        n, m, N = problem.n_states, problem.n_constraints, problem.n_agents
        radius = check.positive("radius", self.radius, where)
        record = np.array(self.record, dtype=np.int64)
        if record.size == 0 or record[0] < 0 or np.any(np.diff(record) <= 0):
            must = "ascending numbers of steps from 0 on"
            check.fail("record", where, must, self.record)
        record.flags.writeable = False
        if self.scales is not None and self.scales.b.size != N:
            check.fail("scales", where, f"for {N} agents", self.scales.b.tolist())
        x0 = np.clip(np.zeros(n), problem.lower, problem.upper)
        if self.x0 is not None:
            x0 = check.array("x0", self.x0, where, shape=(n,))
        if np.any(x0 < problem.lower) or np.any(x0 > problem.upper):
            check.fail("x0", where, "in the box", x0.tolist())
        mu0 = np.zeros(m)
        if self.mu0 is not None:
            mu0 = check.array("mu0", self.mu0, where, shape=(m,))
        if np.any(mu0 < 0.0) or mu0.sum() > radius:
            must = f"non-negative with sum <= {radius}"
            check.fail("mu0", where, must, mu0.tolist())
        values: dict[str, Any] = {
            "radius": radius,
            "record": record,
            "shape": check.member("shape", self.shape, where, ("full", "structural")),
            "report_scale": check.nonnegative("report_scale", self.report_scale, where),
            "lies": tuple(self.lies),
            "x0": x0,
            "mu0": mu0,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        replicas(problem, self.lies, x0)  # each lie is one that an agent can tell


@dataclass(frozen=True, eq=False)
class Simulation:
    """Recorded states of replicas that share their noise; a record, not a solution.

    From `simulate`. `simulate_pairs` has an axis for the streams, S long, in front
    of each array but `steps`.

    Attributes
    ----------
    steps : numpy.ndarray of int, shape (r,)
        Numbers of steps done, ascending.
    x : numpy.ndarray, shape (1 + L, r, n)
        True states; replica 0 is truthful, replica l has the l-th lie.
    mu : numpy.ndarray, shape (1 + L, r, m)
        Multipliers.
    deviation : numpy.ndarray, shape (1 + L, r)
        1-norm of report minus true state, summed over all steps so far.
    hits : numpy.ndarray of int, shape (1 + L,)
        Number of steps in which the bound on the sum of the multipliers acted.
    """

    steps: IntArray
    x: FloatArray
    mu: FloatArray
    deviation: FloatArray
    hits: IntArray


def _entries(support: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Return the indices of entries, each contiguous, as the compiled loop has them."""
    constraint, coordinate = np.nonzero(support)
    return constraint.copy(), coordinate.copy()


def _sparse_rows(problem: Problem) -> Rows:
    """Return a problem in the sparse form that the compiled loop reads."""
    constraint, coordinate = _entries(noise_support(problem, "structural"))
    rows = csr_array(problem.Q[constraint, coordinate])
    return Rows(
        starts=np.cumsum((0, *problem.dims), dtype=np.int64),
        lower=problem.lower,
        upper=problem.upper,
        targets=problem.targets,
        weights=problem.coordinate_weights,
        c=problem.c,
        first_row=np.searchsorted(constraint, np.arange(problem.n_constraints + 1)),
        coordinate=coordinate,
        linear=problem.a[constraint, coordinate],
        first_entry=rows.indptr.astype(np.int64),
        column=rows.indices.astype(np.int64),
        value=rows.data,
    )


def _noise_draws(plan: Plan) -> Draws:
    """Return where the plan adds noise, and how much."""
    problem, b = plan.problem, plan.report_scale
    on_g, per_coordinate = np.empty(0), np.zeros(problem.n_states)
    support = np.zeros((problem.n_constraints, problem.n_states), dtype=bool)
    if plan.scales is not None:
        on_g = np.full(problem.n_constraints, plan.scales.b_g)
        per_coordinate = np.repeat(plan.scales.b, problem.dims)
        support = noise_support(problem, plan.shape)
    constraint, coordinate = _entries(support)
    return Draws(
        reports=np.full(problem.n_states, b) if b > 0.0 else np.empty(0),
        g=on_g,
        scale=per_coordinate[coordinate],
        constraint=constraint,
        coordinate=coordinate,
        bias=b**2 * np.trace(problem.Q, axis1=1, axis2=2),
    )


def simulate(plan: Plan, rng: np.random.Generator) -> Simulation:
    """Run a plan once, on the random numbers of `rng` (from `dplib.rng.stream`).

    Examples
    --------
    The paper's lie: its agent 6, index 5, reports its own target.

    >>> from dplib.rng import stream
    >>> from dplib.truthful.noise import table_one
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> from dplib.truthful.problem import agent_objectives
    >>> plan = Plan(hale_egerstedt(), radius=138.8, record=[0, 1000],
    ...             scales=table_one(), lies=[Lie(5, [10, 10])])
    >>> both = simulate(plan, stream(1, "pair"))
    >>> agent_objectives(hale_egerstedt(), both.x[:, -1])[:, 5].round(1)
    array([ 56.3, 394.5])
    """
    run = simulate_pairs(plan, [rng])
    return Simulation(run.steps, run.x[0], run.mu[0], run.deviation[0], run.hits[0])


def simulate_pairs(plan: Plan, streams: Iterable[np.random.Generator]) -> Simulation:
    """Run a plan once on each of several streams, one or more.

    Examples
    --------
    >>> from dplib.rng import stream
    >>> from dplib.truthful.paper import hale_egerstedt
    >>> plan = Plan(hale_egerstedt(), radius=138.8, record=[10],
    ...             lies=[Lie(5, [10, 10])])
    >>> runs = simulate_pairs(plan, [stream(1, "pair", s) for s in range(3)])
    >>> runs.x.shape, runs.mu.shape
    ((3, 2, 1, 16), (3, 2, 1, 4))
    """
    problem, generators = plan.problem, list(streams)
    count = 1 + len(plan.lies)
    axes = (len(generators), count, plan.record.size)
    x = np.empty((*axes, problem.n_states))
    mu = np.empty((*axes, problem.n_constraints))
    deviation = np.empty(axes)
    hits = np.empty(axes[:2], dtype=np.int64)
    rows, draws = _sparse_rows(problem), _noise_draws(plan)
    sizes = Sizes(
        gamma_bar=float(plan.sizes.gamma_bar),
        c2=float(plan.sizes.c2),
        alpha_bar=float(plan.sizes.alpha_bar),
        c1=float(plan.sizes.c1),
        first=int(plan.sizes.first),
    )
    for s, rng in enumerate(generators):
        hits[s] = advance(
            rng,
            rows,
            draws,
            # Fresh for every stream: the loop moves made-up and true states in place.
            replicas(problem, plan.lies, plan.x0),
            np.tile(plan.x0, (count, 1)),
            np.tile(plan.mu0, (count, 1)),
            sizes,
            plan.radius,
            plan.record,
            # Filled: the records of this stream.
            x[s],
            mu[s],
            deviation[s],
        )
    for kept in (x, mu, deviation, hits):
        kept.flags.writeable = False
    return Simulation(plan.record, x, mu, deviation, hits)
