"""Distributions over populations or over what an observer sees, and their certificate.

Probabilities are kept as logarithms: leakage is a maximum of log ratios, and outcomes
of probability 1e-300 decide it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dplib.macroscopic.network import FloatArray, IntArray

__all__ = ["Distribution", "aligned", "observe", "summed"]


@dataclass(frozen=True)
class Distribution:
    """A distribution over integer vectors.

    Parameters
    ----------
    outcomes : ndarray of int, shape (n, d)
        Distinct rows in lexicographic order.
    log_p : ndarray, shape (n,)
        Natural logarithms of their probabilities.
    error : float
        Certified: no event has a probability that differs by more from the true one
        (rows that are not listed have probability 0). It is 0 for what is exact up to
        rounding.
    """

    outcomes: IntArray
    log_p: FloatArray
    error: float = 0.0

    def log_probability(self, outcome: IntArray | tuple[int, ...]) -> float:
        """Return the log probability of one outcome; -inf if it is not listed."""
        at = np.flatnonzero(np.all(self.outcomes == np.asarray(outcome), axis=1))
        return float(self.log_p[at[0]]) if at.size else -np.inf

    def mean(self) -> FloatArray:
        """Return the mean of each component, shape (d,)."""
        result: FloatArray = np.exp(self.log_p) @ self.outcomes
        return result


def summed(outcomes: IntArray, log_p: FloatArray, error: float = 0.0) -> Distribution:
    """Return the distribution of rows that may repeat: equal ones are added up.

    Examples
    --------
    >>> both = summed(np.array([[1], [0], [1]]), np.log([0.25, 0.5, 0.25]))
    >>> both.outcomes.ravel(), np.exp(both.log_p)
    (array([0, 1]), array([0.5, 0.5]))
    """
    order = np.lexsort(outcomes.T[::-1])
    rows, logs = outcomes[order], log_p[order]
    new = np.append(True, np.any(rows[1:] != rows[:-1], axis=1))
    first = np.flatnonzero(new)
    totals = np.logaddexp.reduceat(logs, first)
    return Distribution(rows[first], totals, error)


def observe(states: Distribution, query: IntArray) -> Distribution:
    """Return the distribution of y = Q x (Equation 6; the sums of Corollary 1)."""
    return summed(states.outcomes @ query.T, states.log_p, states.error)


def aligned(
    p: Distribution, q: Distribution
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the union of two supports, and both log probabilities there.

    Examples
    --------
    >>> one, two = np.zeros(1), np.log([0.5, 0.5])
    >>> aligned(Distribution(np.array([[1]]), one),
    ...         Distribution(np.array([[0], [1]]), two))[1]
    array([-inf,   0.])
    """
    rows = np.concatenate([p.outcomes, q.outcomes])
    least = rows.min(axis=0)
    sizes = tuple((rows.max(axis=0) - least + 1).tolist())
    if math.prod(sizes) < 2**62:  # numbers are sorted much faster than rows
        numbers = np.ravel_multi_index(tuple((rows - least).T), sizes)
        _, first, at = np.unique(numbers, return_index=True, return_inverse=True)
        union = rows[first]
    else:
        union, at = np.unique(rows, axis=0, return_inverse=True)
    logs = np.full((2, len(union)), -np.inf)
    logs[0, at[: len(p.log_p)]] = p.log_p
    logs[1, at[len(p.log_p) :]] = q.log_p
    return union, logs[0], logs[1]
