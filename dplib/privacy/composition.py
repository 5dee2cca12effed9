"""A statement of privacy as a value, and the rule by which statements add up.

A `Release` says that something computed from the data is (epsilon, delta)-private with
respect to an adjacency. Composition is *adaptive*: each mechanism may be chosen from
what the earlier ones gave out, as long as its (epsilon, delta) is fixed in advance.
(Post-processing one release is free, but it never merges several releases into one.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dplib import check
from dplib.privacy._numeric import round_up
from dplib.privacy.adjacency import Adjacency

__all__ = ["Release", "basic_composition"]


@dataclass(frozen=True, kw_only=True)
class Release:
    """The statement that something is (epsilon, delta)-DP, and for which adjacency.

    Parameters
    ----------
    name : str
        What is released.
    epsilon : float
        0 or greater.
    delta : float
        Between 0 and 1; 0 (pure differential privacy) unless given.
    adjacency : Adjacency
        The pairs of data for which it holds. There is no default.

    Examples
    --------
    >>> row = Adjacency(name="row", unit="one row replaced", norm="hamming", radius=1)
    >>> Release(name="count", epsilon=0.5, adjacency=row).delta
    0.0
    """

    name: str
    epsilon: float
    delta: float = 0.0
    adjacency: Adjacency

    def __post_init__(self) -> None:
        epsilon = check.nonnegative("epsilon", self.epsilon, "Release")
        object.__setattr__(self, "epsilon", epsilon)
        delta = check.probability("delta", self.delta, "Release")
        object.__setattr__(self, "delta", delta)


def basic_composition(releases: Sequence[Release], *, name: str) -> Release:
    """Return all releases together: epsilons add, deltas add. Rounded up.

    Dwork and Roth 2014, Theorem 3.16; adaptive as well (Dwork, Kenthapadi, McSherry,
    Mironov and Naor 2006). All must be stated for one adjacency.

    Examples
    --------
    >>> row = Adjacency(name="row", unit="one row replaced", norm="hamming", radius=1)
    >>> one = Release(name="one", epsilon=0.5, adjacency=row)
    >>> two = Release(name="two", epsilon=0.25, delta=1e-6, adjacency=row)
    >>> both = basic_composition([one, two], name="both")
    >>> both.epsilon, both.delta
    (0.75, 1e-06)
    """
    if not releases:
        check.fail("releases", "basic_composition", "one release or more", releases)
    adjacency = releases[0].adjacency
    for one in releases:
        if one.adjacency != adjacency:
            must = "all with respect to the same adjacency"
            check.fail("releases", "basic_composition", must, one.adjacency.name)
    delta = sum((Fraction(one.delta) for one in releases), Fraction(0))
    return Release(
        name=name,
        epsilon=round_up(sum((Fraction(one.epsilon) for one in releases), Fraction(0))),
        delta=min(1.0, round_up(delta)),
        adjacency=adjacency,
    )
