r"""The exact privacy curve of the Gaussian mechanism.

Model. A query value is released with independent :math:`N(0, \sigma^2)` noise on every
entry; adjacent data move it by at most :math:`\Delta` in the 2-norm. With
:math:`u = \Delta / \sigma` the least :math:`\delta` at which the release is
:math:`(\varepsilon, \delta)`-private is (Balle and Wang, ICML 2018, Theorem 8)

.. math:: \delta(\varepsilon) = \Phi\left(\tfrac u2 - \tfrac{\varepsilon}{u}\right)
    - e^{\varepsilon}\, \Phi\left(-\tfrac u2 - \tfrac{\varepsilon}{u}\right).

It serves Section 2.2 of Benvenuti et al. Whose data may differ, and so what
:math:`\Delta` is, is for the caller to state.

Numerics. Both terms hold the same density: with M the Mills ratio the curve is
:math:`\varphi(u/2 - \varepsilon/u) [M(\varepsilon/u - u/2) - M(\varepsilon/u + u/2)]`,
evaluated in log space (`dplib.privacy._mills`). The error of log delta is below 1e-12
for delta from 1e-300 and epsilon up to 1000. For a larger u the rounding of u and of
:math:`\varepsilon/u` is what counts: it moves :math:`a = u/2 - \varepsilon/u` by some
units in the last place of u, and log delta by up to |a| + 1 times that.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from dplib import check
from dplib.privacy._mills import mills, mills_drop
from dplib.privacy._numeric import UNIT, FloatArray, Floats, real_array

__all__ = ["gaussian_delta", "gaussian_epsilon", "gaussian_log_delta"]

_SAFETY = 1e-11  # relative allowance for the error of delta, on the private side


def gaussian_delta(*, sensitivity: float, sigma: float, epsilon: ArrayLike) -> Floats:
    """Return the exact delta(epsilon) of noise of deviation `sigma`.

    Parameters
    ----------
    sensitivity : float
        Change of the query between adjacent data in the 2-norm, positive.
    sigma : float
        Deviation of the noise of every entry, positive.
    epsilon : array_like
        Zero or greater, any shape.

    Returns
    -------
    numpy.ndarray or float
        In [0, 1], rounded to nearest: 0 where it underflows (then use
        `gaussian_log_delta`), and 1 where it is nearer to 1 than any other float.
        The same in both directions of a pair.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> print(gaussian_delta(sensitivity=2.0, sigma=1.0, epsilon=0.0).round(12))
    0.682689492137
    """
    result: Floats = np.exp(_curve(sensitivity, sigma, epsilon, "gaussian_delta"))
    return result


def gaussian_log_delta(
    *, sensitivity: float, sigma: float, epsilon: ArrayLike
) -> Floats:
    """Return log delta(epsilon), finite also where delta underflows.

    Parameters
    ----------
    sensitivity, sigma, epsilon
        As in `gaussian_delta`.

    Returns
    -------
    numpy.ndarray or float
        Zero or less; -inf only where it would itself be too large for a float.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> print(gaussian_log_delta(sensitivity=1.0, sigma=1.0, epsilon=100.0) < -4900)
    True
    """
    return _curve(sensitivity, sigma, epsilon, "gaussian_log_delta")


def gaussian_epsilon(*, sensitivity: float, sigma: float, delta: float) -> float:
    """Return the least epsilon >= 0 with delta(epsilon) <= `delta`.

    Parameters
    ----------
    sensitivity, sigma : float
        As in `gaussian_delta`; the sensitivity at most 1e8 times sigma.
    delta : float
        Between 0 and 1: inf at 0 (no Gaussian release is purely private); at
        other values at least 1e-300.

    Returns
    -------
    float
        Errs, by a relative 1e-10 of 1 + epsilon at most, on the private side.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> gaussian_epsilon(sensitivity=1.0, sigma=100.0, delta=0.1)
    0.0
    >>> round(gaussian_epsilon(sensitivity=1.0, sigma=2.5244, delta=0.01), 3)
    0.673
    """
    where = "gaussian_epsilon"
    ratio = _ratio(sensitivity, sigma, where)
    if ratio > 1e8:
        # There epsilon is above 1e15, and half a unit in its last place is not small.
        must = "at most 1e8 times 'sigma'"
        check.fail("sensitivity", where, must, sensitivity)
    delta = check.probability("delta", delta, where)
    if delta == 0.0:
        return math.inf
    if delta == 1.0:
        return 0.0
    target = private_target(usable_delta(delta, where), ratio)

    def excess(epsilon: float) -> float:
        return log_curve(np.asarray(epsilon), ratio).item() - target

    if excess(0.0) <= 0.0:
        return 0.0
    # The first term of the curve alone gives an upper end in closed form.
    high = ratio * (ratio / 2.0 - float(special.ndtri(delta * (1.0 - 1e-10))))
    while excess(high) > 0.0:  # rounding, where epsilon is huge
        high += 1e-13 * (1.0 + high)
    root = float(optimize.brentq(excess, 0.0, high, xtol=1e-14, rtol=1e-14))
    while excess(root) > 0.0:
        root += 1e-13 * (1.0 + root)
    return root


def private_target(delta: float, ratio: float) -> float:
    """Return log delta less an allowance for the error of the computed curve."""
    # At this delta |u/2 - epsilon/u| is at most one more than the quantile's size.
    # The ratio, epsilon/ratio and the difference are rounded: together by less than
    # half of 8 ratio units; delta and its complement move by up to twice the product.
    tail = abs(float(special.ndtri(delta))) + 1.0
    allowance = max(_SAFETY, 8.0 * UNIT * ratio * (tail + 1.0))
    # Near 1 the curve is computed from its complement, and as exact as that is.
    return math.log(delta) + math.log1p(-allowance * (1.0 - delta))


def usable_delta(delta: float, where: str) -> float:
    number = check.unit_interval("delta", delta, where)
    if number < 1e-300:
        check.fail("delta", where, "at least 1e-300 (smaller ones in logs)", delta)
    return number


def _ratio(sensitivity: float, sigma: float, where: str) -> float:
    number = check.positive("sensitivity", sensitivity, where)
    scale = check.positive("sigma", sigma, where)
    log_ratio = math.log(number) - math.log(scale)
    if abs(log_ratio) > 230.0:
        must = "between 1e-99 and 1e99 times 'sigma'"
        check.fail("sensitivity", where, must, sensitivity)
    return number / scale


def _curve(sensitivity: float, sigma: float, epsilon: ArrayLike, where: str) -> Floats:
    ratio = _ratio(sensitivity, sigma, where)
    return log_curve(real_array("epsilon", epsilon, where, low=0.0), ratio)


def log_curve(epsilon: FloatArray, ratio: float) -> Floats:
    """Log of the exact delta at every epsilon, for sensitivity/sigma = ratio."""
    half = ratio / 2.0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        center = epsilon / ratio
        a = half - center
        log_density = -0.5 * a * a - 0.5 * math.log(2.0 * math.pi)
        drop = mills_drop(center, half)
        # So small a drop lies far out: there it is ratio / center^2 to rounding.
        far = math.log(ratio) - 2.0 * np.log(center)
        tiny = np.finfo(float).tiny
        below = log_density + np.where(drop < tiny, far, np.log(drop))
        # Where delta is large its complement is the accurate one, also a sum of
        # two positive terms: Q(a) + exp(epsilon) Phi(-u/2 - epsilon/u).
        kept = special.ndtr(-a) + np.exp(log_density) * mills(center + half)
        above = np.log1p(-kept)
    result: Floats = np.where((a >= 0.0) & (half > 1.0), above, below)[()]
    return result
