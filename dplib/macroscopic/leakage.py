"""Leakage (Definition 3, Equation 9), and two measures that need no smoothing.

    L(D) = max over D' adjacent to D and outcomes y of |ln(P[y] + nu) - ln(P'[y] + nu)|

over the union of both supports. ``nu`` is never a default: where the supports differ,
L is infinite without smoothing, and with it about ``-ln nu``; the number chosen decides
the result. A distribution known up to an `error` gives an interval, and a ``nu`` below
a hundred times that error is refused: it would make the error the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.macroscopic.distribution import Distribution, aligned
from dplib.macroscopic.network import FloatArray
from dplib.macroscopic.swarm import Counts, TypeChange
from dplib.privacy import divergence

__all__ = ["Leakage", "between", "identification", "leakage", "two_sided_delta"]


@dataclass(frozen=True)
class Leakage:
    """The leakage of a database, where it comes from, and what is certain of it.

    Parameters
    ----------
    value : float
        L(D), in nats; inf where only one of two databases allows an outcome and nu = 0.
    low, high : float
        Certified bounds, given the `error` of the distributions.
    outcome : tuple of int
        The observation that gives most away.
    neighbour : tuple of int
        Counts of the adjacent database; empty if there is none, or just one pair.
    """

    value: float
    low: float
    high: float
    outcome: tuple[int, ...]
    neighbour: Counts = ()


def between(p: Distribution, q: Distribution, *, nu: float) -> Leakage:
    """Return the largest |ln ratio| of two smoothed distributions.

    Parameters
    ----------
    p, q : Distribution
        What is observed under two databases.
    nu : float
        Added to every probability, 0 or more.

    Examples
    --------
    >>> half = Distribution(np.array([[0], [1]]), np.log([0.5, 0.5]))
    >>> third = Distribution(np.array([[0], [1]]), np.log([1 / 3, 2 / 3]))
    >>> print(round(np.exp(between(half, third, nu=0.0).value), 12))
    1.5
    """
    nu = check.nonnegative("nu", nu, "leakage")
    error = max(p.error, q.error)
    if nu < 100 * error:
        must = f"0.01 or less of the smoothing: at least {100 * error:.2g}"
        check.fail("nu", "leakage", f"such that the certified error is {must}", nu)
    union, log_p, log_q = aligned(p, q)
    with np.errstate(divide="ignore"):
        loss = divergence.privacy_loss(
            log_p=divergence.smooth(log_p=_whole(log_p), nu=nu),
            log_q=divergence.smooth(log_p=_whole(log_q), nu=nu),
        )[: len(union)]
    at = int(np.argmax(np.abs(loss)))
    low = high = value = float(abs(loss[at]))
    if error:
        larger, smaller = (
            np.exp(np.maximum(log_p, log_q)),
            np.exp(np.minimum(log_p, log_q)),
        )
        least = np.maximum(larger - error, 0) + nu, smaller + error + nu
        low = max(0.0, float(np.max(np.log(least[0] / least[1]))))
        most = larger + error + nu, np.maximum(smaller - error, 0) + nu
        high = max(float(np.max(np.log(most[0] / most[1]))), np.log1p(error / nu))
    return Leakage(value, low, high, tuple(int(n) for n in union[at]))


def leakage(
    law: Callable[[Counts], Distribution],
    counts: Counts,
    *,
    nu: float,
    adjacency: TypeChange,
) -> Leakage:
    """Return L(D), the largest leakage towards an adjacent database.

    Parameters
    ----------
    law : callable
        The distribution of what is observed, given the counts of a database.
    counts : tuple of int
        Those of D.
    nu : float
        Smoothing.
    adjacency : TypeChange
        Who is adjacent.
    """
    found = Leakage(0.0, 0.0, 0.0, ())
    own = law(counts)
    low = high = 0.0
    for other in adjacency.neighbours(counts):
        pair = between(own, law(other), nu=nu)
        low, high = max(low, pair.low), max(high, pair.high)
        if pair.value >= found.value:
            found = Leakage(pair.value, pair.low, pair.high, pair.outcome, other)
    return Leakage(found.value, low, high, found.outcome, found.neighbour)


def two_sided_delta(p: Distribution, q: Distribution, epsilon: ArrayLike) -> FloatArray:
    """Return the least delta of (epsilon, delta)-indistinguishability, at each epsilon.

    The larger of both orders of the hockey-stick divergence; it needs no smoothing.

    Examples
    --------
    >>> sure = Distribution(np.array([[0]]), np.zeros(1))
    >>> other = Distribution(np.array([[0], [1]]), np.log([0.75, 0.25]))
    >>> two_sided_delta(sure, other, [0.0, 10.0])
    array([0.25, 0.25])
    """
    _, log_p, log_q = aligned(p, q)
    log_p, log_q = _whole(log_p), _whole(log_q)
    there = divergence.hockey_stick(log_p=log_p, log_q=log_q, epsilon=epsilon)
    back = divergence.hockey_stick(log_p=log_q, log_q=log_p, epsilon=epsilon)
    result: FloatArray = np.maximum(there, back)
    return result


def identification(p: Distribution, q: Distribution, prior: float = 0.5) -> float:
    """Return how often the best guess between two databases is right.

    Parameters
    ----------
    p, q : Distribution
        What is observed under each.
    prior : float
        Probability of the first before anything is observed.

    Examples
    --------
    >>> coin = Distribution(np.array([[0], [1]]), np.log([0.5, 0.5]))
    >>> print(identification(coin, coin, prior=0.6))
    0.6
    """
    prior = check.probability("prior", prior, "identification")
    _, log_p, log_q = aligned(p, q)
    return float(np.sum(np.maximum(prior * np.exp(log_p), (1 - prior) * np.exp(log_q))))


def _whole(log_p: FloatArray) -> FloatArray:
    """Add one outcome that holds the mass which a truncation has lost."""
    lost = -np.expm1(np.logaddexp.reduce(log_p))
    with np.errstate(divide="ignore"):
        return np.append(log_p, np.log(max(lost, 0.0)))
