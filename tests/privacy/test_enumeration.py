"""The exact privacy of finite mechanisms: all pairs, both orders."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.privacy.divergence import hockey_stick, max_divergence
from dplib.privacy.enumeration import worst_epsilon, worst_log_delta
from dplib.rng import stream

quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def exponential_mechanism(scores: np.ndarray, epsilon: float) -> np.ndarray:
    """Log laws proportional to exp(epsilon score / 2); score sensitivity 1."""
    logits = 0.5 * epsilon * scores
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def test_randomised_response_is_exact() -> None:
    epsilon = 1.3
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    laws = np.log([[truth, 1 - truth], [1 - truth, truth]])
    assert worst_epsilon(log_laws=laws, pairs=[[0, 1]]) == pytest.approx(epsilon)
    log_delta = worst_log_delta(log_laws=laws, pairs=[[0, 1]], epsilon=[0.0, epsilon])
    assert math.exp(log_delta[0]) == pytest.approx(2 * truth - 1)
    assert math.exp(log_delta[1]) == pytest.approx(0.0, abs=1e-15)


def test_a_claim_that_is_too_small_is_found() -> None:
    # Claimed with half the sensitivity: enumeration proves the claim wrong.
    scores = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    pairs = [[0, 1], [1, 2]]
    right = worst_epsilon(log_laws=exponential_mechanism(scores, 1.0), pairs=pairs)
    wrong = worst_epsilon(log_laws=exponential_mechanism(scores, 4.0), pairs=pairs)
    assert 0.5 < right <= 1.0
    assert wrong > 1.0


def test_both_orders_are_tried() -> None:
    laws = np.log([[0.001, 0.999], [0.01, 0.99]])
    for pair in ([[0, 1]], [[1, 0]]):
        assert worst_epsilon(log_laws=laws, pairs=pair) == pytest.approx(math.log(10))
    one_order = max_divergence(log_p=laws[0], log_q=laws[1])
    assert one_order < 0.01


@quick
@given(st.integers(0, 2**32), st.floats(0.0, 1.0))
def test_the_worst_is_the_maximum_of_all(seed, delta) -> None:
    laws = np.log(stream(seed).dirichlet(np.ones(4), 4))
    pairs = list(itertools.combinations(range(4), 2))
    epsilon = worst_epsilon(log_laws=laws, pairs=pairs, delta=delta)
    curves = [
        hockey_stick(log_p=laws[i], log_q=laws[j], epsilon=epsilon)
        for i, j in itertools.permutations(range(4), 2)
    ]
    assert max(curves) <= delta + 1e-12
    if epsilon > 0.0:
        assert max(curves) == pytest.approx(delta, abs=1e-12)
    exact = worst_log_delta(log_laws=laws, pairs=pairs, epsilon=epsilon)
    assert math.exp(exact) == pytest.approx(max(curves), abs=1e-15)


@pytest.mark.parametrize(
    ("pairs", "error"),
    [
        ([[0, 2]], ValueError),
        ([[-1, 0]], ValueError),
        ([0, 1], ValueError),
        (np.empty((0, 2), int), ValueError),
        ([[0, 1], [0]], ValueError),
        ([[0.0, 1.0]], TypeError),
    ],
)
def test_bad_pairs(pairs, error) -> None:
    laws = np.log([[0.5, 0.5], [0.4, 0.6]])
    with pytest.raises(error, match="The 'pairs' parameter of worst_epsilon"):
        worst_epsilon(log_laws=laws, pairs=pairs)


def test_bad_table() -> None:
    with pytest.raises(ValueError, match="an array with two axes"):
        worst_log_delta(log_laws=np.log([0.5, 0.5]), pairs=[[0, 0]], epsilon=0.0)
