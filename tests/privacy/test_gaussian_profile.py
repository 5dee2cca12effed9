"""The exact privacy curve of Gaussian noise, against fifty digits and an accountant."""

from __future__ import annotations

import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from dplib.privacy.gaussian_profile import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_log_delta,
)

quick = settings(max_examples=100, deadline=None, derandomize=True, database=None)


def exact_log_delta(ratio: float, epsilon: float) -> float:
    """The textbook difference, in enough digits that nothing cancels."""
    with mpmath.workdps(120):
        u, e = mpmath.mpf(ratio), mpmath.mpf(epsilon)

        def cdf(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

        value = cdf(u / 2 - e / u) - mpmath.exp(e) * cdf(-u / 2 - e / u)
        return float(mpmath.log(value))


@quick
@given(
    log_ratio=st.floats(math.log(1e-3), math.log(50)),
    quantile=st.floats(-37.0, 37.0),
)
def test_log_delta_from_1e_300_and_epsilon_to_1000(log_ratio, quantile):
    ratio = math.exp(log_ratio)
    epsilon = min(max(0.0, ratio * (ratio / 2 + quantile)), 1000.0)
    ours = float(gaussian_log_delta(sensitivity=ratio, sigma=1.0, epsilon=epsilon))
    exact = exact_log_delta(ratio, epsilon)
    assert ours == pytest.approx(exact, abs=1e-12, rel=1e-14)


@pytest.mark.parametrize(
    ("ratio", "epsilon"),
    [(1e-9, 0.0), (1e-9, 1e-9), (1e-6, 3e-6), (1e-3, 1e-6), (0.5, 700.0), (0.02, 40.0)],
)
def test_small_shifts_and_far_tails_do_not_cancel(ratio, epsilon):
    ours = float(gaussian_log_delta(sensitivity=ratio, sigma=1.0, epsilon=epsilon))
    assert ours == pytest.approx(exact_log_delta(ratio, epsilon), abs=1e-12, rel=1e-14)


def test_the_textbook_difference_fails_where_ours_does_not():
    """The mutation: both terms in floating point, in the open."""
    u, e = 0.02, 0.15
    naive = stats.norm.cdf(u / 2 - e / u) - math.exp(e) * stats.norm.cdf(-u / 2 - e / u)
    exact = math.exp(exact_log_delta(u, e))
    assert abs(naive / exact - 1) > 1e-13
    ours = float(gaussian_delta(sensitivity=u, sigma=1.0, epsilon=e))
    assert abs(ours / exact - 1) < 1e-13
    with pytest.raises(OverflowError):
        math.exp(720.0)  # its factor, where the curve itself is harmless
    assert 0.0 < gaussian_delta(sensitivity=36.0, sigma=1.0, epsilon=720.0) < 1.0


@pytest.mark.parametrize(("ratio", "epsilon"), [(0.4, 0.2), (1.0, 1.0), (3.0, 5.0)])
def test_delta_is_the_hockey_stick_integral(ratio, epsilon):
    def excess(y: float) -> float:
        gap = stats.norm.pdf(y, ratio) - math.exp(epsilon) * stats.norm.pdf(y)
        return max(gap, 0.0)

    start = ratio / 2 + epsilon / ratio  # there the two densities cross
    integral = integrate.quad(excess, start, start + 12.0, epsabs=1e-14)[0]
    ours = gaussian_delta(sensitivity=ratio, sigma=1.0, epsilon=epsilon)
    assert float(ours) == pytest.approx(integral, abs=1e-12)


@pytest.mark.parametrize(
    ("noise", "delta"), [(0.7, 1e-5), (2.52441, 0.01), (13.2, 0.1)]
)
def test_epsilon_agrees_with_an_accountant(noise, delta):
    """dp-accounting discretises the loss; its answer is an upper bound."""
    accountant = dp_accounting.pld.PLDAccountant(
        value_discretization_interval=1e-4,
        neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_SPECIAL,
    )
    accountant.compose(dp_accounting.GaussianDpEvent(noise))
    theirs = accountant.get_epsilon(delta)
    ours = gaussian_epsilon(sensitivity=1.0, sigma=noise, delta=delta)
    assert ours - 1e-9 <= theirs <= ours + 1e-3


@quick
@given(
    ratio=st.floats(1e-3, 20.0),
    log_delta=st.floats(math.log(1e-300), -1e-12),
)
def test_epsilon_inverts_the_curve_on_the_private_side(ratio, log_delta):
    delta = math.exp(log_delta)
    epsilon = gaussian_epsilon(sensitivity=ratio, sigma=1.0, delta=delta)
    curve = gaussian_log_delta(sensitivity=ratio, sigma=1.0, epsilon=epsilon)
    assert float(curve) <= math.log(delta)
    if epsilon > 0.0:
        less = gaussian_log_delta(
            sensitivity=ratio,
            sigma=1.0,
            epsilon=max(0.0, epsilon - 1e-9 * (1 + epsilon)),
        )
        assert float(less) > math.log(delta) - 1e-11 * (1 - delta)


def test_ends_of_the_scale():
    assert gaussian_epsilon(sensitivity=1.0, sigma=1.0, delta=0.0) == math.inf
    assert gaussian_epsilon(sensitivity=1.0, sigma=1.0, delta=1.0) == 0.0
    total_variation = math.erf(0.5 / math.sqrt(2))
    at_zero = gaussian_delta(sensitivity=1.0, sigma=1.0, epsilon=0.0)
    assert float(at_zero) == pytest.approx(total_variation, rel=1e-14)


def test_curve_falls_with_epsilon_and_rises_with_sensitivity():
    grid = np.linspace(0.0, 50.0, 400)
    small = gaussian_log_delta(sensitivity=1.0, sigma=1.0, epsilon=grid)
    large = gaussian_log_delta(sensitivity=1.1, sigma=1.0, epsilon=grid)
    assert np.all(np.diff(small) < 0.0)
    assert np.all(large > small)


def test_extreme_arguments_are_answered_or_refused():
    """Named bug: ratios beyond 1e100 divided by zero, and overflowed with warnings."""
    for sensitivity, sigma in ((1e-300, 1e300), (1e300, 1e-300), (1e-200, 1.0)):
        with pytest.raises(ValueError, match="times 'sigma'"):
            gaussian_delta(sensitivity=sensitivity, sigma=sigma, epsilon=1.0)
    far = gaussian_delta(sensitivity=1.0, sigma=1.0, epsilon=[1e200, 1e308])
    assert far.tolist() == [0.0, 0.0]
    small = gaussian_log_delta(sensitivity=1e-90, sigma=1.0, epsilon=1e-90)
    assert float(small) == pytest.approx(
        math.log(1e-90) + math.log(0.0833154705876), 1e-9
    )


def test_epsilon_where_delta_is_nearly_one():
    """Named bug: the allowance was relative to delta, not to its complement."""
    delta = 1.0 - 2.0**-50
    epsilon = gaussian_epsilon(sensitivity=20.0, sigma=1.0, delta=delta)
    with mpmath.workdps(60):
        u, e = mpmath.mpf(20), mpmath.mpf(epsilon)
        kept = mpmath.erfc((u / 2 - e / u) / mpmath.sqrt(2)) / 2
        kept += mpmath.exp(e) * mpmath.erfc((u / 2 + e / u) / mpmath.sqrt(2)) / 2
        assert float(kept * 2**50) == pytest.approx(1.0, rel=1e-9)
        assert kept >= mpmath.mpf(2) ** -50


@pytest.mark.parametrize(
    ("sensitivity", "sigma"),
    [
        (300.0, 1.0),
        (7e4, 1.0),
        (7.1e5, 0.7),
        (2158312.0, 1.0),
        (1e7, 3.0),
        (12345678.9, 1.1),
        (9.9e7, 1.0),
        (1e8, 1.0),
    ],
)
@pytest.mark.parametrize("delta", [1e-300, 1e-5, 0.1, 0.5, 0.9, 1 - 1e-9, 1 - 2.0**-50])
def test_epsilon_is_private_up_to_the_largest_ratio(sensitivity, sigma, delta):
    """Named bug: above 7e4 the rounding of u/2 - epsilon/u outgrew the allowance."""
    epsilon = gaussian_epsilon(sensitivity=sensitivity, sigma=sigma, delta=delta)
    with mpmath.workdps(60):
        u, e = mpmath.mpf(sensitivity) / mpmath.mpf(sigma), mpmath.mpf(epsilon)

        def exact(e: mpmath.mpf) -> mpmath.mpf:
            first, second = u / 2 - e / u, -u / 2 - e / u
            return mpmath.ncdf(first) - mpmath.exp(e) * mpmath.ncdf(second)

        assert exact(e) <= mpmath.mpf(delta)
        assert exact(e - 1e-10 * (1 + e)) > mpmath.mpf(delta)


def test_log_delta_is_finite_where_the_difference_underflows():
    """Named bug: -inf where the logarithm is -5e237."""
    for ratio, epsilon in ((1e-99, 1e20), (1e-99, 1e6), (1e-20, 1e130), (1e50, 1e200)):
        ours = float(gaussian_log_delta(sensitivity=ratio, sigma=1.0, epsilon=epsilon))
        exact = exact_far_log_delta(ratio, epsilon)
        assert ours == pytest.approx(exact, rel=1e-14)
    far = gaussian_log_delta(sensitivity=1.0, sigma=1.0, epsilon=1e155)
    assert float(far) == -math.inf  # the logarithm itself is below all floats


def exact_far_log_delta(ratio: float, epsilon: float) -> float:
    """The log of the leading term, phi(a) u / center^2, with center = epsilon/u."""
    with mpmath.workdps(400):
        u, center = mpmath.mpf(ratio), mpmath.mpf(epsilon) / mpmath.mpf(ratio)
        a = u / 2 - center
        density = -a * a / 2 - mpmath.log(2 * mpmath.pi) / 2
        return float(density + mpmath.log(u) - 2 * mpmath.log(center))


def test_delta_next_to_one_is_one():
    assert gaussian_delta(sensitivity=20.0, sigma=1.0, epsilon=0.0) == 1.0


def test_shapes():
    grid = np.ones((2, 3))
    assert gaussian_delta(sensitivity=1.0, sigma=1.0, epsilon=grid).shape == (2, 3)
    assert np.ndim(gaussian_delta(sensitivity=1.0, sigma=1.0, epsilon=1.0)) == 0


def test_arguments_are_checked_and_keyword_only():
    with pytest.raises(TypeError):
        gaussian_delta(1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="'sigma' parameter of gaussian_delta"):
        gaussian_delta(sensitivity=1.0, sigma=0.0, epsilon=1.0)
    with pytest.raises(ValueError, match="'epsilon' parameter of gaussian_log_delta"):
        gaussian_log_delta(sensitivity=1.0, sigma=1.0, epsilon=-1.0)
    with pytest.raises(ValueError, match="at least 1e-300"):
        gaussian_epsilon(sensitivity=1.0, sigma=1.0, delta=1e-305)
