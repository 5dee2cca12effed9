"""States of a network, and the rates between them (section 2.2 of the paper).

`reachable` lists what reactions can make of a state; `around` does so for a number of
reactions only. `generator` gives K, the rates between listed states:

    K[x, x'] = sum of r(x) over the reactions that lead from x to x',
    K[x, x]  = - (sum of r(x) over all reactions possible in x),

so that dp/dt = K^T p (Equation 3; the paper's Equation 4 says K p, but its K has the
states before a reaction in rows). Where a reaction leaves the list, its rate stays on
the diagonal: probability is lost, and how much is known (Munsky and Khammash, 2006).
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dplib.compiled import CACHE
from dplib.macroscopic.network import IntArray, Network, NetworkError

__all__ = ["around", "generator", "reachable"]

CAP = 5_000_000  # states: about 1 GB with nine species and their generator


def reachable(network: Network, start: ArrayLike, *, cap: int = CAP) -> IntArray:
    """Return all states that reactions can reach.

    Parameters
    ----------
    network : Network
    start : array_like of int, shape (S,)
        Populations at the beginning.
    cap : int
        Refuse more states than this many.

    Returns
    -------
    ndarray of int, shape (n, S)
        In lexicographic order.

    Examples
    --------
    >>> from dplib.macroscopic.network import parse
    >>> reachable(parse("A + B <-> AB : 3, 1"), [2, 1, 0]).tolist()
    [[1, 0, 1], [2, 1, 0]]
    """
    return around(network, np.asarray(start)[None], -1, cap=cap)


def around(
    network: Network, states: IntArray, reactions: int, *, cap: int = CAP
) -> IntArray:
    """Return these states, and all that at most so many reactions make of them.

    Parameters
    ----------
    network : Network
    states : ndarray of int, shape (n, S)
        Distinct.
    reactions : int
        How many one after the other; negative for any number.
    cap : int
        Refuse more states than this many.
    """
    found = _explore(
        np.ascontiguousarray(states, dtype=np.int64),
        network.reactants,
        network.changes,
        reactions,
        cap,
    )
    if len(found) > cap:
        raise NetworkError(
            f"more than {cap:,} states are reachable; fewer robots, a larger cap, or "
            "a method that does not list them all (a tolerance above 0) would do"
        )
    order: IntArray = np.lexsort(found.T[::-1])
    result: IntArray = found[order]
    return result


def generator(network: Network, states: IntArray) -> sparse.csr_array:
    """Return K between the states, shape (n, n): dp/dt = K^T p.

    Examples
    --------
    >>> from dplib.macroscopic.network import parse
    >>> pairs = parse("A + B <-> AB : 3, 1")
    >>> generator(pairs, reachable(pairs, [2, 1, 0])).toarray()
    array([[-1.,  1.],
           [ 6., -6.]])
    """
    rates = network.propensities(states)
    at = _targets(
        np.ascontiguousarray(states, dtype=np.int64), network.changes, rates > 0
    )
    source, reaction = np.nonzero(at >= 0)
    diagonal = np.arange(len(states), dtype=np.int32)
    rows = np.concatenate([source.astype(np.int32), diagonal])
    columns = np.concatenate([at[source, reaction].astype(np.int32), diagonal])
    values = np.concatenate([rates[source, reaction], -rates.sum(axis=1)])
    shape = (len(states), len(states))
    return sparse.csr_array(sparse.coo_array((values, (rows, columns)), shape=shape))


@numba.njit(cache=CACHE)
def _slot(table: IntArray, states: IntArray, key: IntArray) -> np.int64:
    """Return where in the hash table a state stands, or would stand."""
    mixed = np.uint64(14695981039346656037)
    for value in key:
        mixed = (mixed ^ np.uint64(value)) * np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    mask = len(table) - 1
    slot = np.int64(mixed & np.uint64(mask))
    while table[slot] >= 0:
        row = states[table[slot]]
        same = True
        for column in range(len(key)):
            if row[column] != key[column]:
                same = False
                break
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@numba.njit(cache=CACHE)
def _table(states: IntArray, count: int, size: int) -> IntArray:
    """Return a hash table of the first states: index in each slot, or -1."""
    table = np.full(size, -1, dtype=np.int64)
    for number in range(count):
        table[_slot(table, states, states[number])] = number
    return table


@numba.njit(cache=CACHE)
def _explore(
    first: IntArray, reactants: IntArray, changes: IntArray, reactions: int, cap: int
) -> IntArray:
    """Search in breadth; stop above the cap."""
    count, width = first.shape
    room = 1024
    while room < 2 * count:
        room *= 2
    states = np.empty((room, width), dtype=np.int64)
    states[:count] = first
    table = _table(states, count, 4 * room)
    key = np.empty(width, dtype=np.int64)
    at, end, level = 0, count, 0
    while at < count and level != reactions and count <= cap:
        for number in range(len(reactants)):
            possible = True
            for column in range(width):
                if states[at, column] < reactants[number, column]:
                    possible = False
                    break
                key[column] = states[at, column] + changes[number, column]
            if not possible:
                continue
            slot = _slot(table, states, key)
            if table[slot] < 0:
                table[slot] = count
                states[count] = key
                count += 1
                if count == room:
                    room *= 2
                    more = np.empty((room, width), dtype=np.int64)
                    more[:count] = states[:count]
                    states = more
                    table = _table(states, count, 4 * room)
        at += 1
        if at == end:
            level, end = level + 1, count
    return states[:count].copy()


@numba.njit(cache=CACHE)
def _targets(
    states: IntArray, changes: IntArray, possible: NDArray[np.bool_]
) -> IntArray:
    """Return where each reaction leads from each state, or -1; shape (n, R)."""
    size = 1024
    while size < 4 * len(states):
        size *= 2
    table = _table(states, len(states), size)
    result = np.full(possible.shape, -1, dtype=np.int64)
    key = np.empty(states.shape[1], dtype=np.int64)
    for number in range(len(states)):
        for reaction in range(len(changes)):
            if possible[number, reaction]:
                for column in range(len(key)):
                    key[column] = states[number, column] + changes[reaction, column]
                result[number, reaction] = table[_slot(table, states, key)]
    return result
