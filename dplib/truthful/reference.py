r"""Algorithm 2 once more, in plain numpy, to hold the compiled loop against.

Hale & Egerstedt (arXiv 1509.08161), Algorithm 2.

This is the computation of `dplib.truthful.kernel` written a second time, with dense
matrices and nothing clever, on the same random draws (their order is part of the
loop's description). It shares with the compiled loop the arrays that name the noisy
entries and the liars, and no code. It is some hundred times slower: a test oracle, and
the version to read first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.truthful.algorithm import StepSizes, messages, step
from dplib.truthful.kernel import BITS, PRETENCE, Draws, Replicas
from dplib.truthful.problem import Problem, agent
from dplib.truthful.simulation import Simulation, checked_draws

__all__ = ["laplace_draws", "reported_states", "simulate_reference"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def laplace_draws(rng: np.random.Generator, count: int) -> FloatArray:
    """Return Laplace variables of scale 1, drawn as the compiled loop draws them.

    Examples
    --------
    >>> from dplib.rng import stream
    >>> laplace_draws(stream(1, "example"), 3).shape
    (3,)
    """
    check.instance("rng", rng, "laplace_draws", np.random.Generator)
    count = check.integer("count", count, "laplace_draws", low=0, high=10**8)
    uniforms = rng.random((count + BITS - 1) // BITS)
    words = (uniforms * 2.0**BITS).astype(np.int64)
    bits = (words[:, None] >> np.arange(BITS)) & 1
    signs = np.where(bits.ravel()[:count] == 1, 1.0, -1.0)
    return np.asarray(signs * rng.standard_exponential(count))


def reported_states(
    problem: Problem, liars: Replicas, r: int, x: FloatArray, spent: FloatArray
) -> FloatArray:
    """Return what the agents of replica r report; `spent`, shape (N,), grows."""
    check.instance("problem", problem, "reported_states", Problem)
    where = "reported_states"
    check.instance("liars", liars, where, Replicas)
    r = check.integer("r", r, where, low=0, high=len(liars.kind) - 1)
    reported = check.array("x", x, where, shape=(problem.n_states,)).copy()
    check.array("spent", spent, where, shape=(problem.n_agents,))
    x = reported.copy()
    for i in np.flatnonzero(liars.kind[r]):
        mine = agent(problem, int(i))
        lie = liars.shown[r, mine] - x[mine]
        distance, left = np.abs(lie).sum(), liars.budget[r, i] - spent[i]
        share = 1.0 if distance <= left else max(left, 0.0) / distance
        reported[mine] = x[mine] + share * lie
        spent[i] += share * distance
    return reported


def simulate_reference(
    problem: Problem,
    draws: Draws,
    liars: Replicas,
    *,
    rng: np.random.Generator,
    x0: FloatArray,
    mu0: FloatArray,
    radius: float,
    sizes: StepSizes,
    record: IntArray,
) -> Simulation:
    """Run the replicas as `dplib.truthful.kernel.advance` does, and record.

    Parameters
    ----------
    problem : Problem
        The instance.
    draws : Draws
        Noise.
    liars : Replicas
        Reports; ``liars.shown`` is changed.
    rng : numpy.random.Generator
        Source of the noise.
    x0, mu0 : numpy.ndarray, shapes (n,) and (m,)
        The start.
    radius : float
        Bound on the sum of the multipliers.
    sizes : StepSizes
        Step sizes.
    record : numpy.ndarray of int, shape (r,)
        Ascending numbers of steps.

    Returns
    -------
    Simulation
        What the compiled loop records, up to rounding.

    Examples
    --------
    >>> from dplib.rng import stream
    >>> from dplib.truthful.noise import table_one
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> from dplib.truthful.reports import Lie, replicas
    >>> from dplib.truthful.simulation import output_draws, simulate
    >>> problem, lies, record = hale_egerstedt(), [Lie(5, [10, 10])], np.array([100])
    >>> slow = simulate_reference(
    ...     problem, output_draws(problem, table_one()),
    ...     replicas(problem, lies, np.zeros(16)), rng=stream(1, "pair"),
    ...     x0=np.zeros(16), mu0=np.zeros(4), radius=138.8, sizes=StepSizes(),
    ...     record=record)
    >>> fast = simulate(problem, table_one(), steps=100, radius=138.8,
    ...                 rng=stream(1, "pair"), lies=lies, record=record)
    >>> bool(np.abs(slow.x - fast.x).max() < 1e-12)
    True
    """
    check.instance("problem", problem, "simulate_reference", Problem)
    where = "simulate_reference"
    n, m = problem.n_states, problem.n_constraints
    draws = checked_draws(problem, draws, where)
    check.instance("liars", liars, where, Replicas)
    replicas = len(liars.shown)
    if liars.shown.shape != (replicas, n):
        must = f"for {n} coordinates"
        check.fail("liars", where, must, f"states of shape {liars.shown.shape}")
    check.instance("rng", rng, where, np.random.Generator)
    x0 = check.array("x0", x0, where, shape=(n,))
    mu0 = check.array("mu0", mu0, where, shape=(m,))
    radius = check.positive("radius", radius, where)
    check.instance("sizes", sizes, where, StepSizes)
    record = check.ascending("record", record, where)
    on_reports, on_g, on_rows = draws.reports.size, draws.g.size, draws.scale.size
    x, mu = np.tile(x0, (replicas, 1)), np.tile(mu0, (replicas, 1))
    spent = np.zeros((replicas, problem.n_agents))
    hits = np.zeros(replicas, dtype=np.int64)
    kept_x = np.empty((replicas, record.size, n))
    kept_mu = np.empty((replicas, record.size, m))
    deviation = np.empty((replicas, record.size))
    done = 0
    for at, number in enumerate(record):
        for k in range(sizes.first + done, sizes.first + number):
            gamma, alpha = float(sizes.gamma(k)), float(sizes.alpha(k))
            noise = laplace_draws(rng, on_reports + on_g + on_rows)
            on_state, on_value, on_entry = np.split(
                noise, (on_reports, on_reports + on_g)
            )
            w = np.zeros((m, n))
            w[draws.constraint, draws.coordinate] = draws.scale * on_entry
            for r in range(replicas):
                seen = reported_states(problem, liars, r, x[r], spent[r])
                if on_reports:
                    seen = seen + draws.reports * on_state
                q, g = messages(problem, seen, mu[r])
                q, g = q + w.T @ mu[r], g - draws.bias
                if on_g:
                    g = g + draws.g * on_value
                for i in np.flatnonzero(liars.kind[r] == PRETENCE):
                    mine = agent(problem, int(i))
                    y = liars.shown[r, mine]
                    pull = liars.weights[r, i] * (y - liars.targets[r, mine])
                    liars.shown[r, mine] = np.clip(
                        y - gamma * (pull + q[mine] + alpha * y),
                        problem.lower[mine],
                        problem.upper[mine],
                    )
                free = np.maximum(mu[r] + gamma * (g - alpha * mu[r]), 0.0)
                hits[r] += free.sum() > radius
                x[r], mu[r] = step(
                    problem, x[r], mu[r], q, g, gamma=gamma, alpha=alpha, radius=radius
                )
        done = int(number)
        kept_x[:, at], kept_mu[:, at], deviation[:, at] = x, mu, spent.sum(axis=1)
    return Simulation(record, kept_x, kept_mu, deviation, hits)
