"""Waypoints: moves, rewards, routes, and Example 3 from end to end."""

import numpy as np
import pytest

from dplib.mdp.policy_iteration import modified_policy_iteration, policy_iteration
from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards import guidance
from dplib.rewards.adversary import detect, guesses
from dplib.rewards.waypoint_flights import (
    VANISHING,
    Scenario,
    fly_route,
    fly_routes,
    private_routes,
    watch,
)
from dplib.rewards.waypoints import (
    ACTIONS,
    DESIGNS,
    READINGS,
    Grid,
    Route,
    grid_moves,
    paper_grid,
    reward_table,
    route,
    waypoint_mdp,
)
from dplib.rng import stream

GRID = paper_grid()
GOAL = GRID.state(GRID.goal)
TO_TARGET = ACTIONS.index("to target")


def normals(samples):
    return stream(7, "waypoints").standard_normal((samples, 400, 5))


def test_moves_by_coordinates():
    places = GRID.positions()
    for reading in READINGS:
        moves = grid_moves(GRID, reading=reading)
        shift = places[moves] - places[:, None]
        inside = np.abs(shift[:, :4]).sum(axis=2) > 0
        assert inside.sum() == 4 * 400 - 4 * 20  # at walls a move changes nothing
        assert np.allclose(shift[inside[:, 0], 0], [0, 10, 0])
        assert np.allclose(shift[inside[:, 1], 1], [0, -10, 0])
        assert np.allclose(shift[inside[:, 2], 2], [200 / 19, 0, 0])
        assert np.allclose(shift[inside[:, 3], 3], [-200 / 19, 0, 0])
    assert np.all(grid_moves(GRID, reading="jump")[:, 4] == GOAL)
    assert np.all(grid_moves(GRID, reading="stay")[:, 4] == np.arange(400))


def test_rewards_of_all_designs():
    places = GRID.positions()
    away = np.hypot(places[:, 0], places[:, 1])
    for design in DESIGNS:
        table = reward_table(GRID, design=design, goal_reward=50.0)
        assert table[GOAL, TO_TARGET] == 50.0
        assert table.max() == 50.0
        assert np.delete(table.ravel(), GOAL * 5 + 4).max() <= 0
    table = reward_table(GRID, design="distance", goal_reward=5.0, toll=0.5)
    assert np.allclose(table[:, 0], -away / 20)
    assert np.allclose(np.delete(table[:, 4], GOAL),
                       np.delete(-away / 20 - 0.5 * away, GOAL))  # fmt: skip
    line = reward_table(GRID, design="cross-track", goal_reward=5.0)[:, 0]
    assert line[GRID.state(GRID.start)] == pytest.approx(-1.0)
    assert line[GOAL] == pytest.approx(-1.0)


def reward_by_hand(design, x, y, gain):
    """What a move from (x, y) that gains so many km earns; scale 16 km."""
    straight = abs(200 * (y + 50) - 50 * (x + 200)) / np.hypot(200, 50)
    return {
        "flat": -1,
        "distance": -np.hypot(x, y) / 16,
        "progress": gain / 16 - 1,
        "cross-track": -straight / 16 - 1,
        "corridor": -abs(y) / 16 - 1,
    }[design]


@pytest.mark.parametrize("design", DESIGNS)
def test_every_reward_by_hand(design):
    table = reward_table(GRID, design=design, goal_reward=7.0, scale=16.0, toll=0.25)
    places = GRID.positions()
    moves = grid_moves(GRID, reading="stay")
    for state in range(400):
        x, y = places[state, :2]
        for action in range(5):
            there = places[moves[state, action], :2]
            gain = np.hypot(x, y) - np.hypot(*there)
            wanted = reward_by_hand(design, x, y, gain)
            if action == TO_TARGET:
                wanted = 7.0 if state == GOAL else wanted - 0.25 * np.hypot(x, y)
            assert table[state, action] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("sigma", [VANISHING, 0.5, 5.0])
def test_private_routes_are_those_of_exactly_solved_noisy_rewards(sigma):
    """Twice, half or root two times the noise, or a loose tolerance, is noticed."""
    model = waypoint_mdp(GRID, reading="stay", discount=0.95)
    table = reward_table(GRID, design="flat", goal_reward=50.0)
    draws = normals(4)
    found = private_routes(
        GRID, table, draws, sigma=sigma, discount=0.95, reading="stay"
    )
    for have, draw in zip(found, draws, strict=True):
        plan = policy_iteration(model, table + sigma * draw)
        wanted = route(GRID, plan.policy)
        assert have.states.tolist() == wanted.states.tolist()
        assert have.ends == wanted.ends


@pytest.mark.parametrize("unit", [1e-30, 1e9])
def test_routes_do_not_depend_on_the_unit_of_the_rewards(unit):
    table = reward_table(GRID, design="flat", goal_reward=50.0)
    here, there = (
        private_routes(
            GRID,
            one * table,
            normals(3),
            sigma=5.0 * one,
            discount=0.95,
            reading="stay",
        )
        for one in (1.0, unit)
    )
    assert [r.states.tolist() for r in here] == [r.states.tolist() for r in there]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"start": (0.0, 1.0)}, "start"),
        ({"target": (0.0, np.nan, 1.0)}, "target"),
        ({"radius": 0.0}, "radius"),
        ({"decay": -1.0}, "decay"),
        ({"in_a_row": 0}, "in_a_row"),
        ({"switch_range": "80"}, "switch_range"),
    ],
)
def test_a_bad_scenario_is_refused(change, name):
    with pytest.raises(
        (TypeError, ValueError), match=f"'{name}' parameter of Scenario"
    ):
        Scenario(**change)


def test_a_route_of_another_grid_is_refused():
    far = route(Grid(np.arange(30.0), np.arange(30.0), 1.0, (29, 29), (0, 0)),
                np.full(900, TO_TARGET))  # fmt: skip
    with pytest.raises(ValueError, match="'found' parameter of fly_route"):
        fly_route(guidance.FIRST_FIT, Scenario(), GRID, far)


def test_watching_heeds_every_part_of_the_scenario():
    flight = fly_route(guidance.FIRST_FIT, Scenario(), GRID, None)
    base = watch(Scenario(), flight)
    for change in (
        {"decay": 0.05},
        {"radius": 2.0},
        {"in_a_row": 300},
        {"target": (0.5, 0.0, 0.0)},
    ):
        scenario = Scenario(**change)
        found = watch(scenario, flight)
        rule = {name: getattr(scenario, name) for name in ("radius", "in_a_row")}
        guess = guesses(flight, decay=scenario.decay)
        assert found == detect(flight, guess, target=scenario.target, **rule)
        assert found != base


def test_optimal_value_in_closed_form():
    """Flat: 24 moves at -1, then R for ever (reading stay)."""
    model = waypoint_mdp(GRID, reading="stay", discount=0.95)
    table = reward_table(GRID, design="flat", goal_reward=50.0)
    plan = modified_policy_iteration(model, table, tolerance=1e-7)
    exact = -(1 - 0.95**24) / 0.05 + 0.95**24 * 50 / 0.05
    assert plan.values[GRID.state(GRID.start)] == pytest.approx(exact, abs=1e-6)


def test_route_ends_at_to_target_or_closes_a_circle():
    policy = np.full(400, ACTIONS.index("east"))
    policy[GRID.state((3, 7))] = TO_TARGET
    found = route(GRID, policy)
    assert found.ends == "to target"
    assert len(found.states) == 4
    policy[GRID.state((3, 7))] = ACTIONS.index("west")
    found = route(GRID, policy)
    assert found.ends == "loop"
    assert len(found.states) == 4
    policy[GRID.state(GRID.start)] = ACTIONS.index("west")  # the wall
    found = route(GRID, policy)
    assert found.ends == "loop"
    assert len(found.states) == 1


def test_without_privacy_routes_are_shortest():
    for design in DESIGNS:
        table = reward_table(GRID, design=design, goal_reward=50.0)
        for found in private_routes(
            GRID, table, normals(3), sigma=VANISHING, discount=0.95, reading="stay"
        ):
            assert found.ends == "to target"
            assert found.states[-1] == GOAL
            assert len(found.states) == 1 + 19 + 5


def test_noise_is_common_to_all_levels_and_matters():
    table = reward_table(GRID, design="distance", goal_reward=50.0)
    draws = normals(10)

    def of(sigma):
        found = private_routes(
            GRID, table, draws, sigma=sigma, discount=0.95, reading="stay"
        )
        return [r.states.tolist() for r in found]

    sigma = kappa_sigma(sensitivity=1.0, epsilon=0.2, delta=0.1)
    assert of(sigma) == of(sigma)
    assert of(sigma) != of(VANISHING)
    assert of(sigma) != of(sigma / 2)  # half the noise is noticed
    shifted = private_routes(
        GRID, 2 * table, draws, sigma=2 * sigma, discount=0.95, reading="stay"
    )
    assert [r.states.tolist() for r in shifted] == of(sigma)  # only the ratio counts


def test_direct_flight_and_no_route_are_the_same():
    scenario, vehicle = Scenario(), guidance.FIRST_FIT
    here = route(GRID, np.full(400, TO_TARGET))
    one, none = (fly_route(vehicle, scenario, GRID, r) for r in (here, None))
    assert np.array_equal(one.positions, none.positions)
    assert watch(scenario, one).distance > scenario.switch_range


@pytest.mark.parametrize("range_km", [80.0, 120.0])
def test_privacy_is_off_within_the_range(range_km):
    scenario = Scenario(switch_range=range_km)
    table = reward_table(GRID, design="flat", goal_reward=50.0)
    routes = private_routes(
        GRID, table, normals(5), sigma=VANISHING, discount=0.95, reading="stay"
    )
    for found in routes:
        flight = fly_route(guidance.SECOND_FIT, scenario, GRID, found)
        far = np.linalg.norm(flight.positions, axis=1)
        assert flight.within_range
        assert far[flight.direct_from] < range_km <= far[flight.direct_from - 1]


def test_outcomes_equal_flights_one_by_one():
    scenario, vehicle = Scenario(), guidance.FIRST_FIT
    table = reward_table(GRID, design="flat", goal_reward=5.0)
    routes = private_routes(
        GRID, table, normals(5), sigma=5.0, discount=0.95, reading="stay"
    )
    routes += private_routes(
        GRID, table, normals(1), sigma=VANISHING, discount=0.95, reading="stay"
    )
    out = fly_routes(vehicle, scenario, GRID, routes * 2)
    flights = [fly_route(vehicle, scenario, GRID, r) for r in routes]
    single = [watch(scenario, flight).distance for flight in flights]
    assert np.array_equal(out.distances, single * 2)
    assert np.array_equal(out.within[:6], [flight.within_range for flight in flights])
    assert set(out.within) == {True, False}
    assert np.array_equal(out.waypoints[:6], [r.states.size for r in routes])


@pytest.mark.parametrize("design", DESIGNS)
def test_only_the_cross_track_needs_a_line(design):
    """Where start and goal are one place there is no line between them."""
    grid = Grid([0.0, 1.0], [0.0, 1.0], 0.0, start=(1, 1), goal=(1, 1))
    if design == "cross-track":
        with pytest.raises(ValueError, match="'design' parameter of reward_table"):
            reward_table(grid, design=design, goal_reward=5.0)
    else:
        table = reward_table(grid, design=design, goal_reward=5.0)
        assert np.isfinite(table).all()


def test_large_grids_are_refused():
    line = np.arange(300.0)
    grid = Grid(line, line, 0.0, (0, 0), (1, 1))
    with pytest.raises(ValueError, match="'grid' parameter of waypoint_mdp"):
        waypoint_mdp(grid, reading="stay", discount=0.9)
    assert reward_table(grid, design="flat", goal_reward=1.0).shape == (90_000, 5)
    with pytest.raises(ValueError, match="'north' parameter of Grid"):
        Grid(np.arange(1001.0), np.arange(1000.0), 0.0, (0, 0), (1, 1))


@pytest.mark.parametrize("change", [{"scale": 1e-320}, {"toll": 1e308}])
def test_rewards_out_of_range_are_refused(change):
    name = next(iter(change))
    with pytest.raises(ValueError, match=f"'{name}' parameter of reward_table"):
        reward_table(GRID, design="distance", goal_reward=5.0, **change)


def test_routes_are_checked_and_kept():
    states = [7, 8]
    assert Route(states, "loop").states.tolist() == states
    assert fly_route(guidance.FIRST_FIT, Scenario(), GRID, Route(states, "loop"))
    for bad in ([-1, -5], [], [0.5], [[1, 2]], "a", None, [True], [2**64 - 1]):
        with pytest.raises(
            (TypeError, ValueError), match="'states' parameter of Route"
        ):
            Route(bad, "loop")
    with pytest.raises(ValueError, match="'ends' parameter of Route"):
        Route(states, "here")


def test_routes_that_begin_alike_are_flown_apart():
    """Flights are kept by the whole route, not by its beginning."""
    scenario, vehicle = Scenario(), guidance.FIRST_FIT
    states = [GRID.state((c, 7)) for c in range(15)]
    routes = [Route(states[:12], "to target"), Route(states, "to target")]
    out = fly_routes(vehicle, scenario, GRID, routes)
    single = [watch(scenario, fly_route(vehicle, scenario, GRID, r)) for r in routes]
    assert out.distances.tolist() == [one.distance for one in single]
    assert out.distances[0] != out.distances[1]


def test_arguments():
    with pytest.raises(ValueError, match="'reading' parameter of grid_moves"):
        grid_moves(GRID, reading="fly")
    with pytest.raises(ValueError, match="'design' parameter of reward_table"):
        reward_table(GRID, design="steep", goal_reward=1.0)
    with pytest.raises(ValueError, match="'policy' parameter of route"):
        route(GRID, np.full(400, 5))
    with pytest.raises(ValueError, match="'east' parameter of Grid"):
        Grid(np.array([1.0, 0.0]), np.arange(2.0), 0.0, (0, 0), (1, 1))
