"""Releases as values, and the rules by which their privacy adds up.

Model. A `Release` states that something computed from the data is (epsilon,
delta)-differentially private with respect to an adjacency. The rules here take
releases and return the release of everything together; they are *adaptive*:
each mechanism may be chosen from what the earlier ones gave out. (Post-processing
one release is free, but it never merges several releases into one.)

Notation: (epsilon_j, delta_j) of release j, fixed in advance for all j. What is
returned is never below the exact value of its formula.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dplib import check
from dplib.privacy._numeric import UNIT, exact, log1mexp, round_up
from dplib.privacy.adjacency import Adjacency

__all__ = [
    "Release",
    "basic_composition",
    "group_privacy",
    "parallel_composition",
]


@dataclass(frozen=True, kw_only=True)
class Release:
    """The statement that something is (epsilon, delta)-DP, and for which adjacency.

    Parameters
    ----------
    name : str
        What is released.
    epsilon : float
        0 or greater, finite. A number that no float equals (1/3) is rounded up.
    delta : float
        Between 0 and 1; 0 (pure differential privacy) unless given. Rounded up
        likewise.
    adjacency : Adjacency
        The pairs of data for which it holds. There is no default.

    Raises
    ------
    TypeError, ValueError
        If a field is not as above.

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
        _check_name(self.name, "Release")
        check.nonnegative("epsilon", self.epsilon, "Release")
        check.probability("delta", self.delta, "Release")
        check.instance("adjacency", self.adjacency, "Release", Adjacency)
        object.__setattr__(self, "epsilon", round_up(exact(self.epsilon)))
        object.__setattr__(self, "delta", round_up(exact(self.delta)))


def basic_composition(releases: Sequence[Release], *, name: str) -> Release:
    """Return all releases together: epsilons add, deltas add.

    Dwork and Roth 2014, Theorem 3.16; adaptive as well (Dwork, Kenthapadi,
    McSherry, Mironov and Naor 2006). Sums are rounded up.

    Parameters
    ----------
    releases : sequence of Release
        At least one; all with respect to the same adjacency.
    name : str
        Name of the whole.

    Raises
    ------
    TypeError, ValueError
        If there is no release, or the adjacencies differ.

    Examples
    --------
    >>> row = Adjacency(name="row", unit="one row replaced", norm="hamming", radius=1)
    >>> one = Release(name="one", epsilon=0.5, adjacency=row)
    >>> two = Release(name="two", epsilon=0.25, delta=1e-6, adjacency=row)
    >>> both = basic_composition([one, two], name="both")
    >>> both.epsilon, both.delta
    (0.75, 1e-06)
    """
    releases = _same_neighbours(releases, "basic_composition")
    delta = sum((Fraction(one.delta) for one in releases), Fraction(0))
    return Release(
        name=name,
        epsilon=round_up(sum((Fraction(one.epsilon) for one in releases), Fraction(0))),
        delta=min(1.0, round_up(delta)),
        adjacency=releases[0].adjacency,
    )


def parallel_composition(releases: Sequence[Release], *, name: str) -> Release:
    """Return releases on disjoint parts of the data together: the worst of them.

    Holds only if adjacent data differ within *one* part, whichever it is
    (McSherry 2009): parts fixed in advance, one unit of privacy in one part. A
    record that moves from one part to another changes two of them; a budget
    that may be spread over several parts does too. Use `basic_composition`
    then.

    Parameters
    ----------
    releases : sequence of Release
        At least one; each computed from its own part of the data, and private
        with respect to the same adjacency there.
    name : str
        Name of the whole.

    Raises
    ------
    TypeError, ValueError
        As in `basic_composition`.

    Examples
    --------
    >>> row = Adjacency(name="row", unit="one row replaced", norm="hamming", radius=1)
    >>> parts = [Release(name=str(e), epsilon=e, adjacency=row) for e in (0.5, 0.25)]
    >>> parallel_composition(parts, name="both").epsilon
    0.5
    """
    releases = _same_neighbours(releases, "parallel_composition")
    return Release(
        name=name,
        epsilon=max(one.epsilon for one in releases),
        delta=max(one.delta for one in releases),
        adjacency=releases[0].adjacency,
    )


def group_privacy(release: Release, *, size: int) -> Release:
    """Return what a release promises to data that are `size` adjacent steps apart.

    Chaining the definition over the steps gives epsilon' = size epsilon and
    delta' = delta (1 + e^epsilon + ... + e^((size - 1) epsilon)), at most 1. Both
    are rounded up.

    Parameters
    ----------
    release : Release
        The promise for adjacent data.
    size : int
        Number of steps, 1 or more. The returned adjacency has `size` times the
        radius; that two data within it are joined by so many adjacent steps
        holds if the data's domain is convex (or, for "hamming", a product set).

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or epsilon' overflows.

    Examples
    --------
    >>> row = Adjacency(name="row", unit="one row replaced", norm="hamming", radius=1)
    >>> group = group_privacy(Release(name="count", epsilon=0.5, adjacency=row), size=3)
    >>> group.epsilon, group.adjacency.radius
    (1.5, 3.0)
    """
    check.instance("release", release, "group_privacy", Release)
    size = check.integer("size", size, "group_privacy", low=1)
    epsilon = round_up(size * Fraction(release.epsilon))
    delta = release.delta
    if delta > 0.0 and release.epsilon == 0.0:
        delta = round_up(size * Fraction(delta))
    elif delta > 0.0 and size > 1:
        step = release.epsilon
        # log of expm1(epsilon) / expm1(step), for exponents of any size.
        terms = [
            math.log(delta),
            epsilon,
            float(log1mexp(-epsilon)),
            -step,
            -float(log1mexp(-step)),
        ]
        # What the terms may have lost by rounding, and their sum.
        allowance = 4.0 * UNIT * (1.0 + math.fsum(abs(term) for term in terms))
        log_delta = min(0.0, math.fsum(terms) + allowance)
        delta = math.nextafter(math.exp(log_delta), math.inf)
    return Release(
        name=f"{release.name} (group of {size})",
        epsilon=epsilon,
        delta=min(1.0, delta),
        adjacency=release.adjacency.scaled(size),
    )


def _check_name(name: object, where: str) -> None:
    if not isinstance(name, str):
        check.fail("name", where, "a string", name, TypeError)


def _same_neighbours(releases: object, where: str) -> tuple[Release, ...]:
    checked = check.sequence("releases", releases, where, Release)
    for one in checked:
        if one.adjacency != checked[0].adjacency:
            must = "all with respect to the same adjacency"
            check.fail("releases", where, must, one.adjacency.name)
    return checked
