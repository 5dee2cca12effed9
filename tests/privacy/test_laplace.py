"""The Laplace mechanism: calibration, density, noise, and a sampled audit.

The audit is a second witness beside the exact profile: from samples alone it
proves a lower bound on epsilon. With ALPHA split over its two Clopper-Pearson
bounds it exceeds the true epsilon with probability below 1e-6.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dplib.privacy.gaussian import gaussian_mechanism
from dplib.privacy.laplace import (
    laplace_epsilon,
    laplace_log_density,
    laplace_mechanism,
    laplace_scale,
)
from dplib.rng import stream

ALPHA = 9e-7
DRAWS = 200_000

quick = settings(max_examples=200, deadline=None, derandomize=True, database=None)
positive = st.floats(1e-100, 1e100)


# --- calibration ---------------------------------------------------------------


@quick
@given(positive, positive)
def test_scale_keeps_its_promise_and_is_the_least(sensitivity, epsilon) -> None:
    scale = laplace_scale(sensitivity=sensitivity, epsilon=epsilon)
    assert sensitivity / scale <= epsilon
    assert Fraction(sensitivity) / Fraction(scale) <= Fraction(epsilon)
    smaller = math.nextafter(scale, 0.0)
    assert Fraction(sensitivity) / Fraction(smaller) > Fraction(epsilon)


@quick
@given(positive, positive)
def test_round_trip(sensitivity, epsilon) -> None:
    scale = laplace_scale(sensitivity=sensitivity, epsilon=epsilon)
    back = laplace_epsilon(sensitivity=sensitivity, scale=scale)
    assert back <= epsilon
    assert back == pytest.approx(epsilon, rel=5e-16, abs=0)


@quick
@given(positive, positive)
def test_epsilon_is_never_below_the_quotient(sensitivity, scale) -> None:
    epsilon = laplace_epsilon(sensitivity=sensitivity, scale=scale)
    assert Fraction(epsilon) >= Fraction(sensitivity) / Fraction(scale)


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


def test_ends() -> None:
    assert laplace_epsilon(sensitivity=0.0, scale=1.0) == 0.0
    assert laplace_epsilon(sensitivity=1e308, scale=1e-308) == math.inf
    with pytest.raises(ValueError, match="sensitivity / epsilon is a finite float"):
        laplace_scale(sensitivity=1e308, epsilon=1e-308)


def test_arguments_cannot_be_swapped_in_silence() -> None:
    with pytest.raises(TypeError, match="positional"):
        laplace_scale(1.0, 2.0)
    with pytest.raises(TypeError, match="positional"):
        laplace_epsilon(1.0, 2.0)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["sensitivity", "epsilon"])
def test_bad_calibration(name, value) -> None:
    arguments = {"sensitivity": 1.0, "epsilon": 1.0} | {name: value}
    with pytest.raises(ValueError, match=f"The '{name}' parameter of laplace_scale"):
        laplace_scale(**arguments)


# --- density and noise ---------------------------------------------------------


def test_density_against_scipy() -> None:
    x = np.linspace(-5.0, 7.0, 25)
    scale = np.array([[0.5], [1.0], [30.0]])
    ours = laplace_log_density(x, scale=scale)
    np.testing.assert_allclose(ours, stats.laplace.logpdf(x, scale=scale), rtol=1e-14)
    assert laplace_log_density(-1e300, scale=1.0) == -1e300


def test_noise_has_the_law_of_its_scale() -> None:
    # Kolmogorov-Smirnov at 1e-6; half the noise is far outside.
    scale = np.array([0.5, 20.0])
    noise = laplace_mechanism(np.zeros((20_000, 2)), scale=scale, rng=stream(1, "ks"))
    for column, b in zip(noise.T, scale, strict=True):
        assert stats.kstest(column, stats.laplace(scale=b).cdf).pvalue > 1e-6
        assert stats.kstest(column, stats.laplace(scale=b / 2).cdf).pvalue < 1e-12
    assert abs(np.corrcoef(noise.T)[0, 1]) < 6 / math.sqrt(20_000)


def test_noise_is_added_to_the_value_once_per_entry() -> None:
    noise = laplace_mechanism(np.zeros((2, 3)), scale=2.0, rng=stream(2))
    value = np.arange(6.0).reshape(2, 3)
    released = laplace_mechanism(value, scale=2.0, rng=stream(2))
    np.testing.assert_array_equal(released, value + noise)
    assert len(np.unique(noise)) == 6
    assert np.ndim(laplace_mechanism(1.0, scale=2.0, rng=stream(2))) == 0


def test_a_value_is_never_released_twice() -> None:
    # A scale of shape (2, 3) would send two noisy copies of a value of shape (3,).
    with pytest.raises(ValueError, match=r"broadcasts to shape \(3,\)"):
        laplace_mechanism(np.zeros(3), scale=np.ones((2, 3)), rng=stream(3))


def test_bad_mechanism() -> None:
    with pytest.raises(ValueError, match="positive in every entry"):
        laplace_mechanism([0.0, 0.0], scale=[1.0, 0.0], rng=stream(3))
    with pytest.raises(TypeError, match=r"must be a numpy\.random\.Generator"):
        laplace_mechanism([0.0], scale=1.0, rng=np.random)
    with pytest.raises(ValueError, match="an array of finite numbers"):
        laplace_mechanism([np.nan], scale=1.0, rng=stream(3))


@pytest.mark.parametrize(("value", "scale"), [(1.7e308, 1e308), (1e17, 1.0)])
def test_noise_that_floats_cannot_add_is_refused(value, scale) -> None:
    # It came out as infinity, or the value itself came back.
    match = "at least the spacing of floats at the value, and small enough"
    with pytest.raises(ValueError, match=match):
        laplace_mechanism([0.0, value], scale=scale, rng=stream(3))
    with pytest.raises(ValueError, match=match):
        gaussian_mechanism(value=[0.0, value], sigma=scale, rng=stream(3))


# --- sampled audit -------------------------------------------------------------


def audited_epsilon(
    value: np.ndarray, shift: np.ndarray, scale: float, key: str
) -> float:
    """Lower bound on epsilon from the event that every entry is beyond its shift."""

    def count(datum: np.ndarray, side: str) -> int:
        stacked = np.broadcast_to(datum, (DRAWS, *datum.shape))
        released = laplace_mechanism(stacked, scale=scale, rng=stream(5, key, side))
        return int(np.count_nonzero(np.all(released > value + shift, axis=-1)))

    high, low = count(value + shift, "high"), count(value, "low")
    at_least = stats.beta.ppf(ALPHA / 2, high, DRAWS - high + 1)
    at_most = stats.beta.ppf(1 - ALPHA / 2, low + 1, DRAWS - low)
    return float(np.log(at_least / at_most))


def test_audit_agrees_with_the_claim() -> None:
    scale = laplace_scale(sensitivity=1.0, epsilon=1.0)
    bound = audited_epsilon(np.zeros(1), np.ones(1), scale, "scalar")
    assert 0.95 < bound <= 1.0


def test_audit_catches_half_the_noise() -> None:
    scale = laplace_scale(sensitivity=1.0, epsilon=1.0) / 2
    assert audited_epsilon(np.zeros(1), np.ones(1), scale, "scalar") > 1.9


def test_audit_catches_the_l2_norm() -> None:
    # Four entries move by 1 each: 4 in l1, 2 in l2.
    shift = np.ones(4)
    right = laplace_scale(sensitivity=float(np.linalg.norm(shift, 1)), epsilon=1.0)
    wrong = laplace_scale(sensitivity=float(np.linalg.norm(shift, 2)), epsilon=1.0)
    assert audited_epsilon(np.zeros(4), shift, right, "vector") <= 1.0
    assert audited_epsilon(np.zeros(4), shift, wrong, "vector") > 1.7


def test_the_densities_catch_the_l2_norm_and_half_the_noise() -> None:
    def loss(scale: float) -> float:
        shift = np.ones(4)
        beyond = np.full(4, 3.0)
        there = laplace_log_density(beyond - shift, scale=scale)
        here = laplace_log_density(beyond, scale=scale)
        return float(np.sum(there - here))

    assert loss(laplace_scale(sensitivity=4.0, epsilon=1.0)) == pytest.approx(1.0)
    assert loss(laplace_scale(sensitivity=2.0, epsilon=1.0)) > 1.9
    assert loss(laplace_scale(sensitivity=4.0, epsilon=1.0) / 2) > 1.9


def test_numbers_that_no_float_equals() -> None:
    # 1/3 was rounded to nearest first, and the epsilon was below 1/3.
    third = Fraction(1, 3)
    assert Fraction(laplace_epsilon(sensitivity=third, scale=1)) >= third
    assert third / Fraction(laplace_scale(sensitivity=third, epsilon=3)) <= 3


def test_shapes_of_a_density_that_do_not_match() -> None:
    with pytest.raises(ValueError, match=r"broadcasts against shape \(3,\)"):
        laplace_log_density([0.0, 1.0, 2.0], scale=[1.0, 2.0])
