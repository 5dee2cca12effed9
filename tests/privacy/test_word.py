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
    assert true_probability(4, epsilon=800.0, k=2) == 1.0
    exact = 1 / (3 * math.exp(-1 / 2) + 1)
    assert true_probability(4, epsilon=1.0, k=2) == pytest.approx(exact)


@pytest.mark.parametrize("law", [LINE, server()], ids=["line", "server"])
@pytest.mark.parametrize(
    ("epsilon", "k"), [(30.0, 1), (36.5, 1), (50.0, 1), (800.0, 2), (700.0, 1)]
)
def test_where_the_truth_is_all_but_certain_the_promise_is_kept(law, epsilon, k):
    """1 - tau has lost its digits at 30 and is zero from 37 on."""
    mechanism = online_mechanism(law, epsilon=epsilon, k=k)
    options = {"start": 1, "length": 2, "substitutions": k}
    for loss in (by_enumeration(mechanism, **options), word_loss(mechanism, **options)):
        assert loss == pytest.approx(epsilon, rel=1e-13)
    np.testing.assert_allclose(mechanism.law.sum(axis=2), 1.0, rtol=1e-14)
    plain = OnlineMechanism(feasible=mechanism.feasible, tau=mechanism.tau)
    assert word_loss(plain, **options) > epsilon + 1e-5


@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_a_word_that_only_one_of_two_can_give_costs_everything(tau):
    every = np.ones((3, 3), dtype=bool)
    mechanism = OnlineMechanism(feasible=every, tau=np.full(3, tau))
    options = {"start": 0, "length": 2, "substitutions": 1}
    assert by_enumeration(mechanism, **options) == math.inf
    assert word_loss(mechanism, **options) == math.inf
    assert word_loss(mechanism, **options | {"substitutions": 0}) == 0.0
    # Whoever cannot move has one word only: nothing to tell apart.
    assert word_loss(mechanism, **options, words=np.eye(3, dtype=bool)) == 0.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": -1.0}, "'epsilon' parameter of online_mechanism"),
        ({"epsilon": 701.0}, "'epsilon' .* at most 700 k: no float"),
        ({"k": 0}, "'k' parameter of online_mechanism"),
        ({"k": 1.5}, "'k' parameter of online_mechanism"),
        ({"k": 10**400}, "'k' parameter of online_mechanism"),
        ({"transitions": LINE[:, :, :2]}, r"array of shape \(n, m, n\)"),
        ({"transitions": np.zeros((2, 2, 2))}, "sum to 1 for every state and action"),
        ({"transitions": [[[2.0, -1.0]]] * 2}, "sum to 1 for every state and action"),
    ],
)
def test_what_readers_type_is_checked(options, words):
    right = {"transitions": LINE, "epsilon": 1.0, "k": 1}
    with pytest.raises((TypeError, ValueError), match=words):
        online_mechanism(**right | options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"feasible": np.ones((3, 2))}, "'feasible' .* a square array"),
        ({"feasible": np.eye(3) - np.eye(3)[0]}, "a state that can follow in every"),
        ({"tau": [0.5, 0.5, 1.5]}, "'tau' .* probabilities between 0 and 1"),
        ({"tau": [0.5, 0.5]}, "'tau' .* an array of shape"),
        ({"other": [0.5, 0.5, 0.5]}, "'other' .* shares that sum to 1 with tau"),
    ],
)
def test_a_mechanism_that_is_none_is_refused(options, words):
    right = {"feasible": np.ones((3, 3)), "tau": [0.5, 0.5, 0.5]}
    with pytest.raises(ValueError, match=words):
        OnlineMechanism(**right | options)


def test_words_and_starts_are_states():
    mechanism = online_mechanism(LINE, epsilon=1.0, k=1)
    for word, start in (([-1], 1), ([1, 3], 1), ([], 1), ([1], -1), ([1], 3)):
        with pytest.raises(ValueError, match="parameter of word_distribution"):
            word_distribution(mechanism, word, start=start)
    right = {"start": 1, "length": 2, "substitutions": 1}
    for wrong in ({"start": -1}, {"start": 3}, {"length": 0}, {"substitutions": -1}):
        with pytest.raises(ValueError, match="parameter of word_loss"):
            word_loss(mechanism, **right | wrong)
    with pytest.raises(ValueError, match=r"'out_degree' .* 1 or greater"):
        true_probability([0, 2], epsilon=0.0, k=1)
