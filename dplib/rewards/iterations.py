r"""How many sweeps of value iteration rewards need, and how many more private ones.

Benvenuti et al., Section 5 (Theorem 4), Section 7 (Theorem 6), Appendices D and F.

Model. A *sweep* visits all nm state-action pairs. With R the largest absolute reward,
gamma the discount and eta/2 the error that is allowed in every value, Theorem 4 counts
sweeps, from values of zero, by

.. math:: K(R) = \lceil x(R) \rceil , \qquad
          x(R) = \frac{\log \frac{4 R}{\eta (1 - \gamma)^2}}{\log (1/\gamma)} .

It bounds the distance of the start from the answer twice, which costs a factor
:math:`2/(1 - \gamma)`. From zero the distance is at most :math:`R/(1 - \gamma)`, so
:math:`\lceil \log \frac{2R}{\eta (1 - \gamma)} / \log (1/\gamma) \rceil` sweeps do.

Private rewards have another largest absolute value :math:`\tilde R`, a random one.
Theorem 6 bounds the expected excess :math:`E\,K(\tilde R) - K(R)` by
:math:`\lceil x(R + \sigma M) \rceil + 1 - K(R)`, :math:`\sigma M` bounding the
expected largest error of all joint rewards. Three versions of M:

- "printed": :math:`\sqrt{(1 - 2/\pi)(nm - 1)/N}`, where a term of Theorem 3 is missing;
- "restored": C of Theorem 3, the term put back. This the proof supports;
- "log": :math:`\sqrt{2 \log(2nm)/N}`.

If all errors are independent (one agent) the expectation is a sum, exactly:
:math:`E\,K = \sum_k P(K > k)`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dplib import check
from dplib.privacy._numeric import UNIT, real_array
from dplib.rewards.accuracy import accuracy_factor, log_bound

__all__ = [
    "VERSIONS",
    "excess_bound",
    "expected_sweeps",
    "sweeps",
    "sweeps_from_zero",
    "sweeps_real",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

VERSIONS = ("printed", "restored", "log")
"""Versions of Theorem 6."""

#: Most sweeps times different rewards in `expected_sweeps`: half a minute of work.
MOST_TERMS = 10**8

#: Most sweeps, and most sweeps times different rewards, looked at together.
BLOCK, BLOCK_TERMS = 4096, 2**20


def sweeps_real(largest: ArrayLike, *, eta: float, discount: float) -> FloatArray:
    r"""Return x(R), the count of Theorem 4 before it is rounded up.

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
    numpy.ndarray
        Of the shape of `largest`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    Benvenuti et al., Theorem 4 and Appendix D.

    Examples
    --------
    >>> print(sweeps_real(0.5, eta=0.125, discount=0.5))
    6.0
    """
    where = "sweeps_real"
    R = _largest(largest, where)
    eta, discount = _scale(eta, discount, where)
    log_ratio = np.log(R) + math.log(4.0 / eta) - 2.0 * math.log1p(-discount)
    return np.asarray(log_ratio / -math.log(discount))


def sweeps(largest: ArrayLike, *, eta: float, discount: float) -> IntArray:
    """Return K(R), the sweeps that Theorem 4 counts for one policy.

    Parameters
    ----------
    largest, eta, discount
        As for `sweeps_real`.

    Returns
    -------
    numpy.ndarray of int
        Not below 0. Of the shape of `largest`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    The paper's Figure 4:

    >>> sweeps([1.0, 10.0], eta=1e-8, discount=0.99)
    array([2888, 3117])
    """
    return _up(sweeps_real(largest, eta=eta, discount=discount))


def sweeps_from_zero(largest: ArrayLike, *, eta: float, discount: float) -> IntArray:
    r"""Return sweeps that are enough if the values start at zero.

    After k sweeps the error is at most :math:`\gamma^k R / (1 - \gamma)`. With one
    state that pays R forever it is exactly that, so no smaller count is enough for
    all rewards up to R.

    Parameters
    ----------
    largest, eta, discount
        As for `sweeps_real`.

    Returns
    -------
    numpy.ndarray of int
        Not below 0. Of the shape of `largest`.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> print(sweeps(5.0, eta=1e-8, discount=0.99))
    3048
    >>> print(sweeps_from_zero(5.0, eta=1e-8, discount=0.99))
    2521
    """
    where = "sweeps_from_zero"
    R = _largest(largest, where)
    eta, discount = _scale(eta, discount, where)
    log_ratio = np.log(R) + math.log(2.0 / eta) - math.log1p(-discount)
    return _up(np.asarray(log_ratio / -math.log(discount)))


def excess_bound(
    largest: float,
    *,
    sigma: float,
    n_agents: int,
    pairs: int,
    eta: float,
    discount: float,
    version: str = "printed",
) -> int:
    """Return the bound of Theorem 6 on expected extra sweeps, without the factor nm.

    Parameters
    ----------
    largest : float
        R of the true rewards, positive.
    sigma : float
        Deviation of the noise on every agent's rewards, positive.
    n_agents, pairs : int
        N, and the number nm of joint state-action pairs; 1 or more.
    eta, discount : float
        As for `sweeps_real`.
    version : {"printed", "restored", "log"}
        Which bound on the expected largest error it uses, see above.

    Returns
    -------
    int
        Times nm it is the paper's bound on E[C].

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    References
    ----------
    Benvenuti et al., Theorem 6 and Appendix F.

    Examples
    --------
    With one state and one action the printed bound does not see the noise:

    >>> size = {"n_agents": 1, "pairs": 1, "eta": 1e-8, "discount": 0.99}
    >>> excess_bound(1.0, sigma=1e6, **size), excess_bound(1.0, sigma=1e-6, **size)
    (1, 1)
    >>> excess_bound(1.0, sigma=1e6, version="restored", **size)
    1353
    """
    where = "excess_bound"
    R = check.positive("largest", largest, where)
    sigma = check.positive("sigma", sigma, where)
    check.member("version", version, where, VERSIONS)
    factor = accuracy_factor(n_agents=n_agents, pairs=pairs)
    if version == "printed":
        factor = math.sqrt((1.0 - 2.0 / math.pi) * (pairs - 1) / n_agents)
    elif version == "log":
        factor = log_bound(sigma=1.0, n_agents=n_agents, pairs=pairs)
    noisy, true = sweeps([R + sigma * factor, R], eta=eta, discount=discount)
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
        As for `sweeps_real`. Sweeps times different :math:`|r_l|` may be 10^8.

    Returns
    -------
    value : float
        Expected sweeps.
    bound : float
        On its absolute error: the tail left out, and rounding. It is large, and
        rightly so, where a reward lies so near to a :math:`t_k` that with almost
        no noise the rounding of :math:`t_k` decides.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

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
    where = "expected_sweeps"
    r = check.array("rewards", rewards, where, shape=(None,))
    if r.size == 0:
        check.fail("rewards", where, "at least one reward", r.tolist())
    sigma = check.positive("sigma", sigma, where)
    eta, discount = _scale(eta, discount, where)
    # Equal rewards share their factor, and few different ones are common.
    levels, counts = np.unique(np.abs(r), return_counts=True)
    # Beyond: below exp(-800) an entry, though t_k is rounded.
    top = (float(levels[-1]) + 40.0 * sigma) * (1.0 + 1e-12)
    last = int(sweeps(top, eta=eta, discount=discount))
    if last * levels.size > MOST_TERMS:
        work = f"{last} sweeps times {levels.size} different rewards"
        must = f"smaller: {work} are above {MOST_TERMS}"
        check.fail("discount", where, must, discount)
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


def _up(x: FloatArray) -> IntArray:
    return np.asarray(np.maximum(np.ceil(x), 0.0).astype(np.int64))


def _largest(largest: ArrayLike, where: str) -> FloatArray:
    R = real_array("largest", largest, where, low=0.0)
    if not np.all(R > 0.0):
        check.fail("largest", where, "an array of positive finite numbers", largest)
    return R


def _scale(eta: float, discount: float, where: str) -> tuple[float, float]:
    eta = check.positive("eta", eta, where)
    return eta, check.unit_interval("discount", discount, where)
