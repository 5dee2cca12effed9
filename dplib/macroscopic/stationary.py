"""The distribution in the steady state: by formula, or by the balance of flows.

A complex-balanced network has the stationary distribution (Equation 10, normalised)

    pi(x) = M * product over species i of c_i^x_i / x_i!

over the states that can be reached, with any complex-balanced point c: points that
differ by conserved quantities give the same pi, so no equilibrium is solved for. The
normaliser M is always needed, since robots are conserved (Anderson, Craciun and Kurtz
2010, Theorem 4.2).

What is observed of collaboration trees `dplib.macroscopic.trees` finds without listing
states. For networks that are not complex balanced pi is the null vector of the
generator, by the algorithm of Grassmann, Taksar and Heyman: it never subtracts, so that
every probability keeps its digits, however small it is (as long as the rates of flows
through several states, products of the rates given, are numbers: above 1e-308).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln

from dplib.macroscopic import trees
from dplib.macroscopic.distribution import Distribution, observe
from dplib.macroscopic.network import NetworkError
from dplib.macroscopic.states import CAP, generator, reachable
from dplib.macroscopic.structure import balanced_point
from dplib.macroscopic.swarm import Counts, Swarm

__all__ = ["null_vector", "observed", "product_form"]

#: Most states of a null vector: its work grows with the cube.
MOST_DENSE = 1500


def product_form(swarm: Swarm, counts: Counts, *, cap: int = CAP) -> Distribution:
    """Return the stationary distribution over states of a complex-balanced network.

    Examples
    --------
    >>> from dplib.macroscopic import paper
    >>> np.exp(product_form(paper.RESOURCE, (2, 1)).log_p) * 45
    array([18., 12., 12.,  2.,  1.])
    """
    log_c = balanced_point(swarm.network)
    if log_c is None:
        raise NetworkError("the network is not complex balanced: it has no formula")
    states = reachable(swarm.network, swarm.start(counts), cap=cap)
    logs = states @ log_c - gammaln(states + 1.0).sum(axis=1)
    return Distribution(states, logs - np.logaddexp.reduce(logs))


def null_vector(swarm: Swarm, counts: Counts, *, cap: int = CAP) -> Distribution:
    """Return the stationary distribution over the states that are not left for good.

    Examples
    --------
    >>> from dplib.macroscopic import paper
    >>> (np.exp(null_vector(paper.RESOURCE, (2, 1)).log_p) * 45).round(12)
    array([18., 12., 12.,  2.,  1.])
    """
    states = reachable(swarm.network, swarm.start(counts), cap=cap)
    chain = generator(swarm.network, states)
    number, label = connected_components(chain, connection="strong")
    there, back = chain.nonzero()
    leaves = label[there[label[there] != label[back]]]
    closed = np.setdiff1d(np.arange(number), leaves)
    if len(closed) > 1:
        raise NetworkError(f"there are {len(closed)} steady states, not one")
    stays = np.flatnonzero(label == closed[0])
    if len(stays) > MOST_DENSE:
        raise NetworkError(
            "the steady state of a network that is not complex balanced is found up to "
            f"{MOST_DENSE} states, not for {len(stays)}; a late time is an alternative"
        )
    states = states[stays]
    rates = chain[stays][:, stays].toarray()
    np.fill_diagonal(rates, 0.0)
    for k in range(len(rates) - 1, 0, -1):
        rates[:k, k] /= rates[k, :k].sum()
        rates[:k, :k] += np.outer(rates[:k, k], rates[k, :k])
    with np.errstate(divide="ignore"):
        log_rates = np.log(rates)
    logs = np.zeros(len(rates))
    for k in range(1, len(rates)):
        logs[k] = np.logaddexp.reduce(logs[:k] + log_rates[:k, k])
    return Distribution(states, logs - np.logaddexp.reduce(logs))


def observed(swarm: Swarm) -> Callable[[Counts], Distribution]:
    """Return the function from counts to the stationary distribution of y (cached).

    Without listing states if the network is a collaboration tree, else by formula if
    it is complex balanced, else by its null vector.
    """
    if (by_tree := trees.observed(swarm)) is not None:
        return by_tree
    balanced = balanced_point(swarm.network) is not None

    @functools.lru_cache(maxsize=64)
    def law(counts: Counts) -> Distribution:
        states = product_form if balanced else null_vector
        return observe(states(swarm, counts), swarm.query)

    return law
