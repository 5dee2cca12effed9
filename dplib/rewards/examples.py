r"""The two examples whose cost of privacy the paper reports, and single agents.

Benvenuti et al., Sections 8.1 (Example 1, Figure 5) and 8.2 (Example 2, Figure 7a).

Model. In both, every agent has the same dynamics and the same table of rewards: R for
one action in one joint state, the *goal*, and -1 for everything else. What the paper
leaves open is an argument here: the probability p and the discount of Example 1; the
discount, the start and the law of slips of Example 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check
from dplib.mdp.factored import FactoredMDP
from dplib.mdp.gridworld import gridworld
from dplib.mdp.model import MDP
from dplib.mdp.two_state import two_state
from dplib.rewards.tables import joint_reward, reward_tables

__all__ = ["Example", "example_one", "example_two", "one_agent"]

FloatArray = NDArray[np.float64]

#: Reward of everything but the goal.
ELSE = -1.0


@dataclass(frozen=True, eq=False)
class Example:
    """A team, its true rewards, where it starts, and what it should reach.

    Parameters
    ----------
    model : FactoredMDP
        The team's dynamics.
    tables : tuple of numpy.ndarray, shapes (n, m_i)
        The agents' true rewards.
    goal_state, goal_action : int
        The joint state and joint action with the largest joint reward.
    start : int
        The joint state in which the team starts.
    """

    model: FactoredMDP
    tables: tuple[FloatArray, ...]
    goal_state: int
    goal_action: int
    start: int

    def __post_init__(self) -> None:
        where = "Example"
        model = check.instance("model", self.model, where, FactoredMDP)
        tables = tuple(reward_tables(self.tables, where))
        shapes = [(model.n_states, m) for m in model.actions]
        if [table.shape for table in tables] != shapes:
            got = [table.shape for table in tables]
            check.fail("tables", where, f"tables of shapes {shapes}", got)
        object.__setattr__(self, "tables", tables)
        for name, high in (
            ("goal_state", model.n_states),
            ("goal_action", model.n_actions),
            ("start", model.n_states),
        ):
            check.integer(name, getattr(self, name), where, low=0, high=high - 1)

    @property
    def rewards(self) -> FloatArray:
        """The true joint reward, an array of shape (n, m)."""
        return joint_reward(self.tables)


def one_agent(model: MDP, rewards: ArrayLike, *, start: int = 0) -> Example:
    """Return the team of a single agent with any finite dynamics.

    Parameters
    ----------
    model : MDP
        For instance from `dplib.mdp.tabular`.
    rewards : array_like, shape (n, m)
        True rewards, not all equal.
    start : int
        State in which it starts.

    Returns
    -------
    Example
        Its goal is the largest reward, the first if there are several.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> model = MDP([[[0, 1], [1, 0]], [[1, 0], [0, 1]]], 0.5)
    >>> found = one_agent(model, [[0, 1], [2, 0]])
    >>> found.model.actions, found.goal_state, found.goal_action
    ((2,), 1, 0)
    """
    where = "one_agent"
    check.instance("model", model, where, MDP)
    shape = (model.n_states, model.n_actions)
    table = check.array("rewards", rewards, where, shape=shape)
    if np.ptp(table) == 0.0:
        check.fail("rewards", where, "such that one is the largest", table.tolist())
    goal = divmod(int(table.argmax()), model.n_actions)
    team = FactoredMDP((model.transitions,), model.discount)
    return Example(team, (table,), *goal, start)


def example_one(
    n_agents: int, p: float, *, discount: float, r_max: float = 5.0
) -> Example:
    r"""Return Example 1: agents with two states that should all be in state 1.

    Parameters
    ----------
    n_agents : int
        Number of agents N, 1 to 16.
    p : float
        Probability that an action does what is meant. The paper does not give it.
    discount : float
        Discount factor, strictly between 0 and 1. The paper does not give it.
    r_max : float
        Reward of action a where all agents are in state 1; 5 in the paper.

    Returns
    -------
    Example
        Starting where all agents are in state 0.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

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
    where = "example_one"
    N = check.integer("n_agents", n_agents, where, low=1, high=16)
    r_max = check.finite("r_max", r_max, where)
    table = np.full((2**N, 2), ELSE)
    table[-1, 0] = r_max
    return Example(
        model=FactoredMDP((two_state(p),) * N, discount),
        tables=(table,) * N,
        goal_state=2**N - 1,
        goal_action=0,
        start=0,
    )


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
        Discount factor, strictly between 0 and 1. The paper does not give it.
    law : str
        One of `dplib.mdp.gridworld.SLIP_LAWS`. The paper does not give it.
    n_agents, size : int
        Number of agents, and of rows and columns of the grid; 2 and 4 in the paper.
        At most 16 agents, with at most 10^9 rewards in their tables.
    slip : float
        Probability that an action slips; 0.1 in the paper.

    Returns
    -------
    Example
        Starting where all agents are in the corner opposite to the goal (a choice of
        ours).

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> team = example_two(5.0, discount=0.99)
    >>> team.model.n_states, team.model.n_actions
    (256, 25)
    >>> team.rewards[team.goal_state, team.goal_action], team.rewards[7].max()
    (np.float64(5.0), np.float64(-1.0))
    """
    where = "example_two"
    r_max = check.finite("r_max", r_max, where)
    N = check.integer("n_agents", n_agents, where, low=1, high=16)
    size = check.integer("size", size, where, low=1)
    own = gridworld(size, size, slip=slip, law=law)
    if N * 5 * (size * size) ** N > 10**9:
        must = "fewer: at most 1000000000 rewards in the agents' tables"
        check.fail("n_agents", where, must, N)
    table = np.full((math.prod([size * size] * N), 5), ELSE)
    table[0, 4] = r_max
    return Example(
        model=FactoredMDP((own,) * N, discount),
        tables=(table,) * N,
        goal_state=0,
        goal_action=5**N - 1,
        start=(size * size) ** N - 1,
    )
