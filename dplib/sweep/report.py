"""What a sweep tells: its table, states, a progress bar, a log, a summary.

The table has the rows of all finished points of the present code and files, sorted by
the values of their parameters: it is the same whoever finished first, and whatever was
asked for in between. Rows of different points must have the same columns. Those that
most points have count; a point with others is left out, and failed, since cells that
nobody filled would look like results.
"""

from __future__ import annotations

import datetime
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dplib.book.whole_files import table_text
from dplib.sweep.notebook import point_key
from dplib.sweep.points import Point, describe
from dplib.sweep.store import Request, Result

__all__ = ["Log", "Report", "State", "bar", "listing", "report", "summary", "varied"]

WORDS = ("done", "failed", "lost", "running", "to do")
_MANY = 20


@dataclass(frozen=True)
class State:
    """State of one point.

    Attributes
    ----------
    word : str
        ``done``, ``failed``, ``lost``, ``running`` or ``to do``.
    message : str
        Why it failed, in one line.
    seconds : float
        How long it took.
    """

    word: str
    message: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Report:
    """State of a whole sweep.

    Attributes
    ----------
    asked : Request
        The points that were asked for.
    states : list of State
        Their states.
    text : str
        The table of all finished points, as CSV; "" if there is none.
    mixed : str
        "" or the libraries of which rows used several versions.
    left : float or None
        Seconds that the driver at work will need, as far as is known.
    run : collection of str
        Keys of the points that this sweep was to run, as `sweep` returns it.
    """

    asked: Request
    states: Sequence[State]
    text: str = ""
    mixed: str = ""
    left: float | None = None
    run: Collection[str] = ()

    @property
    def table(self) -> Path:
        """The file of the table."""
        return self.asked.store.out / "table.csv"

    @property
    def succeeded(self) -> bool:
        """Whether every point is done."""
        return all(state.word == "done" for state in self.states)

    @property
    def run_succeeded(self) -> bool:
        """Whether every point is done that was run now."""
        each = zip(self.asked.keys, self.states, strict=True)
        return all(state.word == "done" for key, state in each if key in self.run)

    def counts(self) -> str:
        """Return how many points are in which state."""
        have = Counter(state.word for state in self.states)
        parts = ", ".join(f"{have[word]} {word}" for word in WORDS)
        return f"{_number(self.asked.points)}: {parts}"

    def points_text(self) -> str:
        """Return the states of all points as CSV."""
        asked, rows = self.asked, []
        lines = zip(asked.keys, asked.points, self.states, strict=True)
        for n, (key, point, state) in enumerate(lines, start=1):
            about = [state.word, state.seconds, state.message, key]
            rows.append([n, *point.values(), *about])
        header = ["number", *asked.points[0], "state", "seconds", "message", "key"]
        return table_text(header, rows)


def report(asked: Request, began: float | None = None) -> Report:
    """Return the state of every point, from the folder alone.

    Parameters
    ----------
    asked : Request
        What was asked for.
    began : float, optional
        Time at which a driver began that is at work.
    """
    store = asked.store
    finished = {
        key: (point, result)
        for key, (point, result) in store.finished().items()
        # Another key now: a file that it names has changed since.
        if key == point_key(store.version, point, store.source)
    }
    order = sorted(finished, key=lambda key: [*finished[key][0].values()])
    results = {key: finished[key][1] for key in order}
    columns, odd = _columns(results)
    rows = [
        [*finished[key][0].values(), *(row[name] for name in columns)]
        for key in order
        if key not in odd
        for row in results[key].rows
    ]
    states = []
    for key in asked.keys:
        result = results.get(key) or asked.store.failure(key)
        if began is not None and asked.store.path("running", key).exists():
            states.append(State("running"))
        elif result is None:
            states.append(State("to do"))
        else:
            word = "failed" if key in odd else result.state
            why = odd.get(key, result.message)
            states.append(State(word, why, result.provenance["seconds"]))
    text = table_text([*asked.points[0], *columns], rows) if rows else ""
    left = None if began is None else _left(results.values(), states, began)
    return Report(asked, states, text, _mixed(results.values()), left)


def _columns(results: dict[str, Result]) -> tuple[list[str], dict[str, str]]:
    """Return the columns that most points have, and what is odd about the others.

    Examples
    --------
    >>> _columns({k: Result("done", [{k[0]: 1}]) for k in ("y", "x1", "x2")})
    (['x'], {'y': 'Its columns (y) are not those of most points (x).'})
    """
    sets = {key: frozenset(result.rows[0]) for key, result in results.items()}
    have = Counter(sets.values())
    if not have:
        return [], {}
    most = max(have, key=lambda columns: have[columns])  # of as many, the first
    chosen = next(key for key in results if sets[key] == most)
    columns = list(results[chosen].rows[0])
    odd = {
        key: f"Its columns ({', '.join(result.rows[0])}) are not those of most points "
        f"({', '.join(columns)})."
        for key, result in results.items()
        if sets[key] != most
    }
    return columns, odd


def _mixed(results: Iterable[Result]) -> str:
    """Return the names of the libraries of which there are several versions.

    Examples
    --------
    >>> about = [{"versions": {"python": "3.11", "numpy": n}} for n in ("2.4", "2.5")]
    >>> _mixed([Result("done", provenance=one) for one in about])
    'numpy'
    """
    pairs = {p for r in results for p in r.provenance.get("versions", {}).items()}
    have = Counter(name for name, _ in pairs)
    return ", ".join(sorted(name for name, number in have.items() if number > 1))


def _left(
    results: Iterable[Result], states: Sequence[State], began: float
) -> float | None:
    """Return the seconds that the points to do will take at the speed so far."""
    dates = [datetime.datetime.fromisoformat(r.provenance["date"]) for r in results]
    fresh = sum(date.timestamp() >= began - 1 for date in dates)
    todo = sum(state.word in ("running", "to do") for state in states)
    return (time.time() - began) * todo / fresh if fresh else None


def varied(points: Sequence[Point]) -> list[Point]:
    """Return the points with only those parameters that differ between them.

    Examples
    --------
    >>> varied([{"a": 1, "b": 2}, {"a": 1, "b": 3}])
    [{'b': 2}, {'b': 3}]
    """
    names = [n for n in points[0] if len({repr(p[n]) for p in points}) > 1]
    return [{n: p[n] for n in names} for p in points] if names else list(points)


def _number(points: Sequence[Point]) -> str:
    return f"{len(points)} point{'s' if len(points) != 1 else ''}"


def listing(points: Sequence[Point], *, everything: bool = False) -> str:
    """Return the number of points and the first of them, or all."""
    shown = points if everything else points[:_MANY]
    lines = [_number(points)]
    lines += [f"  {n}: {describe(p)}" for n, p in enumerate(shown, start=1)]
    if len(shown) < len(points):
        lines.append(f"  ... and {len(points) - len(shown)} more (--verbose: all)")
    return "\n".join(lines)


def summary(found: Report, *, everything: bool = False) -> str:
    """Return what a reader needs to know, point by point.

    Points that failed or were lost come with their message; others are listed if
    there are not many, or `everything` is asked for.
    """
    out, points = found.asked.store.out, varied(found.asked.points)
    many = len(points) > _MANY and not everything
    lines: list[str] = []
    for n, (point, state) in enumerate(zip(points, found.states, strict=True), start=1):
        if many and state.word in ("done", "running", "to do"):
            continue
        if many and len(lines) >= 2 * _MANY:
            lines.append("         ... and more: points.csv has all")
            break
        took = f" ({state.seconds:.1f} s)" if state.seconds else ""
        lines.append(f"  {n:>5}  {state.word:<7}  {describe(point)}{took}")
        lines += [f"         {state.message}"] if state.message else []
    lines.append(found.counts())
    if found.left is not None:
        lines.append(f"about {datetime.timedelta(seconds=round(found.left))} left")
    if any(state.word == "failed" for state in found.states):
        lines.append(
            f"tracebacks: {out / 'versions'}/*/failures; --retry-failed runs failed "
            "points again, other than those with odd columns"
        )
    if found.mixed:
        lines.append(f"note: rows were made with several versions of {found.mixed}")
    if found.text:
        part = "" if found.succeeded else " (finished points only)"
        lines.append(f"table: {found.table}{part}")
    return "\n".join(lines)


class Log:
    """The log of a sweep, which names points by the values that differ."""

    def __init__(self, asked: Request) -> None:
        self._path = asked.store.out / "log.txt"
        self._names = dict(zip(asked.keys, varied(asked.points), strict=True))
        self.told: set[str] = set()

    def add(self, line: str) -> None:
        """Add a line, with the time."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{now}  {line}\n")

    def ended(self, key: str, state: State) -> None:
        """Tell how a point went."""
        self.told.add(key)
        name, message = describe(self._names[key]), state.message
        line = f"point {name}: {state.word} in {state.seconds:.1f} s {message}"
        self.add(line.rstrip())


@contextmanager
def bar(done: int, total: int, wanted: bool) -> Iterator[Callable[[str], None]]:
    """Draw a progress bar with the time left, on a terminal only.

    Yields
    ------
    callable
        To be called with the state of each point that ended.
    """
    from tqdm import tqdm

    bad = 0
    with tqdm(
        initial=done,
        total=total,
        unit="point",
        dynamic_ncols=True,
        disable=not (wanted and sys.stderr.isatty()),
    ) as drawn:

        def advance(state: str) -> None:
            nonlocal bad
            if state != "done":
                bad += 1
                drawn.set_postfix(failed=bad, refresh=False)
            drawn.update()

        yield advance
