r"""Flow time and the centroid: what Algorithm 1 cannot have forgotten yet.

Hale & Egerstedt (arXiv 1509.08161), Update (2) with the step sizes of Theorem 1. The
paper does not make this observation; it explains most of the error that the
paper reports at the end of its run.

Model. Suppose every constraint is invariant under a common translation of all
agents (bounds on distances are), all agents have the same weight w, and the box
never acts. Then the messages sum to zero over the agents, and the mean c(k) of the
states obeys, noise in the cloud apart,

.. math::
   c(k+1) = c(k) - \gamma_k \left(w (c(k) - \bar t) + \alpha_k c(k)\right),

whatever the multipliers do; :math:`\bar t` is the mean of the targets. Hence
:math:`c - \bar t = P\,(c_0 - \bar t) - S\,\bar t` with two numbers that depend on
the step sizes alone,

.. math::
   P_{k+1} = r_k P_k, \qquad S_{k+1} = r_k S_k + \gamma_k\alpha_k,
   \qquad r_k = 1 - \gamma_k(w + \alpha_k), \quad P = 1,\ S = 0 \text{ at first}.

P is close to :math:`\exp(-w T)` with the *flow time* :math:`T = \sum\gamma_k` (a little
less, the regularisation helping); S is the regularisation's pull towards zero. Since
the optimum has the mean :math:`\bar t`, the distance of the states from the optimum
is at least :math:`\sqrt N` times that of the centroid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.truthful.algorithm import StepSizes
from dplib.truthful.problem import Problem

__all__ = ["flow_time", "centroid_factors", "centroids", "centroid_floor"]

FloatArray = NDArray[np.float64]


def flow_time(steps: int, sizes: StepSizes | None = None) -> float:
    """Return the time T that the steps add up to, the sum of gamma_k.

    Parameters
    ----------
    steps : int
        Number of steps, from zero to a thousand million.
    sizes : StepSizes, optional
        The paper's by default.

    Returns
    -------
    float
        Time of the gradient flow that the steps follow. What decays at rate 1
        along the flow keeps about exp(-T) of its size.

    Raises
    ------
    TypeError, ValueError
        If `steps` is not such an integer.

    Examples
    --------
    >>> T = flow_time(250_000)
    >>> round(T, 4), round(float(np.exp(-T)), 4)
    (3.5872, 0.0277)
    """
    steps = check.integer("steps", steps, "flow_time", low=0, high=10**9)
    sizes = StepSizes() if sizes is None else sizes
    check.instance("sizes", sizes, "flow_time", StepSizes)
    return float(np.sum(sizes.gamma(sizes.indices(steps))))


def centroid_factors(
    record: ArrayLike, *, sizes: StepSizes | None = None, weight: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return P and S of the file's docstring after the recorded steps.

    Parameters
    ----------
    record : array_like of int, shape (r,)
        Numbers of steps, ascending, zero or greater.
    sizes : StepSizes, optional
        The paper's by default.
    weight : float
        Common weight w of the agents' costs, greater than zero.

    Returns
    -------
    P : numpy.ndarray, shape (r,)
        What is left of the initial error.
    S : numpy.ndarray, shape (r,)
        Pull of the regularisation, as a share of the mean target.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> P, S = centroid_factors([0, 1, 250_000])
    >>> P.round(5), S.round(5)
    (array([1.     , 0.985  , 0.02504]), array([0.     , 0.005  , 0.01185]))
    """
    where = "centroid_factors"
    weight = check.positive("weight", weight, where)
    wanted = check.ascending("record", record, where, high=10**8)
    sizes = StepSizes() if sizes is None else sizes
    check.instance("sizes", sizes, where, StepSizes)
    k = sizes.indices(int(wanted[-1]))
    gamma, alpha = sizes.gamma(k), sizes.alpha(k)
    ratios = (1.0 - gamma * (weight + alpha)).tolist()
    pulls = (gamma * alpha).tolist()
    P, S = np.ones(wanted.size), np.zeros(wanted.size)
    left, pull, done = 1.0, 0.0, 0
    for row, number in enumerate(wanted.tolist()):
        for i in range(done, number):
            left, pull = ratios[i] * left, ratios[i] * pull + pulls[i]
        P[row], S[row], done = left, pull, number
    if not (np.all(np.isfinite(P)) and np.all(np.isfinite(S))):
        must = "small enough for the step sizes (the mean runs away otherwise)"
        check.fail("weight", where, must, weight)
    return P, S


def _means(problem: Problem, x0: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Return the means of the start and of the targets, or say what is missing."""
    where = "centroids"
    check.instance("problem", problem, where, Problem)
    if len(set(problem.dims)) != 1:
        must = "one whose agents have equally many coordinates"
        check.fail("problem", where, must, problem.dims)
    if np.ptp(problem.weights) > 0.0 or problem.weights[0] == 0.0:
        must = "one whose agents have the same positive weight"
        check.fail("problem", where, must, problem.weights.tolist())
    N, d = problem.n_agents, problem.dims[0]
    # A common shift of all agents by e_k is the vector that repeats e_k.
    shifts = np.tile(np.eye(d), (N, 1))
    change = np.abs(problem.Q @ shifts).max(initial=0.0)
    change = max(change, np.abs(problem.a @ shifts).max(initial=0.0))
    if change > 1e-12 * max(np.abs(problem.Q).max(), np.abs(problem.a).max()):
        must = "one whose constraints do not change when all agents shift alike"
        check.fail("problem", where, must, f"a change of {change:.3g}")
    n = problem.n_states
    nearest = np.clip(np.zeros(n), problem.lower, problem.upper)
    start = check.array("x0", nearest if x0 is None else x0, where, shape=(n,))
    return (
        np.asarray(start.reshape(N, d).mean(axis=0)),
        np.asarray(problem.targets.reshape(N, d).mean(axis=0)),
    )


def centroids(
    problem: Problem,
    record: ArrayLike,
    *,
    sizes: StepSizes | None = None,
    x0: ArrayLike | None = None,
) -> FloatArray:
    """Return the mean state after the recorded steps of Algorithm 1, exactly.

    Parameters
    ----------
    problem : Problem
        Constraints invariant under common shifts, equal weights, equally many
        coordinates d per agent. That the box does not act is the caller's to
        see to.
    record : array_like of int, shape (r,)
        Numbers of steps, ascending, zero or greater.
    sizes : StepSizes, optional
        The paper's by default.
    x0 : array_like, shape (n,), optional
        States at the start; by default the box's nearest point to 0.

    Returns
    -------
    numpy.ndarray, shape (r, d)
        Mean states.

    Raises
    ------
    TypeError, ValueError
        If the problem is not of that kind, or a parameter is out of range.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> centroids(hale_egerstedt(), [250_000]).round(4)
    array([[ 2.167 , -2.0466]])
    """
    check.instance("problem", problem, "centroids", Problem)
    if sizes is not None:
        check.instance("sizes", sizes, "centroids", StepSizes)
    start, mean = _means(problem, x0)
    weight = float(problem.weights[0])
    P, S = centroid_factors(record, sizes=sizes, weight=weight)
    return np.asarray(mean + np.outer(P, start - mean) - np.outer(S, mean))


def centroid_floor(
    problem: Problem,
    record: ArrayLike,
    *,
    sizes: StepSizes | None = None,
    x0: ArrayLike | None = None,
) -> FloatArray:
    """Return the least distance from the optimum that the centroid allows.

    The states' 2-norm distance from the optimum is at least sqrt(N) times the
    distance of their mean from its mean. The optimum's mean is that of the targets
    (where the box does not hold the optimum).

    Parameters
    ----------
    problem, record, sizes, x0
        As for `centroids`.

    Returns
    -------
    numpy.ndarray, shape (r,)
        Distances in the 2-norm.

    Raises
    ------
    TypeError, ValueError
        As for `centroids`.

    Examples
    --------
    >>> from dplib.truthful.problem import hale_egerstedt
    >>> centroid_floor(hale_egerstedt(), [0, 250_000]).round(5)
    array([8.75357, 0.32293])
    """
    check.instance("problem", problem, "centroid_floor", Problem)
    if sizes is not None:
        check.instance("sizes", sizes, "centroid_floor", StepSizes)
    _, mean = _means(problem, x0)
    errors = centroids(problem, record, sizes=sizes, x0=x0) - mean
    return np.asarray(np.sqrt(problem.n_agents) * np.linalg.norm(errors, axis=1))
