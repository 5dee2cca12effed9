"""Adversaries: extrapolation against integration, the rule, and triangulation."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from dplib.rewards import flight as f
from dplib.rewards.adversary import detect, fly_routes, guesses, triangulate, watch
from dplib.rewards.flight import Flight, Vehicle, fly
from dplib.rewards.paper import Scenario, paper_grid
from dplib.rewards.waypoints import Route

GRID, SCENARIO = paper_grid(), Scenario()


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
    seen = Flight(np.zeros(1), x[None], v[None], a[None], time, 0, False)
    end = guesses(seen, decay=decay)[0]
    assert np.allclose(end, path.y[:3, -1], rtol=1e-6, atol=1e-6)


def test_constant_speed_is_detected_at_once():
    scenario = Scenario(start=(-100.0, 0.0, 0.0), radius=1e-6)
    found = watch(scenario, fly(Vehicle(2, 1), scenario))
    assert found.step == 2
    assert found.distance == pytest.approx(100 - 2 * 0.2)


def test_three_in_a_row_not_three_in_all():
    scenario = Scenario(start=(-2.0, 0.0, 0.0), radius=0.5)
    flight = fly(Vehicle(1, 1), scenario)
    guess = np.full(flight.positions.shape, 9.0)
    guess[[1, 2, 4, 6, 7, 8, 9]] = 0.0
    guess[3] = np.nan
    assert detect(scenario, flight, guess).step == 8
    # Broken rules would say 1 (no run) or 4 (three in all).
    one, five = (dataclasses.replace(scenario, in_a_row=n) for n in (1, 5))
    assert detect(one, flight, guess).step == 1
    none = detect(five, flight, guess)
    assert not none.found
    assert none.distance == 0.0


@pytest.mark.parametrize("vehicle", [f.FIRST_FIT, f.SECOND_FIT, f.THIRD_FIT])
def test_fits_are_detected_at_the_printed_distance(vehicle):
    flight = fly(vehicle, SCENARIO)
    assert abs(watch(SCENARIO, flight).distance - 101.5) < 0.05


@pytest.mark.parametrize(
    "change",
    [{"decay": 0.05}, {"radius": 2.0}, {"in_a_row": 300}, {"target": (0.5, 0, 0)}],
)
def test_watching_heeds_every_part_of_the_scenario(change):
    """Half the rate of decay moves the detection by kilometres."""
    flight = fly(f.FIRST_FIT, SCENARIO)
    found = watch(Scenario(**change), flight)
    assert abs(found.distance - watch(SCENARIO, flight).distance) > 0.2


@pytest.mark.parametrize("vehicle", [f.FIRST_FIT, f.SECOND_FIT])
def test_triangulation_finds_the_target_from_two_accelerations(vehicle):
    flight = fly(vehicle, SCENARIO)
    points = triangulate(flight, exponent=vehicle.exponent)
    assert np.isnan(points[0]).all()
    assert np.linalg.norm(points[1:500], axis=1).max() < 0.01
    # With the wrong exponent it does not.
    wrong = triangulate(flight, exponent=vehicle.exponent + 1)
    assert np.linalg.norm(wrong[1:500], axis=1).min() > 5.0


def test_triangulation_has_no_guess_where_the_acceleration_grows_or_vanishes():
    places = np.array([SCENARIO.start, [-180.0, -50.0, 10.0], [-160.0, 0.0, 10.0]])
    flight = fly(f.FIRST_FIT, SCENARIO, places)
    size = np.linalg.norm(flight.accelerations, axis=1)
    grows = np.flatnonzero(size[1:] > size[:-1]) + 1
    assert grows.size > 0
    points = triangulate(flight, exponent=f.FIRST_FIT.exponent)
    assert np.isnan(points[grows]).all()
    straight = fly(Vehicle(2, 1), Scenario(start=(-8.0, 0.0, 0.0)))
    assert np.isnan(triangulate(straight, exponent=1.0)).all()


def test_outcomes_equal_flights_one_by_one():
    """Flights are kept by the whole route, not by its beginning."""
    states = np.array([GRID.state((c, 7)) for c in range(15)])
    routes = [Route(states[:n], "to target") for n in (1, 12, 15, 12)]
    out = fly_routes(f.FIRST_FIT, SCENARIO, GRID, routes)
    places = GRID.positions()
    flights = [fly(f.FIRST_FIT, SCENARIO, places[one.states]) for one in routes]
    single = [watch(SCENARIO, one).distance for one in flights]
    assert out.distances.tolist() == single
    assert len(set(single)) == 3
    assert out.within.tolist() == [flight.within_range for flight in flights]
    assert set(out.within.tolist()) == {True, False}
    assert out.waypoints.tolist() == [1, 12, 15, 12]
