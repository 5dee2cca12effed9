"""The exact privacy of a finite mechanism, by enumeration of all adjacent pairs.

Model. A mechanism with finitely many data (inputs) x and outcomes y is a table
of log laws, log P(y | x), one row per datum. Which data are adjacent is part of
the question, so `pairs` lists them; both orders of every pair are tried.

Notation: epsilon and delta as in `dplib.privacy.divergence`; the mechanism's
value is the worst over pairs and orders. A claimed epsilon is right if it is
not below the exact one, and the ratio of the two says what the claim wastes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.privacy._numeric import FloatArray, Floats, real_array
from dplib.privacy.divergence import epsilon_at, log_hockey_stick, log_law

__all__ = ["worst_epsilon", "worst_log_delta"]


def worst_epsilon(
    *, log_laws: ArrayLike, pairs: ArrayLike, delta: float = 0.0
) -> float:
    """Return the exact epsilon of a finite mechanism: all pairs, both orders.

    Parameters
    ----------
    log_laws : array_like, shape (inputs, outcomes)
        Row x is the log law of the release under datum x.
    pairs : array_like of int, shape (m, 2)
        The adjacent data, each pair once in either order.
    delta : float
        Between 0 and 1; 0 asks for pure differential privacy.

    Returns
    -------
    float
        The least epsilon for which the mechanism is (epsilon, delta)-DP with
        respect to these pairs, to rounding (to nearest); inf if there is none.

    Raises
    ------
    TypeError, ValueError
        If a law is not normalised, or `pairs` has no row or names no row of
        `log_laws`.

    Examples
    --------
    >>> laws = np.log([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    >>> round(worst_epsilon(log_laws=laws, pairs=[[0, 1], [1, 2]]), 12)  # ln 2
    0.69314718056
    """
    laws, rows = _table(log_laws, pairs, "worst_epsilon")
    delta = check.probability("delta", delta, "worst_epsilon")
    return max(
        float(epsilon_at(log_p=laws[i], log_q=laws[j], delta=delta)) for i, j in rows
    )


def worst_log_delta(
    *, log_laws: ArrayLike, pairs: ArrayLike, epsilon: ArrayLike
) -> Floats:
    """Return the exact log delta(epsilon) of a finite mechanism.

    Parameters
    ----------
    log_laws, pairs : array_like
        As in `worst_epsilon`.
    epsilon : array_like
        Where to evaluate, 0 or greater, any shape.

    Returns
    -------
    numpy.ndarray or float
        The largest over all pairs and both orders, of the shape of `epsilon`.

    Examples
    --------
    >>> laws = np.log([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    >>> delta = worst_log_delta(log_laws=laws, pairs=[[0, 1]], epsilon=0.0)
    >>> print(delta.round(12))  # ln 1/4
    -1.38629436112
    """
    laws, rows = _table(log_laws, pairs, "worst_log_delta")
    levels = real_array("epsilon", epsilon, "worst_log_delta", low=0.0)
    worst = np.full(levels.shape, -np.inf)
    for i, j in rows:
        curve = log_hockey_stick(log_p=laws[i], log_q=laws[j], epsilon=levels)
        worst = np.maximum(worst, curve)
    result: Floats = worst[()]
    return result


def _table(
    log_laws: ArrayLike, pairs: ArrayLike, where: str
) -> tuple[FloatArray, list[tuple[int, int]]]:
    """Check a mechanism's table and list its adjacent pairs in both orders."""
    laws = log_law("log_laws", log_laws, where)
    if laws.ndim != 2:
        check.fail("log_laws", where, "an array with two axes", log_laws)
    must = f"an array of shape (m, 2), m >= 1, of integers below {len(laws)}"
    table = check.entries("pairs", pairs, where, must)
    if table.dtype.kind not in "iu":
        check.fail("pairs", where, must, pairs, TypeError)
    if table.ndim != 2 or table.shape[1] != 2 or len(table) == 0:
        check.fail("pairs", where, must, pairs)
    if np.any(table < 0) or np.any(table >= len(laws)):
        check.fail("pairs", where, must, pairs)
    rows = [(int(i), int(j)) for i, j in table]
    return laws, rows + [(j, i) for i, j in rows]
