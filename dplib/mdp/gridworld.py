r"""An agent on a grid whose steps sometimes slip; the slip law has a name.

Benvenuti et al., Section 8.2, where "the probability of agent i slipping into a state
not commanded by the action is p = 0.1", and no more is said about where it slips to.

Model. Cells count row by row from the corner (0, 0). Actions are north (row - 1), south
(row + 1), east (column + 1), west (column - 1) and stay. A step off the grid or into a
wall ends where it began. The cell that the action leads to is the *commanded* one. With
probability 1 - slip it is reached; with probability slip the law says what happens:

================  ==================================================================
law               with probability `slip`
================  ==================================================================
"other action"    one of the four other actions acts, each equally likely
"any action"      one of the five actions acts, each equally likely
"sideways"        one of the two perpendicular moves acts; staying never slips
"put"             the agent stays where it is
"sure stay"       as "other action", but staying never slips
"reachable"       one of the cells that some action leads to, other than the commanded
"neighbour"       as "reachable", but not the cell where the agent is
"any cell"        one of all cells, other than the commanded
================  ==================================================================

A cell can count twice ("other action" in a corner: two actions are blocked, and the
agent stays). Only with the last three laws a slip never ends in the commanded cell.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from dplib import check

__all__ = ["ACTIONS", "SLIP_LAWS", "gridworld"]

FloatArray = NDArray[np.float64]

ACTIONS = ("north", "south", "east", "west", "stay")
"""Local actions, in their order."""

SLIP_LAWS = (
    "other action",
    "any action",
    "sideways",
    "put",
    "sure stay",
    "reachable",
    "neighbour",
    "any cell",
)
"""Names of the slip laws."""

MOVES = ((-1, 0), (1, 0), (0, 1), (0, -1), (0, 0))
STAY = 4


def gridworld(
    rows: int,
    columns: int,
    *,
    slip: float,
    law: str,
    walls: Collection[tuple[int, int]] = (),
) -> FloatArray:
    """Return one agent's transitions on a grid.

    Parameters
    ----------
    rows, columns : int
        Size of the grid, each 1 or more.
    slip : float
        Probability that the slip law acts, between 0 and 1.
    law : str
        One of `SLIP_LAWS`.
    walls : collection of (row, column), optional
        Cells that cannot be entered. They stay in the count of cells, and nothing
        happens in them.

    Returns
    -------
    numpy.ndarray, shape (rows * columns, 5, rows * columns)
        Probability of cell s' after action a in cell s, at ``[s, a, s']``.

    Examples
    --------
    A corridor of two cells; east from the left one. Of the four other actions one
    leads east no more, so a slip always ends where it began:

    >>> gridworld(1, 2, slip=0.25, law="other action")[0, 2]
    array([0.25, 0.75])
    >>> gridworld(1, 2, slip=0.25, law="any action")[0, 2]
    array([0.2, 0.8])
    """
    slip = check.probability("slip", slip, "gridworld")
    check.member("law", law, "gridworld", SLIP_LAWS)
    blocked = set()
    for row, column in walls:
        if not (0 <= row < rows and 0 <= column < columns):
            check.fail("walls", "gridworld", "cells of the grid", (row, column))
        blocked.add(row * columns + column)
    n = rows * columns
    free = [cell for cell in range(n) if cell not in blocked]
    result = np.zeros((n, len(ACTIONS), n))
    for cell in range(n):
        if cell in blocked:
            result[cell, :, cell] = 1.0
            continue
        ends = [_end(cell, move, rows, columns, blocked) for move in MOVES]
        for action, commanded in enumerate(ends):
            slips = _slips(law, action, cell, ends, free)
            # Where there is nothing to slip to, the action does what is meant.
            result[cell, action, commanded] += 1.0 - slip if slips else 1.0
            for end in slips:
                result[cell, action, end] += slip / len(slips)
    return result


def _slips(
    law: str, action: int, cell: int, ends: list[int], free: list[int]
) -> list[int]:
    """Return the equally likely cells that a slip ends in."""
    commanded = ends[action]
    others = [end for k, end in enumerate(ends) if k != action]
    if law in ("sideways", "sure stay") and action == STAY:
        return []
    match law:
        case "other action" | "sure stay":
            return others
        case "any action":
            return ends
        case "sideways":
            return ends[2:4] if action < 2 else ends[0:2]
        case "put":
            return [cell]
        case "any cell":
            return [end for end in free if end != commanded]
    reachable = sorted(set(ends) - {commanded})
    return [end for end in reachable if law == "reachable" or end != cell]


def _end(
    cell: int, move: tuple[int, int], rows: int, columns: int, blocked: set[int]
) -> int:
    """Return the cell that a move leads to."""
    row, column = cell // columns + move[0], cell % columns + move[1]
    end = row * columns + column
    inside = 0 <= row < rows and 0 <= column < columns
    return end if inside and end not in blocked else cell
