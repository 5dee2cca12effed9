"""What the pages about claims are filled from, read once a build.

Three sources: the claims ledger (``book/claims/*.yml``), the JSON outputs that
the checks of `dplib.book.claims` left in the committed notebooks, and
``book/status.json``. `read` brings them together in a `Snapshot` and lists, one
sentence each, every way in which they disagree; nothing here knows of Sphinx.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dplib.book import ledger
from dplib.book.ledger import Claim, Ledger
from dplib.book.verdicts import MIME_TYPE, REPEATED

__all__ = ["DOUBTFUL", "TITLES", "Output", "Snapshot", "importance", "read"]

#: What each chapter is called on the pages, in the order in which they are read.
TITLES: Mapping[str, str] = {
    "planning": "Private planning",
    "truthful": "Truthful optimization",
    "rewards": "Private rewards",
    "dpmac": "Learned messages",
    "macroscopic": "Leaking swarms",
}

#: The verdicts that the errata page lists: those that owe the reader an explanation.
DOUBTFUL = tuple(name for name in ledger.TELLS if name != "shown")


@dataclass(frozen=True)
class Output:
    """One stored output of a check: the notebook it lies in, and its JSON."""

    notebook: str
    payload: Mapping[str, Any]

    @property
    def finding(self) -> str:
        """What came out, in one phrase."""
        return str(self.payload["finding"])


@dataclass(frozen=True)
class Snapshot:
    """Ledger, stored outputs and run times, as they are when a build begins."""

    ledgers: Mapping[str, Ledger]  # by chapter, in the book's order
    outputs: Mapping[str, Output]  # by claim; the first where a claim has several
    status: Mapping[str, Any]  # book/status.json; empty if there is no such file
    problems: tuple[str, ...]  # one sentence for each disagreement
    sources: tuple[Path, ...]  # the files that were read

    def claims(self, chapter: str | None = None) -> tuple[Claim, ...]:
        """Return the claims of one chapter, or of all."""
        chosen = self.ledgers.values() if chapter is None else [self.ledgers[chapter]]
        return tuple(claim for book in chosen for claim in book.claims.values())

    def counts(self, chapter: str | None = None, *, ours: bool) -> dict[str, int]:
        """Return how many claims carry each verdict, in the ledger's order.

        Those of the paper, or ours; each statement once, and no definition.
        """
        found = Counter(
            claim.verdict
            for claim in self.claims(chapter)
            if claim.counted and (claim.kind == "ours") == ours
        )
        return {name: found[name] for name in ledger.VERDICTS if found[name]}

    def served(self, claim: Claim) -> tuple[Claim, ...]:
        """Return what folds under a claim: its other places, inputs, steps."""
        claims = self.claims(claim.chapter)
        result: list[Claim] = []
        for one in (claim, *(c for c in claims if c.serves == claim.id)):
            result += [one] if one.serves else []
            result += [c for c in claims if c.same_as == one.id]
        return tuple(result)


def importance(claim: Claim) -> str:
    """Return what the filter of a page asks for: a headline, a slip, or more.

    A slip is an erratum from which nothing follows, as its entry says.
    """
    if claim.level == "headline" and not claim.same_as:
        return "headline"
    return "slip" if claim.consequence.startswith("none") else "more"


def read(root: Path) -> Snapshot:
    """Read the book under the folder that holds ``book`` and ``notebooks``."""
    found = ledger.load_all(root)
    ledgers = {name: found[name] for name in TITLES if name in found}
    known = {
        name: one for book in ledgers.values() for name, one in book.claims.items()
    }
    notebooks = sorted((root / "notebooks").glob("*/*.ipynb"))
    outputs: dict[str, Output] = {}
    problems: list[str] = []
    for path in notebooks:
        name = f"{path.parent.name}/{path.stem}"
        for payload in _stored(path):
            identifier = payload["id"]
            if identifier not in known:
                problems.append(
                    f"{name}: an output is for {identifier!r}, which the ledger does "
                    "not have."
                )
            elif identifier in outputs:
                problems.append(
                    f"{name}: {identifier} has an output already, in "
                    f"{outputs[identifier].notebook}."
                )
            else:
                outputs[identifier] = Output(name, payload)
    for claim in known.values():
        if problem := _disagreement(claim, outputs.get(claim.id)):
            problems.append(f"{claim.id}: {problem}.")
    status = root / "book" / "status.json"
    times = json.loads(status.read_text(encoding="utf-8")) if status.is_file() else {}
    files = sorted((root / "book" / "claims").glob("*.yml"))
    sources = (*files, *notebooks, status)
    return Snapshot(ledgers, outputs, times, tuple(problems), sources)


def _stored(path: Path) -> Iterator[Any]:
    """Yield the JSON of every check, in the order of the cells."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            if MIME_TYPE in output.get("data", {}):
                yield output["data"][MIME_TYPE]


def _disagreement(claim: Claim, output: Output | None) -> str:
    """Return how entry and output disagree; empty if they do not."""
    said = f"the ledger says '{claim.verdict}'"
    if output is None:
        if claim.verdict == "open" or claim.same_as:
            return ""
        return f"{said}, but no executed cell of {claim.notebook} checks it"
    name, found = output.notebook, output.payload
    refresh = f"run: make refresh NB={name}"
    if claim.notebook != name:
        place = claim.notebook or "no notebook"
        return f"checked in {name}, but the ledger assigns it to {place}"
    if found["verdict"] == "not applicable":
        return f"{name} was executed at other parameter values; {refresh}"
    if found["verdict"] != claim.verdict:
        return f"{name} found '{found['verdict']}', {said}; {refresh}"
    entry = {field: getattr(claim, field) for field in REPEATED}
    entry |= {"printed": list(claim.printed), "at": dict(claim.at)}
    stale = [field for field, text in entry.items() if found[field] != text]
    if stale:
        return (
            f"the field '{stale[0]}' has changed since {name} was executed; {refresh}"
        )
    return ""
