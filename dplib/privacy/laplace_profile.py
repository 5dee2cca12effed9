"""The exact privacy profile of the Laplace mechanism, and the law of its loss.

Model. A scalar v is released as y = v + w with w ~ Lap(b); the adjacent datum
has v + Delta. Notation: b `scale`, Delta >= 0 `shift`, r = Delta / b.

The privacy loss at y = v + w is (|w - Delta| - |w|) / b: it is r where w <= 0,
falls to -r where w >= Delta, and is linear between. Integrating it gives

    delta(epsilon) = 1 - exp((epsilon - r) / 2)  for 0 <= epsilon < r ,  else 0 .

Supports the lower bounds on the privacy of Hale & Egerstedt's mechanism (arXiv
1509.08161, Theorem 2). Idealised: real arithmetic, see `dplib.privacy.laplace`.
All values are rounded to nearest, a few units in the last place, except that of
`laplace_epsilon_at`, which is a claim and never below the exact one.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.privacy._numeric import (
    FloatArray,
    Floats,
    exact,
    log1mexp,
    real_array,
    round_up,
)

__all__ = [
    "laplace_delta",
    "laplace_epsilon_at",
    "laplace_log_delta",
    "laplace_loss_atoms",
    "laplace_loss_cdf",
    "laplace_loss_density",
]


def laplace_delta(*, epsilon: ArrayLike, shift: float, scale: float) -> Floats:
    """Return delta(epsilon) of a scalar that moves by `shift`, in closed form.

    Parameters
    ----------
    epsilon : array_like
        Where to evaluate, 0 or greater, any shape.
    shift : float
        Distance of the two query values, 0 or greater.
    scale : float
        Scale b of the noise, positive.

    Returns
    -------
    numpy.ndarray or float
        ``-expm1((epsilon - shift/scale) / 2)`` below shift/scale, 0 from there
        on. The same in both directions, by symmetry of the noise. Rounded to
        nearest: it may lie below the exact value, by a relative 1e-15 and the
        rounding of shift/scale.

    Notes
    -----
    For a query with several entries this is the profile of pairs that differ
    in one entry; the epsilon at delta = 0 is shift/scale for any l1 shift.

    Examples
    --------
    >>> print(laplace_delta(epsilon=1.0, shift=1.0, scale=1.0))
    0.0
    >>> print(laplace_delta(epsilon=1.0, shift=3.0, scale=1.0) == 1 - np.exp(-1))
    True
    """
    epsilon = real_array("epsilon", epsilon, "laplace_delta", low=0.0)
    ratio = _ratio(shift, scale, "laplace_delta")
    result: Floats = -np.expm1(np.minimum(epsilon - ratio, 0.0) / 2.0)
    return result + 0.0  # turns -0.0 into 0.0


def laplace_log_delta(*, epsilon: ArrayLike, shift: float, scale: float) -> Floats:
    """Return log delta(epsilon) of `laplace_delta`; -inf where delta is 0.

    Examples
    --------
    >>> print(laplace_log_delta(epsilon=1.0, shift=1.0, scale=1.0))
    -inf
    """
    epsilon = real_array("epsilon", epsilon, "laplace_log_delta", low=0.0)
    ratio = _ratio(shift, scale, "laplace_log_delta")
    return log1mexp(np.minimum(epsilon - ratio, 0.0) / 2.0)


def laplace_epsilon_at(*, delta: float, shift: float, scale: float) -> float:
    """Return the least epsilon with delta(epsilon) <= `delta`, in closed form.

    It is ``shift/scale + 2 log(1 - delta)``, at least 0, rounded up.

    Parameters
    ----------
    delta : float
        Between 0 and 1.
    shift, scale : float
        As in `laplace_delta`.

    Examples
    --------
    >>> laplace_epsilon_at(delta=0.0, shift=3.0, scale=1.0)
    3.0
    >>> laplace_epsilon_at(delta=1.0, shift=3.0, scale=1.0)
    0.0
    """
    check.probability("delta", delta, "laplace_epsilon_at")
    allowed = -round_up(-exact(delta))
    check.nonnegative("shift", shift, "laplace_epsilon_at")
    check.positive("scale", scale, "laplace_epsilon_at")
    if allowed == 1.0:
        return 0.0
    # The logarithm may be off by a unit in its last place: two, towards zero.
    saved = math.nextafter(math.nextafter(math.log1p(-allowed), 0.0), 0.0)
    return round_up(max(Fraction(0), exact(shift) / exact(scale) + 2 * Fraction(saved)))


def laplace_loss_atoms(*, shift: float, scale: float) -> tuple[FloatArray, FloatArray]:
    """Return the two atoms of the privacy loss, and their probabilities.

    Under the law of the unshifted release the loss is r = shift/scale with
    probability 1/2 and -r with probability exp(-r)/2. The rest has the density
    `laplace_loss_density`. (If shift is 0 both atoms sit at 0, with all mass.)

    Returns
    -------
    losses, probabilities : numpy.ndarray, shape (2,)

    Examples
    --------
    >>> laplace_loss_atoms(shift=0.0, scale=1.0)
    (array([0., 0.]), array([0.5, 0.5]))
    """
    ratio = _ratio(shift, scale, "laplace_loss_atoms")
    losses = np.array([0.0 - ratio, ratio])
    return losses, np.array([0.5 * math.exp(-ratio), 0.5])


def laplace_loss_density(*, loss: ArrayLike, shift: float, scale: float) -> Floats:
    """Return the density of the loss strictly between its atoms, 0 elsewhere.

    Examples
    --------
    >>> print(laplace_loss_density(loss=[0.0, 4.0], shift=4.0, scale=1.0)[1])
    0.0
    """
    loss = real_array("loss", loss, "laplace_loss_density")
    ratio = _ratio(shift, scale, "laplace_loss_density")
    inside = np.exp(np.minimum(loss - ratio, 0.0) / 2.0) / 4.0
    result: Floats = np.where(np.abs(loss) < ratio, inside, 0.0)[()]
    return result


def laplace_loss_cdf(*, loss: ArrayLike, shift: float, scale: float) -> Floats:
    """Return P(privacy loss <= `loss`) under the law of the unshifted release.

    Examples
    --------
    >>> print(laplace_loss_cdf(loss=[-1.1, 0.999, 1.0], shift=1.0, scale=1.0))
    [0.         0.49975006 1.        ]
    """
    loss = real_array("loss", loss, "laplace_loss_cdf")
    ratio = _ratio(shift, scale, "laplace_loss_cdf")
    inside = np.exp(np.minimum(loss - ratio, 0.0) / 2.0) / 2.0
    above = np.where(loss >= ratio, 1.0, inside)
    result: Floats = np.where(loss < -ratio, 0.0, above)[()]
    return result


def _ratio(shift: float, scale: float, where: str) -> float:
    shift = check.nonnegative("shift", shift, where)
    return shift / check.positive("scale", scale, where)
