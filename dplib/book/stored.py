"""Stored results: what runs for too long to run when a reader looks.

A stored result is two files in ``notebooks/<chapter>/results/``, written by the
*definition* that lies beside them:

``NAME.py``
    The definition, a plain module that imports from the floors of `dplib` only::

        PARAMETERS = {"steps": 250_000}            # numbers, texts, lists of them
        AGREEMENT = {"rule": "relative", "tolerance": 1.0e-5}
        TASK = ("variant", "seed")                 # what names a task
        COLUMNS = ("error_x", "error_mu")          # what a task computes

        def tasks():                               # all of them, in order
            return [("baseline", seed) for seed in range(300)]

        def run(variant, seed):                    # rows of one task
            rng = stream(ROOT, "truthful/finals", variant, seed)
            ...
            return [(error_x, error_mu)]

``NAME.csv``
    One tidy table: the columns of TASK, then COLUMNS.
``NAME.json``
    What the table is: parameters, key of the code that made it, digest of the
    table, agreement rule, and provenance (versions, date, machine).

**Key.** The definition's code and that of every module of `dplib` that it reaches,
docstrings and comments apart (`dplib.book.code_key`). A result whose key is not that
of the present code is *stale*: `status` says so, and a test fails.

**Agreement.** A digest proves nothing about the code. `make test` runs a random sample
of the tasks again, others every day, and they must agree with the table. When the code
has changed, the result need not be wrong: a sample that agrees makes it current again
(`dplib.book.stored_work.recertify`). The rule is the definition's: ``exact``, to the
last character; ``relative``, numbers to within ``tolerance`` times the larger of the
two; ``statistical``, each column has the same distribution, by the two-sample
Kolmogorov-Smirnov test at one in a million (a task's last part is then the number of
the replicate; all with the same other parts are pooled); ``learning``, for curves of
training, which part at the first rounding that differs between processors: the first
column exactly, and of the others, one for each seed, the mean of every row to within
``deviations`` standard errors between seeds.

A definition whose tasks take minutes may have ``first``, which returns the first rows
of a task: these are then run again, instead of the task.

Command line::

    python -m dplib.book.stored run [CHAPTER/NAME ...] [--workers N] [--again]
    python -m dplib.book.stored check [CHAPTER/NAME ...]
    python -m dplib.book.stored recertify [CHAPTER/NAME ...] [--points N] [--again]
    python -m dplib.book.stored change CHAPTER/NAME --set PARAMETER=VALUE ...

The last makes a result for other parameters, outside the book, and executes a page with
it: `dplib.book.stored_change`.
"""

from __future__ import annotations

import argparse
import ast
import csv
import hashlib
import importlib
import io
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dplib.book import code_key, ledger, own_results
from dplib.book.replicates import CHANCE, Interval, stored_mean

__all__ = [
    "CHANGED",
    "Cell",
    "Definition",
    "Row",
    "Stored",
    "StoredError",
    "Task",
    "confirm",
    "difference",
    "find",
    "load",
    "load_definition",
    "main",
    "status",
]

Cell = str | int | float
Row = tuple[Cell, ...]
Task = tuple[str | int, ...]

#: How `status` begins to tell that all is well but for the code.
CHANGED = "the code behind it has changed"

#: Chance that the statistical rule refuses a column that has not changed.
LEVEL = 1.0e-6

_DPLIB = Path(__file__).parents[1]


class StoredError(RuntimeError):
    """A stored result or its definition is missing, broken, or does not agree."""


# -- definitions -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Definition:
    """How a stored result is made; from `load_definition`.

    Attributes
    ----------
    name : str
        ``chapter/name``.
    path : pathlib.Path
        The file of the definition.
    parameters : mapping
        What the whole run depends on.
    agreement : mapping
        ``rule``, and ``tolerance`` where the rule is ``relative``.
    task, columns : tuple of str
        Names of the columns.
    tasks : tuple of tuple
        The tasks, in the order of the table.
    run : callable
        Takes the parts of a task, returns its rows.
    first : callable
        Likewise its first rows; `run` by default.
    changes : mapping
        Parameters that are not the book's.
    out : pathlib.Path, optional
        Where the result goes, outside the book: ``<chapter>/<name>.csv`` in there.
    """

    name: str
    path: Path
    parameters: Mapping[str, Any]
    agreement: Mapping[str, Any]
    task: tuple[str, ...]
    columns: tuple[str, ...]
    tasks: tuple[Task, ...]
    run: Callable[..., Sequence[Sequence[Cell]]]
    first: Callable[..., Sequence[Sequence[Cell]]]
    changes: Mapping[str, Any]
    out: Path | None = None

    def __post_init__(self) -> None:
        """Check what contributors write."""
        rule, texts = self.agreement.get("rule"), {_texts(task) for task in self.tasks}
        if rule not in ("exact", "relative", "statistical", "learning"):
            raise StoredError(
                f"{self.name}: the rule must be exact, relative, statistical or "
                "learning."
            )
        if (rule == "relative") != ("tolerance" in self.agreement):
            raise StoredError(f"{self.name}: 'tolerance' goes with 'relative' only.")
        if not texts or len(texts) != len(self.tasks):
            raise StoredError(f"{self.name}: needs at least one task, and none twice.")
        if any(len(task) != len(self.task) for task in self.tasks):
            raise StoredError(f"{self.name}: a task has the parts that TASK names.")

    @property
    def table(self) -> Path:
        """The table of the result; the description lies beside it."""
        inside = self.path.with_suffix(".csv")
        return inside if self.out is None else self.out / f"{self.name}.csv"

    @property
    def kept(self) -> Path:
        """Folder of the finished tasks, as long as the run is not."""
        runs = self.path.parents[3] / "runs" / "stored"
        return (
            runs / self.name if self.out is None else self.table.with_suffix(".tasks")
        )

    @cached_property
    def code(self) -> str:
        """Key of the code that the run reaches, its own included."""
        source = self.path.read_text(encoding="utf-8")
        own = code_key.source_key(source)
        reached = code_key.code_key(source, _DPLIB)
        return hashlib.sha256(f"{own}\n{reached}".encode()).hexdigest()

    def rows(self, task: Task, *, whole: bool = True) -> list[Row]:
        """Run one task, or its first rows; return them, the task's parts first."""
        result = []
        for values in (self.run if whole else self.first)(*task):
            cells = tuple(_cell(value, self.name) for value in values)
            if len(cells) != len(self.columns):
                raise StoredError(
                    f"{self.name}: task {task} gave a row of {len(cells)} values, "
                    f"not {len(self.columns)}."
                )
            result.append((*task, *cells))
        return result


def _cell(value: object, name: str) -> Cell:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise StoredError(f"{name}: a value must be a number or text, not {value!r}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise StoredError(f"{name}: a value must be finite, not {value!r}.")
    return value


def find(root: Path, names: Sequence[str] = ()) -> list[Path]:
    """Return the definitions of the book at `root`: all, or those named."""
    if not names:
        return sorted((root / "notebooks").glob("*/results/[a-z]*.py"))
    return [_place(root, name, ".py") for name in names]


def _place(root: Path, name: str, suffix: str) -> Path:
    chapter, _, last = name.partition("/")
    path = root / "notebooks" / chapter / "results" / f"{last}{suffix}"
    return _there(name, path)


def _there(name: str, path: Path) -> Path:
    if not path.is_file():
        place = Path(*path.parts[-4:]).as_posix()
        raise StoredError(f"{name}: there is no {place}.")
    return path


def load_definition(
    path: Path, changes: Mapping[str, Any] | None = None, out: Path | None = None
) -> Definition:
    """Read a definition, ``notebooks/<chapter>/results/<name>.py``.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    changes : mapping, optional
        Values for some of its PARAMETERS.
    out : pathlib.Path, optional
        Where the result goes; beside the definition by default.
    """
    name = f"{path.parent.parent.name}/{path.stem}"
    changes = {} if changes is None else changes
    parts: dict[str, Any] = {"__name__": f"stored.{path.stem}", "_CHANGES": changes}
    tree = ast.parse(path.read_text(encoding="utf-8"), path)
    # Before anything is derived from the parameters.
    for at, statement in enumerate(tree.body if changes else []):
        if ast.unparse(statement).startswith("PARAMETERS"):
            tree.body[at + 1 : at + 1] = ast.parse("PARAMETERS |= _CHANGES").body
            break
    exec(compile(tree, path, "exec"), parts)
    try:
        return Definition(
            name=name,
            path=path,
            parameters=json.loads(json.dumps(parts["PARAMETERS"])),
            agreement=parts["AGREEMENT"],
            task=tuple(parts["TASK"]),
            columns=tuple(parts["COLUMNS"]),
            tasks=tuple(tuple(task) for task in parts["tasks"]()),
            run=parts["run"],
            first=parts.get("first", parts["run"]),
            changes=changes,
            out=out,
        )
    except KeyError as error:
        raise StoredError(f"{name}: the definition lacks {error.args[0]}.") from None


# -- tables ----------------------------------------------------------------


def _texts(row: Sequence[Cell]) -> tuple[str, ...]:
    """Return the cells of a row as they stand in the table."""
    return tuple(repr(cell) if isinstance(cell, float) else str(cell) for cell in row)


@dataclass(frozen=True, eq=False)
class Stored:
    """A stored result; from `load`.

    Attributes
    ----------
    name : str
        ``chapter/name``.
    header : tuple of str
        Names of the columns.
    rows : tuple of tuple of str
        The table, as it is written.
    about : mapping
        What the JSON file says: ``parameters``, ``code``, ``agreement``,
        ``provenance``, ``task``, ...
    """

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    about: Mapping[str, Any]

    def of_task(self, *task: str | int) -> list[tuple[str, ...]]:
        """Return the rows of one task (or of a group), the task's parts first."""
        wanted = _texts(task)
        return [row for row in self.rows if row[: len(task)] == wanted]

    def column(self, name: str, **where: Cell) -> NDArray[Any]:
        """Return one column as an array, in the rows that have given values.

        Parameters
        ----------
        name : str
            A column.
        **where : str, int or float
            Other columns, and the values that they must have.

        Returns
        -------
        numpy.ndarray
            Of integers if all cells are such, else of floats, else of texts.
        """
        for one in (name, *where):
            if one not in self.header:
                known = ", ".join(self.header)
                raise StoredError(f"{self.name}: no column {one!r}; there are {known}.")
        at = self.header.index(name)
        places = [self.header.index(key) for key in where]
        wanted = _texts(tuple(where.values()))
        found = [
            row[at] for row in self.rows if tuple(row[c] for c in places) == wanted
        ]
        if not found:
            raise StoredError(f"{self.name}: no row with {where}.")
        for kind in (np.int64, np.float64):
            try:
                return np.array(found, dtype=kind)
            except ValueError:
                pass
        return np.array(found)

    def interval(
        self, mean: str, error: str, /, *, cases: int = 1, **where: Cell
    ) -> Interval:
        """Return the mean that a row holds, with the interval of its standard error.

        Parameters
        ----------
        mean, error : str
            The columns. The mean is of ``samples`` numbers, one of the parameters.
        cases : int
            So many intervals all hold but once in a million.
        **where : str, int or float
            Other columns, and the values that they must have.
        """
        value, spread = (self.column(name, **where)[0] for name in (mean, error))
        samples = self.about["parameters"]["samples"]
        return stored_mean(value, spread, samples, chance=CHANCE / cases)


def load(name: str, *, root: Path | None = None) -> Stored:
    """Read a stored result, and make sure that it is whole.

    A reader's own comes first, if there is one (`dplib.book.own_results`).

    Parameters
    ----------
    name : str
        ``chapter/name``.
    root : pathlib.Path, optional
        Folder of the book; this book's by default.

    Returns
    -------
    Stored
        The table and what is known of it. Whether the present code would still
        give it is another question: `status`.
    """
    if root is None and (own := _own(name)):
        return _read(name, own)
    root = ledger.book_root() if root is None else root
    return _read(name, _place(root, name, ".csv"))


def _own(name: str) -> Path | None:
    """Return the reader's own table of a result, if there is one."""
    folder = own_results.folder()
    table = folder and folder / f"{name}.csv"
    return table if table and table.is_file() else None


def _read(name: str, table: Path) -> Stored:
    sidecar = table.with_suffix(".json")
    for path in (table, sidecar):
        _there(name, path)
    hint = f"restore both files, or run 'python -m dplib.book.stored run {name}'."
    try:
        about = json.loads(sidecar.read_text(encoding="utf-8"))
        digest, header = about["sha256"], (*about["task"], *about["columns"])
    except (ValueError, KeyError, TypeError):
        raise StoredError(f"{name}: {sidecar.name} is damaged; {hint}") from None
    content = table.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise StoredError(
            f"{name}: {table.name} is not the table that {sidecar.name} describes; "
            f"{hint}"
        )
    rows = list(csv.reader(io.StringIO(content.decode("utf-8"))))[1:]
    return Stored(name, header, tuple(map(tuple, rows)), about)


def status(definition: Definition) -> str:
    """Return "" if a result is there and current, or a sentence that says why not."""
    name = definition.name
    try:
        stored = _read(name, definition.table)
    except StoredError as error:
        return str(error)
    about, width = stored.about, len(definition.task)
    names = tuple(dict.fromkeys(row[:width] for row in stored.rows))
    columns = (*definition.task, *definition.columns)
    for what, have, want in (
        ("parameters", about.get("parameters"), definition.parameters),
        ("columns", stored.header, columns),
        ("tasks", names, tuple(map(_texts, definition.tasks))),
    ):
        if have != want:
            again = f"run 'python -m dplib.book.stored run {name}'."
            return f"{name}: was made with other {what}; {again}"
    if about.get("code") != definition.code:
        return f"{name}: {CHANGED}; run 'python -m dplib.book.stored recertify {name}'."
    return ""


# -- agreement -------------------------------------------------------------


def _near(one: str, other: str, tolerance: float) -> bool:
    """Return whether two cells are numbers that agree to a relative tolerance."""
    try:
        return math.isclose(float(one), float(other), rel_tol=tolerance)
    except ValueError:
        return False


def difference(
    definition: Definition, stored: Stored, fresh: Mapping[Task, Sequence[Row]]
) -> str:
    """Return "" if fresh rows agree with the stored ones, or where they do not.

    Parameters
    ----------
    definition : Definition
        Has the rule.
    stored : Stored
        The stored result.
    fresh : mapping of task to rows
        Tasks that were run again.

    Returns
    -------
    str
        A phrase that names the first task and column that do not agree.
    """
    rule, width = definition.agreement["rule"], len(definition.task)
    if rule == "statistical":
        return _other_distribution(definition, stored, fresh)
    if rule == "learning":
        return _other_curve(definition, stored, fresh)
    tolerance = float(definition.agreement.get("tolerance", 0.0))
    for task, rows in fresh.items():
        old = stored.of_task(*task)
        if len(old) != len(rows):
            return f"task {task}: {len(rows)} rows, stored {len(old)}"
        for have, want in zip(rows, old, strict=True):
            for name, one, other in zip(
                definition.columns, _texts(have)[width:], want[width:], strict=True
            ):
                near = rule == "relative" and _near(one, other, tolerance)
                if one != other and not near:
                    return f"task {task}, {name}: {one}, stored {other}"
    return ""


def _other_distribution(
    definition: Definition, stored: Stored, fresh: Mapping[Task, Sequence[Row]]
) -> str:
    width = len(definition.task)
    groups: dict[Task, list[Row]] = {}
    for task, rows in fresh.items():
        groups.setdefault(task[:-1], []).extend(rows)
    tests = len(groups) * len(definition.columns)
    for group, rows in groups.items():
        old = stored.of_task(*group)
        for c, name in enumerate(definition.columns, start=width):
            one = np.array([row[c] for row in rows], dtype=float)
            other = np.array([row[c] for row in old], dtype=float)
            p = float(stats.ks_2samp(one, other).pvalue)
            if p < LEVEL / tests:
                place = group or "all tasks"
                return f"{place}, {name}: another distribution (p = {p:.1e})"
    return ""


def _other_curve(
    definition: Definition, stored: Stored, fresh: Mapping[Task, Sequence[Row]]
) -> str:
    width, most = len(definition.task), float(definition.agreement["deviations"])
    for task, rows in fresh.items():
        old = stored.of_task(*task)
        for have, want in zip(rows, old, strict=False):  # the first rows, or all
            if str(have[width]) != want[width]:
                return f"task {task}, {definition.columns[0]}: {have[width]}"
            one, other = (
                np.array(row[width + 1 :], dtype=float) for row in (have, want)
            )
            error = math.sqrt(2.0 * one.var(ddof=1) / len(one))
            if not abs(one.mean() - other.mean()) <= most * error:
                return f"task {task}, at {want[width]}: {one.mean()}, {other.mean()}"
        if not 0 < len(rows) <= len(old):
            return f"task {task}: {len(rows)} rows, stored {len(old)}"
    return ""


def confirm(name: str, *tasks: Task, root: Path | None = None) -> None:
    """Run some tasks of a stored result here and now, and make sure they agree.

    The live part of a notebook that shows a stored result. Where a reader's own stands
    for it, which has other tasks, nothing is run.

    Parameters
    ----------
    name : str
        ``chapter/name``.
    *tasks : tuple
        Tasks of its definition.
    root : pathlib.Path, optional
        Folder of the book; this book's by default.
    """
    if root is None and _own(name):
        return
    root = ledger.book_root() if root is None else root
    definition = load_definition(_place(root, name, ".py"))
    for task in tasks:
        if task not in definition.tasks:
            raise StoredError(f"{name}: has no task {task}.")
    fresh = {task: definition.rows(task, whole=False) for task in tasks}
    gap = difference(definition, load(name, root=root), fresh)
    if gap:
        raise StoredError(f"{name}: a run here and now does not agree ({gap}).")


# -- command line ----------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (see the head of the file); return the exit status."""
    from dplib.book import stored_work

    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["change"]:
        # By name: no page depends on it, so that it is no part of their keys.
        command = importlib.import_module("dplib.book.stored_change")
        return int(command.main(arguments[1:]))
    more = "For other parameters: python -m dplib.book.stored change --help"
    parser = argparse.ArgumentParser(prog="python -m dplib.book.stored", epilog=more)
    parser.add_argument("command", choices=["run", "check", "recertify"])
    parser.add_argument("names", nargs="*", metavar="CHAPTER/NAME")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--again", action="store_true", help="also what is current")
    parser.add_argument("--points", type=int, default=8, help="tasks to recertify")
    given = parser.parse_args(arguments)
    failed, how = False, {"workers": given.workers}
    try:
        paths = find(ledger.book_root(), given.names)
        definitions = [load_definition(path) for path in paths]
    except StoredError as error:
        print(error, file=sys.stderr)
        return 1
    for definition in definitions:
        state = status(definition)
        try:
            if given.command == "recertify":
                how |= {"points": given.points, "again": given.again}
                print(stored_work.recertify(definition, **how))
            elif given.command == "run" and (state or given.again):
                stored_work.produce(definition, **how)
                print(f"{definition.name}: written.")
            else:
                print(state or f"{definition.name}: current.")
                failed = failed or bool(state)
        except StoredError as error:
            print(error, file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    # As the module that the others import: it is their errors that it catches.
    sys.exit(importlib.import_module("dplib.book.stored").main())
