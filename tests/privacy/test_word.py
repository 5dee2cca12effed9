"""The online mechanism for words: exact, tight, and found out if it is wrong."""

import itertools
import math

import numpy as np
import pytest

from dplib.planning.paper import NAVIGATION, server
from dplib.privacy.divergence import max_divergence
from dplib.privacy.word import (
    OnlineMechanism,
    feasible_states,
    online_mechanism,
    private_word,
    true_probability,
    word_distribution,
    word_loss,
)

LINE = np.zeros((3, 3, 3))  # three cells in a row: left, stay, right
for cell in range(3):
    for action, move in enumerate((-1, 0, 1)):
        LINE[cell, action, min(max(cell + move, 0), 2)] = 1.0


def by_enumeration(mechanism, *, start, length, substitutions):
    """Return the largest loss over all pairs of words, word by word."""
    n = len(mechanism.feasible)
    words = list(itertools.product(range(n), repeat=length))
    log_p = {w: word_distribution(mechanism, w, start=start).ravel() for w in words}
    return max(
        max_divergence(log_p=log_p[v], log_q=log_p[w])
        for v, w in itertools.product(words, repeat=2)
        if sum(a != b for a, b in zip(v, w, strict=True)) <= substitutions
    )


@pytest.mark.parametrize("law", [LINE, server()], ids=["line", "server"])
@pytest.mark.parametrize("k", [1, 2])
def test_the_loss_is_epsilon_by_two_routes(law, k):
    mechanism = online_mechanism(law, epsilon=0.8, k=k)
    options = {"start": 1, "length": 3, "substitutions": k}
    one, two = by_enumeration(mechanism, **options), word_loss(mechanism, **options)
    assert one == pytest.approx(0.8, abs=1e-12)
    assert two == pytest.approx(0.8, abs=1e-12)


@pytest.mark.parametrize("law", [NAVIGATION.transitions[0], server()])
def test_a_long_word_costs_no_more_and_each_further_substitution_epsilon_over_k(law):
    mechanism = online_mechanism(law, epsilon=1.5, k=3)
    start = 20 if len(law) > 4 else 1
    for substitutions in (1, 3, 5):
        loss = word_loss(mechanism, start=start, length=10, substitutions=substitutions)
        assert loss == pytest.approx(substitutions * 0.5, abs=1e-12)


def test_words_that_the_agent_can_go_are_as_far_apart():
    mechanism = online_mechanism(LINE, epsilon=0.6, k=1)
    loss = word_loss(
        mechanism,
        start=1,
        length=4,
        substitutions=1,
        words=feasible_states(LINE),
    )
    assert loss == pytest.approx(0.6, abs=1e-12)


def test_no_substitution_no_loss():
    mechanism = online_mechanism(LINE, epsilon=0.6, k=1)
    assert word_loss(mechanism, start=1, length=4, substitutions=0) == 0.0


@pytest.mark.parametrize(
    "tau",
    [
        lambda rho: true_probability(rho, epsilon=2.0, k=1),  # half the noise
        lambda rho: true_probability(rho, epsilon=1.0, k=1),  # k = 2 was asked for
        lambda rho: np.where(rho == 2, 0.9, 1.0 / rho),  # one state forgotten
    ],
    ids=["half the noise", "wrong k", "one state"],
)
def test_a_broken_mechanism_is_found_out(tau):
    feasible = feasible_states(LINE)
    broken = OnlineMechanism(feasible=feasible, tau=tau(feasible.sum(axis=1)))
    assert word_loss(broken, start=1, length=3, substitutions=2) > 1.0 + 1e-3


def test_a_mechanism_over_all_states_would_leave_the_map():
    """Randomised response on all states is private, and jumps over cells."""
    everywhere = np.ones((3, 3), dtype=bool)
    tau = true_probability([3, 3, 3], epsilon=1.0, k=1)
    free = OnlineMechanism(feasible=everywhere, tau=tau)
    assert word_loss(free, start=1, length=3, substitutions=1) <= 1.0 + 1e-12
    jumps = word_distribution(free, [2, 0], start=2)
    assert np.exp(jumps[2, 0]) > 0.3
    walked = word_distribution(
        online_mechanism(LINE, epsilon=1.0, k=1), [2, 0], start=2
    )
    assert np.exp(walked[2, 0]) == 0.0


def test_if_the_true_state_is_out_of_reach_all_feasible_ones_are_equally_likely():
    law = online_mechanism(LINE, epsilon=3.0, k=1).law
    np.testing.assert_allclose(law[2, 0], [0.5, 0.5, 0.0])
    np.testing.assert_allclose(law.sum(axis=2), 1.0)


def test_tau_has_its_limits():
    assert true_probability(4, epsilon=0.0, k=3) == 0.25
    assert true_probability(4, epsilon=800.0, k=1) == 1.0
    exact = 1 / (3 * math.exp(-1 / 2) + 1)
    assert true_probability(4, epsilon=1.0, k=2) == pytest.approx(exact)


def test_drawn_words_follow_the_distribution():
    mechanism = online_mechanism(LINE, epsilon=1.0, k=1)
    rng = np.random.default_rng(7)
    drawn = [private_word(mechanism, [1, 2], start=1, rng=rng) for _ in range(4000)]
    share = np.mean([word == [1, 2] for word in drawn])
    exact = np.exp(word_distribution(mechanism, [1, 2], start=1)[1, 2])
    assert abs(share - exact) < 5.5 * math.sqrt(exact * (1 - exact) / 4000)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": -1.0, "k": 1}, "'epsilon' parameter of true_probability"),
        ({"epsilon": 1.0, "k": 0}, "'k' parameter of true_probability"),
        ({"epsilon": 1.0, "k": 1.5}, "'k' parameter of true_probability"),
    ],
)
def test_what_readers_type_is_checked(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        online_mechanism(LINE, **options)


@pytest.mark.parametrize("tau", [0.0, 1.0], ids=["never true", "always true"])
def test_what_only_one_word_can_give_is_an_infinite_loss(tau):
    """It once counted as no loss: telling the truth would have been perfect."""
    frank = OnlineMechanism(feasible=np.ones((3, 3), bool), tau=np.full(3, tau))
    options = {"start": 0, "length": 2}
    assert word_loss(frank, substitutions=1, **options) == math.inf
    assert word_loss(frank, substitutions=0, **options) == 0.0


@pytest.mark.parametrize("epsilon", [30.0, 50.0, 700.0])
def test_weak_privacy_is_privacy(epsilon):
    """Subtracting tau from 1 once lost what the false words have."""
    mechanism = online_mechanism(LINE, epsilon=epsilon, k=1)
    loss = word_loss(mechanism, start=1, length=3, substitutions=1)
    assert loss == pytest.approx(epsilon, rel=1e-12)
    assert mechanism.law[1, 1, 0] == pytest.approx(math.exp(-epsilon), rel=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: online_mechanism(LINE, epsilon=701.0, k=1), "at most 700 k"),
        (lambda: feasible_states(np.zeros((2, 2, 2))), "a successor of every state"),
        (lambda: feasible_states(np.ones((2, 2, 3))), "of shape"),
        (
            lambda: OnlineMechanism(feasible=np.ones((2, 2), bool), tau=np.full(2, 2)),
            "between 0 and 1",
        ),
    ],
)
def test_what_gives_no_distribution_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
