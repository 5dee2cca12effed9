r"""Intervals for what a sample says of the distribution that it comes from.

Model. n independent replicates of one number. How many of them lie below the true
q-quantile is binomial with parameters n and q, whatever their (continuous)
distribution; so is, with its own probability, how many have a property. Both intervals
follow from that and hold for every n. The interval of a mean is Student's, which needs
a sample large enough for its mean to be nearly normal.

Every interval carries its ``chance``: the probability, over fresh samples, that it does
not hold the true value. The book's checks ask for at most `CHANCE`, one in a million.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dplib import check
from dplib.book.rounding import outward

__all__ = [
    "CHANCE",
    "Interval",
    "mean_interval",
    "quantile_interval",
    "share_interval",
    "stored_mean",
]

#: The largest chance of missing the true value that a check of the book accepts.
CHANCE = 1.0e-6


@dataclass(frozen=True)
class Interval:
    """An estimate between two ends.

    Sums and differences of two intervals hold however the two depend on each other: the
    chances that one of them misses add up.

    Attributes
    ----------
    value, low, high : float
        The estimate and the ends; an end is infinite where the sample is too small
        to bound the value.
    chance : float
        At most this is the probability that the true value lies outside.

    Examples
    --------
    >>> 1.0 - Interval(0.25, 0.125, 0.5, 1e-6)
    Interval(value=0.75, low=0.5, high=0.875, chance=1e-06)
    >>> Interval(0.75, 0.5, 1.0, 1e-6) - Interval(0.25, 0.125, 0.5, 1e-6)
    Interval(value=0.5, low=0.0, high=0.875, chance=2e-06)
    >>> abs(Interval(-0.25, -0.5, 0.125, 1e-6))
    Interval(value=0.25, low=0.0, high=0.5, chance=1e-06)
    >>> (100 * Interval(1.241, 1.2339, 1.2482, 1e-6)).text("%")
    '124.1 % (123.3 % to 124.9 %)'
    """

    value: float
    low: float
    high: float
    chance: float

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            ends = (self.low, self.value, self.high)
            check.fail("value", "Interval", "between low and high", ends)

    @property
    def half(self) -> float:
        """The distance of the farther end from the value."""
        return max(self.value - self.low, self.high - self.value)

    def __add__(self, other: Interval | float) -> Interval:
        if not isinstance(other, Interval):
            other = Interval(other, other, other, 0.0)
        low, high = self.low + other.low, self.high + other.high
        chance = self.chance + other.chance
        return Interval(self.value + other.value, low, high, chance)

    def __mul__(self, factor: float) -> Interval:
        low, high = sorted((self.low * factor, self.high * factor))
        return Interval(self.value * factor, low, high, self.chance)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Interval:
        return self * -1.0

    def __sub__(self, other: Interval | float) -> Interval:
        return self + (-other)

    def __rsub__(self, number: float) -> Interval:
        return -self + number

    def __abs__(self) -> Interval:
        low, high = sorted((abs(self.low), abs(self.high)))
        least = 0.0 if self.low < 0.0 < self.high else low
        return Interval(abs(self.value), least, high, self.chance)

    def text(self, unit: str = "") -> str:
        """Return value and ends, the ends rounded outward to the value's digits."""
        value, low, high = outward(self.value, self.low, self.high)
        after = f" {unit}" if unit else ""
        return f"{value}{after} ({low}{after} to {high}{after})"


def mean_interval(sample: ArrayLike, *, chance: float = CHANCE) -> Interval:
    """Return the mean of the distribution of n replicates, by Student's t.

    The chance holds as far as the sample's mean is normal; a sample that is constant
    gives an interval of width zero, which says only that nothing else was seen. For two
    paired samples give their differences.

    Examples
    --------
    >>> mean_interval([1.0, 2.0, 3.0], chance=0.5).text()
    '2.0 (1.5 to 2.5)'
    """
    values = np.array(sample, dtype=float)
    error = values.std(ddof=1) / math.sqrt(values.size)
    return stored_mean(values.mean(), error, values.size, chance=chance)


def stored_mean(
    mean: float, error: float, count: int, *, chance: float = CHANCE
) -> Interval:
    """Return what `mean_interval` does, from a stored mean, standard error and size.

    Examples
    --------
    >>> stored_mean(2.0, 3**-0.5, 3, chance=0.5) == mean_interval([1, 2, 3], chance=0.5)
    True
    """
    half = float(stats.t(count - 1).isf(chance / 2.0) * error)
    return Interval(float(mean), float(mean) - half, float(mean) + half, chance)


def quantile_interval(
    sample: ArrayLike, q: float = 0.5, *, chance: float = CHANCE
) -> Interval:
    """Return a quantile of the distribution, between two order statistics.

    Examples
    --------
    >>> quantile_interval(range(1, 12), chance=0.05)
    Interval(value=6.0, low=2.0, high=10.0, chance=0.05)
    >>> quantile_interval([1.0, 2.0])
    Interval(value=1.5, low=-inf, high=inf, chance=1e-06)
    """
    values = np.sort(np.array(sample, dtype=float))
    below = stats.binom(values.size, q)
    # Number `lower` (from 1) is above the quantile with chance P(count < lower).
    lower, upper = int(below.ppf(chance / 2.0)), int(below.isf(chance / 2.0)) + 1
    padded = np.concatenate(([-np.inf], values, [np.inf]))
    middle = float(np.quantile(values, q))
    return Interval(middle, float(padded[lower]), float(padded[upper]), chance)


def share_interval(count: int, total: int, *, chance: float = CHANCE) -> Interval:
    """Return a probability from how many of how many, between Clopper-Pearson bounds.

    Examples
    --------
    >>> share_interval(0, 60, chance=0.05).text()
    '0 (0 to 0.06)'
    """
    tail = chance / 2.0
    low = stats.beta.ppf(tail, count, total - count + 1) if count else 0.0
    high = stats.beta.isf(tail, count + 1, total - count) if count < total else 1.0
    return Interval(count / total, float(low), float(high), chance)
