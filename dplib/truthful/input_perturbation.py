r"""Noise on the reports, not on the results: a repair that gives what it says.

Not in the paper. Hale & Egerstedt (arXiv 1509.08161) add noise to everything that the
cloud computes, and each of these quantities tells something about the same report, so
that their privacy losses add up. Noise on the reports themselves is spent once.

Model. In each step the cloud (or the agent itself) adds noise to the reported states,

.. math:: s(k) = r(k) + v(k), \qquad v(k) \sim \mathrm{Lap}(B/\epsilon)^n,

and computes everything from s(k) alone. By post-processing *all* outputs together,
for ever, are as private as the noisy reports are; and these are epsilon-differentially
private for Definition 1: changing one agent's whole trajectory by at most B in the
1-norm changes the log-likelihood of the noisy reports by at most
:math:`B/(B/\epsilon) = \epsilon`. No Lipschitz constant is needed, no box, no trust in
the reports, and every agent gets the same epsilon, even against itself.

Bias. For quadratic g, noise of variance :math:`2b^2` on every coordinate raises the
mean of :math:`g_j` by the known amount :math:`b^2\,\mathrm{tr}\,Q_j`, which is
subtracted:

.. math::
   \tilde g_j(k) = g_j(s(k)) - b^2\,\mathrm{tr}\,Q_j, \qquad
   \tilde q_i(k) = g_{x_i}(s(k))^T\mu(k).

Both are unbiased given the past, since :math:`g_x` is affine and :math:`\mu(k)` does
not depend on v(k). Their errors are correlated within a step only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.privacy.adjacency import Adjacency
from dplib.privacy.laplace import laplace_scale
from dplib.truthful.algorithm import StepSizes
from dplib.truthful.kernel import Draws
from dplib.truthful.noise import trajectory_radius
from dplib.truthful.problem import Problem
from dplib.truthful.reports import Lie, Pretence
from dplib.truthful.simulation import Simulation, generators, run_draws, stacked

__all__ = ["constraint_bias", "report_draws", "report_scale", "simulate_perturbed"]

FloatArray = NDArray[np.float64]


def report_scale(*, adjacency: Adjacency, epsilon: float) -> float:
    r"""Return the scale of the noise on reports that gives epsilon-privacy.

    Parameters
    ----------
    adjacency : Adjacency
        In the l1 norm; its radius is B
        (`dplib.truthful.noise.trajectory_adjacency`).
    epsilon : float
        Privacy of all outputs together over the whole run, above 0, in nats.

    Returns
    -------
    float
        :math:`B/\epsilon`, rounded up.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range, or the norm is another.

    Examples
    --------
    >>> from dplib.truthful.noise import trajectory_adjacency
    >>> report_scale(adjacency=trajectory_adjacency(3.0), epsilon=1.5)
    2.0
    """
    B = trajectory_radius(adjacency, "report_scale")
    return laplace_scale(sensitivity=B, epsilon=epsilon)


def constraint_bias(problem: Problem, *, scale: float) -> FloatArray:
    r"""Return by how much noise on the reports raises the mean of g.

    Parameters
    ----------
    problem : Problem
        The instance.
    scale : float
        Scale b of Laplace noise on every coordinate, 0 or greater.

    Returns
    -------
    numpy.ndarray, shape (m,)
        :math:`b^2\,\mathrm{tr}\,Q_j`.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> constraint_bias(hale_egerstedt(), scale=2.0)
    array([64., 64., 64., 64.])
    """
    check.instance("problem", problem, "constraint_bias", Problem)
    scale = check.nonnegative("scale", scale, "constraint_bias")
    return np.asarray(scale**2 * np.trace(problem.Q, axis1=1, axis2=2))


def report_draws(problem: Problem, *, scale: float) -> Draws:
    """Return where input perturbation adds noise: on the reports only.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> report_draws(hale_egerstedt(), scale=2.0).reports[:3]
    array([2., 2., 2.])
    """
    check.instance("problem", problem, "report_draws", Problem)
    bias = constraint_bias(problem, scale=scale)
    none, nowhere = np.empty(0), np.empty(0, dtype=np.int64)
    reports = np.full(problem.n_states, float(scale))
    return Draws(reports, none, none, nowhere, nowhere, bias)


def simulate_perturbed(
    problem: Problem,
    *,
    scale: float,
    streams: Iterable[np.random.Generator],
    steps: int,
    radius: float,
    sizes: StepSizes | None = None,
    lies: Sequence[Lie | Pretence] = (),
    x0: ArrayLike | None = None,
    mu0: ArrayLike | None = None,
    record: ArrayLike | None = None,
) -> Simulation:
    """Run the algorithm with noise on the reports, with and without lies.

    Parameters
    ----------
    problem : Problem
        The instance.
    scale : float
        Scale of the noise, 0 or greater, from `report_scale`.
    streams, steps, radius, sizes, lies, x0, mu0, record
        As for `dplib.truthful.simulation.simulate_pairs`.

    Returns
    -------
    Simulation
        With an axis for the streams in front, as `simulate_pairs` has.

    Raises
    ------
    TypeError, ValueError
        As `simulate_pairs`.

    Examples
    --------
    >>> from dplib.rng import stream
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> runs = simulate_perturbed(hale_egerstedt(), scale=2.73, steps=10, radius=138.8,
    ...                           streams=[stream(1, "input", 0)], record=[10])
    >>> runs.x.shape
    (1, 1, 1, 16)
    """
    check.instance("problem", problem, "simulate_perturbed", Problem)
    if sizes is not None:
        check.instance("sizes", sizes, "simulate_perturbed", StepSizes)
    draws = report_draws(problem, scale=scale)
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
        for rng in generators(streams, "simulate_perturbed")
    ]
    return stacked(runs)
