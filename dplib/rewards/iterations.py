r"""How many sweeps of value iteration rewards need, and how many more private ones.

Benvenuti et al., Section 5 (Theorem 4), Section 7 (Theorem 6), Appendices D and F.

Model. A *sweep* visits all nm state-action pairs. With R the largest absolute reward,
gamma the discount and eta/2 the error that is allowed in every value, Theorem 4 counts
sweeps, from values of zero, by

.. math:: K(R) = \lceil x(R) \rceil , \qquad
          x(R) = \frac{\log \frac{4 R}{\eta (1 - \gamma)^2}}{\log (1/\gamma)} .

Private rewards have another largest absolute value :math:`\tilde R`, a random one.
Theorem 6 bounds the expected excess :math:`E\,K(\tilde R) - K(R)` by
:math:`\lceil x(R + \sigma M) \rceil + 1 - K(R)`, :math:`\sigma M` bounding the expected
largest error of all joint rewards. In the printed M a term of Theorem 3 is missing.

If all errors are independent (one agent) the expectation is a sum, exactly:
:math:`E\,K = \sum_k P(K > k)`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

__all__ = ["excess_bound", "expected_sweeps", "sweeps"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Largest relative error of one rounding to nearest.
UNIT = 2.0**-53

#: Most sweeps, and most sweeps times different rewards, looked at together.
BLOCK, BLOCK_TERMS = 4096, 2**20


def sweeps(largest: ArrayLike, *, eta: float, discount: float) -> IntArray:
    """Return K(R), the sweeps that Theorem 4 counts for one policy.

    Parameters
    ----------
    largest : array_like
        Largest absolute rewards R, positive, any shape.
    eta : float
        Twice the error that is allowed in every value, positive, as values.
    discount : float
        Strictly between 0 and 1.

    Returns
    -------
    numpy.ndarray of int
        Not below 0. Of the shape of `largest`.

    References
    ----------
    Benvenuti et al., Theorem 4 and Appendix D.

    Examples
    --------
    The paper's Figure 4:

    >>> sweeps([1.0, 10.0], eta=1e-8, discount=0.99)
    array([2888, 3117])
    """
    log_ratio = np.log(largest) + math.log(4.0 / eta) - 2.0 * math.log1p(-discount)
    count = np.ceil(log_ratio / -math.log(discount))
    return np.asarray(np.maximum(count, 0.0).astype(np.int64))


def excess_bound(largest: float, *, noise: float, eta: float, discount: float) -> int:
    r"""Return the bound of Theorem 6 on expected extra sweeps, without the factor nm.

    Parameters
    ----------
    largest : float
        R of the true rewards, positive.
    noise : float
        :math:`\sigma M`, a bound on the expected largest error of the joint rewards.
    eta, discount : float
        As for `sweeps`.

    Returns
    -------
    int
        Times nm it is the paper's bound on E[C].

    References
    ----------
    Benvenuti et al., Theorem 6 and Appendix F.

    Examples
    --------
    >>> excess_bound(1.0, noise=1.0, eta=1e-8, discount=0.99)
    70
    """
    noisy, true = sweeps([largest + noise, largest], eta=eta, discount=discount)
    return int(noisy) + 1 - int(true)


def expected_sweeps(
    rewards: ArrayLike, *, sigma: float, eta: float, discount: float
) -> tuple[float, float]:
    r"""Return E K of private rewards with independent errors, and an error bound.

    K is the count of Theorem 4 for :math:`\tilde R = \max_l |r_l + y_l|`, the
    :math:`y_l \sim \mathcal N(0, \sigma^2)` independent. With
    :math:`t_k = \frac{\eta (1 - \gamma)^2}{4} \gamma^{-k}` it is larger than k if
    :math:`\tilde R > t_k`, which has probability
    :math:`1 - \prod_l P(|r_l + y_l| \le t_k)`; and E K is the sum of that over
    k = 0, 1, 2...

    Parameters
    ----------
    rewards : array_like, shape (K,)
        True rewards r of one agent, all state-action pairs in a row.
    sigma : float
        Deviation of the noise, positive.
    eta, discount : float
        As for `sweeps`.

    Returns
    -------
    value : float
        Expected sweeps.
    bound : float
        On its absolute error: the tail left out, and rounding. It is large, and
        rightly so, where a reward lies so near to a :math:`t_k` that with almost
        no noise the rounding of :math:`t_k` decides.

    Examples
    --------
    Almost no noise. A count on the edge goes up for half of it:

    >>> value, bound = expected_sweeps([0.3], sigma=1e-9, eta=1.0, discount=0.5)
    >>> print(round(value, 9), bound < 1e-9)
    3.0 True
    >>> value, bound = expected_sweeps([0.25], sigma=1e-9, eta=1.0, discount=0.5)
    >>> print(round(value, 9))
    2.5
    """
    r = np.asarray(rewards, dtype=float)
    # Equal rewards share their factor, and few different ones are common.
    levels, counts = np.unique(np.abs(r), return_counts=True)
    # Beyond: below exp(-800) an entry, though t_k is rounded.
    top = (float(levels[-1]) + 40.0 * sigma) * (1.0 + 1e-12)
    last = int(sweeps(top, eta=eta, discount=discount))
    value, rounding = 0.0, 0.0
    log_eta, log_gap = math.log(eta / 4.0), 2.0 * math.log1p(-discount)
    for first in range(0, last, BLOCK):  # in blocks, so that memory stays small
        k = np.arange(first, min(first + BLOCK, last))
        rise = -k * math.log(discount)
        t = np.exp(log_eta + log_gap + rise)
        value += float(_exceeded(levels, counts, t, sigma).sum())
        # Each logarithm, their sum and the exponential are off by a few roundings.
        # The probability falls with t, so it lies between those at both ends.
        off = 8.0 * UNIT * (abs(log_eta) + abs(log_gap) + rise + 1.0)
        high = _exceeded(levels, counts, t * (1.0 - off), sigma)
        low = _exceeded(levels, counts, t * (1.0 + off), sigma)
        rounding += float((high - low).sum())
        rounding += 1e-14 * k.size * math.sqrt(r.size)
    return value, rounding + 1e-12


def _exceeded(
    levels: FloatArray, counts: IntArray, t: FloatArray, sigma: float
) -> FloatArray:
    """Return P(some |level + noise| > t) for every t."""
    result = np.empty(t.size)
    # A power of two: the rows of a matrix product then go in the same groups.
    rows = 2 ** max(0, (BLOCK_TERMS // levels.size).bit_length() - 1)
    for first in range(0, t.size, rows):
        part = t[first : first + rows, None]
        above = special.ndtr((levels - part) / sigma)
        below = special.ndtr((-levels - part) / sigma)
        with np.errstate(divide="ignore"):  # P = 1: the log is -inf, as it should be
            inside = np.log1p(-np.minimum(above + below, 1.0)) @ counts
        result[first : first + rows] = -np.expm1(inside)
    return result
