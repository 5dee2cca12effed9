"""Whether two outputs of a cell are the same, whatever processor made them.

The last bits of a float depend on the processor: on what it can do in one step, and on
which kernels numpy and the linear algebra choose for it. What they may move:

- a figure's coordinates, by a quarter of a point, or anywhere if it says so (a training
  run takes another course from the first rounding on); its structure is exact;
- a number that was measured for a claim or a row, by one unit of the digits that its
  bound or interval leaves, or else of the sixth; an integer is exact;
- a number in a text that has a decimal point or an exponent, by one unit of the last
  digit shown; integers and the words between are exact.

All else is exact. The tests of notebooks and `refresh` compare by these rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from dplib.book.rounding import DIGITS

__all__ = ["LENGTHS", "STRUCTURE", "same", "settle"]

# The parts of an SVG that hold lengths: a scale factor elsewhere is exact.
LENGTHS = re.compile(
    r'(?<![\w-])(?:d|points|x|y|x1|x2|y1|y2|cx|cy|r|width|height|viewBox)="[^"]*"'
    r"|translate\([^)]*\)"
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_QUARTER = 0.25

#: What a figure says whose coordinates differ from machine to machine.
STRUCTURE = 'data-compare="structure"'


def _same_figure(stored: str, fresh: str) -> bool:
    def taken_apart(svg: str) -> tuple[str, list[float]]:
        lengths: list[float] = []

        def take(match: re.Match[str]) -> str:
            lengths.extend(map(float, _NUMBER.findall(match.group())))
            return _NUMBER.sub("#", match.group())

        return LENGTHS.sub(take, svg), lengths

    (shape, there), (other, here) = taken_apart(stored), taken_apart(fresh)
    near = (abs(a - b) <= _QUARTER for a, b in zip(there, here, strict=False))
    return shape == other and (STRUCTURE in shape[:200] or all(near))


def _same_numeral(stored: str, fresh: str) -> bool:
    a, b = Decimal(stored), Decimal(fresh)
    finer = min(int(a.as_tuple().exponent), int(b.as_tuple().exponent))
    integers = stored.lstrip("-").isdigit() and fresh.lstrip("-").isdigit()
    try:
        return a == b if integers else abs(a - b) <= Decimal(1).scaleb(finer)
    except ArithmeticError:  # an exponent of many digits, as in a digest
        return False


def _same_text(stored: str, fresh: str) -> bool:
    if stored == fresh:
        return True
    if _NUMBER.split(stored) != _NUMBER.split(fresh):
        return False
    pairs = zip(_NUMBER.findall(stored), _NUMBER.findall(fresh), strict=True)
    return all(_same_numeral(a, b) for a, b in pairs)


def _same_json(stored: Any, fresh: Any, bound: float) -> bool:
    if isinstance(stored, dict) and isinstance(fresh, dict):
        return stored.keys() == fresh.keys() and all(
            _same_json(stored[name], fresh[name], bound) for name in stored
        )
    if isinstance(stored, list) and isinstance(fresh, list):
        return len(stored) == len(fresh) and all(
            _same_json(a, b, bound) for a, b in zip(stored, fresh, strict=True)
        )
    if isinstance(stored, str) and isinstance(fresh, str):
        return _same_text(stored, fresh)
    if {type(stored), type(fresh)} in ({float}, {float, int}):
        size = math.floor(math.log10(abs(stored))) if stored else -math.inf
        # The difference of two rounded numbers has a rounding error of its own.
        return bool(
            abs(stored - fresh) <= 1.001 * max(bound, 10.0 ** (size - DIGITS + 1))
        )
    return bool(stored == fresh)


# What a processor may move in a claim; its words, values of parameters and chance not.
_MEASURED = {"value", "interval", "finding", "choices"}
_MEASURED |= {"margin", "repaired", "trivial", "values"}


def _same_claim(stored: dict[str, Any], fresh: dict[str, Any]) -> bool:
    ends = [end for end in stored.get("interval") or () if end is not None]
    ends += [stored["value"]] if len(ends) == 1 else []
    width = max(ends) - min(ends) if ends else 0.0
    # A rounded number moves by a unit, which is up to twice the bound; the ends of an
    # interval stand on a grid of a fifth of the width or less.
    limits = {"interval": width / 5.0}
    return stored.keys() == fresh.keys() and all(
        _same_json(value, fresh[name], limits.get(name, 2.0 * stored["bound"]))
        if name in _MEASURED
        else value == fresh[name]
        for name, value in stored.items()
    )


def same(kind: str, stored: Any, fresh: Any) -> bool:
    """Return whether two outputs of one kind are the same.

    Parameters
    ----------
    kind : str
        MIME type.
    stored, fresh : object
        What a notebook holds of that type: a text, or JSON.

    Examples
    --------
    >>> same("text/plain", "3 runs, 0.25 m", "3 runs, 0.26 m")
    True
    >>> same("text/plain", "3 runs, 0.25 m", "4 runs, 0.25 m")
    False
    """
    if kind == "image/svg+xml":
        return _same_figure(stored, fresh)
    if kind == "application/vnd.dplib.claim+json":
        return _same_claim(stored, fresh)
    if kind.startswith("application/vnd.dplib."):
        return _same_json(stored, fresh, 0.0)
    if kind in ("text/plain", "text/html"):
        return _same_text(stored, fresh)
    return bool(stored == fresh)


def settle(stored: Sequence[Any], fresh: Sequence[Any]) -> list[Any]:
    """Return fresh outputs of a cell; what is the same is taken from the stored ones.

    Parameters
    ----------
    stored, fresh : sequence of nbformat.NotebookNode
        Outputs of one cell.
    """
    if [one.output_type for one in stored] != [one.output_type for one in fresh]:
        return list(fresh)
    result = []
    for old, new in zip(stored, fresh, strict=True):
        new = new.copy()
        if "data" in new:
            new["data"] = {
                kind: old.data[kind]
                if kind in old.data and same(kind, old.data[kind], value)
                else value
                for kind, value in new.data.items()
            }
        elif "text" in new and same("text/plain", old.text, new.text):
            new["text"] = old.text
        result.append(new)
    return result
