"""What is asked for: points of a notebook, checked, and the folder for what they give.

A request is checked as a whole before anything starts, and written into the folder of
the sweep (`save`), so that somebody else can ask how far it is (`last_request`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dplib.book.whole_files import write_atomically, written_aside
from dplib.sweep.errors import RefusedError
from dplib.sweep.lock import is_lock
from dplib.sweep.notebook import Notebook, point_key
from dplib.sweep.points import Point, checked
from dplib.sweep.store import Store

__all__ = ["Request", "last_request", "request", "save"]

Points = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Request:
    """What is asked for: points of a notebook, and the folder for what they give.

    Attributes
    ----------
    name : str
        The notebook.
    points : tuple of dict
        Checked points, in order.
    keys : tuple of str
        Their keys.
    store : Store
        Where results lie.
    """

    name: str
    points: tuple[Point, ...]
    keys: tuple[str, ...]
    store: Store


def request(notebook: Notebook, points: Points, out: str | Path) -> Request:
    """Check the points of a notebook, and say where their results lie.

    Raises
    ------
    TypeError, ValueError
        If a point is not as it must be (`dplib.sweep.points.checked`).
    RefusedError
        If `out` is not, and cannot become, the folder of a sweep.
    """
    if not str(out).strip():
        raise RefusedError("The folder of the sweep (--out) must have a name.")
    where = Path(out).absolute()
    above = [where, *where.parents]
    for place in above:
        if place.exists() and not place.is_dir():
            raise RefusedError(f"The folder {where} cannot be: {place} is a file.")
    _must_be_ours(where)
    found = tuple(checked(points, notebook.parameters, notebook.name))
    version = notebook.version
    keys = tuple(point_key(version, point, notebook.folder) for point in found)
    store = Store(where, version, notebook.folder)
    return Request(notebook.name, found, keys, store)


def _must_be_ours(where: Path) -> None:
    """Refuse a folder with files of somebody else, who may have a table.csv too."""
    names = {path.name for path in where.glob("*")}
    have = {name for name in names if not written_aside(name)}
    begun, whole = {"lock", "versions"}, {"lock", "versions", "request.json"}
    others = have - begun and not whole <= have
    if others or ("lock" in have and not is_lock(where / "lock")):
        raise RefusedError(
            f"The folder {where} holds other files than a sweep's: give --out a new "
            "or an empty one."
        )


def save(asked: Request) -> None:
    """Write a request into its folder, for `last_request`.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    whole = {
        "notebook": asked.name,
        "version": asked.store.version,
        "source": str(asked.store.source),
        "keys": asked.keys,
        "points": asked.points,
    }
    write_atomically(asked.store.out / "request.json", json.dumps(whole))


def last_request(out: str | Path) -> Request:
    """Return what was last asked for in a folder.

    Raises
    ------
    RefusedError
        If no sweep has been started there, or the request is damaged.
    """
    where = Path(out).absolute()
    try:
        text = (where / "request.json").read_text(encoding="utf-8")
    except OSError:
        raise RefusedError(f"There is no sweep in {where}.") from None
    try:
        found = json.loads(text)
        return Request(
            found["notebook"],
            tuple(found["points"]),
            tuple(found["keys"]),
            Store(where, found["version"], Path(found["source"])),
        )
    except (ValueError, KeyError, TypeError):
        raise RefusedError(
            f"{where / 'request.json'} is damaged: give notebook and points as well, "
            "or start the sweep again."
        ) from None
