"""Sampling: the formula by fractions, by integration, and by an accountant."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import dp_accounting
import numpy as np
import pytest
from scipy import integrate, stats

from dplib.privacy import gaussian, sampling


def test_epsilon_in_fractions():
    """e^epsilon - 1 = rate (e^epsilon_0 - 1), also where e^epsilon_0 overflows."""
    found = sampling.sampled_epsilon(epsilon=math.log(9), rate=0.125)
    assert found == pytest.approx(math.log(2), rel=1e-14)
    assert sampling.sampled_epsilon(epsilon=3.0, rate=1.0) == pytest.approx(3.0)
    far = sampling.sampled_epsilon(epsilon=1000.0, rate=0.5)
    assert far == pytest.approx(1000.0 - math.log(2), rel=1e-14)


@pytest.mark.parametrize("full", [699.0, 701.0, 750.0])
@pytest.mark.parametrize("rate", [1e-306, 1e-320, 0.5])
def test_large_epsilons_keep_their_digits(full, rate):
    """Where e^epsilon overflows, epsilon once came out too small at tiny rates."""
    epsilon = sampling.sampled_epsilon(epsilon=full, rate=rate)
    with localcontext(prec=400):
        exact = (1 + Decimal(rate) * (Decimal(full).exp() - 1)).ln()
    assert epsilon == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("full", [1e-10, 1e-3, 0.5, 3.0])
@pytest.mark.parametrize("rate", [1e-20, 1e-10, 0.5])
def test_small_rates_and_epsilons_keep_their_digits(full, rate):
    """One part in a million was lost where rate and epsilon are both near 1e-10."""
    epsilon = sampling.sampled_epsilon(epsilon=full, rate=rate)
    with localcontext(prec=60):
        exact = (1 + Decimal(rate) * (Decimal(full).exp() - 1)).ln()
    assert epsilon == pytest.approx(float(exact), rel=1e-14)
    law = {"sensitivity": 1e-9, "sigma": 1.0}
    curve = float(gaussian.gaussian_log_delta(**law, epsilon=full))
    ours = sampling.sampled_gaussian_log_delta(**law, epsilon=epsilon, rate=rate)
    assert ours == pytest.approx(math.log(rate) + curve, rel=1e-9)


@pytest.mark.parametrize("rate", [0.04, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.5])
def test_delta_is_the_integral_of_the_mixture(rate, epsilon):
    def excess(y: float) -> float:
        q = stats.norm.pdf(y)
        p = rate * stats.norm.pdf(y, 1.3) + (1.0 - rate) * q
        return max(p - math.exp(epsilon) * q, 0.0)

    start = math.log1p(math.expm1(epsilon) / rate) / 1.3 + 0.65
    integral = integrate.quad(excess, start, start + 12.0, epsabs=1e-14)[0]
    ours = sampling.sampled_gaussian_log_delta(
        sensitivity=1.3, sigma=1.0, epsilon=epsilon, rate=rate
    )
    assert math.exp(ours) == pytest.approx(integral, abs=1e-12)


@pytest.mark.parametrize(("rate", "noise"), [(0.04, 0.47), (0.025, 0.29), (0.3, 2.0)])
def test_epsilon_agrees_with_an_accountant(rate, noise):
    """The worst pair is that of a record added under Poisson sampling."""
    accountant = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
    event = dp_accounting.PoissonSampledDpEvent(
        rate, dp_accounting.GaussianDpEvent(noise)
    )
    theirs = accountant.compose(event).get_epsilon(1e-4)
    ours = sampling.sampled_gaussian_epsilon(
        sensitivity=1.0, sigma=noise, delta=1e-4, rate=rate
    )
    assert ours - 1e-9 <= theirs <= ours + 1e-3


def test_epsilon_and_delta_invert_each_other():
    law = {"sensitivity": 2.0, "sigma": 1.5, "rate": 0.1}
    epsilon = sampling.sampled_gaussian_epsilon(**law, delta=1e-6)
    back = sampling.sampled_gaussian_log_delta(**law, epsilon=epsilon)
    assert back == pytest.approx(math.log(1e-6), rel=1e-9)


def test_the_other_direction_of_the_pair_is_smaller():
    """Q against the mixture: for it the noise is more than enough."""
    rate, u, epsilon = 0.2, 2.0, 0.1
    y = np.linspace(-12.0, 14.0, 200_001)
    q = stats.norm.pdf(y)
    p = rate * stats.norm.pdf(y, u) + (1.0 - rate) * q
    step = y[1] - y[0]
    one = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * step)
    other = float(np.maximum(q - math.exp(epsilon) * p, 0.0).sum() * step)
    ours = sampling.sampled_gaussian_log_delta(
        sensitivity=u, sigma=1.0, epsilon=epsilon, rate=rate
    )
    assert math.exp(ours) == pytest.approx(one, abs=1e-9)
    assert other < one


def test_half_the_noise_is_noticed():
    law = {"sensitivity": 1.0, "delta": 1e-4, "rate": 0.04}
    full = sampling.sampled_gaussian_epsilon(**law, sigma=1.0)
    assert sampling.sampled_gaussian_epsilon(**law, sigma=0.5) > 2.0 * full
    unsampled = gaussian.gaussian_epsilon(sensitivity=1.0, sigma=1.0, delta=1e-4)
    assert unsampled > 2.0 * full


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_no_gaussian_release_is_purely_private(rate):
    law = {"sensitivity": 1.0, "sigma": 1.0, "rate": rate}
    assert sampling.sampled_gaussian_epsilon(**law, delta=0.0) == math.inf


@pytest.mark.parametrize("rate", [0.0, 1.5, math.nan])
def test_a_rate_is_checked(rate):
    with pytest.raises(ValueError, match="'rate' parameter"):
        sampling.sampled_epsilon(epsilon=1.0, rate=rate)
