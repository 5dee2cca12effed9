r"""Adversaries that guess where a vehicle is going, and when they have found it.

Benvenuti et al., Section 8.3 (Figure 11).

The paper's adversary measures position x, velocity v and acceleration a at every time
step, and is told the time of arrival. It assumes that the acceleration decays at a rate
:math:`\lambda`, as that of a ballistic vehicle, :math:`\ddot x(t) = a
e^{-\lambda (t - t_0)}`, and takes the end of that trajectory for the target:

.. math:: \hat x = x + v T + a \Bigl[\frac{T}{\lambda}
          - \frac{1 - e^{-\lambda T}}{\lambda^2}\Bigr], \qquad T = t_f - t_0 .

The vehicle counts as *detected* when the guess is nearer than :math:`\rho` to the
target in three steps in a row; we date this to the third.

A second adversary, ours, is not told the time of arrival; it knows instead the
guidance, :math:`\ddot x = (k + 3)(r - v T)/T^2`, up to the part along v. The vehicle
then turns in the plane of v and r. With d the angle between them and R = \|r\|,

.. math:: |a| = (k+3) \frac{V^2}{R} \sin d, \qquad
          -\frac{d}{dt} \ln |a| = (k+1) \frac{V}{R} \cos d ,

the second because :math:`\dot R = -V \cos d` and :math:`\dot d = -(k+2) (V/R) \sin d`.
Two measured accelerations give both left sides, hence R, d and the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplib.rewards.flight import Flight, Vehicle, fly
from dplib.rewards.paper import Grid, Scenario
from dplib.rewards.waypoints import Route

__all__ = [
    "Detection",
    "Outcomes",
    "detect",
    "fly_routes",
    "guesses",
    "triangulate",
    "watch",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Detection:
    """When and where a vehicle was detected.

    Attributes
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


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What became of several flights.

    Attributes
    ----------
    distances : numpy.ndarray, shape (S,)
        Distance from the target at detection, km; 0 if never detected.
    within : numpy.ndarray of bool, shape (S,)
        Whether the vehicle came within the switch range on its waypoints.
    waypoints : numpy.ndarray of int, shape (S,)
        Number of waypoints that the policy commands.
    """

    distances: FloatArray
    within: NDArray[np.bool_]
    waypoints: NDArray[np.int64]


def guesses(flight: Flight, *, decay: float) -> FloatArray:
    r"""Return what the paper's adversary takes for the target, shape (steps, 3).

    Parameters
    ----------
    flight : Flight
        The flight, whose time of arrival the adversary knows.
    decay : float
        Rate :math:`\lambda` of the decay, 1/s.
    """
    time = (flight.final_time - flight.times)[:, None]
    s = decay * time
    drift = (s + np.expm1(-s)) / decay**2
    return flight.positions + flight.velocities * time + flight.accelerations * drift


def triangulate(flight: Flight, *, exponent: float) -> FloatArray:
    """Return the guesses of an adversary that knows the guidance, but no final time.

    Parameters
    ----------
    flight : Flight
        The flight; what is used at a step are the measurements of this step and
        the one before.
    exponent : float
        Exponent k of the guidance.

    Returns
    -------
    numpy.ndarray, shape (steps, 3)
        Guesses; NaN at step 0, on straight legs, and where the acceleration does not
        decay (as after a change of waypoints).
    """
    result = np.full(flight.positions.shape, np.nan)
    size = np.linalg.norm(flight.accelerations, axis=1)
    speed = np.linalg.norm(flight.velocities, axis=1)
    rows = np.flatnonzero((size[:-1] > size[1:]) & (size[1:] > 0.0))
    now = rows + 1
    # Both sides of the two equations at the middle of the step ...
    rate = np.log(size[rows] / size[now]) / np.diff(flight.times)[rows]
    cosine = rate / ((exponent + 1.0) * speed[now])  # cos(d) / R
    sine = np.sqrt(size[rows] * size[now]) / ((exponent + 3.0) * speed[now] ** 2)
    # ... and the directions along and across the path there.
    ahead = flight.velocities[rows] + flight.velocities[now]
    ahead /= np.linalg.norm(ahead, axis=1)[:, None]
    across = flight.accelerations[rows] + flight.accelerations[now]
    across -= np.sum(across * ahead, axis=1)[:, None] * ahead
    with np.errstate(invalid="ignore"):  # nothing across, on a straight leg: no guess
        across /= np.linalg.norm(across, axis=1)[:, None]
    middle = 0.5 * (flight.positions[rows] + flight.positions[now])
    toward = cosine[:, None] * ahead + sine[:, None] * across
    result[now] = middle + toward / (sine**2 + cosine**2)[:, None]
    return result


def detect(scenario: Scenario, flight: Flight, guess: FloatArray) -> Detection:
    """Return the first step at which the last guesses have all been close.

    Parameters
    ----------
    scenario : Scenario
        Says where the target is, how close is close, and how many in a row.
    flight : Flight
        The flight.
    guess : numpy.ndarray, shape (steps, 3)
        A guess for every step, as `guesses` or `triangulate` give it; NaN where
        there is none.
    """
    gap = np.linalg.norm(guess - np.array(scenario.target), axis=1)
    run = 0
    for step, close in enumerate(gap < scenario.radius):  # NaN is not close
        run = run + 1 if close else 0
        if run == scenario.in_a_row:
            left = np.linalg.norm(flight.positions[step] - np.array(scenario.target))
            return Detection(True, step, float(flight.times[step]), float(left))
    return Detection(False, -1, float("inf"), 0.0)


def watch(scenario: Scenario, flight: Flight) -> Detection:
    """Return when the paper's adversary detects where a flight goes.

    Examples
    --------
    >>> scenario = Scenario(start=(-8.0, 0.0, 0.0))
    >>> watch(scenario, fly(Vehicle(speed=2.0, exponent=1.0, step=0.5), scenario))
    Detection(found=True, step=2, time=1.0, distance=6.0)
    """
    return detect(scenario, flight, guesses(flight, decay=scenario.decay))


def fly_routes(
    vehicle: Vehicle, scenario: Scenario, grid: Grid, routes: Sequence[Route]
) -> Outcomes:
    """Fly routes over a grid, each of them watched by the paper's adversary."""
    places = grid.positions()
    # Many noisy rewards have the same route: it is flown once.
    known: dict[bytes, tuple[float, bool]] = {}
    rows = []
    for found in routes:
        key = found.states.tobytes()
        if key not in known:
            flight = fly(vehicle, scenario, places[found.states])
            known[key] = watch(scenario, flight).distance, flight.within_range
        rows.append(known[key])
    return Outcomes(
        distances=np.array([distance for distance, _ in rows]),
        within=np.array([within for _, within in rows]),
        waypoints=np.array([found.states.size for found in routes]),
    )
