r"""The Mills ratio of the normal law, and its differences without cancellation.

Model. With :math:`\varphi` the standard normal density and Q its survival function,

.. math:: M(t) = Q(t) / \varphi(t), \qquad G(t) = -M'(t) = 1 - t M(t) > 0 .

M falls from :math:`\sqrt{\pi/2}` at 0 like 1/t; so the privacy curve of Gaussian
noise, which is a difference of two values of M times a density, loses all digits
where the two are close. Here the difference is computed as the integral of G.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["mills", "mills_drop"]

FloatArray = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_FRACTION_TERMS = 80  # of the continued fraction at t >= 3: converged to rounding


def mills(t: FloatArray) -> FloatArray:
    """Return M(t); inf where it overflows (t below about -37).

    Examples
    --------
    >>> print(mills(np.array(0.0)) == np.sqrt(np.pi / 2))
    True
    """
    result: FloatArray = math.sqrt(math.pi / 2) * special.erfcx(t / math.sqrt(2))
    return result


def mills_slope(t: FloatArray) -> FloatArray:
    """Return G(t) = 1 - t M(t), to a few units in the last place, for t >= -1.

    Examples
    --------
    >>> print(mills_slope(np.array(0.0)))
    1.0
    """
    # Laplace's continued fraction M = 1/(t + K), K = 1/(t + 2/(t + 3/(t + ...)));
    # then G = K/(t + K), a quotient of sums of positive terms.
    far = np.maximum(t, 3.0)
    tail = far
    for k in range(_FRACTION_TERMS, 1, -1):
        tail = far + k / tail
    rest = 1.0 / tail
    result: FloatArray = np.where(t < 3.0, 1.0 - t * mills(t), rest / (far + rest))
    return result


def mills_drop(center: FloatArray, half: float) -> FloatArray:
    """Return M(center - half) - M(center + half), positive.

    Parameters
    ----------
    center : numpy.ndarray
        Zero or greater. Where it is below `half`, `half` must be at most 1.
    half : float
        Half the distance of the two points, positive.

    Examples
    --------
    Far out M is nearly 1/t, and the drop nearly 2 half / t^2:

    >>> print(round(float(mills_drop(np.array(1e8), 1e-3) * 1e16 / 2e-3), 12))
    1.0
    """
    # G is smooth on the scale max(1, t): 24 nodes are exact to rounding here.
    points = center[..., None] + half * _NODES
    smooth = (half <= 1.0) | (half <= center / 4.0)
    with np.errstate(over="ignore", invalid="ignore"):
        integral = half * (mills_slope(np.where(smooth[..., None], points, 0.0)))
        direct = mills(center - half) - mills(center + half)
    result: FloatArray = np.where(smooth, integral @ _WEIGHTS, direct)
    return result
