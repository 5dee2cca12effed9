"""YAML files that readers write: read, held against a schema, refused in one sentence.

The files are YAML 1.2, in which ``1e-5`` is a number, ``no`` a text and ``010`` ten; a
key that is given twice is an error. What a file must hold is a JSON schema. A part of
it may say in its own keyword ``must`` what the sentence to the reader says. Here a
``number`` is finite, and no larger than `dplib.check` allows; 3.0 is no ``integer``.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.validators import extend
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from dplib.check import LARGEST

__all__ = ["ReaderFileError", "load", "refuse"]


class ReaderFileError(ValueError):
    """A file does not hold what it must; the message names file, place and remedy."""


def refuse(path: Path, place: str, must: str, got: object) -> ReaderFileError:
    """Return the error that says what a place in a file must be, and what it is.

    Examples
    --------
    >>> print(refuse(Path("team.yml"), "agents[0].name", "a word", 3))
    team.yml: agents[0].name must be a word. Got 3.
    """
    shown = reprlib.repr(got)[:80]
    return ReaderFileError(f"{path.name}: {place} must be {must}. Got {shown}.")


def _is_number(_: object, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST  # false of what is not a number


def _is_integer(_: object, value: object) -> bool:
    return isinstance(value, int) and _is_number(None, value)  # 3.0 is none


_TYPES = {"number": _is_number, "integer": _is_integer}
_Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(_TYPES),
)


def load(path: Path, schema: Mapping[str, Any]) -> Any:
    """Return what a YAML file holds, if that is what a JSON schema (2020-12) asks.

    Raises
    ------
    ReaderFileError
        One sentence: no such file, not YAML, or the first thing that does not fit.

    Examples
    --------
    >>> load(Path("nowhere.yml"), {})
    Traceback (most recent call last):
    ...
    dplib.reader_files.ReaderFileError: nowhere.yml: No such file or directory.
    """
    try:
        held = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReaderFileError(f"{path.name}: {error.strerror}.") from None
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise ReaderFileError(f"{path.name}, line {line}: {error.problem}.") from None
    except RecursionError:
        raise ReaderFileError(f"{path.name}: nested too deeply.") from None
    except (YAMLError, ValueError) as error:  # not UTF-8, a date of no calendar
        reason = " ".join(str(error).split())
        raise ReaderFileError(f"{path.name}: not YAML: {reason}.") from None
    found = best_match(_Validator(schema).iter_errors(held), key=_relevance)
    if found is not None:
        raise _explained(path, _place(held, found.absolute_path), found)
    return held


def _relevance(error: ValidationError) -> Any:
    """Order errors as `best_match` does, even if names and numbers are mixed."""
    path = [(isinstance(step, str), step) for step in error.path]
    return -len(path), path, error.validator not in ("anyOf", "oneOf")


def _place(held: Any, steps: Iterable[str | int]) -> str:
    """Return the steps to a place in words: from the last entry with an id onwards."""
    name = ""
    for step in steps:
        held = held[step]
        if isinstance(held, dict) and isinstance(held.get("id"), str):
            name = f"{held['id']}: "
        elif isinstance(step, int):
            name += f"[{step}]"
        else:
            name += f".{step}" if name and not name.endswith(": ") else f"{step}"
    return name.removesuffix(": ") or "the file"


def _explained(path: Path, place: str, found: Any) -> ReaderFileError:
    """Turn what the validator found into our sentence."""
    if found.validator == "required":
        missing = [name for name in found.validator_value if name not in found.instance]
        return ReaderFileError(f"{path.name}: {place} lacks the field {missing[0]!r}.")
    if found.validator == "additionalProperties":
        known = list(found.schema.get("properties", {}))
        (name, *_) = [str(one) for one in found.instance if one not in known]
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}."
        return ReaderFileError(
            f"{path.name}: {place} has an unknown field {name[:40]!r}; {hint}"
        )
    must = found.schema.get("must")
    if must is None:
        return ReaderFileError(f"{path.name}: {place}: {found.message[:200]}.")
    return refuse(path, place, must, found.instance)
