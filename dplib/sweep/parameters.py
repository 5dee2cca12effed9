"""The parameters of a notebook: their names, types and defaults, and values for them.

A notebook has one cell tagged ``parameters`` that assigns plain literals, one a line,
as ``epsilon = 0.5`` or ``epsilon: float = 0.5``. The type of the literal (or the
annotation) is the type of the parameter. papermill injects values after the cell and
checks neither names nor types; its own inspection reads lines, and skips one whose
comment holds an equals sign. So the cell is read here, and a value is *converted
exactly or refused*: ``3`` for a float is ``3.0``, ``2e4`` for an integer is ``20000``,
the text ``"1e-5"`` is the number it spells; ``0.5`` for an integer, a truth value for
a number, NaN, infinities, and what is too large or too small for a float are refused.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dplib import check

__all__ = ["Parameter", "RefusedError", "Value", "convert", "read_cell"]

Value = float | int | bool | str

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_TRUTH = {"True": True, "true": True, "False": False, "false": False}


class RefusedError(ValueError):
    """What is asked for cannot be: nothing was started."""


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
    """Return the parameters that the parameters cell of a notebook assigns.

    Examples
    --------
    >>> read_cell("epsilon = 0.5  # 0 < epsilon = privacy, nats", "a notebook")
    (Parameter(name='epsilon', kind=<class 'float'>, default=0.5),)
    """
    found: dict[str, Parameter] = {}
    for statement in ast.parse(source).body:
        try:
            parameter = _parameter(statement)
        except ValueError:
            line = (ast.get_source_segment(source, statement) or "").split("\n")[0]
            raise RefusedError(
                f"The parameters cell of {where} must hold plain literals, one a "
                f"line, as 'steps = 100'. Got '{line}' instead."
            ) from None
        if parameter.name in found:
            raise RefusedError(
                f"The parameters cell of {where} assigns '{parameter.name}' twice."
            )
        found[parameter.name] = parameter
    return tuple(found.values())


def _parameter(statement: ast.stmt) -> Parameter:
    """Return what ``name = literal`` says; ValueError if it is something else."""
    kind = None
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=literal):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as literal):
            kind = _KINDS.get(ast.unparse(statement.annotation))
        case _:
            raise ValueError
    default = ast.literal_eval(literal)
    if kind is not None:
        default = convert(Parameter(name, kind, default), default, "a default")
    return Parameter(name, type(default) if type(default) in _READ else None, default)


def convert(parameter: Parameter, value: object, where: str) -> Value:
    """Return a value as the type of a parameter, exactly.

    Parameters
    ----------
    parameter : Parameter
        From `read_cell`.
    value : object
        A number, truth value or text; a scalar of numpy counts as what it holds.
    where : str
        Name of the notebook, for the message.

    Examples
    --------
    >>> convert(Parameter("epsilon", float, 0.5), "1e-5", "a notebook")
    1e-05
    >>> convert(Parameter("steps", int, 1), 2.5, "a notebook")
    Traceback (most recent call last):
    ...
    dplib.sweep.parameters.RefusedError: The 'steps' parameter of a notebook must be \
an integer, as its default 1 is. Got 2.5 instead.
    """
    name, default = parameter.name, parameter.default
    if parameter.kind is None:
        must = "left at its default, which is neither number nor text"
        check.fail(name, where, must, value, RefusedError)
    read, must = _READ[parameter.kind]
    try:
        result: Value = read(value.item() if isinstance(value, np.generic) else value)
    except (TypeError, ValueError, OverflowError):
        must = f"{must}, as its default {default!r} is"
        check.fail(name, where, must, value, RefusedError)
    return result


def _exact(value: object) -> Fraction:
    """Return a number, or the number that a text spells."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return Fraction(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return Fraction(value)


def _float(value: object) -> float:
    exact = _exact(value)
    number = float(exact)
    # A text is the nearest float, but not zero for what is none.
    if (number != exact and not isinstance(value, str)) or (not number and exact):
        raise ValueError
    return number


def _integer(value: object) -> int:
    exact = _exact(value)
    if exact.denominator != 1:
        raise ValueError
    return int(exact)


def _truth(value: object) -> bool:
    truth = _TRUTH.get(value.strip()) if isinstance(value, str) else value
    if not isinstance(truth, bool):
        raise TypeError
    return truth


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError
    return value


_READ: dict[type, tuple[Any, str]] = {
    float: (_float, "a finite float"),
    int: (_integer, "an integer"),
    bool: (_truth, "True or False"),
    str: (_text, "text of printable characters"),
}
_KINDS = {kind.__name__: kind for kind in _READ}
