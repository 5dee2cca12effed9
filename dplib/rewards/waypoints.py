r"""Private waypoints: a vehicle that follows the policy of a private reward.

Benvenuti et al., Section 8.3 (Example 3), Figures 9 to 11.

Model. One agent. States are a 20 x 20 grid of waypoints in the horizontal plane of the
vehicle's start; actions are north, south, east, west and *to target*. Rewards r(s, a)
are made private by Gaussian noise on every entry (Algorithm 1, which for one agent is
Algorithm 2), and the vehicle follows the best policy for the noisy rewards until it is
less than 80 km from the target; then it flies straight to it.

The paper gives neither the rewards nor the meaning of *to target* in the Markov
decision process, nor its discount. Our readings (`READINGS`):

``stay``
    *to target* leaves the waypoint as it is, and earns R at the goal.
``jump``
    *to target* leads to the goal from everywhere.

A move that would leave the grid leaves the waypoint as it is. All moves are certain, so
that a policy is a route: it ends where the policy says *to target*, or where it would
come back to a waypoint, which it would do for ever. From the end of its route the
vehicle flies straight to the target.

Notation. State s is column * 20 + row; columns count from west to east, rows from south
to north. `dplib.mdp` finds the policies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.mdp.model import MDP

__all__ = [
    "ACTIONS",
    "DESIGNS",
    "READINGS",
    "Grid",
    "Route",
    "grid_moves",
    "paper_grid",
    "reward_table",
    "route",
    "waypoint_mdp",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: The actions, in the order of the columns of a reward table.
ACTIONS = ("north", "south", "east", "west", "to target")

#: What *to target* does to the state: see the head of the file.
READINGS = ("jump", "stay")

#: Rewards away from the goal: see `reward_table`.
DESIGNS = ("corridor", "cross-track", "distance", "flat", "progress")

#: Most waypoints of a grid, and of a Markov decision process: it has an array of five
#: times the square of that, 250 MB.
MOST_WAYPOINTS, MOST_STATES = 10**6, 2_500


@dataclass(frozen=True, eq=False)
class Grid:
    """Waypoints on a rectangle, and the one that is the goal.

    Parameters
    ----------
    east, north : array_like, shapes (columns,) and (rows,)
        Coordinates of columns and rows, ascending, km; at most 10^6 waypoints.
    altitude : float
        Height of the plane, km.
    start, goal : tuple of int
        Column and row of the first waypoint, and of the goal.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """

    east: FloatArray
    north: FloatArray
    altitude: float
    start: tuple[int, int]
    goal: tuple[int, int]

    def __post_init__(self) -> None:
        where = "Grid"
        for name in ("east", "north"):
            line = check.array(name, getattr(self, name), where, shape=(None,))
            if line.size < 2 or np.any(np.diff(line) <= 0.0):
                check.fail(name, where, "two or more ascending numbers", line.tolist())
            object.__setattr__(self, name, line)
        if self.n_states > MOST_WAYPOINTS:
            must = f"fewer numbers: at most {MOST_WAYPOINTS} waypoints"
            check.fail("north", where, must, self.north.size)
        altitude = check.finite("altitude", self.altitude, where)
        object.__setattr__(self, "altitude", altitude)
        for name in ("start", "goal"):
            cell = getattr(self, name)
            if not isinstance(cell, tuple) or len(cell) != 2:
                check.fail(name, where, "a tuple of column and row", cell, TypeError)
            for index, size in zip(cell, self.shape, strict=True):
                check.integer(name, index, where, low=0, high=size - 1)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of columns and rows."""
        return self.east.size, self.north.size

    @property
    def n_states(self) -> int:
        """Number of waypoints."""
        return self.east.size * self.north.size

    def state(self, cell: tuple[int, int]) -> int:
        """Return the number of the waypoint in a column and row."""
        return int(cell[0]) * self.north.size + int(cell[1])

    def positions(self) -> FloatArray:
        """Return the positions of all waypoints, shape (n, 3), km."""
        east, north = np.meshgrid(self.east, self.north, indexing="ij")
        height = np.full(self.n_states, self.altitude)
        return np.column_stack((east.ravel(), north.ravel(), height))


@dataclass(frozen=True, eq=False)
class Route:
    """The waypoints that a policy commands, one after the other.

    Parameters
    ----------
    states : numpy.ndarray of int, shape (w,)
        Waypoints, one or more, the first that of the start.
    ends : {"to target", "loop"}
        Why the route ends.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """

    states: IntArray
    ends: str

    def __post_init__(self) -> None:
        must = "one or more numbers of waypoints, integers from 0 on"
        raw = check.entries("states", self.states, "Route", must)
        if raw.ndim != 1 or raw.size == 0 or raw.dtype.kind not in "iu":
            check.fail("states", "Route", must, self.states)
        if raw.min() < 0 or raw.max() > np.iinfo(np.int64).max:
            check.fail("states", "Route", must, self.states)
        states = raw.astype(np.int64)  # a copy, which is not written to
        states.flags.writeable = False
        object.__setattr__(self, "states", states)
        check.member("ends", self.ends, "Route", ("to target", "loop"))


def paper_grid() -> Grid:
    """Return a 20 x 20 grid for the paper's start, (-200, -50, 10) km.

    The target is at the origin. The paper gives only the start and the size. In our
    choice the start and the point above the target are both waypoints; columns are
    200/19 km apart, rows 10 km, and the grid goes on for 70 km south of the start
    and north of the target.

    Examples
    --------
    >>> grid = paper_grid()
    >>> grid.positions()[grid.state(grid.start)].tolist()
    [-200.0, -50.0, 10.0]
    >>> grid.positions()[grid.state(grid.goal)].tolist()
    [0.0, 0.0, 10.0]
    """
    east = np.linspace(-200.0, 0.0, 20)
    north = np.linspace(-120.0, 70.0, 20)
    return Grid(east, north, 10.0, start=(0, 7), goal=(19, 12))


def grid_moves(grid: Grid, *, reading: str) -> IntArray:
    """Return where every action leads from every waypoint, shape (n, 5).

    Parameters
    ----------
    grid : Grid
        The waypoints.
    reading : {"stay", "jump"}
        What *to target* does.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> grid = paper_grid()
    >>> grid_moves(grid, reading="stay")[grid.state((0, 0))]
    array([ 1,  0, 20,  0,  0])
    """
    check.instance("grid", grid, "grid_moves", Grid)
    check.member("reading", reading, "grid_moves", READINGS)
    columns, rows = grid.shape
    c, r = np.divmod(np.arange(grid.n_states), rows)
    here = c * rows + r
    to_target = here if reading == "stay" else np.full_like(here, grid.state(grid.goal))
    return np.column_stack(
        (
            c * rows + np.minimum(r + 1, rows - 1),
            c * rows + np.maximum(r - 1, 0),
            np.minimum(c + 1, columns - 1) * rows + r,
            np.maximum(c - 1, 0) * rows + r,
            to_target,
        )
    )


def waypoint_mdp(grid: Grid, *, reading: str, discount: float) -> MDP:
    """Return the Markov decision process of `grid_moves`, for `dplib.mdp`.

    Parameters
    ----------
    grid : Grid
        The waypoints, at most 2500.
    reading : {"stay", "jump"}
        What *to target* does.
    discount : float
        Strictly between 0 and 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> model = waypoint_mdp(paper_grid(), reading="stay", discount=0.95)
    >>> model.n_states, model.n_actions
    (400, 5)
    """
    moves = grid_moves(grid, reading=reading)
    if grid.n_states > MOST_STATES:
        must = f"a grid of at most {MOST_STATES} waypoints"
        check.fail("grid", "waypoint_mdp", must, grid.n_states)
    law = np.zeros((*moves.shape, grid.n_states))
    np.put_along_axis(law, moves[:, :, None], 1.0, axis=2)
    return MDP(law, discount)


def reward_table(
    grid: Grid,
    *,
    design: str,
    goal_reward: float,
    scale: float = 20.0,
    toll: float = 0.0,
) -> FloatArray:
    """Return rewards that lead to the goal, shape (n, 5).

    All designs pay `goal_reward` for *to target* at the goal. Everything else earns

    ``flat``
        -1, as in the other examples of the paper;
    ``distance``
        minus the waypoint's distance from the goal over `scale`;
    ``progress``
        the distance that the action gains over `scale`, less 1;
    ``cross-track``
        minus the waypoint's distance from the straight line between start and goal
        over `scale`, less 1;
    ``corridor``
        minus the distance between the rows of waypoint and goal over `scale`, less 1.

    (In ``progress``, *to target* gains nothing but at the goal.)

    Parameters
    ----------
    grid : Grid
        The waypoints.
    design : str
        One of `DESIGNS`; "cross-track" only where start and goal are different.
    goal_reward : float
        R, any number of size at most 1e60.
    scale : float
        Above 0, km.
    toll : float
        What *to target* costs besides, per km from the goal, 0 or greater.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> grid = paper_grid()
    >>> table = reward_table(grid, design="distance", goal_reward=50.0)
    >>> table[grid.state((18, 12))].round(3), table[grid.state(grid.goal), 4]
    (array([-0.526, -0.526, -0.526, -0.526, -0.526]), np.float64(50.0))
    """
    where = "reward_table"
    check.instance("grid", grid, where, Grid)
    check.member("design", design, where, DESIGNS)
    top = check.finite("goal_reward", goal_reward, where)
    scale = check.positive("scale", scale, where)
    toll = check.nonnegative("toll", toll, where)
    places = grid.positions()[:, :2]
    goal, start = (places[grid.state(cell)] for cell in (grid.goal, grid.start))
    away = np.linalg.norm(places - goal, axis=1)
    table = np.full((grid.n_states, 5), -1.0)
    if design == "distance":
        table[:] = -(away / scale)[:, None]
    elif design == "progress":
        table += (away[:, None] - away[grid_moves(grid, reading="stay")]) / scale
    elif design == "cross-track":
        straight = np.linalg.norm(goal - start)
        if straight == 0.0:
            must = "another one if start and goal are one place, with no line between"
            check.fail("design", where, must, design)
        along = (goal - start) / straight
        offset = (places - start) @ np.array([-along[1], along[0]])
        table -= (np.abs(offset) / scale)[:, None]
    elif design == "corridor":
        table -= (np.abs(places[:, 1] - goal[1]) / scale)[:, None]
    table[:, 4] -= toll * away
    table[grid.state(grid.goal), 4] = top
    return table


def route(grid: Grid, policy: ArrayLike) -> Route:
    """Return the waypoints that a policy commands from the start on.

    Parameters
    ----------
    grid : Grid
        The waypoints.
    policy : array_like of int, shape (n,)
        An action, 0 to 4, for every waypoint.

    Returns
    -------
    Route
        Of at least one waypoint.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> grid = paper_grid()
    >>> found = route(grid, np.full(400, ACTIONS.index("east")))
    >>> found.states[:3], len(found.states), found.ends
    (array([ 7, 27, 47]), 20, 'loop')
    """
    where = "route"
    check.instance("grid", grid, where, Grid)
    must = f"an array of {grid.n_states} actions between 0 and 4"
    raw = check.entries("policy", policy, where, must)
    if raw.shape != (grid.n_states,) or raw.dtype.kind not in "iu":
        check.fail("policy", where, must, policy)
    if raw.min() < 0 or raw.max() > 4:
        check.fail("policy", where, must, policy)
    # Where *to target* leads is no matter: a route ends there.
    moves = grid_moves(grid, reading="stay")
    states, seen, ends = [grid.state(grid.start)], set(), "to target"
    while raw[states[-1]] != ACTIONS.index("to target"):
        seen.add(states[-1])
        following = int(moves[states[-1], raw[states[-1]]])
        if following in seen:
            ends = "loop"
            break
        states.append(following)
    return Route(np.array(states), ends)
