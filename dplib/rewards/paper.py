r"""The paper's three examples, as it gives them and as far as it gives them.

Benvenuti et al., Sections 8.1 (Example 1, Figure 5), 8.2 (Example 2, Figure 7a) and
8.3 (Example 3).

*Examples 1 and 2* are teams. Every agent has the same dynamics and the same table of
rewards: R for one action in one joint state, the *goal*, and -1 for everything else.
What the paper leaves open is an argument here: the probability p and the discount of
Example 1; the discount, the start and the law of slips of Example 2.

*Example 3* is a vehicle that follows waypoints, and an adversary that watches it. Its
rewards are not given (`dplib.rewards.waypoints`), and neither is the vehicle
(`dplib.rewards.flight`). Coordinates are in km (east, north, up).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.mdp.factored import FactoredMDP
from dplib.mdp.gridworld import gridworld
from dplib.mdp.two_state import two_state
from dplib.rewards.tables import joint_reward

__all__ = ["Example", "Grid", "Scenario", "example_one", "example_two", "paper_grid"]

FloatArray = NDArray[np.float64]

#: Reward of everything but the goal.
ELSE = -1.0


@dataclass(frozen=True, eq=False)
class Example:
    """A team, its true rewards, and where it starts.

    Parameters
    ----------
    model : FactoredMDP
        The team's dynamics.
    tables : tuple of numpy.ndarray, shapes (n, m_i)
        The agents' true rewards.
    start : int
        The joint state in which the team starts.
    """

    model: FactoredMDP
    tables: tuple[FloatArray, ...]
    start: int

    def __post_init__(self) -> None:
        n = self.model.n_states
        tables = tuple(
            check.array("tables", table, "Example", shape=(n, m))
            for table, m in zip(self.tables, self.model.actions, strict=True)
        )
        object.__setattr__(self, "tables", tables)
        check.integer("start", self.start, "Example", low=0, high=n - 1)

    @cached_property
    def rewards(self) -> FloatArray:
        """The true joint reward, shape (n, m)."""
        return joint_reward(self.tables)

    @property
    def goal_state(self) -> int:
        """The joint state with the largest joint reward, the first if several have."""
        return int(self.rewards.argmax()) // self.model.n_actions

    @property
    def goal_action(self) -> int:
        """The joint action with the largest joint reward."""
        return int(self.rewards.argmax()) % self.model.n_actions


def example_one(
    n_agents: int, p: float, *, discount: float, r_max: float = 5.0
) -> Example:
    r"""Return Example 1: agents with two states that should all be in state 1.

    Parameters
    ----------
    n_agents : int
        Number of agents N.
    p : float
        Probability that an action does what is meant. The paper does not give it.
    discount : float
        The paper does not give it.
    r_max : float
        Reward of action a where all agents are in state 1; 5 in the paper.

    Returns
    -------
    Example
        Starting where all agents are in state 0.

    Notes
    -----
    For p >= 1/2 and r_max > -1 it is best to go to state 1 at once and to stay there.
    One step leads all agents there with probability :math:`p^N`, from everywhere, so
    the value of the start is
    :math:`(-1 + (R + 1) \gamma p^N) / (1 - \gamma)`.

    Examples
    --------
    >>> team = example_one(2, 0.9, discount=0.9)
    >>> team.rewards[team.goal_state]
    array([ 5.,  2.,  2., -1.])
    """
    table = np.full((2**n_agents, 2), ELSE)
    table[-1, 0] = check.finite("r_max", r_max, "example_one")
    model = FactoredMDP((two_state(p),) * n_agents, discount)
    return Example(model, (table,) * n_agents, start=0)


def example_two(
    r_max: float,
    *,
    discount: float,
    law: str = "other action",
    n_agents: int = 2,
    size: int = 4,
    slip: float = 0.1,
) -> Example:
    """Return Example 2: agents on a grid that should all stay in its corner.

    Parameters
    ----------
    r_max : float
        Reward of staying where all agents are in the corner; 5 or 50 in the paper.
    discount : float
        The paper does not give it.
    law : str
        One of `dplib.mdp.gridworld.SLIP_LAWS`. The paper does not give it.
    n_agents, size : int
        Number of agents, and of rows and columns of the grid; 2 and 4 in the paper.
    slip : float
        Probability that an action slips; 0.1 in the paper.

    Returns
    -------
    Example
        Starting where all agents are in the corner opposite to the goal (a choice of
        ours).

    Examples
    --------
    >>> team = example_two(5.0, discount=0.99)
    >>> team.model.n_states, team.model.n_actions
    (256, 25)
    >>> print(team.rewards[team.goal_state, team.goal_action], team.rewards[7].max())
    5.0 -1.0
    """
    own = gridworld(size, size, slip=slip, law=law)
    n = len(own) ** n_agents
    table = np.full((n, own.shape[1]), ELSE)
    table[0, -1] = check.finite("r_max", r_max, "example_two")
    model = FactoredMDP((own,) * n_agents, discount)
    return Example(model, (table,) * n_agents, start=n - 1)


@dataclass(frozen=True)
class Scenario:
    """Where Example 3 begins and ends, and what its adversary can do.

    Printed in the paper but for `heading`, which is ours: due east.

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
    """

    start: tuple[float, float, float] = (-200.0, -50.0, 10.0)
    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    heading: tuple[float, float, float] = (1.0, 0.0, 0.0)
    switch_range: float = 80.0
    radius: float = 0.7
    decay: float = 0.1
    in_a_row: int = 3

    def __post_init__(self) -> None:
        check.nonnegative("switch_range", self.switch_range, "Scenario")
        check.positive("radius", self.radius, "Scenario")
        check.positive("decay", self.decay, "Scenario")
        check.integer("in_a_row", self.in_a_row, "Scenario", low=1)


@dataclass(frozen=True, eq=False)
class Grid:
    """Waypoints on a rectangle, and the one that is the goal.

    State s is column * rows + row; columns count from west to east, rows from south to
    north.

    Attributes
    ----------
    east, north : numpy.ndarray, shapes (columns,) and (rows,)
        Coordinates of columns and rows, km.
    altitude : float
        Height of the plane, km.
    start, goal : tuple of int
        Column and row of the first waypoint, and of the goal.
    """

    east: FloatArray
    north: FloatArray
    altitude: float
    start: tuple[int, int]
    goal: tuple[int, int]

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
        return cell[0] * self.north.size + cell[1]

    def positions(self) -> FloatArray:
        """Return the positions of all waypoints, shape (n, 3), km."""
        east, north = np.meshgrid(self.east, self.north, indexing="ij")
        height = np.full(self.n_states, self.altitude)
        return np.column_stack((east.ravel(), north.ravel(), height))


def paper_grid() -> Grid:
    """Return the 20 x 20 waypoints of Example 3, in the plane of its start.

    The paper gives only the start and the size. In our choice the start and the point
    above the target are both waypoints; columns are 200/19 km apart, rows 10 km, and
    the grid goes on for 70 km south of the start and north of the target.

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
