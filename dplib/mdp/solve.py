"""One reward: the special case of `dplib.mdp.batch`, where rules and bounds stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib.mdp.batch import SWEEPS, solve_many
from dplib.mdp.model import Model

__all__ = ["Solution", "solve", "value_iteration"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Solution:
    """Optimal values and a policy, and what vouches for them.

    Attributes
    ----------
    values : numpy.ndarray, shape (n,)
        Approximate optimal values.
    policy : numpy.ndarray of int, shape (n,)
        The action to take in each state.
    iterations : int
        Number of backups over all states and actions (for policy iteration, of
        policies evaluated).
    residual : float
        Largest change of a value in the last backup.
    bound : float
        No value is further than this from the optimal one; and the values of
        `policy` itself are at most twice this below the optimal ones.
    """

    values: FloatArray
    policy: IntArray
    iterations: int
    residual: float
    bound: float


def solve(
    model: Model,
    rewards: ArrayLike,
    *,
    tolerance: float,
    stopping: str = "span",
    sweeps: int = SWEEPS,
    start: ArrayLike | None = None,
    max_iterations: int | None = None,
) -> Solution:
    """Return optimal values for one reward array (n, m), by modified policy iteration.

    The other arguments are those of `dplib.mdp.batch.solve_many`.

    Examples
    --------
    >>> from dplib.mdp.model import MDP
    >>> model = MDP([[[1, 0], [0, 1]], [[0, 1], [0, 1]]], 0.5)
    >>> found = solve(model, [[1, 3], [0, 0]], tolerance=1e-9)
    >>> print(found.values.round(6), found.policy)
    [3. 0.] [1 0]
    """
    found = solve_many(
        model,
        np.asarray(rewards)[None],
        tolerance=tolerance,
        stopping=stopping,
        sweeps=sweeps,
        start=start,
        max_iterations=max_iterations,
    )
    return Solution(
        values=found.values[0],
        policy=found.policies[0],
        iterations=int(found.iterations[0]),
        residual=float(found.residual[0]),
        bound=float(found.bound[0]),
    )


def value_iteration(
    model: Model, rewards: ArrayLike, *, tolerance: float, stopping: str = "span"
) -> Solution:
    """Return optimal values for one reward array (n, m), by repeated backups alone.

    As `solve`, without sweeps: Proposition 1 of Benvenuti et al.

    Examples
    --------
    One state that pays 1 in every step: the value is 1 / (1 - 0.75).

    >>> from dplib.mdp.model import MDP
    >>> found = value_iteration(MDP([[[1.0]]], 0.75), [[1.0]], tolerance=1e-6)
    >>> print(found.values, found.iterations)
    [4.] 1
    >>> value_iteration(MDP([[[1.0]]], 0.75), [[1.0]], tolerance=1e-6,
    ...                 stopping="sup").iterations
    53
    """
    return solve(model, rewards, tolerance=tolerance, stopping=stopping, sweeps=0)
