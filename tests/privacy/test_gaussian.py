"""Three calibrations of Gaussian noise, and which of them hold what they promise."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from dplib.privacy import gaussian
from dplib.rng import stream

quick = settings(max_examples=100, deadline=None, derandomize=True, database=None)
EPSILONS = st.floats(0.01, 300.0)
DELTAS = st.floats(-200.0, math.log(0.499)).map(math.exp)


def log_delta(sigma: float, epsilon: float, sensitivity: float = 1.0) -> float:
    return float(
        gaussian.gaussian_log_delta(
            sensitivity=sensitivity, sigma=sigma, epsilon=epsilon
        )
    )


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


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.1), (1.0, 0.01), (5.0, 0.3)])
def test_with_kappa_more_than_epsilon_leaks_with_probability_delta(epsilon, delta):
    sigma = gaussian.kappa_sigma(sensitivity=1.0, epsilon=epsilon, delta=delta)
    y = stats.norm.ppf((np.arange(10**6) + 0.5) / 10**6, 1.0, sigma)
    loss = stats.norm.logpdf(y, 1.0, sigma) - stats.norm.logpdf(y, 0.0, sigma)
    assert np.mean(loss > epsilon) == pytest.approx(delta, abs=2e-6)


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


def test_classic_sigma_refuses_where_it_is_not_private():
    """The rule at epsilon = 10 and delta = 1e-5 gives 0.4845; 0.4999 is needed."""
    rule = math.sqrt(2 * math.log(1.25 / 1e-5)) / 10.0
    assert log_delta(rule, 10.0) > math.log(1e-5)
    with pytest.raises(ValueError, match="analytic_sigma"):
        gaussian.classic_sigma(sensitivity=1.0, epsilon=10.0, delta=1e-5)
    with pytest.raises(ValueError, match="must be below 1"):
        gaussian.classic_sigma(sensitivity=1.0, epsilon=1.0, delta=1e-5)


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


def test_group_of_all_entries():
    assert gaussian.group_sensitivity(sensitivity=1.0, entries=1280) == pytest.approx(
        35.777, abs=1e-3
    )


def test_mechanism_adds_noise_of_the_stated_deviation():
    """Chance of failing below 1e-9 (chi-square with 40000 degrees of freedom)."""
    value = np.arange(40_000.0).reshape(200, 200)
    noisy = gaussian.gaussian_mechanism(
        value=value, sigma=3.0, rng=stream(2026, "test gaussian")
    )
    square = float(((noisy - value) ** 2).sum() / 9.0)
    low, high = stats.chi2.ppf([5e-10, 1 - 5e-10], 40_000)
    assert low < square < high
    assert not low < square / 4 < high  # half the deviation would be seen


@pytest.mark.parametrize("delta", [0.0, 0.5, -0.1, 0.9, math.nan])
def test_kappa_wants_delta_between_0_and_one_half(delta):
    """The paper's closed end 0 has an infinite quantile; 1/2 it excludes itself."""
    with pytest.raises(ValueError, match="'delta' parameter of kappa"):
        gaussian.kappa(epsilon=1.0, delta=delta)


def test_arguments_are_checked():
    for calibrate in (
        gaussian.kappa_sigma,
        gaussian.analytic_sigma,
        gaussian.classic_sigma,
    ):
        with pytest.raises(TypeError):
            calibrate(1.0, 0.5, 0.1)
        with pytest.raises(ValueError, match="'sensitivity' parameter"):
            calibrate(sensitivity=0.0, epsilon=0.5, delta=0.1)
        with pytest.raises(ValueError, match="'epsilon' parameter"):
            calibrate(sensitivity=1.0, epsilon=-0.5, delta=0.1)
        with pytest.raises(ValueError, match="'delta' parameter"):
            calibrate(sensitivity=1.0, epsilon=0.5, delta=1.5)
    with pytest.raises(ValueError, match="at most 1000"):
        gaussian.analytic_sigma(sensitivity=1.0, epsilon=2000.0, delta=0.1)
    with pytest.raises(TypeError, match="'rng' parameter"):
        gaussian.gaussian_mechanism(value=[0.0], sigma=1.0, rng=1)


def test_huge_epsilon_does_not_overflow_kappa():
    value = gaussian.kappa(epsilon=1e308, delta=0.1)
    assert value == pytest.approx(math.sqrt(2.0) * 1e154, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("delta", [1e-9, 0.1])
def test_kappa_sigma_is_private_for_every_epsilon_that_it_takes(epsilon, delta):
    """The exact curve in sixty digits, also where it would underflow in floats."""
    sigma = gaussian.kappa_sigma(sensitivity=1.0, epsilon=epsilon, delta=delta)
    with mpmath.workdps(60):
        u, e = 1 / mpmath.mpf(sigma), mpmath.mpf(epsilon)
        first = mpmath.ncdf(u / 2 - e / u)
        second = mpmath.exp(e + mpmath.log(mpmath.ncdf(-u / 2 - e / u)))
        assert first - second <= delta


@pytest.mark.parametrize("epsilon", [1.1e12, 1e17, 1e100, 1e308])
def test_kappa_sigma_refuses_epsilon_where_its_room_is_below_rounding(epsilon):
    """Named bug: at 1e100 the true delta of the returned deviation was 1, not 0.1."""
    with pytest.raises(ValueError, match=r"'epsilon' .* kappa_sigma .* at most 1e\+12"):
        gaussian.kappa_sigma(sensitivity=1.0, epsilon=epsilon, delta=0.1)


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-300, 0.1, 0.4999999999])
def test_kappa_sigma_is_private_to_its_ends(epsilon, delta):
    sigma = gaussian.kappa_sigma(sensitivity=1.0, epsilon=epsilon, delta=delta)
    assert log_delta(sigma, epsilon) < math.log(delta)


@pytest.mark.parametrize("calibrate", [gaussian.kappa_sigma, gaussian.classic_sigma])
def test_too_small_an_epsilon_is_blamed_for_an_infinite_deviation(calibrate):
    """Named bug: the sensitivity, 1, was said to be too large or too small."""
    with pytest.raises(ValueError, match=r"'epsilon' parameter of .* large enough"):
        calibrate(sensitivity=1.0, epsilon=1e-310, delta=0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gaussian.kappa_sigma(sensitivity=1e308, epsilon=1e-5, delta=1e-300),
        lambda: gaussian.kappa_sigma(sensitivity=1.0, epsilon=5e-324, delta=0.4),
        lambda: gaussian.classic_sigma(sensitivity=1e308, epsilon=1e-5, delta=1e-300),
        lambda: gaussian.analytic_sigma(sensitivity=1e-320, epsilon=500.0, delta=1e-5),
        lambda: gaussian.group_sensitivity(sensitivity=1e308, entries=4),
        lambda: gaussian.group_sensitivity(sensitivity=1.0, entries=10**400),
        lambda: gaussian.gaussian_mechanism(
            value=[1e308] * 9, sigma=1e308, rng=np.random.default_rng(0)
        ),
        lambda: gaussian.gaussian_epsilon(sensitivity=1e12, sigma=1.0, delta=0.9),
    ],
)
def test_what_floats_cannot_hold_is_refused_in_one_sentence(call):
    with pytest.raises(ValueError, match=r"parameter of .* must .* Got .* instead"):
        call()


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
