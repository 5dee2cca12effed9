r"""Adversaries that guess where a vehicle is going.

Benvenuti et al., Section 8.3.

The paper's adversary measures position x, velocity v and acceleration a at every time
step, and is told the time of arrival. It assumes that the acceleration decays at a rate
:math:`\lambda`, as that of a ballistic vehicle, :math:`\ddot x(t) = a
e^{-\lambda (t - t_0)}`, and takes the end of that trajectory for the target:

.. math:: \hat x = x + v T + a \Bigl[\frac{T}{\lambda}
          - \frac{1 - e^{-\lambda T}}{\lambda^2}\Bigr], \qquad T = t_f - t_0 .

The vehicle counts as *detected* when the guess is nearer than :math:`\rho` to the
target in three steps in a row; we date this to the third.

A second adversary, ours, is not told the time of arrival; it knows instead the law of
guidance, :math:`\ddot x = (k + 3)(r - v T)/T^2`, up to the part along v. The vehicle
then turns in the plane of v and r. With d the angle between them and R = \|r\|,

.. math:: |a| = (k+3) \frac{V^2}{R} \sin d, \qquad
          -\frac{d}{dt} \ln |a| = (k+1) \frac{V}{R} \cos d ,

the second because :math:`\dot R = -V \cos d` and :math:`\dot d = -(k+2) (V/R) \sin d`.
Two measured accelerations give both left sides, hence R, d and the target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.rewards.guidance import Flight, law_exponent

__all__ = ["Detection", "ballistic_end", "detect", "guesses", "triangulate"]

FloatArray = NDArray[np.float64]

#: Below it s - 1 + exp(-s) is summed as a series, with terms up to s^12: what is left
#: out is below 1e-16 of the sum, and from it on cancellation costs less than 1e-14.
SERIES = 0.1
TERMS = [(-1.0) ** j / math.factorial(j + 2) for j in range(11)]


@dataclass(frozen=True)
class Detection:
    """When and where a vehicle was detected.

    Parameters
    ----------
    found : bool
        Whether it was; if not, the other fields are -1, infinity and 0.
    step : int
        Step at which the rule is met.
    time : float
        Its time, s.
    distance : float
        Distance of the vehicle from the target then, km.
    """

    found: bool
    step: int
    time: float
    distance: float


def _points(name: str, value: ArrayLike, where: str) -> FloatArray:
    return check.array(name, value, where, shape=(None, 3))


def ballistic_end(
    x: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    remaining: ArrayLike,
    decay: float,
) -> FloatArray:
    r"""Return the end of the trajectory whose acceleration decays exponentially.

    Parameters
    ----------
    x, v, a : array_like, shape (steps, 3)
        Measured position, velocity, acceleration; km and s.
    remaining : array_like, shape (steps,)
        Time T left, 0 or greater, s.
    decay : float
        Rate :math:`\lambda`, above 0, 1/s.

    Returns
    -------
    numpy.ndarray, shape (steps, 3)
        Predicted positions after that time, km. The factor of `a` has a relative
        error below 1e-14.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> ballistic_end([[1, 0, 0]], [[2, 0, 0]], [[0, 0, 0]], remaining=[3], decay=0.1)
    array([[7., 0., 0.]])
    """
    where = "ballistic_end"
    x, v, a = _points("x", x, where), _points("v", v, where), _points("a", a, where)
    for name, value in (("v", v), ("a", a)):
        check.array(name, value, where, shape=x.shape)
    time = check.array("remaining", remaining, where, shape=x.shape[:1])
    if np.any(time < 0.0):
        check.fail("remaining", where, "non-negative", float(time.min()))
    decay = check.positive("decay", decay, where)
    s = decay * time
    small = np.minimum(s, SERIES)  # where the series is not used it must not overflow
    weight = np.where(
        s < SERIES,
        time**2 * np.polynomial.polynomial.polyval(small, TERMS),
        (s + np.expm1(-s)) / decay**2,
    )
    return np.asarray(x + v * time[:, None] + a * weight[:, None])


def guesses(flight: Flight, *, decay: float) -> FloatArray:
    """Return what the paper's adversary takes for the target, at every step.

    Parameters
    ----------
    flight : Flight
        The flight, whose time of arrival the adversary knows.
    decay : float
        Rate of the decay, above 0, 1/s.

    Returns
    -------
    numpy.ndarray, shape (steps, 3)

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    check.instance("flight", flight, "guesses", Flight)
    return ballistic_end(
        flight.positions,
        flight.velocities,
        flight.accelerations,
        remaining=flight.final_time - flight.times,
        decay=decay,
    )


def detect(
    flight: Flight,
    guess: ArrayLike,
    *,
    target: ArrayLike,
    radius: float,
    in_a_row: int = 3,
) -> Detection:
    r"""Return the first step at which the last guesses have all been close.

    Parameters
    ----------
    flight : Flight
        The flight.
    guess : array_like, shape (steps, 3)
        A guess for every step, as `guesses` or `triangulate` give it, of size at
        most 1e60; NaN where there is none.
    target : array_like, shape (3,)
        The target, km.
    radius : float
        Radius :math:`\rho`, above 0, km.
    in_a_row : int
        Number of steps, 1 or more.

    Returns
    -------
    Detection

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> from dplib.rewards.guidance import Vehicle, fly
    >>> flight = fly(Vehicle(speed=2.0, exponent=1.0, step=0.5), start=[0, 0, 0],
    ...              heading=[1, 0, 0], target=[8, 0, 0])
    >>> detect(flight, guesses(flight, decay=0.1), target=[8, 0, 0], radius=0.1)
    Detection(found=True, step=2, time=1.0, distance=6.0)
    """
    where = "detect"
    check.instance("flight", flight, where, Flight)
    goal = check.array("target", target, where, shape=(3,))
    radius = check.positive("radius", radius, where)
    count = check.integer("in_a_row", in_a_row, where, low=1)
    must = f"an array of real numbers of shape {flight.positions.shape}"
    raw = check.entries("guess", guess, where, must)
    if raw.dtype.kind not in "iuf":
        check.fail("guess", where, must, guess, TypeError)
    if raw.shape != flight.positions.shape:
        check.fail("guess", where, must, raw.shape)
    none = np.isnan(raw)
    check.array("guess", np.where(none, 0.0, raw), where, shape=raw.shape)
    points = raw.astype(np.float64)
    close = np.linalg.norm(points - goal, axis=1) < radius  # NaN is not close
    run = 0
    for step, good in enumerate(close):
        run = run + 1 if good else 0
        if run == count:
            left = float(np.linalg.norm(flight.positions[step] - goal))
            return Detection(True, step, float(flight.times[step]), left)
    return Detection(False, -1, float("inf"), 0.0)


def triangulate(flight: Flight, *, exponent: float) -> FloatArray:
    """Return the guesses of an adversary that knows the law, but no final time.

    Parameters
    ----------
    flight : Flight
        The flight; what is used at a step are the measurements of this step and
        the one before.
    exponent : float
        Exponent k of the law of guidance, 0 to 1000.

    Returns
    -------
    numpy.ndarray, shape (steps, 3)
        Guesses; NaN at step 0, where the acceleration vanishes or does not decay
        (as after a change of waypoints), and where no finite number comes out.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    where = "triangulate"
    check.instance("flight", flight, where, Flight)
    k = law_exponent(exponent, where)
    result = np.full(flight.positions.shape, np.nan)
    size = np.linalg.norm(flight.accelerations, axis=1)
    speed = np.linalg.norm(flight.velocities, axis=1)
    step = np.diff(flight.times)
    rows = np.flatnonzero((size[:-1] > size[1:]) & (size[1:] > 0.0))
    now = rows + 1
    # A flight of another vehicle may stand still, or turn round: no guess then.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # Both sides of the two equations at the middle of the step ...
        rate = np.log(size[rows] / size[now]) / step[rows]
        cosine = rate / ((k + 1.0) * speed[now])  # cos(d) / R
        sine = np.sqrt(size[rows] * size[now]) / ((k + 3.0) * speed[now] ** 2)
        square = sine**2 + cosine**2  # 1 / R^2
        # ... and the directions along and across the path there.
        ahead = flight.velocities[rows] + flight.velocities[now]
        ahead /= np.linalg.norm(ahead, axis=1)[:, None]
        across = flight.accelerations[rows] + flight.accelerations[now]
        across -= np.sum(across * ahead, axis=1)[:, None] * ahead
        across /= np.linalg.norm(across, axis=1)[:, None]
        middle = 0.5 * (flight.positions[rows] + flight.positions[now])
        toward = cosine[:, None] * ahead + sine[:, None] * across
        points = middle + toward / square[:, None]
    found = np.all(np.abs(points) <= check.LARGEST, axis=1)  # NaN is not
    result[now[found]] = points[found]
    return result
