r"""The Gaussian mechanism and three ways to calibrate it.

Model. A query value f(x), an array, is released as y = f(x) + z with independent
:math:`z \sim N(0, \sigma^2)`. Adjacent data move f by at most :math:`\Delta` in the
2-norm, the *sensitivity*. It belongs to an adjacency: state it beside the number.

The release is :math:`(\varepsilon, \delta)`-private if and only if :math:`\delta` is at
least the exact curve of `dplib.privacy.gaussian_profile` at
:math:`u = \Delta / \sigma`, a difference of two terms. *Analytic* calibration inverts
the curve. That of Benvenuti et al. (Section 2.2, Lemma 1),
:math:`\sigma = \Delta \kappa / (2 \varepsilon)`, drops the second term: it solves
:math:`\Phi(u/2 - \varepsilon/u) = \delta`. The left side is the probability that the
privacy loss exceeds :math:`\varepsilon`; so the rule is exact if delta is read as that
probability, and more than enough for the definition. The *classic* rule is looser
still, and proved for :math:`\varepsilon < 1` only.

Idealised: real arithmetic. Noise drawn in floating point leaves traces in its low
bits, see `dplib.privacy.laplace`.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from dplib import check
from dplib.privacy._numeric import FloatArray, noise_fits, real_array

# The curve, under the name of its mechanism.
from dplib.privacy.gaussian_profile import gaussian_delta as gaussian_delta
from dplib.privacy.gaussian_profile import gaussian_epsilon as gaussian_epsilon
from dplib.privacy.gaussian_profile import gaussian_log_delta as gaussian_log_delta
from dplib.privacy.gaussian_profile import log_curve, private_target, usable_delta

__all__ = [
    "analytic_sigma",
    "classic_sigma",
    "gaussian_mechanism",
    "group_sensitivity",
    "kappa",
    "kappa_sigma",
]


def kappa(*, epsilon: float, delta: float) -> float:
    r"""Return :math:`\kappa = Q^{-1}(\delta) + \sqrt{Q^{-1}(\delta)^2 + 2\varepsilon}`.

    Parameters
    ----------
    epsilon : float
        Privacy parameter, positive, in nats.
    delta : float
        Strictly between 0 and 1/2. (Lemma 1 of Benvenuti et al. admits 0, where
        the quantile, and with it the noise, is infinite.)

    Returns
    -------
    float
        Positive, to rounding.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> round(kappa(epsilon=1.0, delta=0.01) / 2, 3)
    2.524
    """
    check.positive("epsilon", epsilon, "kappa")
    return _kappa(float(epsilon), _below_half(delta, "kappa"))


def kappa_sigma(*, sensitivity: float, epsilon: float, delta: float) -> float:
    r"""Return the paper's deviation :math:`\Delta \kappa / (2\varepsilon)`.

    Sufficient for (epsilon, delta)-privacy, with room to spare: the true delta is
    smaller by :math:`e^{\varepsilon} \Phi(-u/2 - \varepsilon/u)`.

    Parameters
    ----------
    sensitivity : float
        Largest change of the query between adjacent data in the 2-norm, positive.
    epsilon : float
        Positive, at most 1e12: from about 1e17 on the room is below rounding.
    delta : float
        As in `kappa`.

    Returns
    -------
    float
        Deviation of the noise of every entry, in the unit of the query.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    References
    ----------
    Benvenuti et al., Lemma 1.

    Examples
    --------
    >>> round(kappa_sigma(sensitivity=1.0, epsilon=1.0, delta=0.01), 3)
    2.524
    """
    check.positive("sensitivity", sensitivity, "kappa_sigma")
    check.positive("epsilon", epsilon, "kappa_sigma")
    epsilon = _epsilon(epsilon, "kappa_sigma", most=1e12)
    delta = _below_half(delta, "kappa_sigma")
    rule = _finite_rule(0.5 * _kappa(epsilon, delta) / epsilon, epsilon, "kappa_sigma")
    return _deviation(float(sensitivity) * rule, sensitivity, "kappa_sigma")


def analytic_sigma(*, sensitivity: float, epsilon: float, delta: float) -> float:
    """Return the least deviation that is (epsilon, delta)-private.

    The exact curve is inverted by bisection. The returned deviation errs, by less
    than a relative 1e-10, on the private side.

    Parameters
    ----------
    sensitivity : float
        As in `kappa_sigma`.
    epsilon : float
        Zero or greater, at most 1000.
    delta : float
        Strictly between 0 and 1, at least 1e-300.

    Returns
    -------
    float
        Deviation of the noise of every entry.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    References
    ----------
    Balle and Wang, *Improving the Gaussian mechanism*, ICML 2018.

    Examples
    --------
    At epsilon = 0 the curve is 2 Phi(u/2) - 1, so that one standard deviation each
    side, delta = 0.6826..., needs u = 2:

    >>> round(analytic_sigma(sensitivity=4.0, epsilon=0.0, delta=0.682689492137), 9)
    2.0
    """
    where = "analytic_sigma"
    check.positive("sensitivity", sensitivity, where)
    epsilon = _epsilon(epsilon, where)
    target = private_target(usable_delta(delta, where), ratio=1.0)

    def excess(log_ratio: float) -> float:
        return log_curve(np.asarray(epsilon), math.exp(log_ratio)).item() - target

    low, high = 0.0, 0.0
    while excess(low) > 0.0:
        low -= 2.0
    while excess(high) < 0.0:
        high += 2.0
    root = optimize.brentq(excess, low, high, xtol=1e-14, rtol=1e-14)
    while excess(root) > 0.0:
        root -= 1e-13
    return _deviation(float(sensitivity) / math.exp(root), sensitivity, where)


def classic_sigma(*, sensitivity: float, epsilon: float, delta: float) -> float:
    """Return the textbook deviation, sensitivity sqrt(2 log(1.25/delta)) / epsilon.

    Its proof needs epsilon below 1, and so does the rule itself: at epsilon = 10 and
    delta = 1e-5 it gives 0.4845 where 0.4999 is needed.

    Parameters
    ----------
    sensitivity : float
        As in `kappa_sigma`.
    epsilon, delta : float
        Strictly between 0 and 1.

    Returns
    -------
    float
        Deviation of the noise of every entry.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above; the sentence names `analytic_sigma`.

    References
    ----------
    Dwork and Roth, *The algorithmic foundations of differential privacy*, 2014,
    Theorem A.1.

    Examples
    --------
    >>> classic_sigma(sensitivity=1.0, epsilon=10.0, delta=1e-5)
    Traceback (most recent call last):
    ...
    ValueError: The 'epsilon' parameter of classic_sigma must be below 1, where the \
rule is proved private (analytic_sigma has no such limit). Got 10.0 instead.
    """
    where = "classic_sigma"
    check.positive("sensitivity", sensitivity, where)
    check.positive("epsilon", epsilon, where)
    if epsilon >= 1.0:
        must = (
            "below 1, where the rule is proved private (analytic_sigma has no such "
            "limit)"
        )
        check.fail("epsilon", where, must, epsilon)
    check.unit_interval("delta", delta, where)
    rule = math.sqrt(2.0 * (math.log(1.25) - math.log(delta))) / float(epsilon)
    rule = _finite_rule(rule, epsilon, where)
    return _deviation(float(sensitivity) * rule, sensitivity, where)


def group_sensitivity(*, sensitivity: float, entries: int) -> float:
    """Return the 2-norm sensitivity of a vector in which `entries` entries change.

    Each of them by at most `sensitivity`, which is the release's sensitivity to one
    entry, in directions at right angles (as for the identity query): the squares
    add. It is handed to the curve in the place of the single entry's.

    Parameters
    ----------
    sensitivity : float
        Sensitivity to one entry, positive.
    entries : int
        Number of entries that change, from 1 to 2^53.

    Returns
    -------
    float
        ``sensitivity * sqrt(entries)``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or the result is no float.

    Examples
    --------
    >>> group_sensitivity(sensitivity=2.0, entries=9)
    6.0
    """
    check.positive("sensitivity", sensitivity, "group_sensitivity")
    entries = check.integer("entries", entries, "group_sensitivity", low=1, high=2**53)
    whole = float(sensitivity) * math.sqrt(entries)
    return _deviation(whole, sensitivity, "group_sensitivity")


def gaussian_mechanism(
    *, value: ArrayLike, sigma: float, rng: np.random.Generator
) -> FloatArray:
    """Return `value` plus independent N(0, sigma^2) noise in every entry.

    For simulation: see *Idealised* above.

    Parameters
    ----------
    value : array_like
        What is released, any shape.
    sigma : float
        Deviation of the noise of every entry, positive.
    rng : numpy.random.Generator
        Where the noise comes from.

    Returns
    -------
    numpy.ndarray
        In the shape of `value`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or floats cannot add the noise to `value`.

    Examples
    --------
    >>> noisy = gaussian_mechanism(value=[1.0, 2.0], sigma=0.5,
    ...                            rng=np.random.default_rng(0))
    >>> noisy.shape
    (2,)
    """
    where = "gaussian_mechanism"
    value = real_array("value", value, where)
    check.positive("sigma", sigma, where)
    check.instance("rng", rng, where, np.random.Generator)
    noise_fits("sigma", np.asarray(float(sigma)), value, where)
    return np.asarray(value + float(sigma) * rng.standard_normal(value.shape))


def _kappa(epsilon: float, delta: float) -> float:
    quantile = -float(special.ndtri(delta))
    # sqrt(2 epsilon), without the product that may overflow.
    return quantile + math.hypot(quantile, 2.0 * math.sqrt(0.5 * epsilon))


def _deviation(value: float, sensitivity: float, where: str) -> float:
    """Return a deviation, refused where floats no longer hold its digits."""
    if not sys.float_info.min <= value < math.inf:
        must = "neither too large nor too small for a float (choose other units)"
        check.fail("sensitivity", where, must, sensitivity)
    return value


def _finite_rule(rule: float, epsilon: float, where: str) -> float:
    """Return the deviation for sensitivity 1, refused where it overflows."""
    if rule == math.inf:
        must = "large enough for a deviation that is a float"
        check.fail("epsilon", where, must, epsilon)
    return rule


def _below_half(delta: float, where: str) -> float:
    number = check.finite("delta", delta, where)
    if not 0.0 < number < 0.5:
        check.fail("delta", where, "a float strictly between 0 and 1/2", delta)
    return number


def _epsilon(epsilon: float, where: str, most: float = 1000.0) -> float:
    number = check.nonnegative("epsilon", epsilon, where)
    if number > most:
        check.fail("epsilon", where, f"at most {most:g}", epsilon)
    return number
