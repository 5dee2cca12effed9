"""Run a notebook at many points, as ``python -m dplib.sweep`` does.

::

    python -m dplib.sweep NOTEBOOK --grid epsilon=0.1,1,10 --out runs/NAME
    python -m dplib.sweep NOTEBOOK --points FILE.csv --out runs/NAME
    python -m dplib.sweep --status --out runs/NAME

Exit status: 0 if all points are done; 1 if not, as some failed or the sweep could not
go on; 2 if what is asked for is refused, with nothing started; 130 after Ctrl-C, 143
after SIGTERM. Whatever ends it, the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dplib import check
from dplib.sweep import points as points_of
from dplib.sweep import report
from dplib.sweep.driver import status, sweep
from dplib.sweep.errors import RefusedError, SweepError
from dplib.sweep.notebook import read
from dplib.sweep.request import Points, last_request, request

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dplib.sweep",
        description="Run a notebook at many points; one table comes out.",
        epilog="Stopped at any moment, the same command goes on where it was.",
    )
    add = parser.add_argument
    add("notebook", nargs="?", metavar="NOTEBOOK", help="as truthful/07_batch")
    add("--out", required=True, help="folder of the sweep: runs/NAME")
    add(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="values of a parameter; several make all combinations",
    )
    add("--points", type=Path, metavar="FILE.csv", help="points, one a line")
    add("--scheduler", metavar="tcp://HOST:PORT", help="a running Dask scheduler")
    add("--workers", type=int, metavar="N", help="local processes (default: cores)")
    add("--timeout", type=float, metavar="SECONDS", help="that a cell may take")
    add("--retry-failed", action="store_true", help="run failed points again")
    add("--no-notebooks", action="store_true", help="keep no executed notebooks")
    add("--dry-run", action="store_true", help="list the points, run nothing")
    add("--status", action="store_true", help="tell how far it is, run nothing")
    add("--verbose", action="store_true", help="list every point")
    return parser


def _points(given: argparse.Namespace) -> Points:
    axes: dict[str, Any] = {}
    for text in given.grid:
        name, values = points_of.grid_option(text)
        if name in axes:
            check.fail("--grid", "sweep", "given once for each name", text)
        axes[name] = values
    if given.points is None:
        if not axes:
            raise RefusedError("Which points? Give --grid NAME=VALUE,... or --points.")
        return axes
    if given.points.resolve().parent == Path(given.out).resolve():
        raise RefusedError(
            "The file of points lies in the folder of the sweep (--out)."
        )
    rows = points_of.from_csv(given.points)
    return list(points_of.product(rows, axes)) if axes else rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    given = _parser().parse_args(arguments)
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        return _run(given)
    except (SweepError, TypeError, ValueError) as error:
        if not isinstance(error, SweepError) and not _is_check(error):
            raise
        print(error, file=sys.stderr)
        refused = not isinstance(error, SweepError) or isinstance(error, RefusedError)
        return 2 if refused else 1
    except _Terminated:
        print("Ended. The same command goes on where it was.", file=sys.stderr)
        return 143
    except KeyboardInterrupt:
        print("Interrupted. The same command goes on where it was.", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)


class _Terminated(KeyboardInterrupt):
    """SIGTERM, as queues send it to what has run too long; ended like Ctrl-C."""


def _terminate(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough; tables are written
    raise _Terminated("ended by SIGTERM")


def _is_check(error: Exception) -> bool:
    """Return whether an error is the sentence of a check, not a fault of ours."""
    return str(error).startswith("The '")


def _run(given: argparse.Namespace) -> int:
    if given.status and given.notebook is None:
        found = status(last_request(given.out))
        print(report.summary(found, everything=given.verbose))
        return 0 if found.succeeded else 1
    if given.notebook is None:
        raise RefusedError("Which notebook? Name it, as truthful/07_batch.")
    points = _points(given)
    if given.dry_run or given.status:
        asked = request(read(given.notebook), points, given.out)
        if given.dry_run:
            print(report.listing(asked.points, everything=given.verbose))
            return 0
        found = status(asked)
    else:
        found = sweep(
            given.notebook,
            points,
            out=given.out,
            scheduler=given.scheduler,
            workers=given.workers,
            retry_failed=given.retry_failed,
            keep_notebooks=not given.no_notebooks,
            timeout=given.timeout,
        )
    print(report.summary(found, everything=given.verbose))
    return 0 if found.succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
