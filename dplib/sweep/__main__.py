"""Run a notebook at many points, as ``python -m dplib.sweep`` does.

::

    python -m dplib.sweep NOTEBOOK --grid epsilon=0.1,1,10 --out runs/NAME
    python -m dplib.sweep NOTEBOOK --points FILE.csv --out runs/NAME
    python -m dplib.sweep --status --out runs/NAME

Exit status: 0 if all points are done (with --limit: those that were run); 1 if not, as
some failed or the sweep could not go on; 2 if what is asked for is refused, with
nothing started; 130 after Ctrl-C, 143 after SIGTERM. Whatever ends it, the same command
goes on where it was.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from dplib.sweep.driver import request, sweep
from dplib.sweep.notebook import read
from dplib.sweep.parameters import RefusedError
from dplib.sweep.points import Point, checked, from_csv, grid_option
from dplib.sweep.report import listing, report, summary
from dplib.sweep.store import SweepError, last_request, since

__all__ = ["main"]


def _count(text: str) -> int:
    """Return a whole number from 1 on."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more. Got {number} instead.")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m dplib.sweep",
        description="Run a notebook at many points; one table comes out.",
        epilog="Stopped at any moment, the same command goes on where it was.",
    )
    add = parser.add_argument
    add("notebook", nargs="?", metavar="NOTEBOOK", help="as truthful/08_batch")
    add("--out", required=True, help="folder of the sweep: runs/NAME")
    values = "values or ranges (1:20, 0:1:5, 0.1:10:log5) of a parameter; repeat it "
    values += "for all combinations"
    add("--grid", action="append", default=[], metavar="NAME=VALUE,...", help=values)
    add("--points", type=Path, metavar="FILE.csv", help="points, one a line")
    add("--replicates", type=_count, metavar="N", help="each point with seeds 1 to N")
    add("--limit", type=_count, metavar="N", help="run at most N points now")
    add("--max-failures", type=_count, metavar="N", help="stop once N points failed")
    add("--timeout", type=_count, metavar="SECONDS", help="that a point may take")
    add("--retry-failed", action="store_true", help="run failed points again")
    add("--workers", type=_count, metavar="N", help="local processes (default: cores)")
    add("--scheduler", metavar="tcp://HOST:PORT", help="a running Dask scheduler")
    add("--no-notebooks", action="store_true", help="keep no executed notebooks")
    add("--dry-run", action="store_true", help="list the points, run nothing")
    add("--status", action="store_true", help="tell how far it is, run nothing")
    add("--verbose", action="store_true", help="list every point")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    given = _parser().parse_args(arguments)
    # As queues send it when the time is up: the tables are written on the way out.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return _run(given)
    except (RefusedError, SweepError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, RefusedError) else 1
    except KeyboardInterrupt:
        print("Interrupted. The same command goes on where it was.", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(given: argparse.Namespace) -> int:
    if given.status:
        asked = last_request(given.out)
        found = report(asked, since(asked.store.out))
        print(summary(found, everything=given.verbose))
        return 0 if found.succeeded else 1
    if given.notebook is None:
        raise RefusedError("Which notebook? Name it, as truthful/08_batch.")
    points = _points(given)
    if given.dry_run:
        asked = request(read(given.notebook), points, given.out)
        print(listing(asked.points, everything=given.verbose))
        return 0
    found = sweep(
        given.notebook,
        points,
        out=given.out,
        scheduler=given.scheduler,
        workers=given.workers,
        limit=given.limit,
        max_failures=given.max_failures,
        retry_failed=given.retry_failed,
        keep_notebooks=not given.no_notebooks,
        timeout=given.timeout,
    )
    print(summary(found, everything=given.verbose))
    succeeded = found.succeeded if given.limit is None else found.run_succeeded
    return 0 if succeeded else 1


def _points(given: argparse.Namespace) -> Sequence[Point]:
    book = read(given.notebook)
    options = [grid_option(text) for text in given.grid]
    if given.replicates is not None:
        options.append(("seed", [f"1:{given.replicates}"]))
    grid = dict(options)
    if len(grid) < len(options):
        raise RefusedError("A parameter is given twice (--grid, --replicates).")
    if given.points is None and not grid:
        raise RefusedError("Which points? Give --grid NAME=VALUE,... or --points.")
    rows: Sequence[Point] = [{}]
    if given.points is not None:
        if given.points.resolve().parent == Path(given.out).resolve():
            raise RefusedError(
                "The file of points lies in the folder of the sweep (--out)."
            )
        rows = from_csv(given.points, book.parameters, book.name)
    return checked(rows, grid, book.parameters, book.name)


if __name__ == "__main__":
    sys.exit(main())
