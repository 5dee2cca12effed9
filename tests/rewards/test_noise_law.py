"""Covariances of the mechanisms, against matrices built from J."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplib.rewards.balanced import balanced_output
from dplib.rewards.noise_law import (
    NoiseLaw,
    covariance_matrix,
    entry_variance,
    input_noise,
    paper_output,
    projected_output,
    tight_output,
)
from dplib.rewards.tables import appearances, averaging_matrix

TEAMS = [[3], [2, 2], [4, 4], [2, 5], [5, 2, 3], [4, 1], [3, 3, 3]]
LAWS = [input_noise, paper_output, tight_output, projected_output, balanced_output]


@pytest.mark.parametrize("actions", TEAMS)
def test_input_covariance_is_sigma_squared_j_j_transposed(actions):
    J = averaging_matrix(actions)
    ours = covariance_matrix(input_noise(actions, sigma=3.0))
    assert np.allclose(ours, 9.0 * J @ J.T, atol=1e-13)


@pytest.mark.parametrize("actions", TEAMS)
def test_output_covariances(actions):
    m, N, mu = math.prod(actions), len(actions), max(appearances(actions))
    printed = covariance_matrix(paper_output(actions, sigma=3.0))
    assert np.allclose(printed, (3.0 * mu / N) ** 2 * np.eye(m), atol=1e-12)
    tight = covariance_matrix(tight_output(actions, sigma=3.0))
    assert np.allclose(tight, 9.0 * mu / N**2 * np.eye(m), atol=1e-12)


@pytest.mark.parametrize("actions", [[2, 2], [4, 4], [3, 3, 3], [3]])
def test_projected_is_the_tight_noise_projected_for_equal_actions(actions):
    J = averaging_matrix(actions)
    P = J @ np.linalg.pinv(J)
    tight = covariance_matrix(tight_output(actions, sigma=2.0))
    ours = covariance_matrix(projected_output(actions, sigma=2.0))
    assert np.allclose(ours, P @ tight @ P, atol=1e-12)


@pytest.mark.parametrize("actions", TEAMS)
def test_input_minus_projected_is_a_constant_per_state(actions):
    mu, N, m = appearances(actions), len(actions), math.prod(actions)
    gap = covariance_matrix(input_noise(actions, sigma=1.0)) - covariance_matrix(
        projected_output(actions, sigma=1.0)
    )
    assert np.allclose(gap, (sum(mu) - max(mu)) / N**2 / m, atol=1e-13)


@pytest.mark.parametrize("actions", TEAMS)
@pytest.mark.parametrize("make", LAWS)
def test_entry_variance_is_the_diagonal(make, actions):
    law = make(actions, sigma=2.0)
    diagonal = np.diag(covariance_matrix(law))
    assert np.allclose(diagonal, entry_variance(law), rtol=1e-12)


def test_entry_deviations_for_two_agents_with_five_actions():
    deviations = [
        math.sqrt(entry_variance(make([5, 5], sigma=1.0))) for make in LAWS[:4]
    ]
    expected = [math.sqrt(0.5), 2.5, math.sqrt(5) / 2, math.sqrt(0.45)]
    assert deviations == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("make", LAWS)
def test_laws_scale_with_sigma(make):
    one, three = make([2, 3], sigma=1.0), make([2, 3], sigma=3.0)
    assert np.allclose(covariance_matrix(three), 9 * covariance_matrix(one))
    assert np.allclose(covariance_matrix(one.scaled(3.0)), covariance_matrix(three))


@pytest.mark.parametrize("make", LAWS)
def test_one_agent_needs_no_more_than_its_own_noise(make):
    assert entry_variance(make([4], sigma=2.0)) == pytest.approx(4.0)


def test_large_teams_and_odd_variances_are_refused():
    many = [10**9] * 40
    for make in LAWS:
        with pytest.raises(ValueError, match="'actions' parameter of"):
            make(many, sigma=1.0)
    for actions in ([10] * 5, [1] * 70):
        law = projected_output(actions, sigma=1.0)
        with pytest.raises(ValueError, match="'law' parameter of covariance_matrix"):
            covariance_matrix(law)
    with pytest.raises(ValueError, match="'constant' parameter of NoiseLaw"):
        NoiseLaw("x", (2, 2), 1e-320, (1.0, 1.0))


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="'sigma' parameter of input_noise"):
        input_noise([2, 2], sigma=0.0)
    with pytest.raises(ValueError, match="one variance for every agent"):
        NoiseLaw("x", (2, 2), constant=1.0, agents=(1.0,))
    with pytest.raises(ValueError, match="at most 'constant'"):
        NoiseLaw("x", (2, 2), constant=1.0, agents=(1.0, 1.0), extra=2.0)
