"""Flights: GENEX against optimal control, and an adaptive integrator."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from dplib.rewards import flight as f
from dplib.rewards.flight import Vehicle, fly
from dplib.rewards.paper import Scenario

X0 = np.array(Scenario().start)
FITS = [f.FIRST_FIT, f.SECOND_FIT, f.THIRD_FIT]
VECTORS = st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3)


def genex(r, v, k, arrive=None):
    """Return the part normal to v of the optimal control of the linear model.

    The integral of u^2 / T^k is least for u = T^k (c0 + c1 T). Moments of u give
    velocity and position at the end; c0 = 0 if that velocity is free.
    """
    time = np.linalg.norm(r) / np.linalg.norm(v)
    miss = r - v * time
    if arrive is None:
        u = time ** (k + 1) * miss * (k + 3) / time ** (k + 3)
    else:
        powers = np.array([[k + 1, k + 2], [k + 2, k + 3]])
        c0, c1 = np.linalg.solve(time**powers / powers, [arrive - v, miss])
        u = time**k * (c0 + c1 * time)
    return u - (u @ v) / (v @ v) * v


@pytest.mark.parametrize("arrival", ["free", "line of sight"])
@settings(deadline=None)  # the first example compiles
@given(r=VECTORS, v=VECTORS, arrive=VECTORS, k=st.floats(0.0, 4.0))
def test_guidance_is_the_optimal_control(arrival, r, v, arrive, k):
    r, v, a = np.array(r), np.array(v), np.empty(3)
    if min(np.linalg.norm(r), np.linalg.norm(v)) < 0.1:
        return
    final, gains = None, (k + 3.0, 0.0)
    if arrival != "free":
        final, gains = np.array(arrive), ((k + 2) * (k + 3), -(k + 1) * (k + 2))
    f._genex(np.zeros(3), v, r, np.array(arrive), gains, a)
    wanted = genex(r, v, k, final)
    size = 1.0 + np.abs(wanted).max()
    assert np.allclose(a, wanted, rtol=1e-7, atol=1e-7 * size)


@pytest.mark.parametrize("vehicle", FITS)
def test_a_flight_turns_by_its_own_guidance_at_constant_speed(vehicle):
    flight = fly(vehicle, Scenario())
    assert np.allclose(np.linalg.norm(flight.velocities, axis=1), vehicle.speed)
    sight = -X0 * vehicle.speed / np.linalg.norm(X0)
    arrive = None if vehicle.arrival == "free" else sight
    for i in (0, 500, len(flight.times) - 100):
        v = flight.velocities[i]
        wanted = genex(-flight.positions[i], v, vehicle.exponent, arrive)
        assert np.allclose(flight.accelerations[i], wanted, rtol=1e-8, atol=1e-12)
        # A gain of one more would be noticed.
        more = genex(-flight.positions[i], v, vehicle.exponent + 1, arrive)
        assert not np.allclose(flight.accelerations[i], more, rtol=1e-3, atol=1e-12)


def test_straight_flight_takes_distance_over_speed():
    to = Scenario(start=(3.0, 4.0, 0.0), heading=(-3.0, -4.0, 0.0))
    flight = fly(Vehicle(2.0, 1.0), to)
    assert flight.final_time == pytest.approx(2.5, abs=1e-12)
    assert np.abs(flight.accelerations).max() < 1e-9


def test_step_is_second_order():
    """Position after 100 s: halving the step divides the error by four."""
    where = []
    for step in (0.4, 0.2, 0.1, 0.05):
        flight = fly(Vehicle(1.224, 2.0, step=step), Scenario())
        where.append(flight.positions[round(100 / step)])
    errors = [np.linalg.norm(a - b) for a, b in itertools.pairwise(where)]
    assert 3.5 < errors[0] / errors[1] < 4.5
    assert 3.5 < errors[1] / errors[2] < 4.5
    assert errors[2] < 1e-4


def test_heading_error_closes_as_theory_says():
    """Free arrival: dR/dt = -V cos d and sin d is proportional to R^(k + 2)."""
    flight = fly(Vehicle(1.224, 2.0, step=0.02), Scenario())
    R = np.linalg.norm(flight.positions, axis=1)
    across = np.cross(flight.positions, flight.velocities)
    sine = np.linalg.norm(across, axis=1) / (R * 1.224)
    ratio = (sine / R**4)[R > 50.0]
    assert np.allclose(ratio, ratio[0], rtol=1e-4)


def test_waypoints_switch_at_the_middle_and_at_the_range():
    line = np.array([[-40.0, 1, 0], [-30, 1, 0], [-20, 1, 0], [-10, 1, 0]])
    vehicle = Vehicle(1.0, 1.0)
    flight = fly(vehicle, Scenario(start=(-40.0, 1.0, 0.0), switch_range=22.0), line)
    assert flight.within_range
    first = flight.positions[flight.direct_from]
    assert 21.8 < np.linalg.norm(first) < 22.0
    assert np.abs(flight.positions[: flight.direct_from, 1] - 1).max() < 1e-12
    ends = Scenario(start=(-40.0, 1.0, 0.0), switch_range=0.0)
    early = fly(vehicle, ends, line[:2])
    assert not early.within_range
    assert -35.0 < early.positions[early.direct_from, 0] < -34.8


def test_waypoints_that_are_passed_together_are_left_together():
    """Beyond 5 km the second is nearer than the first, and the third still nearer."""
    places = np.array([[-40.0, 0, 0], [-30, 0, 0], [-34, 0, 0]])
    scenario = Scenario(start=(-40.0, 0.0, 0.0), switch_range=0.0)
    assert fly(Vehicle(1.0, 1.0, step=0.3), scenario, places).direct_from == 17


@pytest.mark.parametrize("vehicle", [f.FIRST_FIT, f.THIRD_FIT])
def test_flight_by_waypoints_against_an_adaptive_integrator(vehicle):
    """Legs with a free arrival, then the way to the target with the vehicle's own."""
    fine = dataclasses.replace(vehicle, step=0.02)
    places = np.array([X0, [-180, -50, 10], [-160, -30, 10], [-150, 0, 10]])
    flight = fly(fine, Scenario(), places)

    def solve(y, time, span, goal, arrive=None, event=None):
        def motion(_, y):
            turn = genex(goal - y[:3], y[3:], vehicle.exponent, arrive)
            return np.concatenate((y[3:], turn))

        ends = (time, time + span)
        return integrate.solve_ivp(
            motion, ends, y, events=event, rtol=1e-10, atol=1e-10
        )

    y, time = np.concatenate((X0, [vehicle.speed, 0.0, 0.0])), 0.0
    for here, there in itertools.pairwise(places):

        def nearer(_, y, here=here, there=there):
            return np.linalg.norm(y[:3] - there) - np.linalg.norm(y[:3] - here)

        nearer.terminal = True
        leg = solve(y, time, 500, there, event=nearer)
        y, time = leg.y[:, -1], leg.t[-1]
        gap = flight.positions[int(time / fine.step)] - y[:3]
        assert np.linalg.norm(gap) < 2 * 0.02 * vehicle.speed
    assert abs(flight.direct_from * fine.step - time) < 3 * fine.step
    sight = -vehicle.speed * y[:3] / np.linalg.norm(y[:3])
    arrive = None if vehicle.arrival == "free" else sight
    last = solve(y, time, 60, np.zeros(3), arrive)
    gap = flight.positions[round((time + 60) / fine.step)] - last.y[:3, -1]
    assert np.linalg.norm(gap) < 3 * 0.02 * vehicle.speed


def test_a_flight_that_never_arrives_is_an_error():
    with pytest.raises(RuntimeError, match="has not arrived after 5000 s"):
        fly(Vehicle(0.04, 1), Scenario())


@pytest.mark.parametrize("arrival", ["free", "line of sight"])
@pytest.mark.parametrize("near", [0.0, 80.0])
def test_who_starts_at_the_target_is_there(arrival, near):
    here = Scenario(start=(1.0, 2.0, 3.0), target=(1.0, 2.0, 3.0), switch_range=near)
    flight = fly(Vehicle(1.0, 1.0, arrival=arrival), here)
    assert flight.final_time == 0.0
    assert flight.positions.tolist() == [[1.0, 2.0, 3.0]]
    assert not flight.accelerations.any()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"speed": 0.0}, "speed"),
        ({"exponent": -1.0}, "exponent"),
        ({"arrival": "any"}, "arrival"),
        ({"step": 0.0}, "step"),
    ],
)
def test_bad_vehicle(change, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of Vehicle"):
        Vehicle(**{"speed": 1.0, "exponent": 1.0, **change})
