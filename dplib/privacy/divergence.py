"""Privacy loss, max divergence and hockey-stick curve between discrete laws.

Model. P and Q are laws of the same release under two adjacent data, over a
finite set of outcomes, given as log p and log q along the last axis (leading
axes are a batch). ``-inf`` is an impossible outcome.

    loss(y)        = log p(y) - log q(y)                 privacy loss
    D_inf(P || Q)  = max over {y: p(y) > 0} of loss(y)   max divergence
    delta(epsilon) = sum over y of [p(y) - exp(epsilon) q(y)]_+
                                                         hockey-stick curve

The release is (epsilon, delta)-DP exactly if delta(epsilon) <= delta for every
adjacent pair *in both orders* (Dwork and Roth 2014, section 3.5; Balle, Barthe
and Gaboardi 2018 for the curve). None of the three can grow when outcomes are
merged or post-processed. This file is the common word of all chapters: exact
checks of mechanisms, leakage between laws of a swarm, and audits go through it.

Laws are checked: logsumexp of each must be 0 within `NORMALISATION_TOLERANCE`.
A law that is cut off keeps its lost mass in one extra outcome, or is refused.
Arguments are keyword-only, since P and Q in the wrong order give another
number that looks right. Values are exact up to rounding, to nearest: none is
rounded up, as a claim would be.
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
    "epsilon_at",
    "hockey_stick",
    "log_hockey_stick",
    "log_law",
    "max_divergence",
    "privacy_loss",
]

NORMALISATION_TOLERANCE = 1e-9
"""Largest deviation from 0 of a law's log total mass."""


def log_law(name: str, value: ArrayLike, where: str) -> FloatArray:
    """Return `value` as an array of log laws, or say in one sentence why it is none.

    Parameters
    ----------
    name, where : str
        The argument and the function it belongs to.
    value : array_like, shape (..., outcomes)
        Log probabilities; ``-inf`` is allowed, nan and inf are not.

    Returns
    -------
    numpy.ndarray, shape (..., outcomes)
        A new float array.

    Raises
    ------
    TypeError, ValueError
        If `value` is not numeric, has no outcome, or a law's log total mass is
        not 0 within `NORMALISATION_TOLERANCE`.

    Examples
    --------
    >>> log_law("log_p", [0, -np.inf], "f")
    array([  0., -inf])
    """
    must = "an array of log probabilities along its last axis"
    raw = check.entries(name, value, where, must)
    if raw.dtype.kind not in "iuf":
        check.fail(name, where, must, value, TypeError)
    if raw.ndim == 0 or raw.size == 0:
        check.fail(name, where, must, value)
    law = raw.astype(np.float64)
    if np.any(np.isnan(law)) or np.any(np.isposinf(law)):
        check.fail(name, where, must, value)
    mass = np.atleast_1d(logsumexp(law, axis=-1)).ravel()
    off = float(mass[np.argmax(np.abs(mass))])
    if not abs(off) <= NORMALISATION_TOLERANCE:
        raise ValueError(
            f"The '{name}' parameter of {where} must be normalised: the log of its "
            f"total mass must be 0 within {NORMALISATION_TOLERANCE:g}. "
            f"Got {off:.6g} instead."
        )
    return law


def privacy_loss(*, log_p: ArrayLike, log_q: ArrayLike) -> FloatArray:
    """Return log p - log q at every outcome.

    Parameters
    ----------
    log_p, log_q : array_like, shape (..., outcomes)
        Log probabilities, of one shape.

    Returns
    -------
    numpy.ndarray, shape (..., outcomes)
        inf where only q is 0, -inf where only p is 0, and 0 where both are (no
        event tells the laws apart there).

    Raises
    ------
    TypeError, ValueError
        If the shapes differ, an entry is nan or inf, or a law is not normalised.

    Examples
    --------
    >>> loss = privacy_loss(log_p=np.log([0.5, 0.5]), log_q=np.log([0.25, 0.75]))
    >>> print(loss[0].round(12))  # ln 2
    0.69314718056
    """
    p, q = _pair(log_p, log_q, "privacy_loss")
    return _loss(p, q)


def max_divergence(*, log_p: ArrayLike, log_q: ArrayLike) -> Floats:
    """Return D_inf(P || Q), the largest privacy loss; one order only.

    Parameters
    ----------
    log_p, log_q : array_like, shape (..., outcomes)
        Log probabilities, of one shape.

    Returns
    -------
    numpy.ndarray or float, shape (...)
        0 or greater; inf if Q excludes an outcome that P allows.

    Raises
    ------
    TypeError, ValueError
        As in `privacy_loss`.

    Examples
    --------
    >>> most = max_divergence(log_p=np.log([0.5, 0.5]), log_q=np.log([0.2, 0.8]))
    >>> print(most.round(12))  # ln 5/2
    0.916290731874
    """
    p, q = _pair(log_p, log_q, "max_divergence")
    # Normalised laws have a loss >= 0 somewhere; rounding may hide that.
    result: Floats = np.maximum(np.max(_loss(p, q), axis=-1), 0.0)
    return result


def log_hockey_stick(
    *, log_p: ArrayLike, log_q: ArrayLike, epsilon: ArrayLike
) -> Floats:
    """Return log delta(epsilon); one order only.

    Every term is ``p (1 - exp(epsilon - loss))``, summed in logs, so that
    values of delta far below the smallest float keep their digits.

    Parameters
    ----------
    log_p, log_q : array_like, shape (..., outcomes)
        Log probabilities, of one shape.
    epsilon : array_like
        Where to evaluate, 0 or greater, any shape.

    Returns
    -------
    numpy.ndarray or float
        Of the batch's shape followed by that of `epsilon`; -inf where delta
        is 0.

    Raises
    ------
    TypeError, ValueError
        As in `privacy_loss`, or if an epsilon is negative or not finite.

    Examples
    --------
    >>> print(log_hockey_stick(log_p=[-1000.0, 0.0], log_q=[-np.inf, 0.0],
    ...                        epsilon=1.0))
    -1000.0
    """
    p, q = _pair(log_p, log_q, "log_hockey_stick")
    levels = real_array("epsilon", epsilon, "log_hockey_stick", low=0.0)
    return curve_of_loss(p, _loss(p, q), levels)


def hockey_stick(*, log_p: ArrayLike, log_q: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Return delta(epsilon), the exponential of `log_hockey_stick`.

    At epsilon = 0 it is the total variation distance.

    Examples
    --------
    >>> print(hockey_stick(log_p=np.log([0.75, 0.25]), log_q=np.log([0.5, 0.5]),
    ...                    epsilon=0.0).round(12))
    0.25
    """
    p, q = _pair(log_p, log_q, "hockey_stick")
    levels = real_array("epsilon", epsilon, "hockey_stick", low=0.0)
    result: Floats = np.exp(curve_of_loss(p, _loss(p, q), levels))
    return result


def epsilon_at(*, log_p: ArrayLike, log_q: ArrayLike, delta: float) -> Floats:
    """Return the least epsilon >= 0 with delta(epsilon) <= `delta`; one order.

    Exact, without bisection: between two neighbouring losses delta is
    A - exp(epsilon) B with constants A and B, so that sorting the losses finds
    the piece and a logarithm inverts it.

    Parameters
    ----------
    log_p, log_q : array_like, shape (..., outcomes)
        Log probabilities, of one shape.
    delta : float
        Between 0 and 1; values as small as 1e-300 keep their meaning.

    Returns
    -------
    numpy.ndarray or float, shape (...)
        inf if outcomes that Q excludes have more than `delta` under P.

    Raises
    ------
    TypeError, ValueError
        As in `privacy_loss`, or if `delta` is not a probability.

    Examples
    --------
    >>> p, q = np.log([0.75, 0.25]), np.log([0.25, 0.75])
    >>> print(epsilon_at(log_p=p, log_q=q, delta=0.0).round(12))  # ln 3
    1.098612288668
    >>> print(epsilon_at(log_p=p, log_q=q, delta=0.25).round(12))  # ln 2
    0.69314718056
    """
    p, q = _pair(log_p, log_q, "epsilon_at")
    delta = check.probability("delta", delta, "epsilon_at")
    return _epsilon_at(p, q, _loss(p, q), delta)


def _pair(
    log_p: ArrayLike, log_q: ArrayLike, where: str
) -> tuple[FloatArray, FloatArray]:
    p, q = log_law("log_p", log_p, where), log_law("log_q", log_q, where)
    if p.shape != q.shape:
        raise ValueError(
            f"The 'log_q' parameter of {where} must be an array of shape {p.shape}, "
            f"that of log_p. Got an array of shape {q.shape} instead."
        )
    return p, q


def _loss(p: FloatArray, q: FloatArray) -> FloatArray:
    both_zero = np.isneginf(p) & np.isneginf(q)
    return np.where(both_zero, 0.0, p) - np.where(both_zero, 0.0, q)


def curve_of_loss(p: FloatArray, loss: FloatArray, levels: FloatArray) -> Floats:
    """Return log delta from log p and the loss, for who knows the loss exactly.

    As `log_hockey_stick`; arguments are not checked.
    """
    curves = []
    for level in levels.ravel():
        terms = p + log1mexp(-np.maximum(loss - level, 0.0))
        curves.append(np.minimum(logsumexp(terms, axis=-1), 0.0))
    batch = p.shape[:-1]
    curve = np.stack(curves, axis=-1) if curves else np.empty((*batch, 0))
    result: Floats = curve.reshape(batch + levels.shape)[()]
    return result


def _epsilon_at(p: FloatArray, q: FloatArray, loss: FloatArray, delta: float) -> Floats:
    log_delta = math.log(delta) if delta > 0.0 else -math.inf
    outcomes = p.shape[-1]
    rows = zip(
        p.reshape(-1, outcomes),
        q.reshape(-1, outcomes),
        loss.reshape(-1, outcomes),
        strict=True,
    )
    values = [invert_curve(*row, log_delta) for row in rows]
    result: Floats = np.array(values).reshape(p.shape[:-1])[()]
    return result


def invert_curve(
    p: FloatArray, q: FloatArray, loss: FloatArray, log_delta: float
) -> float:
    """Invert one hockey-stick curve; the pieces are found from the right.

    As `epsilon_at`, for one pair of laws and their loss; not checked.

    Let L_1 >= L_2 >= ... be the positive finite losses and Q_k the mass under
    Q of the first k. Then delta(L_1) is the mass that only P allows, and from
    one loss to the next delta grows by Q_k (exp(L_k) - exp(L_k+1)): a sum of
    positive terms, which loses no digits.
    """
    only_p = np.isposinf(loss)
    log_at = float(logsumexp(p[only_p])) if np.any(only_p) else -math.inf
    if log_at > log_delta:
        return math.inf
    finite = np.isfinite(loss) & (loss > 0.0)
    order = np.argsort(-loss[finite], kind="stable")
    if len(order) == 0:
        return 0.0
    knots = np.append(loss[finite][order], 0.0)
    log_mass = np.logaddexp.accumulate(q[finite][order])
    growth = log_mass + knots[:-1] + log1mexp(np.diff(knots))
    log_curve = np.logaddexp.accumulate(np.concatenate([[log_at], growth]))
    # The last knot at which the curve is still at most delta.
    k = int(np.searchsorted(log_curve, log_delta, side="right")) - 1
    if k == len(knots) - 1:
        return 0.0
    if log_delta == -math.inf:
        return float(knots[k])
    # Q_k exp(L_k) (1 - exp(epsilon - L_k)) is what delta leaves from this knot on.
    log_left = log_delta + float(log1mexp(min(log_curve[k] - log_delta, 0.0)))
    share = math.exp(min(log_left - log_mass[k] - knots[k], 0.0))
    if share >= 1.0:  # delta is the curve's value at the next knot, to rounding
        return float(knots[k + 1])
    return float(max(knots[k] + math.log1p(-share), knots[k + 1]))
