r"""Example 3 from end to end: noise, policy, route, flight, detection.

Benvenuti et al., Section 8.3. The parts are `dplib.rewards.waypoints` (policies and
routes), `dplib.rewards.guidance` (flights) and `dplib.rewards.adversary`.

Printed in the paper: start, target (the origin), range within which waypoints are given
up, radius and decay rate of the adversary, three steps in a row. Ours, since it is not
printed: the vehicle sets out due east.

Common random numbers. `private_routes` takes standard normals and scales them, so that
all epsilon, rewards, vehicles, and the control arm, see the same draws. The control
arm without privacy is the limit of vanishing noise: the noise then only chooses
between policies that are equally good for the true rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.mdp.batch import solve_many
from dplib.rewards.adversary import Detection, detect, guesses
from dplib.rewards.guidance import Flight, Vehicle, fly
from dplib.rewards.waypoints import Grid, Route, route, waypoint_mdp

__all__ = [
    "VANISHING",
    "Outcomes",
    "Scenario",
    "fly_route",
    "fly_routes",
    "private_routes",
    "watch",
]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Standard deviation that is noise enough to break ties, and no more.
VANISHING = 1.0e-6


@dataclass(frozen=True)
class Scenario:
    """Where a flight begins and ends, and what the adversary can do.

    Parameters
    ----------
    start, target, heading : tuple of float
        Positions, km, and direction of the velocity at the start.
    switch_range : float
        Distance from the target within which waypoints are given up, km.
    radius : float
        How near to the target a guess must be, km.
    decay : float
        Rate at which the adversary believes that accelerations decay, 1/s.
    in_a_row : int
        Number of near guesses in a row that count as detection.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """

    start: tuple[float, float, float] = (-200.0, -50.0, 10.0)
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    heading: tuple[float, float, float] = (1.0, 0.0, 0.0)
    switch_range: float = 80.0
    radius: float = 0.7
    decay: float = 0.1
    in_a_row: int = 3

    def __post_init__(self) -> None:
        for name in ("start", "target", "heading"):
            place = check.array(name, getattr(self, name), "Scenario", shape=(3,))
            object.__setattr__(self, name, tuple(place.tolist()))
        check.nonnegative("switch_range", self.switch_range, "Scenario")
        check.positive("radius", self.radius, "Scenario")
        check.positive("decay", self.decay, "Scenario")
        check.integer("in_a_row", self.in_a_row, "Scenario", low=1)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What became of several flights.

    Parameters
    ----------
    distances : numpy.ndarray, shape (S,)
        Distance from the target at detection, km; 0 if never detected.
    within : numpy.ndarray of bool, shape (S,)
        Whether the vehicle came within the switch range on its waypoints.
    waypoints : numpy.ndarray of int, shape (S,)
        Number of waypoints that the policy commands.
    """

    distances: FloatArray
    within: BoolArray
    waypoints: NDArray[np.int64]


def private_routes(
    grid: Grid,
    rewards: ArrayLike,
    normals: ArrayLike,
    *,
    sigma: float,
    discount: float,
    reading: str,
) -> list[Route]:
    """Return the routes of the best policies for noisy rewards.

    Parameters
    ----------
    grid : Grid
        The waypoints.
    rewards : array_like, shape (n, 5)
        True rewards.
    normals : array_like, shape (S, n, 5)
        Standard normals.
    sigma : float
        Standard deviation of the noise, 0 or greater, unit of the rewards.
    discount : float
        Strictly between 0 and 1.
    reading : {"stay", "jump"}
        What *to target* does (see `dplib.rewards.waypoints`).

    Returns
    -------
    list of Route
        One for each of the S samples.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> from dplib.rewards.waypoints import paper_grid, reward_table
    >>> grid = paper_grid()
    >>> table = reward_table(grid, design="flat", goal_reward=50.0)
    >>> normals = np.random.default_rng(0).standard_normal((2, 400, 5))
    >>> routes = private_routes(grid, table, normals, sigma=VANISHING,
    ...                         discount=0.95, reading="stay")
    >>> [(len(found.states), found.ends) for found in routes]
    [(25, 'to target'), (25, 'to target')]
    """
    where = "private_routes"
    model = waypoint_mdp(grid, reading=reading, discount=discount)
    shape = model.n_states, model.n_actions
    true = check.array("rewards", rewards, where, shape=shape)
    draws = check.array("normals", normals, where, shape=(None, *shape))
    if draws.shape[0] == 0:
        check.fail("normals", where, "of one sample or more", draws.shape)
    sigma = check.nonnegative("sigma", sigma, where)
    noisy = check.array(
        "sigma * normals", true + sigma * draws, where, shape=draws.shape
    )
    return [route(grid, policy) for policy in solve_many(model, noisy).policies]


def fly_route(
    vehicle: Vehicle, scenario: Scenario, grid: Grid, found: Route | None
) -> Flight:
    """Fly one route, or straight to the target if there is none.

    Parameters
    ----------
    vehicle : Vehicle
        What flies.
    scenario : Scenario
        From where to where.
    grid : Grid
        The waypoints.
    found : Route or None
        The route.

    Returns
    -------
    Flight

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    where = "fly_route"
    check.instance("scenario", scenario, where, Scenario)
    check.instance("grid", grid, where, Grid)
    places = None
    if found is not None:
        states = check.instance("found", found, where, Route).states
        if states.max() >= grid.n_states:
            must = f"a route of waypoints from 0 to {grid.n_states - 1}"
            check.fail("found", where, must, states.tolist())
        places = grid.positions()[states]
    return fly(
        vehicle,
        start=scenario.start,
        heading=scenario.heading,
        target=scenario.target,
        waypoints=places,
        switch_range=scenario.switch_range,
    )


def watch(scenario: Scenario, flight: Flight) -> Detection:
    """Return when the paper's adversary detects where a flight goes.

    Parameters
    ----------
    scenario : Scenario
        Has the adversary.
    flight : Flight
        The flight.

    Returns
    -------
    Detection

    Raises
    ------
    TypeError
        If an argument is not as above.
    """
    check.instance("scenario", scenario, "watch", Scenario)
    return detect(
        flight,
        guesses(flight, decay=scenario.decay),
        target=scenario.target,
        radius=scenario.radius,
        in_a_row=scenario.in_a_row,
    )


def fly_routes(
    vehicle: Vehicle, scenario: Scenario, grid: Grid, routes: Sequence[Route]
) -> Outcomes:
    """Fly several routes, each of them watched by the paper's adversary.

    Parameters
    ----------
    vehicle, scenario, grid
        As in `fly_route`.
    routes : sequence of Route
        One or more.

    Returns
    -------
    Outcomes

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    routes = check.sequence("routes", routes, "fly_routes", Route)
    # Many noisy rewards have the same route: it is flown once.
    known: dict[bytes, tuple[float, bool]] = {}
    rows = []
    for found in routes:
        key = found.states.tobytes()
        if key not in known:
            flight = fly_route(vehicle, scenario, grid, found)
            known[key] = watch(scenario, flight).distance, flight.within_range
        rows.append(known[key])
    return Outcomes(
        distances=np.array([row[0] for row in rows]),
        within=np.array([row[1] for row in rows]),
        waypoints=np.array([found.states.size for found in routes]),
    )
