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
from dplib.macroscopic.network import FloatArray, IntArray, Network, NetworkError

__all__ = ["CAP", "around", "generator", "reachable"]

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
    size, states = len(states), np.ascontiguousarray(states, dtype=np.int64)
    found = _rows(states, network.reactants, network.changes, network.rates)
    return sparse.csr_array(found, shape=(size, size))


@numba.njit(cache=CACHE)
def _slot(table: NDArray[np.int32], states: IntArray, key: IntArray) -> np.int64:
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
def _table(states: IntArray, count: int, size: int) -> NDArray[np.int32]:
    """Return a hash table of the first states: index in each slot, or -1."""
    table = np.full(size, -1, dtype=np.int32)
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
    return states[:count]


@numba.njit(cache=CACHE)
def _rows(
    states: IntArray, reactants: IntArray, changes: IntArray, rates: FloatArray
) -> tuple[FloatArray, NDArray[np.int32], NDArray[np.int32]]:
    """Return values, columns and starts of the rows of the generator."""
    count, width = states.shape
    size = 1024
    while size < 4 * count:
        size *= 2
    table = _table(states, count, size)
    values = np.empty(count * (len(rates) + 1))
    columns = np.empty(len(values), dtype=np.int32)
    starts = np.zeros(count + 1, dtype=np.int32)
    key = np.empty(width, dtype=np.int64)
    end = 0
    for number in range(count):
        diagonal = end
        values[end], columns[end] = 0.0, number
        end += 1
        for reaction in range(len(rates)):
            rate = rates[reaction]
            for column in range(width):
                here = states[number, column]
                for taken in range(reactants[reaction, column]):
                    rate *= max(here - taken, 0)
                key[column] = here + changes[reaction, column]
            if rate <= 0:
                continue
            values[diagonal] -= rate
            target = table[_slot(table, states, key)]
            if target < 0:
                continue
            at = diagonal
            while at < end and columns[at] != target:
                at += 1
            if at == end:
                values[end], columns[end] = 0.0, target
                end += 1
            values[at] += rate
        starts[number + 1] = end
    return values[:end], columns[:end], starts
