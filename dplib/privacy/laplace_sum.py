r"""The exact distribution of a weighted sum of independent Laplace variables.

Model. :math:`Y = \sum_l s_l W_l` with independent :math:`W_l \sim \mathrm{Lap}(1)` and
scales :math:`s_l > 0`: the noise in a message that is a weighted sum of noisy numbers
(for Hale & Egerstedt, arXiv 1509.08161, Theorem 2: a noisy gradient times prices).

Its characteristic function is :math:`\prod_l 1/(1 + s_l^2 t^2)`. Partial fractions
turn the product into a signed sum of powers :math:`(1 + s^2 t^2)^{-k}`, each of them
that of k iid Lap(s), whose sum is symmetric, with an absolute value that is a mixture
of Erlang variables:

.. math:: |Y| / s \sim \mathrm{Erlang}(p + 1)
          \ \text{with probability}\ \binom{2k-2-p}{k-1} 2^{-(2k-2-p)},
          \quad p = 0..k-1 .

The coefficients are computed in exact arithmetic. Equal scales are no difficulty;
scales that are almost but not quite equal make the signed sum cancel, and are refused.

Laplace densities are log-concave, hence so is that of Y, and so the privacy loss
log p(y) - log p(y - d) of a shift d is monotone in y: its supremum is |d| / max s.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc

from dplib import check
from dplib.privacy._numeric import Floats

__all__ = ["laplace_sum_survival"]

# (s, k) -> weight of (1 + s^2 t^2)^-k
Terms = dict[tuple[Fraction, int], Fraction]

# Sum of the sizes of coefficients that sum to 1: digits lost to cancellation.
MOST_CANCELLATION = 1e6


def laplace_sum_survival(y: ArrayLike, *, scales: ArrayLike) -> Floats:
    """Return P(sum > y), with its relative accuracy kept in the upper tail.

    Parameters
    ----------
    y : array_like
        Points, any shape.
    scales : array_like, shape (terms,)
        Scales s_l, positive, in the unit of `y`.

    Returns
    -------
    numpy.ndarray or float
        Probabilities, in the shape of `y`.

    Examples
    --------
    >>> print(laplace_sum_survival([0.0, -800.0], scales=[1.0, 2.0]))
    [0.5 1. ]
    """
    points = np.asarray(y, dtype=np.float64)
    tail = np.zeros_like(points)
    for scale, power, weight in _two_sided_erlangs(scales):
        tail = tail + 0.5 * weight * gammaincc(power + 1.0, np.abs(points) / scale)
    result: Floats = np.where(points >= 0.0, tail, 1.0 - tail)[()]
    return result


def _two_sided_erlangs(scales: ArrayLike) -> list[tuple[float, int, float]]:
    """Return (scale, p, weight): |Y|/scale is Erlang(p + 1), in signed parts."""
    first, *others = np.sort(np.asarray(scales, dtype=np.float64)).tolist()
    terms: Terms = {(Fraction(first), 1): Fraction(1)}
    for scale in others:
        terms = _times(terms, Fraction(scale))
    if sum(abs(weight) for weight in terms.values()) > MOST_CANCELLATION:
        must = "equal, or apart by more than a tenth of a percent or so"
        check.fail("scales", "laplace_sum_survival", must, scales)
    parts: Terms = defaultdict(Fraction)
    for (scale, k), weight in terms.items():
        for p in range(k):
            j = 2 * k - 2 - p
            parts[scale, p] += weight * Fraction(math.comb(j, k - 1), 2**j)
    return [
        (float(scale), p, float(weight))
        for (scale, p), weight in parts.items()
        if weight
    ]


def _times(terms: Terms, scale: Fraction) -> Terms:
    """Multiply a sum of c A^k, A = 1/(1 + s^2 z), by B = 1/(1 + scale^2 z)."""
    result: Terms = defaultdict(Fraction)
    b = scale**2
    for (other, k), weight in terms.items():
        if other == scale:
            result[scale, k + 1] += weight
            continue
        # A^k B = (a A^k - b A^(k-1) B) / (a - b), again and again until B is alone.
        a = other**2
        for power in range(k, 0, -1):
            result[other, power] += weight * a / (a - b)
            weight = -weight * b / (a - b)
        result[scale, 1] += weight
    return result
