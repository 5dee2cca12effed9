r"""The two examples of the paper: navigation (Section 7.1) and SysAdmin (Section 7.2).

Navigation. Two agents on a 5 x 5 grid of two open areas, joined by two corridors, of
which the upper one is beside lava, must pass each other. A step slips with probability
0.05. The map is drawn as in `grid`.

SysAdmin. A server is healthy (0), unhealthy (1), under repair (2) or down (3). It may
wait or start a repair. The team wants all servers healthy at the same time, and fails
once more than two are down or more than two under repair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.planning.game import MarkovGame
from dplib.planning.grid import grid_team
from dplib.planning.synthesis import Weights

__all__ = ["NAVIGATION", "STARTS", "WEIGHTS", "server", "sysadmin"]

FloatArray = NDArray[np.float64]

WEIGHTS = Weights(length=0.01, correlation=0.4)
"""Section 7.1: delta and beta of the navigation example."""

STARTS = ("0001", "0022", "2233")
"""Initial configurations of Figure 5; a digit is the state of a server."""

NAVIGATION, _ = grid_team(
    """
    ~~#~.
    .....
    ..#..
    .....
    Ab#aB
    """,
    slip=0.05,
    depends=((), (0,)),
)
"""Section 7.1. Agent 1, drawn as B, hears agent 0, drawn as A."""


def server(
    *, repaired: float = 0.9, breaks: float = 0.1, fails: float = 0.1
) -> FloatArray:
    """Return the transitions of one server: Figure 4. Actions: wait, repair.

    Examples
    --------
    >>> server()[1].tolist()  # unhealthy: wait, or repair
    [[0.0, 0.9, 0.0, 0.1], [0.0, 0.0, 1.0, 0.0]]
    """
    wait = np.diag([1.0 - breaks, 1.0 - fails, 1.0 - repaired, 1.0])
    wait[0, 1], wait[1, 3], wait[2, 0] = breaks, fails, repaired
    repair = np.zeros((4, 4))
    repair[:, 2] = 1.0
    return np.stack([wait, repair], axis=1)


def sysadmin(start: str) -> MarkovGame:
    """Return the team of Section 7.2 in an initial configuration such as ``"0022"``.

    Every server depends on all servers before it. Any number of servers will do.

    Examples
    --------
    >>> team = sysadmin("0001")
    >>> team.shape, int(team.active.sum()), int(team.dead.sum())
    ((4, 4, 4, 4), 229, 26)
    """
    if not start or set(start) - set("0123"):
        check.fail("start", "sysadmin", "digits from 0 to 3, one a server", start)
    N = len(start)
    states = np.indices((4,) * N)
    return MarkovGame(
        transitions=(server(),) * N,
        start=tuple(int(digit) for digit in start),
        target=np.all(states == 0, axis=0),
        dead=(np.sum(states == 2, axis=0) > 2) | (np.sum(states == 3, axis=0) > 2),
        depends=tuple(tuple(range(i)) for i in range(N)),
    )
