r"""The exact law of a weighted sum of independent Laplace variables.

Model. :math:`Y = \sum_l s_l W_l` with independent :math:`W_l \sim \mathrm{Lap}(1)` and
scales :math:`s_l > 0`: the noise in a message that is a weighted sum of noisy numbers
(for Hale & Egerstedt, arXiv 1509.08161, Theorem 2: a noisy gradient times prices).

Its characteristic function is :math:`\prod_l 1/(1 + s_l^2 t^2)`. Partial fractions
turn the product into a signed sum of powers :math:`(1 + s^2 t^2)^{-k}`, each of them
the law of k iid Lap(s), and that law is two-sided with an absolute value that is a
mixture of Erlang laws:

.. math:: |Y| / s \sim \mathrm{Erlang}(p + 1)
          \ \text{with probability}\ \binom{2k-2-p}{k-1} 2^{-(2k-2-p)},
          \quad p = 0..k-1 .

The coefficients are computed in exact arithmetic. Equal scales are no difficulty;
scales that are almost but not quite equal make the signed sum cancel, and are refused.

Facts used elsewhere. Laplace densities are log-concave, hence so is that of Y, and so
the privacy loss log p(y) - log p(y - d) of a shift d is monotone in y. Its supremum
is its limit, |d| / max s.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc, gammaln, logsumexp

from dplib import check
from dplib.privacy._numeric import FloatArray, Floats, exact, real_array, round_up

__all__ = ["laplace_sum_log_density", "laplace_sum_loss", "laplace_sum_survival"]

Terms = dict[tuple[Fraction, int], Fraction]

# Sum of the sizes of coefficients that sum to 1: digits lost to cancellation.
MOST_CANCELLATION = 1e6


def laplace_sum_log_density(y: ArrayLike, *, scales: ArrayLike) -> Floats:
    """Return the log density of the sum at `y`.

    Parameters
    ----------
    y : array_like
        Points, any shape.
    scales : array_like, shape (terms,)
        Scales s_l, positive, in the unit of `y`; at least one.

    Returns
    -------
    numpy.ndarray or float
        Log densities, in the shape of `y`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or two scales are almost equal.

    Examples
    --------
    >>> print(laplace_sum_log_density(0.0, scales=[0.5]))  # Lap(1/2): density 1
    0.0
    >>> print(np.exp(laplace_sum_log_density(0.0, scales=[1.0, 1.0])))
    0.25
    """
    where = "laplace_sum_log_density"
    points = np.abs(real_array("y", y, where))
    logs, signs = [], []
    for scale, power, weight in _two_sided_erlangs(scales, where):
        z = points / scale
        with np.errstate(divide="ignore"):
            log_power = np.zeros_like(z) if power == 0 else power * np.log(z)
        log_term = log_power - z - gammaln(power + 1.0) - math.log(2.0 * scale)
        logs.append(log_term + math.log(abs(weight)))
        signs.append(math.copysign(1.0, weight))
    return _signed_sum(logs, signs)


def laplace_sum_survival(y: ArrayLike, *, scales: ArrayLike) -> Floats:
    """Return P(sum > y), with its relative accuracy kept in the upper tail.

    Parameters
    ----------
    y, scales : array_like
        As in `laplace_sum_log_density`.

    Returns
    -------
    numpy.ndarray or float
        Probabilities, in the shape of `y`.

    Examples
    --------
    >>> print(laplace_sum_survival([0.0, -800.0], scales=[1.0, 2.0]))
    [0.5 1. ]
    """
    where = "laplace_sum_survival"
    points = real_array("y", y, where)
    tail = np.zeros_like(points)
    for scale, power, weight in _two_sided_erlangs(scales, where):
        tail = tail + 0.5 * weight * gammaincc(power + 1.0, np.abs(points) / scale)
    result: Floats = np.where(points >= 0.0, tail, 1.0 - tail)[()]
    return result


def laplace_sum_loss(*, shift: float, scales: ArrayLike) -> float:
    """Return the supremum of the privacy loss when the sum is moved by `shift`.

    It is ``|shift| / max(scales)``, rounded up: the loss is monotone (the law is
    log-concave), and in the tail only the largest scale is left. The same in both
    directions.

    Parameters
    ----------
    shift : float
        Distance of the two values.
    scales : array_like, shape (terms,)
        As in `laplace_sum_log_density`.

    Examples
    --------
    >>> laplace_sum_loss(shift=3.0, scales=[1.0, 2.0])
    1.5
    """
    where = "laplace_sum_loss"
    check.finite("shift", shift, where)
    largest = float(_scales(scales, where)[-1])
    return round_up(abs(exact(shift)) / Fraction(largest))


def _scales(scales: ArrayLike, where: str) -> FloatArray:
    values = check.array("scales", scales, where, shape=(None,))
    if values.size == 0 or np.any(values <= 0.0):
        check.fail("scales", where, "an array of at least one positive number", scales)
    return np.sort(values)


def _two_sided_erlangs(scales: ArrayLike, where: str) -> list[tuple[float, int, float]]:
    """Return (scale, p, weight): |Y|/scale is Erlang(p + 1), in signed parts."""
    values = _scales(scales, where)
    terms: Terms = {(Fraction(float(values[0])), 1): Fraction(1)}
    for value in values[1:]:
        terms = _times(terms, Fraction(float(value)))
    if sum(abs(weight) for weight in terms.values()) > MOST_CANCELLATION:
        must = "equal, or apart by more than a tenth of a percent or so"
        check.fail("scales", where, must, scales)
    parts: dict[tuple[Fraction, int], Fraction] = {}
    for (scale, k), weight in terms.items():
        for p in range(k):
            j = 2 * k - 2 - p
            share = weight * Fraction(math.comb(j, k - 1), 2**j)
            parts[scale, p] = parts.get((scale, p), Fraction(0)) + share
    return [
        (float(scale), p, float(weight))
        for (scale, p), weight in parts.items()
        if weight
    ]


def _times(terms: Terms, scale: Fraction) -> Terms:
    """Multiply a sum of c A^k, A = 1/(1 + s^2 z), by B = 1/(1 + scale^2 z)."""
    result: Terms = {}

    def add(key: tuple[Fraction, int], weight: Fraction) -> None:
        result[key] = result.get(key, Fraction(0)) + weight

    b = scale**2
    for (other, k), weight in terms.items():
        if other == scale:
            add((scale, k + 1), weight)
            continue
        # A^k B = (a A^k - b A^(k-1) B) / (a - b), again and again until B is alone.
        a = other**2
        for power in range(k, 0, -1):
            add((other, power), weight * a / (a - b))
            weight = -weight * b / (a - b)
        add((scale, 1), weight)
    return result


def _signed_sum(logs: list[FloatArray], signs: list[float]) -> Floats:
    stacked = np.stack(logs)
    weights = np.reshape(signs, (-1,) + (1,) * (stacked.ndim - 1))
    result: Floats = logsumexp(stacked, axis=0, b=weights)
    return result
