"""Smoothing: two ways to write one mixture, and what it does to divergences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from dplib.privacy.divergence import hockey_stick, max_divergence, privacy_loss
from dplib.privacy.smoothing import smooth_additive, smooth_uniform
from dplib.rng import stream

quick = settings(max_examples=80, deadline=None, derandomize=True, database=None)

P = np.array([-np.inf, math.log(0.25), math.log(0.75), -np.inf])
Q = np.array([math.log(0.5), math.log(0.5), -np.inf, -np.inf])


@pytest.mark.parametrize("nu", [1e-300, 1e-8, 1e-3, 1.0, 1e6])
def test_additive_smoothing_has_the_loss_of_the_unnormalised_sums(nu) -> None:
    # |log(p + nu) - log(q + nu)| over the union of the supports.
    ours = privacy_loss(
        log_p=smooth_additive(P, nu=nu), log_q=smooth_additive(Q, nu=nu)
    )
    expected = np.log(np.exp(P) + nu) - np.log(np.exp(Q) + nu)
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-14)
    assert ours[-1] == 0.0  # an outcome outside both supports


@quick
@given(st.integers(0, 2**32), st.floats(1e-9, 1e3), st.integers(2, 9))
def test_the_two_smoothings_are_one(seed, nu, outcomes) -> None:
    law = np.log(stream(seed).dirichlet(np.ones(outcomes)))
    weight = nu * outcomes / (1.0 + nu * outcomes)
    np.testing.assert_allclose(
        smooth_additive(law, nu=nu), smooth_uniform(law, weight=weight), atol=1e-12
    )


def test_exact_ends() -> None:
    np.testing.assert_array_equal(smooth_uniform(P, weight=0.0), P)
    np.testing.assert_array_equal(smooth_additive(P, nu=0.0), P)
    np.testing.assert_allclose(smooth_uniform(P, weight=1.0), -math.log(4.0))
    tiny = smooth_additive(P, nu=1e-300)
    assert tiny[0] == pytest.approx(-300 * math.log(10.0), rel=1e-15)


def test_batches_stay_normalised() -> None:
    batch = smooth_uniform(np.stack([P, Q]), weight=0.3)
    assert batch.shape == (2, 4)
    np.testing.assert_allclose(logsumexp(batch, axis=-1), 0.0, atol=1e-15)


@quick
@given(st.floats(1e-6, 1.0), st.floats(0.0, 3.0))
def test_smoothing_shrinks_every_divergence(weight, epsilon) -> None:
    p, q = smooth_uniform(P, weight=weight), smooth_uniform(Q, weight=weight)
    assert max_divergence(log_p=p, log_q=q) < math.inf
    # Joint convexity: the mixture's hockey stick is at most (1 - weight) times.
    before = hockey_stick(log_p=P, log_q=Q, epsilon=epsilon)
    after = hockey_stick(log_p=p, log_q=q, epsilon=epsilon)
    assert after <= (1.0 - weight) * before + 1e-14


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="The 'weight' parameter of smooth_uniform"):
        smooth_uniform(P, weight=1.5)
    with pytest.raises(ValueError, match="The 'nu' parameter of smooth_additive"):
        smooth_additive(P, nu=-1e-5)
    with pytest.raises(ValueError, match="must be normalised"):
        smooth_additive(P - 1.0, nu=0.1)
