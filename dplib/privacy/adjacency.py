"""Which data count as neighbours: the half of a privacy claim that is not epsilon.

Model. Data are real arrays d (a vector, or a trajectory with one row a time step). A
release is (epsilon, delta)-differentially private *with respect to an adjacency* if,
for all adjacent d ~ d' and every event S,

    P(M(d) in S) <= exp(epsilon) P(M(d') in S) + delta .

Which pairs are adjacent decides what is protected: replacing a record is not adding
one, and one time step is not a whole trajectory. For Hale & Egerstedt (arXiv
1509.08161, Definition 1) it is: the l1 distance of one agent's two state trajectories,
summed over all components and all time steps, is at most B; the states of all other
agents are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplib import check

__all__ = ["NORMS", "Adjacency"]

NORMS = ("l1", "l2", "linf", "hamming")


@dataclass(frozen=True, kw_only=True)
class Adjacency:
    """Two data are adjacent if their distance is at most a radius.

    Parameters
    ----------
    name : str
        A short name, for tables.
    unit : str
        The unit of privacy in words: whose data may differ, and what is held equal.
    norm : {"l1", "l2", "linf", "hamming"}
        How distance is measured, over all entries of the data array at once
        ("hamming" counts the entries that differ).
    radius : float
        Largest distance of adjacent data, positive, in the data's own unit.

    Examples
    --------
    >>> trajectory = Adjacency(
    ...     name="one trajectory",
    ...     unit="one agent's states at all times; the other agents' are equal",
    ...     norm="l1", radius=3.0)
    >>> trajectory.distance([[0, 0], [1, 1]], [[1, 0], [1, -1]])
    3.0
    >>> trajectory.relates([[0, 0], [1, 1]], [[1, 0], [1, -1]])
    True
    """

    name: str
    unit: str
    norm: str
    radius: float

    def __post_init__(self) -> None:
        if not self.unit.strip():
            check.fail(
                "unit", "Adjacency", "whose data may differ, in words", self.unit
            )
        check.member("norm", self.norm, "Adjacency", NORMS)
        radius = check.positive("radius", self.radius, "Adjacency")
        object.__setattr__(self, "radius", radius)

    def distance(self, x: ArrayLike, y: ArrayLike) -> float:
        """Return the distance of two data arrays of the same shape, to rounding."""
        first, second = np.asarray(x), np.asarray(y)
        if first.shape != second.shape:
            must = f"an array of shape {first.shape}, as x"
            check.fail("y", "Adjacency.distance", must, second.shape)
        if self.norm == "hamming":
            return float(np.count_nonzero(first != second))
        gaps = np.abs(first.astype(float) - second).ravel()
        if self.norm == "l1":
            return math.fsum(gaps)
        if self.norm == "l2":
            return math.hypot(*gaps)
        return float(np.max(gaps, initial=0.0))

    def relates(self, x: ArrayLike, y: ArrayLike) -> bool:
        """Say whether two data arrays are adjacent."""
        return self.distance(x, y) <= self.radius
