"""A swarm of robots of several types, its databases, and who is adjacent to whom.

Model (sections 2.4 and 4 of the paper). A database D lists the type of each robot; what
matters of it is how many robots there are of each type, the counts N^(s). All robots of
type s start in its home species. Other species (shared resources) start with
populations that are no secret. An observer sees y = Q x: each value is the sum of the
populations of a set of species, and the sets are disjoint (Equation 6).

Two databases are adjacent if one robot has another type: N^(s) falls by one and N^(t)
rises by one (Definition 3; the total number of robots is public).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dplib import check
from dplib.macroscopic.network import IntArray, Network, NetworkError

__all__ = ["TypeChange", "Counts", "Swarm", "observing"]

Counts = tuple[int, ...]
"""Number of robots of each type."""


@dataclass(frozen=True)
class Swarm:
    """A network, where robots of each type start, and what is seen.

    Parameters
    ----------
    network : Network
        Of S species.
    homes : tuple of int
        Home species of each of the T types, by number.
    others : ndarray of int, shape (S,)
        Public populations at the start, on top of the robots.
    query : ndarray of int, shape (V, S)
        0 or 1; the rows of the V observed values are disjoint.

    Examples
    --------
    >>> from dplib.macroscopic import paper
    >>> paper.RESOURCE.start((2, 1))  # of A, R, AR, B, BR
    array([2, 2, 0, 1, 0])
    """

    network: Network
    homes: tuple[int, ...]
    others: IntArray
    query: IntArray

    def __post_init__(self) -> None:
        if np.any(self.query.sum(axis=0) > 1):
            twice = self.network.species[int(np.argmax(self.query.sum(axis=0)))]
            raise NetworkError(f"{twice!r} stands in two sets of what is seen")
        if len(set(self.homes)) < len(self.homes):
            check.fail("homes", "Swarm", "another species for each type", self.homes)

    def start(self, counts: Sequence[int]) -> IntArray:
        """Return the populations at the start, shape (S,)."""
        state = np.array(self.others, dtype=np.int64)
        if len(counts) != len(self.homes) or min(counts) < 0:
            must = f"{len(self.homes)} numbers of robots, one for each type"
            check.fail("counts", "Swarm", must, counts)
        state[list(self.homes)] += np.asarray(counts, dtype=np.int64)
        return state


def observing(
    network: Network,
    homes: Sequence[str],
    seen: Sequence[Sequence[str]],
    others: Mapping[str, int] | None = None,
) -> Swarm:
    """Return a swarm, its species given by name.

    Parameters
    ----------
    network : Network
        The reactions.
    homes : sequence of str
        Home species of each type.
    seen : sequence of sequences of str
        For each observed value the species whose populations it adds up.
    others : mapping, optional
        Populations of species that are no robots at the start, such as ``{"R": 2}``.
    """
    start = np.zeros(len(network.species), dtype=np.int64)
    for name, population in (others or {}).items():
        start[network.index(name)] = check.integer(name, population, "others", low=0)
    return Swarm(
        network,
        tuple(network.index(name) for name in homes),
        start,
        np.array([network.vector(names) for names in seen]),
    )


@dataclass(frozen=True)
class TypeChange:
    """Which databases are adjacent: one robot changes its type.

    Parameters
    ----------
    moves : tuple of (int, int), optional
        The changes (from type, to type) that count; by default all of them.
    empty_types : bool
        Whether a database without any robot of some type is a neighbour too, as in the
        paper's definition.

    Examples
    --------
    >>> list(TypeChange().neighbours((2, 1)))
    [(1, 2), (3, 0)]
    >>> list(TypeChange(empty_types=False).neighbours((2, 1)))
    [(1, 2)]
    """

    moves: tuple[tuple[int, int], ...] | None = None
    empty_types: bool = True

    def neighbours(self, counts: Counts) -> Iterator[Counts]:
        """Return the counts of the adjacent databases, one after the other."""
        types = range(len(counts))
        every = [(s, t) for s in types for t in types if s != t]
        for source, target in every if self.moves is None else self.moves:
            other = list(counts)
            other[source] -= 1
            other[target] += 1
            if other[source] >= 0 and (self.empty_types or min(other) > 0):
                yield tuple(other)
