"""Reads one file of the claims ledger, and refuses what is not an entry.

The schema is in `dplib.book.ledger`; here is how a YAML file is turned into it. Each
refusal is one sentence that names the file, the claim, the field, what it must
be, and what it was.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Hashable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import yaml

from dplib.book.ledger import (
    CHAPTERS,
    EVIDENCE,
    KINDS,
    LEVELS,
    VERDICTS,
    Claim,
    Ledger,
    LedgerError,
    Paper,
    Scalar,
    half_unit,
)

__all__ = ["read"]

#: What was found, in a message: cut where it would fill the screen.
shorter = reprlib.Repr()
shorter.maxstring = shorter.maxother = 160
shorter.maxlist = shorter.maxdict = 6
shorter.maxlevel = 2

_ID = re.compile(r"[a-z]+(\.[a-z0-9]+([.-][a-z0-9]+)*)+")


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, except that it guesses less.

    A key given twice is an error, and so is a word that YAML 1.1 reads as a
    number or truth value and a reader may not: ``010`` is eight to it, ``1:30``
    is ninety, and ``no`` is false.
    """


# What a plain word of these kinds must look like. (Infinities: see `number`.)
_PLAIN = {
    "int": re.compile(r"[-+]?(0|[1-9][0-9]*)"),
    "float": re.compile(r"[^_:]+"),
    "bool": re.compile(r"true|false"),
}


def _plain(loader: _Loader, node: yaml.ScalarNode) -> Any:
    kind = node.tag.rpartition(":")[2]
    if not _PLAIN[kind].fullmatch(node.value):
        line = f"line {node.start_mark.line + 1}"
        word = shorter.repr(node.value)
        raise LedgerError(f"{line}: YAML reads {word} as {kind}: write it plainly")
    return yaml.SafeLoader.yaml_constructors[node.tag](loader, node)


for _kind in _PLAIN:
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _plain)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node)
        line = f"line {key_node.start_mark.line + 1}"
        if not isinstance(key, Hashable):
            raise LedgerError(f"{line}: a key must be a word")
        if key in seen:
            word = shorter.repr(key)
            raise LedgerError(f"{line}: the key {word} is given twice")
        seen.add(key)
    return loader.construct_mapping(node)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)

# Which fields a verdict needs, beyond those of every entry.
_NEEDS = {
    "corrected": "ours",
    "refuted": "counterexample",
    "underspecified": "assumed",
    "not reproduced": "tried",
    "undecided": "tried",
    "empty": "consequence",
    "shown": "ours",
}
# ... and which verdicts alone may carry them.
_FITS = {
    "ours": ("corrected", "shown", "refuted"),
    "counterexample": ("refuted", "corrected"),
    "assumed": ("underspecified",),
    "tried": ("not reproduced", "undecided"),
    "reading": ("corrected", "refuted"),
    "consequence": ("corrected", "refuted", "empty", "not reproduced"),
}
# What is used and not claimed can be taken over, or be wrong or incomplete in print.
_DEFINITION = ("implemented", "open", "corrected", "underspecified")
# All that an entry for another place of the same statement has.
_SAME = {"id", "where", "says", "same_as"}


class _Entry:
    """One raw entry being read: the checks share the file and the id."""

    def __init__(self, raw: Any, source: str, number: int) -> None:
        self.source = source
        self.name = f"entry {number}"
        if not isinstance(raw, dict):
            self.fail("must be a mapping of fields", raw)
        self.raw = raw
        identifier = raw.get("id")
        if not isinstance(identifier, str) or not _ID.fullmatch(identifier):
            self.fail("field 'id' must be like 'rewards.thm5.r5'", identifier)
        self.name = identifier
        known = {f.name for f in fields(Claim)} - {"because"}
        unknown = sorted(map(str, set(raw) - known))
        if unknown:
            word = shorter.repr(unknown[0])
            raise LedgerError(f"{source}: {self.name}: unknown field {word}.")

    def fail(self, must: str, got: object) -> NoReturn:
        shown = shorter.repr(got)
        raise LedgerError(f"{self.source}: {self.name}: {must}. Got {shown}.")

    def text(self, name: str, *, required: bool = False) -> str:
        value = self.raw.get(name)
        if value is None and not required:
            return ""
        if not isinstance(value, str) or not value.strip():
            self.fail(f"field '{name}' must be text", value)
        return " ".join(value.split())

    def word(self, name: str, allowed: Any) -> str:
        value = self.raw.get(name)
        if value not in tuple(allowed):
            self.fail(f"field '{name}' must be one of {', '.join(allowed)}", value)
        return str(value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.raw.get(name)
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        if not items or any(not isinstance(t, str) or not t.strip() for t in items):
            self.fail(f"field '{name}' must be text or a list of texts", value)
        return tuple(" ".join(t.split()) for t in items)

    def number(self, name: str, value: object) -> float:
        if isinstance(value, str):
            hint = " without quotes, with a point before the exponent (1.0e-5)"
            self.fail(f"{name} must be a number{hint}", value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.fail(f"{name} must be a number", value)
        try:
            number = float(value)
        except OverflowError:  # an integer of more than 308 digits
            number = math.inf
        if not math.isfinite(number):
            self.fail(f"{name} must be finite", value)
        return number

    def printed(self) -> tuple[str, ...]:
        value = self.raw.get("printed")
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        for item in items:
            if not isinstance(item, str):
                self.fail("field 'printed' must be in quotes, digit by digit", item)
            # Where half a unit overflows every value would agree, where it
            # underflows none but the printed one.
            try:
                fits = math.isfinite(float(item)) and 0.0 < half_unit(item) < math.inf
            except (ValueError, ArithmeticError):
                fits = False
            if not fits:
                self.fail("field 'printed' must be a decimal number", item)
        if not items:
            self.fail("field 'printed' must not be empty", value)
        return tuple(items)

    def at(self) -> Mapping[str, Scalar]:
        value = self.raw.get("at", {})
        if not isinstance(value, dict):
            self.fail("field 'at' must map parameter names to values", value)
        for name, item in value.items():
            if not isinstance(name, str) or not name.isidentifier():
                self.fail("field 'at' must use parameter names", name)
            if isinstance(item, str):
                try:
                    float(item)
                except ValueError:
                    continue
                self.number(f"'at: {name}'", item)
            elif not isinstance(item, bool):
                self.number(f"'at: {name}'", item)
        return MappingProxyType(dict(value))

    def tolerance(self) -> tuple[float | None, str]:
        value = self.raw.get("tolerance")
        if value is None:
            return None, ""
        if not isinstance(value, dict) or set(value) != {"abs", "because"}:
            self.fail("field 'tolerance' must be {abs: ..., because: ...}", value)
        because = value["because"]
        if not isinstance(because, str) or not because.strip():
            self.fail("field 'tolerance' must give its reason in 'because'", because)
        size = self.number("'tolerance: abs'", value["abs"])
        if size <= 0:
            self.fail("'tolerance: abs' must be positive", size)
        return size, " ".join(because.split())

    def notebook(self, chapter: str) -> str | None:
        value = self.raw.get("notebook")
        if value is None:
            return None
        if not isinstance(value, str) or not re.fullmatch(
            r"[a-z]+/\d\d_[a-z0-9_]+", value
        ):
            self.fail(
                "field 'notebook' must be null or like 'rewards/03_design'", value
            )
        if not value.startswith(f"{chapter}/"):
            # A notebook opens the ledger of its own chapter only.
            self.fail(f"field 'notebook' must begin with '{chapter}/'", value)
        return value


def _claim(raw: Any, source: str, chapter: str, number: int) -> Claim:
    entry = _Entry(raw, source, number)
    if entry.name.split(".", 1)[0] != chapter:
        entry.fail(f"the id must begin with '{chapter}.'", entry.name)
    tolerance, because = entry.tolerance()
    verdict = entry.word("verdict", VERDICTS)
    claim = Claim(
        id=entry.name,
        where=entry.text("where", required=True),
        kind=entry.word("kind", KINDS),
        level=entry.word("level", LEVELS),
        serves=entry.text("serves"),
        says=entry.text("says", required=True),
        verdict=verdict,
        notebook=entry.notebook(chapter),
        printed=entry.printed(),
        unit=entry.text("unit"),
        tolerance=tolerance,
        because=because,
        at=entry.at(),
        text=entry.word("text", ("uncertain",)) if "text" in raw else "",
        evidence=entry.word("evidence", EVIDENCE) if "evidence" in raw else "",
        ours=entry.text("ours"),
        counterexample=entry.text("counterexample"),
        assumed=entry.texts("assumed"),
        tried=entry.texts("tried"),
        reading=entry.text("reading"),
        consequence=entry.text("consequence"),
    )
    if verdict == "open":
        if claim.notebook is not None or claim.evidence:
            entry.fail(
                "an open claim has no 'notebook' and no 'evidence' yet",
                claim.notebook or claim.evidence,
            )
    elif claim.notebook is None or not claim.evidence:
        entry.fail(f"the verdict '{verdict}' needs 'notebook' and 'evidence'", None)
    need = _NEEDS.get(verdict)
    if need and not getattr(claim, need):
        entry.fail(f"the verdict '{verdict}' needs the field '{need}'", None)
    for name, fits in _FITS.items():
        if getattr(claim, name) and verdict not in fits:
            words = " or ".join(f"'{word}'" for word in fits)
            entry.fail(f"the field '{name}' belongs to the verdict {words}", verdict)
    if (claim.kind == "ours") != (verdict == "shown") and verdict != "open":
        entry.fail("the kind 'ours' and the verdict 'shown' go together", claim.kind)
    if claim.kind == "ours" and claim.printed:
        entry.fail("a result of ours is not printed in the paper", claim.printed)
    defines = claim.kind == "definition"
    if verdict not in _DEFINITION if defines else verdict == "implemented":
        words = " or ".join(f"'{word}'" for word in _DEFINITION)
        entry.fail(f"a definition is {words}, and only it is 'implemented'", verdict)
    if (claim.level in ("input", "step")) != bool(claim.serves):
        entry.fail("an input or step, and only it, needs 'serves'", claim.serves)
    return claim


def _same(raw: Any, source: str, number: int, known: Mapping[str, Claim]) -> Claim:
    """Return the entry for another place of a statement, verdict and all."""
    entry = _Entry(raw, source, number)
    if set(raw) != _SAME:
        entry.fail(f"an entry with 'same_as' has {', '.join(sorted(_SAME))}", set(raw))
    target = known.get(entry.text("same_as", required=True))
    if target is None:
        entry.fail("'same_as' must be the id of a full entry", raw["same_as"])
    return replace(
        target,
        id=entry.name,
        where=entry.text("where", required=True),
        says=entry.text("says", required=True),
        same_as=target.id,
        notebook=None,
        serves="",
    )


def read(path: Path) -> Ledger:
    """Read the ledger of one chapter; see `dplib.book.ledger.load_chapter`."""
    chapter, source = path.stem, path.name
    if chapter not in CHAPTERS:
        raise LedgerError(
            f"{source}: the chapter must be one of {', '.join(CHAPTERS)}. "
            f"Got {chapter!r}."
        )
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except LedgerError as error:
        raise LedgerError(f"{source}: {error}.") from None
    except Exception as error:
        # Not only YAMLError: bytes that are not UTF-8, a date that no calendar
        # has, an explicit tag that does not fit, nesting without end.
        reason = shorter.repr(" ".join(str(error).split()))
        raise LedgerError(f"{source}: not YAML: {reason}") from None
    if not isinstance(raw, dict) or set(raw) != {"paper", "claims"}:
        raise LedgerError(f"{source}: must hold 'paper' and 'claims', nothing else.")
    about = raw["paper"]
    if not isinstance(about, dict) or set(about) != {"key", "title", "authors"}:
        raise LedgerError(f"{source}: 'paper' must hold key, title and authors.")
    if not all(isinstance(value, str) and value for value in about.values()):
        raise LedgerError(
            f"{source}: 'paper' must hold texts. Got {shorter.repr(about)}."
        )
    if not isinstance(raw["claims"], list) or not raw["claims"]:
        raise LedgerError(f"{source}: 'claims' must be a list of entries.")
    claims: dict[str, Claim] = {}
    copies = []
    for number, item in enumerate(raw["claims"], start=1):
        if isinstance(item, dict) and "same_as" in item:
            copies.append((number, item))
            continue
        claim = _claim(item, source, chapter, number)
        if claim.id in claims:
            raise LedgerError(f"{source}: {claim.id}: the id is used twice.")
        claims[claim.id] = claim
    for claim in claims.values():
        served = claims.get(claim.serves)
        if claim.serves and (served is None or served.serves):
            raise LedgerError(
                f"{source}: {claim.id}: 'serves' must be the id of a headline or "
                f"result of the same paper. Got {claim.serves!r}."
            )
    full = dict(claims)
    for number, item in copies:
        claim = _same(item, source, number, full)
        if claim.id in claims:
            raise LedgerError(f"{source}: {claim.id}: the id is used twice.")
        claims[claim.id] = claim
    ordered = {item["id"]: claims[item["id"]] for item in raw["claims"]}
    return Ledger(chapter, Paper(**about), MappingProxyType(ordered))
