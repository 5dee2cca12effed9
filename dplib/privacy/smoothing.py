"""Smoothing of a discrete law: every outcome gets at least a little probability.

Model. A law p over n outcomes, given as log p along the last axis. Its privacy
loss against another law is infinite wherever that law is 0. Smoothing both
keeps the loss finite, at a price: the number then depends on how much was
added. An adversary who sees the release passed through a channel that replaces
it, with probability `weight`, by a uniform outcome faces exactly the smoothed
laws; smoothing that no channel carries out protects nobody.

Notation: weight w of the uniform law; nu = w / (n (1 - w)), the amount added
to every probability before normalising.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.privacy._numeric import FloatArray
from dplib.privacy.divergence import log_law

__all__ = ["smooth_additive", "smooth_uniform"]


def smooth_uniform(log_p: ArrayLike, *, weight: float) -> FloatArray:
    """Mix a law with the uniform law: (1 - weight) p + weight / outcomes.

    Parameters
    ----------
    log_p : array_like, shape (..., outcomes)
        Log probabilities.
    weight : float
        Between 0 (nothing changes) and 1 (uniform).

    Returns
    -------
    numpy.ndarray, shape (..., outcomes)
        Log probabilities of the mixture.

    Examples
    --------
    >>> print(np.exp(smooth_uniform([0.0, -np.inf], weight=0.5)))
    [0.75 0.25]
    """
    p = log_law("log_p", log_p, "smooth_uniform")
    weight = check.probability("weight", weight, "smooth_uniform")
    return _mix(p, weight)


def smooth_additive(log_p: ArrayLike, *, nu: float) -> FloatArray:
    """Add `nu` to every probability, and normalise.

    Some define leakage as the largest |log(p + nu) - log(q + nu)| without
    normalising. Both laws are then divided by the same 1 + nu * outcomes, so
    that their privacy loss, and that leakage, are the same as here. It is the
    mixture of `smooth_uniform` with weight nu n / (1 + nu n), n outcomes.

    Parameters
    ----------
    log_p : array_like, shape (..., outcomes)
        Log probabilities. Two laws that are to be compared must list the same
        outcomes (the union of what either allows).
    nu : float
        0 or greater.

    Returns
    -------
    numpy.ndarray, shape (..., outcomes)

    Examples
    --------
    >>> print(np.exp(smooth_additive([0.0, -np.inf], nu=0.5)))
    [0.75 0.25]
    """
    p = log_law("log_p", log_p, "smooth_additive")
    nu = check.nonnegative("nu", nu, "smooth_additive")
    outcomes = p.shape[-1]
    # Written so that neither a tiny nor a huge nu loses the mixture's weight.
    return _mix(p, nu / (nu + 1.0 / outcomes))


def _mix(p: FloatArray, weight: float) -> FloatArray:
    with np.errstate(divide="ignore"):
        kept, added = np.log1p(-weight), np.log(weight)
    result: FloatArray = np.logaddexp(kept + p, added - math.log(p.shape[-1]))
    return result
