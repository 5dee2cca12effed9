r"""Teams on a map that is drawn in letters.

Model. Every character is a cell: ``.`` free, ``#`` a wall, ``~`` lava. Each agent has a
letter from A to Z; a capital is where it starts, the small one where it wants to be.
All lines may be indented alike, and empty ones above and below do not count.

Agents move north, south, east, west or stay. A step succeeds with probability 1 - slip;
else it ends in one of the other cells that the agent could have reached in one step,
each equally likely. A step into a wall or off the map ends in any of the reachable
cells, each equally likely. An episode fails if two agents are in one cell, or one on
lava.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from string import ascii_letters
from textwrap import dedent

import numpy as np
from numpy.typing import NDArray

from dplib.mdp.gridworld import gridworld
from dplib.planning.game import MarkovGame

__all__ = ["MapError", "agents", "grid_team"]

FloatArray = NDArray[np.float64]


class MapError(ValueError):
    """A map cannot be read; the message says what is wrong with it."""


def agents(drawn: str) -> tuple[str, ...]:
    """Return the letters of a map's agents, in order.

    Examples
    --------
    >>> agents("A.b")
    ('A', 'B')
    """
    return tuple(sorted({c.upper() for c in drawn if c in ascii_letters}))


def grid_team(
    drawn: str, *, slip: float, depends: Sequence[Sequence[int]]
) -> tuple[MarkovGame, tuple[str, ...]]:
    """Return the team of a map, and the letters of its agents in order.

    Parameters
    ----------
    drawn : str
        One line a row of the map.
    slip : float
        Probability that a step ends elsewhere.
    depends : sequence of sequences of int
        Whose states each agent hears, agents in the order of their letters.

    Examples
    --------
    >>> team, names = grid_team("A.a", slip=0.1, depends=[()])
    >>> team.start, names, team.transitions[0][0, 2].round(3).tolist()
    ((0,), ('A',), [0.1, 0.9, 0.0])
    """
    rows = [row.rstrip() for row in dedent(drawn).strip("\n").splitlines()]
    if not all(rows) or not rows:
        raise MapError("an empty row")
    cells = "".join(rows)
    other = set(cells) - set(".#~" + ascii_letters)
    if other:
        known = "known: . # ~ and letters from A to Z"
        raise MapError(f"an unknown character {sorted(other)[0]!r}; {known}")
    if len({len(row) for row in rows}) != 1:
        raise MapError("rows of different lengths")
    names = agents(cells)
    for name in names:
        if cells.count(name) != 1 or cells.count(name.lower()) != 1:
            raise MapError(f"one {name} and one {name.lower()} are needed")
    width = len(rows[0])
    walls = [divmod(cell, width) for cell, c in enumerate(cells) if c == "#"]
    sure, law = (
        gridworld(len(rows), width, slip=one, law="reachable", walls=walls)
        for one in (0.0, slip)
    )
    near = np.any(sure > 0.0, axis=1)
    blocked = sure[:, :4][np.arange(len(cells)), :, np.arange(len(cells))] == 1.0
    for cell, action in np.argwhere(blocked):
        law[cell, action] = near[cell] / near[cell].sum()
    N = len(names)
    shape = (len(cells),) * N
    lava = np.array([c == "~" for c in cells])
    where = np.indices(shape)
    dead = np.any(lava[where], axis=0)
    for i, j in combinations(range(N), 2):
        dead |= where[i] == where[j]
    target = np.zeros(shape, dtype=bool)
    target[tuple(cells.index(name.lower()) for name in names)] = True
    start = tuple(cells.index(name) for name in names)
    team = MarkovGame(
        transitions=(law,) * N,
        start=start,
        target=target,
        dead=dead,
        depends=tuple(tuple(on) for on in depends),
    )
    return team, names
