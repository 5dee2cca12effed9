r"""What sampling the data before a mechanism is worth.

Model. A mechanism that is :math:`(\varepsilon_0, \delta_0)`-private, when one record of
its input is replaced, sees a random subset of the records only, drawn without
replacement; a given record is in it with probability :math:`\gamma`, the *rate*. Then
the whole is :math:`(\varepsilon, \gamma \delta_0)`-private with

.. math:: \varepsilon = \ln(1 + \gamma (e^{\varepsilon_0} - 1)),

and no better bound holds for all mechanisms (Balle, Barthe and Gaboardi, *Privacy
amplification by subsampling*, NeurIPS 2018, Theorem 9). For Gaussian noise it is
reached: if all other records would give the message of the replacement, then the two
releases are :math:`(1 - \gamma) N(0, \sigma^2) + \gamma N(\Delta, \sigma^2)` and
:math:`N(0, \sigma^2)`, of which the curve is
:math:`\gamma\, \delta_\text{Gauss}(\varepsilon_0)`. Who draws the subset must keep it
secret.
"""

from __future__ import annotations

import math

import numpy as np

from dplib import check
from dplib.privacy.gaussian import gaussian_epsilon, gaussian_log_delta

__all__ = ["sampled_epsilon", "sampled_gaussian_epsilon", "sampled_gaussian_log_delta"]


def sampled_epsilon(*, epsilon: float, rate: float) -> float:
    """Return epsilon after sampling at `rate`, in (0, 1]; delta is multiplied by it.

    Examples
    --------
    >>> round(sampled_epsilon(epsilon=math.log(5), rate=0.25), 12)  # ln 2
    0.69314718056
    """
    level = check.nonnegative("epsilon", epsilon, "sampled_epsilon")
    gamma = _rate(rate)
    if level < 700.0:  # exp does not overflow
        return math.log1p(gamma * math.expm1(level))
    return float(np.logaddexp(0.0, level + math.log(gamma)))  # e^level - 1 = e^level


def sampled_gaussian_epsilon(
    *, sensitivity: float, sigma: float, delta: float, rate: float
) -> float:
    """Return the least epsilon of Gaussian noise after sampling.

    Parameters
    ----------
    sensitivity, sigma : float
        As in `dplib.privacy.gaussian`.
    delta : float
        Between 0 and 1: inf at 0; at `rate` or above, epsilon is 0.
    rate : float
        Probability that a record is seen, in (0, 1].

    Examples
    --------
    >>> one = {"sensitivity": 1.0, "sigma": 1.0, "delta": 0.01}
    >>> round(sampled_gaussian_epsilon(**one, rate=0.1), 4)
    0.1981
    >>> sampled_gaussian_epsilon(**one, rate=1.0) == gaussian_epsilon(**one)
    True
    """
    share = check.probability("delta", delta, "sampled_gaussian_epsilon") / _rate(rate)
    full = gaussian_epsilon(sensitivity=sensitivity, sigma=sigma, delta=min(share, 1.0))
    if rate == 1.0 or full == math.inf:
        return full
    return sampled_epsilon(epsilon=full, rate=rate)


def sampled_gaussian_log_delta(
    *, sensitivity: float, sigma: float, epsilon: float, rate: float
) -> float:
    """Return the log of the exact delta(epsilon) of Gaussian noise after sampling.

    Arguments as in `sampled_gaussian_epsilon`.

    Examples
    --------
    >>> one = {"sensitivity": 2.0, "sigma": 1.0, "epsilon": 0.0}
    >>> round(math.exp(sampled_gaussian_log_delta(**one, rate=0.5)), 9)
    0.341344746
    """
    level = check.nonnegative("epsilon", epsilon, "sampled_gaussian_log_delta")
    gamma = _rate(rate)
    odds = (1.0 - gamma) / gamma  # of not being seen
    full = level + math.log1p(-math.expm1(-level) * odds)  # before sampling
    curve = gaussian_log_delta(sensitivity=sensitivity, sigma=sigma, epsilon=full)
    return math.log(gamma) + float(curve)


def _rate(rate: float) -> float:
    number = check.probability("rate", rate, "sampling")
    if number == 0.0:
        check.fail("rate", "sampling", "above 0", rate)
    return number
