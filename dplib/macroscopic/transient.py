"""The distribution at any time: the chemical master equation, with a certificate.

``dp/dt = K^T p`` (Equation 3) from all robots at home, for networks of any kind. The
state space may be truncated (finite state projection): what flows out of it is lost, so
that the mass that is missing at the end bounds what truncation has done, to any event
(Munsky and Khammash 2006).

In time the solution is followed in Krylov spaces. With m vectors V and the Hessenberg
matrix H of the Arnoldi process, ``p(s) = beta V exp(s H) e_1`` solves the equation up
to the residual ``beta h_{m+1,m} [exp(s H)]_{m,1} v_{m+1}``. The flow shrinks every
1-norm, so the 1-norms of residuals, integrated over time, bound the error (Botchev,
Grimm and Hochbruck 2013). Both parts, and rounding, add up to the `error`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from scipy.linalg import expm
from scipy.sparse import csr_array

from dplib import check
from dplib.macroscopic.distribution import Distribution, observe
from dplib.macroscopic.network import FloatArray
from dplib.macroscopic.states import CAP, generator, reachable
from dplib.macroscopic.swarm import Counts, Swarm

__all__ = ["TransientError", "flow", "observed", "transient"]

#: Vectors of one Krylov space; points of a step at which its residual is looked at.
VECTORS, POINTS = 30, 16
#: Up to so many states nothing is truncated.
ALL_STATES = 150_000
#: By what the largest exit rate grows when too much is lost.
GROWTH = 1.4


class TransientError(RuntimeError):
    """The tolerance cannot be reached with so many states."""


def transient(
    swarm: Swarm,
    counts: Counts,
    tau: float,
    *,
    tolerance: float = 1e-10,
    cap: int = CAP,
) -> Distribution:
    """Return the distribution over states at time tau, with its certified error.

    Parameters
    ----------
    swarm : Swarm
        Network and homes; the query plays no role.
    counts : tuple of int
        Robots of each type.
    tau : float
        Time after the start, above 0, in the unit of 1 / rates.
    tolerance : float
        What the `error` may be.
    cap : int
        Most states.

    Examples
    --------
    >>> from dplib.macroscopic import paper
    >>> late = transient(paper.RESOURCE, (2, 1), 50.0)
    >>> np.exp(late.log_p).round(9)[:2], bool(late.error < 1e-10)
    (array([0.4       , 0.26666667]), True)
    """
    tau = check.positive("tau", tau, "transient")
    start = swarm.start(counts)
    fastest = np.inf
    try:
        states = reachable(swarm.network, start, cap=min(ALL_STATES, cap))
    except ValueError:  # too many: leave out those that are left fastest
        fastest = 2.0 * float(swarm.network.propensities(start).sum())
        states = reachable(swarm.network, start, cap=cap, fastest=fastest)
    while True:
        first = np.all(states == start, axis=1).astype(float)
        flows = generator(swarm.network, states).T.tocsr()
        p, error = flow(flows, first, tau, tolerance=tolerance / 4, lose=tolerance / 2)
        error = 2 * error + max(0.0, 1.0 - float(p.sum()))
        if error <= tolerance:
            break
        if np.isinf(fastest):
            raise TransientError(f"rounding alone makes an error of {error:.1e}")
        fastest *= GROWTH
        states = reachable(swarm.network, start, cap=cap, fastest=fastest)
    with np.errstate(divide="ignore"):
        return Distribution(states, np.log(np.maximum(p, 0.0)), error)


def observed(
    swarm: Swarm, tau: float, *, tolerance: float = 1e-10
) -> Callable[[Counts], Distribution]:
    """Return the function from counts to the distribution of y at time tau (cached)."""

    @functools.lru_cache(maxsize=1024)
    def law(counts: Counts) -> Distribution:
        states = transient(swarm, counts, tau, tolerance=tolerance)
        return observe(states, swarm.query)

    return law


def flow(
    flows: csr_array, p: FloatArray, tau: float, *, tolerance: float, lose: float = 1.0
) -> tuple[FloatArray, float]:
    """Return exp(tau K^T) p and a bound of its error in the 1-norm.

    Parameters
    ----------
    flows : csr_array, shape (n, n)
        K^T; its columns sum to 0 or less.
    p : ndarray, shape (n,)
        A distribution.
    tau : float
        Time.
    tolerance : float
        What the residuals may add up to.
    lose : float
        When more mass than that is gone, the flow is left off; its error is inf.
    """
    done, step, residual, products = 0.0, tau, 0.0, 0
    while done < tau and p.sum() >= 1.0 - lose:
        vectors, hessenberg = _arnoldi(flows, p)
        products += len(hessenberg)
        m = len(hessenberg) - 1
        beta = float(np.linalg.norm(p))
        outside = beta * hessenberg[m, m - 1] * float(np.abs(vectors[m]).sum())
        step = min(2 * step, tau - done)
        while True:
            short = expm(hessenberg[:m, :m] * (step / POINTS))
            path = np.zeros((POINTS + 1, m))
            path[0, 0] = 1.0
            for k in range(POINTS):
                path[k + 1] = short @ path[k]
            bound = step * outside * float(np.abs(path[:, m - 1]).max())
            if bound <= tolerance * step / tau:
                break
            step *= 0.7
        p = beta * (path[-1] @ vectors[:m])
        done += step
        residual += bound
    if done < tau:
        return p, np.inf
    rounding = np.finfo(float).eps * products * flows.nnz / len(p)
    return p, residual + rounding


def _arnoldi(flows: csr_array, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis, shape (m + 1, n), and H, shape (m + 1, m + 1)."""
    size = min(VECTORS, len(p))
    vectors = np.zeros((size + 1, len(p)))
    hessenberg = np.zeros((size + 1, size + 1))
    vectors[0] = p / np.linalg.norm(p)
    for j in range(size):
        new = flows @ vectors[j]
        scale = np.linalg.norm(new)
        for _ in range(2):  # once more against rounding
            along = vectors[: j + 1] @ new
            new -= along @ vectors[: j + 1]
            hessenberg[: j + 1, j] += along
        left = np.linalg.norm(new)
        if left <= 1e-14 * scale:  # the space holds the whole solution
            return vectors[: j + 2], hessenberg[: j + 2, : j + 2]
        hessenberg[j + 1, j] = left
        vectors[j + 1] = new / left
    return vectors, hessenberg
