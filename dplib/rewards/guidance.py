r"""A point-mass vehicle under generalized vector explicit guidance (GENEX).

Benvenuti et al., Section 8.3, which names the law and gives neither the vehicle nor
the law's constants. The law is that of Ohlmeyer and Phillips, Journal of Guidance,
Control, and Dynamics 29(2), 2006.

Guidance. Seen from the vehicle the goal is at r, and v is the velocity; T is the time
to go. Among all accelerations u of the linear model :math:`\ddot x = u` that arrive at
the goal with velocity :math:`v_f`, GENEX is the one that minimises
:math:`\int u^2 / (2 T^k)\, dt`:

.. math::
   u = \frac{K_1 (r - v T) + K_2 (v_f - v)\, T}{T^2},
   \qquad K_1 = (k+2)(k+3), \quad K_2 = -(k+1)(k+2).

If the direction of arrival is left free, :math:`u = (k+3)(r - vT)/T^2`: proportional
navigation with gain k + 3.

Vehicle (our assumptions; the paper has none). Three degrees of freedom, constant speed
V: of u only the part normal to v acts. No gravity, no drag, no limit on acceleration,
no delay. T = \|r\| / V. Coordinates in km (east, north, up), time in s.

Integration. Explicit midpoint rule with a fixed step; after each half the velocity is
scaled back to V, which changes the error only at the order that the rule already has.

A flight passes waypoints w_0, w_1, ...: the vehicle steers to w_j until it is closer to
w_j than to w_{j-1}, then to w_{j+1} (Section 8.3). It steers to the target itself from
the step on at which it is nearer than `switch_range`, or at which waypoints run out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.rewards._flight_loop import flight_steps

__all__ = [
    "FIRST_FIT",
    "SECOND_FIT",
    "THIRD_FIT",
    "Flight",
    "Vehicle",
    "fly",
    "genex",
    "genex_turn",
]

FloatArray = NDArray[np.float64]

#: Most steps that a flight may take: their record is then 720 MB.
MOST_STEPS = 10**7

#: Largest exponent of the law: it makes gains of a million.
MOST_EXPONENT = 1000.0


def law_exponent(value: float, where: str) -> float:
    """Return the exponent of a law of guidance, checked; `where` names the caller."""
    exponent = check.nonnegative("exponent", value, where)
    if exponent > MOST_EXPONENT:
        check.fail("exponent", where, f"between 0 and {MOST_EXPONENT:g}", value)
    return exponent


@dataclass(frozen=True)
class Vehicle:
    """Speed, guidance law and time step of a vehicle.

    Parameters
    ----------
    speed : float
        Constant speed V, above 0, km/s.
    exponent : float
        Exponent k of the law's weight on acceleration, 0 to 1000.
    arrival : {"free", "line of sight"}
        Direction of arrival at the target: free, or along the line of sight at
        the moment when the vehicle begins to steer to the target. At waypoints
        it is always free.
    step : float
        Time between two measurements, and step of the integration, above 0, s.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """

    speed: float
    exponent: float
    arrival: str = "free"
    step: float = 0.1

    def __post_init__(self) -> None:
        where = "Vehicle"
        values = {
            "speed": check.positive("speed", self.speed, where),
            "exponent": law_exponent(self.exponent, where),
            "step": check.positive("step", self.step, where),
        }
        check.member("arrival", self.arrival, where, ("free", "line of sight"))
        for name, value in values.items():
            object.__setattr__(self, name, value)  # the way into a frozen class


#: Three vehicles whose direct flight is detected where the paper says, at 101.5 km:
#: calibrated to that one number, so that it is no evidence for any of them.
FIRST_FIT = Vehicle(speed=1.224, exponent=2.0)
SECOND_FIT = Vehicle(speed=2.6325, exponent=1.0)
THIRD_FIT = Vehicle(speed=1.4, exponent=4.0, arrival="line of sight")


@dataclass(frozen=True, eq=False)
class Flight:
    """A flight, measured at the start of every step.

    Parameters
    ----------
    times : numpy.ndarray, shape (steps,)
        Ascending, s; one or more.
    positions, velocities, accelerations : numpy.ndarray, shape (steps, 3)
        In km, km/s and km/s^2.
    final_time : float
        Time of arrival at the target, not before the last step, s.
    direct_from : int
        First step at which the vehicle steers to the target itself.
    within_range : bool
        Whether that was because it came within `switch_range`, not because it
        had run out of waypoints.

    Raises
    ------
    TypeError, ValueError
        If a field is not as above.
    """

    times: FloatArray
    positions: FloatArray
    velocities: FloatArray
    accelerations: FloatArray
    final_time: float
    direct_from: int
    within_range: bool

    def __post_init__(self) -> None:
        where = "Flight"
        times = check.array("times", self.times, where, shape=(None,))
        if times.size == 0 or np.any(np.diff(times) <= 0.0):
            check.fail("times", where, "one or more ascending times", times.tolist())
        object.__setattr__(self, "times", times)
        for name in ("positions", "velocities", "accelerations"):
            rows = check.array(name, getattr(self, name), where, shape=(times.size, 3))
            object.__setattr__(self, name, rows)
        final = check.nonnegative("final_time", self.final_time, where)
        if final < times[-1]:
            must = f"not before the last step, at {times[-1]:g} s"
            check.fail("final_time", where, must, final)
        object.__setattr__(self, "final_time", final)
        high = times.size - 1
        check.integer("direct_from", self.direct_from, where, low=0, high=high)
        check.instance("within_range", self.within_range, where, bool)


def _vector(name: str, value: ArrayLike, where: str) -> FloatArray:
    return check.array(name, value, where, shape=(3,))


def genex(
    r: ArrayLike,
    v: ArrayLike,
    *,
    time_to_go: float,
    exponent: float,
    final_velocity: ArrayLike | None = None,
) -> FloatArray:
    """Return GENEX's acceleration, by errors of position and velocity.

    Parameters
    ----------
    r : array_like, shape (3,)
        Goal minus position, km.
    v : array_like, shape (3,)
        Velocity, km/s.
    time_to_go : float
        T, above 0, s.
    exponent : float
        k, 0 to 1000.
    final_velocity : array_like, shape (3,), optional
        Velocity of arrival, km/s; free by default.

    Returns
    -------
    numpy.ndarray, shape (3,)
        Acceleration, km/s^2, optimal for the linear model.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> genex([2, 1, 0], [1, 0, 0], time_to_go=2.0, exponent=1.0)
    array([0., 1., 0.])
    >>> genex([2, 0, 0], [1, 0, 0], time_to_go=2, exponent=0, final_velocity=[1, 1, 0])
    array([ 0., -1.,  0.])
    """
    where = "genex"
    r, v = _vector("r", r, where), _vector("v", v, where)
    time = check.positive("time_to_go", time_to_go, where)
    k = law_exponent(exponent, where)
    miss = r - v * time
    if final_velocity is None:
        return np.asarray((k + 3.0) * miss / time**2)
    turn = _vector("final_velocity", final_velocity, where) - v
    return np.asarray(
        ((k + 2) * (k + 3) * miss - (k + 1) * (k + 2) * turn * time) / time**2
    )


def genex_turn(
    r: ArrayLike, v: ArrayLike, *, exponent: float, direction: ArrayLike
) -> FloatArray:
    r"""Return the turning part of GENEX, by unit vectors.

    For a vehicle of constant speed V = \|v\| with T = \|r\| / V and arrival along
    `direction`, the part of the law normal to v is

    .. math:: \frac{V^2}{\|r\|} \bigl[K_1 (\hat r - \hat v \cos d)
              + K_2 (\hat v_f - \hat v \cos m)\bigr]

    with d the angle between v and r, and m that between v and :math:`v_f`.

    Parameters
    ----------
    r, v : array_like, shape (3,)
        As in `genex`, neither of them zero.
    exponent : float
        k, 0 to 1000.
    direction : array_like, shape (3,)
        Direction of arrival, not zero; its length does not matter.

    Returns
    -------
    numpy.ndarray, shape (3,)
        Acceleration normal to v, km/s^2.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> genex_turn([0, 2, 0], [1, 0, 0], exponent=0.0, direction=[5, 0, 0])
    array([0., 3., 0.])
    """
    where = "genex_turn"
    k = law_exponent(exponent, where)
    lengths, units = [], []
    for name, value in (("r", r), ("v", v), ("direction", direction)):
        vector = _vector(name, value, where)
        size = float(np.linalg.norm(vector))
        lengths.append(check.positive(f"|{name}|", size, where))
        units.append(vector / lengths[-1])
    to_goal, ahead, arrive = units
    bend = (k + 2) * (k + 3) * (to_goal - ahead * (ahead @ to_goal))
    bend -= (k + 1) * (k + 2) * (arrive - ahead * (ahead @ arrive))
    return np.asarray(lengths[1] ** 2 / lengths[0] * bend)


def fly(
    vehicle: Vehicle,
    *,
    start: ArrayLike,
    heading: ArrayLike,
    target: ArrayLike,
    waypoints: ArrayLike | None = None,
    switch_range: float = 0.0,
    max_time: float = 5000.0,
) -> Flight:
    """Fly from `start` by way of waypoints to `target`.

    Parameters
    ----------
    vehicle : Vehicle
        What flies.
    start, target : array_like, shape (3,)
        Positions, km.
    heading : array_like, shape (3,)
        Direction of the velocity at the start, not zero.
    waypoints : array_like, shape (w, 3), optional
        Waypoints in order, km, the first of them where the vehicle comes from;
        none (or only that one) means a direct flight. A waypoint that equals the
        one before it is passed at once.
    switch_range : float
        Distance from the target, 0 or greater, within which waypoints are
        given up, km.
    max_time : float
        Longest flight, above 0 and at most 10^7 steps, s.

    Returns
    -------
    Flight
        The vehicle arrives when its distance is less than one step; the rest is
        flown straight. It is there at once where `start` equals `target` and
        nothing lies between.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    RuntimeError
        If the vehicle has not arrived after `max_time`.

    Examples
    --------
    Straight ahead at 2 km/s:

    >>> vehicle = Vehicle(speed=2.0, exponent=1.0, step=0.5)
    >>> flight = fly(vehicle, start=[0, 0, 0], heading=[1, 0, 0], target=[4, 0, 0])
    >>> flight.final_time, flight.positions[-1].tolist()
    (2.0, [4.0, 0.0, 0.0])
    """
    where = "fly"
    check.instance("vehicle", vehicle, where, Vehicle)
    x = _vector("start", start, where)
    aim = _vector("target", target, where)
    ahead = _vector("heading", heading, where)
    size = check.positive("|heading|", float(np.linalg.norm(ahead)), where)
    v = ahead * (vehicle.speed / size)
    route = np.empty((0, 3)) if waypoints is None else waypoints
    route = check.array("waypoints", route, where, shape=(None, 3))
    # No vehicle is ever nearer to a waypoint than to one at the same place.
    new = np.any(route[1:] != route[:-1], axis=1)
    route = np.concatenate((route[:1], route[1:][new]))
    near = check.nonnegative("switch_range", switch_range, where)
    limit = check.positive("max_time", max_time, where)
    if limit / vehicle.step > MOST_STEPS:
        longest = MOST_STEPS * vehicle.step
        must = f"at most {longest:g} s, which are {MOST_STEPS} steps of the vehicle"
        check.fail("max_time", where, must, max_time)
    record = np.empty((int(limit / vehicle.step) + 2, 9))
    count, direct, within = flight_steps(
        np.array(x),
        v,
        aim,
        route,
        near,
        vehicle.exponent,
        vehicle.arrival == "line of sight",
        vehicle.step,
        record,
    )
    kept = record[: max(count, 1)].copy()
    last = (count - 1) * vehicle.step
    rest = float(np.linalg.norm(aim - kept[-1, :3])) / vehicle.speed
    if count < 0 or last + rest > limit:
        raise RuntimeError(f"fly: the vehicle has not arrived after {limit:g} s.")
    return Flight(
        times=np.arange(count, dtype=np.float64) * vehicle.step,
        positions=kept[:, :3],
        velocities=kept[:, 3:6],
        accelerations=kept[:, 6:],
        final_time=last + rest,
        direct_from=int(direct),
        within_range=bool(within),
    )
