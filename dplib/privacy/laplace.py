"""The Laplace mechanism: its calibration, and its exact privacy curve.

Model. A query value v, real or an array, is released as

    y = v + w ,    w iid Lap(b) ,    density exp(-|w|/b) / (2b) ,

with the *scale* b > 0, in the units of v (the standard deviation is b sqrt 2). If
adjacent data change v by at most Delta in the l1 norm (the *sensitivity*), the release
is epsilon-differentially private with epsilon = Delta / b (Dwork, McSherry, Nissim and
Smith 2006). The number is a guarantee only together with the adjacency under which
Delta was computed. Serves Hale & Egerstedt, arXiv 1509.08161, Lemma 5 and Algorithm 2.

If one entry moves by Delta, the privacy loss at y = v + w is (|w - Delta| - |w|) / b.
With r = Delta / b it is r where w <= 0, falls to -r where w >= Delta, and is linear
between. Integrating it gives the curve

    delta(epsilon) = 1 - exp((epsilon - r) / 2)  for 0 <= epsilon < r ,  else 0 .

Idealised: real arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.privacy._numeric import Floats, real_array, round_up

__all__ = ["laplace_delta", "laplace_epsilon", "laplace_scale"]


def laplace_scale(*, sensitivity: float, epsilon: float) -> float:
    """Return the least float b with ``sensitivity / b <= epsilon``, both positive.

    A scale that is rounded to nearest, or for print, may claim more privacy than it
    gives.

    Examples
    --------
    >>> laplace_scale(sensitivity=3.0, epsilon=0.5)
    6.0
    >>> 2.0 / laplace_scale(sensitivity=2.0, epsilon=0.3) <= 0.3
    True
    """
    distance = check.positive("sensitivity", sensitivity, "laplace_scale")
    level = check.positive("epsilon", epsilon, "laplace_scale")
    return round_up(Fraction(distance) / Fraction(level))


def laplace_epsilon(*, sensitivity: float, scale: float) -> float:
    """Return epsilon = sensitivity / scale, rounded up.

    Examples
    --------
    >>> laplace_epsilon(sensitivity=3.0, scale=6.0)
    0.5
    """
    distance = check.nonnegative("sensitivity", sensitivity, "laplace_epsilon")
    b = check.positive("scale", scale, "laplace_epsilon")
    return round_up(Fraction(distance) / Fraction(b))


def laplace_delta(*, epsilon: ArrayLike, shift: float, scale: float) -> Floats:
    """Return delta(epsilon) of a release of which one entry moves by `shift`.

    It takes a shift and no sensitivity: a sensitivity bounds the l1 norm of a move, and
    the curve depends on how the move is spread over the entries, not on its norm alone.

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
        The same in both directions, by symmetry of the noise. Rounded to nearest.

    Examples
    --------
    >>> print(laplace_delta(epsilon=1.0, shift=1.0, scale=1.0))
    0.0
    >>> print(laplace_delta(epsilon=1.0, shift=3.0, scale=1.0) == 1 - np.exp(-1))
    True
    """
    levels = real_array("epsilon", epsilon, "laplace_delta", low=0.0)
    distance = check.nonnegative("shift", shift, "laplace_delta")
    ratio = distance / check.positive("scale", scale, "laplace_delta")
    result: Floats = -np.expm1(np.minimum(levels - ratio, 0.0) / 2.0)
    return result + 0.0  # turns -0.0 into 0.0
