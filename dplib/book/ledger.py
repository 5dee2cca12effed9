"""The claims ledger: what the five papers say, and what we found.

One YAML file a chapter, ``book/claims/<chapter>.yml``, holds one entry for each
numbered statement, figure, table cell and headline number of its paper. This module
defines an entry (`Claim`), reads the files, and refuses whatever is not an entry in one
sentence that names the file, the claim and the field. It computes no verdict: that is
done by `dplib.book.claims`, in a notebook.

A number that the paper prints is *text*, exactly as printed (``"0.10"``), since its
last digit sets the tolerance; a number that we compute with (a tolerance, a parameter
value) is a YAML number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from dplib import check
from dplib.reader_files import ReaderFileError, load, refuse

__all__ = [
    "CHAPTERS",
    "EVIDENCE",
    "KINDS",
    "LEVELS",
    "NOT_APPLICABLE",
    "TELLS",
    "VERDICTS",
    "Claim",
    "Ledger",
    "LedgerError",
    "Paper",
    "Scalar",
    "Verdict",
    "book_root",
    "half_unit",
    "load_all",
    "load_chapter",
]

CHAPTERS = ("planning", "truthful", "dpmac", "rewards", "macroscopic")

KINDS = ("number", "bound", "theorem", "figure", "ordering", "definition", "ours")

#: What an entry is to its paper: about ten headlines a paper, the results that bear
#: them, and the inputs (settings, assumptions) and steps that serve one of these.
LEVELS = ("headline", "result", "input", "step")


@dataclass(frozen=True)
class Verdict:
    """How a verdict is shown, what it says, and whether it is counted."""

    sign: str
    colour: str  # of a palette that is safe for colour-blind readers
    says: str
    counted: bool = True


#: The one table of verdicts: every page, line and legend takes its sign from here.
VERDICTS: Mapping[str, Verdict] = {
    "reproduced": Verdict("✓", "#029e73", "agrees within the tolerance"),
    "corrected": Verdict("✎", "#de8f05", "the print is wrong; we prove what is right"),
    "refuted": Verdict(
        "✗", "#d55e00", "the statement is false; a counterexample is computed"
    ),
    "empty": Verdict("∅", "#ca9161", "true, but no more than what holds without it"),
    "underspecified": Verdict(
        "?", "#cc78bc", "the paper leaves open what decides; our choices are listed"
    ),
    "not reproduced": Verdict(
        "≠", "#ca3542", "does not agree, whatever we tried, and we cannot prove why"
    ),
    "undecided": Verdict("≈", "#56b4e9", "our samples do not decide"),
    "shown": Verdict("★", "#0173b2", "a result of ours"),
    "implemented": Verdict(
        "•", "#6b6b6b", "a definition or setting, used as printed", counted=False
    ),
    "open": Verdict("○", "#949494", "not worked on yet"),
}

#: What only entries with these verdicts tell: the first field they need, others they
#: may have.
TELLS: Mapping[str, tuple[str, ...]] = {
    "corrected": ("ours", "counterexample", "reading", "consequence"),
    "refuted": ("counterexample", "ours", "reading", "consequence"),
    "empty": ("consequence",),
    "underspecified": ("assumed",),
    "not reproduced": ("tried", "consequence"),
    "undecided": ("tried",),
    "shown": ("ours",),
}

#: Where a notebook runs at other parameter values than those of the claim.
NOT_APPLICABLE = Verdict("–", "#949494", "other parameter values", counted=False)

#: How strong a check is, strongest first.
EVIDENCE: Mapping[str, str] = {
    "exact": "exact arithmetic",
    "enumeration": "every case enumerated",
    "closed form": "a formula evaluated in floating point",
    "two routes": "two independent computations agree",
    "sampling": "Monte Carlo, with an interval",
    "instances": "tried on instances: a theorem tried is not a theorem proved",
}

Scalar = float | int | bool | str

#: An entry of the ledger, or its use in a notebook, is not what it must be.
LedgerError = ReaderFileError


@dataclass(frozen=True)
class Paper:
    """The paper that a chapter reproduces."""

    key: str  # in book/references.bib
    title: str
    authors: str


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger.

    Attributes
    ----------
    id : str
        ``chapter.item``, lower case; unique in the whole book.
    where : str
        The paper's own label of the place ("Theorem 5, Section 8.2.1").
    kind : str
        One of `KINDS`.
    says : str
        The claim, in our words.
    level : str
        One of `LEVELS`; with `serves`, the id of the headline or result that an input
        or a step is folded under.
    verdict : str
        One of `VERDICTS`.
    same_as : str
        The id of the entry that makes the same statement in another place, whose level,
        kind and verdict this one then has; it is checked there and counted there.
    printed : tuple of str
        Numbers as the paper prints them; several if they are judged jointly.
    unit : str
        Their unit, or empty.
    tolerance : float or None
        Where it is not half a unit of the last printed digit; then `because`
        gives the reason.
    at : mapping of str to scalar
        The parameter values for which the claim is made.
    text : str
        ``"uncertain"`` where the verdict hinges on a mark that our text of the
        paper may have lost, else empty.
    evidence : str
        One of `EVIDENCE`; empty while open.
    notebook : str or None
        ``chapter/NN_topic``, where it is checked; None while open.
    ours : str
        The right value or statement (`corrected`), or our result (`shown`).
    counterexample, assumed, tried : str or tuple of str
        What the verdicts `refuted`, `underspecified`, `not reproduced` and `undecided`
        require.
    reading, consequence : str
        For an erratum: the most charitable reading of the print, and whether the
        paper's conclusion survives.
    """

    id: str
    where: str
    kind: str
    level: str
    says: str
    verdict: str
    notebook: str | None = None
    serves: str = ""
    same_as: str = ""
    printed: tuple[str, ...] = ()
    unit: str = ""
    tolerance: float | None = None
    because: str = ""
    at: Mapping[str, Scalar] = field(default_factory=dict)
    text: str = ""
    evidence: str = ""
    ours: str = ""
    counterexample: str = ""
    assumed: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    reading: str = ""
    consequence: str = ""

    @property
    def word(self) -> str:
        """The verdict for a reader: what was tried on cases was not proved."""
        how = {"sampling": "by sampling", "instances": "on instances"}
        tried = self.evidence in how and self.verdict in ("reproduced", "shown")
        return f"{self.verdict} {how[self.evidence]}" if tried else self.verdict

    @property
    def counted(self) -> bool:
        """Whether the scoreboard counts it: once, and no definition or setting."""
        defines = self.kind == "definition" and self.verdict == "open"
        return VERDICTS[self.verdict].counted and not (self.same_as or defines)

    @property
    def chapter(self) -> str:
        """The chapter, which is the first word of the id."""
        return self.id.split(".", 1)[0]


@dataclass(frozen=True)
class Ledger:
    """All claims of one chapter, in the order of the paper."""

    chapter: str
    paper: Paper
    claims: Mapping[str, Claim]

    def of_notebook(self, notebook: str) -> tuple[Claim, ...]:
        """Return the claims that the notebook ``chapter/NN_topic`` must check."""
        return tuple(c for c in self.claims.values() if c.notebook == notebook)


# Stricter than Python, which reads spaces, underscores and a thousand digits as well.
_PRINTED = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?"


def half_unit(text: str) -> float:
    """Return half a unit of the last digit of a printed number.

    That is the largest error that rounding to the printed digits can leave.

    Examples
    --------
    >>> half_unit("0.6261")
    5e-05
    >>> half_unit("0.10"), half_unit("250000"), half_unit("1.5e-3")
    (0.005, 0.5, 5e-05)
    """
    if not re.fullmatch(_PRINTED, text):
        check.fail("text", "half_unit", "a decimal number as text", text)
    exponent = int(Decimal(text).as_tuple().exponent)
    return float(Decimal(5).scaleb(exponent - 1))


def book_root() -> Path:
    """Return the folder of the book: the one that holds ``book/claims``.

    It is looked for above the working directory first, so that a copy of the book uses
    its own ledger, then beside the library.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    here = Path.cwd().resolve()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (folder / "book" / "claims").is_dir():
            return folder
    raise FileNotFoundError(
        "No folder 'book/claims' above the working directory or beside dplib: "
        "run the notebook inside a checkout of the book."
    )


def load_all(root: Path | None = None) -> Mapping[str, Ledger]:
    """Read the whole ledger under a folder, by chapter, in the book's order."""
    folder = (book_root() if root is None else root) / "book" / "claims"
    found = {path.stem: load_chapter(path) for path in sorted(folder.glob("*.yml"))}
    return {name: found[name] for name in CHAPTERS if name in found}


# -- one file --------------------------------------------------------------------

_TEXT = {"type": "string", "pattern": r"\S", "must": "text"}
_NUMBER = {
    "type": "string",
    "pattern": rf"^{_PRINTED}\Z",
    "must": "a decimal number in quotes, digit by digit as printed",
}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0, "must": "a positive number"}
_AT = {
    "type": "object",
    "propertyNames": {
        "type": "string",
        "pattern": r"^[^\W\d]\w*\Z",
        "must": "a mapping from names of parameters",
    },
    "additionalProperties": {
        "type": ["number", "boolean", "string"],
        "pattern": rf"^(?!{_PRINTED}\Z)",
        "must": "a number without quotes, true, false or a word",
    },
    "must": "a mapping from names of parameters",
}


def _fields(**properties: Any) -> dict[str, Any]:
    """Return the schema of a mapping that has these fields and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "must": "a mapping of fields",
    }


def _one_of(words: Iterable[str]) -> dict[str, Any]:
    return {"enum": list(words), "must": f"one of {', '.join(words)}"}


def _one_or_more(item: dict[str, Any]) -> dict[str, Any]:
    many = {"type": ["string", "array"], "minItems": 1, "items": item}
    return item | many | {"must": f"{item['must']}, or a list of these"}


def _schema(chapter: str) -> dict[str, Any]:
    """Return the JSON schema of a chapter's file."""
    identifier = {
        "type": "string",
        "pattern": rf"^{chapter}\.[a-z0-9]+([.-][a-z0-9]+)*\Z",
        "must": f"like '{chapter}.thm5.r5'",
    }
    notebook = {
        "type": ["string", "null"],
        "pattern": rf"^{chapter}/\d\d_[a-z0-9_]+\Z",
        "must": f"null or like '{chapter}/03_design'",
    }
    place = {"id": identifier, "where": _TEXT, "says": _TEXT}
    words = {
        "kind": _one_of(KINDS),
        "level": _one_of(LEVELS),
        "verdict": _one_of(VERDICTS),
    }
    optional = {
        "notebook": notebook,
        "evidence": _one_of(EVIDENCE),
        "printed": _one_or_more(_NUMBER),
        "tolerance": _fields(abs=_POSITIVE, because=_TEXT),
        "at": _AT,
        "text": _one_of(["uncertain"]),
        **dict.fromkeys(("serves", "unit", "ours", "counterexample"), _TEXT),
        **dict.fromkeys(("reading", "consequence"), _TEXT),
        **dict.fromkeys(("assumed", "tried"), _one_or_more(_TEXT)),
    }
    return _fields(
        paper=_fields(key=_TEXT, title=_TEXT, authors=_TEXT),
        claims={
            "type": "array",
            "minItems": 1,
            "must": "a list of entries",
            "items": {
                "if": {"required": ["same_as"]},
                "then": _fields(**place, same_as=_TEXT),
                "else": _fields(**place, **words, **optional)
                | {"required": [*place, *words]},
            },
        },
    )


def load_chapter(path: Path) -> Ledger:
    """Read ``.../<chapter>.yml``, the claims in the order of the file.

    Raises
    ------
    LedgerError
        On the first thing that is not an entry: file, claim, field, what it must be and
        what it was.
    """
    chapter = path.stem
    if chapter not in CHAPTERS:
        raise refuse(path, "the chapter", f"one of {', '.join(CHAPTERS)}", chapter)
    held = load(path, _schema(chapter))
    full = {raw["id"]: _claim(raw) for raw in held["claims"] if "same_as" not in raw}
    claims: dict[str, Claim] = {}
    for raw in held["claims"]:
        name = raw["id"]
        if name in claims:
            raise refuse(path, f"{name}: id", "used once", name)
        if "same_as" not in raw:
            claims[name] = full[name]
            if complaint := _misfit(full[name], full):
                raise LedgerError(f"{path.name}: {name}: {complaint}.")
        elif raw["same_as"] not in full:
            must = "the id of a full entry"
            raise refuse(path, f"{name}: same_as", must, raw["same_as"])
        else:
            claims[name] = replace(
                full[raw["same_as"]], **_plain(raw), notebook=None, serves=""
            )
    return Ledger(chapter, Paper(**held["paper"]), claims)


def _plain(value: Any) -> Any:
    """Return what the file holds with texts on one line, and tuples for lists."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list):
        return tuple(_plain(one) for one in value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value


def _claim(raw: Any) -> Claim:
    fields = _plain(raw)
    tolerance = fields.pop("tolerance", {"abs": None, "because": ""})
    fields |= {"tolerance": tolerance["abs"], "because": tolerance["because"]}
    for name in ("printed", "assumed", "tried"):
        if isinstance(fields.get(name), str):
            fields[name] = (fields[name],)
    return Claim(**fields)


def _misfit(claim: Claim, full: Mapping[str, Claim]) -> str:
    """Return in which way an entry's fields do not fit together; empty if they do."""
    said = f"the verdict '{claim.verdict}'"
    if claim.verdict == "open":
        if claim.notebook or claim.evidence:
            return "an open claim has no 'notebook' and no 'evidence' yet"
    elif not (claim.notebook and claim.evidence):
        return f"{said} needs 'notebook' and 'evidence'"
    tells = TELLS.get(claim.verdict, ())
    if tells and not getattr(claim, tells[0]):
        return f"{said} needs the field '{tells[0]}'"
    for name in sorted({name for names in TELLS.values() for name in names}):
        if name not in tells and getattr(claim, name):
            return f"the field '{name}' does not belong to {said}"
    if claim.kind == "ours" and claim.printed:
        return "a result of ours is not printed in the paper"
    if claim.verdict != "open" and (claim.kind == "ours") != (claim.verdict == "shown"):
        return "the kind 'ours' and the verdict 'shown' go together"
    # What is used and not claimed is taken over, or is wrong or incomplete in print.
    used = ("implemented", "open", "corrected", "underspecified")
    defines = claim.kind == "definition"
    if claim.verdict not in used if defines else claim.verdict == "implemented":
        return f"a definition is one of {', '.join(used)}; only it is 'implemented'"
    if (claim.level in ("input", "step")) != bool(claim.serves):
        return "an input or step, and only it, needs 'serves'"
    if claim.serves and (claim.serves not in full or full[claim.serves].serves):
        return "'serves' must be the id of a headline or result of the same paper"
    return ""
