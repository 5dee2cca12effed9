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

The releases returned here are claims: epsilon and delta are never below the exact
values of these formulas. `optimal_log_delta` is a curve, rounded to nearest.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from dplib import check
from dplib.privacy._numeric import (
    UNIT,
    FloatArray,
    Floats,
    enlarge,
    exact,
    real_array,
    round_up,
)
from dplib.privacy.composition import Release
from dplib.privacy.divergence import curve_of_loss, invert_curve

__all__ = ["advanced_composition", "optimal_composition", "optimal_log_delta"]

MOST_RELEASES = 10**7
"""Largest count k of the optimal rule: its laws have k + 1 outcomes."""
MOST_LOSS = 1e6
"""Largest k epsilon of the optimal rule: its logs keep ten digits after the point."""


def optimal_log_delta(release: Release, *, count: int, epsilon: ArrayLike) -> Floats:
    """Return the least log delta at which `count` pure releases are epsilon-DP.

    Parameters
    ----------
    release : Release
        One of the releases; its delta must be 0, and k epsilon at most 1e6.
    count : int
        Number k of releases, 1 to 10^7. Time and memory grow with k.
    epsilon : array_like
        Epsilon of the whole, 0 or greater, any shape.

    Returns
    -------
    numpy.ndarray or float
        Of the shape of `epsilon`; -inf from k epsilon on. Rounded to nearest,
        with an absolute error of about 1e-15 (k log k + k epsilon).

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
    where = "optimal_log_delta"
    step, k = _pure(release, count, where)
    levels = real_array("epsilon", epsilon, where, low=0.0)
    log_p, _, loss, _ = _responses(step, k, where)
    return curve_of_loss(log_p, loss, levels)


def optimal_composition(
    release: Release, *, count: int, delta: float, name: str
) -> Release:
    """Return `count` pure releases together, with the least epsilon at `delta`.

    Parameters
    ----------
    release : Release
        One of the releases; its delta must be 0, and k epsilon at most 1e6
        (unless `delta` is 0 or 1).
    count : int
        Number k of releases, 1 to 10^7.
    delta : float
        Allowed delta of the whole, between 0 and 1.
    name : str
        Name of the whole.

    Returns
    -------
    Release
        No smaller epsilon holds for all mechanisms of this kind. The returned
        one is k epsilon, rounded up, at delta = 0; elsewhere it is the least
        for a delta that is smaller than `delta` by an allowance for rounding,
        a relative 1e-15 (k log k + k epsilon + |log delta|) or so.

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
    where = "optimal_composition"
    step, k = _pure(release, count, where)
    check.probability("delta", delta, where)
    allowed = -round_up(-exact(delta))
    epsilon = round_up(k * exact(step))
    if allowed == 1.0:
        epsilon = 0.0
    elif allowed > 0.0:
        log_p, log_q, loss, error = _responses(step, k, where)
        log_delta = math.log(allowed)
        error += 16.0 * UNIT * abs(log_delta)  # logs of this size are subtracted
        least = invert_curve(log_p, log_q, loss, log_delta - error)
        # The loss, its sum with a logarithm and that logarithm are rounded too.
        epsilon = min(epsilon, enlarge(least, 8) if least > 0.0 else 0.0)
    return Release(name=name, epsilon=epsilon, delta=delta, adjacency=release.adjacency)


def advanced_composition(
    release: Release, *, count: int, slack: float, name: str
) -> Release:
    """Return `count` releases together by the advanced composition theorem.

    epsilon' = epsilon sqrt(2 k log(1/slack)) + k epsilon (e^epsilon - 1) and
    delta' = k delta + slack. For few or weak releases this exceeds the plain
    sum k epsilon (`dplib.privacy.composition.basic_composition`). Both are
    rounded up.

    Parameters
    ----------
    release : Release
        One of the releases.
    count : int
        Number k of releases, 1 to 2^53.
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
    where = "advanced_composition"
    check.instance("release", release, where, Release)
    k = check.integer("count", count, where, low=1, high=2**53)
    slack = check.unit_interval("slack", slack, where)
    step = release.epsilon
    drift = k * step * math.expm1(step) if step < 700.0 else math.inf
    epsilon = step * math.sqrt(-2.0 * k * math.log(slack)) + drift
    return Release(
        name=name,
        # Ten operations, each off by at most a unit in the last place.
        epsilon=enlarge(epsilon, 12) if step > 0.0 else 0.0,
        delta=min(1.0, round_up(k * Fraction(release.delta) + Fraction(slack))),
        adjacency=release.adjacency,
    )


def _pure(release: Release, count: int, where: str) -> tuple[float, int]:
    """Check the arguments that the optimal rules share."""
    check.instance("release", release, where, Release)
    if release.delta != 0.0:
        check.fail("release", where, "pure (its delta must be 0)", release.delta)
    k = check.integer("count", count, where, low=1, high=MOST_RELEASES)
    return release.epsilon, k


def _responses(
    epsilon: float, k: int, where: str
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Log laws p and q of the number of wrong answers, and their loss.

    The loss is (k - 2 l) epsilon as it stands: a difference of the two logs would
    have lost it to rounding where epsilon is tiny or huge. The last number bounds
    the rounding error of the logs, and so the relative one of delta.
    """
    if not k * epsilon <= MOST_LOSS:
        must = f"one whose epsilon times 'count' is at most {MOST_LOSS:g}"
        check.fail("release", where, must, epsilon)
    wrong = np.arange(k + 1.0)
    loss = (k - 2.0 * wrong) * epsilon
    log_choices = gammaln(k + 1.0) - gammaln(wrong + 1.0) - gammaln(k - wrong + 1.0)
    log_p = log_choices + (k - wrong) * epsilon
    # Normalised by its own sum: (1 + e^epsilon)^k would bring its own rounding.
    total = float(logsumexp(log_p))
    log_p, log_q = log_p - total, log_choices + wrong * epsilon - total
    error = 16.0 * UNIT * (float(gammaln(k + 1.0)) + k + k * epsilon)
    return log_p, log_q, loss, error
