"""The noise of every mechanism: covariances, draws, and the least of all."""

import math

import numpy as np
import pytest
from scipy import optimize

from dplib.rewards.central import central_shift
from dplib.rewards.mechanism import (
    MECHANISMS,
    Mechanism,
    StandardDraw,
    balanced_output,
    input_noise,
    mechanisms,
    paper_output,
    projected_output,
    standard_draw,
    tight_output,
)
from dplib.rewards.tables import appearances, averaging_matrix, joint_reward
from dplib.rng import stream

TEAMS = [[3], [2, 2], [4, 4], [2, 5], [5, 2, 3], [4, 1], [3, 3, 3]]
UNEVEN = [[2, 2], [4, 4], [2, 5], [5, 2, 3], [4, 1], [1, 1], [6, 2], [3, 1, 2, 1]]
MAKERS = list(MECHANISMS.values())


@pytest.mark.parametrize("actions", TEAMS)
def test_input_covariance_is_sigma_squared_j_j_transposed(actions):
    J = averaging_matrix(actions)
    ours = input_noise(actions, sigma=3.0).covariance()
    assert np.allclose(ours, 9.0 * J @ J.T, atol=1e-13)


@pytest.mark.parametrize("actions", TEAMS)
def test_output_covariances(actions):
    m, N, mu = math.prod(actions), len(actions), max(appearances(actions))
    printed = paper_output(actions, sigma=3.0).covariance()
    assert np.allclose(printed, (3.0 * mu / N) ** 2 * np.eye(m), atol=1e-12)
    tight = tight_output(actions, sigma=3.0).covariance()
    assert np.allclose(tight, 9.0 * mu / N**2 * np.eye(m), atol=1e-12)


@pytest.mark.parametrize("actions", [[2, 2], [4, 4], [3, 3, 3], [3]])
def test_projected_is_the_tight_noise_projected_for_equal_actions(actions):
    J = averaging_matrix(actions)
    P = J @ np.linalg.pinv(J)
    tight = tight_output(actions, sigma=2.0).covariance()
    ours = projected_output(actions, sigma=2.0).covariance()
    assert np.allclose(ours, P @ tight @ P, atol=1e-12)


@pytest.mark.parametrize("actions", TEAMS)
@pytest.mark.parametrize("make", MAKERS)
def test_noise_has_exactly_its_covariance(make, actions):
    """No sampling: the noise is linear in the draw, A Z, so its covariance is A A'."""
    mechanism = make(actions, sigma=1.5)
    m = mechanism.n_actions
    unit = np.eye(m + 1)[:, None, :]
    A = mechanism.noise(StandardDraw(unit[..., :m], unit[..., m]))[:, 0, :].T
    covariance = mechanism.covariance()
    assert np.allclose(A @ A.T, covariance, atol=1e-13)
    assert np.allclose(np.diag(covariance), mechanism.variance, rtol=1e-12)
    half = mechanism.scaled(0.5).covariance()
    assert not np.allclose(A @ A.T, half, atol=1e-2)


@pytest.mark.parametrize("actions", TEAMS)
def test_input_is_projected_plus_a_constant_per_state(actions):
    draw = standard_draw(4, actions, samples=3, rng=stream(1, "pairs"))
    own, projected = (
        make(actions, sigma=2.0).noise(draw) for make in (input_noise, projected_output)
    )
    mu, N, m = appearances(actions), len(actions), math.prod(actions)
    size = 2.0 / N * math.sqrt((sum(mu) - max(mu)) / m)
    constant = np.broadcast_to(size * draw.extra[..., None], own.shape)
    assert np.allclose(own - projected, constant, atol=1e-13)


@pytest.mark.parametrize("make", MAKERS)
def test_one_draw_serves_all_sigma(make):
    draw = standard_draw(2, [2, 3], samples=2, rng=stream(2, "scaling"))
    one, seven = (make([2, 3], sigma=sigma) for sigma in (1.0, 7.0))
    assert np.allclose(seven.noise(draw), 7.0 * one.noise(draw), rtol=1e-12)
    assert np.allclose(one.scaled(7.0).covariance(), seven.covariance())


def test_algorithm_1_by_sampling_has_the_covariance_of_input_noise():
    """Literal Algorithm 1. Chance of failing below 1e-6 (entries within 6 s.e.)."""
    n, actions, sigma = 40_000, [2, 3], 1.5
    rng = stream(5, "algorithm 1")
    rows = joint_reward([sigma * rng.standard_normal((n, m)) for m in actions])
    found = rows.T @ rows / n
    wanted = input_noise(actions, sigma=sigma).covariance()
    diagonal = np.diag(wanted)
    error = np.sqrt((wanted**2 + np.outer(diagonal, diagonal)) / n)
    assert np.abs((found - wanted) / error).max() < 6.0
    half = wanted / 4.0
    assert np.abs((found - half) / error).max() > 6.0


def test_deviations_for_two_agents_with_five_actions():
    found = {name: one.deviation for name, one in mechanisms([5, 5], sigma=1.0).items()}
    assert found.pop("balanced") < math.sqrt(0.45)
    assert found == pytest.approx(
        {
            "printed": 2.5,
            "exact": math.sqrt(5) / 2,
            "projected": math.sqrt(0.45),
            "input": math.sqrt(0.5),
        },
        rel=1e-14,
    )


@pytest.mark.parametrize("make", MAKERS)
def test_one_agent_needs_no_more_than_its_own_noise(make):
    assert make([4], sigma=2.0).variance == pytest.approx(4.0)


def trace_floor(actions, weights):
    """The dual bound on the variance, for weights of the entries, sigma = 1."""
    columns = averaging_matrix(actions) * np.sqrt(weights)
    return np.linalg.norm(columns, "nuc") ** 2 / math.prod(actions)


def best_weights(best):
    """The weights at which the square root of C is in proportion to the noise."""
    actions = np.array(best.actions)
    pull = np.where(actions > 1, np.square(best.agents), 0.0)
    pull[actions.argmin()] += max(0.0, best.constant**2 - pull.sum())
    weights = np.repeat(pull / appearances(best.actions), actions)
    return weights / weights.sum()


@pytest.mark.parametrize("actions", [[3], *UNEVEN])
def test_no_gaussian_noise_has_less_variance(actions):
    """Certified by duality: the floor is met to rounding."""
    best = balanced_output(actions, sigma=1.0)
    floor = trace_floor(actions, best_weights(best))
    assert best.variance == pytest.approx(floor, rel=1e-9)
    assert central_shift(best, bound=1.0) == pytest.approx(1.0, rel=1e-9)
    for make in (input_noise, projected_output):
        other = make(actions, sigma=1.0)
        other = other.scaled(central_shift(other, bound=1.0))
        assert floor <= other.variance * (1 + 1e-9)
        # The mutation: the same at half the noise would fall below the floor.
        assert other.scaled(0.5).variance < floor


@pytest.mark.parametrize("actions", [[2, 3], [5, 2, 3], [3, 1, 2]])
def test_no_other_weights_give_a_higher_floor(actions):
    rng = stream(2026, "test balanced")
    least = balanced_output(actions, sigma=1.0).variance
    for _ in range(50):
        assert trace_floor(actions, rng.dirichlet(np.ones(sum(actions)))) <= least


@pytest.mark.parametrize("actions", [[2, 2], [4, 4, 4], [3] * 6, [4] * 10])
def test_balanced_in_closed_form_for_equal_actions(actions):
    N, m = len(actions), actions[0]
    best = balanced_output(actions, sigma=1.0)
    share = (math.sqrt(N) * (m - 1) + 1) / m
    assert best.constant * N**2 == pytest.approx(m ** (N - 1) * share)
    assert best.constant / best.agents[0] == pytest.approx(math.sqrt(N))
    assert best.variance * N**2 == pytest.approx(share**2)


@pytest.mark.parametrize("actions", [[2, 5], [5, 2, 3], [4, 1], [1, 1], [6, 2]])
def test_balanced_is_what_a_general_solver_finds(actions):
    """Oracle: minimise the variance over v_0 and v_i under the constraints."""
    N, m, mu = len(actions), np.array(actions), np.array(appearances(actions))

    def trace(logs):
        v = np.exp(logs)
        return (v[0] + ((m - 1) * v[1:]).sum()) / mu.sum()

    def slack(logs):
        v = np.exp(logs)
        return 1 - mu * ((1 - 1 / m) / v[1:] + 1 / (m * v[0]))

    found = optimize.minimize(
        trace,
        np.log([mu.sum() * 2, *(mu * 2)]),
        constraints={"type": "ineq", "fun": slack},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    best = balanced_output(actions, sigma=1.0)
    least = found.fun * mu.sum() / math.prod(actions) / N**2
    assert best.variance == pytest.approx(least, rel=1e-4)
    assert np.all(slack(np.log(N**2 * np.array([best.constant, *best.agents]))) > -1e-9)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("actions", "sigma", "words"),
    [
        ([4, 4], -1.0, "'sigma' parameter of a mechanism must be a positive finite"),
        ([4, 4], 0.0, "'sigma' parameter of a mechanism must be a positive finite"),
        ([4, 4], math.nan, "'sigma' parameter of a mechanism must be a positive"),
        ([4, 0], 1.0, "'actions' parameter of a mechanism must be an integer >= 1"),
        ([4, -4], 1.0, "'actions' parameter of a mechanism must be an integer >= 1"),
        ([], 1.0, "'actions' parameter of a mechanism must be one integer or more"),
    ],
)
def test_no_mechanism_is_made_of_junk(make, actions, sigma, words):
    """A negative sigma, squared, would pass for its size."""
    with pytest.raises(ValueError, match=words):
        make(actions, sigma=sigma)


GOOD = {"actions": (2, 2), "constant": 1.0, "agents": (1.0, 1.0)}


@pytest.mark.parametrize(
    ("field", "junk", "words"),
    [
        ("actions", (2, 0), "'actions' parameter of Mechanism must be an integer >= 1"),
        ("actions", (2, 1.5), "an integer >= 1. Got 1.5"),
        ("constant", 0.0, "a positive finite float"),
        ("agents", (1.0, math.nan), "a positive finite float"),
        ("agents", (1.0,), "one variance for every agent"),
        ("rest", -1.0, "'rest' parameter"),
        ("extra", 2.0, "at most 'constant', 1"),
    ],
)
def test_fields_are_checked(field, junk, words):
    assert Mechanism(**GOOD).variance == 0.75
    with pytest.raises((TypeError, ValueError), match=words):
        Mechanism(**{**GOOD, field: junk})
