"""Every check computes its verdict, and raises where the ledger says another."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dplib.book import claims, ledger, replicates, verdicts
from dplib.book.claims import Checks, VerdictError
from dplib.book.ledger import Claim, LedgerError
from dplib.book.replicates import Interval

ID = "truthful.x"

#: What a verdict requires, so that the claims here are such as the loader admits.
EXTRA: dict[str, dict[str, Any]] = {
    "corrected": {"ours": "0.61"},
    "refuted": {"counterexample": "x = 3"},
    "underspecified": {"assumed": ("a",)},
    "not reproduced": {"tried": ("everything",)},
    "undecided": {"tried": ("400 replicates",)},
    "empty": {"consequence": "nothing is promised"},
    "shown": {"ours": "0.61", "kind": "ours", "printed": ()},
}


def make(verdict: str = "reproduced", **changes: Any) -> Claim:
    """Return a claim: 0.50 is printed, unless a change says otherwise."""
    fields: dict[str, Any] = {
        "id": ID,
        "where": "Theorem 1",
        "kind": "number",
        "level": "result",
        "says": "one half",
        "verdict": verdict,
        "printed": ("0.50",),
        "evidence": "exact",
        "notebook": "truthful/01_tiny",
    }
    return Claim(**fields | EXTRA.get(verdict, {}) | changes)


def book(*entries: Claim, **parameters: ledger.Scalar) -> Checks:
    return Checks("truthful/01_tiny", parameters, {c.id: c for c in entries})


@pytest.fixture(autouse=True)
def shown(monkeypatch) -> list[dict[str, Any]]:
    """Collect what the checks show."""
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(verdicts, "show", seen.append)
    return seen


def verdict_of(
    claim: Claim, check: Callable[[Checks], None], **parameters: ledger.Scalar
) -> str:
    """Return the computed verdict, and see that it raises if and only if it must."""
    checks = book(claim, **parameters)
    message = ""
    try:
        check(checks)
    except VerdictError as error:
        message = str(error)
    (item,) = checks.done
    wrong = item.verdict not in (claim.verdict, "not applicable")
    start = f"{claim.id}: computed verdict '{item.verdict}', the ledger says '"
    assert message.startswith(start) if wrong else not message
    return item.verdict


# -- check_value --------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "bound", "verdict"),
    [
        (0.5, 0.0, "reproduced"),
        (0.5049, 0.0, "reproduced"),
        (0.505, 0.0, "reproduced"),  # half a unit, to the last bit
        (0.495, 0.0, "reproduced"),
        (0.50501, 0.0, "not reproduced"),
        (0.49499, 0.0, "not reproduced"),
        (0.5, 0.004, "reproduced"),
        (0.504, 0.001, "reproduced"),
        (0.504, 0.002, "not reproduced"),  # the bound does not decide
        (0.5, 0.006, "not reproduced"),
        (0.506, 0.002, "not reproduced"),
        (-0.5, 0.0, "not reproduced"),
    ],
)
def test_a_printed_number(value, bound, verdict) -> None:
    for said in ("reproduced", "not reproduced"):
        got = verdict_of(make(said), lambda c: c.check_value(ID, value, bound=bound))
        assert got == verdict


def test_the_last_digit_printed_sets_the_tolerance() -> None:
    for text, verdict in {"0.5": "reproduced", "0.500": "not reproduced"}.items():
        claim = make(verdict, printed=(text,))
        assert verdict_of(claim, lambda c: c.check_value(ID, 0.52)) == verdict


def test_a_tolerance_of_the_ledgers() -> None:
    claim = make(tolerance=0.1, because="drawn by hand")
    assert verdict_of(claim, lambda c: c.check_value(ID, 0.59)) == "reproduced"
    assert verdict_of(claim, lambda c: c.check_value(ID, 0.61)) == "not reproduced"


@pytest.mark.parametrize(
    ("value", "bound", "verdict"),
    [
        (0.61, 0.0, "corrected"),
        (0.6149, 0.0, "corrected"),
        (0.616, 0.0, "not reproduced"),
        (0.61, 0.01, "not reproduced"),  # as wide as two units
        (0.5, 0.0, "reproduced"),  # the print is right after all
    ],
)
def test_a_corrected_number(value, bound, verdict) -> None:
    claim = make("corrected")
    got = verdict_of(claim, lambda c: c.check_value(ID, value, bound=bound))
    assert got == verdict


def test_a_print_is_not_corrected_while_it_may_be_right() -> None:
    # Printed 0.6, ours 0.65, and our number lies in 0.652 ± 0.003: it may well
    # be below 0.65, which rounds to the print. This used to pass as corrected.
    claim = make("corrected", printed=("0.6",), ours="0.65")
    got = verdict_of(claim, lambda c: c.check_value(ID, 0.652, bound=0.003))
    assert got == "not reproduced"
    got = verdict_of(claim, lambda c: c.check_value(ID, 0.652, bound=0.001))
    assert got == "corrected"


def test_ours_counts_for_a_corrected_claim_only() -> None:
    claim = make("not reproduced", ours="0.61")
    assert verdict_of(claim, lambda c: c.check_value(ID, 0.61)) == "not reproduced"


@pytest.mark.parametrize(
    ("value", "bound", "verdict"),
    [
        (0.61, 0.0, "shown"),
        (0.6149, 0.0, "shown"),
        (0.616, 0.0, "not reproduced"),
        (0.61, 0.006, "not reproduced"),
    ],
)
def test_a_result_of_ours(value, bound, verdict) -> None:
    got = verdict_of(make("shown"), lambda c: c.check_value(ID, value, bound=bound))
    assert got == verdict


@pytest.mark.parametrize(
    ("value", "others", "bound", "verdict"),
    [
        (0.4, (0.6,), 0.0, "underspecified"),
        (0.51, (0.6, 0.55), 0.0, "not reproduced"),  # the print is in no range
        (0.4, (0.494,), 0.0, "not reproduced"),
        (0.4, (0.496,), 0.0, "underspecified"),  # it rounds to the print
        (0.4, (0.49,), 0.01, "not reproduced"),  # a bound widens nothing
        (0.4, (0.51,), 0.01, "underspecified"),
        (0.5, (0.496, 0.504), 0.0, "reproduced"),  # whatever we choose
    ],
)
def test_an_underspecified_number(value, others, bound, verdict) -> None:
    choices = {f"choice {k}": other for k, other in enumerate(others)}
    for said in ("underspecified", "reproduced"):
        got = verdict_of(
            make(said),
            lambda c: c.check_value(ID, value, bound=bound, choices=choices),
        )
        assert got == verdict


def test_a_value_that_is_too_uncertain_is_no_choice_of_ours() -> None:
    got = verdict_of(
        make("underspecified"),
        lambda c: c.check_value(ID, 0.5, bound=0.1, choices={"a": 0.5}),
    )
    assert got == "not reproduced"


def test_samples_may_leave_open_whether_a_number_agrees() -> None:
    claim = make("undecided", evidence="sampling")
    check = interval(0.5, 0.1, 5e-7)
    for choices in (None, {"a": check}):
        got = verdict_of(
            claim, lambda c, k=choices: c.check_value(ID, check, choices=k)
        )
        assert got == "undecided"


def test_no_choice_no_underspecified_number() -> None:
    got = verdict_of(make("underspecified"), lambda c: c.check_value(ID, 0.6))
    assert got == "not reproduced"


def test_choices_are_shown_with_their_range(shown) -> None:
    checks = book(make("underspecified", unit="m"))
    checks.check_value(ID, 0.4, choices={"b = 2": 0.7})
    payload = shown[0][claims.MIME_TYPE]
    assert payload["finding"] == (
        "ours 0.4 m, printed 0.50 m; between 0.4 and 0.7 m as our choices vary"
    )
    assert payload["choices"] == {"b = 2": 0.7}


def test_choices_may_be_intervals(shown) -> None:
    """Under evidence `sampling` they had to be, and could not be stored."""
    checks = book(make("underspecified", evidence="sampling"))
    ours, other = Interval(0.4, 0.3, 0.5, 1e-7), Interval(0.7, 0.6, 0.8, 1e-7)
    checks.check_value(ID, ours, choices={"b = 2": other})
    assert shown[0][claims.MIME_TYPE]["choices"] == {"b = 2": 0.7}


def test_a_range_of_samples_is_shown_with_three_digits(shown) -> None:
    checks = book(make("underspecified", evidence="sampling"))
    ours = Interval(0.412345, 0.3, 0.5, 1e-7)
    checks.check_value(ID, ours, choices={"b = 2": ours + 0.3})
    finding = shown[0][claims.MIME_TYPE]["finding"]
    assert "between 0.412 and 0.712" in finding


@pytest.mark.parametrize(
    "claim",
    [
        make(printed=()),
        make(printed=("0.5", "0.6")),
        make("corrected", ours="strictly greater"),
        make("corrected", ours="nan"),
        make("shown", ours="inf"),
        make("shown", ours="a theorem"),
    ],
)
def test_check_value_needs_one_number(claim) -> None:
    # `ours: nan` used to be a plain ValueError, and none named the claim.
    with pytest.raises(LedgerError, match=r"^truthful\.x: .*check_value"):
        book(claim).check_value(ID, 0.7)


def test_what_check_value_shows(shown) -> None:
    checks = book(make(unit="m"))
    checks.check_value(ID, 0.5012345678, bound=1e-4)
    (data,) = shown
    payload = data[claims.MIME_TYPE]
    assert set(data) == {"text/html", "text/plain", claims.MIME_TYPE}
    assert payload["finding"] == "ours 0.5012 m, printed 0.50 m"
    assert payload["value"] == 0.5012  # no digit beyond the bound
    assert payload["interval"] == [0.50113, 0.50134]
    assert payload["verdict"] == payload["ledger"] == "reproduced"


def test_without_a_bound_there_is_no_interval(shown) -> None:
    book(make()).check_value(ID, 0.5)
    assert shown[0][claims.MIME_TYPE]["interval"] is None


# -- check_holds --------------------------------------------------------------


@pytest.mark.parametrize(
    ("margin", "bound", "verdict"),
    [
        (0.3, 0.0, "reproduced"),
        (0.0, 0.0, "reproduced"),
        (0.2, 0.2, "reproduced"),
        (0.1, 0.2, "not reproduced"),
        (0.0, 0.2, "not reproduced"),
        (-0.1, 0.2, "not reproduced"),
        (-0.2, 0.2, "not reproduced"),
        (-0.3, 0.2, "refuted"),
        (-1e-300, 0.0, "refuted"),
    ],
)
def test_a_statement(margin, bound, verdict) -> None:
    for said in ("reproduced", "refuted", "not reproduced"):
        got = verdict_of(make(said, kind="theorem"), holds(margin, bound=bound))
        assert got == verdict
    for kind, said in (("ours", "shown"), ("definition", "implemented")):
        got = verdict_of(make(said, kind=kind, ours="x"), holds(margin, bound=bound))
        assert got == (said if verdict == "reproduced" else verdict)


def holds(margin: Any, **more: Any) -> Callable[[Checks], None]:
    return lambda c: c.check_holds(ID, margin=margin, finding="found", **more)


@pytest.mark.parametrize(
    ("repaired", "bound", "verdict"),
    [
        ({"a": 0.5, "b": 0.2}, 0.2, "corrected"),
        ({"a": 0.5, "b": 0.1}, 0.2, "refuted"),  # whether it holds is not decided
        ({"a": 0.5, "b": -0.5}, 0.2, "refuted"),  # the counterexample sinks it too
        ({"a": -0.5, "b": 0.5}, 0.2, "refuted"),
        (None, 0.2, "refuted"),
    ],
)
def test_a_repair_must_hold_in_every_case(repaired, bound, verdict) -> None:
    """Theorem 3's repair held at the paper's instance, not at the counterexample."""
    claim = make("corrected", ours="with a plus")
    check = holds({"a": 0.7, "b": -0.3}, repaired=repaired, bound=bound)
    assert verdict_of(claim, check) == verdict
    undecided = holds({"a": 0.7, "b": -0.1}, repaired=repaired, bound=bound)
    assert verdict_of(claim, undecided) == "not reproduced"


@pytest.mark.parametrize(
    ("margin", "repaired"),
    [(-0.3, {"": 0.5}), ({"a": 0.7, "b": -0.3}, {"a": 0.5}), (-0.3, 0.5)],
)
def test_a_repair_needs_the_cases_of_the_print(margin, repaired) -> None:
    with pytest.raises(LedgerError, match="'repaired' needs the cases of 'margin'"):
        holds(margin, repaired=repaired)(book(make("corrected", ours="x")))


@pytest.mark.parametrize(
    ("margin", "trivial", "verdict"),
    [
        (0.3, 0.1, "empty"),  # true, and below what holds anyway
        (0.3, -0.1, "reproduced"),
        (-0.3, 0.1, "refuted"),
    ],
)
def test_a_statement_that_says_nothing(margin, trivial, verdict) -> None:
    for said in ("empty", "reproduced"):
        got = verdict_of(make(said), holds(margin, trivial=trivial))
        assert got == verdict


def test_what_check_holds_shows(shown) -> None:
    """The reader gets words; the margins are in the JSON, case by case."""
    checks = book(make("corrected", ours="with a plus"))
    checks.check_holds(
        ID,
        margin={"paper": 0.1, "x - 1000": -0.3456789},
        repaired={"paper": 0.25, "x - 1000": 0.0012},
        bound=1e-3,
        finding="the gain is 2 at most, and 3 at x - 1000",
    )
    payload = shown[0][claims.MIME_TYPE]
    assert payload["finding"] == "the gain is 2 at most, and 3 at x - 1000"
    assert payload["value"] == -0.346
    assert payload["margin"] == {"paper": 0.1, "x - 1000": -0.346}
    assert payload["repaired"] == {"paper": 0.25, "x - 1000": 0.001}
    assert payload["bound"] == 0.001


# -- intervals ----------------------------------------------------------------


def interval(value: float, half: float, chance: float = 1e-6) -> Interval:
    return Interval(value, value - half, value + half, chance)


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [
        (interval(0.3, 0.2), "reproduced"),
        (interval(0.1, 0.2), "not reproduced"),
        (interval(-0.3, 0.2), "refuted"),
    ],
)
def test_a_sampled_margin(margin, verdict) -> None:
    claim = make(verdict, evidence="sampling", kind="theorem")
    assert verdict_of(claim, holds(margin)) == verdict


def test_a_sampled_number_and_order(shown) -> None:
    claim = make(evidence="sampling")
    assert verdict_of(claim, lambda c: c.check_value(ID, interval(0.5, 0.004)))
    payload = shown[0][claims.MIME_TYPE]
    assert payload["finding"] == "ours 0.500 (0.496 to 0.504), printed 0.50"
    assert payload["interval"] == [0.496, 0.504]
    assert payload["chance"] == 1e-6
    for half, verdict in ((0.4, "reproduced"), (0.6, "not reproduced")):
        values = {"a": interval(1.0, half, 5e-7), "b": interval(2.0, half, 5e-7)}
        got = verdict_of(
            make(verdict, evidence="sampling", kind="ordering"),
            lambda c, v=values: c.check_order(ID, v),
        )
        assert got == verdict


def test_a_sampled_claim_needs_an_interval() -> None:
    checks = book(make(evidence="sampling"))
    for check in (
        holds(0.3),
        lambda c: c.check_value(ID, 0.5),
        lambda c: c.check_order(ID, {"a": 1.0, "b": 2.0}),
        lambda c: c.check_readings(ID, {"a": 1.0, "b": 2.0}, finding="x"),
    ):
        with pytest.raises(LedgerError, match="must be an Interval"):
            check(checks)


def test_all_intervals_of_a_check_miss_once_in_a_million_together() -> None:
    checks = book(make(evidence="sampling"))
    for check in (
        holds(interval(0.3, 0.1, 1.1e-6)),
        holds({"a": interval(0.3, 0.1), "b": interval(0.3, 0.1)}),
        lambda c: c.check_order(ID, {"a": interval(1, 0.1), "b": interval(2, 0.1)}),
    ):
        with pytest.raises(LedgerError, match="1e-06 together"):
            check(checks)


# -- check_readings -----------------------------------------------------------


@pytest.mark.parametrize(
    ("margins", "verdict"),
    [
        ((0.3, -0.1), "underspecified"),  # the words do not decide
        ((0.3, 0.1), "reproduced"),
        ((-0.3, -0.1), "refuted"),
        ((0.3, 0.0), "not reproduced"),  # the bound does not decide
    ],
)
def test_a_claim_without_a_measure(margins, verdict) -> None:
    named = {f"reading {k}": margin for k, margin in enumerate(margins)}

    def check(checks: Checks) -> None:
        checks.check_readings(ID, named, bound=0.05, finding="the ratio is 1.3")

    for said in ("reproduced", "refuted", "not reproduced"):
        assert verdict_of(make(said, kind="ordering"), check) == verdict
    assumed = verdict_of(make("underspecified", kind="ordering"), check)
    assert assumed == ("underspecified" if verdict == "reproduced" else verdict)


def test_one_reading_is_none() -> None:
    with pytest.raises(LedgerError, match="two readings or more"):
        book(make()).check_readings(ID, {"a": 1.0}, finding="x")


# -- check_equal --------------------------------------------------------------


@pytest.mark.parametrize(
    ("gap", "verdict"),
    [
        (0.0, "reproduced"),
        (1e-9, "reproduced"),
        (1.001e-9, "refuted"),
        (3.0, "refuted"),
    ],
)
def test_an_equation(gap, verdict) -> None:
    for said in ("reproduced", "refuted"):
        assert verdict_of(make(said), equal(gap)) == verdict
    claim = make("corrected", ours="with a plus")
    for repaired, right in ((1e-12, "corrected"), (1e-8, "refuted")):
        got = verdict_of(claim, equal({"a": gap}, repaired={"a": repaired}))
        assert got == (right if verdict == "refuted" else verdict)


def equal(gap: Any, **more: Any) -> Callable[[Checks], None]:
    return lambda c: c.check_equal(ID, gap=gap, within=1e-9, finding="same", **more)


def test_a_gap_within_the_tolerance_is_rounding_and_not_stored(shown) -> None:
    for gap in (3.1e-15, 7.7e-13):  # as on two processors
        equal(gap)(book(make()))
    assert shown[0] == shown[1]
    assert shown[0][claims.MIME_TYPE]["value"] == 0.0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"gap": -1.0, "within": 1.0}, "gap"),
        ({"gap": math.nan, "within": 1.0}, "gap"),
        ({"gap": 1.0, "within": 0.0}, "within"),
        ({"gap": {"a": 1.0}, "within": 1.0, "repaired": {"a": -1.0}}, "gap"),
    ],
)
def test_what_check_equal_refuses(arguments, name) -> None:
    with pytest.raises(ValueError, match=f"'{name}' parameter of check_equal"):
        book(make()).check_equal(ID, finding="x", **arguments)


# -- check_band ---------------------------------------------------------------

GRID = np.arange(1.0, 101.0)  # 100 replicates: 1, 2, ..., 100
MANY = np.repeat(GRID, 20)  # 2000 of them


@pytest.mark.parametrize(
    ("printed", "as_extreme", "verdict"),
    [
        ("50.5", 2001, "reproduced"),  # of the 2000 replicates and itself
        ("5.5", 201, "reproduced"),
        ("3.5", 121, "undecided"),  # 6.0 %, and not surely above 5 %
        ("2.5", 81, "undecided"),
        ("1.5", 41, "not reproduced"),
        ("99.5", 41, "not reproduced"),
        ("0", 1, "not reproduced"),
        ("1e300", 1, "not reproduced"),
    ],
)
def test_a_printed_value_and_its_band(shown, printed, as_extreme, verdict) -> None:
    for said in ("reproduced", "not reproduced", "undecided"):
        claim = make(said, kind="figure", printed=(printed,))
        assert verdict_of(claim, lambda c: c.check_band(ID, MANY)) == verdict
    payload = shown[0][claims.MIME_TYPE]
    assert payload["value"] == pytest.approx(as_extreme / 2001, rel=1e-5)
    assert "; runs at least as unusual: " in payload["finding"]
    assert payload["finding"].endswith(" %) of 2000")
    assert payload["chance"] == 1e-6


def test_few_replicates_do_not_decide() -> None:
    # The print is outside all 100: the p-value may still be above 5 %.
    claim = make("undecided", printed=("101",))
    assert verdict_of(claim, lambda c: c.check_band(ID, GRID)) == "undecided"


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_print_far_out_is_never_reproduced(count) -> None:
    # The rows are such that every value has its outermost two elsewhere.
    random = np.random.default_rng(7)
    sample = random.random((2000, count))
    for place in range(count):
        printed = ["0.5"] * count
        printed[place] = "9"
        claim = make("not reproduced", printed=tuple(printed))
        got = verdict_of(claim, lambda c: c.check_band(ID, sample))
        assert got == "not reproduced"


def test_a_constant_is_reproduced_by_itself_only() -> None:
    for printed, verdict in {"5": "reproduced", "6": "not reproduced"}.items():
        claim = make(verdict, printed=(printed,))
        got = verdict_of(claim, lambda c: c.check_band(ID, np.full(400, 5.0)))
        assert got == verdict


def test_the_percentile_is_shown_and_the_interval_of_the_p_value(shown) -> None:
    book(make(printed=("30.5",))).check_band(ID, GRID)
    payload = shown[0][claims.MIME_TYPE]
    assert payload["finding"].startswith("printed 30.5 at percentile 30; ")
    low, high = payload["interval"]
    assert low < payload["value"] < high


def test_ties_count_one_half(shown) -> None:
    sample = np.repeat([0.0, 1.0], 50)
    book(make(printed=("0",))).check_band(ID, sample)
    assert "percentile 25" in shown[0][claims.MIME_TYPE]["finding"]


@pytest.mark.parametrize("n", [40, 41, 57, 100, 1000])
def test_both_tails_of_a_symmetric_sample_are_alike(n) -> None:
    # |2p - 1| in floating point differs in the last bit between p and 1 - p,
    # so that replicates as extreme as the print were not counted in one tail.
    sample = np.arange(n) - (n - 1) / 2.0
    for number in sample[: n // 2]:
        shares = []
        for sign in (1.0, -1.0):
            checks = book(make(printed=(repr(float(sign * number)),)))
            with contextlib.suppress(VerdictError):
                checks.check_band(ID, sample)
            shares.append(checks.done[0].value)
        assert shares[0] == shares[1]


def test_two_values_are_judged_jointly(shown) -> None:
    # Perfectly correlated replicates, and a print that is ordinary in each
    # coordinate; then one that is out of one band only.
    sample = np.stack([MANY, 2.0 * MANY], axis=1)
    claim = make(printed=("30.5", "100"))
    assert verdict_of(claim, lambda c: c.check_band(ID, sample)) == "reproduced"
    finding = shown[0][claims.MIME_TYPE]["finding"]
    assert "printed 30.5 at percentile 30; printed 100 at percentile" in finding
    claim = make("not reproduced", printed=("50", "250"))
    assert verdict_of(claim, lambda c: c.check_band(ID, sample)) == "not reproduced"


@pytest.mark.parametrize("shape", [(39,), (100, 2), (2, 100), (100, 1, 1), ()])
def test_replicates_have_a_shape(shape) -> None:
    with pytest.raises(ValueError, match=r"an array of shape \(n >= 40, 1\)\. Got an"):
        book(make()).check_band(ID, np.zeros(shape))


def test_replicates_are_finite_and_the_claim_has_numbers() -> None:
    with pytest.raises(ValueError, match="'replicates' parameter of check_band"):
        book(make()).check_band(ID, np.where(GRID == 3, np.nan, GRID))
    with pytest.raises(LedgerError, match="check_band needs printed values"):
        book(make("shown")).check_band(ID, GRID)


def test_a_print_from_our_distribution_is_rejected_once_in_a_million() -> None:
    """Exactly: its p-value is uniform, and must be surely below 5 %."""
    n = 2001
    below = max(k for k in range(1, n) if replicates.share_interval(k, n).high < 0.05)
    # Ranks of the print among n are equally likely: k of them are so extreme.
    assert below / n < 0.05
    # The share alone would reject 5 %; the interval of the share is what costs.
    assert replicates.share_interval(100, n).high > 0.05


# -- check_order --------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "bound", "verdict"),
    [
        ([1.0, 2.0, 3.0], 0.0, "reproduced"),
        ([1.0, 1.0], 0.0, "not reproduced"),
        ([0.3, 0.1 + 0.2], 0.0, "not reproduced"),
        ([0.1 + 0.2, 0.3], 0.0, "not reproduced"),
        ([2.0, 1.0], 0.0, "refuted"),
        ([1.0, 2.0], 0.45, "reproduced"),
        ([1.0, 2.0], 0.5, "not reproduced"),
        ([2.0, 1.0], 0.5, "not reproduced"),
        ([2.0, 1.0], 0.45, "refuted"),
        ([1.0, 3.0, 2.0], 0.1, "refuted"),
        ([1.0, 3.0, 3.1], 0.1, "not reproduced"),
    ],
)
def test_an_order(values, bound, verdict) -> None:
    named = dict(zip("abc", values, strict=False))
    for said in ("reproduced", "refuted", "not reproduced"):
        claim = make(said, kind="ordering", printed=())
        got = verdict_of(claim, lambda c: c.check_order(ID, named, bound=bound))
        assert got == verdict
    got = verdict_of(make("shown"), lambda c: c.check_order(ID, named, bound=bound))
    assert got == ("shown" if verdict == "reproduced" else verdict)


def test_what_check_order_shows(shown) -> None:
    checks = book(make(kind="ordering"))
    checks.check_order(ID, {"first": 0.123456789, "second": 0.987654321}, bound=1e-2)
    payload = shown[0][claims.MIME_TYPE]
    assert payload["finding"] == "first 0.12, second 0.99"
    assert payload["value"] == 0.86


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"a": 1.0}, "'values' parameter of check_order must be a mapping of"),
        ({}, "'values' parameter of check_order must be a mapping of two"),
        ({"a": 1.0, "b": math.inf}, "'values' parameter of check_order must be"),
    ],
)
def test_what_check_order_refuses(values, words) -> None:
    with pytest.raises(ValueError, match=words):
        book(make()).check_order(ID, values)


# -- where a claim applies ----------------------------------------------------

AT = MappingProxyType({"n": 2, "eta": 0.1, "mode": "exact", "private": True})
HERE: dict[str, ledger.Scalar] = dict(AT)

ALL_CHECKS = [
    lambda c: c.check_value(ID, 7.0),
    lambda c: c.check_holds(ID, margin=-1.0, finding="x"),
    lambda c: c.check_equal(ID, gap=1.0, within=1e-9, finding="x"),
    lambda c: c.check_readings(ID, {"a": -1.0, "b": -2.0}, finding="x"),
    lambda c: c.check_band(ID, MANY + 100),
    lambda c: c.check_order(ID, {"a": 2.0, "b": 1.0}),
]


@pytest.mark.parametrize("check", ALL_CHECKS)
def test_at_its_values_a_wrong_verdict_raises(check) -> None:
    for parameters in (HERE, HERE | {"n": 2.0, "eta": 0.1 + 1e-17, "more": 5}):
        with pytest.raises(VerdictError, match="the ledger says 'reproduced'"):
            check(book(make(at=AT), **parameters))


@pytest.mark.parametrize("check", ALL_CHECKS)
@pytest.mark.parametrize(
    "change", [{"n": 3}, {"eta": 0.1001}, {"mode": "fast"}, {"private": False}]
)
def test_elsewhere_nothing_raises(shown, check, change) -> None:
    checks = book(make(at=AT), **HERE | change)
    check(checks)
    payload = shown[0][claims.MIME_TYPE]
    assert payload["verdict"] == "not applicable"
    assert payload["ledger"] == "reproduced"
    (name,) = change
    made = f"(other parameters: the claim is made at {name} = {AT[name]})"
    assert payload["finding"].endswith(made)
    assert payload["value"] is not None
    checks.table()


DIVERGED = [
    lambda c, bad: c.check_value(ID, bad),
    lambda c, bad: c.check_holds(ID, margin=bad, finding="x"),
    lambda c, bad: c.check_holds(
        ID, margin={"a": -1.0}, repaired={"a": bad}, finding="x"
    ),
    lambda c, bad: c.check_equal(ID, gap=abs(bad), within=1e-9, finding="x"),
    lambda c, bad: c.check_readings(ID, {"a": 1.0, "b": bad}, finding="x"),
    lambda c, bad: c.check_band(ID, np.append(GRID, bad)),
    lambda c, bad: c.check_order(ID, {"a": 2.0, "b": bad}),
]


@pytest.mark.parametrize("check", DIVERGED)
@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan, np.float64("nan")])
def test_a_run_that_diverges_raises_only_where_the_claim_is_made(
    shown, check, bad
) -> None:
    checks = book(make(at=AT), **HERE | {"n": 3})
    check(checks, bad)
    payload = shown[0][claims.MIME_TYPE]
    assert payload["verdict"] == "not applicable"
    assert payload["value"] is None
    assert payload["finding"].startswith("no verdict: ")
    checks.table()
    with pytest.raises(ValueError, match="finite"):
        check(book(make(at=AT), **HERE), bad)


@pytest.mark.parametrize(
    "check",
    [
        lambda c: c.check_band(ID, [1.0, 2.0]),
        lambda c: c.check_band(ID, np.ma.masked_less(GRID, 0.5)),
        lambda c: c.check_band(ID, np.asarray(GRID) * 1j),
        lambda c: c.check_value(ID, np.float32("nan")),
        lambda c: c.check_value(ID, 10**400),
        lambda c: c.check_value(ID, 1.0, bound=math.inf),
        lambda c: c.check_value(ID, 1.7e308, bound=1e307),
        lambda c: c.check_holds(ID, margin=1.0, bound=math.nan, finding="x"),
        lambda c: c.check_equal(ID, gap=1.0, within=math.nan, finding="x"),
        lambda c: c.check_order(ID, {"a": 1.0, "b": 2.0}, bound=math.inf),
        lambda c: c.check_order(ID, [1.0, 2.0]),
        lambda c: c.check_band(ID, [[1.0], [1.0, 2.0]]),
    ],
)
@pytest.mark.parametrize("n", [3, None, [2], 10**400])
def test_no_check_raises_at_other_parameters(shown, check, n) -> None:
    checks = book(make(at=AT), **HERE | {"n": n})
    check(checks)
    assert shown[0][claims.MIME_TYPE]["verdict"] == "not applicable"
    assert len(checks.done) == 1


def test_same_integers_exactly(shown) -> None:
    """A float tells 10^15 from its neighbour, a relative tolerance does not."""
    seeds = book(make(at=MappingProxyType({"seed": 10**15})), seed=10**15 + 1)
    seeds.check_value(ID, 7.0)
    assert shown[0][claims.MIME_TYPE]["verdict"] == "not applicable"


@pytest.mark.parametrize("have", [True, np.array([1, 2]), "1", 1j, math.nan])
def test_same_takes_whatever_a_reader_gives(have) -> None:
    assert not any(claims._same(have, want) for want in (2, 0.5, "x", False))


def test_same_numbers_of_any_library() -> None:
    assert claims._same(np.int64(10**15), 10**15)
    assert not claims._same(np.int64(10**15), 10**15 + 1)
    assert claims._same(Fraction(1, 2), 0.5)
    assert claims._same(np.float64(0.1), 0.1)


def test_what_is_no_name_is_one_sentence() -> None:
    for call, name in (
        (claims.open_notebook, "notebook"),
        (claims.printed, "claim_id"),
    ):
        with pytest.raises(TypeError, match=f"^The '{name}' parameter of"):
            call(3)


@pytest.mark.parametrize("ours", ["1e309", "0e400"])
def test_a_number_too_large_for_a_float_agrees_with_none(ours) -> None:
    claim = make(kind="ours", verdict="shown", printed=(), ours=ours)
    with pytest.raises(LedgerError, match="too large for a float"):
        book(claim).check_value(ID, 7.0)


def test_elsewhere_a_right_value_does_not_count_either(shown) -> None:
    book(make(at=AT), **HERE | {"n": 3}).check_value(ID, 0.5)
    assert shown[0][claims.MIME_TYPE]["verdict"] == "not applicable"


@pytest.mark.parametrize("change", [{"n": True}, {"private": 1}, {"mode": 1}])
def test_a_value_of_another_type_is_another_value(change) -> None:
    at = MappingProxyType({"n": 1, "private": True, "mode": "exact"})
    checks = book(make(at=at), **dict(at) | change)
    checks.check_value(ID, 7.0)
    assert checks.done[0].verdict == "not applicable"


@pytest.mark.parametrize("check", ALL_CHECKS)
def test_a_parameter_that_the_notebook_does_not_give(check) -> None:
    with pytest.raises(LedgerError, match=r"made at n = 2; give n to open_notebook"):
        check(book(make(at=AT)))


def test_a_missing_parameter_is_missed_even_where_another_differs() -> None:
    # The first difference used to end the comparison: at n = 3 nobody noticed
    # that the notebook never gives eta.
    with pytest.raises(LedgerError, match="give eta to open_notebook"):
        book(make(at=AT), n=3).check_value(ID, 0.5)


# -- once each, and all of them -----------------------------------------------


@pytest.mark.parametrize("check", ALL_CHECKS)
def test_an_id_that_the_notebook_has_not(check) -> None:
    with pytest.raises(
        LedgerError,
        match=r"^truthful\.x: the ledger assigns no such claim to truthful/01_tiny\. "
        r"It has: truthful\.y\.$",
    ):
        check(book(make(id="truthful.y")))


@pytest.mark.parametrize("check", ALL_CHECKS)
def test_checking_twice(check) -> None:
    checks = book(make())
    checks.check_value(ID, 0.5)
    with pytest.raises(LedgerError, match=r"^truthful\.x: checked twice in truthful"):
        check(checks)


def test_a_parameter_that_papermill_only_warns_of_is_refused(monkeypatch) -> None:
    cells = ["", "n: int = 1\nm = 2", '# Parameters\nproblem_file = "mine.yml"\n']
    shell = SimpleNamespace(user_ns={"In": cells})
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    with pytest.raises(ValueError, match=r"one of m, n\. Got 'problem_file' instead"):
        claims.open_notebook("truthful/05_incentives")
    cells[2] = "# Parameters\nn = 3\n"
    claims.open_notebook("truthful/05_incentives")


def test_a_failed_check_shows_its_line_before_it_raises(shown) -> None:
    with pytest.raises(VerdictError):
        book(make()).check_value(ID, 7.0)
    assert shown[0][claims.MIME_TYPE]["verdict"] == "not reproduced"


def test_the_table_shows_all_and_misses_none(shown) -> None:
    entries = [make(id=f"truthful.{name}") for name in "abc"]
    checks = book(*entries)
    checks.check_value("truthful.b", 0.5)
    with pytest.raises(
        VerdictError, match=r"^truthful/01_tiny: not checked: truthful\.a, truthful\.c"
    ):
        checks.table()
    checks.check_value("truthful.a", 0.5)
    checks.check_value("truthful.c", 0.5)
    checks.table()
    assert claims.MIME_TYPE not in shown[-1]
    assert [line.split(" | ")[1] for line in shown[-1]["text/plain"].splitlines()] == [
        "truthful.b",
        "truthful.a",
        "truthful.c",
    ]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_none_is_refused(value) -> None:
    for check, name in (
        (lambda c: c.check_value(ID, value), "value"),
        (lambda c: c.check_value(ID, 0.5, bound=value), "bound"),
        (holds(value), "margin"),
        (holds({"a": -1.0}, repaired={"a": value}), "repaired"),
    ):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of check_"):
            check(book(make()))


# -- opening a notebook's part of the ledger ----------------------------------

LEDGER = """\
paper: {key: nobody2020, title: A tiny paper, authors: N. Body}
claims:
- {id: truthful.half, where: Theorem 1, kind: number, level: result,
   says: one half, printed: "0.50", at: {n: 2}, verdict: reproduced, evidence: exact,
   notebook: truthful/01_tiny}
- {id: truthful.pair, where: Table 1, kind: number, level: result,
   says: two numbers,
   printed: ["0.10", "2.5e-3"], verdict: open, notebook: null}
- {id: truthful.word, where: Theorem 2, kind: theorem, level: result,
   says: a statement,
   verdict: open, notebook: null}
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "book" / "claims"
    folder.mkdir(parents=True)
    (folder / "truthful.yml").write_text(LEDGER, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("tiny")
class TestOpenNotebook:
    def test_has_the_notebooks_claims_and_parameters(self) -> None:
        checks = claims.open_notebook("truthful/01_tiny", n=2)
        assert list(checks.claims) == ["truthful.half"]
        assert checks.parameters == {"n": 2}
        assert checks.done == []
        checks.check_value("truthful.half", 0.5)
        checks.table()

    def test_two_openings_share_nothing(self) -> None:
        first = claims.open_notebook("truthful/01_tiny", n=2)
        first.check_value("truthful.half", 0.5)
        assert claims.open_notebook("truthful/01_tiny", n=2).done == []

    def test_refuses_a_notebook_without_a_claim(self) -> None:
        with pytest.raises(LedgerError, match=r"no claim has 'notebook: truthful/02_n"):
            claims.open_notebook("truthful/02_none")

    @pytest.mark.parametrize("name", ["01_tiny", "rewards/01_x", "../x/01_tiny", ""])
    def test_refuses_what_is_in_no_chapter(self, name) -> None:
        with pytest.raises(ValueError, match="The 'notebook' parameter of open_note"):
            claims.open_notebook(name)

    def test_printed_numbers(self) -> None:
        assert claims.printed("truthful.half") == (0.5,)
        assert claims.printed("truthful.pair") == (0.1, 0.0025)

    @pytest.mark.parametrize("name", ["truthful.word", "truthful.none", "rewards.x"])
    def test_no_printed_number(self, name) -> None:
        with pytest.raises(LedgerError, match="has no printed number for it"):
            claims.printed(name)
