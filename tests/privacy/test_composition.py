"""Composition of releases, against enumerated joint distributions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.privacy.adjacency import Adjacency
from dplib.privacy.composition import Release, basic_composition
from dplib.privacy.divergence import hockey_stick, max_divergence
from dplib.rng import stream

quick = settings(max_examples=80, deadline=None, derandomize=True, database=None)

ROW = Adjacency(name="row", unit="one row replaced", norm="hamming", radius=1)


def release(epsilon: float, delta: float = 0.0) -> Release:
    return Release(name="r", epsilon=epsilon, delta=delta, adjacency=ROW)


def worst_epsilon(pair: np.ndarray) -> float:
    """The exact pure epsilon of two distributions, in both orders."""
    p, q = pair
    return max(float(max_divergence(log_p=a, log_q=b)) for a, b in ((p, q), (q, p)))


def worst_delta(pair: np.ndarray, epsilon: float) -> float:
    p, q = pair
    return max(
        float(hockey_stick(log_p=a, log_q=b, epsilon=epsilon))
        for a, b in ((p, q), (q, p))
    )


def random_pair(rng: np.random.Generator) -> np.ndarray:
    return np.log(rng.dirichlet(np.ones(3), 2))


def test_sums_are_rounded_up() -> None:
    whole = basic_composition([release(0.1)] * 10, name="all")
    assert Fraction(whole.epsilon) >= 10 * Fraction(0.1)
    assert whole.epsilon == pytest.approx(1.0)
    for delta, count in ((0.01, 3), (1e-6, 5)):  # nearest to the sum is too little
        whole = basic_composition([release(0.0, delta)] * count, name="all")
        assert float(count * Fraction(delta)) < count * Fraction(delta)
        assert Fraction(whole.delta) >= count * Fraction(delta)
    # Adding one by one in floats gives 0.9999999999999999, less than is spent.
    assert Fraction(math.fsum([0.1] * 10)) < 10 * Fraction(0.1)
    assert basic_composition([release(0.0, 0.6)] * 2, name="all").delta == 1.0


@quick
@given(st.integers(0, 2**32), st.floats(0.0, 1.0))
def test_basic_composition_bounds_an_adaptive_joint_distribution(seed, slack) -> None:
    # The second mechanism is chosen by the outcome of the first.
    rng = stream(seed)
    first = random_pair(rng)
    second = [random_pair(rng) for _ in range(3)]
    joint = np.concatenate([first[:, [y]] + second[y] for y in range(3)], axis=1)
    # Each as (epsilon, delta) at an epsilon below the pure one.
    one = slack * worst_epsilon(first)
    two = slack * max(worst_epsilon(pair) for pair in second)
    d_two = max(worst_delta(pair, two) for pair in second)
    parts = [release(one, worst_delta(first, one)), release(two, d_two)]
    whole = basic_composition(parts, name="w")
    assert worst_delta(joint, whole.epsilon) <= whole.delta + 1e-12


def test_pure_composition_is_attained() -> None:
    one, two = np.log([[0.8, 0.2], [0.2, 0.8]]), np.log([[0.7, 0.3], [0.3, 0.7]])
    joint = (one[:, :, None] + two[:, None, :]).reshape(2, 4)
    parts = [release(worst_epsilon(pair)) for pair in (one, two)]
    whole = basic_composition(parts, name="both")
    exact = worst_epsilon(joint)
    assert whole.epsilon == pytest.approx(exact, rel=1e-14)
    # Taking the larger of the two, as if composition were free, is caught.
    assert max(part.epsilon for part in parts) < 0.7 * exact


def test_releases_about_different_neighbours_do_not_add() -> None:
    # Replace-one and add/remove epsilons in one sum: the sum means nothing.
    added = Adjacency(name="row", unit="one row added", norm="hamming", radius=1)
    other = Release(name="o", epsilon=1.0, adjacency=added)
    with pytest.raises(ValueError, match="with respect to the same adjacency"):
        basic_composition([release(1.0), other], name="both")


def test_nothing_composed_is_no_statement() -> None:
    with pytest.raises(ValueError, match="one release or more"):
        basic_composition([], name="none")
