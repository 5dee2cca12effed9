"""Verdicts: a notebook's computed values held against the claims ledger.

A notebook opens its part of the ledger once and then checks each claim there::

    book = claims.open_notebook("truthful/01_problem", steps=steps)
    book.check_value("truthful.wg", scale)
    ...
    book.table()

Every check *computes* a verdict, shows one line, and leaves a small JSON output
(`MIME_TYPE`) from which the scoreboard is filled. At the parameter values for
which a claim is made (its field ``at``) a computed verdict that differs from
the ledger's raises `VerdictError`; at other values (a papermill batch, a
reader's trial) the number is shown as *not applicable* and nothing raises.
`Checks.table` ends a notebook, and raises if a claim that the ledger assigns to
it was never checked.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np
from numpy.typing import ArrayLike

from dplib import check, ledger, verdicts
from dplib.ledger import Claim, LedgerError, Scalar, half_unit
from dplib.rounding import rounded, shown
from dplib.verdicts import MIME_TYPE, SIGNS, Check

__all__ = [
    "MIME_TYPE",
    "SIGNS",
    "Checks",
    "VerdictError",
    "open_notebook",
    "printed",
]


# Relative slack at the edge of a tolerance or range, for the last bits.
_LAST_BITS = 1.0e-9


class VerdictError(AssertionError):
    """A computed verdict differs from the one in the ledger."""


def _same(have: object, want: Scalar) -> bool:
    if isinstance(want, (str, bool)):
        return isinstance(have, type(want)) and bool(have == want)
    if isinstance(have, bool) or not isinstance(have, numbers.Real):
        return False
    if isinstance(have, numbers.Integral) and isinstance(want, int):
        return int(have) == want  # seeds may be larger than a float can tell apart
    try:
        return math.isclose(float(have), want, rel_tol=1.0e-12)
    except OverflowError:  # an integer of more than 308 digits
        return False


P = ParamSpec("P")


def _quiet_elsewhere(
    check_method: Callable[Concatenate[Checks, str, P], None],
) -> Callable[Concatenate[Checks, str, P], None]:
    """Decide first whether a claim applies: where it does not, nothing raises.

    A reader's own parameters may make an algorithm diverge, or a batch too small
    for a verdict. That is shown as *not applicable*, with the reason.
    """

    @wraps(check_method)
    def wrapped(self: Checks, claim_id: str, *args: P.args, **kwargs: P.kwargs) -> None:
        claim = self._take(claim_id)
        if self._applies(claim):
            check_method(self, claim_id, *args, **kwargs)
            return
        before = len(self.done)
        try:
            check_method(self, claim_id, *args, **kwargs)
        except Exception as error:  # a reader's trial must go on, whatever it gave
            del self.done[before:]
            self._record(claim, "open", None, None, f"no verdict: {error}", 0.0)

    return wrapped  # type: ignore[return-value]  # `self` is positional, as in a call


@dataclass
class Checks:
    """The claims of one notebook, and the checks made so far.

    Made by `open_notebook`. The only state in it is the list of checks, since a
    notebook's last cell must know what the cells before it have checked.
    """

    notebook: str
    parameters: Mapping[str, Scalar]
    claims: Mapping[str, Claim]
    done: list[Check] = field(default_factory=list)

    # -- the checks --------------------------------------------------------

    @_quiet_elsewhere
    def check_value(self, claim_id: str, value: float, *, bound: float = 0.0) -> None:
        """Hold a computed number against the printed one.

        Parameters
        ----------
        claim_id : str
            An id of the ledger, assigned to this notebook.
        value : float
            The computed number, in the unit of the printed one.
        bound : float
            A bound on its absolute error; 0 means exact up to rounding.

        Raises
        ------
        LedgerError
            If the ledger has no such claim for this notebook, or no number.
        VerdictError
            If the verdict differs from the ledger's, or `bound` is too large
            to decide, at the values for which the claim is made.

        Notes
        -----
        *Reproduced*: within the tolerance of what is printed. *Corrected*:
        outside it, and within half a unit of the last digit of the ledger's
        ``ours``. *Underspecified*: within ``range``. *Shown*: a result of ours
        within the tolerance of ``ours``. Otherwise *not reproduced*. "Within"
        and "outside" are meant for every number in ``value ± bound``.
        """
        claim = self._take(claim_id)
        where = "check_value"
        value = check.finite("value", value, where)
        bound = check.nonnegative("bound", bound, where)
        target = claim.printed or ((claim.ours,) if claim.kind == "ours" else ())
        if len(target) != 1 and claim.verdict != "underspecified":
            raise LedgerError(
                f"{claim_id}: check_value needs one number in the ledger."
            )
        ours = shown(value, bound=bound)
        finding = f"ours {ours}{_unit(claim)}"
        if claim.printed:
            finding += f", printed {claim.printed[0]}{_unit(claim)}"
        verdict = "not reproduced"
        if claim.kind == "ours":
            if _agrees(claim, value, bound, claim.ours, claim.tolerance):
                verdict = "shown"
        elif claim.verdict == "underspecified":
            if claim.range is None:
                raise LedgerError(f"{claim_id}: check_value needs 'range'.")
            low, high = claim.range
            finding += f"; between {shown(low)} and {shown(high)} as our choices vary"
            slack = _LAST_BITS * max(abs(low), abs(high))
            if low - slack <= value - bound and value + bound <= high + slack:
                verdict = "underspecified"
        elif _agrees(claim, value, bound, claim.printed[0], claim.tolerance):
            verdict = "reproduced"
        elif (
            claim.verdict == "corrected"
            # With the bound taken off, no number near `value` may agree.
            and not _agrees(claim, value, -bound, claim.printed[0], claim.tolerance)
            and _agrees(claim, value, bound, claim.ours, None)
        ):
            verdict = "corrected"
        interval = (value - bound, value + bound) if bound else None
        self._record(claim, verdict, value, interval, finding, bound)

    @_quiet_elsewhere
    def check_holds(
        self,
        claim_id: str,
        *,
        margin: float,
        repaired: float | None = None,
        bound: float = 0.0,
        finding: str = "",
    ) -> None:
        """Hold an inequality (theorem, bound, assumption) against its margin.

        Parameters
        ----------
        claim_id : str
            An id of the ledger, assigned to this notebook.
        margin : float
            How far the statement is from failing, smallest over everything that
            was tried: right side minus left side of the inequality. Negative at
            a counterexample.
        repaired : float, optional
            The same for the corrected statement.
        bound : float
            A bound on the absolute error of both margins.
        finding : str
            One phrase for the reader that names what `margin` is.

        Raises
        ------
        LedgerError, VerdictError
            As `check_value`.

        Notes
        -----
        *Reproduced* (for a claim of ours: *shown*) if the margin is at least
        `bound`; *corrected* if it is below ``-bound`` and the repaired one at
        least `bound`; *refuted* if it is below ``-bound``, a counterexample
        with a positive margin; *not reproduced* if `bound` does not decide.
        """
        claim = self._take(claim_id)
        where = "check_holds"
        margin = check.finite("margin", margin, where)
        bound = check.nonnegative("bound", bound, where)
        text = _margin(margin, bound)
        if repaired is not None:
            repaired = check.finite("repaired", repaired, where)
            text += f"; repaired statement: {_margin(repaired, bound)}"
        verdict = _holds(claim, margin, repaired, bound)
        finding = f"{finding}: {text}" if finding else text
        self._record(claim, verdict, margin, None, finding, bound)

    @_quiet_elsewhere
    def check_equal(
        self,
        claim_id: str,
        *,
        gap: float,
        within: float,
        repaired: float | None = None,
        finding: str = "",
    ) -> None:
        """Hold an equation (definition, algorithm, identity) against its gap.

        What a reader sees is that the gap is within the tolerance, not the gap
        itself, which is rounding error and differs between processors.

        Parameters
        ----------
        claim_id : str
            An id of the ledger, assigned to this notebook.
        gap : float
            The largest absolute difference of the two sides, 0 or greater.
        within : float
            The tolerance: far above rounding, far below anything that matters.
        repaired : float, optional
            The gap of the corrected statement.
        finding : str
            One phrase for the reader that names what `gap` is.

        Raises
        ------
        LedgerError, VerdictError
            As `check_value`.

        Notes
        -----
        The verdicts are those of `check_holds` for the margin ``within - gap``.
        """
        claim = self._take(claim_id)
        where = "check_equal"
        gap = check.nonnegative("gap", gap, where)
        within = check.positive("within", within, where)

        # Rounding is far below `within`: a twentieth of it leaves a digit to show.
        noise = within / 20.0

        def text(size: float) -> str:
            if size <= within:
                return f"within {shown(within)}"
            return f"{shown(size, bound=noise)}, not within {shown(within)}"

        finding = f"{finding}: {text(gap)}" if finding else text(gap)
        margin_repaired = None
        if repaired is not None:
            repaired = check.nonnegative("repaired", repaired, where)
            finding += f"; repaired statement: {text(repaired)}"
            margin_repaired = within - repaired
        verdict = _holds(claim, within - gap, margin_repaired, 0.0)
        value = within if gap <= within else gap
        self._record(
            claim, verdict, value, None, finding, noise if gap > within else 0.0
        )

    @_quiet_elsewhere
    def check_band(self, claim_id: str, replicates: ArrayLike) -> None:
        """Hold printed stochastic values against our replicate distribution.

        Parameters
        ----------
        claim_id : str
            An id of the ledger, assigned to this notebook.
        replicates : array_like, shape (n,) or (n, d)
            Our independent replicates; ``d`` is the number of printed values,
            which are judged jointly, and ``n`` at least ``40 d``.

        Raises
        ------
        LedgerError, VerdictError, ValueError
            As `check_value`; `ValueError` if the shape is another.

        Notes
        -----
        A printed value lies at a percentile of the replicates (ties count one
        half). For the joint verdict the print joins the replicates, each of the
        ``n + 1`` is as extreme as the farthest of its ``d`` ranks is from the
        middle one, and the p-value is the share that is as extreme as the print
        (itself included). *Reproduced*: the p-value is above 5 %, that is, the
        print lies in the central 95 %.

        If the print is one more draw from our law, then all ``n + 1`` are
        exchangeable, so that it is rejected with probability 5 % at most,
        whatever the law and ``n``. Ranking the print against the replicates but
        these against themselves would not do: a value is never farther out than
        the outermost of a sample that it belongs to. Each value has two
        outermost ones, hence ``n >= 40 d``: with fewer, a print far from all
        replicates could pass.
        """
        claim = self._take(claim_id)
        if not claim.printed:
            raise LedgerError(f"{claim_id}: check_band needs printed values.")
        count = len(claim.printed)
        must = "an array of real numbers"
        sample = check.entries("replicates", replicates, "check_band", must)
        if sample.dtype.kind not in "iuf":
            check.fail("replicates", "check_band", must, replicates, TypeError)
        if sample.ndim == 1:
            sample = sample[:, None]
        least = 40 * count
        if sample.ndim != 2 or sample.shape[1] != count or sample.shape[0] < least:
            raise ValueError(
                f"The 'replicates' parameter of check_band must be an array of shape "
                f"(n >= {least}, {count}). "
                f"Got an array of shape {np.shape(replicates)} instead."
            )
        sample = check.array("replicates", sample, "check_band", shape=(None, count))
        printed = np.array([float(text) for text in claim.printed])
        ours = _ranks(sample, printed[None, :])[0] / (2.0 * len(sample))
        pool = np.vstack([printed, sample])
        # Integers, so that the two tails are as extreme to the last bit.
        extremeness = np.abs(_ranks(pool, pool) - len(pool)).max(axis=1)
        as_extreme = int(np.sum(extremeness >= extremeness[0]))
        p_value = as_extreme / len(pool)
        verdict = "reproduced" if 20 * as_extreme > len(pool) else "not reproduced"
        if claim.verdict == "underspecified":
            verdict = "underspecified"
        parts = [
            f"printed {text} at percentile {shown(100.0 * p, digits=2)}"
            for text, p in zip(claim.printed, ours, strict=True)
        ]
        finding = "; ".join(parts) + (
            f"; p-value {shown(p_value, digits=2)} among {len(sample)} replicates"
        )
        low, high = np.quantile(sample[:, 0], [0.025, 0.975])
        interval = (float(low), float(high)) if count == 1 else None
        self._record(claim, verdict, p_value, interval, finding, 0.0)

    @_quiet_elsewhere
    def check_order(
        self,
        claim_id: str,
        values: Mapping[str, float],
        *,
        bounds: Sequence[float] | None = None,
    ) -> None:
        """Hold a claimed order against computed values.

        Parameters
        ----------
        claim_id : str
            An id of the ledger, assigned to this notebook.
        values : mapping of str to float
            Names and values in the claimed order, the smallest first.
        bounds : sequence of float, optional
            Error bounds (or half-widths of intervals), one a value.

        Raises
        ------
        LedgerError, VerdictError, ValueError
            As `check_value`; `ValueError` for fewer than two values or another
            number of bounds.

        Notes
        -----
        *Reproduced* if each value is below the next by more than both bounds,
        *refuted* if one is above the next by more than both, else *not
        reproduced*: the order is not decided.
        """
        claim = self._take(claim_id)
        where = "check_order"
        names = list(values)
        if len(names) < 2:
            check.fail("values", where, "a mapping of two values or more", dict(values))
        numbers = [check.finite("values", v, where) for v in values.values()]
        half = [0.0] * len(names) if bounds is None else list(bounds)
        if len(half) != len(names):
            check.fail("bounds", where, f"{len(names)} numbers, one a value", half)
        half = [check.nonnegative("bounds", b, where) for b in half]
        gaps = [
            (b - a, e + f)
            for a, b, e, f in zip(
                numbers[:-1], numbers[1:], half[:-1], half[1:], strict=True
            )
        ]
        if all(gap > slack for gap, slack in gaps):
            verdict = "shown" if claim.kind == "ours" else "reproduced"
            if claim.verdict == "underspecified":
                verdict = "underspecified"
        elif any(gap < -slack for gap, slack in gaps):
            verdict = "refuted"
        else:
            verdict = "not reproduced"
        finding = ", ".join(
            f"{name} {shown(v, bound=b)}"
            for name, v, b in zip(names, numbers, half, strict=True)
        )
        worst, slack = min((gap - slack, slack) for gap, slack in gaps)
        self._record(claim, verdict, worst, None, finding, slack)

    # -- the end of a notebook ----------------------------------------------

    def table(self) -> None:
        """Show the notebook's claims and verdicts as one table.

        Raises
        ------
        VerdictError
            If the ledger assigns a claim to this notebook that no cell checked.
        """
        checked = {item.claim.id for item in self.done}
        missing = [name for name in self.claims if name not in checked]
        if missing:
            raise VerdictError(f"{self.notebook}: not checked: {', '.join(missing)}.")
        verdicts.show(verdicts.table(self.done))

    # -- what the checks share ----------------------------------------------

    def _take(self, claim_id: str) -> Claim:
        if claim_id not in self.claims:
            known = ", ".join(self.claims) or "none"
            raise LedgerError(
                f"{claim_id}: the ledger assigns no such claim to {self.notebook}. "
                f"It has: {known}."
            )
        if any(item.claim.id == claim_id for item in self.done):
            raise LedgerError(f"{claim_id}: checked twice in {self.notebook}.")
        return self.claims[claim_id]

    def _applies(self, claim: Claim) -> bool:
        for name, want in claim.at.items():
            if name not in self.parameters:
                raise LedgerError(
                    f"{claim.id}: is made at {name} = {want}; give {name} to "
                    f"open_notebook."
                )
        return all(_same(self.parameters[k], want) for k, want in claim.at.items())

    def _elsewhere(self, claim: Claim) -> str:
        """Return where the claim is made, as far as that is not here."""
        values = ", ".join(
            f"{name} = {want}"
            for name, want in claim.at.items()
            if not _same(self.parameters[name], want)
        )
        return f"other parameters: the claim is made at {values}"

    def _record(
        self,
        claim: Claim,
        verdict: str,
        value: float | None,
        interval: tuple[float, float] | None,
        finding: str,
        bound: float,
    ) -> None:
        applies = self._applies(claim)
        item = Check(
            claim=claim,
            verdict=verdict if applies else "not applicable",
            value=None if value is None else rounded(value, bound=bound),
            interval=None
            if interval is None
            else (rounded(interval[0]), rounded(interval[1])),
            finding=finding if applies else f"{finding} ({self._elsewhere(claim)})",
        )
        self.done.append(item)
        verdicts.show(
            {
                "text/html": item.html(),
                "text/plain": item.text(),
                MIME_TYPE: item.payload(),
            }
        )
        if applies and verdict != claim.verdict:
            raise VerdictError(
                f"{claim.id}: computed verdict '{verdict}', the ledger says "
                f"'{claim.verdict}' ({finding})."
            )


def _margin(margin: float, bound: float) -> str:
    """Return a margin as words; a negative one is by how much the statement fails."""
    number = shown(abs(margin), bound=bound)
    if margin < -bound:
        return f"fails by {number}"
    return f"margin {shown(margin, bound=bound)}"


def _holds(claim: Claim, margin: float, repaired: float | None, bound: float) -> str:
    """Return the verdict on a statement from the margins of print and repair."""
    if margin >= bound:
        if claim.verdict == "underspecified":
            return "underspecified"
        return "shown" if claim.kind == "ours" else "reproduced"
    if margin >= -bound:
        return "not reproduced"  # the bound does not decide
    if repaired is not None and repaired >= bound:
        return "corrected"
    return "refuted"


def _unit(claim: Claim) -> str:
    return f" {claim.unit}" if claim.unit else ""


def _agrees(
    claim: Claim, value: float, bound: float, text: str, tolerance: float | None
) -> bool:
    """Whether a value, error bound and all, rounds to a printed number."""
    try:
        target = float(ledger.decimal(text))
    except ValueError:
        raise LedgerError(
            f"{claim.id}: 'ours: {text}' must be a number for check_value."
        ) from None
    size = half_unit(text) if tolerance is None else tolerance
    if not math.isfinite(target) or not math.isfinite(size):
        # Within an infinite tolerance every value would agree.
        raise LedgerError(f"{claim.id}: '{text}' is too large for a float.")
    # A value that lies on the tolerance itself agrees, whatever the last bit.
    return abs(value - target) + bound <= size * (1.0 + _LAST_BITS)


def _ranks(
    sample: check.FloatArray, points: check.FloatArray
) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """Return twice the number of the sample below each point, a tie counted once."""
    result = np.empty(points.shape, dtype=np.intp)
    for column in range(sample.shape[1]):
        order = np.sort(sample[:, column])
        left = np.searchsorted(order, points[:, column], side="left")
        right = np.searchsorted(order, points[:, column], side="right")
        result[:, column] = left + right
    return result


def open_notebook(notebook: str, **parameters: Scalar) -> Checks:
    """Open the part of the ledger that belongs to one notebook.

    Parameters
    ----------
    notebook : str
        ``chapter/NN_topic``.
    **parameters : float, int, bool or str
        The values of the notebook's parameters that its claims depend on.

    Returns
    -------
    Checks
        With the five checks and the closing table.

    Raises
    ------
    LedgerError
        If the ledger assigns no claim to the notebook, or is not well formed.
    """
    must = "like 'rewards/03_design'"
    if not isinstance(notebook, str):
        check.fail("notebook", "open_notebook", must, notebook, TypeError)
    chapter = notebook.split("/", 1)[0]
    path = ledger.book_root() / "book" / "claims" / f"{chapter}.yml"
    if chapter not in ledger.CHAPTERS or not path.is_file():
        check.fail("notebook", "open_notebook", must, notebook)
    claims = ledger.load_chapter(path).of_notebook(notebook)
    if not claims:
        raise LedgerError(f"{path.name}: no claim has 'notebook: {notebook}'.")
    return Checks(notebook, dict(parameters), {claim.id: claim for claim in claims})


def printed(claim_id: str) -> tuple[float, ...]:
    """Return the numbers that the paper prints for a claim, to draw beside ours.

    Parameters
    ----------
    claim_id : str
        An id of the ledger, of any notebook.

    Returns
    -------
    tuple of float
        As many as the ledger has; never typed a second time.

    Raises
    ------
    LedgerError
        If the ledger has no such claim, or no number for it.

    Examples
    --------
    >>> printed("truthful.finals")
    (0.5367, 0.687)
    """
    if not isinstance(claim_id, str):
        check.fail("claim_id", "printed", "an id of the ledger", claim_id, TypeError)
    chapter = claim_id.split(".", 1)[0]
    books = ledger.load_all()
    claim = books[chapter].claims.get(claim_id) if chapter in books else None
    if claim is None or not claim.printed:
        raise LedgerError(f"{claim_id}: the ledger has no printed number for it.")
    return tuple(float(text) for text in claim.printed)
