r"""Algorithm 2: the noisy iteration, run truthfully and with lies on the same noise.

Hale & Egerstedt (arXiv 1509.08161), Algorithm 2, Sections IV-A and VI.

Model. The cloud adds Laplace noise to what it computes from the reported states
r(k) (see `dplib.truthful.noise` for the scales and shapes):

.. math::
   \tilde q_i(k) &= (g_{x_i}(r(k)) + w_i(k))^T \mu(k), \\
   x_i(k+1) &= \Pi_{X_i}[x_i(k) - \gamma_k(\nabla f_i(x_i(k)) + \tilde q_i(k)
               + \alpha_k x_i(k))], \\
   \mu(k+1) &= \Pi_M[\mu(k) + \gamma_k(g(r(k)) + w_g(k) - \alpha_k\mu(k))].

Agents move by their own true states; only the cloud sees the reports. A liar's false
report therefore enters g and *every* :math:`g_{x_j}`, and it follows the messages that
result, as the paper has it.

Pairs. `simulate` runs the truthful replica and one replica for each lie *on the same
noise*: the difference of two replicas is the effect of the lie alone. Each replica by
itself is distributed as a run of Algorithm 2.

Memory. Only the recorded steps are kept; nothing grows with the number of steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.truthful.algorithm import StepSizes, record_steps
from dplib.truthful.kernel import Draws, Rows, advance
from dplib.truthful.noise import NoiseScales, matching, noise_support
from dplib.truthful.problem import Problem
from dplib.truthful.reports import Lie, Pretence, replicas

__all__ = [
    "Simulation",
    "checked_draws",
    "checked_record",
    "generators",
    "output_draws",
    "run_draws",
    "simulate",
    "simulate_pairs",
    "sparse_rows",
    "stacked",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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


def sparse_rows(problem: Problem) -> Rows:
    """Return a problem in the sparse form that the compiled loop reads.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> rows = sparse_rows(hale_egerstedt())
    >>> rows.coordinate.size, rows.value.size
    (24, 56)
    """
    check.instance("problem", problem, "sparse_rows", Problem)
    first_row, first_entry = [0], [0]
    coordinate: list[int] = []
    column: list[int] = []
    for j, touched in enumerate(noise_support(problem, "structural")):
        for c in np.flatnonzero(touched):
            entries = np.flatnonzero(problem.Q[j, c])
            coordinate.append(int(c))
            column.extend(int(e) for e in entries)
            first_entry.append(len(column))
        first_row.append(len(coordinate))
    constraint = np.repeat(np.arange(problem.n_constraints), np.diff(first_row))
    row = np.repeat(np.arange(len(coordinate)), np.diff(first_entry))
    at = np.array(coordinate, dtype=np.int64)
    columns = np.array(column, dtype=np.int64)
    return Rows(
        starts=np.cumsum((0, *problem.dims), dtype=np.int64),
        lower=problem.lower,
        upper=problem.upper,
        targets=problem.targets,
        weights=problem.coordinate_weights,
        c=problem.c,
        first_row=np.array(first_row, dtype=np.int64),
        coordinate=at,
        linear=problem.a[constraint, at],
        first_entry=np.array(first_entry, dtype=np.int64),
        column=columns,
        value=problem.Q[constraint[row], at[row], columns],
    )


def output_draws(
    problem: Problem, scales: NoiseScales | None, shape: str = "full"
) -> Draws:
    """Return where Algorithm 2 adds noise: on g and on entries of g_x.

    Parameters
    ----------
    problem : Problem
        The instance.
    scales : NoiseScales or None
        None: no noise, and nothing is drawn.
    shape : {"full", "structural"}
        See `dplib.truthful.noise`.

    Raises
    ------
    TypeError, ValueError
        If `scales` is something else or has another number of agents.

    Examples
    --------
    >>> from dplib.truthful.noise import table_one
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> draws = output_draws(hale_egerstedt(), table_one(), "structural")
    >>> draws.g, draws.scale[:3]
    (array([327.69, 327.69, 327.69, 327.69]), array([10.92, 10.92,  5.46]))
    """
    check.instance("problem", problem, "output_draws", Problem)
    if scales is not None:
        check.instance("scales", scales, "output_draws", NoiseScales)
    m = problem.n_constraints
    support = noise_support(problem, shape)
    none, nowhere = np.empty(0), np.empty(0, dtype=np.int64)
    if scales is None:
        return Draws(none, none, none, nowhere, nowhere, np.zeros(m))
    matching(problem, scales, "output_draws")
    constraint, coordinate = (at.astype(np.int64) for at in np.nonzero(support))
    per_coordinate = np.repeat(scales.b, problem.dims)
    return Draws(
        reports=none,
        g=np.full(m, scales.b_g),
        scale=per_coordinate[coordinate],
        constraint=constraint,
        coordinate=coordinate,
        bias=np.zeros(m),
    )


def checked_record(record: ArrayLike | None, steps: int, where: str) -> IntArray:
    """Return the numbers of steps after which to keep the state, checked."""
    steps = check.integer("steps", steps, where, low=1)
    if record is None:
        return record_steps(steps)
    return check.ascending("record", record, where, high=steps)


def checked_draws(problem: Problem, draws: Draws, where: str) -> Draws:
    """Return `draws` if they fit the problem; the compiled loop trusts its indices.

    Raises
    ------
    TypeError, ValueError
        If a scale is negative, a size does not match, or an index has no entry.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> draws = output_draws(hale_egerstedt(), None)
    >>> checked_draws(hale_egerstedt(), draws, "f").bias
    array([0., 0., 0., 0.])
    """
    check.instance("problem", problem, "checked_draws", Problem)
    check.instance("draws", draws, where, Draws)
    n, m = problem.n_states, problem.n_constraints

    def scales(name: str, sizes: tuple[int, ...]) -> FloatArray:
        value = check.array(f"draws.{name}", getattr(draws, name), where, shape=(None,))
        if value.size not in sizes or (value.size and value.min() < 0.0):
            must = f"of {' or '.join(map(str, sizes))} numbers >= 0"
            check.fail(f"draws.{name}", where, must, value.tolist())
        return value

    def indices(name: str, count: int) -> IntArray:
        value = check.entries(f"draws.{name}", getattr(draws, name), where, "an array")
        size = np.size(draws.scale)
        if (
            value.shape != (size,)
            or value.dtype.kind not in "iu"
            or (size and not 0 <= value.min() <= value.max() < count)
        ):
            must = f"{size} integers from 0 to {count - 1}, one a scale"
            check.fail(f"draws.{name}", where, must, value)
        return value.astype(np.int64)

    bias = check.array("draws.bias", draws.bias, where, shape=(m,))
    entries = np.size(draws.scale)
    fitting = Draws(
        reports=scales("reports", (0, n)),
        g=scales("g", (0, m)),
        scale=scales("scale", (entries,)),
        constraint=indices("constraint", m),
        coordinate=indices("coordinate", n),
        bias=bias,
    )
    at = fitting.constraint * n + fitting.coordinate
    # The loop reads noise on all entries as a table, row by row.
    if np.unique(at).size < entries or (entries == m * n and np.any(np.diff(at) < 0)):
        must = "entries of g_x, once each, and row by row if they are all"
        check.fail("draws", where, must, at.tolist())
    return fitting


def generators(
    streams: Iterable[np.random.Generator], where: str
) -> list[np.random.Generator]:
    """Return the streams as a list, of one generator or more."""
    must = "an iterable of at least one generator"
    try:
        found = list(streams)
    except TypeError:
        check.fail("streams", where, must, streams, TypeError)
    if not found:
        check.fail("streams", where, must, found)
    for one in found:
        check.instance("streams", one, where, np.random.Generator)
    return found


def run_draws(
    problem: Problem,
    draws: Draws,
    *,
    steps: int,
    radius: float,
    rng: np.random.Generator,
    sizes: StepSizes | None = None,
    lies: Sequence[Lie | Pretence] = (),
    x0: ArrayLike | None = None,
    mu0: ArrayLike | None = None,
    record: ArrayLike | None = None,
) -> Simulation:
    """Run the replicas with noise as `draws` says; parameters as for `simulate`."""
    check.instance("problem", problem, "run_draws", Problem)
    draws = checked_draws(problem, draws, "run_draws")
    if sizes is not None:
        check.instance("sizes", sizes, "run_draws", StepSizes)
    where = "simulate"
    steps = check.integer("steps", steps, where, low=1)
    radius = check.positive("radius", radius, where)
    sizes = StepSizes() if sizes is None else sizes
    check.instance("rng", rng, where, np.random.Generator)
    n, m = problem.n_states, problem.n_constraints
    start = np.clip(np.zeros(n), problem.lower, problem.upper) if x0 is None else x0
    x = check.array("x0", start, where, shape=(n,))
    if np.any(x < problem.lower) or np.any(x > problem.upper):
        check.fail("x0", where, "in the box", x.tolist())
    mu = check.array("mu0", np.zeros(m) if mu0 is None else mu0, where, shape=(m,))
    if np.any(mu < 0.0) or mu.sum() > radius:
        check.fail("mu0", where, f"non-negative with sum <= {radius}", mu.tolist())
    wanted = checked_record(record, steps, where)

    told = replicas(problem, lies, x)
    count = len(told.kind)
    kept_x = np.empty((count, wanted.size, n))
    kept_mu = np.empty((count, wanted.size, m))
    deviation = np.empty((count, wanted.size))
    hits = advance(
        rng,
        sparse_rows(problem),
        draws,
        told,
        np.tile(x, (count, 1)),
        np.tile(mu, (count, 1)),
        (sizes.gamma_bar, sizes.c2, sizes.alpha_bar, sizes.c1, sizes.first),
        radius,
        wanted,
        kept_x,
        kept_mu,
        deviation,
    )
    for kept in (wanted, kept_x, kept_mu, deviation, hits):
        kept.flags.writeable = False
    return Simulation(wanted, kept_x, kept_mu, deviation, hits)


def simulate(
    problem: Problem,
    scales: NoiseScales | None,
    *,
    steps: int,
    radius: float,
    rng: np.random.Generator,
    sizes: StepSizes | None = None,
    lies: Sequence[Lie | Pretence] = (),
    noise: str = "full",
    x0: ArrayLike | None = None,
    mu0: ArrayLike | None = None,
    record: ArrayLike | None = None,
) -> Simulation:
    """Run Algorithm 2 for a fixed number of steps, with and without lies.

    Parameters
    ----------
    problem : Problem
        The instance.
    scales : NoiseScales or None
        Scales of the noise; None for none, which is Algorithm 1.
    steps : int
        Number of steps, 1 or greater. The run ends with the last recorded one.
    radius : float
        R, the bound on the 1-norm of the multipliers, greater than zero; for
        example from `dplib.truthful.constants.multiplier_radius`.
    rng : numpy.random.Generator
        Source of the noise, from `dplib.rng.stream`.
    sizes : StepSizes, optional
        The paper's by default.
    lies : sequence of Lie or Pretence
        One replica each, beside the truthful one; all share the noise.
    noise : {"full", "structural"}
        Which entries of g_x get noise (`dplib.truthful.noise`).
    x0 : array_like, shape (n,), optional
        States at the start, in the box; by default the box's nearest point to 0.
    mu0 : array_like, shape (m,), optional
        Multipliers at the start, in M; zero by default.
    record : array_like of int, shape (r,), optional
        Ascending numbers of steps after which to keep the state;
        ``record_steps(steps)`` by default.

    Returns
    -------
    Simulation
        Replica 0 is the truthful run.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range or does not match the problem's sizes.

    Notes
    -----
    Idealised: noise of double precision is not exactly Laplace noise, and a
    deployment would need a sampler that is safe against that.

    Examples
    --------
    The paper's lie: its agent 6, index 5, reports its own target.

    >>> from dplib.rng import stream
    >>> from dplib.truthful.noise import table_one
    >>> from dplib.truthful.problem import agent_objectives, hale_egerstedt
    >>> both = simulate(hale_egerstedt(), table_one(), steps=1000, radius=138.8,
    ...                 rng=stream(1, "pair"), lies=[Lie(5, [10, 10])],
    ...                 record=[0, 1000])
    >>> agent_objectives(hale_egerstedt(), both.x[:, -1])[:, 5].round(1)
    array([ 56.3, 394.5])
    """
    check.instance("problem", problem, "simulate", Problem)
    if scales is not None:
        check.instance("scales", scales, "simulate", NoiseScales)
    if sizes is not None:
        check.instance("sizes", sizes, "simulate", StepSizes)
    return run_draws(
        problem,
        output_draws(problem, scales, noise),
        steps=steps,
        radius=radius,
        rng=rng,
        sizes=sizes,
        lies=lies,
        x0=x0,
        mu0=mu0,
        record=record,
    )


def simulate_pairs(
    problem: Problem,
    scales: NoiseScales | None,
    *,
    streams: Iterable[np.random.Generator],
    steps: int,
    radius: float,
    sizes: StepSizes | None = None,
    lies: Sequence[Lie | Pretence] = (),
    noise: str = "full",
    x0: ArrayLike | None = None,
    mu0: ArrayLike | None = None,
    record: ArrayLike | None = None,
) -> Simulation:
    """Repeat `simulate` for each stream, and stack the results.

    Parameters
    ----------
    streams : iterable of numpy.random.Generator
        One for each repetition, at least one.
    problem, scales, steps, radius, sizes, lies, noise, x0, mu0, record
        As for `simulate`.

    Returns
    -------
    Simulation
        With an axis for the streams in front: ``x`` is (S, 1 + L, r, n), ``mu``
        (S, 1 + L, r, m), ``deviation`` (S, 1 + L, r), ``hits`` (S, 1 + L).

    Raises
    ------
    TypeError, ValueError
        As `simulate`, or if there is no stream.

    Examples
    --------
    >>> from dplib.rng import stream
    >>> from dplib.truthful.noise import table_one
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> runs = simulate_pairs(hale_egerstedt(), table_one(), steps=10, radius=138.8,
    ...                       streams=[stream(1, "pair", s) for s in range(3)],
    ...                       lies=[Lie(5, [10, 10])], record=[10])
    >>> runs.x.shape, runs.mu.shape
    ((3, 2, 1, 16), (3, 2, 1, 4))
    """
    check.instance("problem", problem, "simulate_pairs", Problem)
    if scales is not None:
        check.instance("scales", scales, "simulate_pairs", NoiseScales)
    if sizes is not None:
        check.instance("sizes", sizes, "simulate_pairs", StepSizes)
    draws = output_draws(problem, scales, noise)
    runs = [
        run_draws(
            problem,
            draws,
            steps=steps,
            radius=radius,
            rng=rng,
            sizes=sizes,
            lies=lies,
            x0=x0,
            mu0=mu0,
            record=record,
        )
        for rng in generators(streams, "simulate_pairs")
    ]
    return stacked(runs)


def stacked(runs: Sequence[Simulation]) -> Simulation:
    """Return several simulations of the same steps as one, streams first."""
    runs = check.sequence("runs", runs, "stacked", Simulation)
    for one in runs:
        if one.x.shape != runs[0].x.shape or np.any(one.steps != runs[0].steps):
            must = "simulations of one problem with the same replicas and steps"
            check.fail("runs", "stacked", must, f"states {one.x.shape}")
    arrays = [
        np.stack([getattr(one, name) for one in runs])
        for name in ("x", "mu", "deviation", "hits")
    ]
    for kept in arrays:
        kept.flags.writeable = False
    return Simulation(runs[0].steps, *arrays)
