"""Guidance: GENEX against its other forms and optimal control, flights, steps."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from dplib.rewards import guidance
from dplib.rewards.guidance import Vehicle, fly, genex, genex_turn

X0, EAST, TARGET = [-200.0, -50.0, 10.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]
EXPONENTS = st.floats(0.0, 4.0)
VECTORS = st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3)


def optimal(r, v, time, k, final=None):
    """Minimum of the integral of u^2 / T^k: u = T^k (c0 + c1 T), at the start.

    Moments of u give velocity and position at the end; c0 = 0 if that velocity is free.
    """
    miss = np.asarray(r) - np.asarray(v) * time
    if final is None:
        return time ** (k + 1) * miss * (k + 3) / time ** (k + 3)
    moments = np.array(
        [
            [time ** (k + 1) / (k + 1), time ** (k + 2) / (k + 2)],
            [time ** (k + 2) / (k + 2), time ** (k + 3) / (k + 3)],
        ]
    )
    c0, c1 = np.linalg.solve(moments, [np.asarray(final) - np.asarray(v), miss])
    return time**k * (c0 + c1 * time)


@given(VECTORS, VECTORS, VECTORS, EXPONENTS, st.floats(0.5, 5.0))
def test_genex_is_the_optimal_control(r, v, final, k, time):
    for end in (None, final):
        ours = genex(r, v, time_to_go=time, exponent=k, final_velocity=end)
        assert np.allclose(ours, optimal(r, v, time, k, end), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("k", [0.0, 1.0, 2.5])
def test_genex_in_the_linear_model_arrives_as_asked(k):
    x, v, final = np.array([1.0, 2.0, 0.0]), np.array([0.5, 0, 0]), np.array([0, 1, 0])
    step, total = 1e-4, 2.0
    for i in range(19_980):
        time = total - i * step
        u = genex(-x, v, time_to_go=time, exponent=k, final_velocity=final)
        x, v = x + step * v + 0.5 * step**2 * u, v + step * u
    assert np.linalg.norm(x) < 5e-3
    assert np.linalg.norm(v - final) < 2e-2


@given(VECTORS, VECTORS, VECTORS, EXPONENTS)
def test_both_forms_turn_alike(r, v, w, k):
    if min(map(np.linalg.norm, (r, v, w))) < 0.1:
        return
    speed = np.linalg.norm(v)
    final = speed * np.asarray(w) / np.linalg.norm(w)
    time = float(np.linalg.norm(r) / speed)
    u = genex(r, v, time_to_go=time, exponent=k, final_velocity=final)
    u -= (u @ v) / speed**2 * np.asarray(v)
    turn = genex_turn(r, v, exponent=k, direction=w)
    assert np.allclose(u, turn, rtol=1e-8, atol=1e-8)


def test_wrong_gain_is_noticed():
    """With k + 2 for k + 3 the law is not optimal."""
    r, v = [3.0, 1.0, 0.0], [1.0, 0.0, 0.0]
    wrong = 4.0 * (np.array(r) - 2.0 * np.array(v)) / 4.0
    assert not np.allclose(wrong, optimal(r, v, 2.0, 2.0))
    assert np.allclose(genex(r, v, time_to_go=2, exponent=2), optimal(r, v, 2.0, 2.0))


def test_straight_flight_takes_distance_over_speed():
    flight = fly(Vehicle(2.0, 1.0), start=[3, 4, 0], heading=[-3, -4, 0], target=TARGET)
    assert flight.final_time == pytest.approx(2.5, abs=1e-12)
    assert np.abs(flight.accelerations).max() < 1e-9
    assert flight.direct_from == 0
    assert not flight.within_range


@pytest.mark.parametrize(
    "vehicle", [guidance.FIRST_FIT, guidance.SECOND_FIT, guidance.THIRD_FIT]
)
def test_speed_is_constant_and_acceleration_normal(vehicle):
    flight = fly(vehicle, start=X0, heading=EAST, target=TARGET)
    speed = np.linalg.norm(flight.velocities, axis=1)
    assert np.allclose(speed, vehicle.speed, rtol=1e-12)
    along = np.sum(flight.accelerations * flight.velocities, axis=1)
    assert np.abs(along).max() < 1e-12


def test_compiled_law_is_genex():
    for vehicle in (guidance.FIRST_FIT, guidance.THIRD_FIT):
        flight = fly(vehicle, start=X0, heading=EAST, target=TARGET)
        sight = -np.array(X0) * vehicle.speed / np.linalg.norm(X0)
        final = None if vehicle.arrival == "free" else sight
        for i in (0, 500, 1000):
            r, v = -flight.positions[i], flight.velocities[i]
            time = float(np.linalg.norm(r)) / vehicle.speed
            u = genex(
                r, v, time_to_go=time, exponent=vehicle.exponent, final_velocity=final
            )
            u -= (u @ v) / (v @ v) * v
            assert np.allclose(flight.accelerations[i], u, rtol=1e-9, atol=1e-12)


def test_step_is_second_order():
    """Position after 100 s: halving the step divides the error by four."""
    where = []
    for step in (0.4, 0.2, 0.1, 0.05):
        vehicle = Vehicle(1.224, 2.0, step=step)
        flight = fly(vehicle, start=X0, heading=EAST, target=TARGET)
        where.append(flight.positions[round(100 / step)])
    errors = [np.linalg.norm(a - b) for a, b in itertools.pairwise(where)]
    assert 3.5 < errors[0] / errors[1] < 4.5
    assert 3.5 < errors[1] / errors[2] < 4.5
    assert errors[2] < 1e-4


def test_heading_error_closes_as_theory_says():
    """Free arrival: dR/dt = -V cos d and sin d is proportional to R^(k + 2)."""
    flight = fly(Vehicle(1.224, 2.0, step=0.02), start=X0, heading=EAST, target=TARGET)
    r, v = -flight.positions, flight.velocities
    R = np.linalg.norm(r, axis=1)
    sine = np.linalg.norm(np.cross(r, v), axis=1) / (R * 1.224)
    ratio = sine / R**4
    keep = R > 50.0
    assert np.allclose(ratio[keep], ratio[0], rtol=1e-4)


def test_waypoints_switch_at_the_middle_and_at_the_range():
    route = [[0, 0, 0], [10, 0, 0], [20, 0, 0], [30, 0, 0]]
    flight = fly(
        Vehicle(1.0, 1.0, step=0.1),
        start=[0, 0, 0],
        heading=EAST,
        target=[40.0, 1.0, 0.0],
        waypoints=route,
        switch_range=22.0,
    )
    first = flight.positions[flight.direct_from]
    assert flight.within_range
    assert 21.8 < np.linalg.norm(first - [40, 1, 0]) < 22.0
    assert np.abs(flight.positions[: flight.direct_from, 1]).max() < 1e-12
    early = fly(
        Vehicle(1.0, 1.0, step=0.1),
        start=[0, 0, 0],
        heading=EAST,
        target=[40.0, 1.0, 0.0],
        waypoints=route[:2],
    )
    assert not early.within_range
    assert 5.0 < early.positions[early.direct_from, 0] < 5.2


def test_waypoints_that_are_passed_together_are_left_together():
    """Beyond 5 km the second is nearer than the first, and the third still nearer."""
    flight = fly(
        Vehicle(1.0, 1.0, step=0.3),
        start=[0, 0, 0],
        heading=EAST,
        target=[40.0, 1.0, 0.0],
        waypoints=[[0, 0, 0], [10, 0, 0], [6, 0, 0]],
    )
    assert flight.direct_from == 17


@pytest.mark.parametrize("vehicle", [guidance.FIRST_FIT, guidance.THIRD_FIT])
def test_flight_by_waypoints_against_an_adaptive_integrator(vehicle):
    """Legs with a free arrival, then the way to the target with the vehicle's own."""
    fine = dataclasses.replace(vehicle, step=0.02)
    places = np.array([X0, [-180, -50, 10], [-160, -30, 10], [-150, 0, 10]])
    flight = fly(fine, start=X0, heading=EAST, target=TARGET, waypoints=places)

    def motion(goal, arrive):
        def slope(_, y):
            x, v = y[:3], y[3:]
            r = np.asarray(goal) - x
            time = np.linalg.norm(r) / vehicle.speed
            u = genex(
                r,
                v,
                time_to_go=time,
                exponent=vehicle.exponent,
                final_velocity=arrive,
            )
            return np.concatenate((v, u - (u @ v) / (v @ v) * v))

        return slope

    y, time = np.concatenate((X0, np.array(EAST) * vehicle.speed)), 0.0
    for here, there in itertools.pairwise(places):

        def nearer(_, y, here=here, there=there):
            return np.linalg.norm(y[:3] - there) - np.linalg.norm(y[:3] - here)

        nearer.terminal = True
        leg = integrate.solve_ivp(
            motion(there, None),
            (time, time + 500),
            y,
            events=nearer,
            rtol=1e-10,
            atol=1e-10,
        )
        y, time = leg.y[:, -1], leg.t[-1]
        n = int(time / fine.step)
        assert np.linalg.norm(flight.positions[n] - y[:3]) < 2 * 0.02 * vehicle.speed
    sight = -vehicle.speed * y[:3] / np.linalg.norm(y[:3])
    arrive = None if vehicle.arrival == "free" else sight
    last = integrate.solve_ivp(
        motion(TARGET, arrive), (time, time + 60), y, rtol=1e-10, atol=1e-10
    )
    n = round((time + 60) / fine.step)
    assert abs(flight.direct_from * fine.step - time) < 3 * fine.step
    assert (
        np.linalg.norm(flight.positions[n] - last.y[:3, -1]) < 3 * 0.02 * vehicle.speed
    )


def test_a_flight_that_never_arrives_is_an_error():
    with pytest.raises(RuntimeError, match="has not arrived after 10 s"):
        fly(Vehicle(1, 1), start=X0, heading=EAST, target=TARGET, max_time=10)


def test_the_longest_time_is_kept_exactly():
    """Four kilometres at 2 km/s take 2 s."""
    to = {"start": [0, 0, 0], "heading": EAST, "target": [4.0, 0.0, 0.0]}
    for step in (0.5, 0.3):
        vehicle = Vehicle(2.0, 1.0, step=step)
        assert fly(vehicle, **to, max_time=2.0 + 1e-9).final_time <= 2.0 + 1e-9
        with pytest.raises(RuntimeError, match="has not arrived"):
            fly(vehicle, **to, max_time=1.99)


def test_exact_arrival_does_not_divide_by_zero():
    flight = fly(Vehicle(2.0, 1.0, step=0.5), start=[0, 0, 0], heading=EAST,
                 target=[4.0, 0.0, 0.0])  # fmt: skip
    assert np.isfinite(flight.accelerations).all()


@pytest.mark.parametrize("arrival", ["free", "line of sight"])
@pytest.mark.parametrize("near", [0.0, 80.0])
def test_who_starts_at_the_target_is_there(arrival, near):
    vehicle = Vehicle(1.0, 1.0, arrival=arrival)
    flight = fly(vehicle, start=X0, heading=EAST, target=X0, switch_range=near)
    assert flight.final_time == 0.0
    assert flight.positions.tolist() == [X0]
    assert not flight.accelerations.any()


def test_a_round_trip_by_way_of_waypoints():
    places = [X0, [-190.0, -50.0, 10.0], [-190.0, -40.0, 10.0]]
    trip = fly(Vehicle(1.0, 1.0), start=X0, heading=EAST, target=X0, waypoints=places)
    assert 20.0 < trip.final_time < 60.0


def test_an_equal_waypoint_is_passed_at_once():
    """No vehicle would ever be nearer to the second of two equal ones."""
    way = {"start": [0, 0, 0], "heading": EAST, "target": [9.0, 1.0, 0.0]}
    once = [[0, 0, 0], [3, 0, 0], [5, 0, 0]]
    twice = [[0, 0, 0], [0, 0, 0], [3, 0, 0], [3, 0, 0], [3, 0, 0], [5, 0, 0]]
    flights = [fly(Vehicle(1.0, 1.0), **way, waypoints=w) for w in (once, twice)]
    assert np.array_equal(flights[0].positions, flights[1].positions)
    # Only neighbours: who comes back to a place flies there again.
    loop = [[0, 0, 0], [3, 0, 0], [5, 2, 0], [3, 4, 0], [3, 0, 0]]
    out, back = (fly(Vehicle(1.0, 1.0), **way, waypoints=w) for w in (loop[:4], loop))
    assert back.direct_from > out.direct_from


@pytest.mark.parametrize(
    ("step", "max_time"),
    [(1e-6, 5000.0), (0.1, 1e12), (0.1, 1.01e6), (0.1, 1e200), (0.1, 1e308)],
)
def test_too_many_steps_are_refused(step, max_time):
    with pytest.raises(ValueError, match="'max_time' parameter of fly"):
        fly(Vehicle(1.0, 1.0, step=step), start=X0, heading=EAST, target=TARGET,
            max_time=max_time)  # fmt: skip


@pytest.mark.parametrize("number", [1e-200, 1e200])
def test_numbers_out_of_range_are_refused(number):
    size = {"time_to_go": 1.0, "exponent": 1.0}
    for name in size:
        if (name, number) != ("exponent", 1e-200):
            with pytest.raises(ValueError, match=f"'{name}' parameter of genex"):
                genex(EAST, EAST, **{**size, name: number})
    with pytest.raises(ValueError, match="parameter of genex_turn"):
        genex_turn([number, 0, 0], EAST, exponent=1.0, direction=EAST)
    # At the ends of the range nothing overflows.
    ends = {"time_to_go": 1e-60, "exponent": 1000.0, "final_velocity": [1e60, 0, 0]}
    assert np.isfinite(genex([-1e60, 0, 0], [-1e60, 0, 0], **ends)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": []}, "one or more ascending"),
        ({"times": np.zeros(5)}, "one or more ascending"),
        ({"positions": np.zeros((2, 3))}, "shape"),
        ({"velocities": np.full((1, 3), np.nan)}, "shape|finite"),
        ({"final_time": 0.0}, "not before the last step"),
        ({"direct_from": 10**6}, "an integer between 0 and"),
        ({"within_range": 1}, "a bool"),
    ],
)
def test_bad_flight(change, message):
    flight = fly(Vehicle(2, 1), start=[-8, 0, 0], heading=EAST, target=TARGET)
    with pytest.raises(
        (TypeError, ValueError), match=f"of Flight must be.*({message})"
    ):
        dataclasses.replace(flight, **change)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"speed": 0.0}, "speed"),
        ({"exponent": -1.0}, "exponent"),
        ({"exponent": 1001.0}, "exponent"),
        ({"arrival": "any"}, "arrival"),
        ({"step": 0.0}, "step"),
    ],
)
def test_bad_vehicle(change, name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of Vehicle"):
        Vehicle(**{"speed": 1.0, "exponent": 1.0, **change})
