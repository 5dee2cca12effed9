r"""Intervals for what replicates of a random run say, without assumptions on its law.

Model. n independent replicates of one number. How many of them lie below the true
q-quantile is binomial with parameters n and q, whatever their (continuous) law; so is,
with its own probability, how many have a property. Both intervals follow from that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dplib import check

__all__ = ["quantile_interval", "share_interval"]


def quantile_interval(
    sample: ArrayLike, q: float = 0.5, *, level: float = 0.95
) -> tuple[float, float, float]:
    """Return a quantile of the sample, between two order statistics around it.

    Parameters
    ----------
    sample : array_like, shape (n,)
        Independent replicates.
    q : float
        Which quantile, strictly between 0 and 1; the median by default.
    level : float
        Least chance that the interval holds the true quantile, between 0 and 1.

    Returns
    -------
    low, estimate, high : float
        The ends are members of the sample, or infinite where the sample is too
        small to bound the quantile.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range, or the sample is empty.

    Examples
    --------
    >>> quantile_interval(range(1, 12))
    (2.0, 6.0, 10.0)
    >>> quantile_interval([1.0, 2.0])
    (-inf, 1.5, inf)
    """
    where = "quantile_interval"
    values = np.sort(check.array("sample", sample, where, shape=(None,)))
    if values.size == 0:
        check.fail("sample", where, "at least one number", values.tolist())
    q = check.unit_interval("q", q, where)
    tail = (1.0 - check.unit_interval("level", level, where)) / 2.0
    law = stats.binom(values.size, q)
    # Number `lower` (from 1) is above the quantile with chance P(count < lower).
    lower, upper = int(law.ppf(tail)), int(law.isf(tail)) + 1
    padded = np.concatenate(([-np.inf], values, [np.inf]))
    return float(padded[lower]), float(np.quantile(values, q)), float(padded[upper])


def share_interval(
    count: int, total: int, *, level: float = 0.95
) -> tuple[float, float, float]:
    """Return a share between its Clopper-Pearson bounds.

    Parameters
    ----------
    count, total : int
        How many of how many replicates have the property.
    level : float
        Least chance that the interval holds the true probability.

    Returns
    -------
    low, estimate, high : float
        Between 0 and 1.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> [round(end, 4) for end in share_interval(0, 60)]
    [0.0, 0.0, 0.0596]
    """
    where = "share_interval"
    total = check.integer("total", total, where, low=1)
    count = check.integer("count", count, where, low=0, high=total)
    tail = (1.0 - check.unit_interval("level", level, where)) / 2.0
    low = stats.beta.ppf(tail, count, total - count + 1) if count else 0.0
    high = stats.beta.isf(tail, count + 1, total - count) if count < total else 1.0
    return float(low), count / total, float(high)
