r"""A point-mass vehicle under generalized vector explicit guidance (GENEX).

Benvenuti et al., Section 8.3 (Figure 10), which names the guidance and gives neither
the vehicle nor its constants. The guidance is that of Ohlmeyer and Phillips, Journal of
Guidance, Control, and Dynamics 29(2), 2006.

Guidance. Seen from the vehicle the goal is at r, and v is the velocity; T is the time
to go. Among all accelerations u of the linear model :math:`\ddot x = u` that arrive at
the goal with velocity :math:`v_f`, GENEX is the one that minimises
:math:`\int u^2 / (2 T^k)\, dt`:

.. math::
   u = \frac{K_1 (r - v T) + K_2 (v_f - v)\, T}{T^2},
   \qquad K_1 = (k+2)(k+3), \quad K_2 = -(k+1)(k+2).

If the direction of arrival is left free, :math:`K_1 = k+3` and :math:`K_2 = 0`:
proportional navigation with gain k + 3.

Vehicle (our assumptions; the paper has none). Three degrees of freedom, constant speed
V: of u only the part normal to v acts. No gravity, no drag, no limit on acceleration,
no delay. T = \|r\| / V. Coordinates in km (east, north, up), time in s.

Integration. Explicit midpoint rule with a fixed step; after each half the velocity is
scaled back to V, which changes the error only at the order that the rule already has.

A flight passes waypoints w_0, w_1, ...: the vehicle steers to w_j until it is closer to
w_j than to w_{j-1}, then to w_{j+1}. It steers to the target itself from the step on at
which it is nearer than the scenario's `switch_range`, or at which waypoints run out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.compiled import CACHE
from dplib.rewards.paper import Scenario

__all__ = ["FIRST_FIT", "SECOND_FIT", "THIRD_FIT", "Flight", "Vehicle", "fly"]

FloatArray = NDArray[np.float64]

#: Longest flight, s.
LONGEST = 5000.0


@dataclass(frozen=True)
class Vehicle:
    """Speed, guidance and time step of a vehicle.

    Parameters
    ----------
    speed : float
        Constant speed V, km/s.
    exponent : float
        Exponent k of the weight on acceleration, 0 or greater.
    arrival : {"free", "line of sight"}
        Direction of arrival at the target: free, or along the line of sight at
        the moment when the vehicle begins to steer to the target. At waypoints
        it is always free.
    step : float
        Time between two measurements, and step of the integration, s.
    """

    speed: float
    exponent: float
    arrival: str = "free"
    step: float = 0.1

    def __post_init__(self) -> None:
        check.positive("speed", self.speed, "Vehicle")
        check.nonnegative("exponent", self.exponent, "Vehicle")
        check.member("arrival", self.arrival, "Vehicle", ("free", "line of sight"))
        check.positive("step", self.step, "Vehicle")


#: Three vehicles whose direct flight is detected where the paper says, at 101.5 km:
#: calibrated to that one number, so that it is no evidence for any of them.
FIRST_FIT = Vehicle(speed=1.224, exponent=2.0)
SECOND_FIT = Vehicle(speed=2.6325, exponent=1.0)
THIRD_FIT = Vehicle(speed=1.4, exponent=4.0, arrival="line of sight")


@dataclass(frozen=True, eq=False)
class Flight:
    """A flight, measured at the start of every step.

    Attributes
    ----------
    times : numpy.ndarray, shape (steps,)
        In s.
    positions, velocities, accelerations : numpy.ndarray, shape (steps, 3)
        In km, km/s and km/s^2.
    final_time : float
        Time of arrival at the target, s.
    direct_from : int
        First step at which the vehicle steers to the target itself.
    within_range : bool
        Whether that was because it came within `switch_range`, not because it
        had run out of waypoints.
    """

    times: FloatArray
    positions: FloatArray
    velocities: FloatArray
    accelerations: FloatArray
    final_time: float
    direct_from: int
    within_range: bool


def fly(
    vehicle: Vehicle, scenario: Scenario, waypoints: FloatArray | None = None
) -> Flight:
    """Fly from the scenario's start by way of waypoints to its target.

    Parameters
    ----------
    vehicle : Vehicle
        What flies.
    scenario : Scenario
        From where to where, and how near to the target waypoints are given up.
    waypoints : numpy.ndarray, shape (w, 3), optional
        Waypoints in order, km, each at another place than the one before it, the
        first of them where the vehicle comes from; none (or only that one) means a
        direct flight.

    Returns
    -------
    Flight
        The vehicle arrives when its distance is less than one step; the rest is
        flown straight.

    Raises
    ------
    RuntimeError
        If the vehicle has not arrived after 5000 s.

    Examples
    --------
    Straight ahead at 2 km/s:

    >>> vehicle = Vehicle(speed=2.0, exponent=1.0, step=0.5)
    >>> flight = fly(vehicle, Scenario(start=(-4.0, 0.0, 0.0)))
    >>> flight.final_time, flight.positions[-1].tolist()
    (2.0, [0.0, 0.0, 0.0])
    """
    start, target, ahead = np.array(
        [scenario.start, scenario.target, scenario.heading], dtype=float
    )
    record = np.empty((int(LONGEST / vehicle.step) + 2, 9))
    count, direct, within = _flight(
        start,
        ahead * (vehicle.speed / np.linalg.norm(ahead)),
        target,
        np.empty((0, 3)) if waypoints is None else np.asarray(waypoints, dtype=float),
        scenario.switch_range,
        vehicle.exponent,
        vehicle.arrival == "line of sight",
        vehicle.step,
        record,
    )
    if count < 0:
        raise RuntimeError(f"fly: the vehicle has not arrived after {LONGEST:g} s.")
    kept = record[:count].copy()
    rest = float(np.linalg.norm(target - kept[-1, :3])) / vehicle.speed
    return Flight(
        times=np.arange(count, dtype=np.float64) * vehicle.step,
        positions=kept[:, :3],
        velocities=kept[:, 3:6],
        accelerations=kept[:, 6:],
        final_time=(count - 1) * vehicle.step + rest,
        direct_from=direct,
        within_range=within,
    )


@numba.njit(cache=CACHE)
def _norm(x: FloatArray) -> float:
    return math.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2)


@numba.njit(cache=CACHE)
def _distance(x: FloatArray, y: FloatArray) -> float:
    return math.sqrt((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2 + (x[2] - y[2]) ** 2)


@numba.njit(cache=CACHE)
def _scale(v: FloatArray, speed: float) -> None:
    factor = speed / _norm(v)
    for c in range(3):
        v[c] *= factor


@numba.njit(cache=CACHE)
def _genex(
    x: FloatArray,
    v: FloatArray,
    goal: FloatArray,
    arrive: FloatArray,
    gains: tuple[float, float],
    a: FloatArray,
) -> None:
    """Write into `a` the part of GENEX normal to v; `arrive` is the final velocity."""
    speed = _norm(v)
    time = _distance(x, goal) / speed
    if time * time == 0.0:  # there, to the last bit
        a[:] = 0.0
        return
    for c in range(3):
        miss, turn = goal[c] - x[c] - v[c] * time, arrive[c] - v[c]
        a[c] = (gains[0] * miss + gains[1] * turn * time) / time**2
    along = (a[0] * v[0] + a[1] * v[1] + a[2] * v[2]) / speed**2
    for c in range(3):
        a[c] -= along * v[c]


@numba.njit(cache=CACHE)
def _flight(
    x: FloatArray,
    v: FloatArray,
    target: FloatArray,
    route: FloatArray,
    near: float,
    k: float,
    shaped: bool,
    step: float,
    record: FloatArray,
) -> tuple[int, int, bool]:
    """Fill rows (x, v, a) of `record`; return steps, first direct one, and why."""
    speed = _norm(v)
    a, arrive = np.empty(3), np.zeros(3)
    x_half, v_half = np.empty(3), np.empty(3)
    gains = k + 3.0, 0.0
    leg, direct, within = 1, -1, False
    for s in range(record.shape[0]):
        if direct < 0:
            within = _distance(x, target) < near
            while leg < route.shape[0] and _distance(x, route[leg]) < _distance(
                x, route[leg - 1]
            ):
                leg += 1
            if within or leg >= route.shape[0]:
                direct = s
                far = _distance(x, target)
                for c in range(3):  # exactly there it has no direction to fly in
                    arrive[c] = speed * (target[c] - x[c]) / far if far > 0.0 else 0.0
                if shaped:
                    gains = (k + 2.0) * (k + 3.0), -(k + 1.0) * (k + 2.0)
        goal = target if direct >= 0 else route[leg]
        _genex(x, v, goal, arrive, gains, a)
        record[s, :3], record[s, 3:6], record[s, 6:] = x, v, a
        if direct >= 0 and _distance(x, target) < speed * step:
            return s + 1, direct, within
        for c in range(3):
            x_half[c] = x[c] + 0.5 * step * v[c]
            v_half[c] = v[c] + 0.5 * step * a[c]
        _scale(v_half, speed)
        _genex(x_half, v_half, goal, arrive, gains, a)
        for c in range(3):
            x[c] += step * v_half[c]
            v[c] += step * a[c]
        _scale(v, speed)
    return -1, direct, within
