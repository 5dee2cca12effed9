"""Adversaries: extrapolation against integration, the rule, and triangulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from dplib.rewards import guidance
from dplib.rewards.adversary import ballistic_end, detect, guesses, triangulate
from dplib.rewards.guidance import Flight, Vehicle, fly

X0, EAST, TARGET = [-200.0, -50.0, 10.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]


@settings(max_examples=20)
@given(st.floats(0.01, 1.0), st.floats(0.1, 100.0), st.integers(0, 99))
def test_extrapolation_against_integration(decay, time, seed):
    x, v, a = np.random.default_rng(seed).normal(size=(3, 3))
    path = integrate.solve_ivp(
        lambda t, y: np.concatenate((y[3:], a * np.exp(-decay * t))),
        (0.0, time),
        np.concatenate((x, v)),
        rtol=1e-10,
        atol=1e-10,
    )
    end = ballistic_end([x], [v], [a], remaining=[time], decay=decay)[0]
    assert np.allclose(end, path.y[:3, -1], rtol=1e-6, atol=1e-6)


def test_small_times_do_not_cancel():
    """a T^2 / 2 to first order, where the closed form loses all its digits."""
    end = ballistic_end(
        np.zeros((1, 3)), np.zeros((1, 3)), [[1, 0, 0]], remaining=[1e-9], decay=0.1
    )
    assert end[0, 0] == pytest.approx(0.5e-18, rel=1e-9)
    edge = [
        ballistic_end(
            np.zeros((1, 3)), np.zeros((1, 3)), [[1, 0, 0]], remaining=[t], decay=1.0
        )[0, 0]
        for t in (0.000999999, 0.001000001)
    ]
    assert edge[1] / edge[0] == pytest.approx((1.000001 / 0.999999) ** 2, rel=1e-8)


@pytest.mark.parametrize(
    ("times", "accuracy"),
    [
        ((1e-9, 1e-5, 3e-4, 9.999e-4, 1.001e-3, 1e-2, 0.0999), 1e-15),
        ((0.1, 0.1001, 0.2, 0.5, 1.0, 3.0), 1e-14),
    ],
)
def test_short_times_against_exact_arithmetic(times, accuracy):
    """s - 1 + exp(-s) by its series in fractions."""
    for time in times:
        s = Fraction(time)
        exact = sum((-s) ** k / math.factorial(k) for k in range(2, 60))
        end = ballistic_end(
            np.zeros((1, 3)), np.zeros((1, 3)), [[1, 0, 0]], remaining=[time], decay=1.0
        )
        assert end[0, 0] == pytest.approx(float(exact), rel=accuracy, abs=0)


def test_constant_speed_is_detected_at_once():
    flight = fly(Vehicle(2, 1), start=[-100, 0, 0], heading=EAST, target=TARGET)
    found = detect(flight, guesses(flight, decay=0.1), target=TARGET, radius=1e-6)
    assert found.step == 2
    assert found.distance == pytest.approx(100 - 2 * 0.2)


def test_three_in_a_row_not_three_in_all():
    flight = fly(Vehicle(1, 1), start=[-2, 0, 0], heading=EAST, target=TARGET)
    far, near = [9.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    guess = np.array([far] * len(flight.times))
    guess[[1, 2, 4, 6, 7, 8, 9]] = near
    assert detect(flight, guess, target=TARGET, radius=0.5).step == 8
    # Broken rules would say 1 (no run) or 4 (three in all).
    assert detect(flight, guess, target=TARGET, radius=0.5, in_a_row=1).step == 1
    none = detect(flight, guess, target=TARGET, radius=0.5, in_a_row=5)
    assert not none.found
    assert none.distance == 0.0


@pytest.mark.parametrize(
    "vehicle", [guidance.FIRST_FIT, guidance.SECOND_FIT, guidance.THIRD_FIT]
)
def test_fits_are_detected_at_the_printed_distance(vehicle):
    flight = fly(vehicle, start=X0, heading=EAST, target=TARGET)
    found = detect(flight, guesses(flight, decay=0.1), target=TARGET, radius=0.7)
    assert abs(found.distance - 101.5) < 0.05


def test_half_the_decay_would_be_noticed():
    """Half the rate of decay moves the detection by kilometres."""
    flight = fly(guidance.FIRST_FIT, start=X0, heading=EAST, target=TARGET)
    found = detect(flight, guesses(flight, decay=0.05), target=TARGET, radius=0.7)
    assert abs(found.distance - 101.5) > 2.0


@pytest.mark.parametrize("vehicle", [guidance.FIRST_FIT, guidance.SECOND_FIT])
def test_triangulation_finds_the_target_from_two_accelerations(vehicle):
    flight = fly(vehicle, start=X0, heading=EAST, target=TARGET)
    points = triangulate(flight, exponent=vehicle.exponent)
    assert np.isnan(points[0]).all()
    assert np.linalg.norm(points[1:500], axis=1).max() < 0.01
    # The wrong law does not.
    wrong = triangulate(flight, exponent=vehicle.exponent + 1)
    assert np.linalg.norm(wrong[1:500], axis=1).min() > 5.0


def test_triangulation_has_no_guess_where_the_acceleration_grows():
    flight = fly(
        guidance.FIRST_FIT,
        start=X0,
        heading=EAST,
        target=TARGET,
        waypoints=[X0, [-180.0, -50.0, 10.0], [-160.0, 0.0, 10.0]],
    )
    size = np.linalg.norm(flight.accelerations, axis=1)
    grows = np.flatnonzero(size[1:] > size[:-1]) + 1
    assert grows.size > 0
    points = triangulate(flight, exponent=guidance.FIRST_FIT.exponent)
    assert np.isnan(points[grows]).all()


def test_triangulation_has_no_guess_without_acceleration():
    flight = fly(Vehicle(2, 1), start=[-8, 0, 0], heading=EAST, target=TARGET)
    assert np.isnan(triangulate(flight, exponent=1.0)).all()


def test_long_times_and_odd_rates_do_not_overflow():
    for time, decay in ((1e60, 1e60), (1e60, 1e-60), (0.0, 1e60), (1e-60, 1e-60)):
        end = ballistic_end([X0], [X0], [X0], remaining=[time], decay=decay)
        assert np.isfinite(end).all()
    with pytest.raises(ValueError, match="'decay' parameter of ballistic_end"):
        ballistic_end([X0], [X0], [X0], remaining=[1.0], decay=1e-200)


def test_no_guess_for_a_vehicle_that_stands_still():
    flight = Flight(
        times=[0.0, 1.0],
        positions=np.zeros((2, 3)),
        velocities=np.zeros((2, 3)),
        accelerations=[[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
        final_time=1.0,
        direct_from=0,
        within_range=False,
    )
    assert np.isnan(triangulate(flight, exponent=1.0)).all()
    with pytest.raises(ValueError, match="'exponent' parameter of triangulate"):
        triangulate(flight, exponent=1e200)


@pytest.mark.parametrize("junk", [True, 1j, "a", None, 1e308, np.inf])
def test_guesses_are_real_numbers_or_none(junk):
    flight = fly(Vehicle(2, 1), start=[-8, 0, 0], heading=EAST, target=TARGET)
    guess = np.full(flight.positions.shape, junk)
    with pytest.raises((TypeError, ValueError), match="'guess' parameter of detect"):
        detect(flight, guess, target=TARGET, radius=0.7)
    nothing = np.full(flight.positions.shape, np.nan)
    assert not detect(flight, nothing, target=TARGET, radius=0.7).found


def test_arguments():
    flight = fly(Vehicle(2, 1), start=[-8, 0, 0], heading=EAST, target=TARGET)
    with pytest.raises(ValueError, match="'decay' parameter of ballistic_end"):
        guesses(flight, decay=0.0)
    with pytest.raises(ValueError, match="'guess' parameter of detect"):
        detect(flight, np.zeros((2, 3)), target=TARGET, radius=0.7)
    with pytest.raises(ValueError, match="'remaining' parameter of ballistic_end"):
        ballistic_end([X0], [X0], [X0], remaining=[-1.0], decay=0.1)
