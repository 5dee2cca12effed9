"""What a sweep tells: states, a progress bar, a log, a summary, lists of points."""

from __future__ import annotations

import datetime
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dplib.book.whole_files import table_text
from dplib.sweep.parameters import Value
from dplib.sweep.points import Point, describe

__all__ = [
    "Report",
    "State",
    "bar",
    "listing",
    "log_to",
    "mixed_versions",
    "points_text",
    "summary",
    "varied",
]

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
    traceback : str
        The whole of it.
    odd : bool
        Whether it failed only because its columns are not the others'.
    limit : float or None
        Seconds that were too few for a cell; None if that was not the reason.
    """

    word: str
    message: str = ""
    seconds: float = 0.0
    traceback: str = ""
    odd: bool = False
    limit: float | None = None


@dataclass(frozen=True)
class Report:
    """State of a whole sweep.

    Attributes
    ----------
    name : str
        The notebook.
    out : pathlib.Path
        Folder of the sweep.
    points, keys, states : tuple
        Points, their keys, their states.
    mixed : str
        "" or the libraries of which rows used several versions.
    """

    name: str
    out: Path
    points: tuple[Point, ...]
    keys: tuple[str, ...]
    states: tuple[State, ...]
    mixed: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether every point is done."""
        return all(state.word == "done" for state in self.states)

    @property
    def table(self) -> Path:
        """The table of rows."""
        return self.out / "table.csv"

    def counts(self) -> str:
        """Return how many points are in which state.

        Examples
        --------
        >>> Report("n", Path(), ({}, {}), ("", ""), (State("done"),) * 2).counts()
        '2 points: 2 done, 0 failed, 0 lost, 0 running, 0 to do'
        """
        have = Counter(state.word for state in self.states)
        parts = ", ".join(f"{have[word]} {word}" for word in WORDS)
        number = len(self.states)
        return f"{number} point{'s' if number != 1 else ''}: {parts}"


def varied(points: Sequence[Point]) -> list[Point]:
    """Return the points with only those parameters that differ between them.

    Examples
    --------
    >>> varied([{"a": 1, "b": 2}, {"a": 1, "b": 3}])
    [{'b': 2}, {'b': 3}]
    """
    names = [n for n in points[0] if len({repr(p[n]) for p in points}) > 1]
    return [{n: p[n] for n in names} for p in points] if names else list(points)


def listing(points: Sequence[Point], *, everything: bool = False) -> str:
    """Return the number of points and the first of them, or all."""
    shown = points if everything else points[:_MANY]
    word = "point" if len(points) == 1 else "points"
    lines = [f"{len(points)} {word}"]
    lines += [f"  {n}: {describe(p)}" for n, p in enumerate(shown, start=1)]
    if len(shown) < len(points):
        lines.append(f"  ... and {len(points) - len(shown)} more (--verbose: all)")
    return "\n".join(lines)


def summary(report: Report, *, everything: bool = False) -> str:
    """Return what a reader needs to know, point by point.

    Points that failed or were lost come with their message; done ones are listed if
    there are not many, or `everything` is asked for.
    """
    short = varied(report.points)
    many = len(report.points) > _MANY and not everything
    lines: list[str] = []
    left = 0
    for n, (point, state) in enumerate(zip(short, report.states, strict=True), start=1):
        if many and state.word in ("done", "running", "to do"):
            continue
        if many and len(lines) >= _MANY:
            left += 1
            continue
        time = f" ({state.seconds:.1f} s)" if state.seconds else ""
        text = f"  {n:>5}  {state.word:<7}  {describe(point)}{time}"
        lines.append(text + (f"\n         {state.message}" if state.message else ""))
    if left:
        lines.append(f"         ... and {left} more: points.csv has all")
    lines.append(report.counts())
    words = Counter(state.word for state in report.states)
    if words["failed"]:
        lines.append(
            f"tracebacks: {report.out / 'versions'}/*/failures; --retry-failed runs "
            "failed points again"
        )
    if report.mixed:
        lines.append(f"note: rows were made with several versions of {report.mixed}")
    if report.table.is_file():
        part = "" if report.succeeded else " (finished points only)"
        lines.append(f"table: {report.table}{part}")
    return "\n".join(lines)


def points_text(report: Report) -> str:
    """Return the states of all points as CSV."""
    names = list(report.points[0])
    header = ["number", *names, "state", "seconds", "message", "key"]
    rows: list[list[Value]] = [
        [n, *point.values(), state.word, state.seconds, state.message, key]
        for n, (point, key, state) in enumerate(
            zip(report.points, report.keys, report.states, strict=True), start=1
        )
    ]
    return table_text(header, rows)


def mixed_versions(versions: Sequence[Mapping[str, Any]]) -> str:
    """Return the names of the libraries of which there are several versions.

    Examples
    --------
    >>> mixed_versions([{"numpy": "2.4.1"}, {"numpy": "2.4.2"}])
    'numpy'
    """
    seen: dict[str, set[str]] = {}
    for one in versions:
        for name, number in one.items():
            seen.setdefault(name, set()).add(str(number))
    return ", ".join(name for name, numbers in sorted(seen.items()) if len(numbers) > 1)


def log_to(path: Path) -> Callable[[str], None]:
    """Return a function that adds a line, with the time, to a file."""

    def log(line: str) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{now}  {line}\n")

    return log


@contextmanager
def bar(done: int, total: int, wanted: bool) -> Iterator[Callable[[str], None]]:
    """Draw a progress bar with the time left, on a terminal only.

    Yields
    ------
    callable
        To be called with the state of each point that ended.
    """
    if not (wanted and sys.stderr.isatty()):
        yield lambda _: None
        return
    from tqdm import tqdm

    counts: Counter[str] = Counter()
    with tqdm(initial=done, total=total, unit="point", dynamic_ncols=True) as drawn:

        def advance(state: str) -> None:
            counts[state] += 1
            bad = counts["failed"] + counts["lost"]
            if bad:
                drawn.set_postfix(failed=bad, refresh=False)
            drawn.update()

        yield advance
