"""The seal of the ledger: what the papers say is not altered by accident.

A verdict is computed anew on every run, but the words and numbers that a claim
was entered with are typed once, from the paper. ``book/claims/seal.json`` holds
a short digest of these for every claim, one a line, and one of each chapter's
paper and order. A test compares; whoever adds a claim or corrects one on purpose
runs ``python -m dplib.seal``, which says what changed, and commits the seal with
the ledger. After a merge the seal is written anew in the same way.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from dplib import ledger
from dplib.ledger import Claim, Ledger

__all__ = ["SealError", "differences", "digest", "head", "main", "path", "read", "text"]

# All but what a notebook computes and its stored outputs hold. Of an open claim,
# which has neither, that it is open counts too: no claim is reopened unseen.
_FIELDS = tuple(
    field.name
    for field in fields(Claim)
    if field.name not in ("id", "at", "verdict", "evidence", "notebook")
)


class SealError(ValueError):
    """The seal is broken."""


def path(root: Path) -> Path:
    """Return the place of the seal in the book at `root`."""
    return root / "book" / "claims" / "seal.json"


def read(root: Path) -> dict[str, str]:
    """Return the seal: claim id (or chapter) to digest; empty if there is none.

    Raises
    ------
    SealError
        If the file is not a JSON object of texts, or holds a name twice.
    """
    place = path(root)
    if not place.is_file():
        return {}
    try:
        pairs = json.loads(place.read_bytes(), object_pairs_hook=lambda found: found)
    except (ValueError, RecursionError):
        raise SealError("seal.json is not JSON (python -m dplib.seal)") from None
    if not isinstance(pairs, list) or not all(
        isinstance(pair, tuple) and isinstance(pair[1], str) for pair in pairs
    ):
        raise SealError("seal.json is no object of texts (python -m dplib.seal)")
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise SealError(f"seal.json holds {name} twice (python -m dplib.seal)")
    return dict(pairs)


def text(books: Mapping[str, Ledger]) -> str:
    """Return the file that seals the ledger as it stands, one claim a line."""
    new: dict[str, str] = {}
    for book in books.values():
        new[book.chapter] = head(book)
        new |= {claim.id: digest(claim) for claim in book.claims.values()}
    return json.dumps(new, indent=1) + "\n"


def digest(claim: Claim) -> str:
    """Return twelve hexadecimal digits that stand for what the claim says.

    Examples
    --------
    >>> place = ("Theorem 2", "theorem", "headline")
    >>> claim = Claim("truthful.x", *place, "x holds", "open", None)
    >>> digest(claim)
    'c7b35c28ea29'
    """
    facts = [getattr(claim, name) for name in _FIELDS] + [sorted(claim.at.items())]
    facts.append(claim.verdict == "open")
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
    try:
        root = ledger.book_root()
        books = ledger.load_all(root)
        try:
            old = read(root)
        except SealError as error:
            print(str(error).partition(" (python")[0] + "; it is written anew")
            old = None
        # Written aside, then renamed: a full disk leaves the old seal whole.
        aside = path(root).with_name(f".seal.json.{os.getpid()}.part")
        try:
            aside.write_text(text(books), encoding="utf-8")
            aside.replace(path(root))
        finally:
            aside.unlink(missing_ok=True)
    except (ledger.LedgerError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for book in books.values():
        for sentence in [] if old is None else differences(old, book):
            print(sentence.partition(" (if meant")[0])
    print(f"sealed {sum(len(book.claims) for book in books.values())} claims")
    return 0


if __name__ == "__main__":
    sys.exit(main())
