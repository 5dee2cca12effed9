"""Collaboration trees: the distribution of what is observed, without any state.

In a collaboration tree every compound is made in one way, and every species is part of
one compound at most (the binary trees of section 6.2 of the paper are the case of two
parts). A compound v has the ratio k_v of the rates at which it is made and at which it
falls apart. The stationary distribution is the normalised product form (Corollary 1)

    pi(x) ~ product over species v of c_v^x_v / x_v!,    c_v = k_v * product of parts' c

with c = 1 for single robots: any complex-balanced point will do, so none is solved for.

A robot below v is in v, below it, or above it, and every compound above v holds one
of each type below v. So all that a sub-tree knows of the rest is the number u of its
robots of each type that are used above. With one variable z for each observed
value, the weights of what is observed inside the sub-tree are polynomials

    F_leaf(u) = z^(N - u) / (N - u)!
    F_v(u)    = sum over x of (c_v z_v)^x / x! * product over parts of F_part(u + x),

and F_root(0) are the weights of the observations y. A monomial is one integer, its
*key*: digits y_1, y_2, ... in mixed radix, so that multiplying adds keys and the order
of the keys is that of the rows y. Weights are logarithms.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numba
import numpy as np
from scipy.special import gammaln

from dplib import check
from dplib.compiled import CACHE
from dplib.macroscopic.distribution import Distribution
from dplib.macroscopic.network import FloatArray, IntArray
from dplib.macroscopic.swarm import Counts, Swarm

__all__ = ["Forest", "Shape", "binary_shapes", "by_size", "depth", "observed", "plant"]

FACTOR = 0x9E3779B97F4A7C1
"""Of the hash function, odd."""


class Weights(NamedTuple):
    """The polynomials F(0), F(1), ..., one after the other."""

    start: IntArray
    keys: IntArray
    logs: FloatArray


@numba.njit(cache=CACHE)
def _put(slots, keys, logs, first, n, key, log):  # type: ignore[no-untyped-def]
    """Add a weight to those at first ... n - 1; return their new end.

    `slots` is a hash table of places in `keys`; places before `first` count as free.
    """
    mask = len(slots) - 1
    at = (key * FACTOR >> 20) & mask
    while slots[at] >= first and keys[slots[at]] != key:
        at = (at + 1) & mask
    place = slots[at]
    if place >= first:
        high, low = max(logs[place], log), min(logs[place], log)
        logs[place] = high + np.log1p(np.exp(low - high))
        return n
    slots[at], keys[n], logs[n] = n, key, log
    return n + 1


@numba.njit(cache=CACHE)
def _roomy(slots, keys, first, n, more):  # type: ignore[no-untyped-def]
    """Return a hash table that stays half empty when `more` keys come in."""
    size = len(slots)
    while size < 2 * (n - first + more):
        size *= 4
    if size == len(slots):
        return slots
    slots, mask = np.full(size, -1), size - 1
    for place in range(first, n):
        at = (keys[place] * FACTOR >> 20) & mask
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = place
    return slots


@numba.njit(cache=CACHE)
def _product(a, b):  # type: ignore[no-untyped-def]
    """Return F_a(u) * F_b(u) for every u."""
    top = min(len(a.start), len(b.start)) - 1
    size = 0
    for u in range(top):
        size += (a.start[u + 1] - a.start[u]) * (b.start[u + 1] - b.start[u])
    keys, logs = np.empty(size, np.int64), np.empty(size)
    start, slots, n = np.zeros(top + 1, np.int64), np.full(256, -1), 0
    for u in range(top):
        for i in range(a.start[u], a.start[u + 1]):
            slots = _roomy(slots, keys, start[u], n, b.start[u + 1] - b.start[u])
            for j in range(b.start[u], b.start[u + 1]):
                key, log = a.keys[i] + b.keys[j], a.logs[i] + b.logs[j]
                n = _put(slots, keys, logs, start[u], n, key, log)
        start[u + 1] = n
    return Weights(start, keys[:n].copy(), logs[:n].copy())


@numba.njit(cache=CACHE)
def _compound(parts, key, log_c, top):  # type: ignore[no-untyped-def]
    """Return sum over x of (c z)^x / x! F_parts(u + x) for every u below `top`."""
    end = len(parts.start) - 1
    top = min(top, end)
    size = 0
    for u in range(top):
        size += parts.start[end] - parts.start[u]
    keys, logs = np.empty(size, np.int64), np.empty(size)
    start, slots, n = np.zeros(top + 1, np.int64), np.full(256, -1), 0
    for u in range(top):
        log_weight = 0.0
        for x in range(end - u):
            if x:
                log_weight += log_c - np.log(x)
            there, then = parts.start[u + x], parts.start[u + x + 1]
            slots = _roomy(slots, keys, start[u], n, then - there)
            for i in range(there, then):
                sum_key, log = parts.keys[i] + x * key, parts.logs[i] + log_weight
                n = _put(slots, keys, logs, start[u], n, sum_key, log)
        start[u + 1] = n
    return Weights(start, keys[:n].copy(), logs[:n].copy())


@numba.njit(cache=CACHE)
def _only_first(weights):  # type: ignore[no-untyped-def]
    """Return F(0) alone."""
    n = weights.start[1]
    return Weights(
        weights.start[:2].copy(), weights.keys[:n].copy(), weights.logs[:n].copy()
    )


@numba.njit(cache=CACHE)
def _aligned(p, q):  # type: ignore[no-untyped-def]
    """Return the probabilities of two distributions on the union of their supports.

    Each is one polynomial with its keys in order; the result has shape (2, n).
    """
    i, j, m, n = 0, 0, len(p.keys), len(q.keys)
    both, size = np.zeros((2, m + n)), 0
    while i < m or j < n:
        ahead = i < m and (j == n or p.keys[i] <= q.keys[j])
        behind = j < n and (i == m or q.keys[j] <= p.keys[i])
        if ahead:
            both[0, size], i = np.exp(p.logs[i]), i + 1
        if behind:
            both[1, size], j = np.exp(q.logs[j]), j + 1
        size += 1
    return both[:, :size]


class _Node(NamedTuple):
    parts: tuple[int, ...]
    size: int  # robots of a leaf; leaves of a compound
    key: int
    log_ratio: float
    log_c: float


class Forest:
    """Collaboration trees, of which equal sub-trees are one and computed once.

    A tree is a number. Types that are exchangeable give the same trees, whichever of
    them has more robots, so that few neighbours of a database are left to compute.

    Parameters
    ----------
    bounds : sequence of int
        Largest possible value of each observed value.

    Examples
    --------
    Two robots that pair at ratio 3, seen single (value 0) or as a pair (value 1):

    >>> forest = Forest([2, 1])
    >>> pair = forest.join([forest.leaf(1, 0), forest.leaf(1, 0)], np.log(3), 1)
    >>> found = forest.distribution(pair)
    >>> found.outcomes.tolist(), np.exp(found.log_p).round(12).tolist()
    ([[0, 1], [2, 0]], [0.75, 0.25])
    >>> len(forest.neighbours(pair))
    1
    """

    def __init__(self, bounds: Sequence[int]) -> None:
        radix = [math.prod(b + 1 for b in bounds[v:]) for v in range(len(bounds) + 1)]
        if radix[0] >= 2**62:
            must = "fewer: their possible observations must have numbers below 2^62"
            check.fail("robots", "Forest", must, f"{radix[0]:.1e}")
        self._radix = np.array(radix, dtype=np.int64)
        self._nodes: list[_Node] = []
        self._numbers: dict[_Node, int] = {}
        self._known: dict[int, Weights] = {}

    def leaf(self, robots: int, seen: int | None) -> int:
        """Return the tree of one type; `seen` is the observed value it counts in."""
        return self._add(_Node((), robots, self._key(seen), 0.0, 0.0))

    def join(self, parts: Sequence[int], log_ratio: float, seen: int | None) -> int:
        """Return the tree whose root is made of one compound of each part."""
        below = [self._nodes[part] for part in parts]
        log_c = log_ratio + math.fsum(node.log_c for node in below)
        size = sum(node.size if node.parts else 1 for node in below)
        whole = tuple(sorted(parts))
        return self._add(_Node(whole, size, self._key(seen), log_ratio, log_c))

    def neighbours(self, tree: int) -> set[int]:
        """Return the different trees in which one robot has another type."""
        return self._moved(tree, lose=True, gain=True)

    def distribution(self, *roots: int) -> Distribution:
        """Return the distribution of what is observed of trees side by side."""
        found = self._observed(roots)
        bases = self._radix[:-1] // self._radix[1:]
        return Distribution(found.keys[:, None] // self._radix[1:] % bases, found.logs)

    def compared(self, tree: int) -> Iterator[FloatArray]:
        """Yield P[y] and P'[y], shape (2, n), for each neighbour that differs."""
        own = self._observed([tree])
        for other in self.neighbours(tree):
            yield _aligned(own, self._observed([other]))

    def forget(self, leaves: int) -> None:
        """Give back the memory that trees of more than so many leaves take."""
        nodes = self._nodes
        few = [t for t in self._known if not nodes[t].parts or nodes[t].size <= leaves]
        self._known = {tree: self._known[tree] for tree in few}

    def _key(self, seen: int | None) -> int:
        return 0 if seen is None else int(self._radix[seen + 1])

    def _add(self, node: _Node) -> int:
        number = self._numbers.setdefault(node, len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(node)
        return number

    def _moved(self, tree: int, lose: bool, gain: bool) -> set[int]:
        """Return the trees where one leaf loses a robot, one gains one, or both."""
        node = self._nodes[tree]
        if not (lose or gain):
            return {tree}
        if not node.parts:
            robots = node.size + gain - lose
            alone = lose != gain and robots >= 0
            return {self._add(node._replace(size=robots))} if alone else set()
        found = set()
        here = range(len(node.parts))
        for loser, gainer in itertools.product(
            here if lose else [-1], here if gain else [-1]
        ):
            options = [
                self._moved(part, lose=at == loser, gain=at == gainer)
                for at, part in enumerate(node.parts)
            ]
            for parts in itertools.product(*options):
                found.add(self._add(node._replace(parts=tuple(sorted(parts)))))
        return found

    def _polynomials(self, tree: int, top: int | None = None) -> Weights:
        """Return F(u) of a tree for every u, or for those below `top`."""
        if tree in self._known:
            return self._known[tree]
        node = self._nodes[tree]
        if node.parts:
            parts = functools.reduce(_product, map(self._polynomials, node.parts))
            found: Weights = _compound(
                parts, node.key, node.log_c, top or len(parts.start)
            )
        else:
            left = np.arange(node.size, -1, -1)
            logs = -gammaln(left + 1.0)
            found = Weights(np.arange(len(left) + 1), left * node.key, logs)
        if top is None:
            self._known[tree] = found
        return found

    def _observed(self, roots: Sequence[int]) -> Weights:
        """Return one polynomial: keys in their order, logs of probabilities."""
        first = [_only_first(self._polynomials(root, top=1)) for root in roots]
        found = functools.reduce(_product, first)
        order = np.argsort(found.keys)
        logs = found.logs[order]
        return Weights(found.start, found.keys[order], logs - np.logaddexp.reduce(logs))


def observed(swarm: Swarm) -> Callable[[Counts], Distribution] | None:
    """Return the distribution of y given counts, or None if this is no forest.

    Parameters
    ----------
    swarm : Swarm
        Reactions in pairs, each between a compound and its two or more parts.

    Examples
    --------
    >>> from dplib.macroscopic import paper
    >>> found = observed(paper.pairs())((1, 1, 1))
    >>> found.outcomes.tolist(), np.exp(found.log_p).round(12).tolist()
    ([[0, 0, 1], [1, 1, 0], [3, 0, 0]], [0.333333333333, ...])
    >>> observed(paper.RESOURCE) is None  # R is part of AR and of BR
    True
    """
    made = _recipes(swarm)
    if made is None:
        return None
    n_species = len(swarm.network.species)
    rows = [np.flatnonzero(row).tolist() for row in swarm.query]
    seen = {species: value for value, row in enumerate(rows) for species in row}
    parts = {part for recipe, _ in made.values() for part in recipe}
    roots = [species for species in range(n_species) if species not in parts]

    @functools.lru_cache(maxsize=64)
    def law(counts: Counts) -> Distribution:
        start = swarm.start(counts)

        def most(species: int) -> int:
            below = made[species][0] if species in made else ()
            return min(map(most, below), default=int(start[species]))

        bounds = [sum(map(most, row)) for row in rows]
        forest = Forest(bounds)

        def grown(species: int) -> int:
            if species not in made:
                return forest.leaf(int(start[species]), seen.get(species))
            below, log_ratio = made[species]
            return forest.join(
                [grown(one) for one in below], log_ratio, seen.get(species)
            )

        return forest.distribution(*map(grown, roots))

    return law


def _recipes(swarm: Swarm) -> dict[int, tuple[list[int], float]] | None:
    """Return the parts of each compound and ln of its ratio; None if no forest."""
    network = swarm.network
    rates: dict[tuple[tuple[int, ...], ...], float] = {}
    for *sides, rate in zip(
        network.reactants.tolist(),
        network.products.tolist(),
        network.rates,
        strict=True,
    ):
        reaction = tuple(map(tuple, sides))
        rates[reaction] = rates.get(reaction, 0.0) + float(rate)
    made: dict[int, tuple[list[int], float]] = {}
    used: list[int] = []
    for (before, after), rate in rates.items():
        if sum(after) != 1 or sum(before) < 2:
            continue
        compound, back = after.index(1), rates.get((after, before))
        if back is None or max(before) > 1 or compound in made:
            return None
        parts = [species for species, part in enumerate(before) if part]
        if compound in parts:
            return None
        made[compound] = parts, math.log(rate / back)
        used += parts
    begun = made.keys() & {*swarm.homes, *np.flatnonzero(swarm.others).tolist()}
    once = len(used) == len(set(used)) and len(rates) == 2 * len(made)
    # Without circles: each compound is above its parts.
    height = dict.fromkeys(range(len(network.species)), 0)
    for _ in made:
        for compound, (parts, _) in made.items():
            height[compound] = 1 + max(height[part] for part in parts)
    circular = max(height.values()) > len(made)
    return made if once and not begun and not circular else None


Shape = tuple["Shape", ...]
"""A rooted binary tree: ``()`` is a leaf, ``(left, right)`` a compound."""


@functools.cache
def binary_shapes(leaves: int) -> tuple[Shape, ...]:
    """Return all unordered rooted binary trees with so many leaves.

    There are as many as the Wedderburn-Etherington number says.

    Examples
    --------
    >>> [len(binary_shapes(n)) for n in (1, 2, 3, 4, 5, 8, 16)]
    [1, 1, 1, 2, 3, 23, 10905]
    """
    if leaves == 1:
        return ((),)
    found: list[Shape] = []
    for left in range(1, leaves // 2 + 1):
        right = leaves - left
        if left < right:
            found += itertools.product(binary_shapes(right), binary_shapes(left))
        else:
            found += itertools.combinations_with_replacement(binary_shapes(left), 2)
    return tuple(found)


def by_size(leaves: int, robots: int) -> Forest:
    """Return a forest for trees whose compounds are counted by their size.

    Parameters
    ----------
    leaves : int
        Number of types; y_i, i = 1 ... leaves, counts the compounds of i robots.
    robots : int
        Of each type.
    """
    return Forest([leaves * robots // size for size in range(1, leaves + 1)])


def plant(forest: Forest, shape: Shape, robots: int, ratios: Iterable[float]) -> int:
    """Return the tree of a shape in a forest that counts by size.

    Parameters
    ----------
    forest : Forest
        From `by_size`.
    shape : Shape
        The parts of each compound.
    robots : int
        Of each type.
    ratios : iterable of float
        Rates of collaboration, divided by those of decomposition: those inside the
        left part, those inside the right part, that of the root.

    Examples
    --------
    >>> forest = by_size(leaves=2, robots=1)
    >>> found = forest.distribution(plant(forest, ((), ()), 1, [3.0]))
    >>> found.outcomes.tolist(), np.exp(found.log_p).round(12).tolist()
    ([[0, 1], [2, 0]], [0.75, 0.25])
    """
    rest = iter(ratios)

    def grown(part: Shape) -> tuple[int, int]:
        if not part:
            return forest.leaf(robots, 0), 1
        trees, sizes = zip(*map(grown, part), strict=True)
        size = sum(sizes)
        return forest.join(trees, math.log(next(rest)), size - 1), size

    return grown(shape)[0]


def depth(shape: Shape) -> int:
    """Return the number of steps from the root to the furthest leaf.

    Examples
    --------
    >>> depth((((), ()), ()))
    2
    """
    return 1 + max(map(depth, shape)) if shape else 0
