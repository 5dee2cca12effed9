"""Leakage: exact values, supports that differ, and intervals that hold the truth."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.macroscopic.distribution import Distribution, aligned, observe, summed
from dplib.macroscopic.leakage import (
    between,
    identification,
    leakage,
    two_sided_delta,
)
from dplib.macroscopic.swarm import TypeChange


def of(probabilities, error=0.0):
    """Return a distribution over 0, 1, ... ; what is None is not listed."""
    listed = [(k, p) for k, p in enumerate(probabilities) if p is not None]
    rows = np.array([[k] for k, _ in listed])
    with np.errstate(divide="ignore"):
        return Distribution(rows, np.log([float(p) for _, p in listed]), error)


SEEN = of([Fraction(1, 45), Fraction(14, 45), Fraction(2, 3)])
SEEN_TOO = of([Fraction(1, 25), Fraction(2, 5), Fraction(14, 25)])


def test_the_example_of_section_3_leaks_ln_9_5():
    found = between(SEEN, SEEN_TOO, nu=0.0)
    assert found.value == pytest.approx(log(9 / 5), abs=1e-14)
    assert found.outcome == (0,)
    assert found.low == found.value == found.high


def test_leakage_is_symmetric_and_smoothing_only_lowers_it():
    for nu in (0.0, 1e-6, 1e-2, 1.0):
        there, back = between(SEEN, SEEN_TOO, nu=nu), between(SEEN_TOO, SEEN, nu=nu)
        assert there.value == pytest.approx(back.value, abs=1e-15)
    values = [between(SEEN, SEEN_TOO, nu=nu).value for nu in (0, 1e-4, 1e-2, 1)]
    assert values == sorted(values, reverse=True)


def test_supports_that_differ_leak_everything_or_what_nu_says():
    here, there = of([0.5, 0.5]), of([None, 0.5, 0.5])
    assert between(here, there, nu=0.0).value == np.inf
    smoothed = between(here, there, nu=1e-5)
    assert smoothed.value == pytest.approx(log((0.5 + 1e-5) / 1e-5), abs=1e-12)
    assert smoothed.outcome in {(0,), (2,)}


def test_smoothing_does_not_depend_on_what_both_exclude():
    """The union of the supports decides: rows of probability 0 change nothing."""
    plain = between(of([0.25, 0.75]), of([0.5, 0.5]), nu=1e-3).value
    more = between(of([0.25, 0.75, 0, 0]), of([0.5, 0.5, 0]), nu=1e-3).value
    assert plain == pytest.approx(more, abs=1e-14)
    assert plain == pytest.approx(log(0.501 / 0.251), abs=1e-14)


def test_probabilities_below_the_smallest_float_decide():
    p = Distribution(np.array([[0], [1]]), np.array([0.0, -2000.0]))
    q = Distribution(np.array([[0], [1]]), np.array([0.0, -2010.0]))
    assert between(p, q, nu=0.0).value == 10.0
    assert between(p, q, nu=0.0).outcome == (1,)


def test_smoothing_below_a_hundred_times_the_error_is_refused():
    rough = of([0.5, 0.5], error=1e-7)
    with pytest.raises(ValueError, match="'nu' parameter of leakage must be such that"):
        between(rough, SEEN, nu=0.99e-5)
    assert between(rough, of([0.5, 0.5]), nu=1.01e-5).value == 0.0
    with pytest.raises(ValueError, match="nu"):
        between(SEEN, SEEN, nu=-1.0)


@settings(deadline=None)
@given(
    st.lists(st.floats(0.01, 1), min_size=4, max_size=4),
    st.lists(st.floats(0.01, 1), min_size=4, max_size=4),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_the_interval_holds_the_truth(p, q, frm, to):
    """Whatever moves by less than the certified error stays in the interval."""
    p, q = np.array(p) / sum(p), np.array(q) / sum(q)
    error = min(1e-3, p[frm] / 2)
    true = p.copy()
    true[frm] -= error
    true[to] += error
    nu = max(100 * error, 1e-3)
    certified = between(of(p, error), of(q), nu=nu)
    exact = between(of(true), of(q), nu=nu).value
    assert certified.low - 1e-12 <= exact <= certified.high + 1e-12
    assert certified.low <= certified.value <= certified.high


def test_lost_mass_is_an_outcome_of_its_own():
    """What a truncation lost may be anywhere: no error of normalisation is raised."""
    cut = Distribution(np.array([[0]]), np.log([0.999]), error=1e-3)
    assert (
        between(cut, of([1.0]), nu=0.2).high
        > between(of([1.0]), of([1.0]), nu=0.2).high
    )


def test_leakage_is_the_largest_over_the_neighbours():
    def coin(counts):
        share = counts[0] / sum(counts)
        return of([share, 1 - share])

    found = leakage(coin, (2, 2), nu=0.0, adjacency=TypeChange())
    assert found.value == pytest.approx(log(2), abs=1e-14)
    assert found.neighbour in {(1, 3), (3, 1)}
    one_way = leakage(coin, (2, 3), nu=0.0, adjacency=TypeChange(moves=((1, 0),)))
    assert (one_way.neighbour, one_way.outcome) == ((3, 2), (0,))
    assert one_way.value == pytest.approx(log(3 / 2), abs=1e-14)
    # A type that is empty next door: without it no outcome is impossible there.
    assert leakage(coin, (1, 2), nu=0.0, adjacency=TypeChange()).value == np.inf
    filled = TypeChange(empty_types=False)
    assert leakage(coin, (1, 2), nu=0.0, adjacency=filled).value == pytest.approx(
        log(2), abs=1e-14
    )


def test_nobody_adjacent_leaks_nothing():
    alone = leakage(lambda _: SEEN, (0, 0), nu=0.0, adjacency=TypeChange())
    assert (alone.value, alone.neighbour) == (0.0, ())


def test_the_curve_needs_no_smoothing():
    deltas = two_sided_delta(SEEN, SEEN_TOO, [0.0, log(9 / 5)])
    # At 0 the total variation distance, 2/3 - 14/25; at the leakage nothing is left.
    assert deltas[0] == pytest.approx(2 / 3 - 14 / 25, abs=1e-14)
    assert deltas[1] == pytest.approx(0.0, abs=1e-14)
    # Disjoint supports: everything, at every epsilon.
    apart = two_sided_delta(of([1.0]), of([None, 1.0]), [0.0, 50.0])
    assert apart.tolist() == [1.0, 1.0]


def test_both_orders_of_the_curve_count():
    p, q = of([0.5, 0.5]), of([0.1, 0.9])
    e = log(2)  # there: (0.5 - 0.2); back: (0.9 - 1.0) is nothing
    assert two_sided_delta(p, q, [e])[0] == pytest.approx(0.3, abs=1e-14)
    assert two_sided_delta(q, p, [e])[0] == pytest.approx(0.3, abs=1e-14)


def test_the_best_guess():
    assert identification(SEEN, SEEN_TOO) == pytest.approx(
        0.5 + (2 / 3 - 14 / 25) / 2, abs=1e-14
    )
    assert identification(of([1.0]), of([None, 1.0])) == 1.0
    assert identification(SEEN, SEEN_TOO, prior=1.0) == pytest.approx(1.0, abs=1e-14)
    with pytest.raises(ValueError, match="prior"):
        identification(SEEN, SEEN, prior=1.5)


# -- distributions ----------------------------------------------------------------


def test_equal_rows_add_up_and_come_in_order():
    rows = np.array([[2, 0], [0, 3], [2, 0], [0, 1]])
    found = summed(rows, np.log([0.1, 0.2, 0.3, 0.4]))
    assert found.outcomes.tolist() == [[0, 1], [0, 3], [2, 0]]
    np.testing.assert_allclose(np.exp(found.log_p), [0.4, 0.2, 0.4], rtol=1e-14)
    assert found.log_probability((2, 0)) == pytest.approx(log(0.4), abs=1e-14)
    assert found.log_probability((1, 1)) == -np.inf
    np.testing.assert_allclose(found.mean(), [0.8, 1.0], rtol=1e-14)


def test_observing_sums_the_states_with_the_same_sight():
    states = Distribution(
        np.array([[0, 2, 1], [1, 1, 1], [2, 0, 0]]), np.log([0.5, 0.25, 0.25])
    )
    seen = observe(states, np.array([[1, 1, 0], [0, 0, 1]]))
    assert seen.outcomes.tolist() == [[2, 0], [2, 1]]
    np.testing.assert_allclose(np.exp(seen.log_p), [0.25, 0.75], rtol=1e-14)


def test_the_union_of_two_supports():
    union, p, q = aligned(of([0.5, None, 0.5]), of([None, 1.0]))
    assert union.ravel().tolist() == [0, 1, 2]
    assert np.isneginf(p).tolist() == [False, True, False]
    assert np.isneginf(q).tolist() == [True, False, True]
