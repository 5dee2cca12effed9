"""The claims ledger: what the five papers say, and what we found.

One YAML file a chapter, ``book/claims/<chapter>.yml``, holds one entry for each
numbered statement, figure, table cell and headline number of its paper. This
module defines an entry (`Claim`), reads the files, and refuses whatever is not
an entry in one sentence that names the file, the claim and the field. It
computes no verdict: that is done by `dplib.book.claims`, in a notebook.

A number that the paper prints is *text*, exactly as printed (``"0.10"``), since
its last digit sets the tolerance; a number that we compute with (a tolerance, a
parameter value) is a YAML number. YAML reads ``1e-5`` as text and ``0.10`` as
0.1, so the loader refuses numbers in the place of text and the reverse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import MappingProxyType

from dplib import check

__all__ = [
    "CHAPTERS",
    "EVIDENCE",
    "KINDS",
    "LEVELS",
    "NOT_APPLICABLE",
    "VERDICTS",
    "Claim",
    "Ledger",
    "LedgerError",
    "Paper",
    "Scalar",
    "Verdict",
    "book_root",
    "decimal",
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
VERDICTS: Mapping[str, Verdict] = MappingProxyType(
    {
        "reproduced": Verdict("✓", "#029e73", "agrees within the tolerance"),
        "corrected": Verdict(
            "✎", "#de8f05", "the print is wrong; we prove what is right"
        ),
        "refuted": Verdict(
            "✗", "#d55e00", "the statement is false; a counterexample is computed"
        ),
        "empty": Verdict(
            "∅", "#ca9161", "true, but no more than what holds without it"
        ),
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
)

#: Where a notebook runs at other parameter values than those of the claim.
NOT_APPLICABLE = Verdict("–", "#949494", "other parameter values", counted=False)

#: How strong a check is, strongest first.
EVIDENCE: Mapping[str, str] = MappingProxyType(
    {
        "exact": "exact arithmetic",
        "enumeration": "every case enumerated",
        "closed form": "a formula evaluated in floating point",
        "two routes": "two independent computations agree",
        "sampling": "Monte Carlo, with an interval",
        "instances": "tried on instances: a theorem tried is not a theorem proved",
    }
)

Scalar = float | int | bool | str

# Stricter than Python, which reads spaces and underscores as well.
_PRINTED = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class LedgerError(ValueError):
    """An entry of the ledger is not what an entry must be."""


@dataclass(frozen=True)
class Paper:
    """The paper that a chapter reproduces.

    Attributes
    ----------
    key : str
        Its key in ``book/references.bib``.
    title, authors : str
        As printed.
    """

    key: str
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
    notebook: str | None
    serves: str = ""
    same_as: str = ""
    printed: tuple[str, ...] = ()
    unit: str = ""
    tolerance: float | None = None
    because: str = ""
    at: Mapping[str, Scalar] = field(default_factory=lambda: MappingProxyType({}))
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


def half_unit(text: str) -> float:
    """Return half a unit of the last digit of a printed number.

    Parameters
    ----------
    text : str
        The number as printed.

    Returns
    -------
    float
        The largest error that rounding to the printed digits can leave.

    Raises
    ------
    TypeError, ValueError
        As `decimal`.

    Examples
    --------
    >>> half_unit("0.6261")
    5e-05
    >>> half_unit("0.10"), half_unit("250000"), half_unit("1.5e-3")
    (0.005, 0.5, 5e-05)
    """
    exponent = decimal(text).as_tuple().exponent
    assert isinstance(exponent, int)  # not NaN, as decimal has made sure
    return float(Decimal(5).scaleb(exponent - 1))


def decimal(text: str) -> Decimal:
    """Return a printed number as the decimal that it is.

    Raises
    ------
    TypeError
        If `text` is a number already: its last printed digit is lost.
    ValueError
        If `text` is not a decimal number, digit by digit.

    Examples
    --------
    >>> decimal("0.10")
    Decimal('0.10')
    """
    must = "a decimal number as text"
    if not isinstance(text, str):
        check.fail("text", "decimal", must, text, TypeError)
    if not _PRINTED.fullmatch(text):
        check.fail("text", "decimal", must, text)
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        check.fail("text", "decimal", must, text)


def book_root() -> Path:
    """Return the folder of the book: the one that holds ``book/claims``.

    It is looked for above the working directory first, so that a copy of the
    book uses its own ledger, then beside the library.

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


def load_chapter(path: Path) -> Ledger:
    """Read the ledger of one chapter.

    Parameters
    ----------
    path : pathlib.Path
        ``.../<chapter>.yml``; the file's name is the chapter.

    Returns
    -------
    Ledger
        Its claims, in the order of the file.

    Raises
    ------
    LedgerError
        On the first thing that is not an entry: file, claim, field, what it
        must be and what it was.
    """
    from dplib.book.ledger_reader import read  # the reader needs the schema above

    return read(path)


def load_all(root: Path | None = None) -> Mapping[str, Ledger]:
    """Read the whole ledger: chapter name to `Ledger`, in the book's order.

    Parameters
    ----------
    root : pathlib.Path, optional
        The folder of the book; `book_root` finds it by default.

    Raises
    ------
    LedgerError
        As `load_chapter`, or if there is a file that belongs to no chapter.
    """
    folder = (book_root() if root is None else root) / "book" / "claims"
    found = {path.stem: load_chapter(path) for path in sorted(folder.glob("*.yml"))}
    return MappingProxyType({name: found[name] for name in CHAPTERS if name in found})
