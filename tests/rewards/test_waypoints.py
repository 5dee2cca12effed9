"""Waypoints: moves, rewards, routes, and private routes against an exact solver."""

import numpy as np
import pytest

from dplib.mdp.policy_iteration import policy_iteration
from dplib.privacy.gaussian import kappa_sigma
from dplib.rewards.flight import SECOND_FIT, fly
from dplib.rewards.paper import Scenario, paper_grid
from dplib.rewards.waypoints import (
    ACTIONS,
    DESIGNS,
    VANISHING,
    private_routes,
    reward_table,
    route,
    waypoint_mdp,
)
from dplib.rng import stream

GRID = paper_grid()
PLACES = GRID.positions()
GOAL = GRID.state(GRID.goal)
TO_TARGET = ACTIONS.index("to target")
STEPS = np.array([[0, 10], [0, -10], [200 / 19, 0], [-200 / 19, 0]])


def normals(samples):
    return stream(7, "waypoints").standard_normal((samples, 400, 5))


def routes_of(sigma, draws, **change):
    """Return states and ends of private routes."""
    table = reward_table(GRID, design="flat", goal_reward=50.0)
    unit = change.get("unit", 1.0)
    found = private_routes(
        GRID, unit * table, draws, sigma=unit * sigma, discount=0.95, reading="stay"
    )
    return [(one.states.tolist(), one.ends) for one in found]


@pytest.mark.parametrize("reading", ["stay", "jump"])
def test_moves_by_coordinates(reading):
    model = waypoint_mdp(GRID, reading=reading, discount=0.9)
    assert set(np.unique(model.transitions)) == {0.0, 1.0}
    moves = model.transitions.argmax(axis=2)
    shift = (PLACES[moves] - PLACES[:, None])[:, :4, :2]
    inside = np.abs(shift).sum(axis=2) > 0
    assert inside.sum() == 4 * 400 - 4 * 20  # at walls a move changes nothing
    for action, step in enumerate(STEPS):
        assert np.allclose(shift[inside[:, action], action], step)
    assert np.all(moves[:, 4] == (np.arange(400) if reading == "stay" else GOAL))


def reward_by_hand(design, x, y, gain):
    """What a move from (x, y) that gains so many km earns."""
    straight = abs(200 * (y + 50) - 50 * (x + 200)) / np.hypot(200, 50)
    return {
        "flat": -1,
        "distance": -np.hypot(x, y) / 20,
        "progress": gain / 20 - 1,
        "cross-track": -straight / 20 - 1,
        "corridor": -abs(y) / 20 - 1,
    }[design]


@pytest.mark.parametrize("design", DESIGNS)
def test_every_reward_by_hand(design):
    table = reward_table(GRID, design=design, goal_reward=7.0, toll=0.25)
    model = waypoint_mdp(GRID, reading="stay", discount=0.9)
    moves = model.transitions.argmax(axis=2)
    for state, action in np.ndindex(400, 5):
        x, y, _ = PLACES[state]
        gain = np.hypot(x, y) - np.hypot(*PLACES[moves[state, action], :2])
        wanted = reward_by_hand(design, x, y, gain)
        if action == TO_TARGET:
            wanted = 7.0 if state == GOAL else wanted - 0.25 * np.hypot(x, y)
        assert table[state, action] == pytest.approx(wanted, abs=1e-12)


def test_optimal_value_in_closed_form():
    """Flat: 24 moves at -1, then R for ever (reading stay)."""
    model = waypoint_mdp(GRID, reading="stay", discount=0.95)
    table = reward_table(GRID, design="flat", goal_reward=50.0)
    exact = -(1 - 0.95**24) / 0.05 + 0.95**24 * 50 / 0.05
    value = policy_iteration(model, table).values[GRID.state(GRID.start)]
    assert value == pytest.approx(exact, abs=1e-6)


def test_route_ends_at_to_target_or_closes_a_circle():
    policy = np.full(400, ACTIONS.index("east"))
    for cell, action, ends, length in (
        ((3, 7), "to target", "to target", 4),
        ((3, 7), "west", "loop", 4),
        (GRID.start, "west", "loop", 1),  # the wall
    ):
        policy[GRID.state(cell)] = ACTIONS.index(action)
        found = route(GRID, policy)
        assert (found.ends, len(found.states)) == (ends, length)


@pytest.mark.parametrize("sigma", [VANISHING, 0.5, 5.0])
def test_private_routes_are_those_of_exactly_solved_noisy_rewards(sigma):
    """Twice, half or root two times the noise, or a loose tolerance, is noticed."""
    model = waypoint_mdp(GRID, reading="stay", discount=0.95)
    table = reward_table(GRID, design="flat", goal_reward=50.0)
    draws = normals(4)
    wanted = [
        route(GRID, policy_iteration(model, table + sigma * draw).policy)
        for draw in draws
    ]
    have = routes_of(sigma, draws)
    assert have == [(one.states.tolist(), one.ends) for one in wanted]


def test_noise_is_common_to_all_levels_and_matters():
    draws = normals(10)
    sigma = kappa_sigma(sensitivity=1.0, epsilon=0.2, delta=0.1)
    private = routes_of(sigma, draws)
    assert private == routes_of(sigma, draws)
    assert private != routes_of(VANISHING, draws)
    assert private != routes_of(sigma / 2, draws)  # half the noise is noticed
    for unit in (1e-30, 2.0, 1e9):  # only the ratio counts
        assert routes_of(sigma, draws[:3], unit=unit) == private[:3]


def test_without_privacy_routes_are_shortest():
    for design in DESIGNS:
        table = reward_table(GRID, design=design, goal_reward=50.0)
        for found in private_routes(
            GRID, table, normals(3), sigma=VANISHING, discount=0.95, reading="stay"
        ):
            assert found.ends == "to target"
            assert found.states[-1] == GOAL
            assert len(found.states) == 1 + 19 + 5


@pytest.mark.parametrize("range_km", [80.0, 120.0])
def test_privacy_is_off_within_the_range(range_km):
    for states, _ in routes_of(VANISHING, normals(5)):
        flight = fly(SECOND_FIT, Scenario(switch_range=range_km), PLACES[states])
        far = np.linalg.norm(flight.positions, axis=1)
        assert flight.within_range
        assert far[flight.direct_from] < range_km <= far[flight.direct_from - 1]
