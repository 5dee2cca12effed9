"""True central privacy of every mechanism, against solving with its covariance."""

import itertools
import math

import numpy as np
import pytest

from dplib.privacy.gaussian import gaussian_delta, gaussian_epsilon, kappa_sigma
from dplib.rewards.central import central_shift, equally_private, matched
from dplib.rewards.mechanism import (
    MECHANISMS,
    balanced_output,
    input_noise,
    paper_output,
    projected_output,
    tight_output,
)
from dplib.rewards.tables import averaging_matrix
from dplib.rng import stream

MAKERS = list(MECHANISMS.values())
TEAMS = [[3], [2, 2], [4, 4], [2, 5], [5, 2, 3], [4, 1]]


def shifts(mechanism, changes):
    """Oracle: the shift that each change of the tables causes, by the covariance."""
    moved = np.atleast_2d(changes) @ averaging_matrix(mechanism.actions).T
    inverse = np.linalg.pinv(mechanism.covariance(), hermitian=True)
    return np.sqrt(np.einsum("ki,ij,kj->k", moved, inverse, moved))


def one_entry_each(actions):
    """Yield every change of at most one entry of each agent's table by 1."""
    starts = np.cumsum([0, *actions[:-1]])
    for places in itertools.product(*map(range, actions)):
        for signs in itertools.product([1, 0, -1], repeat=len(actions)):
            change = np.zeros(sum(actions))
            change[starts + places] = signs
            yield change


def true_epsilon(mechanism, delta, bound=1.0, change="entry"):
    shift = central_shift(mechanism, bound=bound, change=change)
    return gaussian_epsilon(sensitivity=shift, sigma=1.0, delta=delta)


@pytest.mark.parametrize("actions", TEAMS)
@pytest.mark.parametrize("make", MAKERS)
def test_entry_shift_is_the_worst_over_all_entries(make, actions):
    mechanism = make(actions, sigma=1.7)
    tried = shifts(mechanism, 2.0 * np.eye(sum(actions))).max()
    assert central_shift(mechanism, bound=2.0) == pytest.approx(tried, rel=1e-9)


@pytest.mark.parametrize("actions", [[3], [2, 2], [2, 3], [3, 2, 2]])
@pytest.mark.parametrize("make", MAKERS)
def test_team_shift_is_the_worst_over_all_joint_changes_in_one_state(make, actions):
    mechanism = make(actions, sigma=1.7)
    tried = shifts(mechanism, 2.0 * np.array(list(one_entry_each(actions)))).max()
    ours = central_shift(mechanism, bound=2.0, change="team")
    assert ours == pytest.approx(tried, rel=1e-9)


@pytest.mark.parametrize("make", MAKERS)
def test_a_one_norm_ball_is_no_more_visible_than_its_corners(make):
    """Why the adjacency may be the ball: several small changes are never worse."""
    mechanism = make([2, 3, 2], sigma=1.0)
    changes = stream(2026, "test ball").laplace(size=(200, 7))
    changes *= 1.5 / np.abs(changes).sum(axis=1, keepdims=True)
    worst = central_shift(mechanism, bound=1.5)
    assert np.all(shifts(mechanism, changes) <= worst * (1 + 1e-9))


@pytest.mark.parametrize("N", [1, 2, 5])
@pytest.mark.parametrize("m", [2, 4])
def test_input_perturbation_seen_centrally(N, m):
    """Squared shift 1 - (N - 1) / (N m) for an entry, exactly N for the team."""
    own = input_noise([m] * N, sigma=1.0)
    square = central_shift(own, bound=1.0) ** 2
    assert square == pytest.approx(1 - (N - 1) / (N * m), rel=1e-12)
    team = central_shift(own, bound=1.0, change="team") ** 2
    assert team == pytest.approx(N, rel=1e-12)


@pytest.mark.parametrize("make", [tight_output, projected_output, balanced_output])
def test_tight_mechanisms_spend_what_they_may(make):
    """So projecting the tight noise costs no privacy."""
    shift = central_shift(make([4, 4, 4], sigma=1.0), bound=1.0)
    assert shift == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("actions", TEAMS)
@pytest.mark.parametrize("make", MAKERS)
def test_no_mechanism_exceeds_its_nominal_privacy(make, actions):
    assert central_shift(make(actions, sigma=1.0), bound=1.0) <= 1.0 + 1e-12
    if make is not paper_output:  # which has room: that is the finding
        half = make(actions, sigma=0.5)  # the mutation: half the noise
        assert central_shift(half, bound=1.0) > 1.0


def test_true_epsilon_of_printed_algorithm_2():
    """At nominal (1, 0.01) with 4 actions each: 0.260, then none at all."""
    sigma = kappa_sigma(sensitivity=1.0, epsilon=1.0, delta=0.01)
    two, five = (paper_output([4] * N, sigma=sigma) for N in (2, 5))
    assert true_epsilon(two, 0.01) == pytest.approx(0.25962, abs=1e-5)
    assert true_epsilon(five, 0.01) == 0.0
    shift = central_shift(five, bound=1.0)
    delta = gaussian_delta(sensitivity=shift, sigma=1.0, epsilon=0.0)
    assert delta == pytest.approx(0.00988, abs=1e-5)
    own = input_noise([4, 4], sigma=sigma)
    assert true_epsilon(own, 0.01) == pytest.approx(0.6155, abs=1e-4)
    assert true_epsilon(own, 0.01, change="team") == pytest.approx(1.07, abs=5e-3)


@pytest.mark.parametrize("actions", [[4, 4], [2, 5], [3, 3, 3]])
def test_equally_private_mechanisms_have_one_true_epsilon(actions):
    private = equally_private(actions, bound=2.0, epsilon=0.7, delta=0.05)
    for one in private.values():
        assert true_epsilon(one, 0.05, bound=2.0) == pytest.approx(0.7, rel=1e-8)
    sizes = {name: one.deviation for name, one in private.items()}
    assert sizes["printed"] == pytest.approx(sizes["exact"], rel=1e-12)
    assert sizes["balanced"] <= min(sizes.values()) * (1 + 1e-9)


@pytest.mark.parametrize(("N", "m"), [(2, 4), (3, 2), (6, 5), (10, 4)])
def test_input_and_projected_tie_at_equal_true_privacy(N, m):
    """Named finding: the entries have equal variance, and balanced noise less."""
    private = equally_private([m] * N, bound=1.0, epsilon=1.0, delta=0.01)
    tie = private["input"].variance
    assert private["projected"].variance == pytest.approx(tie, rel=1e-12)
    assert private["balanced"].variance < tie * (1 - 1e-3)


def test_tied_covariances_are_ordered_neither_way():
    private = equally_private([4, 4], bound=1.0, epsilon=1.0, delta=0.01)
    gap = private["input"].covariance() - private["projected"].covariance()
    eigenvalues = np.linalg.eigvalsh(gap)
    assert eigenvalues.min() < -1e-3
    assert eigenvalues.max() > 1e-3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bound": 0.0}, "'bound' parameter of central_shift"),
        ({"bound": math.nan}, "'bound' parameter of central_shift"),
        ({"epsilon": -1.0}, "'epsilon' parameter of"),
        ({"delta": 1.0}, "'delta' parameter of"),
    ],
)
def test_privacy_is_checked(change, words):
    own = input_noise([2, 2], sigma=1.0)
    with pytest.raises(ValueError, match=words):
        matched(own, **{"bound": 1.0, "epsilon": 1.0, "delta": 0.1, **change})
    with pytest.raises(ValueError, match="'change' parameter of central_shift"):
        central_shift(own, bound=1.0, change="agent")
