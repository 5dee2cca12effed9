"""Verdicts: a notebook's computed values held against the claims ledger.

A notebook opens its part of the ledger once and then checks each claim there::

    book = claims.open_notebook("truthful/01_problem", steps=steps)
    book.check_value("truthful.wg", scale)
    ...
    book.table()

Every check *computes* a verdict, shows one line, and leaves a small JSON output
(`MIME_TYPE`) from which the scoreboard is filled. At the parameter values for which a
claim is made (its field ``at``) a computed verdict that differs from the ledger's
raises `VerdictError`; at other values (a papermill batch, a reader's trial) the number
is shown as *not applicable* and nothing raises.

A number is a float, with a ``bound`` on its absolute error, or an `Interval` of
`dplib.book.replicates`. A claim whose evidence is *sampling* must be given intervals,
and all those of one check together miss with a chance of at most one in a million:
then no fresh seed changes a verdict. Stored samples have no fresh seed. A check may
say with which larger ``chance`` their intervals miss, and its page says so to readers.

An experiment of ours is no counterexample to one of the paper's. So a sampled claim
that fails is *not reproduced*, not refuted, if the ledger lists what we ``tried``.

A claim that holds is *reproduced*; *shown* if it is ours, *implemented* if it is a
definition.
"""

from __future__ import annotations

import ast
import math
import numbers
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dplib import check
from dplib.book import ledger, own_results, verdicts
from dplib.book.ledger import Claim, LedgerError, Scalar, half_unit
from dplib.book.replicates import CHANCE, Interval, share_interval
from dplib.book.rounding import DIGITS, outward, rounded, shown
from dplib.book.verdicts import MIME_TYPE, Check

__all__ = ["MIME_TYPE", "Checks", "VerdictError", "open_notebook", "printed"]

Number = float | Interval
#: One number, or one for each case that was tried.
Cases = Number | Mapping[str, Number]

# Relative slack at the edge of a tolerance or range, for the last bits.
_LAST_BITS = 1.0e-9

# The largest p-value at which a print counts as outside our replicates.
_OUTSIDE = 0.05


class VerdictError(AssertionError):
    """A computed verdict differs from the one in the ledger."""


class _Given:
    """What one check was given and found: reads its numbers, adds up their chances."""

    def __init__(self, claim: Claim, bound: float = 0.0, most: float = CHANCE) -> None:
        self.claim, self.bound, self.most = claim, bound, most
        self.chance = 0.0
        self.facts: dict[str, Any] = {}  # what decided, for the JSON output
        self.found("open", None, "")

    def found(self, verdict: str, value: Interval | None, finding: str) -> None:
        """Note the verdict, the number that decided, and what the reader sees."""
        sampled = self.claim.evidence == "sampling"
        if verdict == "unclear":  # within rounding, or within what samples tell
            verdict = "undecided" if sampled else "not reproduced"
        if verdict == "refuted" and sampled and self.claim.tried:
            verdict = "not reproduced"
        self.verdict, self.value, self.finding = verdict, value, finding

    def read(self, name: str, number: Number) -> Interval:
        """Return a number as an interval that holds it."""
        if isinstance(number, Interval):
            self.chance += number.chance
            if self.chance > self.most * (1.0 + _LAST_BITS):
                raise LedgerError(
                    f"{self.claim.id}: the intervals of one check may miss with a "
                    f"chance of {self.most} together (chance={self.most} / their "
                    "number)."
                )
            return number
        if self.claim.evidence == "sampling" and name != "trivial":
            raise LedgerError(
                f"{self.claim.id}: its evidence is sampling, so '{name}' must be an "
                "Interval (dplib.book.replicates)."
            )
        value = check.finite(name, number, self.claim.id)
        bound = check.nonnegative("bound", self.bound, self.claim.id)
        return Interval(value, value - bound, value + bound, 0.0)

    def cases(self, name: str, numbers: Cases) -> dict[str, Interval]:
        """Return one number, or one for each case, and note them as facts."""
        named = numbers if isinstance(numbers, Mapping) else {"": numbers}
        if not named:
            check.fail(name, self.claim.id, "one case or more", named)
        found = {case: self.read(name, number) for case, number in named.items()}
        facts = {c: _plain(one.value, self.bound) for c, one in found.items()}
        self.facts[name] = facts if named is numbers else facts[""]
        return found

    def words(self, number: Number) -> str:
        """Return a number as a reader sees it, with the unit of the print."""
        if isinstance(number, Interval):
            return number.text(self.claim.unit)
        return f"{shown(number, bound=self.bound)} {self.claim.unit}".rstrip()


def _judge(cases: Collection[Interval]) -> str:
    """Return the verdict on a statement from its margins, or "unclear"."""
    if all(margin.low >= 0.0 for margin in cases):
        return "reproduced"
    return "refuted" if any(one.high < 0.0 for one in cases) else "unclear"


def _worst(cases: Collection[Interval]) -> Interval:
    return min(cases, key=lambda margin: margin.low)


def _place(value: Interval, text: str, tolerance: float) -> str:
    """Return where a value lies, given what is printed and the tolerance of it.

    "inside" or "outside" if that is so for all that the value may be, else "open".
    """
    # A value that lies on the tolerance itself agrees, whatever the last bit.
    tolerance *= 1.0 + _LAST_BITS
    low, high = float(text) - tolerance, float(text) + tolerance
    if low <= value.low and value.high <= high:
        return "inside"
    return "outside" if value.high < low or high < value.low else "open"


def _span(numbers: Sequence[Interval], sampled: Sequence[Interval]) -> Interval:
    """Return all that lies between numbers, as wide as the samples leave it.

    The others count by their values: a bound on an error widens nothing.
    """
    values = [one.value for one in numbers]
    return Interval(
        value=min(values),
        low=min([*values, *(one.low for one in sampled)]),
        high=max([*values, *(one.high for one in sampled)]),
        chance=0.0,
    )


def _compared(
    claim: Claim, text: str, numbers: Sequence[Interval], span: Interval
) -> str:
    """Return the verdict on numbers, ours first, held against the printed one."""
    tolerance = half_unit(text) if claim.tolerance is None else claim.tolerance
    places = [_place(number, text, tolerance) for number in numbers]
    if set(places) == {"inside"}:
        return "reproduced"
    if "outside" not in places:  # one is open
        return "undecided" if claim.evidence == "sampling" else "not reproduced"
    if _place(span, text, tolerance) != "outside":
        return "underspecified"
    if claim.verdict != "corrected" or places[0] != "outside":
        return "not reproduced"
    place = _place(numbers[0], claim.ours, half_unit(claim.ours))
    return "corrected" if place == "inside" else "not reproduced"


@dataclass
class Checks:
    """The claims of one notebook, and the checks made so far.

    Made by `open_notebook`. In all six checks ``claim_id`` is an id that the ledger
    assigns to this notebook, ``bound`` bounds the absolute error of every number that
    is not an `Interval`, and ``finding`` is what the reader sees.
    """

    notebook: str
    parameters: Mapping[str, Scalar]
    claims: Mapping[str, Claim]
    done: list[Check] = field(default_factory=list)
    _labels: Mapping[str, str] = field(default_factory=dict)

    # -- the checks --------------------------------------------------------

    def check_value(
        self,
        claim_id: str,
        value: Number,
        *,
        bound: float = 0.0,
        choices: Mapping[str, Number] | None = None,
        finding: str = "",
    ) -> None:
        """Hold a computed number, in the unit of the print, against the printed one.

        ``choices`` holds what comes out under the other choices that the paper leaves
        open.

        *Reproduced*: within the tolerance of what is printed (for a claim of ours: of
        the ledger's ``ours``), and so under all `choices`. *Underspecified*: the
        choices decide, and the print lies in their range. *Corrected*: outside the
        tolerance, and within half a unit of the last digit of the ledger's ``ours``.
        *Undecided*: samples leave open whether it agrees. Otherwise *not reproduced*.
        "Within" and "outside" are meant for every number that `value` may be.
        """
        with self._frame(claim_id, bound) as given:
            claim = given.claim
            target = claim.printed or ((claim.ours,) if claim.kind == "ours" else ())
            if len(target) != 1:
                raise LedgerError(
                    f"{claim_id}: check_value needs one number in the ledger."
                )
            (text,) = target
            unit = f" {claim.unit}" if claim.unit else ""
            if not finding:
                finding = f"ours {given.words(value)}"
                finding += f", printed {text}{unit}" if claim.printed else ""
            ours = given.read("value", value)
            numbers, span = [ours], ours
            if choices:
                numbers += given.cases("choices", choices).values()
                every = (value, *choices.values())
                sampled = [one for one in every if isinstance(one, Interval)]
                span = _span(numbers, sampled)
                values = [one.value for one in numbers]
                digits = 3 if sampled else DIGITS
                low = shown(min(values), digits=digits)
                high = shown(max(values), digits=digits)
                finding += f"; between {low} and {high}{unit} as our choices vary"
            given.found(_compared(claim, text, numbers, span), ours, finding)

    def check_holds(
        self,
        claim_id: str,
        *,
        margin: Cases,
        repaired: Mapping[str, Number] | None = None,
        trivial: Number | None = None,
        bound: float = 0.0,
        chance: float = CHANCE,
        finding: str,
    ) -> None:
        """Hold an inequality (theorem, bound, assumption) against its margin.

        The margin says how far the statement is from failing: right side minus left
        side, smallest over everything tried, or one for each case; negative at a
        counterexample. ``repaired`` holds the same for the corrected statement and the
        same cases, ``trivial`` by how much the statement claims less than what holds
        without it: then it is true, and says nothing.

        *Reproduced* if the margin is at least `bound` in every case, *empty* if
        `trivial` is too; *refuted* if it is below ``-bound`` in some case, and
        *corrected* if besides the repaired statement holds in every case, that of the
        counterexample included. If samples do not decide, it is *undecided*; if
        `bound` does not, *not reproduced*.
        """
        with self._frame(claim_id, bound, chance) as given:
            _hold(given, margin, repaired, trivial)
            given.finding = finding

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

        The gap is the largest absolute difference of the two sides, or one for each
        case; ``within`` the tolerance, far above rounding and far below anything that
        matters; ``repaired`` the gaps of the corrected statement. The verdicts are
        those of `check_holds` for the margins ``within - gap``.
        """

        def margins(gaps: float | Mapping[str, float]) -> Any:
            if isinstance(gaps, Mapping):
                return {name: margins(one) for name, one in gaps.items()}
            # Rounding is far below `within`: what passes is stored as one number.
            gaps = check.nonnegative("gap", gaps, claim_id)
            return 0.0 if gaps <= within else within - gaps

        with self._frame(claim_id) as given:
            mended = None if repaired is None else margins(repaired)
            _hold(given, margins(gap), mended, None)
            given.finding = finding

    def check_readings(
        self,
        claim_id: str,
        margins: Mapping[str, Number],
        *,
        bound: float = 0.0,
        chance: float = CHANCE,
        finding: str,
    ) -> None:
        """Hold a claim whose measure or setting the paper leaves open.

        A margin, as in `check_holds`, under each reading of the words ("within 10 %",
        "within a factor 2") or each choice of the setting; two or more.

        *Underspecified* if the readings decide, or if the ledger lists what we assumed
        and the claim holds under all of them; otherwise *reproduced* if it holds under
        all; *refuted* if it fails under all; *undecided* if it fails under none and
        samples leave some open; else *not reproduced*.
        """
        with self._frame(claim_id, bound, chance) as given:
            cases = given.cases("margin", margins)
            if len(cases) < 2:
                raise LedgerError(f"{claim_id}: check_readings needs two or more.")
            each = {_judge([margin]) for margin in cases.values()}
            verdict = "not reproduced" if "refuted" in each else "unclear"
            if len(each) == 1:
                (verdict,) = each
            decide = {"reproduced", "refuted"} <= each
            if decide or (verdict == "reproduced" and given.claim.assumed):
                verdict = "underspecified"
            given.found(verdict, _worst(cases.values()), finding)

    def check_band(
        self, claim_id: str, replicates: ArrayLike, *, finding: str = ""
    ) -> None:
        """Hold printed stochastic values against our replicate distribution.

        ``replicates`` are independent, of shape (n,) or (n, d), where d is the number
        of printed values, which are judged jointly, and n at least ``40 d``.

        A printed value lies at a percentile of the replicates (ties count one half).
        For the joint verdict the print joins the replicates, each of the ``n + 1`` is
        as extreme as the farthest of its ``d`` ranks is from the middle one, and the
        p-value is the share that is as extreme as the print (itself included).
        *Reproduced*: the p-value is above 5 %, that is, the print lies in the central
        95 %; *not reproduced*: below; *undecided* if the interval of the p-value, which
        misses with a chance of one in a million, has 5 % inside.

        If the print is one more draw from our distribution, then all ``n + 1`` are
        exchangeable, so that it is rejected with probability 5 % at most, whatever the
        distribution and ``n``. Ranking the print against the replicates but these
        against themselves would not do: a value is never farther out than the outermost
        of a sample that it belongs to. Each value has two outermost ones, hence
        ``n >= 40 d``: with fewer, a print far from all replicates could pass.
        """
        with self._frame(claim_id) as given:
            texts = given.claim.printed
            if not texts:
                raise LedgerError(f"{claim_id}: check_band needs printed values.")
            sample = np.asarray(replicates, dtype=float)
            sample = sample[:, None] if sample.ndim == 1 else sample
            shape = (None, len(texts))
            sample = check.array("replicates", sample, claim_id, shape=shape)
            if len(sample) < 40 * len(texts):
                must = f"{40 * len(texts)} or more"
                check.fail("replicates", claim_id, must, len(sample))
            # The print is the first row; a tie counts one half.
            pool = np.vstack([[float(text) for text in texts], sample])
            ranks = stats.rankdata(pool, axis=0)
            parts = [finding] if finding else []
            for text, rank in zip(texts, ranks[0], strict=True):
                percentile = shown(100.0 * (rank - 1.0) / len(sample), digits=2)
                parts.append(f"printed {text} at percentile {percentile}")
            # Twice the distance from the middle: integers, alike in both tails.
            extremeness = np.abs(2.0 * ranks - (len(pool) + 1)).max(axis=1)
            as_extreme = int(np.sum(extremeness >= extremeness[0]))
            p_value = given.read("p_value", share_interval(as_extreme, len(pool)))
            share = (100.0 * p_value).text("%")
            parts.append(f"runs at least as unusual: {share} of {len(sample)}")
            verdict = "undecided"
            if p_value.low > _OUTSIDE:
                verdict = "reproduced"
            elif p_value.high < _OUTSIDE:
                verdict = "not reproduced"
            given.found(verdict, p_value, "; ".join(parts))

    def check_order(
        self,
        claim_id: str,
        values: Mapping[str, Number],
        *,
        bound: float = 0.0,
        finding: str = "",
    ) -> None:
        """Hold a claimed order, the smallest first, against computed values.

        *Reproduced* if each value is surely below the next, *refuted* if one is surely
        above the next, else *not reproduced*: the order is not decided.
        """
        with self._frame(claim_id, bound) as given:
            cases = given.cases("values", values)
            if len(cases) < 2:
                check.fail("values", claim_id, "two values or more", dict(values))
            steps, clear = [], []
            for a, b in pairwise(cases.values()):
                step = Interval(b.value - a.value, b.low - a.high, b.high - a.low, 0.0)
                steps.append(step)
                # Equal values are in no order, and rounding puts none before another.
                tiny = 1.0e-12 * max(abs(a.value), abs(b.value), 1e-290)
                low, high = step.low - tiny, step.high + tiny
                clear.append(Interval(step.value, low, high, 0.0))
            named = (f"{name} {given.words(one)}" for name, one in values.items())
            given.found(_judge(clear), _worst(steps), finding or ", ".join(named))

    # -- the end of a notebook ----------------------------------------------

    @contextmanager
    def one_table(self, head: str, labels: Mapping[str, str]) -> Iterator[None]:
        """Show the checks made inside as one table of the paper, not as lines.

        ``labels`` are the rows: a claim and its label, in order; ``head`` stands above
        the labels.
        """
        if self._labels or len(set(labels.values())) < len(labels):
            raise LedgerError(
                f"{self.notebook}: one_table needs a label of its own for each row, "
                "and no other table around it."
            )
        first, self._labels = len(self.done), labels
        try:
            yield
        finally:
            self._labels = {}
        made = {item.claim.id: item for item in self.done[first:]}
        if set(made) != set(labels):
            raise LedgerError(
                f"{self.notebook}: one_table has the rows {', '.join(labels)}, but "
                f"checked were {', '.join(made)}."
            )
        rows = {label: made[claim_id] for claim_id, label in labels.items()}
        verdicts.show(verdicts.one_table(head, rows))

    def table(self) -> None:
        """Show how many claims got which verdict; the line opens to all of them.

        Raises
        ------
        VerdictError
            If the ledger assigns a claim to this notebook that no cell checked.
        """
        checked = {item.claim.id for item in self.done}
        missing = [name for name in self.claims if name not in checked]
        if missing and not own_results.folder():
            raise VerdictError(f"{self.notebook}: not checked: {', '.join(missing)}.")
        verdicts.show(verdicts.closing(self.done))

    # -- the frame of every check --------------------------------------------

    @contextmanager
    def _frame(
        self, claim_id: str, bound: float = 0.0, chance: float = CHANCE
    ) -> Iterator[_Given]:
        """Let a verdict be computed, show it, and hold it against the ledger's."""
        if claim_id not in self.claims:
            known = ", ".join(self.claims)
            raise LedgerError(
                f"{claim_id}: the ledger assigns no such claim to {self.notebook}. "
                f"It has: {known}."
            )
        if any(item.claim.id == claim_id for item in self.done):
            raise LedgerError(f"{claim_id}: checked twice in {self.notebook}.")
        claim = self.claims[claim_id]
        elsewhere = self._elsewhere(claim)
        given = _Given(claim, bound, chance)
        try:
            yield given
        except Exception as error:  # a reader's trial must go on, whatever it gave
            if not elsewhere:
                raise
            given = _Given(claim)
            given.finding = f"no verdict: {error}"
        verdict, value = given.verdict, given.value
        if verdict == "reproduced":
            holds = {"ours": "shown", "definition": "implemented"}
            verdict = holds.get(claim.kind, verdict)
        missed = {"chance": rounded(given.chance)} if given.chance else {}
        item = Check(
            claim=claim,
            verdict="not applicable" if elsewhere else verdict,
            value=None if value is None else _plain(value.value, given.bound),
            interval=None if value is None else _ends(value),
            finding=given.finding + elsewhere,
            bound=rounded(given.bound, digits=2),
            facts=given.facts | missed,
        )
        self.done.append(item)
        # In a table of the paper a check leaves its JSON alone, the table shows it.
        shows = (
            {MIME_TYPE: item.payload()} if claim_id in self._labels else item.bundle()
        )
        verdicts.show(shows)
        if not elsewhere and verdict != claim.verdict:
            raise VerdictError(
                f"{claim_id}: computed verdict '{verdict}', the ledger says "
                f"'{claim.verdict}' ({given.finding})."
            )

    def _elsewhere(self, claim: Claim) -> str:
        """Return for what a claim is made; empty if that is what is here."""
        places = []
        for name, want in claim.at.items():
            if name not in self.parameters:
                raise LedgerError(
                    f"{claim.id}: is made at {name} = {want}; give {name} to "
                    f"open_notebook."
                )
            if not _same(self.parameters[name], want):
                places.append(f"{name} = {want}")
        if places:
            return f" (other parameters: the claim is made at {', '.join(places)})"
        own = " (other results: the claim is made for the book's own runs)"
        return own if own_results.folder() else ""


def _hold(
    given: _Given,
    margin: Cases,
    repaired: Mapping[str, Number] | None,
    trivial: Number | None,
) -> None:
    """Judge a statement by its margins."""
    cases = given.cases("margin", margin)
    verdict = _judge(cases.values())
    if repaired is not None:
        mended = given.cases("repaired", repaired)
        if set(mended) != set(cases) or not isinstance(margin, Mapping):
            raise LedgerError(
                f"{given.claim.id}: 'repaired' needs the cases of 'margin', the "
                "counterexample among them."
            )
        if verdict == "refuted" and _judge(mended.values()) == "reproduced":
            verdict = "corrected"
    if trivial is not None:
        less = given.cases("trivial", trivial)
        if verdict == _judge(less.values()) == "reproduced":
            verdict = "empty"
    given.found(verdict, _worst(cases.values()), "")


def _plain(number: float, bound: float) -> float | None:
    """Return a rounded number as JSON has it: None for an infinite one."""
    return rounded(number, bound=bound) if math.isfinite(number) else None


def _same(have: object, want: Scalar) -> bool:
    """Whether a parameter has the value for which a claim is made."""
    if isinstance(have, bool | str) or isinstance(want, bool | str):
        return type(have) is type(want) and have == want
    if isinstance(want, int):  # seeds may be larger than a float can tell apart
        return bool(have == want)
    return isinstance(have, numbers.Real) and math.isclose(have, want, rel_tol=1e-12)


def _ends(value: Interval) -> list[float | None] | None:
    """Return the ends rounded outward, None for an infinite one, if they differ."""
    if value.low == value.high:
        return None
    _, *ends = outward(value.value, value.low, value.high)
    return [None if "∞" in end else float(end) for end in ends]


# -- a notebook's part of the ledger -------------------------------------------------


def _chapter(name: str) -> ledger.Ledger:
    chapter = name.partition("/")[0].partition(".")[0]
    return ledger.load_chapter(
        ledger.book_root() / "book" / "claims" / f"{chapter}.yml"
    )


def open_notebook(notebook: str, **parameters: Scalar) -> Checks:
    """Open the part of the ledger that belongs to one notebook.

    Parameters
    ----------
    notebook : str
        ``chapter/NN_topic``.
    **parameters : float, int, bool or str
        The values of the notebook's parameters that its claims depend on.

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
    claims = _chapter(notebook).of_notebook(notebook)
    if not claims:
        raise LedgerError(f"The ledger has no claim with 'notebook: {notebook}'.")
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
    """Return the numbers that the paper prints for a claim, never typed a second time.

    Examples
    --------
    >>> printed("truthful.finals")
    (0.5367, 0.687)
    """
    claim = _chapter(claim_id).claims.get(claim_id)
    if claim is None or not claim.printed:
        raise LedgerError(f"{claim_id}: the ledger has no printed number for it.")
    return tuple(float(text) for text in claim.printed)
