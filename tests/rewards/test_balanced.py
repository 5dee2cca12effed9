"""The noise of least variance: closed form, a general solver, and its certificate."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from dplib.rewards.balanced import balanced_output, variance_floor
from dplib.rewards.central import central_shift
from dplib.rewards.noise_law import (
    covariance_matrix,
    entry_variance,
    input_noise,
    projected_output,
)
from dplib.rewards.tables import appearances, averaging_matrix
from dplib.rng import stream

TEAMS = [[3], [2, 2], [2, 5], [5, 2, 3], [4, 1], [1, 1], [6, 2], [3, 1, 2, 1], [4] * 10]


@pytest.mark.parametrize("actions", TEAMS)
def test_no_gaussian_noise_has_less_variance(actions):
    """Certified by duality: the floor is met to rounding."""
    law = balanced_output(actions, sigma=1.3)
    floor = variance_floor(actions, sigma=1.3)
    assert entry_variance(law) == pytest.approx(floor, rel=1e-9)
    assert central_shift(law, bound=1.3) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("actions", [[2, 2], [4, 4], [2, 5], [5, 2, 3], [4, 1]])
def test_floor_is_below_the_other_mechanisms_at_equal_privacy(actions):
    for make in (input_noise, projected_output):
        law = make(actions, sigma=1.0)
        law = law.scaled(central_shift(law, bound=1.0))
        floor = variance_floor(actions, sigma=1.0)
        assert floor <= entry_variance(law) * (1 + 1e-9)
        # The mutation: the same law at half the noise would fall below the floor.
        assert entry_variance(law.scaled(0.5)) < floor


@pytest.mark.parametrize("actions", [[2, 3], [5, 2, 3], [3, 1, 2]])
def test_floor_by_the_matrix_itself(actions):
    """The bound for weights of our own, by eigenvalues: never above the best."""
    columns = averaging_matrix(actions)
    rng = stream(2026, "test balanced")
    for _ in range(50):
        weights = rng.dirichlet(np.ones(sum(actions)))
        eigenvalues = np.linalg.eigvalsh(columns @ np.diag(weights) @ columns.T)
        bound = np.sqrt(np.maximum(eigenvalues, 0.0)).sum() ** 2
        assert bound / math.prod(actions) <= variance_floor(actions, sigma=1.0) + 1e-9


@pytest.mark.parametrize("actions", [[2, 2], [4, 4, 4], [3] * 6])
def test_balanced_in_closed_form_for_equal_actions(actions):
    N, m = len(actions), actions[0]
    mu = m ** (N - 1)
    law = balanced_output(actions, sigma=1.0)
    assert law.constant * N**2 == pytest.approx(mu * (math.sqrt(N) * (m - 1) + 1) / m)
    assert law.constant / law.agents[0] == pytest.approx(math.sqrt(N))
    assert entry_variance(law) * N**2 == pytest.approx(
        ((math.sqrt(N) * (m - 1) + 1) / m) ** 2
    )


@pytest.mark.parametrize("actions", [[2, 5], [5, 2, 3], [4, 1], [1, 1], [6, 2]])
def test_balanced_beats_a_search_over_all_laws_of_the_form(actions):
    """Oracle: minimise the variance over v_0 and v_i with a general solver."""
    N, mu = len(actions), np.array(appearances(actions), float)
    m = np.array(actions, float)

    def trace(logs):
        v = np.exp(logs)
        return (v[0] + ((m - 1) * v[1:]).sum()) / mu.sum()

    def slack(logs):
        v = np.exp(logs)
        return 1 - mu * ((1 - 1 / m) / v[1:] + 1 / (m * v[0]))

    start = np.log(np.concatenate([[mu.sum() * 2], mu * 2]))
    found = optimize.minimize(
        trace,
        start,
        constraints={"type": "ineq", "fun": slack},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    law = balanced_output(actions, sigma=1.0)
    best = found.fun * mu.sum() / math.prod(actions) / N**2
    assert entry_variance(law) == pytest.approx(best, rel=1e-4)
    ours = np.log([law.constant * N**2, *(v * N**2 for v in law.agents)])
    assert np.all(slack(ours) >= -1e-9)


def test_balanced_beats_random_covariances_at_equal_privacy():
    """Optimal among all Gaussian noises, not only those of the file's form."""
    actions = [2, 3]
    J = averaging_matrix(actions)
    rng = stream(7, "covariances")
    law = balanced_output(actions, sigma=1.0)
    best = entry_variance(law)
    start = np.linalg.cholesky(covariance_matrix(law) + 1e-9 * np.eye(6))
    for scale in np.geomspace(1e-3, 3.0, 60):
        root = start + scale * 0.2 * rng.normal(size=(6, 6))
        covariance = root @ root.T
        shifts = np.einsum("ik,ij,jk->k", J, np.linalg.inv(covariance), J)
        matched_trace = np.trace(covariance) * shifts.max() / 6
        assert matched_trace >= best * (1 - 1e-6)
