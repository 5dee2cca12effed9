r"""Which rewards keep their places: goals that stay goals under noise.

Benvenuti et al., Section 6: Equation 5, Equation 6, Theorem 5; Appendix E.

Model. One agent's rewards, a vector R of K entries, get independent
:math:`N(0, \sigma^2)` noise. :math:`B^p` is the event that its p largest entries are
still the p largest, in any order; :math:`B_q` the same for the q smallest. As
:math:`-R` turns one into the other, everything here is about the largest.

Theorem 5 bounds :math:`P(B^p)` from above. The exact value: the least of the p noisy
top entries is number l, and equals t, when the other p - 1 lie above t; all others
must lie below. Summing over l and integrating over t gives :math:`P(B^p)` as one
integral. The integrand decays like a Gaussian and is analytic, so the trapezoidal rule
converges faster than any power of its step; the error bound compares two steps.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

__all__ = ["gap_for_survival", "survival"]

#: Half width, in deviations, beyond which Gaussian tails are left out (below 1e-27).
REACH = 11.0
STEP = 1.0 / 64.0


def survival(rewards: ArrayLike, *, top: int, sigma: float) -> tuple[float, float]:
    r"""Return the probability that the top entries stay the top, and an error bound.

    Parameters
    ----------
    rewards : array_like, shape (K,)
        Rewards of one agent.
    top : int
        p, from 1 to K - 1.
    sigma : float
        Deviation of the noise, positive.

    Returns
    -------
    value : float
        :math:`P(B^p)`; for :math:`P(B_q)` hand in the negative rewards.
    bound : float
        On its absolute error. It is large where rewards are so many deviations from
        zero that their floats are coarse: subtract a common number then.

    Notes
    -----
    The cost is 1409 logarithms for every pair of different rewards, one in the top.

    Examples
    --------
    >>> value, bound = survival([0.0, 0.0, 0.0], top=1, sigma=1.0)
    >>> abs(value - 1 / 3) <= bound < 1e-11
    True
    """
    # In deviations. Equal rewards are counted, not repeated.
    ordered = np.sort(np.asarray(rewards, dtype=float)) / sigma
    tops, n_top = np.unique(ordered[-top:], return_counts=True)
    rest, n_rest = np.unique(ordered[:-top], return_counts=True)
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
    # Rounding: of places in deviations, which moves groups apart or together, and of
    # sums of logarithms.
    largest = float(np.abs(ordered[[0, -top, -1]]).max())
    rounding = 1e-13 + 1e-14 * largest + 1e-15 * ordered.size
    return min(fine, 1.0), min(abs(fine - coarse) + rounding, 1.0)


def gap_for_survival(*, probability: float, others: int, sigma: float) -> float:
    """Return how far the goal must stand out to survive with a given probability.

    Parameters
    ----------
    probability : float
        Wanted chance that the goal stays the largest: above that of a tie,
        1 / (others + 1), and at most 1 - 1e-9.
    others : int
        How many rewards compete with it, all equal.
    sigma : float
        Deviation of the noise, positive.

    Returns
    -------
    float
        The gap, in the unit of the rewards, from the exact probability.

    Examples
    --------
    >>> wide = gap_for_survival(probability=0.95, others=79, sigma=1.595)
    >>> round(wide, 2)
    6.75
    """
    x = np.arange(-REACH, REACH + STEP / 2, STEP)
    weight = STEP * np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi)

    def excess(width: float) -> float:
        log_kept = others * special.log_ndtr(x + width)
        return float(np.sum(weight * np.exp(log_kept))) - probability

    return sigma * float(optimize.brentq(excess, 0.0, 40.0, xtol=1e-12))
