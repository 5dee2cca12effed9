r"""The Gaussian mechanism: three calibrations, and its exact privacy curve.

Model. A query value f(x), an array, is released as y = f(x) + z with independent
:math:`z \sim N(0, \sigma^2)`. Adjacent data move f by at most :math:`\Delta` in the
2-norm, the *sensitivity*. It belongs to an adjacency: state it beside the number. With
:math:`u = \Delta / \sigma` the least :math:`\delta` at which the release is
:math:`(\varepsilon, \delta)`-private is (Balle and Wang, ICML 2018, Theorem 8)

.. math:: \delta(\varepsilon) = \Phi\left(\tfrac u2 - \tfrac{\varepsilon}{u}\right)
    - e^{\varepsilon}\, \Phi\left(-\tfrac u2 - \tfrac{\varepsilon}{u}\right).

*Analytic* calibration inverts the curve. That of Benvenuti et al. (Section 2.2,
Lemma 1), :math:`\sigma = \Delta \kappa / (2 \varepsilon)`, drops the second term: it
solves :math:`\Phi(u/2 - \varepsilon/u) = \delta`. The left side is the probability that
the privacy loss exceeds :math:`\varepsilon`; so the rule is exact if delta is read as
that probability, and more than enough for the definition. The *classic* rule is looser
still, and proved for :math:`\varepsilon < 1` only.

Numerics. Both terms hold the same density :math:`\varphi`: with the Mills ratio
:math:`M(t) = (1 - \Phi(t)) / \varphi(t)` the curve is
:math:`\varphi(u/2 - \varepsilon/u) [M(\varepsilon/u - u/2) - M(\varepsilon/u + u/2)]`,
evaluated in log space. The drop of M loses all digits where the two points are close;
it is computed as the integral of :math:`-M'(t) = 1 - t M(t) > 0`. The error of log
delta is below 1e-12 for delta from 1e-300 and epsilon up to 1000.

Idealised: real arithmetic.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from dplib import check
from dplib.privacy._numeric import FloatArray, Floats, real_array

__all__ = [
    "analytic_sigma",
    "classic_sigma",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_log_delta",
    "group_sensitivity",
    "kappa",
    "kappa_sigma",
]

_UNIT = 2.0**-53  # largest relative error of one rounding to nearest
_SAFETY = 1e-11  # relative allowance for the error of delta, on the private side
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_FRACTION_TERMS = 80  # of the continued fraction at t >= 3: converged to rounding


# --- calibrations ----------------------------------------------------------------


def kappa(*, epsilon: float, delta: float) -> float:
    r"""Return :math:`\kappa = Q^{-1}(\delta) + \sqrt{Q^{-1}(\delta)^2 + 2\varepsilon}`.

    Epsilon is positive, and delta strictly between 0 and 1/2. (Lemma 1 of Benvenuti et
    al. admits 0, where the quantile, and with it the noise, is infinite.)

    Examples
    --------
    >>> round(kappa(epsilon=1.0, delta=0.01) / 2, 3)
    2.524
    """
    level = check.positive("epsilon", epsilon, "kappa")
    if level > 1e12:  # the room that the rule leaves is then below rounding
        check.fail("epsilon", "kappa", "at most 1e+12", epsilon)
    if not 0.0 < check.finite("delta", delta, "kappa") < 0.5:
        check.fail("delta", "kappa", "a float strictly between 0 and 1/2", delta)
    quantile = -float(special.ndtri(delta))
    return quantile + math.hypot(quantile, 2.0 * math.sqrt(0.5 * level))


def kappa_sigma(*, sensitivity: float, epsilon: float, delta: float) -> float:
    r"""Return the deviation of Lemma 1, :math:`\Delta \kappa / (2\varepsilon)`.

    Sufficient for (epsilon, delta)-privacy, with room to spare: the true delta is
    smaller by :math:`e^{\varepsilon} \Phi(-u/2 - \varepsilon/u)`.

    Parameters
    ----------
    sensitivity : float
        Largest change of the query between adjacent data in the 2-norm, positive.
    epsilon, delta : float
        As in `kappa`.

    Returns
    -------
    float
        Deviation of the noise of every entry, in the unit of the query.

    Examples
    --------
    >>> round(kappa_sigma(sensitivity=1.0, epsilon=1.0, delta=0.01), 3)
    2.524
    """
    distance = check.positive("sensitivity", sensitivity, "kappa_sigma")
    return distance * (0.5 * kappa(epsilon=epsilon, delta=delta) / epsilon)


def analytic_sigma(*, sensitivity: float, epsilon: float, delta: float) -> float:
    """Return the least deviation that is (epsilon, delta)-private.

    The exact curve is inverted. The returned deviation errs, by less than a relative
    1e-10, on the private side. Balle and Wang, *Improving the Gaussian mechanism*,
    ICML 2018.

    Parameters
    ----------
    sensitivity : float
        As in `kappa_sigma`.
    epsilon : float
        Zero or greater, at most 1000.
    delta : float
        Strictly between 0 and 1, at least 1e-300.

    Examples
    --------
    At epsilon = 0 the curve is 2 Phi(u/2) - 1, so that one standard deviation each
    side, delta = 0.6826..., needs u = 2:

    >>> round(analytic_sigma(sensitivity=4.0, epsilon=0.0, delta=0.682689492137), 9)
    2.0
    """
    distance = check.positive("sensitivity", sensitivity, "analytic_sigma")
    level = check.nonnegative("epsilon", epsilon, "analytic_sigma")
    if level > 1000.0:
        check.fail("epsilon", "analytic_sigma", "at most 1000", epsilon)
    target = _private_target(_delta(delta, "analytic_sigma"), ratio=1.0)

    def excess(log_ratio: float) -> float:
        return _log_curve(np.asarray(level), math.exp(log_ratio)).item() - target

    low, high = 0.0, 0.0
    while excess(low) > 0.0:
        low -= 2.0
    while excess(high) < 0.0:
        high += 2.0
    root = optimize.brentq(excess, low, high, xtol=1e-14, rtol=1e-14)
    while excess(root) > 0.0:
        root -= 1e-13
    return distance / math.exp(root)


def classic_sigma(*, sensitivity: float, epsilon: float, delta: float) -> float:
    """Return the textbook deviation, sensitivity sqrt(2 log(1.25/delta)) / epsilon.

    Its proof needs epsilon below 1, and so does the rule itself: at epsilon = 10 and
    delta = 1e-5 it gives 0.4845 where 0.4999 is needed. Dwork and Roth, *The
    algorithmic foundations of differential privacy*, 2014, Theorem A.1.

    Examples
    --------
    >>> classic_sigma(sensitivity=1.0, epsilon=10.0, delta=1e-5)
    Traceback (most recent call last):
    ...
    ValueError: The 'epsilon' parameter of classic_sigma must be below 1, where the \
rule is proved private (analytic_sigma has no such limit). Got 10.0 instead.
    """
    distance = check.positive("sensitivity", sensitivity, "classic_sigma")
    level = check.positive("epsilon", epsilon, "classic_sigma")
    if level >= 1.0:
        must = "below 1, where the rule is proved private "
        must += "(analytic_sigma has no such limit)"
        check.fail("epsilon", "classic_sigma", must, epsilon)
    log_delta = math.log(_delta(delta, "classic_sigma"))
    return distance * (math.sqrt(2.0 * (math.log(1.25) - log_delta)) / level)


def group_sensitivity(*, sensitivity: float, entries: int) -> float:
    """Return ``sensitivity * sqrt(entries)``, for `entries` entries that change.

    Each of them by at most `sensitivity`, in directions at right angles (as for the
    identity query, or for independent releases): the squares add. It is handed to the
    curve in the place of the single entry's, and so is also the rule by which Gaussian
    releases compose.

    Examples
    --------
    >>> group_sensitivity(sensitivity=2.0, entries=9)
    6.0
    """
    distance = check.positive("sensitivity", sensitivity, "group_sensitivity")
    count = check.integer("entries", entries, "group_sensitivity", low=1)
    return distance * math.sqrt(count)


# --- the exact curve -------------------------------------------------------------


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
        `gaussian_log_delta`). The same in both directions of a pair.

    Examples
    --------
    >>> print(gaussian_delta(sensitivity=2.0, sigma=1.0, epsilon=0.0).round(12))
    0.682689492137
    """
    log_delta = gaussian_log_delta(
        sensitivity=sensitivity, sigma=sigma, epsilon=epsilon
    )
    result: Floats = np.exp(log_delta)
    return result


def gaussian_log_delta(
    *, sensitivity: float, sigma: float, epsilon: ArrayLike
) -> Floats:
    """Return log delta(epsilon), finite also where delta underflows.

    Arguments as in `gaussian_delta`.

    Examples
    --------
    >>> print(gaussian_log_delta(sensitivity=1.0, sigma=1.0, epsilon=100.0) < -4900)
    True
    """
    ratio = _ratio(sensitivity, sigma)
    levels = real_array("epsilon", epsilon, "the Gaussian curve", low=0.0)
    return _log_curve(levels, ratio)


def gaussian_epsilon(*, sensitivity: float, sigma: float, delta: float) -> float:
    """Return the least epsilon >= 0 with delta(epsilon) <= `delta`.

    It errs, by a relative 1e-10 of 1 + epsilon at most, on the private side.

    Parameters
    ----------
    sensitivity, sigma : float
        As in `gaussian_delta`.
    delta : float
        Between 0 and 1: inf at 0 (no Gaussian release is purely private); at other
        values at least 1e-300.

    Examples
    --------
    >>> gaussian_epsilon(sensitivity=1.0, sigma=100.0, delta=0.1)
    0.0
    >>> round(gaussian_epsilon(sensitivity=1.0, sigma=2.5244, delta=0.01), 3)
    0.673
    """
    ratio = _ratio(sensitivity, sigma)
    if delta == 0.0:
        return math.inf
    if delta == 1.0:
        return 0.0
    target = _private_target(_delta(delta, "gaussian_epsilon"), ratio)

    def excess(epsilon: float) -> float:
        return _log_curve(np.asarray(epsilon), ratio).item() - target

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


def _delta(delta: float, where: str) -> float:
    """Return delta, if it is in the range in which the curve's error is known."""
    number = check.probability("delta", delta, where)
    if not 1e-300 <= number < 1.0:
        must = "at least 1e-300 and below 1 (smaller ones in logs)"
        check.fail("delta", where, must, delta)
    return number


def _ratio(sensitivity: float, sigma: float) -> float:
    """Return u, the sensitivity in deviations of the noise."""
    distance = check.positive("sensitivity", sensitivity, "the Gaussian curve")
    ratio = distance / check.positive("sigma", sigma, "the Gaussian curve")
    if not 1e-40 <= ratio <= 1e8:  # what the curve's error is known for
        must = "between 1e-40 and 1e8 times 'sigma'"
        check.fail("sensitivity", "the Gaussian curve", must, sensitivity)
    return ratio


def _private_target(delta: float, ratio: float) -> float:
    r"""Return log delta less an allowance for the error of the computed curve.

    Let :math:`a = u/2 - \varepsilon/u`, U the unit of rounding, and
    :math:`t = |\Phi^{-1}(\delta)| + 1`. To first order:

    - :math:`|a| \le t`, for :math:`\delta \le \Phi(a)`, and
      :math:`1 - \delta \le 2 \Phi(-a)` if :math:`a \ge 0`.
    - u, its quotient and the difference are rounded:
      :math:`|da| \le U (u/2 + 2\varepsilon/u + |a|) \le U (3u/2 + 3t) \le 4Uu` if
      :math:`u \ge 6t/5`; below, `_SAFETY` is larger than all of it.
    - :math:`|d\delta| \le 2 (t + 1)\, |da|\, \delta (1 - \delta)`, by the hazard rate
      of the normal distribution, :math:`\varphi(a)/\Phi(-a) \le |a| + 1` (half of this
      is enough on a grid of u from 1e-3 to 1e8).
    - Together :math:`|d\delta| \le A\, \delta (1 - \delta)` with A the larger of
      :math:`8 U u (t + 1)` and `_SAFETY`, so that the target is
      :math:`\delta [1 - A (1 - \delta)]`.
    """
    tail = abs(float(special.ndtri(delta))) + 1.0
    allowance = max(_SAFETY, 8.0 * _UNIT * ratio * (tail + 1.0))
    return math.log(delta) + math.log1p(-allowance * (1.0 - delta))


def _log_curve(epsilon: FloatArray, ratio: float) -> Floats:
    """Log of the exact delta at every epsilon, for sensitivity/sigma = ratio."""
    half = ratio / 2.0
    center = epsilon / ratio
    a = half - center
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_density = -0.5 * a * a - 0.5 * math.log(2.0 * math.pi)
        below = log_density + np.log(_mills_drop(center, half))
        # Where delta is large its complement is the accurate one, also a sum of
        # two positive terms: Q(a) + exp(epsilon) Phi(-u/2 - epsilon/u).
        complement = special.ndtr(-a) + np.exp(log_density) * _mills(center + half)
        above = np.log1p(-complement)
    # With a >= 0 and half > 1 delta is above 0.33, its value at a = 0, half = 1: then
    # log1p loses nothing. With half <= 1 it may be tiny although a >= 0, and there the
    # drop of M is an integral that holds for all a; with half > 1 only for a < 0.
    result: Floats = np.where((a >= 0.0) & (half > 1.0), above, below)[()]
    return result


def _mills(t: FloatArray) -> FloatArray:
    """Return M(t); inf where it overflows (t below about -37)."""
    result: FloatArray = math.sqrt(math.pi / 2) * special.erfcx(t / math.sqrt(2))
    return result


def _mills_slope(t: FloatArray) -> FloatArray:
    """Return 1 - t M(t), to a few units in the last place, for t >= -1."""
    # Laplace's continued fraction M = 1/(t + K), K = 1/(t + 2/(t + 3/(t + ...)));
    # then the slope is K/(t + K), a quotient of sums of positive terms.
    far = np.maximum(t, 3.0)
    tail = far
    for k in range(_FRACTION_TERMS, 1, -1):
        tail = far + k / tail
    rest = 1.0 / tail
    result: FloatArray = np.where(t < 3.0, 1.0 - t * _mills(t), rest / (far + rest))
    return result


def _mills_drop(center: FloatArray, half: float) -> FloatArray:
    """Return M(center - half) - M(center + half); a center below half needs half <= 1.

    The slope is smooth on the scale max(1, t): 24 nodes are exact to rounding there.
    """
    points = center[..., None] + half * _NODES
    smooth = (half <= 1.0) | (half <= center / 4.0)
    integral = half * _mills_slope(np.where(smooth[..., None], points, 0.0))
    direct = _mills(center - half) - _mills(center + half)
    result: FloatArray = np.where(smooth, integral @ _WEIGHTS, direct)
    return result
