"""The parameters of a notebook: their names, types and defaults, and values for them.

A notebook has one cell tagged ``parameters`` that assigns plain literals, one a line,
as ``epsilon = 0.5`` or ``epsilon: float = 0.5``. The type of the literal (or the
annotation) is the type of the parameter; papermill injects values after the cell and
checks neither names nor types. Here both are checked before a kernel starts, and a
value is *converted exactly or refused*: ``3`` for a float is ``3.0``, ``2e4`` for an
integer is ``20000``, the text ``"1e-5"`` (what YAML makes of ``1e-5``) is the number
it spells; ``0.5`` for an integer, a truth value for a number, NaN, infinities, and
what is too large or too small for a float are refused.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dplib import check
from dplib.sweep.errors import RefusedError

__all__ = ["Parameter", "Value", "assignment", "convert", "known", "read_cell"]

Value = float | int | bool | str

_KINDS = {"float": float, "int": int, "bool": bool, "str": str}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_TRUTH = {"True": True, "true": True, "False": False, "false": False}
#: Longer integers are slips, and Python will not print the longest.
_BITS = 4096


@dataclass(frozen=True)
class Parameter:
    """One parameter of a notebook.

    Attributes
    ----------
    name : str
        Its name.
    kind : type or None
        float, int, bool or str; None for another literal, as a list, which keeps
        its default and cannot be swept.
    default : object
        The value in the parameters cell.
    """

    name: str
    kind: type | None
    default: Any


def read_cell(source: str, where: str) -> tuple[Parameter, ...]:
    """Return the parameters that a cell assigns, in its order.

    Parameters
    ----------
    source : str
        The code of the parameters cell.
    where : str
        Name of the notebook, for messages.

    Raises
    ------
    RefusedError
        If the cell holds something else than plain literals, one a line, or assigns
        a name twice, or nothing.

    Examples
    --------
    >>> [p.name for p in read_cell("epsilon = 0.5  # privacy, nats", "a notebook")]
    ['epsilon']
    """
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise RefusedError(
            f"The parameters cell of {where} is not Python: {error}."
        ) from None
    found: dict[str, Parameter] = {}
    for statement in body:
        parameter = _parameter(statement)
        if parameter is None:
            line = (ast.get_source_segment(source, statement) or "").split("\n")[0]
            raise RefusedError(
                f"The parameters cell of {where} must hold plain literals, one a "
                f"line, as 'steps = 100'. Got '{line}' instead."
            )
        if parameter.name in found:
            raise RefusedError(
                f"The parameters cell of {where} assigns '{parameter.name}' twice."
            )
        found[parameter.name] = parameter
    if not found:
        raise RefusedError(f"The parameters cell of {where} has no parameter.")
    return tuple(found.values())


def _parameter(statement: ast.stmt) -> Parameter | None:
    """Return what ``name = literal`` says, or None if it is something else."""
    annotation = None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target = statement.target
        if isinstance(statement.annotation, ast.Name):
            annotation = statement.annotation.id
    else:
        return None
    if not isinstance(target, ast.Name) or statement.value is None:
        return None
    try:
        value = ast.literal_eval(statement.value)
    except ValueError:
        return None
    kind = type(value) if type(value) in _KINDS.values() else None
    if kind is not None and annotation in _KINDS:
        kind = _KINDS[annotation]
        try:
            value = convert(Parameter(target.id, kind, value), value, "a default")
        except (TypeError, ValueError):
            return None
    return Parameter(target.id, kind, value)


def known(
    name: object, parameters: tuple[Parameter, ...], where: str, got: object
) -> Parameter:
    """Return the parameter of a name that can be swept.

    Raises
    ------
    TypeError, ValueError
        If there is no such parameter (the nearest is suggested), or its default is
        neither number nor text.
    """
    if not isinstance(name, str):
        check.fail("points", where, "given by names that are text", name, TypeError)
    names = [parameter.name for parameter in parameters]
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean '{near[0]}'?" if near else ", ".join(names)
        must = f"given by names in its parameters cell ({hint})"
        check.fail("points", where, must, name)
    parameter = parameters[names.index(name)]
    if parameter.kind is None:
        must = "left at its default, which is neither number nor text"
        check.fail(name, where, must, got)
    return parameter


def convert(parameter: Parameter, value: object, where: str) -> Value:
    """Return a value as the type of a parameter, exactly.

    Parameters
    ----------
    parameter : Parameter
        From `read_cell`; its kind is not None.
    value : object
        A number, truth value or text; a scalar of numpy counts as what it holds.
    where : str
        Name of the notebook, for messages.

    Raises
    ------
    TypeError
        If the value is of another type.
    ValueError
        If it has no exact counterpart, or is not finite.

    Examples
    --------
    >>> convert(Parameter("epsilon", float, 0.5), "1e-5", "a notebook")
    1e-05
    >>> convert(Parameter("steps", int, 1), 2.5, "a notebook")
    Traceback (most recent call last):
    ...
    ValueError: The 'steps' parameter of a notebook must be an integer, as its \
default 1 is. Got 2.5 instead.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    how: Mapping[type | None, Any] = {
        float: (_float, "a finite float"),
        int: (_integer, "an integer"),
        bool: (_truth, "True or False"),
        str: (_text, "text of printable characters"),
    }
    function, must = how[parameter.kind]
    must = f"{must}, as its default {parameter.default!r} is"
    try:
        result: Value = function(plain)
    except (TypeError, ValueError) as error:
        check.fail(parameter.name, where, must, value, type(error))
    return result


def _float(value: object) -> float:
    if isinstance(value, str):
        exact = _spelt(value)
        number = float(value.strip())
        # Nearest float, but neither infinity nor zero for what is neither.
        if not math.isfinite(number) or (number == 0.0) != (exact == 0):
            raise ValueError
        return number
    if isinstance(value, bool) or not isinstance(value, float | int):
        raise TypeError
    try:
        number = float(value)
    except OverflowError:
        raise ValueError from None
    if not math.isfinite(number) or number != value:
        raise ValueError
    return number


def _integer(value: object) -> int:
    if isinstance(value, str):
        value = _spelt(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise TypeError
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError
    number = int(value)
    if number != value or number.bit_length() > _BITS:
        raise ValueError
    return number


def _spelt(text: str) -> Fraction:
    """Return the number that a text spells, exactly."""
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError
    return Fraction(text.strip())


def _truth(value: object) -> bool:
    if isinstance(value, str) and value.strip() in _TRUTH:
        return _TRUTH[value.strip()]
    if isinstance(value, str):
        raise ValueError
    if not isinstance(value, bool):
        raise TypeError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    # Control characters and halves of surrogate pairs do not survive a CSV file.
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in value):
        raise ValueError
    return value


def assignment(
    given: Mapping[Any, object], parameters: tuple[Parameter, ...], where: str
) -> dict[str, Value]:
    """Return the values of all parameters that can be swept, in the cell's order.

    Parameters
    ----------
    given : mapping of str to object
        Values for some; the others keep their defaults.
    parameters : tuple of Parameter
        From `read_cell`.
    where : str
        Name of the notebook, for messages.

    Raises
    ------
    TypeError, ValueError
        As `known` and `convert`.
    """
    new = {
        name: convert(known(name, parameters, where, value), value, where)
        for name, value in given.items()
    }
    return {p.name: new.get(p.name, p.default) for p in parameters if p.kind}
