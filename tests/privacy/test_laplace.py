"""The Laplace mechanism: calibration, exact curve, and a sampled audit.

The audit is a second witness beside the exact curve: from samples alone it proves a
lower bound on epsilon. With ALPHA split over its two Clopper-Pearson bounds it exceeds
the true epsilon with probability below 1e-6.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from dplib.privacy.laplace import laplace_delta, laplace_epsilon, laplace_scale
from dplib.rng import stream

ALPHA = 9e-7
DRAWS = 200_000

quick = settings(max_examples=200, deadline=None, derandomize=True, database=None)
positive = st.floats(1e-30, 1e30)
# --- calibration ---------------------------------------------------------------


@quick
@given(positive, positive)
def test_scale_keeps_its_promise_and_is_the_least(sensitivity, epsilon) -> None:
    scale = laplace_scale(sensitivity=sensitivity, epsilon=epsilon)
    assert sensitivity / scale <= epsilon
    assert Fraction(sensitivity) / Fraction(scale) <= Fraction(epsilon)
    smaller = math.nextafter(scale, 0.0)
    assert Fraction(sensitivity) / Fraction(smaller) > Fraction(epsilon)
    back = laplace_epsilon(sensitivity=sensitivity, scale=scale)
    assert Fraction(sensitivity) / Fraction(scale) <= Fraction(back)
    assert back <= epsilon
    assert back == pytest.approx(epsilon, rel=5e-16, abs=0)


def test_rounding_to_nearest_would_break_the_promise() -> None:
    broken = [
        (s, e)
        for s in range(1, 30)
        for e in (0.1, 0.3, 0.7, 1.1)
        if Fraction(s) / Fraction(s / e) > Fraction(e)
    ]
    assert len(broken) > 20


def test_a_scale_rounded_down_for_print_claims_too_much() -> None:
    # A table that prints 10.92 for 4 * 3 / ln 3 = 10.9229...
    exact = laplace_scale(sensitivity=12.0, epsilon=math.log(3.0))
    assert exact == pytest.approx(10.92287, abs=5e-6)
    assert laplace_epsilon(sensitivity=12.0, scale=10.92) > math.log(3.0)


# --- the exact curve -----------------------------------------------------------


def integrated_delta(epsilon: float, shift: float, scale: float) -> float:
    """The hockey stick of the two densities, by quadrature."""

    def excess(y: float) -> float:
        p = stats.laplace.pdf(y, scale=scale)
        q = stats.laplace.pdf(y, shift, scale)
        return max(p - math.exp(epsilon) * q, 0.0)

    # The integrand has kinks at 0 and shift, and where the two densities meet.
    kink = min(max((shift - epsilon * scale) / 2.0, 0.0), shift)
    edges = sorted({-40.0 * scale, 0.0, kink, shift, shift + 40.0 * scale})
    parts = [
        integrate.quad(excess, a, b, epsabs=1e-13, epsrel=1e-13)[0]
        for a, b in itertools.pairwise(edges)
    ]
    return math.fsum(parts)


@pytest.mark.parametrize(
    ("epsilon", "shift", "scale"),
    [(0.0, 1.0, 1.0), (0.5, 1.0, 1.0), (1.0, 3.0, 2.0), (2.0, 6.0, 1.5)],
)
def test_curve_by_quadrature_which_notices_half_the_noise(
    epsilon, shift, scale
) -> None:
    ours = laplace_delta(epsilon=epsilon, shift=shift, scale=scale)
    assert ours == pytest.approx(integrated_delta(epsilon, shift, scale), abs=1e-11)
    assert integrated_delta(epsilon, shift, scale / 2) > ours + 0.05


def test_exact_values() -> None:
    at = np.array([0.0, 2.0 - 2.0 * math.log(2.0), 2.0, 3.0])
    ours = laplace_delta(epsilon=at, shift=4.0, scale=2.0)
    np.testing.assert_allclose(ours, [1 - math.exp(-1), 0.5, 0.0, 0.0], atol=1e-15)
    assert laplace_delta(epsilon=0.0, shift=0.0, scale=1.0) == 0.0
    total_variation = stats.laplace.cdf(0.85, scale=0.6) * 2 - 1
    ours = laplace_delta(epsilon=0.0, shift=1.7, scale=0.6)
    assert ours == pytest.approx(total_variation)


def test_no_digits_are_lost_near_the_end_of_the_curve() -> None:
    epsilon = 1.0 - 3 * 2.0**-53
    with mpmath.workdps(60):
        exact = float(1 - mpmath.exp((mpmath.mpf(epsilon) - 1) / 2))
    ours = laplace_delta(epsilon=epsilon, shift=1.0, scale=1.0)
    assert ours == pytest.approx(exact, rel=1e-15, abs=0)
    naive = 1.0 - math.exp((epsilon - 1.0) / 2.0)
    assert naive != pytest.approx(exact, rel=0.1, abs=0)


# --- sampled audit -------------------------------------------------------------


def audited_epsilon(shift: np.ndarray, scale: float, key: str) -> float:
    """Lower bound on epsilon from the event that every entry is beyond its shift."""

    def count(datum: np.ndarray, side: str) -> int:
        noise = stream(5, key, side).laplace(0.0, scale, (DRAWS, *shift.shape))
        return int(np.count_nonzero(np.all(datum + noise > shift, axis=-1)))

    high, low = count(shift, "high"), count(np.zeros_like(shift), "low")
    at_least = stats.beta.ppf(ALPHA / 2, high, DRAWS - high + 1)
    at_most = stats.beta.ppf(1 - ALPHA / 2, low + 1, DRAWS - low)
    return float(np.log(at_least / at_most))


def test_audit_agrees_with_the_claim_and_catches_half_the_noise() -> None:
    scale = laplace_scale(sensitivity=1.0, epsilon=1.0)
    assert 0.95 < audited_epsilon(np.ones(1), scale, "scalar") <= 1.0
    assert audited_epsilon(np.ones(1), scale / 2, "scalar") > 1.9


def test_audit_catches_the_l2_norm() -> None:
    # Four entries move by 1 each: 4 in l1, 2 in l2.
    shift = np.ones(4)
    right = laplace_scale(sensitivity=float(np.linalg.norm(shift, 1)), epsilon=1.0)
    wrong = laplace_scale(sensitivity=float(np.linalg.norm(shift, 2)), epsilon=1.0)
    assert audited_epsilon(shift, right, "vector") <= 1.0
    assert audited_epsilon(shift, wrong, "vector") > 1.7
