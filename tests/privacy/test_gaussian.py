"""Gaussian noise: three calibrations, and the exact curve.

The curve is held against many digits, quadrature and an accountant.
"""

from __future__ import annotations

import math
from functools import partial

import dp_accounting
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from dplib.privacy import gaussian

quick = settings(max_examples=100, deadline=None, derandomize=True, database=None)
EPSILONS = st.floats(0.01, 300.0)
DELTAS = st.floats(-200.0, math.log(0.499)).map(math.exp)


def log_delta(sigma: float, epsilon: float, sensitivity: float = 1.0) -> float:
    return float(
        gaussian.gaussian_log_delta(
            sensitivity=sensitivity, sigma=sigma, epsilon=epsilon
        )
    )


def exact_delta(ratio: float | mpmath.mpf, epsilon: float | mpmath.mpf) -> mpmath.mpf:
    """The textbook difference; within `mpmath.workdps` nothing cancels."""
    u, e = mpmath.mpf(ratio), mpmath.mpf(epsilon)
    first, second = mpmath.ncdf(u / 2 - e / u), mpmath.ncdf(-u / 2 - e / u)
    return first - mpmath.exp(e) * second


def exact_log_delta(ratio: float, epsilon: float) -> float:
    with mpmath.workdps(120):
        return float(mpmath.log(exact_delta(ratio, epsilon)))


@pytest.mark.parametrize(
    ("epsilon", "printed"), [(0.1, 23.48), (1.0, 2.524), (5.0, 0.6251), (10, 0.3684)]
)
def test_kappa_sigma_with_fifty_digits(epsilon, printed):
    """The print of Table 1 is met to a unit of its last digit (0.6251 to one)."""
    with mpmath.workdps(50):
        e, delta = mpmath.mpf(epsilon), mpmath.mpf(0.01)
        quantile = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * delta)
        exact = (quantile + mpmath.sqrt(quantile**2 + 2 * e)) / (2 * e)
    ours = gaussian.kappa_sigma(sensitivity=1.0, epsilon=epsilon, delta=0.01)
    assert ours == pytest.approx(float(exact), rel=1e-14)
    assert ours == pytest.approx(printed, rel=3e-4)


@quick
@given(EPSILONS, DELTAS)
def test_kappa_drops_exactly_the_second_term_of_the_curve(epsilon, delta):
    sigma = gaussian.kappa_sigma(sensitivity=1.0, epsilon=epsilon, delta=delta)
    first_term = special.log_ndtr(0.5 / sigma - epsilon * sigma)
    assert first_term == pytest.approx(math.log(delta), rel=1e-9, abs=1e-9)
    assert log_delta(sigma, epsilon) < math.log(delta)


@quick
@given(EPSILONS, DELTAS, st.floats(1e-3, 1e3))
def test_analytic_sigma_is_private_and_least(epsilon, delta, sensitivity):
    sigma = gaussian.analytic_sigma(
        sensitivity=sensitivity, epsilon=epsilon, delta=delta
    )
    assert log_delta(sigma, epsilon, sensitivity) <= math.log(delta)
    assert log_delta(sigma * (1 - 1e-9), epsilon, sensitivity) > math.log(delta)
    assert sigma < gaussian.kappa_sigma(
        sensitivity=sensitivity, epsilon=epsilon, delta=delta
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [(0.1, 0.1, 2.847), (1.0, 0.1, 1.0859), (1.0, 0.01, 1.87788), (10.0, 1e-5, 0.4999)],
)
def test_analytic_sigma_at_published_values(epsilon, delta, sigma):
    ours = gaussian.analytic_sigma(sensitivity=1.0, epsilon=epsilon, delta=delta)
    assert ours == pytest.approx(sigma, abs=6e-5 if sigma < 2 else 6e-4)


@quick
@given(st.floats(0.01, 0.999), DELTAS)
def test_classic_sigma_is_private_below_one(epsilon, delta):
    sigma = gaussian.classic_sigma(sensitivity=1.0, epsilon=epsilon, delta=delta)
    assert log_delta(sigma, epsilon) <= math.log(delta)


def test_classic_sigma_is_the_textbook_rule():
    # log(1.25/delta) = 8. With 1 for 1.25 it would still pass the test above.
    delta = 1.25 * math.exp(-8.0)
    sigma = gaussian.classic_sigma(sensitivity=1.0, epsilon=0.5, delta=delta)
    assert sigma == pytest.approx(8.0, rel=1e-12)


def test_classic_sigma_refuses_where_it_is_not_private():
    """The rule at epsilon = 10 and delta = 1e-5 gives 0.4845; 0.4999 is needed."""
    rule = math.sqrt(2 * math.log(1.25 / 1e-5)) / 10.0
    assert log_delta(rule, 10.0) > math.log(1e-5)
    with pytest.raises(ValueError, match="analytic_sigma"):
        gaussian.classic_sigma(sensitivity=1.0, epsilon=10.0, delta=1e-5)


@pytest.mark.parametrize("calibrate", [gaussian.kappa_sigma, gaussian.analytic_sigma])
def test_half_the_noise_is_caught(calibrate):
    sigma = calibrate(sensitivity=1.0, epsilon=1.0, delta=0.01)
    assert log_delta(sigma, 1.0) <= math.log(0.01)
    assert log_delta(sigma / 2, 1.0) > math.log(0.01)


def test_ten_releases_under_replacement_have_one_answer():
    """Ten releases with noise twice the clipping norm, one record replaced.

    The 2-norm sensitivity of all ten together is sqrt(10) times twice the norm; an
    accountant that takes replacing for adding reports 8.079 in place of 17.857.
    """
    both = gaussian.group_sensitivity(sensitivity=2.0, entries=10)
    epsilon = gaussian.gaussian_epsilon(sensitivity=both, sigma=2.0, delta=1e-5)
    assert epsilon == pytest.approx(17.857, abs=1e-3)


@pytest.mark.parametrize("epsilon", [1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("delta", [1e-9, 0.1])
def test_kappa_sigma_is_private_for_every_epsilon_that_it_takes(epsilon, delta):
    """The exact curve in sixty digits, also where it would underflow in floats."""
    sigma = gaussian.kappa_sigma(sensitivity=1.0, epsilon=epsilon, delta=delta)
    with mpmath.workdps(60):
        assert exact_delta(1 / mpmath.mpf(sigma), epsilon) <= delta


@pytest.mark.parametrize("ratio", [1e3, 1e5, 1e7, 1e8])
@pytest.mark.parametrize("delta", [0.9, 0.5, 1e-5, 1e-300])
def test_epsilon_of_next_to_no_noise_is_found_on_the_private_side(ratio, delta):
    epsilon = gaussian.gaussian_epsilon(sensitivity=ratio, sigma=1.0, delta=delta)
    # The first term of the curve gives u²/2 - u Phi^-1(delta). The second one takes
    # phi/u off a curve that falls by phi/u for each unit of epsilon: 1 less.
    leading = ratio * (ratio / 2 - special.ndtri(delta))
    assert epsilon == pytest.approx(leading - 1.0, rel=1e-9, abs=0.05)
    found = gaussian.gaussian_delta(sensitivity=ratio, sigma=1.0, epsilon=epsilon)
    assert found <= delta


# --- the exact curve -----------------------------------------------------------


@quick
@given(
    log_ratio=st.floats(math.log(1e-3), math.log(50)),
    quantile=st.floats(-37.0, 37.0),
)
def test_log_delta_from_1e_300_and_epsilon_to_1000(log_ratio, quantile):
    ratio = math.exp(log_ratio)
    epsilon = min(max(0.0, ratio * (ratio / 2 + quantile)), 1000.0)
    exact = exact_log_delta(ratio, epsilon)
    assert log_delta(1.0, epsilon, ratio) == pytest.approx(exact, abs=1e-12, rel=1e-14)


@pytest.mark.parametrize(
    ("ratio", "epsilon"),
    [(1e-9, 0.0), (1e-9, 1e-9), (1e-6, 3e-6), (1e-3, 1e-6), (0.5, 700.0), (0.02, 40.0)],
)
def test_small_shifts_and_far_tails_do_not_cancel(ratio, epsilon):
    exact = exact_log_delta(ratio, epsilon)
    assert log_delta(1.0, epsilon, ratio) == pytest.approx(exact, abs=1e-12, rel=1e-14)


def test_the_textbook_difference_fails_where_ours_does_not():
    """The mutation: both terms in floating point, in the open."""
    u, e = 0.02, 0.15
    naive = stats.norm.cdf(u / 2 - e / u) - math.exp(e) * stats.norm.cdf(-u / 2 - e / u)
    exact = math.exp(exact_log_delta(u, e))
    assert abs(naive / exact - 1) > 1e-13
    ours = float(gaussian.gaussian_delta(sensitivity=u, sigma=1.0, epsilon=e))
    assert abs(ours / exact - 1) < 1e-13
    with pytest.raises(OverflowError):
        math.exp(720.0)  # its factor, where the curve itself is harmless
    assert (
        0.0 < gaussian.gaussian_delta(sensitivity=36.0, sigma=1.0, epsilon=720.0) < 1.0
    )


@pytest.mark.parametrize(("ratio", "epsilon"), [(0.4, 0.2), (1.0, 1.0), (3.0, 5.0)])
def test_delta_is_the_hockey_stick_integral(ratio, epsilon):
    def excess(y: float) -> float:
        gap = stats.norm.pdf(y, ratio) - math.exp(epsilon) * stats.norm.pdf(y)
        return max(gap, 0.0)

    start = ratio / 2 + epsilon / ratio  # there the two densities cross
    integral = integrate.quad(excess, start, start + 12.0, epsabs=1e-14)[0]
    ours = gaussian.gaussian_delta(sensitivity=ratio, sigma=1.0, epsilon=epsilon)
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
    ours = gaussian.gaussian_epsilon(sensitivity=1.0, sigma=noise, delta=delta)
    assert ours - 1e-9 <= theirs <= ours + 1e-3


@quick
@given(
    ratio=st.floats(1e-3, 20.0),
    log_delta=st.floats(math.log(1e-300), -1e-12),
)
def test_epsilon_inverts_the_curve_on_the_private_side(ratio, log_delta):
    delta = math.exp(log_delta)
    epsilon = gaussian.gaussian_epsilon(sensitivity=ratio, sigma=1.0, delta=delta)
    curve = partial(gaussian.gaussian_log_delta, sensitivity=ratio, sigma=1.0)
    assert float(curve(epsilon=epsilon)) <= math.log(delta)
    if epsilon > 0.0:
        less = max(0.0, epsilon - 1e-9 * (1 + epsilon))
        assert float(curve(epsilon=less)) > math.log(delta) - 1e-11 * (1 - delta)


def test_ends_of_the_scale():
    assert gaussian.gaussian_epsilon(sensitivity=1.0, sigma=1.0, delta=0.0) == math.inf
    assert gaussian.gaussian_epsilon(sensitivity=1.0, sigma=1.0, delta=1.0) == 0.0
    total_variation = math.erf(0.5 / math.sqrt(2))
    at_zero = gaussian.gaussian_delta(sensitivity=1.0, sigma=1.0, epsilon=0.0)
    assert float(at_zero) == pytest.approx(total_variation, rel=1e-14)


def test_epsilon_where_delta_is_nearly_one():
    """Named bug: the allowance was relative to delta, not to its complement."""
    delta = 1.0 - 2.0**-50
    epsilon = gaussian.gaussian_epsilon(sensitivity=20.0, sigma=1.0, delta=delta)
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
    epsilon = gaussian.gaussian_epsilon(
        sensitivity=sensitivity, sigma=sigma, delta=delta
    )
    with mpmath.workdps(60):
        u, e = mpmath.mpf(sensitivity) / mpmath.mpf(sigma), mpmath.mpf(epsilon)
        assert exact_delta(u, e) <= mpmath.mpf(delta)
        assert exact_delta(u, e - 1e-10 * (1 + e)) > mpmath.mpf(delta)
