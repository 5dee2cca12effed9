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
    hockey_stick,
    log_hockey_stick,
    max_divergence,
    privacy_loss,
    smooth,
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


def test_impossible_outcomes() -> None:
    p, q = np.log([0.25, 0.75]), np.array([-np.inf, 0.0])
    assert privacy_loss(log_p=p, log_q=q)[0] == math.inf
    assert privacy_loss(log_p=q, log_q=p)[0] == -math.inf
    assert max_divergence(log_p=p, log_q=q) == math.inf
    assert max_divergence(log_p=q, log_q=p) == pytest.approx(math.log(4 / 3))
    assert hockey_stick(log_p=p, log_q=q, epsilon=100.0) == pytest.approx(0.25)
    apart = {"log_p": [0.0, -np.inf], "log_q": [-np.inf, 0.0]}
    assert hockey_stick(**apart, epsilon=50.0) == 1.0


def test_outcomes_that_both_laws_exclude_change_nothing() -> None:
    p, q = np.append(P, -np.inf), np.append(Q, -np.inf)
    assert privacy_loss(log_p=p, log_q=q)[-1] == 0.0
    assert max_divergence(log_p=p, log_q=q) == max_divergence(log_p=P, log_q=Q)
    for epsilon in (0.0, 0.5):
        ours = log_hockey_stick(log_p=p, log_q=q, epsilon=epsilon)
        assert ours == log_hockey_stick(log_p=P, log_q=Q, epsilon=epsilon)


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
@given(laws(), st.integers(0, 2**32))
def test_a_random_channel_never_raises_a_divergence(pair, seed) -> None:
    channel = stream(seed).dirichlet(np.ones(4), pair.shape[-1])
    with np.errstate(divide="ignore"):
        after = np.log(np.exp(pair) @ channel)
    for epsilon in (0.0, 0.5, 2.0):
        fine = hockey_stick(log_p=pair[0], log_q=pair[1], epsilon=epsilon)
        coarse = hockey_stick(log_p=after[0], log_q=after[1], epsilon=epsilon)
        assert coarse <= fine + 1e-12
    most = max_divergence(log_p=after[0], log_q=after[1])
    assert most <= max_divergence(log_p=pair[0], log_q=pair[1]) + 1e-12


@quick
@given(laws())
def test_the_curve_ends_at_the_max_divergence(pair) -> None:
    p, q = pair
    largest = float(max_divergence(log_p=p, log_q=q))
    if math.isfinite(largest):
        assert log_hockey_stick(log_p=p, log_q=q, epsilon=largest) == -math.inf
        if largest > 1e-6:
            below = largest * (1.0 - 1e-9)
            assert log_hockey_stick(log_p=p, log_q=q, epsilon=below) > -math.inf


@quick
@given(laws(), laws())
def test_product_laws_add_their_max_divergences(one, two) -> None:
    p = (one[0][:, None] + two[0]).ravel()
    q = (one[1][:, None] + two[1]).ravel()
    added = max_divergence(log_p=one[0], log_q=one[1]) + max_divergence(
        log_p=two[0], log_q=two[1]
    )
    assert max_divergence(log_p=p, log_q=q) == pytest.approx(added, abs=1e-12)


def test_a_max_divergence_is_never_negative() -> None:
    # q sums to a little more than one, within the tolerance: every loss is negative.
    p = np.log([0.5, 0.5])
    assert max_divergence(log_p=p, log_q=p + 0.9e-9) == 0.0


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


# --- broken variants -----------------------------------------------------------


def test_definition_catches_dropped_losses() -> None:
    # A curve that keeps only the larger half of the positive losses.
    p, q = np.log([0.3, 0.3, 0.4]), np.log([0.1, 0.25, 0.65])
    loss = privacy_loss(log_p=p, log_q=q)
    kept = loss >= np.median(loss[loss > 0.0])
    broken = direct(p[kept], q[kept], 0.0)
    assert hockey_stick(log_p=p, log_q=q, epsilon=0.0) == pytest.approx(0.25)
    assert broken < 0.21


# --- smoothing -----------------------------------------------------------------


@pytest.mark.parametrize("nu", [1e-300, 1e-8, 1e-3, 1.0, 1e6])
def test_smoothing_has_the_loss_of_the_unnormalised_sums(nu) -> None:
    # log(p + nu) - log(q + nu) over the union of the supports.
    p = np.array([-np.inf, math.log(0.25), math.log(0.75), -np.inf])
    q = np.array([math.log(0.5), math.log(0.5), -np.inf, -np.inf])
    after = {"log_p": smooth(log_p=p, nu=nu), "log_q": smooth(log_p=q, nu=nu)}
    ours = privacy_loss(**after)
    expected = np.log(np.exp(p) + nu) - np.log(np.exp(q) + nu)
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-14)
    assert ours[-1] == 0.0  # an outcome outside both supports
    assert max_divergence(log_p=p, log_q=q) == math.inf
    # It is a mixture with the uniform distribution: no divergence grows.
    for epsilon in (0.0, 0.5, 3.0):
        before = hockey_stick(log_p=p, log_q=q, epsilon=epsilon)
        mixed = before / (1.0 + 4.0 * nu) + 1e-14
        assert hockey_stick(**after, epsilon=epsilon) <= mixed


def test_smoothing_by_nothing_changes_nothing() -> None:
    np.testing.assert_array_equal(smooth(log_p=P, nu=0.0), P)
    batch = smooth(log_p=np.stack([P, Q]), nu=0.3)
    np.testing.assert_allclose(logsumexp(batch, axis=-1), 0.0, atol=1e-15)
