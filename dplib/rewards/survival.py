r"""Which rewards keep their places: goals that stay goals under noise.

Benvenuti et al., Section 6: equations 5 and 6, Theorem 5; Appendix E.

Model. One agent's rewards, a vector R of K entries, get independent
:math:`N(0, \sigma^2)` noise. :math:`B^p` is the event that its p largest entries are
still the p largest, in any order; :math:`B_q` the same for the q smallest. As
:math:`-R` turns one into the other, everything here is about the largest.

- *Upper bound* (Theorem 5). The smallest of the top p must at least stay above the
  largest of the others: :math:`P(B^p) \le \Phi(g / (\sqrt2 \sigma))`, g their gap. One
  pair of :math:`p (K - p)` is looked at.
- *Exact*. The least of the p noisy top entries is number l, and equals t, when the
  other p - 1 lie above t; all others must lie below. Summing over l and integrating
  over t gives :math:`P(B^p)` as one integral.
- *Lower bounds*. For any threshold c the event happens if all top entries lie above c
  and all others below: :math:`\prod_l \Phi((R_l - c)/\sigma) \prod_k
  \Phi((c - R_k)/\sigma)`, for the best c. And in the variables
  :math:`(w_l, -w_k)`, l in the top and k not, all pairs ask for increasing events of
  independent variables, which are positively correlated (Harris' inequality):
  :math:`P(B^p) \ge \prod_{l,k} \Phi((R_l - R_k)/(\sqrt2\sigma))`.

The integrand decays like a Gaussian and is analytic, so the trapezoidal rule converges
faster than any power of its step; the error bound compares two steps.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from dplib import check

__all__ = [
    "gap",
    "gap_for_survival",
    "sigma_for_survival",
    "survival",
    "survival_lower_bound",
    "survival_upper_bound",
    "theorem5_bound",
]

FloatArray = NDArray[np.float64]

#: Half width, in deviations, beyond which Gaussian tails are left out (below 1e-27).
REACH = 11.0
STEP = 1.0 / 64.0

#: Most pairs of different rewards in `survival`: half a minute of work.
MOST_PAIRS = 10**6

#: Pairs that `survival_lower_bound` looks at together: 80 MB an array.
BLOCK = 10**7


def gap(rewards: ArrayLike, *, top: int) -> float:
    """Return the least of the `top` largest entries less the largest of the others.

    Parameters
    ----------
    rewards : array_like, shape (K,)
        Rewards of one agent, K of 2 or more.
    top : int
        p, from 1 to K - 1.

    Returns
    -------
    float
        Zero if they tie, otherwise positive, in the unit of the rewards.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> gap([-1, 5, -1, 3], top=1), gap([-1, 5, -1, 3], top=2)
    (2.0, 4.0)
    """
    high, low = _split(rewards, top, "gap")
    return float(high[0] - low[-1])


def survival_upper_bound(rewards: ArrayLike, *, top: int, sigma: float) -> float:
    r"""Return :math:`\Phi(g / (\sqrt2 \sigma))`, the first half of Theorem 5.

    Source: equation 12.

    Parameters
    ----------
    rewards, top
        As for `gap`.
    sigma : float
        Deviation of the noise, positive.

    Returns
    -------
    float
        Never below 1/2, however many rewards compete.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> survival_upper_bound([0.0, 0.0], top=1, sigma=1.0)
    0.5
    """
    sigma = check.positive("sigma", sigma, "survival_upper_bound")
    width = gap(rewards, top=top)
    return float(special.ndtr(width / (math.sqrt(2.0) * sigma)))


def theorem5_bound(rewards: ArrayLike, *, top: int, bottom: int, sigma: float) -> float:
    """Return the bound of Theorem 5 on both groups keeping their places.

    Parameters
    ----------
    rewards : array_like, shape (K,)
        Rewards of one agent.
    top, bottom : int
        p and q, from 1 to K - 1.
    sigma : float
        Deviation of the noise, positive.

    Returns
    -------
    float
        The smaller of the two halves.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> theorem5_bound([0.0, 0.0, 9.0], top=1, bottom=1, sigma=1.0)
    0.5
    """
    values = check.array("rewards", rewards, "theorem5_bound", shape=(None,))
    return min(
        survival_upper_bound(values, top=top, sigma=sigma),
        survival_upper_bound(-values, top=bottom, sigma=sigma),
    )


def survival(rewards: ArrayLike, *, top: int, sigma: float) -> tuple[float, float]:
    r"""Return the probability that the top entries stay the top, and an error bound.

    Parameters
    ----------
    rewards, top, sigma
        As for `survival_upper_bound`. Different rewards in the top, times different
        rewards, may be 10^6.

    Returns
    -------
    value : float
        :math:`P(B^p)`; for :math:`P(B_q)` hand in the negative rewards.
    bound : float
        On its absolute error. It is large where rewards are so many deviations from
        zero that their floats are coarse: subtract a common number then.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Notes
    -----
    The cost is 1409 logarithms for each of those pairs: 10^6 take half a minute.

    Examples
    --------
    >>> value, bound = survival([0.0, 0.0, 0.0], top=1, sigma=1.0)
    >>> abs(value - 1 / 3) <= bound < 1e-11
    True
    """
    sigma = check.positive("sigma", sigma, "survival")
    high, low = _split(rewards, top, "survival")
    # In deviations. Equal rewards are counted, not repeated.
    tops, n_top = np.unique(high / sigma, return_counts=True)
    rest, n_rest = np.unique(low / sigma, return_counts=True)
    if tops.size * (tops.size + rest.size) > MOST_PAIRS:
        must = f"fewer different ones: at most {MOST_PAIRS} pairs with one in the top"
        check.fail("rewards", "survival", must, np.size(rewards))
    fine, coarse = 0.0, 0.0
    for level, copies in zip(tops, n_top, strict=True):
        # t runs over the values of the least top entry, if that is at this level.
        offset = np.arange(-REACH, REACH + STEP / 2, STEP)
        t = level + offset
        others = n_top - (tops == level)
        log_f = -0.5 * offset**2 - 0.5 * math.log(2.0 * math.pi) + math.log(copies)
        for value, count in zip(tops, others, strict=True):
            log_f = log_f + count * special.log_ndtr(value - t)
        for value, count in zip(rest, n_rest, strict=True):
            log_f = log_f + count * special.log_ndtr(t - value)
        f = np.exp(log_f)
        fine += STEP * float(f.sum())
        coarse += 2 * STEP * float(f[::2].sum())
    result = min(max(fine, 0.0), 1.0)
    # Rounding: of places in deviations, which moves groups apart or together, and of
    # sums of logarithms.
    largest = float(max(abs(tops[-1]), abs(rest[0]), abs(tops[0])))
    rounding = 1e-13 + 1e-14 * largest + 1e-15 * (high.size + low.size)
    return result, min(abs(fine - coarse) + rounding, 1.0)


def survival_lower_bound(rewards: ArrayLike, *, top: int, sigma: float) -> float:
    """Return a lower bound in closed form: a threshold, or a product over pairs.

    Source: this book, see the file's docstring. The larger of the two.

    Parameters
    ----------
    rewards, top, sigma
        As for `survival_upper_bound`.

    Returns
    -------
    float
        A lower bound on P(B^p), also where the best threshold is missed.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or there are more than 10^9 pairs.

    Notes
    -----
    The cost is a logarithm for every pair, p (K - p) of them, in blocks of 10^7.

    Examples
    --------
    >>> survival_lower_bound([0.0, 0.0, 0.0], top=1, sigma=1.0)
    0.25
    >>> round(survival_lower_bound([9.0] + 99 * [0.0], top=1, sigma=2.0), 3)
    0.93
    """
    sigma = check.positive("sigma", sigma, "survival_lower_bound")
    high, low = _split(rewards, top, "survival_lower_bound")
    if high.size * low.size > 10**9:
        must = "fewer: at most 1000000000 pairs of one in the top and one not"
        check.fail("rewards", "survival_lower_bound", must, np.size(rewards))
    by_pairs = 0.0
    rows = max(1, BLOCK // low.size)
    for first in range(0, high.size, rows):
        differences = np.subtract.outer(high[first : first + rows], low)
        differences /= math.sqrt(2.0) * sigma
        by_pairs += float(special.log_ndtr(differences).sum())

    def minus_log(c: float) -> float:
        above = special.log_ndtr((high - c) / sigma).sum()
        return -float(above + special.log_ndtr((c - low) / sigma).sum())

    # Log-concave in c, so one search finds the best; any c would be a bound.
    ends = (low[-1] - 40.0 * sigma, high[0] + 40.0 * sigma)
    best = optimize.minimize_scalar(minus_log, bounds=ends, method="bounded")
    return math.exp(max(by_pairs, -float(best.fun)))


def gap_for_survival(*, probability: float, others: int, sigma: float) -> float:
    """Return how far the goal must stand out to survive with a given probability.

    Parameters
    ----------
    probability : float
        Wanted chance that the goal stays the largest, above that of a tie,
        1 / (others + 1), by 1e-9 of it, and at most 1 - 1e-9.
    others : int
        How many rewards compete with it, all equal, 1 or more.
    sigma : float
        Deviation of the noise, positive.

    Returns
    -------
    float
        The gap, in the unit of the rewards, from the exact probability.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> wide = gap_for_survival(probability=0.95, others=79, sigma=1.595)
    >>> round(wide, 2)
    6.75
    """
    where = "gap_for_survival"
    wanted = check.unit_interval("probability", probability, where)
    others = check.integer("others", others, where, low=1, high=10**7)
    sigma = check.positive("sigma", sigma, where)
    # By more than rounding, so that a gap can be told from none.
    if wanted <= (1.0 + 1e-9) / (others + 1):
        must = f"above {1.0 / (others + 1)}, the chance without any gap, by 1e-9 of it"
        check.fail("probability", where, must, probability)
    if wanted > 1.0 - 1e-9:
        check.fail("probability", where, "at most 1 - 1e-9", probability)
    # Two groups of equal rewards: the integral needs one of each.
    return sigma * _standard_gap(wanted, others)


def sigma_for_survival(*, probability: float, others: int, width: float) -> float:
    """Return the most noise under which a goal of a given gap survives often enough.

    Parameters
    ----------
    probability, others
        As for `gap_for_survival`.
    width : float
        The gap, positive.

    Returns
    -------
    float
        A deviation, in the unit of the rewards.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> most = sigma_for_survival(probability=0.95, others=79, width=6.75)
    >>> round(most, 2)
    1.6
    """
    width = check.positive("width", width, "sigma_for_survival")
    return width / gap_for_survival(probability=probability, others=others, sigma=1.0)


def _standard_gap(wanted: float, others: int) -> float:
    x = np.arange(-REACH, REACH + STEP / 2, STEP)
    weight = STEP * np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi)

    def excess(width: float) -> float:
        log_kept = others * special.log_ndtr(x + width)
        return float(np.sum(weight * np.exp(log_kept))) - wanted

    return float(optimize.brentq(excess, 0.0, 40.0, xtol=1e-12))


def _split(rewards: ArrayLike, top: int, where: str) -> tuple[FloatArray, FloatArray]:
    """Return the top entries and the others, both ascending."""
    values = np.sort(check.array("rewards", rewards, where, shape=(None,)))
    if values.size < 2:
        check.fail("rewards", where, "two rewards or more", values.tolist())
    top = check.integer("top", top, where, low=1, high=values.size - 1)
    return values[-top:], values[:-top]
