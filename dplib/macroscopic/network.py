"""Chemical reaction networks with mass-action kinetics (section 2 of the paper).

Model. A state is a vector x of populations, one for each species. A reaction takes the
reactants rho out of x, puts the products rho' into it, and fires at the rate

    r(x) = kappa * product over species i of x_i (x_i - 1) ... (x_i - rho_i + 1)

(falling factorials: ``2 A -> B`` needs two robots in A; the paper's x_i^rho_i is the
same as long as every rho_i is 0 or 1). Species are numbered in the order of first
appearance.

Text form, one reaction a line, `#` starts a comment::

    A + R <-> AR : 3, 1      # two reactions: rates 3 forward, 1 backward
    2 A -> B : 0.5           # one reaction
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplib import check

__all__ = ["FloatArray", "IntArray", "Network", "NetworkError", "parse"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class NetworkError(ValueError):
    """A network that cannot be read; the message names line and species."""


@dataclass(frozen=True)
class Network:
    """A reaction network.

    Parameters
    ----------
    species : tuple of str
        Names of the S species.
    reactants, products : ndarray of int, shape (R, S)
        Multiplicities in the two complexes of each of the R reactions.
    rates : ndarray, shape (R,)
        Rate constants kappa, positive, in 1 / unit of time.

    Examples
    --------
    >>> pairs = parse("A + B <-> AB : 3, 1")
    >>> pairs.species, pairs.changes.tolist()
    (('A', 'B', 'AB'), [[-1, -1, 1], [1, 1, -1]])
    >>> pairs.propensities([2, 5, 4])
    array([30.,  4.])
    """

    species: tuple[str, ...]
    reactants: IntArray
    products: IntArray
    rates: FloatArray

    def __post_init__(self) -> None:
        shape = (len(self.rates), len(self.species))
        for name in ("reactants", "products"):
            value = np.array(getattr(self, name), dtype=np.int64).reshape(shape)
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        rates = np.array(self.rates, dtype=np.float64)
        if not np.all((rates > 0) & np.isfinite(rates)):
            check.fail("rates", "Network", "positive and finite", self.rates)
        rates.flags.writeable = False
        object.__setattr__(self, "rates", rates)

    @property
    def changes(self) -> IntArray:
        """What each reaction changes, shape (R, S): the transpose of the paper's Γ."""
        return self.products - self.reactants

    def index(self, name: str) -> int:
        """Return the number of a species."""
        if name not in self.species:
            known = ", ".join(self.species)
            raise NetworkError(f"there is no species {name!r}; there are {known}")
        return self.species.index(name)

    def vector(self, names: Iterable[str]) -> IntArray:
        """Return how often each species is named, shape (S,)."""
        counts = np.zeros(len(self.species), dtype=np.int64)
        for name in names:
            counts[self.index(name)] += 1
        return counts

    def propensities(self, states: ArrayLike) -> FloatArray:
        """Return the rate of each reaction in each state: (..., S) gives (..., R)."""
        x = np.asarray(states, dtype=np.float64)
        result = np.empty((*x.shape[:-1], len(self.rates)))
        for number, (rate, rho) in enumerate(
            zip(self.rates, self.reactants, strict=True)
        ):
            product = np.full(x.shape[:-1], rate)
            for species in np.flatnonzero(rho):
                for taken in range(rho[species]):
                    product = product * np.maximum(x[..., species] - taken, 0.0)
            result[..., number] = product
        return result


def parse(text: str) -> Network:
    r"""Read a network from its text form (see the head of the file).

    Examples
    --------
    >>> parse("A -> B : 1\nB -> A : 2").rates
    array([1., 2.])
    >>> parse("A + B <-> AB : 3")
    Traceback (most recent call last):
    dplib.macroscopic.network.NetworkError: line 1: '<->' needs two rates, ...
    """
    species: dict[str, int] = {}
    reactions: list[tuple[dict[str, int], dict[str, int], float]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if content := line.split("#")[0].strip():
            reactions += _line(content, f"line {number}", species)
    if not reactions:
        raise NetworkError("there is no reaction; one looks like 'A + R <-> AR : 3, 1'")
    table = np.zeros((2, len(reactions), len(species)), dtype=np.int64)
    for number, (*sides, _) in enumerate(reactions):
        for side, counts in enumerate(sides):
            for name, count in counts.items():
                table[side, number, species[name]] = count
    rates = np.array([rate for _, _, rate in reactions])
    return Network(tuple(species), table[0], table[1], rates)


def _line(
    content: str, where: str, species: dict[str, int]
) -> list[tuple[dict[str, int], dict[str, int], float]]:
    """Return the one or two reactions of a line; note new species."""
    match = re.fullmatch(r"(.+?)(<->|->)(.+?):(.+)", content)
    if not match:
        raise NetworkError(
            f"{where}: {content!r} is no reaction; one looks like "
            "'A + R <-> AR : 3, 1' or '2 A -> B : 0.5'"
        )
    left, arrow, right, given = match.groups()
    sides = [_complex(side, where, species) for side in (left, right)]
    if sides[0] == sides[1]:
        raise NetworkError(f"{where}: the two sides are the same")
    rates = [_rate(one, where) for one in given.split(",")]
    if len(rates) != (2 if arrow == "<->" else 1):
        need = {"<->": "two rates, as in 'A + B <-> AB : 3, 1'", "->": "one rate"}
        raise NetworkError(f"{where}: {arrow!r} needs {need[arrow]}")
    there = (sides[0], sides[1], rates[0])
    return [there, (sides[1], sides[0], rates[1])] if arrow == "<->" else [there]


def _complex(text: str, where: str, species: dict[str, int]) -> dict[str, int]:
    """Return the multiplicities of a side such as ``2 A + B``; ``0`` is nothing."""
    counts: dict[str, int] = {}
    if text.strip() == "0":
        return counts
    for term in text.split("+"):
        match = re.fullmatch(r"\s*(\d*)\s*\*?\s*([^\W\d]\w*)\s*", term)
        if not match or match[1] == "0":
            raise NetworkError(
                f"{where}: {term.strip()!r} is no species; a name starts with a "
                "letter, and a number may stand before it, as in '2 A'"
            )
        species.setdefault(match[2], len(species))
        counts[match[2]] = counts.get(match[2], 0) + int(match[1] or 1)
    return counts


def _rate(text: str, where: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not (rate > 0 and math.isfinite(rate)):
        raise NetworkError(f"{where}: a rate must be positive, not {text.strip()!r}")
    return rate
