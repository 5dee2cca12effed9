"""Privacy loss, max divergence and hockey-stick curve between discrete distributions.

Model. P and Q are the distributions of one release under two adjacent data, over a
finite set of outcomes, given as log p and log q along the last axis (leading axes are
a batch). ``-inf`` is an impossible outcome.

    loss(y)        = log p(y) - log q(y)                 privacy loss
    D_inf(P || Q)  = max over {y: p(y) > 0} of loss(y)   max divergence
    delta(epsilon) = sum over y of [p(y) - exp(epsilon) q(y)]_+
                                                         hockey-stick curve

The release is (epsilon, delta)-DP exactly if delta(epsilon) <= delta for every adjacent
pair *in both orders* (Dwork and Roth 2014, section 3.5; Balle, Barthe and Gaboardi 2018
for the curve). None of the three can grow when outcomes are merged or post-processed.
This file is the common word of all chapters: exact checks of mechanisms, leakage
between distributions of a swarm, and audits go through it.

The log of a distribution's total mass must be 0 within `NORMALISATION_TOLERANCE`: what
is cut off keeps its lost mass in one extra outcome, or is refused. Arguments are
keyword-only, since P and Q in the wrong order give another number that looks right.
Values are rounded to nearest.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from dplib import check
from dplib.privacy._numeric import FloatArray, Floats, log1mexp, real_array

__all__ = [
    "NORMALISATION_TOLERANCE",
    "hockey_stick",
    "log_hockey_stick",
    "max_divergence",
    "privacy_loss",
    "smooth",
]

NORMALISATION_TOLERANCE = 1e-9
"""Largest deviation from 0 of the log of a distribution's total mass."""


def privacy_loss(*, log_p: ArrayLike, log_q: ArrayLike) -> FloatArray:
    """Return log p - log q at every outcome, of shape (..., outcomes).

    It is inf where only q is 0, -inf where only p is 0, and 0 where both are (no event
    tells P and Q apart there).

    Examples
    --------
    >>> loss = privacy_loss(log_p=np.log([0.5, 0.5]), log_q=np.log([0.25, 0.75]))
    >>> print(loss[0].round(12))  # ln 2
    0.69314718056
    """
    p, q = _distribution("log_p", log_p), _distribution("log_q", log_q)
    if p.shape != q.shape:
        check.fail("log_q", "a divergence", f"of shape {p.shape}, as log_p", q.shape)
    both_zero = np.isneginf(p) & np.isneginf(q)
    return np.where(both_zero, 0.0, p) - np.where(both_zero, 0.0, q)


def max_divergence(*, log_p: ArrayLike, log_q: ArrayLike) -> Floats:
    """Return D_inf(P || Q), the largest privacy loss; one order only. Shape (...).

    It is inf if Q excludes an outcome that P allows.

    Examples
    --------
    >>> most = max_divergence(log_p=np.log([0.5, 0.5]), log_q=np.log([0.2, 0.8]))
    >>> print(most.round(12))  # ln 5/2
    0.916290731874
    """
    # Normalised distributions have a loss >= 0 somewhere; rounding may hide that.
    loss = privacy_loss(log_p=log_p, log_q=log_q)
    result: Floats = np.maximum(np.max(loss, axis=-1), 0.0)
    return result


def log_hockey_stick(
    *, log_p: ArrayLike, log_q: ArrayLike, epsilon: ArrayLike
) -> Floats:
    """Return log delta(epsilon); one order only.

    Every term is ``p (1 - exp(epsilon - loss))``, summed in logs, so that values of
    delta far below the smallest float keep their digits.

    Parameters
    ----------
    log_p, log_q : array_like, shape (..., outcomes)
        Log probabilities.
    epsilon : array_like
        Where to evaluate, 0 or greater, any shape.

    Returns
    -------
    numpy.ndarray or float
        Of the batch's shape followed by that of `epsilon`; -inf where delta is 0.

    Examples
    --------
    >>> print(log_hockey_stick(log_p=[-1000.0, 0.0], log_q=[-np.inf, 0.0],
    ...                        epsilon=1.0))
    -1000.0
    """
    loss = privacy_loss(log_p=log_p, log_q=log_q)
    p = np.asarray(log_p, dtype=float)
    levels = real_array("epsilon", epsilon, "a divergence", low=0.0)
    curve = np.empty(p.shape[:-1] + levels.shape)
    for at in np.ndindex(levels.shape):
        terms = p + log1mexp(-np.maximum(loss - levels[at], 0.0))
        curve[(..., *at)] = np.minimum(logsumexp(terms, axis=-1), 0.0)
    result: Floats = curve[()]
    return result


def hockey_stick(*, log_p: ArrayLike, log_q: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Return delta(epsilon), the exponential of `log_hockey_stick`.

    At epsilon = 0 it is the total variation distance.

    Examples
    --------
    >>> print(hockey_stick(log_p=np.log([0.75, 0.25]), log_q=np.log([0.5, 0.5]),
    ...                    epsilon=0.0).round(12))
    0.25
    """
    curve = log_hockey_stick(log_p=log_p, log_q=log_q, epsilon=epsilon)
    result: Floats = np.exp(curve)
    return result


def smooth(*, log_p: ArrayLike, nu: float) -> FloatArray:
    """Add `nu` to every probability, and normalise: no outcome stays impossible.

    P and Q must list the same outcomes. Then both are divided by the same number, and
    their privacy loss is log(p + nu) - log(q + nu). It depends on nu. An adversary who
    sees the release replaced, with probability nu n / (1 + nu n), by one of the n
    outcomes at random faces just these distributions; smoothing that nobody carries
    out protects nobody.

    Examples
    --------
    >>> print(np.exp(smooth(log_p=[0.0, -np.inf], nu=0.5)))
    [0.75 0.25]
    """
    p = _distribution("log_p", log_p)
    nu = check.nonnegative("nu", nu, "smooth")
    outcomes = p.shape[-1]
    with np.errstate(divide="ignore"):
        added = np.logaddexp(p, np.log(nu))
    result: FloatArray = added - math.log1p(nu * outcomes)
    return result


def _distribution(name: str, value: ArrayLike) -> FloatArray:
    """Return log probabilities along the last axis, checked to sum to one."""
    must = "log probabilities along the last axis"
    p = np.asarray(value, dtype=np.float64)
    if p.ndim == 0 or p.size == 0 or np.any(np.isnan(p)) or np.any(np.isposinf(p)):
        check.fail(name, "a divergence", must, value)
    mass = np.ravel(logsumexp(p, axis=-1))
    off = float(mass[np.argmax(np.abs(mass))])
    if not abs(off) <= NORMALISATION_TOLERANCE:
        must = f"normalised (log of total mass 0 within {NORMALISATION_TOLERANCE:g})"
        check.fail(name, "a divergence", must, off)
    return p
