"""Which data count as neighbours: the half of a privacy claim that is not epsilon.

Model. Data are real arrays d (a vector, or a trajectory with one row a time
step). A release is (epsilon, delta)-differentially private *with respect to an
adjacency* if, for all adjacent d ~ d' and every event S,

    P(M(d) in S) <= exp(epsilon) P(M(d') in S) + delta .

Which pairs are adjacent decides what is protected. Replacing a record is not
adding one; one time step is not a whole trajectory. An `Adjacency` therefore
names the *unit of privacy* in words, and holds the norm and the radius within
which two data are neighbours.

For Hale & Egerstedt (arXiv 1509.08161, Definition 1) it is: the l1 distance of
one agent's two state trajectories, summed over all components and all time
steps, is at most B; the states of all other agents are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.privacy._numeric import exact, real_array, round_up

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
        Whose data may differ, and what is held equal, in words.
    norm : {"l1", "l2", "linf", "hamming"}
        How distance is measured, over all entries of the data array at once
        ("hamming" counts the entries that differ).
    radius : float
        Largest distance of adjacent data, positive, in the data's own unit.
        A number that no float equals (1/3) is rounded up.

    Raises
    ------
    TypeError, ValueError
        If a field is not as above.

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
        for field in ("name", "unit"):
            word = getattr(self, field)
            if not isinstance(word, str):
                check.fail(field, "Adjacency", "a non-empty string", word, TypeError)
            if not word.strip():
                check.fail(field, "Adjacency", "a non-empty string", word)
        check.member("norm", self.norm, "Adjacency", NORMS)
        check.positive("radius", self.radius, "Adjacency")
        object.__setattr__(self, "radius", round_up(exact(self.radius)))

    def distance(self, x: ArrayLike, y: ArrayLike) -> float:
        """Return the distance of two data arrays of the same shape.

        To rounding; inf if it is larger than any float.

        Raises
        ------
        TypeError, ValueError
            If the two are not finite real arrays of one shape.
        """
        first = real_array("x", x, "Adjacency.distance")
        second = check.array("y", y, "Adjacency.distance", shape=first.shape)
        if self.norm == "hamming":
            # As given: integers above 2^53 may differ and be the same float.
            return float(np.count_nonzero(np.asarray(x) != np.asarray(y)))
        with np.errstate(over="ignore"):
            gaps = np.abs(first - second).ravel()
        if self.norm == "l1":
            try:
                return math.fsum(gaps)
            except OverflowError:
                return math.inf
        if self.norm == "l2":
            return math.hypot(*gaps)
        return float(np.max(gaps, initial=0.0))

    def relates(self, x: ArrayLike, y: ArrayLike) -> bool:
        """Say whether two data arrays are adjacent (distance in floating point)."""
        return self.distance(x, y) <= self.radius

    def scaled(self, factor: int) -> Adjacency:
        """Return the adjacency with `factor` times the radius, for groups.

        Examples
        --------
        >>> pair = Adjacency(name="row", unit="one entry replaced",
        ...                  norm="hamming", radius=1).scaled(2)
        >>> pair.name, pair.radius
        ('row x 2', 2.0)
        """
        factor = check.integer("factor", factor, "Adjacency.scaled", low=1)
        return Adjacency(
            name=self.name if factor == 1 else f"{self.name} x {factor}",
            unit=self.unit,
            norm=self.norm,
            radius=round_up(factor * Fraction(self.radius)),
        )
