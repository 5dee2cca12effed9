"""Divergences of discrete laws: exact values, many digits, and their inequalities."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from dplib.privacy.divergence import (
    NORMALISATION_TOLERANCE,
    epsilon_at,
    hockey_stick,
    log_hockey_stick,
    log_law,
    max_divergence,
    privacy_loss,
)
from dplib.rng import stream

quick = settings(max_examples=150, deadline=None, derandomize=True, database=None)

P = np.log([0.5, 0.3, 0.2])
Q = np.log([0.2, 0.3, 0.5])


@st.composite
def laws(draw: st.DrawFn, rows: int = 2) -> np.ndarray:
    """Random log laws over the same outcomes, some of them impossible."""
    outcomes = draw(st.integers(2, 7))
    weight = st.one_of(st.floats(-30.0, 3.0), st.just(-math.inf))
    table = [draw(st.lists(weight, min_size=outcomes, max_size=outcomes))]
    for _ in range(rows - 1):
        table.append(draw(st.lists(weight, min_size=outcomes, max_size=outcomes)))
    logits = np.array(table)
    logits[:, 0] = np.where(np.isneginf(logits).all(axis=1), 0.0, logits[:, 0])
    return logits - logsumexp(logits, axis=-1, keepdims=True)


def merged(log_laws: np.ndarray, groups: list[int]) -> np.ndarray:
    """The laws after outcomes with the same group number are merged."""
    labels = np.array(groups)[: log_laws.shape[-1]]
    cells = [
        logsumexp(np.where(labels == g, log_laws, -np.inf), axis=-1)
        for g in np.unique(labels)
    ]
    return np.stack(cells, axis=-1)


def direct(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The hockey stick as it is defined, with no care for small numbers."""
    return float(np.sum(np.maximum(np.exp(p) - np.exp(epsilon) * np.exp(q), 0.0)))


# --- exact values --------------------------------------------------------------


def test_exact_values() -> None:
    ln = math.log
    np.testing.assert_allclose(
        privacy_loss(log_p=P, log_q=Q), [ln(2.5), 0, -ln(2.5)], atol=1e-15
    )
    assert max_divergence(log_p=P, log_q=Q) == pytest.approx(ln(2.5))
    curve = hockey_stick(log_p=P, log_q=Q, epsilon=[0.0, ln(2.0), ln(2.5), 5.0])
    np.testing.assert_allclose(curve, [0.3, 0.1, 0.0, 0.0], atol=1e-15)
    assert epsilon_at(log_p=P, log_q=Q, delta=0.0) == pytest.approx(ln(2.5))
    assert epsilon_at(log_p=P, log_q=Q, delta=0.1) == pytest.approx(ln(2.0))
    assert epsilon_at(log_p=P, log_q=Q, delta=0.31) == 0.0
    assert epsilon_at(log_p=P, log_q=P, delta=0.0) == 0.0


def test_impossible_outcomes() -> None:
    p, q = np.log([0.25, 0.75]), np.array([-np.inf, 0.0])
    assert privacy_loss(log_p=p, log_q=q)[0] == math.inf
    assert privacy_loss(log_p=q, log_q=p)[0] == -math.inf
    assert max_divergence(log_p=p, log_q=q) == math.inf
    assert max_divergence(log_p=q, log_q=p) == pytest.approx(math.log(4 / 3))
    assert hockey_stick(log_p=p, log_q=q, epsilon=100.0) == pytest.approx(0.25)
    assert epsilon_at(log_p=p, log_q=q, delta=0.2499) == math.inf
    # From q to p the least loss is -inf, and it plays no part.
    assert epsilon_at(log_p=q, log_q=p, delta=0.0) == pytest.approx(math.log(4 / 3))


def test_outcomes_that_both_laws_exclude_change_nothing() -> None:
    p, q = np.append(P, -np.inf), np.append(Q, -np.inf)
    assert privacy_loss(log_p=p, log_q=q)[-1] == 0.0
    assert max_divergence(log_p=p, log_q=q) == max_divergence(log_p=P, log_q=Q)
    for epsilon in (0.0, 0.5):
        ours = log_hockey_stick(log_p=p, log_q=q, epsilon=epsilon)
        assert ours == log_hockey_stick(log_p=P, log_q=Q, epsilon=epsilon)


def test_disjoint_laws() -> None:
    p, q = np.array([0.0, -np.inf]), np.array([-np.inf, 0.0])
    assert hockey_stick(log_p=p, log_q=q, epsilon=50.0) == 1.0
    assert epsilon_at(log_p=p, log_q=q, delta=0.999) == math.inf
    assert epsilon_at(log_p=p, log_q=q, delta=1.0) == 0.0


def test_the_laws_in_the_wrong_order_give_another_number() -> None:
    p, q = np.log([0.01, 0.99]), np.log([0.001, 0.999])
    right = max_divergence(log_p=p, log_q=q)
    swapped = max_divergence(log_p=q, log_q=p)
    assert right == pytest.approx(math.log(10.0))
    assert swapped < 0.01  # so one order alone would pass as private
    with pytest.raises(TypeError, match="positional"):
        max_divergence(p, q)


def test_batches() -> None:
    p, q = np.stack([P, Q, P]), np.stack([Q, P, P])
    levels = np.array([[0.0, 0.5], [1.0, 2.0]])
    batch = log_hockey_stick(log_p=p, log_q=q, epsilon=levels)
    assert batch.shape == (3, 2, 2)
    for i in range(3):
        single = log_hockey_stick(log_p=p[i], log_q=q[i], epsilon=levels)
        np.testing.assert_array_equal(batch[i], single)
        assert max_divergence(log_p=p, log_q=q)[i] == max_divergence(
            log_p=p[i], log_q=q[i]
        )
    ours = epsilon_at(log_p=p.reshape(1, 3, 3), log_q=q.reshape(1, 3, 3), delta=0.1)
    np.testing.assert_allclose(ours, [[math.log(2), math.log(2), 0.0]])
    assert log_hockey_stick(log_p=p, log_q=q, epsilon=[]).shape == (3, 0)


# --- small numbers -------------------------------------------------------------


@pytest.mark.parametrize("exponent", [-1e-3, -50.0, -690.0, -20_000.0])
def test_log_curve_against_many_digits(exponent) -> None:
    # A rare outcome with loss 2, beside one that carries all the mass.
    p = np.array([exponent, np.log(-np.expm1(exponent))])
    q = np.array([exponent - 2.0, np.log(-np.expm1(exponent - 2.0))])
    for epsilon in (0.0, 0.7, 2.0 - 1e-9):
        with mpmath.workdps(50):
            term = 1 - mpmath.exp(mpmath.mpf(epsilon) - mpmath.mpf(p[0] - q[0]))
            exact = float(mpmath.mpf(p[0]) + mpmath.log(term))
        ours = log_hockey_stick(log_p=p, log_q=q, epsilon=epsilon)
        assert ours == pytest.approx(exact, rel=1e-14, abs=1e-13)


def test_delta_of_1e_minus_300_round_trips() -> None:
    # log p = -600, loss 100: delta(epsilon) runs from e^-600 down to 0.
    p, q = np.array([-600.0, 0.0]), np.array([-700.0, 0.0])
    epsilon = float(epsilon_at(log_p=p, log_q=q, delta=1e-300))
    with mpmath.workdps(60):
        exact = 100 + mpmath.log(1 - mpmath.mpf(1e-300) * mpmath.exp(600))
    assert epsilon == pytest.approx(float(exact), rel=1e-15)
    near = float(epsilon_at(log_p=p, log_q=q, delta=2.6e-261))
    back = log_hockey_stick(log_p=p, log_q=q, epsilon=near)
    assert back == pytest.approx(math.log(2.6e-261), rel=1e-14)
    assert hockey_stick(log_p=p, log_q=q, epsilon=near) == pytest.approx(
        2.6e-261, rel=1e-11, abs=0
    )


# --- properties ----------------------------------------------------------------


@quick
@given(laws(), st.lists(st.floats(0.0, 40.0), min_size=1, max_size=5))
def test_curve_is_the_definition_and_falls(pair, levels) -> None:
    p, q = pair
    levels = sorted(levels)
    curve = hockey_stick(log_p=p, log_q=q, epsilon=levels)
    expected = [direct(p, q, level) for level in levels]
    np.testing.assert_allclose(curve, expected, atol=1e-13)
    assert np.all(np.diff(curve) <= 0.0)


@quick
@given(laws())
def test_total_variation_is_symmetric(pair) -> None:
    p, q = pair
    there = hockey_stick(log_p=p, log_q=q, epsilon=0.0)
    back = hockey_stick(log_p=q, log_q=p, epsilon=0.0)
    assert there == pytest.approx(back, abs=1e-12)
    assert there == pytest.approx(0.5 * np.abs(np.exp(p) - np.exp(q)).sum(), abs=1e-12)


@quick
@given(
    laws(), st.floats(0.0, 10.0), st.lists(st.integers(0, 3), min_size=7, max_size=7)
)
def test_merging_outcomes_never_raises_a_divergence(pair, epsilon, groups) -> None:
    p, q = pair
    coarse_p, coarse_q = merged(pair, groups)
    fine = log_hockey_stick(log_p=p, log_q=q, epsilon=epsilon)
    coarse = log_hockey_stick(log_p=coarse_p, log_q=coarse_q, epsilon=epsilon)
    assert math.exp(coarse) <= math.exp(fine) + 1e-13
    assert (
        max_divergence(log_p=coarse_p, log_q=coarse_q)
        <= max_divergence(log_p=p, log_q=q) + 1e-12
    )


@quick
@given(laws(), st.integers(0, 2**32))
def test_a_random_channel_never_raises_a_divergence(pair, seed) -> None:
    channel = stream(seed).dirichlet(np.ones(4), pair.shape[-1])
    with np.errstate(divide="ignore"):
        after = np.log(np.exp(pair) @ channel)
    for epsilon in (0.0, 0.5, 2.0):
        fine = hockey_stick(log_p=pair[0], log_q=pair[1], epsilon=epsilon)
        coarse = hockey_stick(log_p=after[0], log_q=after[1], epsilon=epsilon)
        assert coarse <= fine + 1e-12


@quick
@given(laws())
def test_the_curve_ends_at_the_max_divergence(pair) -> None:
    p, q = pair
    largest = float(max_divergence(log_p=p, log_q=q))
    assert epsilon_at(log_p=p, log_q=q, delta=0.0) == largest
    if math.isfinite(largest):
        assert log_hockey_stick(log_p=p, log_q=q, epsilon=largest) == -math.inf
        if largest > 1e-6:
            below = largest * (1.0 - 1e-9)
            assert log_hockey_stick(log_p=p, log_q=q, epsilon=below) > -math.inf


@quick
@given(laws(), st.floats(-40.0, 0.0))
def test_epsilon_at_inverts_the_curve(pair, log_delta) -> None:
    p, q = pair
    delta = math.exp(log_delta)
    epsilon = float(epsilon_at(log_p=p, log_q=q, delta=delta))
    if epsilon == math.inf:
        only_p = np.exp(logsumexp(np.where(np.isneginf(q), p, -np.inf)))
        assert only_p > delta * (1.0 - 1e-12)
    elif epsilon == 0.0:
        assert hockey_stick(log_p=p, log_q=q, epsilon=0.0) <= delta * (1.0 + 1e-9)
    else:
        # The least such epsilon: no more than delta here, and more just below.
        above = hockey_stick(log_p=p, log_q=q, epsilon=epsilon * (1 + 1e-12) + 1e-12)
        below = hockey_stick(log_p=p, log_q=q, epsilon=max(0.0, epsilon - 1e-9))
        assert above <= delta * (1.0 + 1e-9)
        assert below > delta * (1.0 - 1e-9)


@quick
@given(laws(), laws())
def test_product_laws_add_their_max_divergences(one, two) -> None:
    p = (one[0][:, None] + two[0]).ravel()
    q = (one[1][:, None] + two[1]).ravel()
    added = max_divergence(log_p=one[0], log_q=one[1]) + max_divergence(
        log_p=two[0], log_q=two[1]
    )
    assert max_divergence(log_p=p, log_q=q) == pytest.approx(added, abs=1e-12)


def test_delta_just_below_a_knot_of_the_curve() -> None:
    # Where the curve is flat to the last bit between two losses far apart, the
    # answer is either of the two; it must neither fail nor leave the interval.
    top = [1e-3, 0.1, 0.3, 0.7]
    for mass in top:
        p = np.log([mass, (1 - mass) / 2, (1 - mass) / 2])
        q = np.array([-90.0, p[1] - 20.0, 0.0])
        q[2] = np.log1p(-np.exp(q[0]) - np.exp(q[1]))
        delta = mass
        for _ in range(4):
            delta = math.nextafter(delta, 0.0)
            epsilon = epsilon_at(log_p=p, log_q=q, delta=delta)
            assert 20.0 - 1e-9 <= epsilon <= 90.0


def test_exact_rational_curve() -> None:
    p = [Fraction(k, 36) for k in (1, 2, 3, 4, 5, 6, 15)]
    q = p[::-1]
    log_p = np.log([float(x) for x in p])
    log_q = np.log([float(x) for x in q])
    for ratio in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(14)):
        exact = sum(max(a - ratio * b, Fraction(0)) for a, b in zip(p, q, strict=True))
        level = math.log(ratio)
        ours = hockey_stick(log_p=log_p, log_q=log_q, epsilon=level)
        assert ours == pytest.approx(float(exact), rel=1e-14)
        if exact > 0:
            back = epsilon_at(log_p=log_p, log_q=log_q, delta=float(exact))
            assert back == pytest.approx(level, abs=1e-14)


# --- broken variants -----------------------------------------------------------


def test_definition_catches_dropped_losses() -> None:
    # A curve that keeps only the larger half of the positive losses.
    p, q = np.log([0.3, 0.3, 0.4]), np.log([0.1, 0.25, 0.65])
    loss = privacy_loss(log_p=p, log_q=q)
    kept = loss >= np.median(loss[loss > 0.0])
    broken = direct(p[kept], q[kept], 0.0)
    assert hockey_stick(log_p=p, log_q=q, epsilon=0.0) == pytest.approx(0.25)
    assert broken < 0.21


def test_definition_catches_swapped_laws() -> None:
    p, q = np.log([0.1, 0.9]), np.log([0.01, 0.99])
    expected = direct(p, q, 1.0)
    assert hockey_stick(log_p=p, log_q=q, epsilon=1.0) == pytest.approx(expected)
    assert abs(hockey_stick(log_p=q, log_q=p, epsilon=1.0) - expected) > 0.05


# --- arguments -----------------------------------------------------------------


def test_laws_must_be_normalised_within_the_stated_tolerance() -> None:
    good = P + 0.9 * NORMALISATION_TOLERANCE
    assert math.isfinite(max_divergence(log_p=good, log_q=P))
    for shift in (1.1 * NORMALISATION_TOLERANCE, -0.01, 1.0):
        with pytest.raises(ValueError, match=r"'log_q' .* must be normalised"):
            max_divergence(log_p=P, log_q=P + shift)
    with pytest.raises(ValueError, match=r"Got -0\.0512933 instead"):
        max_divergence(log_p=np.stack([P, P + math.log(0.95)]), log_q=[Q, Q])
    with pytest.raises(ValueError, match="Got -inf instead"):
        log_law("log_p", [-np.inf, -np.inf], "f")


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ([0.0, np.nan], ValueError),
        ([0.0, np.inf], ValueError),
        ([], ValueError),
        (0.0, ValueError),
        ([[0.0], [0.0, 0.0]], ValueError),
        (["a"], TypeError),
        ([0j], TypeError),
    ],
)
def test_what_is_no_law(value, error) -> None:
    with pytest.raises(error, match="an array of log probabilities"):
        privacy_loss(log_p=value, log_q=[0.0])


def test_other_arguments() -> None:
    with pytest.raises(ValueError, match=r"an array of shape \(3,\), that of log_p"):
        privacy_loss(log_p=P, log_q=np.log([0.5, 0.5]))
    with pytest.raises(ValueError, match="The 'epsilon' parameter of hockey_stick"):
        hockey_stick(log_p=P, log_q=Q, epsilon=-1.0)
    with pytest.raises(ValueError, match="The 'delta' parameter of epsilon_at"):
        epsilon_at(log_p=P, log_q=Q, delta=-1e-9)
