"""Sharper composition for one kind of release repeated k times.

Model. k mechanisms, each epsilon-DP, each possibly chosen from what the earlier
ones gave out. Their sum k epsilon is exact at delta = 0; if a small delta is
allowed, the epsilon of the whole is much less, of order epsilon sqrt k.

Optimal composition (Kairouz, Oh and Viswanath, "The composition theorem for
differential privacy", 2015, Theorem 3.3). No k epsilon-DP mechanisms do worse
than k independent randomised responses. If l of them answer against the truth,
the two laws of the answers are, with n = (1 + e^epsilon)^k,

    p(l) = C(k, l) e^((k - l) epsilon) / n ,    q(l) = C(k, l) e^(l epsilon) / n ,

so that the loss is (k - 2 l) epsilon, and the whole is (epsilon', delta)-DP
exactly if delta >= sum_l [p(l) - e^epsilon' q(l)]_+. At epsilon' = (k - 2 i)
epsilon that is the paper's

    delta_i = sum_{l < i} C(k, l) (e^((k-l) epsilon) - e^((k-2i+l) epsilon)) / n .

Advanced composition (Dwork, Rothblum and Vadhan 2010; Dwork and Roth 2014,
Theorem 3.20) is simpler, holds for (epsilon, delta)-DP, and is looser.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from dplib import check
from dplib.privacy._numeric import FloatArray, Floats, round_up
from dplib.privacy.composition import Release
from dplib.privacy.divergence import epsilon_at, log_hockey_stick

__all__ = ["advanced_composition", "optimal_composition", "optimal_log_delta"]


def optimal_log_delta(release: Release, *, count: int, epsilon: ArrayLike) -> Floats:
    """Return the least log delta at which `count` pure releases are epsilon-DP.

    Parameters
    ----------
    release : Release
        One of the releases; its delta must be 0.
    count : int
        Number k of releases, 1 or more. Time and memory grow with k.
    epsilon : array_like
        Epsilon of the whole, 0 or greater, any shape.

    Returns
    -------
    numpy.ndarray or float
        Of the shape of `epsilon`; -inf from k epsilon on.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> from dplib.privacy.adjacency import Adjacency
    >>> row = Adjacency(name="row", unit="one row replaced", norm="hamming", radius=1)
    >>> one = Release(name="bit", epsilon=np.log(3), adjacency=row)
    >>> print(np.exp(optimal_log_delta(one, count=2, epsilon=0.0)).round(12))
    0.5
    """
    log_p, log_q = _responses(release, count, "optimal_log_delta")
    return log_hockey_stick(log_p=log_p, log_q=log_q, epsilon=epsilon)


def optimal_composition(
    release: Release, *, count: int, delta: float, name: str
) -> Release:
    """Return `count` pure releases together, with the least epsilon at `delta`.

    Parameters
    ----------
    release : Release
        One of the releases; its delta must be 0.
    count : int
        Number k of releases, 1 or more.
    delta : float
        Allowed delta of the whole, between 0 and 1.
    name : str
        Name of the whole.

    Returns
    -------
    Release
        No smaller epsilon holds for all mechanisms of this kind; computed to
        rounding.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> from dplib.privacy.adjacency import Adjacency
    >>> row = Adjacency(name="row", unit="one row replaced", norm="hamming", radius=1)
    >>> one = Release(name="bit", epsilon=0.1, adjacency=row)
    >>> whole = optimal_composition(one, count=100, delta=1e-6, name="100 bits")
    >>> round(whole.epsilon, 4)
    4.7746
    """
    log_p, log_q = _responses(release, count, "optimal_composition")
    epsilon = float(epsilon_at(log_p=log_p, log_q=log_q, delta=delta))
    return Release(name=name, epsilon=epsilon, delta=delta, adjacency=release.adjacency)


def advanced_composition(
    release: Release, *, count: int, slack: float, name: str
) -> Release:
    """Return `count` releases together by the advanced composition theorem.

    epsilon' = epsilon sqrt(2 k log(1/slack)) + k epsilon (e^epsilon - 1) and
    delta' = k delta + slack. For few or weak releases this exceeds the plain
    sum k epsilon (`dplib.privacy.composition.basic_composition`).

    Parameters
    ----------
    release : Release
        One of the releases.
    count : int
        Number k of releases, 1 or more.
    slack : float
        Delta that is given up for the smaller epsilon, strictly between 0 and 1.
    name : str
        Name of the whole.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or epsilon' overflows.

    Examples
    --------
    >>> from dplib.privacy.adjacency import Adjacency
    >>> row = Adjacency(name="row", unit="one row replaced", norm="hamming", radius=1)
    >>> one = Release(name="bit", epsilon=0.1, adjacency=row)
    >>> whole = advanced_composition(one, count=100, slack=1e-6, name="100 bits")
    >>> round(whole.epsilon, 4)
    6.3082
    """
    release = _release(release, "advanced_composition")
    k = check.integer("count", count, "advanced_composition", low=1)
    slack = check.unit_interval("slack", slack, "advanced_composition")
    step = release.epsilon
    drift = k * step * float(np.expm1(step)) if step < 700.0 else math.inf
    return Release(
        name=name,
        epsilon=step * math.sqrt(-2.0 * k * math.log(slack)) + drift,
        delta=min(1.0, round_up(k * Fraction(release.delta) + Fraction(slack))),
        adjacency=release.adjacency,
    )


def _responses(
    release: Release, count: int, where: str
) -> tuple[FloatArray, FloatArray]:
    """Log laws of the number of wrong answers among k randomised responses."""
    epsilon = _release(release, where).epsilon
    if release.delta != 0.0:
        check.fail("release", where, "pure (its delta must be 0)", release.delta)
    k = check.integer("count", count, where, low=1)
    wrong = np.arange(k + 1.0)
    log_p = gammaln(k + 1.0) - gammaln(wrong + 1.0) - gammaln(k - wrong + 1.0)
    log_p = log_p + (k - wrong) * epsilon
    # Normalised by its own sum: (1 + e^epsilon)^k would bring its own rounding.
    log_p = log_p - logsumexp(log_p)
    log_q: FloatArray = log_p - (k - 2.0 * wrong) * epsilon
    return log_p, log_q


def _release(release: object, where: str) -> Release:
    if not isinstance(release, Release):
        check.fail("release", where, "a Release", release, TypeError)
    return release
