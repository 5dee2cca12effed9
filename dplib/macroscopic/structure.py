"""Structure of a reaction network: what can be said of it before it is solved.

A *complex* is what stands on a side of a reaction. Complexes that reactions connect
form a *linkage class*; a network is *weakly reversible* if inside each class every
complex can be reached from every other. Its *deficiency* is N_C - L - rank(Γ): the
number of complexes, less the linkage classes, less the independent changes (the proof
of the paper's Proposition 2; Feinberg).

A network is *complex balanced*, for its rates, if a point c > 0 exists at which every
complex is made as fast as it is used up. With the complexes as vectors rho_j, and the
stationary weights K_j of the random walk on the complexes of a class, that asks

    (rho_j - rho_ref) . ln c = ln K_j - ln K_ref      for all j of every class

(ref is the first complex of the class). These are linear equations in ln c with whole
coefficients: their rank is that of Γ, and *deficiency* many of them are conditions on
the rates, the cycle conditions. Everything about them is done in fractions, exactly;
only the weights are numbers, in log space. What is compared does not depend on BLAS.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dplib.macroscopic.network import FloatArray, IntArray, Network

__all__ = [
    "Complexes",
    "balanced_point",
    "complexes",
    "conservation_laws",
    "deficiency",
    "linkage_classes",
    "weakly_reversible",
]

Row = list[Fraction]

#: Largest deviation of a cycle condition, relative to the logarithms that it adds up.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Complexes:
    """The complexes of a network, in the order of first appearance.

    Parameters
    ----------
    members : ndarray of int, shape (N_C, S)
        The multiplicities rho_j of the species.
    reactant, product : ndarray of int, shape (R,)
        Numbers of the two complexes of each reaction.
    """

    members: IntArray
    reactant: IntArray
    product: IntArray


def complexes(network: Network) -> Complexes:
    """Return the complexes of a network.

    Examples
    --------
    >>> from dplib.macroscopic.network import parse
    >>> complexes(parse("A + R <-> AR : 3, 1")).members.tolist()
    [[1, 1, 0], [0, 0, 1]]
    """
    sides = np.stack([network.reactants, network.products], axis=1)
    numbers: dict[tuple[int, ...], int] = {}
    for side in sides.reshape(-1, len(network.species)):
        numbers.setdefault(tuple(side.tolist()), len(numbers))
    at = [[numbers[tuple(one)] for one in pair] for pair in sides.tolist()]
    return Complexes(np.array([*numbers]), *np.array(at).T)


def linkage_classes(network: Network) -> IntArray:
    """Return the number of the linkage class of each complex, shape (N_C,).

    Examples
    --------
    >>> from dplib.macroscopic import paper
    >>> linkage_classes(paper.RESOURCE.network)
    array([0, 0, 1, 1])
    """
    return _components(network, "weak")


def deficiency(network: Network) -> int:
    """Return N_C - L - rank(Γ), 0 or more.

    Examples
    --------
    >>> from dplib.macroscopic import paper
    >>> deficiency(paper.RESOURCE.network), deficiency(paper.two_routes().network)
    (0, 1)
    """
    differences, _ = _differences(network)
    return len(differences) - len(_reduce(differences)[1])


def weakly_reversible(network: Network) -> bool:
    r"""Return whether reactions lead back from every complex to where it came from.

    Examples
    --------
    >>> from dplib.macroscopic.network import parse
    >>> weakly_reversible(parse("A -> B : 1"))
    False
    >>> weakly_reversible(parse("A -> B : 1\nB -> C : 1\nC -> A : 1"))
    True
    """
    strong, weak = _components(network, "strong"), linkage_classes(network)
    return int(strong.max()) == int(weak.max())


def conservation_laws(network: Network) -> IntArray:
    """Return a basis of the sums that no reaction changes, shape (laws, S).

    Whole numbers without a common divisor. Laws without negative numbers come first,
    those over the fewest species among them (Farkas' algorithm); a law with mixed
    signs is only listed if no basis does without it.

    Examples
    --------
    >>> from dplib.macroscopic import paper
    >>> conservation_laws(paper.RESOURCE.network).tolist()  # of A, R, AR, B, BR
    [[1, 0, 1, 0, 0], [0, 0, 0, 1, 1], [0, 1, 1, 0, 1]]
    """
    n = len(network.species)
    changes = [[Fraction(int(number)) for number in row] for row in network.changes]
    reduced, pivots = _reduce(changes)
    free = [column for column in range(n) if column not in pivots]
    null = []
    for column in free:
        one = [Fraction(int(species == column)) for species in range(n)]
        for row, pivot in zip(reduced, pivots, strict=False):
            one[pivot] = -row[column]
        null.append(_whole(one))
    basis: list[list[int]] = []
    positive = sorted(_semipositive(network), key=lambda law: n - law.count(0))
    for law in [*positive, *null]:
        longer = [*basis, law]
        if len(_reduce([[Fraction(k) for k in row] for row in longer])[1]) > len(basis):
            basis = longer
    return np.array(basis, dtype=np.int64).reshape(-1, n)


def balanced_point(network: Network) -> FloatArray | None:
    """Return ln c of a complex-balanced point, shape (S,), or None if there is none.

    With deficiency 0 there is one for all rates. Otherwise the cycle conditions are
    tried, relative to the size of the logarithms in them. Of the many points (all
    have the same normalised stationary distribution) this one has c = 1 at as many
    of the species named first as possible.

    Examples
    --------
    >>> from dplib.macroscopic import paper
    >>> np.exp(balanced_point(paper.RESOURCE.network))  # of A, R, AR, B, BR
    array([1., 1., 3., 1., 1.])
    >>> balanced_point(paper.two_routes((3, 1, 1, 1, 1, 1, 1, 1)).network) is None
    True
    """
    if not weakly_reversible(network):
        return None
    differences, weights = _differences(network)
    n = len(network.species)
    identity = np.eye(len(differences), dtype=int).tolist()
    # Species in reverse order, so that compounds are solved for; then the identity,
    # which keeps record of how the equations were combined.
    joined = [
        [*row[::-1], *map(Fraction, unit)]
        for row, unit in zip(differences, identity, strict=True)
    ]
    reduced, pivots = _reduce(joined, columns=n)
    combined = np.array([[float(k) for k in row[n:]] for row in reduced])
    combined = combined.reshape(len(differences), len(differences))
    terms = combined * weights
    solved, scale = terms.sum(axis=1), np.abs(terms).sum(axis=1)
    conditions = slice(len(pivots), None)
    if np.any(np.abs(solved[conditions]) > TOLERANCE * (1 + scale[conditions])):
        return None
    log_c = np.zeros(n)
    log_c[[n - 1 - column for column in pivots]] = solved[: len(pivots)]
    return log_c


def _components(network: Network, connection: Literal["weak", "strong"]) -> IntArray:
    found = complexes(network)
    n = len(found.members)
    ones = np.ones(len(network.rates))
    graph = coo_array((ones, (found.reactant, found.product)), shape=(n, n))
    _, labels = connected_components(graph, connection=connection)
    return np.asarray(labels, dtype=np.int64)


def _differences(network: Network) -> tuple[list[Row], FloatArray]:
    """Return the rows rho_j - rho_ref of every class, and ln K_j - ln K_ref."""
    found, classes = complexes(network), linkage_classes(network)
    rows: list[Row] = []
    logs: list[float] = []
    reversible = weakly_reversible(network)
    for one in range(classes.max() + 1):
        inside = np.flatnonzero(classes == one)
        weights = np.zeros(len(inside))
        if reversible:
            rates = np.full((len(inside), len(inside)), -np.inf)
            where = np.flatnonzero(classes[found.reactant] == one)
            at = np.searchsorted(inside, [found.reactant[where], found.product[where]])
            np.logaddexp.at(rates, tuple(at), np.log(network.rates[where]))
            weights = _log_stationary(rates)
        for j, weight in zip(inside[1:], weights[1:], strict=True):
            change = found.members[j] - found.members[inside[0]]
            rows.append([Fraction(int(k)) for k in change])
            logs.append(float(weight - weights[0]))
    return rows, np.array(logs)


def _log_stationary(log_rates: FloatArray) -> FloatArray:
    """Return log weights of an irreducible Markov chain that are stationary.

    The algorithm of Grassmann, Taksar and Heyman, which never subtracts, in logs.
    """
    a = log_rates.copy()
    for k in range(len(a) - 1, 0, -1):
        a[:k, k] -= np.logaddexp.reduce(a[k, :k])
        a[:k, :k] = np.logaddexp(a[:k, :k], a[:k, k, None] + a[k, :k])
    weights = np.zeros(len(a))
    for k in range(1, len(a)):
        weights[k] = np.logaddexp.reduce(weights[:k] + a[:k, k])
    return weights


def _reduce(rows: list[Row], columns: int | None = None) -> tuple[list[Row], list[int]]:
    """Return the reduced row echelon form, and its pivot columns (exactly)."""
    rows = [row.copy() for row in rows]
    pivots: list[int] = []
    for column in range(len(rows[0]) if rows and columns is None else columns or 0):
        top = len(pivots)
        below = [k for k in range(top, len(rows)) if rows[k][column]]
        if not below:
            continue
        rows[top], rows[below[0]] = rows[below[0]], rows[top]
        pivot = rows[top][column]
        rows[top] = [value / pivot for value in rows[top]]
        for k, row in enumerate(rows):
            if k != top and (factor := row[column]):
                rows[k] = [a - factor * b for a, b in zip(row, rows[top], strict=True)]
        pivots.append(column)
    return rows, pivots


def _whole(law: Row) -> list[int]:
    """Return the multiple of a law that is whole, without a common divisor."""
    times = lcm(*(value.denominator for value in law))
    whole = [int(value * times) for value in law]
    return [value // gcd(*whole) for value in whole]


def _semipositive(network: Network) -> list[list[int]]:
    """Return the laws >= 0 whose supports are minimal.

    Farkas' algorithm: one reaction after the other, laws that it raises are added to
    laws that it lowers, in the multiples that cancel.
    """
    n = len(network.species)
    laws = [np.eye(n, dtype=object)[species] for species in range(n)]
    for change in network.changes.astype(object):
        moved = [(law, int(law @ change)) for law in laws]
        laws = [law for law, by in moved if by == 0]
        for up, raised in moved:
            for down, lowered in moved:
                if raised > 0 > lowered:
                    joint = up * -lowered + down * raised
                    laws.append(joint // gcd(*joint))
        support = [frozenset(np.flatnonzero(law)) for law in laws]
        laws = [
            law
            for k, law in enumerate(laws)
            if not any(
                other < support[k] or (other == support[k] and j < k)
                for j, other in enumerate(support)
            )
        ]
    return [[int(value) for value in law] for law in laws]
