"""The seal of the ledger: what the papers say is not altered by accident.

A verdict is computed anew on every run, but the words and numbers that a claim
was entered with are typed once, from the paper. ``book/claims/seal.json`` holds
a short digest of these for every claim. A test compares; whoever adds a claim
or corrects one on purpose runs ``python -m dplib.seal``, which says what
changed, and commits the seal with the ledger.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from dplib import ledger
from dplib.ledger import Claim, Ledger

__all__ = ["differences", "digest", "head", "main", "path"]

# All but what a notebook computes and its stored outputs hold.
_FIELDS = tuple(
    field.name
    for field in fields(Claim)
    if field.name not in ("id", "at", "verdict", "evidence", "notebook")
)


def path(root: Path) -> Path:
    """Return the place of the seal in the book at `root`."""
    return root / "book" / "claims" / "seal.json"


def digest(claim: Claim) -> str:
    """Return twelve hexadecimal digits that stand for what the claim says.

    Examples
    --------
    >>> claim = Claim("truthful.x", "Theorem 2", "theorem", "x holds", "open", None)
    >>> digest(claim)
    '8020ab34413c'
    """
    facts = [getattr(claim, name) for name in _FIELDS] + [sorted(claim.at.items())]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]


def head(book: Ledger) -> str:
    """Return twelve digits that stand for the paper and the order of its claims."""
    facts = [vars(book.paper), list(book.claims)]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]


def differences(sealed: Mapping[str, str], book: Ledger) -> list[str]:
    """Return what differs from the seal in one chapter, a sentence each.

    Parameters
    ----------
    sealed : mapping of str to str
        Claim id to digest, of the whole book.
    book : Ledger
        One chapter.
    """
    hint = "(if meant: python -m dplib.seal)"
    found = []
    if sealed.get(book.chapter) != head(book):
        found.append(f"{book.chapter}: the paper's title, or the order, changed {hint}")
    for claim in book.claims.values():
        if claim.id not in sealed:
            found.append(f"{claim.id} is new {hint}")
        elif sealed[claim.id] != digest(claim):
            found.append(f"{claim.id} was altered {hint}")
    for claim_id in sealed:
        if claim_id.startswith(f"{book.chapter}.") and claim_id not in book.claims:
            found.append(f"{claim_id} was deleted {hint}")
    return found


def main() -> int:
    """Seal the ledger as it stands, and say what changed."""
    root = ledger.book_root()
    place = path(root)
    old: dict[str, str] = {}
    if place.is_file():
        try:
            old = json.loads(place.read_text(encoding="utf-8"))
        except ValueError:
            print("seal.json is not JSON: it is written anew, compare it in git.")
    try:
        books = ledger.load_all(root)
    except ledger.LedgerError as error:
        print(error, file=sys.stderr)
        return 1
    new: dict[str, str] = {}
    for book in books.values():
        for text in differences(old, book):
            print(text.partition(" (if meant")[0])
        new[book.chapter] = head(book)
        new |= {claim.id: digest(claim) for claim in book.claims.values()}
    aside = place.with_name(".seal.json.part")
    try:
        aside.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
        aside.replace(place)
    except OSError as error:
        print(f"The seal could not be written: {error}", file=sys.stderr)
        return 1
    print(f"sealed {len(new) - len(books)} claims")
    return 0


if __name__ == "__main__":
    sys.exit(main())
