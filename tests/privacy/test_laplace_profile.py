"""The profile in closed form, against integration, many digits and an accountant."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from dplib.privacy.laplace import laplace_log_density, laplace_mechanism
from dplib.privacy.laplace_profile import (
    laplace_delta,
    laplace_epsilon_at,
    laplace_log_delta,
    laplace_loss_atoms,
    laplace_loss_cdf,
    laplace_loss_density,
)
from dplib.rng import stream

quick = settings(max_examples=100, deadline=None, derandomize=True, database=None)
ratios = st.floats(1e-6, 30.0)


def integrated_delta(epsilon: float, shift: float, scale: float) -> float:
    """The hockey stick of the two densities, by quadrature."""

    def excess(y: float) -> float:
        p = math.exp(laplace_log_density(y, scale=scale))
        q = math.exp(laplace_log_density(y - shift, scale=scale))
        return max(p - math.exp(epsilon) * q, 0.0)

    # The integrand has kinks at 0 and shift, and where the two densities meet.
    kink = min(max((shift - epsilon * scale) / 2.0, 0.0), shift)
    edges = sorted({-40.0 * scale, 0.0, kink, shift, shift + 40.0 * scale})
    parts = [
        integrate.quad(excess, a, b, epsabs=1e-13, epsrel=1e-13)[0]
        for a, b in itertools.pairwise(edges)
    ]
    return math.fsum(parts)


CASES = [(0.0, 1.0, 1.0), (0.5, 1.0, 1.0), (1.0, 3.0, 2.0), (2.0, 6.0, 1.5)]


@pytest.mark.parametrize(("epsilon", "shift", "scale"), CASES)
def test_profile_by_quadrature(epsilon, shift, scale) -> None:
    ours = laplace_delta(epsilon=epsilon, shift=shift, scale=scale)
    assert ours == pytest.approx(integrated_delta(epsilon, shift, scale), abs=1e-11)


@pytest.mark.parametrize(("epsilon", "shift", "scale"), CASES)
def test_quadrature_catches_half_the_scale(epsilon, shift, scale) -> None:
    claimed = laplace_delta(epsilon=epsilon, shift=shift, scale=scale)
    assert integrated_delta(epsilon, shift, scale / 2) > claimed + 0.05


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.999, 1.0, 2.5])
def test_profile_by_an_accountant(epsilon) -> None:
    oracle = pld.from_laplace_mechanism(
        0.75, sensitivity=1.5, value_discretization_interval=1e-4
    )
    theirs = oracle.get_delta_for_epsilon(epsilon)  # pessimistic
    ours = laplace_delta(epsilon=epsilon, shift=1.5, scale=0.75)
    assert ours <= theirs + 1e-12
    assert ours == pytest.approx(theirs, abs=1e-4)


def test_exact_values() -> None:
    at = np.array([0.0, 2.0 - 2.0 * math.log(2.0), 2.0, 3.0])
    ours = laplace_delta(epsilon=at, shift=4.0, scale=2.0)
    np.testing.assert_allclose(ours, [1 - math.exp(-1), 0.5, 0.0, 0.0], atol=1e-15)
    assert laplace_delta(epsilon=0.0, shift=0.0, scale=1.0) == 0.0
    assert laplace_delta(epsilon=0.0, shift=1e308, scale=1e-308) == 1.0


def test_no_digits_are_lost_near_the_end_of_the_profile() -> None:
    epsilon = 1.0 - 3 * 2.0**-53
    with mpmath.workdps(60):
        exact = 1 - mpmath.exp((mpmath.mpf(epsilon) - 1) / 2)
    ours = laplace_delta(epsilon=epsilon, shift=1.0, scale=1.0)
    assert ours == pytest.approx(float(exact), rel=1e-15, abs=0)
    logged = laplace_log_delta(epsilon=epsilon, shift=1.0, scale=1.0)
    assert logged == pytest.approx(float(mpmath.log(exact)), rel=1e-15)
    naive = 1.0 - math.exp((epsilon - 1.0) / 2.0)
    assert naive != pytest.approx(float(exact), rel=0.1, abs=0)


def test_log_of_a_tiny_delta() -> None:
    log_delta = laplace_log_delta(epsilon=0.0, shift=2e-300, scale=1.0)
    assert log_delta == pytest.approx(-300 * math.log(10.0), rel=1e-15)


@quick
@given(ratios, st.floats(0.0, 40.0), st.floats(0.0, 40.0))
def test_profile_falls_in_epsilon_and_rises_in_the_shift(ratio, one, other) -> None:
    low, high = sorted((one, other))
    delta = laplace_delta(epsilon=[low, high], shift=ratio, scale=1.0)
    assert 0.0 <= delta[1] <= delta[0] <= 1.0
    wider = laplace_delta(epsilon=low, shift=ratio + 0.1, scale=1.0)
    assert wider >= delta[0]


@quick
@given(ratios, st.floats(1e-300, 0.999))
def test_epsilon_at_inverts(ratio, delta) -> None:
    epsilon = laplace_epsilon_at(delta=delta, shift=ratio, scale=1.0)
    assert 0.0 <= epsilon <= ratio
    back = laplace_delta(epsilon=epsilon, shift=ratio, scale=1.0)
    assert laplace_epsilon_at(delta=1.0, shift=ratio, scale=1.0) == 0.0
    if epsilon > 0.0:
        assert back == pytest.approx(delta, rel=1e-12, abs=1e-14)
    else:
        assert back <= delta


@quick
@given(st.floats(0.01, 20.0), st.floats(0.0, 1.0))
def test_the_law_of_the_loss_gives_the_profile(ratio, part) -> None:
    # delta(epsilon) = E[(1 - e^(epsilon - loss))_+], and the law has mass 1.
    epsilon = part * ratio
    atoms, masses = laplace_loss_atoms(shift=ratio, scale=1.0)

    def density(loss: float) -> float:
        return float(laplace_loss_density(loss=loss, shift=ratio, scale=1.0))

    def term(loss: float) -> float:
        return -math.expm1(epsilon - loss) * density(loss)

    total = masses.sum() + integrate.quad(density, -ratio, ratio)[0]
    assert total == pytest.approx(1.0, abs=1e-9)
    smooth = integrate.quad(term, epsilon, ratio)[0]
    expected = smooth - math.expm1(min(epsilon - atoms[1], 0.0)) * masses[1]
    delta = laplace_delta(epsilon=epsilon, shift=ratio, scale=1.0)
    assert delta == pytest.approx(expected, abs=1e-9)


@quick
@given(st.floats(0.01, 20.0), st.floats(-0.999, 0.999))
def test_cdf_is_the_atoms_and_the_density(ratio, part) -> None:
    loss = part * ratio
    assume(abs(loss) < ratio)
    masses = laplace_loss_atoms(shift=ratio, scale=1.0)[1]
    smooth = integrate.quad(
        lambda x: laplace_loss_density(loss=x, shift=ratio, scale=1.0), -ratio, loss
    )[0]
    cdf = laplace_loss_cdf(loss=loss, shift=ratio, scale=1.0)
    assert cdf == pytest.approx(masses[0] + smooth, abs=1e-9)


def test_cdf_jumps_at_the_atoms() -> None:
    below, above = np.nextafter(2.0, 0.0), np.nextafter(-2.0, -3.0)
    cdf = laplace_loss_cdf(loss=[above, -2.0, below, 2.0], shift=2.0, scale=1.0)
    np.testing.assert_allclose(cdf, [0.0, math.exp(-2) / 2, 0.5, 1.0], atol=1e-15)


def test_cdf_against_sampled_losses() -> None:
    # 40,000 losses; by Dvoretzky-Kiefer-Wolfowitz the gap exceeds .0135 with
    # probability below 1e-6.
    y = laplace_mechanism(np.zeros(40_000), scale=1.0, rng=stream(4, "loss"))
    loss = laplace_log_density(y, scale=1.0) - laplace_log_density(y - 1.5, scale=1.0)
    grid = np.linspace(-1.4, 1.4, 57)
    sampled = np.searchsorted(np.sort(loss), grid, side="right") / len(loss)
    exact = laplace_loss_cdf(loss=grid, shift=1.5, scale=1.0)
    assert np.max(np.abs(sampled - exact)) < 0.0135
    halved = laplace_loss_cdf(loss=grid, shift=1.5, scale=0.5)
    assert np.max(np.abs(sampled - halved)) > 0.1


def test_total_variation() -> None:
    shift, scale = 1.7, 0.6
    exact = stats.laplace.cdf(shift / 2, scale=scale) * 2 - 1
    assert laplace_delta(epsilon=0.0, shift=shift, scale=scale) == pytest.approx(exact)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="The 'epsilon' parameter of laplace_delta"):
        laplace_delta(epsilon=-0.1, shift=1.0, scale=1.0)
    with pytest.raises(ValueError, match="The 'shift' parameter of laplace_loss_cdf"):
        laplace_loss_cdf(loss=0.0, shift=-1.0, scale=1.0)
    with pytest.raises(ValueError, match="The 'delta' parameter of laplace_epsilon_at"):
        laplace_epsilon_at(delta=1.1, shift=1.0, scale=1.0)


def test_claims_never_below_exact_epsilon_at() -> None:
    # Below the exact value in 48 % of trials when it was rounded to nearest.
    rng = stream(7, "epsilon at")
    for _ in range(400):
        shift, scale = 10.0 ** rng.uniform(-3, 3, 2)
        delta = float(10.0 ** rng.uniform(-18, -0.001))
        ours = laplace_epsilon_at(delta=delta, shift=shift, scale=scale)
        with mpmath.workdps(60):
            ratio = mpmath.mpf(shift) / mpmath.mpf(scale)
            exact = max(0, ratio + 2 * mpmath.log1p(-mpmath.mpf(delta)))
            assert exact <= ours <= exact + (ratio + 1) * mpmath.mpf(1e-14)
