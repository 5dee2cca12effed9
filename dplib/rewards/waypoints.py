r"""Private waypoints: the policy of a private reward, and the route that it commands.

Benvenuti et al., Section 8.3 (Example 3, Figure 9).

Model. One agent. States are the waypoints of a `dplib.rewards.paper.Grid`; actions are
north, south, east, west and *to target*. Rewards r(s, a) are made private by Gaussian
noise on every entry (Algorithm 1, which for one agent is Algorithm 2), and the vehicle
follows the best policy for the noisy rewards.

The paper gives neither the rewards nor the meaning of *to target* in the Markov
decision process, nor its discount. Our readings:

``stay``
    *to target* leaves the waypoint as it is, and earns R at the goal.
``jump``
    *to target* leads to the goal from everywhere.

A move that would leave the grid leaves the waypoint as it is. All moves are certain, so
that a policy is a route: it ends where the policy says *to target*, or where it would
come back to a waypoint, which it would do for ever. From the end of its route the
vehicle flies straight to the target.

Common random numbers. `private_routes` takes standard normals and scales them, so that
all epsilon, rewards, vehicles, and the control arm, see the same draws. The control
arm without privacy is the limit of vanishing noise: the noise then only chooses
between policies that are equally good for the true rewards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplib.mdp.batch import solve_many
from dplib.mdp.model import MDP
from dplib.rewards.paper import Grid

__all__ = [
    "ACTIONS",
    "DESIGNS",
    "VANISHING",
    "Route",
    "private_routes",
    "reward_table",
    "route",
    "waypoint_mdp",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ACTIONS = ("north", "south", "east", "west", "to target")
"""The actions, in the order of the columns of a reward table."""

TO_TARGET = ACTIONS.index("to target")

DESIGNS = ("corridor", "cross-track", "distance", "flat", "progress")
"""Rewards away from the goal, see `reward_table`."""

#: Distance that costs a reward of 1, km.
SCALE = 20.0

VANISHING = 1.0e-6
"""Standard deviation that is noise enough to break ties, and no more."""


@dataclass(frozen=True, eq=False)
class Route:
    """The waypoints that a policy commands, one after the other.

    Attributes
    ----------
    states : numpy.ndarray of int, shape (w,)
        Waypoints, the first that of the start.
    ends : {"to target", "loop"}
        Why the route ends.
    """

    states: IntArray
    ends: str


def _moves(grid: Grid) -> IntArray:
    """Return where every action leads in the reading "stay", shape (n, 5)."""
    columns, rows = grid.shape
    c, r = np.divmod(np.arange(grid.n_states), rows)
    ends = (
        (c, np.minimum(r + 1, rows - 1)),
        (c, np.maximum(r - 1, 0)),
        (np.minimum(c + 1, columns - 1), r),
        (np.maximum(c - 1, 0), r),
        (c, r),
    )
    return np.column_stack([column * rows + row for column, row in ends])


def waypoint_mdp(grid: Grid, *, reading: str, discount: float) -> MDP:
    """Return the Markov decision process of the waypoints.

    Parameters
    ----------
    grid : Grid
        The waypoints.
    reading : {"stay", "jump"}
        What *to target* does.
    discount : float
        Strictly between 0 and 1.
    """
    moves = _moves(grid)
    if reading == "jump":
        moves[:, TO_TARGET] = grid.state(grid.goal)
    law = np.zeros((*moves.shape, grid.n_states))
    np.put_along_axis(law, moves[:, :, None], 1.0, axis=2)
    return MDP(law, discount)


def reward_table(
    grid: Grid, *, design: str, goal_reward: float, toll: float = 0.0
) -> FloatArray:
    """Return rewards that lead to the goal, shape (n, 5).

    All designs pay `goal_reward` for *to target* at the goal. Everything else earns,
    with distances in units of 20 km,

    ``flat``
        -1, as in the other examples of the paper;
    ``distance``
        minus the waypoint's distance from the goal;
    ``progress``
        the distance that the action gains, less 1;
    ``cross-track``
        minus the waypoint's distance from the straight line between start and goal,
        less 1;
    ``corridor``
        minus the distance between the rows of waypoint and goal, less 1.

    Parameters
    ----------
    grid : Grid
        The waypoints.
    design : str
        One of `DESIGNS`.
    goal_reward : float
        R.
    toll : float
        What *to target* costs besides, per km from the goal.

    Examples
    --------
    >>> from dplib.rewards.paper import paper_grid
    >>> grid = paper_grid()
    >>> table = reward_table(grid, design="distance", goal_reward=50.0)
    >>> print(table[grid.state((18, 12))].round(3), table[grid.state(grid.goal), 4])
    [-0.526 -0.526 -0.526 -0.526 -0.526] 50.0
    """
    places = grid.positions()[:, :2]
    start, goal = places[grid.state(grid.start)], places[grid.state(grid.goal)]
    away = np.linalg.norm(places - goal, axis=1)
    gain = away[:, None] - away[_moves(grid)]
    east, north = (goal - start) / np.linalg.norm(goal - start)
    offset = np.abs((places - start) @ np.array([-north, east]))
    designs = {
        "flat": np.full((grid.n_states, 1), -1.0),
        "distance": -away[:, None] / SCALE,
        "progress": gain / SCALE - 1.0,
        "cross-track": -offset[:, None] / SCALE - 1.0,
        "corridor": -np.abs(places[:, 1:] - goal[1]) / SCALE - 1.0,
    }
    table = np.broadcast_to(designs[design], (grid.n_states, len(ACTIONS))).copy()
    table[:, TO_TARGET] -= toll * away
    table[grid.state(grid.goal), TO_TARGET] = goal_reward
    return table


def route(grid: Grid, policy: IntArray) -> Route:
    """Return the waypoints that a policy, shape (n,), commands from the start on.

    Examples
    --------
    >>> from dplib.rewards.paper import paper_grid
    >>> found = route(paper_grid(), np.full(400, ACTIONS.index("east")))
    >>> found.states[:3], len(found.states), found.ends
    (array([ 7, 27, 47]), 20, 'loop')
    """
    # Where *to target* leads does not matter: a route ends there.
    moves = _moves(grid)
    states = [grid.state(grid.start)]
    while policy[states[-1]] != TO_TARGET:
        following = int(moves[states[-1], policy[states[-1]]])
        if following in states:
            return Route(np.array(states), "loop")
        states.append(following)
    return Route(np.array(states), "to target")


def private_routes(
    grid: Grid,
    rewards: FloatArray,
    normals: FloatArray,
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
    rewards : numpy.ndarray, shape (n, 5)
        True rewards.
    normals : numpy.ndarray, shape (S, n, 5)
        Standard normals.
    sigma : float
        Standard deviation of the noise, unit of the rewards.
    discount : float
        Strictly between 0 and 1.
    reading : {"stay", "jump"}
        What *to target* does.

    Returns
    -------
    list of Route
        One for each of the S samples.

    Examples
    --------
    >>> from dplib.rewards.paper import paper_grid
    >>> grid = paper_grid()
    >>> table = reward_table(grid, design="flat", goal_reward=50.0)
    >>> normals = np.random.default_rng(0).standard_normal((2, 400, 5))
    >>> routes = private_routes(grid, table, normals, sigma=VANISHING,
    ...                         discount=0.95, reading="stay")
    >>> [(len(found.states), found.ends) for found in routes]
    [(25, 'to target'), (25, 'to target')]
    """
    model = waypoint_mdp(grid, reading=reading, discount=discount)
    found = solve_many(model, rewards + sigma * normals)
    return [route(grid, policy) for policy in found.policies]
