"""Algorithms 1 and 2 by sampling, and common random numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dplib.rewards.balanced import balanced_output
from dplib.rewards.noise_law import (
    covariance_matrix,
    input_noise,
    paper_output,
    projected_output,
    tight_output,
)
from dplib.rewards.perturbation import (
    StandardDraw,
    effects,
    joint_noise,
    perturb_output,
    perturb_tables,
    standard_draw,
)
from dplib.rewards.tables import averaging_matrix, joint_reward
from dplib.rng import stream

LAWS = [input_noise, paper_output, tight_output, projected_output, balanced_output]
TEAMS = [[3], [2, 2], [2, 3], [3, 2, 2]]


def noise_matrix(law):
    """The linear map from a draw's (entries, extra) in one state to noise."""
    m = law.n_actions
    eye = np.eye(m + 1)
    draw = StandardDraw(eye[:, None, :m], eye[:, None, m])
    return joint_noise(law, draw)[:, 0, :].T


@pytest.mark.parametrize("actions", TEAMS)
@pytest.mark.parametrize("make", LAWS)
def test_noise_has_exactly_the_covariance_of_its_law(make, actions):
    """No sampling: the noise is linear in the draw, A Z, so its covariance is A A'."""
    law = make(actions, sigma=1.5)
    A = noise_matrix(law)
    assert np.allclose(A @ A.T, covariance_matrix(law), atol=1e-13)
    assert not np.allclose(A @ A.T, covariance_matrix(law.scaled(0.5)), atol=1e-2)


@pytest.mark.parametrize("actions", TEAMS)
def test_input_is_projected_plus_a_constant_per_state(actions):
    draw = standard_draw(4, actions, samples=3, rng=stream(1, "pairs"))
    gap = joint_noise(input_noise(actions, sigma=2.0), draw) - joint_noise(
        projected_output(actions, sigma=2.0), draw
    )
    assert np.allclose(gap, gap[..., :1], atol=1e-13)
    law = input_noise(actions, sigma=2.0)
    scale = np.sqrt(law.extra / law.n_actions)
    assert np.allclose(gap[..., 0], scale * draw.extra, atol=1e-13)


def test_one_draw_serves_all_sigma():
    draw = standard_draw(2, [2, 3], samples=2, rng=stream(2, "scaling"))
    for make in LAWS:
        one = joint_noise(make([2, 3], sigma=1.0), draw)
        many = joint_noise(make([2, 3], sigma=7.0), draw)
        assert np.allclose(many, 7.0 * one, rtol=1e-12)


@pytest.mark.parametrize("actions", TEAMS)
def test_effects_split_orthogonally_and_span_the_range(actions):
    row = stream(3, "effects").normal(size=int(np.prod(actions)))
    mean, own, rest = effects(row, actions)
    J = averaging_matrix(actions)
    assert np.allclose(J.T @ rest, 0.0, atol=1e-13)
    parts = [part + (mean if i == 0 else 0.0) for i, part in enumerate(own)]
    back = len(actions) * J @ np.concatenate(parts) + rest
    assert np.allclose(back, row, atol=1e-13)
    assert all(abs(part.sum()) < 1e-12 for part in own)


def test_a_joint_reward_has_no_rest():
    tables = [stream(4, i).normal(size=(3, m)) for i, m in enumerate([2, 5, 3])]
    rest = effects(joint_reward(tables), [2, 5, 3])[2]
    assert np.abs(rest).max() < 1e-14


def test_algorithm_1_by_sampling_has_the_covariance_of_input_noise():
    """Literal Algorithm 1. Chance of failing below 1e-6 (entries within 6 s.e.)."""
    n, actions, sigma = 40_000, [2, 3], 1.5
    tables = [np.zeros((n, m)) for m in actions]
    sent = perturb_tables(tables, sigma=sigma, rng=stream(5, "algorithm 1"))
    rows = joint_reward(sent)
    found = rows.T @ rows / n
    wanted = covariance_matrix(input_noise(actions, sigma=sigma))
    diagonal = np.diag(wanted)
    error = np.sqrt((wanted**2 + np.outer(diagonal, diagonal)) / n)
    assert np.abs((found - wanted) / error).max() < 6.0
    half = wanted / 4.0
    assert np.abs((found - half) / error).max() > 6.0


def test_every_agent_may_choose_its_own_strength():
    """Chance of failing below 1e-6 (each chi-square at 1e-7 on both sides)."""
    tables = [np.zeros((5000, 4)), np.zeros((5000, 2))]
    sent = perturb_tables(tables, sigma=[1.0, 10.0], rng=stream(6, "own strength"))
    for table, scale in zip(sent, [1.0, 10.0], strict=True):
        low, high = stats.chi2.ppf([1e-7, 1 - 1e-7], table.size)
        assert low < (table**2).sum() / scale**2 < high


def test_algorithm_2_adds_the_noise_of_its_law_to_the_true_joint_reward():
    tables = [stream(7, i).normal(size=(3, 2)) for i in range(2)]
    law = paper_output([2, 2], sigma=1.0)
    private = perturb_output(tables, law=law, rng=stream(8, "algorithm 2"))
    draw = standard_draw(3, [2, 2], samples=1, rng=stream(8, "algorithm 2"))
    assert np.array_equal(private, joint_reward(tables) + joint_noise(law, draw)[0])


def test_line_8_as_printed_would_publish_the_true_reward():
    """Without the tilde the joint reward does not depend on the noise at all."""
    tables = [np.array([[0.0, 1.0]]), np.array([[2.0, 3.0]])]
    sent = [perturb_tables(tables, sigma=9.0, rng=stream(9, i)) for i in range(2)]
    meant = [joint_reward(one) for one in sent]
    assert not np.allclose(meant[0], meant[1])
    assert np.array_equal(joint_reward(tables), [[1.0, 1.5, 1.5, 2.0]])


def test_every_agent_of_a_large_team_is_an_axis():
    """Numpy has 64 axes."""
    for agents in (60, 61, 70):
        actions = [1] * (agents - 1) + [2]
        draw = standard_draw(1, actions, samples=1, rng=stream(11, agents))
        law = input_noise(actions, sigma=1.0)
        if agents == 60:
            assert joint_noise(law, draw).shape == (1, 1, 2)
            continue
        with pytest.raises(ValueError, match="'law' parameter of joint_noise"):
            joint_noise(law, draw)
        with pytest.raises(ValueError, match="'actions' parameter of effects"):
            effects([1.0, 2.0], actions)


@pytest.mark.parametrize(
    ("name", "n_states", "actions", "samples"),
    [
        ("n_states", 10**10, [2], 1),
        ("actions", 1, [10] * 10, 1),
        ("samples", 2, [2], 10**9),
    ],
)
def test_the_size_that_is_too_large_is_named(name, n_states, actions, samples):
    with pytest.raises(ValueError, match=f"'{name}' parameter of standard_draw"):
        standard_draw(n_states, actions, samples=samples, rng=stream(12))


def test_arguments_are_checked():
    rng = stream(10, "arguments")
    draw = standard_draw(1, [2, 2], samples=1, rng=rng)
    with pytest.raises(ValueError, match="a draw for 6 joint actions"):
        joint_noise(input_noise([2, 3], sigma=1.0), draw)
    with pytest.raises(ValueError, match="one deviation for every agent"):
        perturb_tables([[[0.0]]], sigma=[1.0, 2.0], rng=rng)
    law = paper_output([2, 3], sigma=1.0)
    with pytest.raises(ValueError, match=r"for actions \(2, 2\)"):
        perturb_output([[[0.0, 0.0]]] * 2, law=law, rng=rng)
    with pytest.raises(TypeError, match="'rng' parameter of standard_draw"):
        standard_draw(1, [2], samples=1, rng=0)
    with pytest.raises(ValueError, match="'rows' parameter of effects"):
        effects(np.zeros(5), [2, 2])
