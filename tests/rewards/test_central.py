"""True central privacy of every mechanism, against solving with its covariance."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dplib.privacy import gaussian
from dplib.rewards.balanced import balanced_output
from dplib.rewards.central import (
    central_delta,
    central_epsilon,
    central_log_delta,
    central_shift,
    matched,
    shift_of_change,
)
from dplib.rewards.noise_law import (
    covariance_matrix,
    entry_variance,
    input_noise,
    paper_output,
    projected_output,
    tight_output,
)
from dplib.rewards.tables import averaging_matrix, entry_adjacency
from dplib.rng import stream

LAWS = [input_noise, paper_output, tight_output, projected_output, balanced_output]
TEAMS = [[3], [2, 2], [4, 4], [2, 5], [5, 2, 3], [4, 1]]


def largest_shift(law, changes):
    """Oracle: try every change of entries in one state through the full covariance."""
    J = averaging_matrix(law.actions)
    return max(shift_of_change(law, J @ change) for change in changes)


def one_entry(actions, bound):
    return bound * np.eye(sum(actions))


def one_entry_each(actions, bound):
    starts = np.cumsum([0, *actions[:-1]])
    for places in itertools.product(*map(range, actions)):
        for signs in itertools.product([1, 0, -1], repeat=len(actions)):
            if any(signs):
                change = np.zeros(sum(actions))
                for start, place, sign in zip(starts, places, signs, strict=True):
                    change[start + place] = sign * bound
                yield change


@pytest.mark.parametrize("actions", TEAMS)
@pytest.mark.parametrize("make", LAWS)
def test_entry_shift_is_the_worst_over_all_entries(make, actions):
    law = make(actions, sigma=1.7)
    tried = largest_shift(law, one_entry(actions, 2.0))
    assert central_shift(law, bound=2.0) == pytest.approx(tried, rel=1e-9)


@pytest.mark.parametrize("actions", [[3], [2, 2], [2, 3], [3, 2, 2]])
@pytest.mark.parametrize("make", LAWS)
def test_team_shift_is_the_worst_over_all_joint_changes_in_one_state(make, actions):
    law = make(actions, sigma=1.7)
    tried = largest_shift(law, one_entry_each(actions, 2.0))
    ours = central_shift(law, bound=2.0, change="team")
    assert ours == pytest.approx(tried, rel=1e-9)
    # Changes in different states add their squares: never worse.
    apart = math.sqrt(len(actions)) * central_shift(law, bound=2.0)
    assert ours >= math.sqrt(0.5) * apart or len(actions) > 2


@pytest.mark.parametrize("make", LAWS)
def test_a_one_norm_ball_is_no_more_visible_than_its_corners(make):
    """Why the adjacency may be the ball: several small changes are never worse."""
    actions, bound = [2, 3, 2], 1.5
    law = make(actions, sigma=1.0)
    J = averaging_matrix(actions)
    rng = stream(2026, "test ball")
    worst = central_shift(law, bound=bound)
    for _ in range(200):
        change = rng.laplace(size=sum(actions))
        change *= entry_adjacency(bound).radius / np.abs(change).sum()
        assert shift_of_change(law, J @ change) <= worst * (1 + 1e-9)


@pytest.mark.parametrize("N", [1, 2, 5])
@pytest.mark.parametrize("m", [2, 4])
def test_input_perturbation_seen_centrally(N, m):
    """Squared shift 1 - (N - 1) / (N m) for an entry, exactly N for the team."""
    law = input_noise([m] * N, sigma=1.0)
    square = central_shift(law, bound=1.0) ** 2
    assert square == pytest.approx(1 - (N - 1) / (N * m), rel=1e-12)
    team = central_shift(law, bound=1.0, change="team") ** 2
    assert team == pytest.approx(N, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "square"),
    [(tight_output, 1.0), (projected_output, 1.0), (balanced_output, 1.0)],
)
def test_tight_mechanisms_spend_what_they_may(make, square):
    law = make([4, 4, 4], sigma=1.0)
    assert central_shift(law, bound=1.0) ** 2 == pytest.approx(square, rel=1e-12)


@pytest.mark.parametrize("actions", TEAMS)
def test_no_mechanism_exceeds_its_nominal_privacy(actions):
    for make in LAWS:
        assert central_shift(make(actions, sigma=1.0), bound=1.0) <= 1.0 + 1e-12
        if make is not paper_output:  # which has room: that is the finding
            half = make(actions, sigma=0.5)  # the mutation: half the noise
            assert central_shift(half, bound=1.0) > 1.0


def test_true_epsilon_of_printed_algorithm_2():
    """At nominal (1, 0.01) with 4 actions each: 0.260, then none at all."""
    sigma = gaussian.kappa_sigma(sensitivity=1.0, epsilon=1.0, delta=0.01)
    epsilons = [
        central_epsilon(paper_output([4] * N, sigma=sigma), bound=1.0, delta=0.01)
        for N in (2, 5)
    ]
    assert epsilons == pytest.approx([0.25962, 0.0], abs=1e-5)
    law = paper_output([4] * 5, sigma=sigma)
    assert central_delta(law, bound=1.0, epsilon=0.0) == pytest.approx(
        0.00988, abs=1e-5
    )
    own = input_noise([4, 4], sigma=sigma)
    assert central_epsilon(own, bound=1.0, delta=0.01) == pytest.approx(
        0.6155, abs=1e-4
    )
    team = central_epsilon(own, bound=1.0, delta=0.01, change="team")
    assert team == pytest.approx(1.07, abs=5e-3)


@pytest.mark.parametrize(("N", "m"), [(2, 4), (3, 2), (6, 5), (10, 4)])
def test_input_and_projected_tie_at_equal_true_privacy(N, m):
    """Named finding: the entries have equal variance, and balanced noise less."""
    if m**N > 10**7:
        pytest.skip("too large")
    laws = [
        matched(make([m] * N, sigma=1.0), bound=1.0, epsilon=1.0, delta=0.01)
        for make in (input_noise, projected_output, balanced_output)
    ]
    own, projected, balanced = (entry_variance(law) for law in laws)
    assert own == pytest.approx(projected, rel=1e-12)
    assert balanced < own * (1 - 1e-3)


def test_matched_input_and_projected_are_ordered_neither_way():
    """The difference of the covariances has eigenvalues of both signs."""
    own, projected = (
        covariance_matrix(
            matched(make([4, 4], sigma=1.0), bound=1.0, epsilon=1.0, delta=0.01)
        )
        for make in (input_noise, projected_output)
    )
    eigenvalues = np.linalg.eigvalsh(own - projected)
    assert eigenvalues.min() < -1e-3
    assert eigenvalues.max() > 1e-3


@pytest.mark.parametrize("actions", [[2, 5], [5, 2, 3], [4, 4]])
def test_at_nominal_privacy_projected_noise_is_below_input_noise(actions):
    gap = covariance_matrix(input_noise(actions, sigma=1.0)) - covariance_matrix(
        projected_output(actions, sigma=1.0)
    )
    assert np.linalg.eigvalsh(gap).min() > -1e-13


def test_projection_costs_no_privacy():
    tight, projected = (
        central_shift(make([3, 3], sigma=1.0), bound=1.0)
        for make in (tight_output, projected_output)
    )
    assert tight == pytest.approx(projected, rel=1e-14)


@pytest.mark.parametrize("change", ["entry", "team"])
def test_log_delta_is_the_logarithm_of_delta(change):
    law = input_noise([3, 2], sigma=1.3)
    at = {"bound": 2.0, "epsilon": 0.7, "change": change}
    log_delta = central_log_delta(law, **at)
    assert math.exp(log_delta) == pytest.approx(central_delta(law, **at), rel=1e-12)


def test_arguments_are_checked():
    law = input_noise([2, 2], sigma=1.0)
    with pytest.raises(ValueError, match="'change' parameter of central_shift"):
        central_shift(law, bound=1.0, change="agent")
    with pytest.raises(ValueError, match="'bound' parameter of central_epsilon"):
        central_epsilon(law, bound=0.0, delta=0.1)
    with pytest.raises(ValueError, match="in the range of J"):
        shift_of_change(law, [1.0, 0.0, 0.0, 0.0])
    with pytest.raises(TypeError, match="'law' parameter of matched"):
        matched(None, bound=1.0, epsilon=1.0, delta=0.1)
