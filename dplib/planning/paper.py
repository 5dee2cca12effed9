r"""The two examples of the paper: navigation (Section 7.1) and SysAdmin (Section 7.2).

Navigation. Two agents on a 5 x 5 grid of two open areas, which two corridors join, must
pass each other:

.. code-block:: text

    lava lava wall lava  .       row 0
     .    .    .    .    .       row 1, the upper corridor, beside lava
     .    .   wall  .    .
     .    .    .    .    .       row 3, the lower corridor
     A0   G1  wall  G0   A1      agents start at A0, A1 and want to G0, G1

A step succeeds with probability 0.95; else it ends in one of the other cells that the
agent could have reached, each equally likely. A step into a wall or off the grid ends
in any of the reachable cells, each equally likely. The episode fails if both agents are
in one cell, or one of them on lava. Swapping cells is allowed.

SysAdmin. A server is healthy (0), unhealthy (1), under repair (2) or down (3). It may
wait or start a repair. The team wants all servers healthy at the same time, and fails
once more than two are down or more than two under repair.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from dplib import check
from dplib.mdp.gridworld import gridworld
from dplib.planning.synthesis import Weights
from dplib.planning.team import Team

__all__ = ["NAVIGATION", "STARTS", "SYSADMIN_WEIGHTS", "WEIGHTS", "server", "sysadmin"]

FloatArray = NDArray[np.float64]

WEIGHTS = Weights(length=0.01, correlation=0.4)
"""Section 7.1: delta and beta of the navigation example."""

SYSADMIN_WEIGHTS = Weights(length=0.001, correlation=0.1)
"""Section 7.2: delta and beta of the SysAdmin example, as the text gives them."""

STARTS = ("0001", "0022", "2233")
"""Initial configurations of Figure 5; a digit is the state of a server."""

WALLS = ((0, 2), (2, 2), (4, 2))
LAVA = ((0, 0), (0, 1), (0, 3))
SLIP = 0.05


def _grid() -> FloatArray:
    """Return the transitions of one agent, with a fair draw where a step is blocked."""
    law = gridworld(5, 5, slip=SLIP, law="reachable", walls=WALLS)
    feasible = np.asarray(np.any(law > 0.0, axis=1))
    for cell, action in product(range(25), range(4)):
        if law[cell, action, cell] >= 1.0 - SLIP and feasible[cell].sum() > 1:
            law[cell, action] = feasible[cell] / feasible[cell].sum()
    return law


def _navigation() -> Team:
    """Return the team of Section 7.1."""
    law, same = _grid(), np.eye(25, dtype=bool)
    lava = np.zeros(25, dtype=bool)
    lava[[5 * row + column for row, column in LAVA]] = True
    target = np.zeros((25, 25), dtype=bool)
    target[5 * 4 + 3, 5 * 4 + 1] = True
    return Team(
        transitions=(law, law),
        start=(5 * 4 + 0, 5 * 4 + 4),
        target=target,
        dead=same | lava[:, None] | lava,
        depends=((), (0,)),
    )


NAVIGATION = _navigation()
"""Section 7.1. Agent 1 hears agent 0."""


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


def sysadmin(start: str) -> Team:
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
    return Team(
        transitions=(server(),) * N,
        start=tuple(int(digit) for digit in start),
        target=np.all(states == 0, axis=0),
        dead=(np.sum(states == 2, axis=0) > 2) | (np.sum(states == 3, axis=0) > 2),
        depends=tuple(tuple(range(i)) for i in range(N)),
    )
