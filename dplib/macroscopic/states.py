"""The states of a network that can be reached, and the rates between them.

Models. The populations form a continuous-time Markov chain (section 2.3 of the paper).
Its generator K has the rate from state i to state j in row i, column j, and minus the
total rate of leaving i on the diagonal, as Equation 4 defines it. Probabilities then
follow ``dp/dt = K^T p``: Equation 3 needs the transpose of Equation 4.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array

from dplib import check
from dplib.macroscopic.network import IntArray, Network, NetworkError
from dplib.macroscopic.structure import conservation_laws

__all__ = ["CAP", "generator", "reachable"]

CAP = 3_000_000
"""Most states that are listed unless more are asked for."""


def reachable(
    network: Network, start: IntArray, *, cap: int = CAP, fastest: float = np.inf
) -> IntArray:
    """Return the states that can be reached, shape (n, S), in lexicographic order.

    Parameters
    ----------
    network : Network
        Of S species, each bounded by a conservation law.
    start : ndarray of int, shape (S,)
        Populations at the start.
    cap : int
        Most states; more are refused.
    fastest : float
        States whose total rate of leaving is larger are left out, and what can be
        reached through them only.

    Examples
    --------
    >>> from dplib.macroscopic import paper
    >>> reachable(paper.RESOURCE.network, paper.RESOURCE.start((1, 1))).tolist()
    [[0, 0, 1, 0, 1], [0, 1, 1, 1, 0], [1, 1, 0, 0, 1], [1, 2, 0, 1, 0]]
    """
    weights = _weights(_bounds(network, start))
    found = frontier = np.asarray(start, dtype=np.int64)[None]
    known = frontier @ weights
    while len(frontier):
        rates = network.propensities(frontier)
        reached = np.concatenate(
            [
                frontier[rates[:, r] > 0] + change
                for r, change in enumerate(network.changes)
            ]
        )
        keys, first = np.unique(reached @ weights, return_index=True)
        new = np.isin(keys, known, invert=True)
        keys, frontier = keys[new], reached[first[new]]
        if np.isfinite(fastest):
            slow = network.propensities(frontier).sum(axis=1) <= fastest
            keys, frontier = keys[slow], frontier[slow]
        known = np.sort(np.concatenate([known, keys]), kind="stable")
        found = np.concatenate([found, frontier])
        if len(found) > cap:
            check.fail(
                "cap", "reachable", f"at least the number of states (over {cap})", cap
            )
    return found[np.argsort(found @ weights)]


def generator(network: Network, states: IntArray) -> csr_array:
    """Return K over the states given, shape (n, n).

    A jump out of the list leaves its row without the entry, not without the loss on
    the diagonal: its probability is gone.

    Examples
    --------
    >>> from dplib.macroscopic.network import parse
    >>> generator(parse("A <-> B : 2, 1"), np.array([[0, 1], [1, 0]])).toarray()
    array([[-1.,  1.],
           [ 2., -2.]])
    """
    most = states.max(axis=0)
    weights = _weights(most)
    keys = states @ weights
    rates = network.propensities(states)
    entries = []
    for r, change in enumerate(network.changes):
        target = states + change
        inside = (rates[:, r] > 0) & np.all((target >= 0) & (target <= most), axis=1)
        rows = np.flatnonzero(inside)
        at = np.searchsorted(keys, target[rows] @ weights)
        hit = np.minimum(at, len(keys) - 1)
        there = keys[hit] == target[rows] @ weights
        entries.append((rates[rows[there], r], rows[there], hit[there]))
    n = np.arange(len(states))
    entries.append((-rates.sum(axis=1), n, n))
    values, rows, columns = (
        np.concatenate(part) for part in zip(*entries, strict=True)
    )
    return coo_array((values, (rows, columns)), shape=(len(n), len(n))).tocsr()


def _bounds(network: Network, start: IntArray) -> IntArray:
    """Return the largest population of each species, by the conservation laws."""
    bounds = np.full(len(network.species), np.iinfo(np.int64).max)
    for law in conservation_laws(network):
        if np.all(law >= 0):
            held = law > 0
            bounds[held] = np.minimum(bounds[held], (law @ start) // law[held])
    if (free := int(np.argmax(bounds))) >= 0 and bounds[free] > 2**60:
        raise NetworkError(f"the population of {network.species[free]!r} has no bound")
    return bounds


def _weights(most: IntArray) -> IntArray:
    """Return weights that number states in lexicographic order without a clash."""
    sizes = [int(one) + 1 for one in most]
    weights = [1]
    for size in sizes[:0:-1]:
        weights.append(weights[-1] * size)
    if weights[-1] * sizes[0] >= 2**63:
        raise NetworkError("the populations are too large to number the states")
    return np.array(weights[::-1], dtype=np.int64)
