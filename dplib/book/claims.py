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

A number is a float, with a ``bound`` on its error, or an `Interval` of
`dplib.book.replicates`. A claim whose evidence is *sampling* must be given
intervals, and all those of one check together miss with a chance of at most one in
a million.

A claim that holds is *reproduced*; *shown* if it is ours, *implemented* if it is a
definition.
"""

from __future__ import annotations

import ast
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import pairwise
from typing import Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import ArrayLike

from dplib import check
from dplib.book import ledger, verdicts
from dplib.book.ledger import Claim, LedgerError, Scalar, half_unit
from dplib.book.replicates import CHANCE, Interval, share_interval
from dplib.book.rounding import outward, rounded, shown
from dplib.book.verdicts import MIME_TYPE, Check

__all__ = [
    "MIME_TYPE",
    "Checks",
    "Number",
    "VerdictError",
    "open_notebook",
    "printed",
]

Number = float | Interval
#: One number, or one for each case that was tried.
Cases = Number | Mapping[str, Number]

# Relative slack at the edge of a tolerance or range, for the last bits.
_LAST_BITS = 1.0e-9

# The largest p-value at which a print counts as outside our replicates.
_OUTSIDE = 0.05


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
            self._record(claim, "open", None, f"no verdict: {error}")

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
    def check_value(
        self,
        claim_id: str,
        value: Number,
        *,
        bound: float = 0.0,
        choices: Mapping[str, Number] | None = None,
        finding: str = "",
    ) -> None:
        """Hold a computed number against the printed one.

        Parameters
        ----------
        claim_id : str
            An id of the ledger, assigned to this notebook.
        value : float or Interval
            The computed number, in the unit of the printed one.
        bound : float
            A bound on its absolute error; 0 means exact up to rounding.
        choices : mapping of str to float or Interval, optional
            What comes out under the other choices that the paper leaves open.
        finding : str
            What the reader sees; by default our number and the printed one.

        Raises
        ------
        LedgerError
            If the ledger has no such claim for this notebook, or no number.
        VerdictError
            If the verdict differs from the ledger's, or `value` is too uncertain
            to decide, at the values for which the claim is made.

        Notes
        -----
        *Reproduced*: within the tolerance of what is printed (for a claim of ours:
        of the ledger's ``ours``), and so under all `choices`. *Underspecified*: the
        choices decide, and the print lies in their range. *Corrected*: outside the
        tolerance, and within half a unit of the last digit of the ledger's ``ours``.
        *Undecided*: samples leave open whether it agrees. Otherwise *not reproduced*.
        "Within" and "outside" are meant for every number that `value` may be.
        """
        claim = self._take(claim_id)
        given = _Given(claim, "check_value", bound)
        ours = given.read("value", value)
        target = claim.printed or ((claim.ours,) if claim.kind == "ours" else ())
        if len(target) != 1:
            raise LedgerError(
                f"{claim_id}: check_value needs one number in the ledger."
            )
        unit = f" {claim.unit}" if claim.unit else ""
        if not finding:
            text = (
                value.text(claim.unit)
                if isinstance(value, Interval)
                else shown(value, bound=bound) + unit
            )
            finding = f"ours {text}"
            if claim.printed:
                finding += f", printed {claim.printed[0]}{unit}"
        size, facts = claim.tolerance, {}
        others = [given.read("choices", number) for number in (choices or {}).values()]
        if choices:
            low, high = (f(e.value for e in (ours, *others)) for f in (min, max))
            # As wide as the samples leave it; a bound on an error widens nothing.
            every = [v for v in (value, *choices.values()) if isinstance(v, Interval)]
            least = min([low, *(one.low for one in every)])
            span = _Ends(low, least, max([high, *(one.high for one in every)]))
            facts = given.facts(choices=dict(zip(choices, others, strict=True)))
            digits = {"digits": 3} if every else {}
            ends = f"{shown(low, **digits)} and {shown(high, **digits)}{unit}"
            finding += f"; between {ends} as our choices vary"
        if all(_agrees(claim, number, target[0], size) for number in (ours, *others)):
            verdict = "reproduced"
        elif all(
            _agrees(claim, number, target[0], size, some=True)
            for number in (ours, *others)
        ):
            sampled = claim.evidence == "sampling"
            verdict = "undecided" if sampled else "not reproduced"
        elif choices and _agrees(claim, span, target[0], size, some=True):
            verdict = "underspecified"
        elif (
            claim.verdict == "corrected"
            and not _agrees(claim, ours, target[0], size, some=True)
            and _agrees(claim, ours, claim.ours, None)
        ):
            verdict = "corrected"
        else:
            verdict = "not reproduced"
        self._record(claim, verdict, ours, finding, given, facts)

    @_quiet_elsewhere
    def check_holds(
        self,
        claim_id: str,
        *,
        margin: Cases,
        repaired: Mapping[str, Number] | None = None,
        trivial: Number | None = None,
        bound: float = 0.0,
        finding: str,
    ) -> None:
        """Hold an inequality (theorem, bound, assumption) against its margin.

        Parameters
        ----------
        claim_id : str
            An id of the ledger, assigned to this notebook.
        margin : float, Interval, or mapping of str to these
            How far the statement is from failing: right side minus left side of the
            inequality, smallest over everything tried, or one for each case. Negative
            at a counterexample.
        repaired : mapping of str to float or Interval, optional
            The same for the corrected statement, for the same cases.
        trivial : float or Interval, optional
            By how much the statement claims less than what holds without it: then it
            is true, and says nothing.
        bound : float
            A bound on the absolute error of all margins.
        finding : str
            What was found, in words for the reader, with number and unit.

        Raises
        ------
        LedgerError, VerdictError
            As `check_value`.

        Notes
        -----
        *Reproduced* if the margin is at least `bound` in every case, *empty* if
        `trivial` is too; *refuted* if it is below ``-bound`` in some case, and
        *corrected* if besides the repaired statement holds in every case, that of the
        counterexample included; *not reproduced* if `bound` does not decide.
        """
        self._hold(claim_id, "check_holds", margin, repaired, trivial, bound, finding)

    @_quiet_elsewhere
    def check_equal(
        self,
        claim_id: str,
        *,
        gap: float | Mapping[str, float],
        within: float,
        repaired: Mapping[str, float] | None = None,
        finding: str,
    ) -> None:
        """Hold an equation (definition, algorithm, identity) against its gap.

        Parameters
        ----------
        claim_id : str
            An id of the ledger, assigned to this notebook.
        gap : float, or mapping of str to float
            The largest absolute difference of the two sides, or one for each case.
        within : float
            The tolerance: far above rounding, far below anything that matters.
        repaired : mapping of str to float, optional
            The gaps of the corrected statement, for the same cases.
        finding : str
            What was found, in words for the reader; not the gap itself, which is
            rounding error and differs between processors.

        Raises
        ------
        LedgerError, VerdictError
            As `check_value`.

        Notes
        -----
        The verdicts are those of `check_holds` for the margins ``within - gap``.
        """
        within = check.positive("within", within, "check_equal")

        def margins(gaps: float | Mapping[str, float]) -> Any:
            if isinstance(gaps, Mapping):
                return {name: margins(one) for name, one in gaps.items()}
            # Rounding is far below `within`: what passes is stored as one number.
            gaps = check.nonnegative("gap", gaps, "check_equal")
            return 0.0 if gaps <= within else within - gaps

        mended = None if repaired is None else margins(repaired)
        self._hold(claim_id, "check_equal", margins(gap), mended, None, 0.0, finding)

    @_quiet_elsewhere
    def check_readings(
        self,
        claim_id: str,
        margins: Mapping[str, Number],
        *,
        bound: float = 0.0,
        finding: str,
    ) -> None:
        """Hold a claim whose measure or setting the paper leaves open.

        Parameters
        ----------
        claim_id : str
            An id of the ledger, assigned to this notebook.
        margins : mapping of str to float or Interval
            The margin, as in `check_holds`, under each reading of the words
            ("within 10 %", "within a factor 2") or each choice of the setting; two or
            more.
        bound, finding
            As in `check_holds`; the finding gives the figures.

        Raises
        ------
        LedgerError, VerdictError
            As `check_value`.

        Notes
        -----
        *Underspecified* if the readings decide, or if the ledger lists what we assumed
        and the claim holds under all of them; otherwise *reproduced* if it holds under
        all; *refuted* if it fails under all; else *not reproduced*.
        """
        claim = self._take(claim_id)
        given = _Given(claim, "check_readings", bound)
        cases = given.cases("margins", margins)
        if len(cases) < 2:
            raise LedgerError(f"{claim_id}: check_readings needs two readings or more.")
        each = [_judge({name: ends}) for name, ends in cases.items()]
        verdict = "not reproduced"
        if "reproduced" in each and "refuted" in each:
            verdict = "underspecified"
        elif len(set(each)) == 1:
            verdict = each[0]
            if verdict == "reproduced" and claim.assumed:
                verdict = "underspecified"
        worst = min(cases.values(), key=lambda ends: ends.low)
        self._record(claim, verdict, worst, finding, given, given.facts(margin=cases))

    @_quiet_elsewhere
    def check_band(
        self, claim_id: str, replicates: ArrayLike, *, finding: str = ""
    ) -> None:
        """Hold printed stochastic values against our replicate distribution.

        Parameters
        ----------
        claim_id : str
            An id of the ledger, assigned to this notebook.
        replicates : array_like, shape (n,) or (n, d)
            Our independent replicates; ``d`` is the number of printed values,
            which are judged jointly, and ``n`` at least ``40 d``.
        finding : str
            Words for the reader before the percentiles.

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
        print lies in the central 95 %; *not reproduced*: below; *undecided* if the
        interval of the p-value, which misses with a chance of one in a million, has
        5 % inside.

        If the print is one more draw from our distribution, then all ``n + 1`` are
        exchangeable, so that it is rejected with probability 5 % at most,
        whatever the distribution and ``n``. Ranking the print against the replicates
        but these against themselves would not do: a value is never farther out than
        the outermost of a sample that it belongs to. Each value has two
        outermost ones, hence ``n >= 40 d``: with fewer, a print far from all
        replicates could pass.
        """
        claim = self._take(claim_id)
        if not claim.printed:
            raise LedgerError(f"{claim_id}: check_band needs printed values.")
        count = len(claim.printed)
        sample = np.asarray(replicates, dtype=float)
        sample = sample[:, None] if sample.ndim == 1 else sample
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
        p_value = share_interval(as_extreme, len(pool))
        verdict = "undecided"
        if p_value.low > _OUTSIDE:
            verdict = "reproduced"
        elif p_value.high < _OUTSIDE:
            verdict = "not reproduced"
        parts = [
            f"printed {text} at percentile {shown(100.0 * p, digits=2)}"
            for text, p in zip(claim.printed, ours, strict=True)
        ]
        parts.append(
            f"runs at least as unusual: {(100.0 * p_value).text('%')} of {len(sample)}"
        )
        finding = "; ".join([finding, *parts] if finding else parts)
        given = _Given(claim, "check_band", 0.0)
        self._record(claim, verdict, given.read("p_value", p_value), finding, given, {})

    @_quiet_elsewhere
    def check_order(
        self,
        claim_id: str,
        values: Mapping[str, Number],
        *,
        bound: float = 0.0,
        finding: str = "",
    ) -> None:
        """Hold a claimed order against computed values.

        Parameters
        ----------
        claim_id : str
            An id of the ledger, assigned to this notebook.
        values : mapping of str to float or Interval
            Names and values in the claimed order, the smallest first.
        bound : float
            A bound on the absolute error of each value.
        finding : str
            What the reader sees; by default names and values.

        Raises
        ------
        LedgerError, VerdictError, ValueError
            As `check_value`; `ValueError` for fewer than two values.

        Notes
        -----
        *Reproduced* if each value is surely below the next, *refuted* if one is surely
        above the next, else *not reproduced*: the order is not decided.
        """
        claim = self._take(claim_id)
        where = "check_order"
        if len(values) < 2:
            check.fail("values", where, "a mapping of two values or more", dict(values))
        given = _Given(claim, where, bound)
        cases = given.cases("values", values)
        pairs = list(pairwise(cases.values()))
        steps = [
            _Ends(b.value - a.value, b.low - a.high, b.high - a.low) for a, b in pairs
        ]
        # Equal values are in no order, and rounding puts none before another.
        tiny = [1.0e-12 * max(abs(a.value), abs(b.value), 1e-290) for a, b in pairs]
        clear = [
            _Ends(s.value, s.low - t, s.high + t)
            for s, t in zip(steps, tiny, strict=True)
        ]
        verdict = _judge(dict(enumerate(clear)))
        if not finding:
            finding = ", ".join(
                f"{name} {v.text(claim.unit)}"
                if isinstance(v, Interval)
                else f"{name} {shown(v, bound=bound)}"
                for name, v in values.items()
            )
        worst = min(steps, key=lambda ends: ends.low)
        self._record(claim, verdict, worst, finding, given, given.facts(values=cases))

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

    def _hold(
        self,
        claim_id: str,
        where: str,
        margin: Cases,
        repaired: Mapping[str, Number] | None,
        trivial: Number | None,
        bound: float,
        finding: str,
    ) -> None:
        claim = self._take(claim_id)
        given = _Given(claim, where, bound)
        cases = given.cases("margin", margin)
        facts = given.facts(margin=cases)
        verdict = _judge(cases)
        if repaired is not None:
            mended = given.cases("repaired", repaired)
            facts |= given.facts(repaired=mended)
            if not isinstance(margin, Mapping) or set(mended) != set(cases):
                raise LedgerError(
                    f"{claim_id}: 'repaired' needs the cases of 'margin', the "
                    "counterexample among them."
                )
            if verdict == "refuted" and _judge(mended) == "reproduced":
                verdict = "corrected"
        if trivial is not None:
            less = given.cases("trivial", trivial)
            facts |= given.facts(trivial=less)
            if verdict == _judge(less) == "reproduced":
                verdict = "empty"
        worst = min(cases.values(), key=lambda ends: ends.low)
        self._record(claim, verdict, worst, finding, given, facts)

    def _record(
        self,
        claim: Claim,
        verdict: str,
        value: _Ends | None,
        finding: str,
        given: _Given | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        applies = self._applies(claim)
        if verdict == "reproduced":
            verdict = {"ours": "shown", "definition": "implemented"}.get(
                claim.kind, verdict
            )
        bound = given.bound if given else 0.0
        facts = dict(facts or {})
        if given and given.chance:
            facts["chance"] = rounded(given.chance)
        wide = value is not None and value.low < value.high
        item = Check(
            claim=claim,
            verdict=verdict if applies else "not applicable",
            value=None if value is None else rounded(value.value, bound=bound),
            interval=value.outward() if value is not None and wide else None,
            finding=finding if applies else f"{finding} ({self._elsewhere(claim)})",
            bound=rounded(bound, digits=2),
            facts=facts,
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


@dataclass(frozen=True)
class _Ends:
    """A number, and between what it may be."""

    value: float
    low: float
    high: float

    def outward(self) -> tuple[float | None, float | None]:
        """Return the ends, rounded outward; None for an infinite one."""
        _, low, high = outward(self.value, self.low, self.high)
        return (
            float(low) if math.isfinite(self.low) else None,
            float(high) if math.isfinite(self.high) else None,
        )


class _Given:
    """What one check was given: reads its numbers, and adds up their chances."""

    def __init__(self, claim: Claim, where: str, bound: float) -> None:
        self.claim, self.where = claim, where
        self.bound = check.nonnegative("bound", bound, where)
        self.chance = 0.0

    def read(self, name: str, number: Number) -> _Ends:
        if isinstance(number, Interval):
            self.chance += number.chance
            if self.chance > CHANCE * (1.0 + _LAST_BITS):
                raise LedgerError(
                    f"{self.claim.id}: the intervals of one check may miss with a "
                    f"chance of {CHANCE} together (chance={CHANCE} / their number)."
                )
            return _Ends(number.value, number.low, number.high)
        if self.claim.evidence == "sampling" and name != "trivial":
            raise LedgerError(
                f"{self.claim.id}: its evidence is sampling, so '{name}' must be an "
                "Interval (dplib.book.replicates)."
            )
        value = check.finite(name, number, self.where)
        return _Ends(value, value - self.bound, value + self.bound)

    def cases(self, name: str, numbers: Cases) -> dict[str, _Ends]:
        if not isinstance(numbers, Mapping):
            return {"": self.read(name, numbers)}
        if not numbers:
            check.fail(name, self.where, "one case or more", numbers)
        return {case: self.read(name, number) for case, number in numbers.items()}

    def facts(self, **found: Mapping[str, _Ends]) -> dict[str, Any]:
        """Return what decided, for the JSON: one number, or one a case."""
        numbers = {
            name: {
                case: rounded(e.value, bound=self.bound) for case, e in cases.items()
            }
            for name, cases in found.items()
        }
        return {name: n[""] if set(n) == {""} else n for name, n in numbers.items()}


def _judge(cases: Mapping[Any, _Ends]) -> str:
    """Return the verdict on a statement from its margins."""
    if all(ends.low >= 0.0 for ends in cases.values()):
        return "reproduced"
    return "refuted" if any(e.high < 0.0 for e in cases.values()) else "not reproduced"


def _agrees(
    claim: Claim, value: _Ends, text: str, size: float | None, *, some: bool = False
) -> bool:
    """Whether all (or some) numbers that a value may be round to a printed one."""
    try:
        target = float(ledger.decimal(text))
    except ValueError:
        raise LedgerError(
            f"{claim.id}: 'ours: {text}' must be a number for check_value."
        ) from None
    size = half_unit(text) if size is None else size
    if not math.isfinite(target) or not math.isfinite(size):
        # Within an infinite tolerance every value would agree.
        raise LedgerError(f"{claim.id}: '{text}' is too large for a float.")
    # A value that lies on the tolerance itself agrees, whatever the last bit.
    size *= 1.0 + _LAST_BITS
    if some:
        return value.low <= target + size and target - size <= value.high
    return target - size <= value.low and value.high <= target + size


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
        With the six checks and the closing table.

    Raises
    ------
    LedgerError
        If the ledger assigns no claim to the notebook, or is not well formed.
    ValueError
        If papermill has set a name that the parameters cell lacks.
    """
    from IPython import get_ipython

    if shell := get_ipython():
        _refuse_unknown(shell.user_ns.get("In", []), notebook)
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


def _refuse_unknown(cells: Sequence[str], notebook: str) -> None:
    """Refuse a parameter that papermill, which only warns, has put after the cell."""
    for cell, injected in pairwise(cells):
        if injected.startswith("# Parameters\n"):
            known, given = _assigned(cell), _assigned(injected)
            for name in sorted(given - known):
                must = f"one of {', '.join(sorted(known))}"
                check.fail("parameters", notebook, must, name)


def _assigned(cell: str) -> set[str]:
    names = (one for one in ast.walk(ast.parse(cell)) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Store)}


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
