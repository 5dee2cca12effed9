"""The chemical master equation at any time, with a certificate (section 5.2).

A swarm starts in one state, and dp/dt = K^T p (`states.generator`). Time goes on in
steps; in each, p moves in a Krylov space of dimension m,

    K^T V = V H + h v e_m^T,    p(t + s) = |p| V exp(s H) e_1,

as large a step as the certificate allows. It has three parts:

* the defect. What this p fails dp/dt = K^T p by is h |p| (exp(s H))_{m1} v: a known
  vector times a function of time. exp(s K^T) never lengthens a vector in the 1-norm, so
  the error is at most the integral of the defect's norm, summed from 65 points a step;
* the end. Once nothing moves, p stays: if the 1-norm of K^T p is g, then p(t + s) is
  within s g of p(t), and no further step is needed;
* the window. Where there are too many states, only those that matter are kept, and what
  flows out of them is lost. What is left is below the true distribution everywhere, so
  the mass lost bounds the error of every event (Munsky and Khammash, 2006). If much is
  lost in a step, the window grows and the step is done again.

Rounding, of the order of 1e-13, is not counted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from scipy import linalg, sparse

from dplib import check
from dplib.macroscopic import states
from dplib.macroscopic.distribution import Distribution, observe, summed
from dplib.macroscopic.network import FloatArray, IntArray, NetworkError
from dplib.macroscopic.swarm import Counts, Swarm

__all__ = ["observed", "transient"]

LISTED = 1_000_000  # at most so many states are all kept: about 0.6 GB for TASKS
DIMENSION = 30  # of the Krylov space
ORTHOGONAL = 10  # to so many vectors before it
POINTS = 64  # where the defect is looked at in a step
RING = 3  # reactions from the states that matter to the edge of the window
EPS, STEPS = float(np.finfo(float).eps), 5000
DROP = 1000  # part of the tolerance that one new window may drop


def transient(
    swarm: Swarm,
    counts: Counts,
    tau: float,
    *,
    tolerance: float = 1e-10,
    listed: int = LISTED,
) -> Distribution:
    """Return the distribution over states at a time, its `error` certified.

    Parameters
    ----------
    swarm : Swarm
    counts : tuple of int
        Robots of each type.
    tau : float
        Time of the snapshot, in the unit of the rates.
    tolerance : float
        What the error should be at most, positive; `error` says what it is.
    listed : int
        Keep a moving window of states if more than this many are reachable.

    Examples
    --------
    One robot waits at a task and leaves it at equal rates: (1 + exp(-2 tau)) / 2.

    >>> from dplib.macroscopic import network, swarm
    >>> one = swarm.observing(network.parse("e <-> w : 1, 1"), ["e"], [["e"]])
    >>> half = transient(one, (1,), np.log(2) / 2)
    >>> half.outcomes.tolist(), np.exp(half.log_p).round(9)
    ([[0, 1], [1, 0]], array([0.25, 0.75]))
    """
    tau = check.nonnegative("tau", tau, "transient")
    tolerance = check.positive("tolerance", tolerance, "transient")
    start = swarm.start(counts)
    whole = True
    try:
        kept = states.reachable(swarm.network, start, cap=listed)
    except NetworkError:
        whole, kept = False, states.around(swarm.network, start[None], RING)
    p = np.all(kept == start, axis=1).astype(np.float64)
    rates = states.generator(swarm.network, kept).T
    now, error, step = 0.0, 0.0, tau
    while now < tau:
        space = _krylov(rates, p)
        moving = float(np.abs(rates @ p).sum())
        if moving * (tau - now) <= tolerance / 4:
            error += moving * (tau - now)
            break
        still = moving <= 8 * EPS * float(np.abs(rates.diagonal()) @ p)
        if still and tau - now > STEPS * step:
            raise NetworkError(
                f"from time {now:.3g} on nothing moves, as far as rounding tells; ask "
                f"for the steady state, or for an earlier time than {tau:g}"
            )
        step = min(tau - now, 2 * step)
        new, bound, step = _advance(space, p, step, tolerance / 4 / tau)
        lost = max(0.0, float(p.sum() - new.sum()))
        if not whole and lost > tolerance / 4 * step / tau + bound:
            kept, p = _window(swarm, kept, p, tolerance / DROP)
            rates = states.generator(swarm.network, kept).T
            step /= 4
            continue
        now, error, p = now + step, error + bound, new
    some = p > 0
    error = 2 * error + abs(1.0 - float(p.sum()))
    return Distribution(kept[some], np.log(p[some]), error)


def observed(
    swarm: Swarm, tau: float, *, tolerance: float = 1e-10, listed: int = LISTED
) -> Callable[[Counts], Distribution]:
    """Return the law of what is seen at a time: counts to distribution of y.

    Distributions of y are remembered, those of states are not.
    """

    @functools.cache
    def law(counts: Counts) -> Distribution:
        at = transient(swarm, counts, tau, tolerance=tolerance, listed=listed)
        return observe(at, swarm.query)

    return law


def _krylov(
    rates: sparse.csc_array, p: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return V, H, and the norm of the defect's vector.

    Arnoldi's process, but each vector is made orthogonal to the last few only: what the
    certificate rests on holds all the same.
    """
    size = min(DIMENSION, len(p))
    basis = np.zeros((size + 1, len(p)))
    matrix = np.zeros((size + 1, size))
    basis[0] = p / np.linalg.norm(p)
    for j in range(size):
        vector = rates @ basis[j]
        before = basis[max(0, j + 1 - ORTHOGONAL) : j + 1]
        along = before @ vector
        vector -= along @ before
        matrix[j + 1 - len(before) : j + 1, j] = along
        matrix[j + 1, j] = length = float(np.linalg.norm(vector))
        if length <= 1e-14 * float(np.abs(matrix).max()):
            return basis[: j + 1], matrix[: j + 1, : j + 1], 0.0
        basis[j + 1] = vector / length
    last = length * float(np.abs(basis[size]).sum())
    return basis[:size], matrix[:size], last


def _advance(
    space: tuple[FloatArray, FloatArray, float],
    p: FloatArray,
    step: float,
    allowed: float,
) -> tuple[FloatArray, float, float]:
    """Return p after a step, its error, and how long the step could be."""
    basis, matrix, last = space
    length = float(np.linalg.norm(p))
    # The defect rises like t^(m - 1): points so close miss neither that nor its fall.
    step = min(step, 4 * POINTS / float(np.abs(matrix).sum(axis=0).max()))
    while True:
        part = linalg.expm(matrix * (step / POINTS))
        path = np.zeros((POINTS + 1, len(matrix)))
        path[0, 0] = length
        for k in range(POINTS):
            path[k + 1] = part @ path[k]
        defect = np.abs(path[:, -1])
        bound = last * float(np.maximum(defect[1:], defect[:-1]).sum()) * step / POINTS
        if bound <= allowed * step:
            new: FloatArray = np.maximum(path[-1] @ basis, 0.0)
            return new, bound, step
        step *= 0.7


def _window(
    swarm: Swarm, kept: IntArray, p: FloatArray, drop: float
) -> tuple[IntArray, FloatArray]:
    """Return the states that matter, those around them, and p there."""
    order = np.argsort(p, kind="stable")
    matter = np.sort(order[np.cumsum(p[order]) > drop])
    wider = states.around(swarm.network, kept[matter], RING)
    with np.errstate(divide="ignore"):
        log_p = np.log(np.concatenate([np.zeros(len(wider)), p[matter]]))
    both = summed(np.concatenate([wider, kept[matter]]), log_p)
    return both.outcomes, np.exp(both.log_p)
