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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dplib.book import ledger
from dplib.book.claims import MIME_TYPE
from dplib.book.ledger import Claim, Ledger

__all__ = ["DOUBTFUL", "TITLES", "Output", "Snapshot", "read"]

#: What each chapter is called on the pages.
TITLES: Mapping[str, str] = {
    "planning": "Private planning",
    "truthful": "Truthful optimization",
    "dpmac": "Learned messages",
    "rewards": "Private rewards",
    "macroscopic": "Leaking swarms",
}

#: The verdicts that the errata page lists.
DOUBTFUL = (
    *("corrected", "refuted", "empty"),
    *("underspecified", "not reproduced", "undecided"),
)

# Words of an entry that the stored output repeats: they must be the same.
_REPEATED = ("where", "kind", "level", "says", "evidence")


@dataclass(frozen=True)
class Output:
    """One stored output of a check: the notebook it lies in, and its JSON."""

    notebook: str
    payload: Mapping[str, Any]

    @property
    def finding(self) -> str:
        """What came out, in one phrase."""
        return str(self.payload.get("finding", ""))


@dataclass(frozen=True)
class Snapshot:
    """Ledger, stored outputs and run times, as they are when a build begins.

    Attributes
    ----------
    ledgers : mapping of str to Ledger
        By chapter, in the book's order.
    outputs : mapping of str to Output
        By claim; the first one where a claim has several.
    status : mapping
        The contents of ``book/status.json``; empty if there is no such file.
    problems : tuple of str
        One sentence for each disagreement.
    sources : tuple of pathlib.Path
        The files that were read.
    """

    ledgers: Mapping[str, Ledger] = field(default_factory=dict)
    outputs: Mapping[str, Output] = field(default_factory=dict)
    status: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()

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


def read(root: Path) -> Snapshot:
    """Read the book under `root`.

    Parameters
    ----------
    root : pathlib.Path
        The folder that holds ``book`` and ``notebooks``.

    Returns
    -------
    Snapshot
        With the problems found. A ledger that cannot be read, a notebook or a
        status file that is not JSON are problems too, and count as empty.
    """
    problems: list[str] = []
    files = sorted((root / "book" / "claims").glob("*.yml"))
    ledgers: Mapping[str, Ledger] = {}
    try:
        ledgers = ledger.load_all(root)
    except ledger.LedgerError as error:
        problems.append(f"The ledger cannot be read: {error}")
    known = {
        name: claim for book in ledgers.values() for name, claim in book.claims.items()
    }

    notebooks = sorted((root / "notebooks").glob("*/*.ipynb"))
    outputs: dict[str, Output] = {}
    for path in notebooks:
        name = f"{path.parent.name}/{path.stem}"
        try:
            found = list(_stored(path))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problems.append(f"{name}: the notebook cannot be read: {error!r}.")
            continue
        for payload in found:
            identifier = payload.get("id") if isinstance(payload, dict) else None
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
        problems.extend(_disagreements(claim, outputs.get(claim.id)))

    status_file = root / "book" / "status.json"
    status, complaint = _status(status_file)
    problems.extend(complaint)
    sources = [*files, *notebooks, status_file]
    return Snapshot(ledgers, outputs, status, tuple(problems), tuple(sources))


def _stored(path: Path) -> Iterator[Any]:
    """Yield the JSON of every check, in the order of the cells."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            if MIME_TYPE in output.get("data", {}):
                yield output["data"][MIME_TYPE]


def _disagreements(claim: Claim, output: Output | None) -> Iterator[str]:
    """Yield one sentence for each way in which entry and output disagree."""
    if output is None:
        if claim.verdict != "open" and not claim.same_as:
            yield (
                f"{claim.id}: the ledger says '{claim.verdict}', but no executed cell "
                f"of {claim.notebook} checks it."
            )
        return
    verdict = output.payload.get("verdict")
    refresh = f"run: make refresh NB={output.notebook}"
    if claim.notebook != output.notebook:
        yield (
            f"{claim.id}: checked in {output.notebook}, but the ledger assigns it to "
            f"{claim.notebook or 'no notebook'}."
        )
    elif verdict == "not applicable":
        yield (
            f"{claim.id}: {output.notebook} was executed at other parameter values, "
            f"so its verdict is 'not applicable'; {refresh}."
        )
    elif verdict != claim.verdict:
        yield (
            f"{claim.id}: {output.notebook} found '{verdict}', the ledger says "
            f"'{claim.verdict}'; {refresh}."
        )
    else:
        entry = {name: getattr(claim, name) for name in _REPEATED}
        entry |= {"printed": list(claim.printed), "at": dict(claim.at)}
        stale = [
            name for name, text in entry.items() if output.payload.get(name) != text
        ]
        if stale:
            yield (
                f"{claim.id}: the field '{stale[0]}' has changed since "
                f"{output.notebook} was executed; {refresh}."
            )


def _status(path: Path) -> tuple[Mapping[str, Any], list[str]]:
    """Return the run times, and a sentence if the file is not what it must be."""
    if not path.is_file():
        return {}, []
    try:
        status = json.loads(path.read_text(encoding="utf-8"))
        dict(status["versions"])
        for entry in status["notebooks"].values():
            float(entry["cpu_seconds"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {}, [f"{path.name}: not a status file: {error!r}; run: make reproduce."]
    return status, []
