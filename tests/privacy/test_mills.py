"""Differences of the Mills ratio, against fifty digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dplib.privacy._mills import mills, mills_drop, mills_slope


def exact_mills(t: float) -> mpmath.mpf:
    return (
        mpmath.exp(mpmath.mpf(t) ** 2 / 2)
        * mpmath.sqrt(mpmath.pi / 2)
        * mpmath.erfc(mpmath.mpf(t) / mpmath.sqrt(2))
    )


@pytest.mark.parametrize("t", [-30.0, -1.0, 0.0, 0.3, 3.0, 40.0, 1e4])
def test_ratio(t):
    with mpmath.workdps(60):
        exact = float(exact_mills(t))
    # Conditioning: an error of one unit in t changes exp(t^2/2) by t^2 units.
    assert mills(np.array(t)) == pytest.approx(exact, rel=1e-15 * max(10, t * t))


@pytest.mark.parametrize("t", [-1.0, -0.2, 0.0, 0.5, 2.9999, 3.0, 3.1, 10.0, 1e3, 1e6])
def test_slope(t):
    with mpmath.workdps(60):
        exact = float(1 - mpmath.mpf(t) * exact_mills(t))
    assert mills_slope(np.array(t)) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize("half", [1e-12, 1e-6, 0.01, 0.7, 1.0, 1.5, 20.0])
@pytest.mark.parametrize("center", [0.0, 0.3, 2.0, 25.0, 300.0, 1e5])
def test_drop(center, half):
    if half > max(1.0, center):
        return  # not asked for: the curve takes its complement there
    with mpmath.workdps(60):
        exact = exact_mills(mpmath.mpf(center) - half) - exact_mills(
            mpmath.mpf(center) + half
        )
    ours = float(mills_drop(np.array(center), half))
    assert ours == pytest.approx(float(exact), rel=2e-13)


def test_the_plain_difference_would_lose_all_digits():
    t = np.array(25.0)
    plain = float(mills(t - 1e-12) - mills(t + 1e-12))
    exact = 2e-12 * float(mills_slope(t))
    assert abs(plain / exact - 1) > 1e-3
    assert math.isclose(float(mills_drop(t, 1e-12)), exact, rel_tol=1e-13)
