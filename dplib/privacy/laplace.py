"""The Laplace mechanism and its calibration.

Model. A query value v, real or an array, is released as

    y = v + w ,    w iid Lap(b) ,    density exp(-|w|/b) / (2b) ,

with the *scale* b > 0, in the units of v (the standard deviation is b sqrt 2).
If adjacent data change v by at most Delta in the l1 norm (the *sensitivity*),
the release is epsilon-differentially private with epsilon = Delta / b (Dwork,
McSherry, Nissim and Smith 2006). Serves Hale & Egerstedt, arXiv 1509.08161,
Lemma 5 and Algorithm 2.

Idealised. All this holds in real arithmetic. Noise drawn in floating point
leaves traces in its low-order bits by which v can be told apart (Mironov, "On
significance of the least significant bits for differential privacy", 2012), so
the sampler here is for simulation: it is not formally private.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.privacy._numeric import (
    FloatArray,
    Floats,
    exact,
    noise_fits,
    real_array,
    round_up,
)

__all__ = [
    "laplace_epsilon",
    "laplace_log_density",
    "laplace_mechanism",
    "laplace_scale",
]


def laplace_scale(*, sensitivity: float, epsilon: float) -> float:
    """Return the least scale b at which the loss is at most `epsilon`.

    The number is a guarantee only together with the adjacency under which
    `sensitivity` was computed; `dplib.privacy.trajectory.laplace_budget` states
    one.

    Parameters
    ----------
    sensitivity : float
        Largest l1 change of the query between adjacent data, positive.
    epsilon : float
        Privacy parameter, positive.

    Returns
    -------
    float
        The least float b with ``sensitivity / b <= epsilon`` in real, and so
        also in floating-point, arithmetic. A scale that is rounded to nearest,
        or for print, may claim more privacy than it gives.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or the scale is too large for a float.

    Examples
    --------
    >>> laplace_scale(sensitivity=3.0, epsilon=0.5)
    6.0
    >>> 2.0 / laplace_scale(sensitivity=2.0, epsilon=0.3) <= 0.3
    True
    """
    check.positive("sensitivity", sensitivity, "laplace_scale")
    check.positive("epsilon", epsilon, "laplace_scale")
    scale = round_up(exact(sensitivity) / exact(epsilon))
    if math.isinf(scale):
        must = "large enough that sensitivity / epsilon is a finite float"
        check.fail("epsilon", "laplace_scale", must, epsilon)
    return scale


def laplace_epsilon(*, sensitivity: float, scale: float) -> float:
    """Return epsilon = sensitivity / scale, rounded up.

    Parameters
    ----------
    sensitivity : float
        Largest l1 change of the query between adjacent data, 0 or greater.
    scale : float
        Scale b of the noise, positive.

    Returns
    -------
    float
        The least float that is not below the quotient; inf if that overflows.

    Examples
    --------
    >>> laplace_epsilon(sensitivity=3.0, scale=6.0)
    0.5
    """
    check.nonnegative("sensitivity", sensitivity, "laplace_epsilon")
    check.positive("scale", scale, "laplace_epsilon")
    return round_up(exact(sensitivity) / exact(scale))


def laplace_log_density(x: ArrayLike, *, scale: ArrayLike) -> Floats:
    """Return the log density of Lap(scale) noise at `x`, entry by entry.

    Parameters
    ----------
    x : array_like
        Points, finite, any shape.
    scale : array_like
        Scale b, positive; broadcast against `x`.

    Returns
    -------
    numpy.ndarray or float
        ``-|x| / b - log(2 b)``, in the broadcast shape.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> print(laplace_log_density(-2.0, scale=0.5))
    -4.0
    """
    x = real_array("x", x, "laplace_log_density")
    scale = _scales(scale, "laplace_log_density")
    try:
        np.broadcast_shapes(x.shape, scale.shape)
    except ValueError:
        must = f"an array that broadcasts against shape {x.shape}"
        check.fail("scale", "laplace_log_density", must, scale.tolist())
    result: Floats = -np.abs(x) / scale - np.log(2.0) - np.log(scale)
    return result


def laplace_mechanism(
    value: ArrayLike, *, scale: ArrayLike, rng: np.random.Generator
) -> Floats:
    """Release `value` with iid Laplace noise. Idealised: see the file's head.

    Parameters
    ----------
    value : array_like
        The query's value, finite, any shape.
    scale : array_like
        Scale b, positive; a number, or an array that broadcasts to the shape
        of `value` (each entry of `value` is released once, never twice).
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    numpy.ndarray or float
        The noisy value, of the shape of `value`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or floats cannot add the noise to `value`.

    Examples
    --------
    >>> from dplib.rng import stream
    >>> laplace_mechanism([1.0, 2.0], scale=0.5, rng=stream(1)).shape
    (2,)
    """
    value = real_array("value", value, "laplace_mechanism")
    scale = _scales(scale, "laplace_mechanism")
    if not isinstance(rng, np.random.Generator):
        must = "a numpy.random.Generator"
        check.fail("rng", "laplace_mechanism", must, rng, TypeError)
    try:
        np.broadcast_to(scale, value.shape)
    except ValueError:
        must = f"an array that broadcasts to shape {value.shape}"
        check.fail("scale", "laplace_mechanism", must, scale)
    noise_fits("scale", scale, value, "laplace_mechanism")
    noise = rng.laplace(0.0, scale, size=value.shape)
    result: Floats = (value + noise)[()]
    return result


def _scales(scale: ArrayLike, where: str) -> FloatArray:
    scales = real_array("scale", scale, where)
    if np.any(scales <= 0.0):
        check.fail("scale", where, "positive in every entry", scale)
    return scales
