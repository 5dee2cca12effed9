"""Reaction networks from SBML files (Systems Biology Markup Language), by libSBML.

Taken are the species that react, the reactions, and their rate constants; amounts of
substance count robots. Rates must be mass action: a constant, times the populations of
the reactants, however the file writes that. It is tested in fractions, exactly, at
points where two different polynomials do not agree, against both ways to count the
pairs of a population n: n² and n (n - 1). A reversible reaction may have the
difference of two such rates, and becomes two reactions. Concentrations are turned into
populations by the size of their compartment.

Anything else (rules, events, species held constant, fast reactions, conversion
factors, required extensions, other rates) is refused with one sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import libsbml
import numpy as np

from dplib.macroscopic.network import Network, NetworkError

__all__ = ["read_sbml"]

Side = Counter[str]

#: Rewritten by libSBML into plain global parameters and formulas.
CONVERSIONS = (
    "promoteLocalParameters",
    "expandFunctionDefinitions",
    "expandInitialAssignments",
)

#: What libSBML need not check, since nothing read here depends on it.
UNCHECKED = (
    libsbml.LIBSBML_CAT_UNITS_CONSISTENCY,
    libsbml.LIBSBML_CAT_MODELING_PRACTICE,
    libsbml.LIBSBML_CAT_SBO_CONSISTENCY,
)

#: Extensions that libSBML itself adds, as required, to files that do without.
HARMLESS = {"layout", "render", "l3v2extendedmath"}

#: Where rates are compared, and the largest exponent that is worked out.
POINTS, LARGEST_EXPONENT = 6, 20


def read_sbml(path: Path) -> Network:
    """Read a network from an SBML file.

    Raises
    ------
    NetworkError
        No SBML, or not mass action: what and where, in one sentence.

    Examples
    --------
    >>> read_sbml(Path("nowhere.xml"))
    Traceback (most recent call last):
    ...
    dplib.macroscopic.network.NetworkError: nowhere.xml: No such file or directory
    """
    try:
        document = libsbml.readSBMLFromString(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text in UTF-8"
        raise NetworkError(f"{path.name}: {reason}") from None
    for category in UNCHECKED:
        document.setConsistencyChecks(category, False)
    document.checkConsistency()
    for number in range(document.getNumErrors()):
        found = document.getError(number)
        if found.isError() or found.isFatal():
            where = f"{path.name}, line {found.getLine()}"
            raise NetworkError(f"{where}: {found.getShortMessage()}")
    for name in CONVERSIONS:
        properties = libsbml.ConversionProperties()
        properties.addOption(name, True)
        document.convert(properties)
    try:
        return _network(document.getModel())
    except NetworkError as error:
        raise NetworkError(f"{path.name}: {error}") from None


def _network(model: Any) -> Network:
    if model is None or model.getNumReactions() == 0:
        raise NetworkError("there is no reaction")
    for found, what in (
        (model.getNumRules(), "rules"),
        (model.getNumEvents(), "events"),
        (model.getNumInitialAssignments(), "initial values that cannot be computed"),
        (_converts(model), "conversion factors"),
        (_required(model.getSBMLDocument()), "extensions that change its meaning"),
    ):
        if found:
            raise NetworkError(f"the model has {what}; rates must be mass action")
    constants = _constants(model)
    species = [one.getId() for one in model.getListOfSpecies()]
    reactions: list[tuple[Side, Side, float]] = []
    for reaction in model.getListOfReactions():
        try:
            before = _side(model, reaction.getListOfReactants())
            after = _side(model, reaction.getListOfProducts())
            there, back = _rates(model, constants, reaction, before, after)
        except NetworkError as error:
            raise NetworkError(f"reaction {reaction.getId()!r}: {error}") from None
        reactions.append((before, after, there))
        if back:
            reactions.append((after, before, back))
    used = [one for one in species if any(one in b | a for b, a, _ in reactions)]
    sides = [[[side[one] for one in used] for side in two] for *two, _ in reactions]
    table = np.array(sides, dtype=np.int64)
    rates = np.array([rate for *_, rate in reactions])
    return Network(tuple(used), table[:, 0], table[:, 1], rates)


def _converts(model: Any) -> bool:
    return any(
        one.isSetConversionFactor() for one in (model, *model.getListOfSpecies())
    )


def _required(document: Any) -> bool:
    plugins = map(document.getPlugin, range(document.getNumPlugins()))
    names = {plugin.getPackageName() for plugin in plugins} - HARMLESS
    return any(map(document.getPackageRequired, names))


def _constants(model: Any) -> dict[str, Fraction]:
    """Return the values of parameters and the sizes of compartments."""
    values = [
        *((one, one.isSetValue, one.getValue) for one in model.getListOfParameters()),
        *((one, one.isSetSize, one.getSize) for one in model.getListOfCompartments()),
    ]
    known = {one.getId(): get() for one, given, get in values if given()}
    return {
        name: Fraction(value) for name, value in known.items() if np.isfinite(value)
    }


def _side(model: Any, references: Any) -> Side:
    """Return how often each species stands on one side of a reaction."""
    side: Side = Counter()
    for one in references:
        name, number = one.getSpecies(), one.getStoichiometry()
        if one.isSetStoichiometryMath() or not (number > 0 and number == int(number)):
            raise NetworkError(f"{name!r} needs a whole number, 1 or more, before it")
        if (
            held := model.getSpecies(name)
        ).getBoundaryCondition() or held.getConstant():
            raise NetworkError(f"the population of {name!r} is held constant")
        side[name] += int(number)
    return side


def _rates(
    model: Any,
    constants: Mapping[str, Fraction],
    reaction: Any,
    before: Side,
    after: Side,
) -> tuple[float, float]:
    """Return the rate constants there and back (0 if it does not go back)."""
    law = reaction.getKineticLaw()
    if law is None or law.getMath() is None:
        raise NetworkError("there is no rate")
    if reaction.getFast():
        raise NetworkError("it is 'fast': always in balance, whatever its rate")
    names = [one.getId() for one in model.getListOfSpecies()]
    points = [
        {
            name: 1000 + 7919 * (k + 1) * (point + 1) % 997
            for k, name in enumerate(names)
        }
        for point in range(POINTS)
    ]
    text = libsbml.formulaToL3String(law.getMath())
    wrong = f"its rate {text!r} is no constant times the populations of its reactants"
    try:
        values = [
            _value(law.getMath(), {**constants, **_symbols(model, constants, point)})
            for point in points
        ]
    except (ArithmeticError, KeyError):
        raise NetworkError(wrong) from None
    for count in (_falling, _power):
        f, b = (
            [
                prod((count(x[one], side[one]) for one in side), start=Fraction(1))
                for x in points
            ]
            for side in (before, after)
        )
        there, back = values[0] / f[0], Fraction(0)
        if reaction.getReversible() and before != after:
            determinant = f[1] * b[0] - f[0] * b[1]
            there = (values[1] * b[0] - values[0] * b[1]) / determinant
            back = (f[0] * values[1] - f[1] * values[0]) / determinant
        fits = all(
            value == there * x - back * y
            for value, x, y in zip(values, f, b, strict=True)
        )
        if fits and there > 0 and back >= 0:
            return float(there), float(back)
    raise NetworkError(wrong)


def _symbols(
    model: Any, constants: Mapping[str, Fraction], populations: Mapping[str, int]
) -> dict[str, Fraction]:
    """Return what the names of the species mean: populations, or concentrations."""
    meant = {}
    for one in model.getListOfSpecies():
        meant[one.getId()] = Fraction(populations[one.getId()])
        place = model.getCompartment(one.getCompartment())
        if (
            not one.getHasOnlySubstanceUnits()
            and place.getSpatialDimensionsAsDouble() != 0
        ):
            meant[one.getId()] /= constants[place.getId()]
    return meant


def _falling(n: int, times: int) -> Fraction:
    return Fraction(prod(range(n, n - times, -1)))


def _power(n: int, times: int) -> Fraction:
    return Fraction(n**times)


def _value(node: Any, known: Mapping[str, Fraction]) -> Fraction:
    """Return a rational formula's value; ArithmeticError if it is something else."""
    kind = node.getType()
    parts = [_value(node.getChild(k), known) for k in range(node.getNumChildren())]
    if node.isNumber():
        return Fraction(node.getValue())
    if kind == libsbml.AST_NAME:
        return known[node.getName()]
    if kind == libsbml.AST_PLUS:
        return sum(parts, start=Fraction(0))
    if kind == libsbml.AST_TIMES:
        return prod(parts, start=Fraction(1))
    if kind == libsbml.AST_MINUS:
        return parts[0] - parts[1] if len(parts) == 2 else -parts[0]
    if kind == libsbml.AST_DIVIDE:
        return parts[0] / parts[1]
    if kind in (libsbml.AST_POWER, libsbml.AST_FUNCTION_POWER):
        base, exponent = parts
        if exponent.denominator == 1 and abs(exponent) <= LARGEST_EXPONENT:
            return base ** int(exponent)
    raise ArithmeticError
