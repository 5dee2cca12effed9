"""Releases and the plain rules of composition, against enumerated joint laws."""

from __future__ import annotations

import itertools
import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.privacy.adjacency import Adjacency
from dplib.privacy.composition import (
    Release,
    basic_composition,
    group_privacy,
    parallel_composition,
)
from dplib.privacy.divergence import hockey_stick
from dplib.privacy.enumeration import worst_epsilon, worst_log_delta
from dplib.rng import stream

quick = settings(max_examples=80, deadline=None, derandomize=True, database=None)

ROW = Adjacency(name="row", unit="one row replaced", norm="hamming", radius=1)
OTHER = Adjacency(name="row", unit="one row added", norm="hamming", radius=1)
BOTH = [[0, 1]]


def release(epsilon: float, delta: float = 0.0) -> Release:
    return Release(name="r", epsilon=epsilon, delta=delta, adjacency=ROW)


def random_laws(rng: np.random.Generator, outcomes: int) -> np.ndarray:
    return np.log(rng.dirichlet(np.ones(outcomes), 2))


# --- releases ------------------------------------------------------------------


def test_a_release_is_a_value() -> None:
    one = Release(name="count", epsilon=1, adjacency=ROW)
    assert one == Release(name="count", epsilon=1.0, delta=0.0, adjacency=ROW)
    with pytest.raises(FrozenInstanceError):
        one.epsilon = 0.5


def test_a_release_without_an_adjacency_is_no_statement() -> None:
    with pytest.raises(TypeError, match=r"missing 1 required keyword-only.*adjacency"):
        Release(name="count", epsilon=1.0)
    with pytest.raises(TypeError, match="The 'adjacency' parameter of Release"):
        Release(name="count", epsilon=1.0, adjacency="replace-one")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"epsilon": -1.0}, ValueError),
        ({"epsilon": math.inf}, ValueError),
        ({"delta": 1.1}, ValueError),
        ({"name": 3}, TypeError),
    ],
)
def test_bad_fields(change, error) -> None:
    fields = {"name": "r", "epsilon": 1.0, "adjacency": ROW}
    with pytest.raises(error, match="parameter of Release must be"):
        Release(**(fields | change))


# --- basic composition ---------------------------------------------------------


def test_sums_are_rounded_up() -> None:
    parts = [release(0.1)] * 10
    whole = basic_composition(parts, name="all")
    assert Fraction(whole.epsilon) >= 10 * Fraction(0.1)
    assert whole.epsilon == pytest.approx(1.0)
    # Adding one by one in floats gives 0.9999999999999999, less than is spent.
    assert Fraction(math.fsum([0.1] * 10)) < 10 * Fraction(0.1)


def test_delta_is_at_most_one() -> None:
    assert basic_composition([release(0.0, 0.6)] * 2, name="all").delta == 1.0


@quick
@given(st.integers(0, 2**32), st.floats(0.0, 1.0))
def test_basic_composition_bounds_an_adaptive_joint_law(seed, slack) -> None:
    # The second mechanism is chosen by the outcome of the first.
    rng = stream(seed)
    first = random_laws(rng, 3)
    second = [random_laws(rng, 3) for _ in range(3)]
    joint = np.concatenate([first[:, [y]] + second[y] for y in range(3)], axis=1)
    # Each as (epsilon, delta) at an epsilon below the pure one.
    pure = worst_epsilon(log_laws=first, pairs=BOTH)
    one = slack * pure
    d_one = math.exp(worst_log_delta(log_laws=first, pairs=BOTH, epsilon=one))
    two = slack * max(worst_epsilon(log_laws=law, pairs=BOTH) for law in second)
    d_two = max(
        math.exp(worst_log_delta(log_laws=law, pairs=BOTH, epsilon=two))
        for law in second
    )
    whole = basic_composition([release(one, d_one), release(two, d_two)], name="w")
    exact = worst_log_delta(log_laws=joint, pairs=BOTH, epsilon=whole.epsilon)
    assert math.exp(exact) <= whole.delta + 1e-12


def test_pure_composition_is_attained() -> None:
    one, two = np.log([[0.8, 0.2], [0.2, 0.8]]), np.log([[0.7, 0.3], [0.3, 0.7]])
    joint = (one[:, :, None] + two[:, None, :]).reshape(2, 4)
    parts = [release(worst_epsilon(log_laws=law, pairs=BOTH)) for law in (one, two)]
    whole = basic_composition(parts, name="both")
    exact = worst_epsilon(log_laws=joint, pairs=BOTH)
    assert whole.epsilon == pytest.approx(exact, rel=1e-14)
    # Taking the larger of the two, as if composition were free, is caught.
    assert max(part.epsilon for part in parts) < 0.7 * exact


@pytest.mark.parametrize("rule", [basic_composition, parallel_composition])
def test_releases_about_different_neighbours_do_not_add(rule) -> None:
    # Replace-one and add/remove epsilons in one sum: the sum means nothing.
    other = Release(name="o", epsilon=1.0, adjacency=OTHER)
    with pytest.raises(ValueError, match="with respect to the same adjacency"):
        rule([release(1.0), other], name="both")
    with pytest.raises(ValueError, match="a sequence of at least one"):
        rule([], name="none")
    with pytest.raises(TypeError, match="Release objects"):
        rule([1.0], name="number")


# --- parallel composition ------------------------------------------------------


def test_parallel_composition_of_disjoint_parts() -> None:
    # Two bits, each answered by its own randomised response; one bit changes.
    strong, weak = math.log(4.0), math.log(1.5)

    def answer(bit: int, epsilon: float) -> np.ndarray:
        truth = 1.0 / (1.0 + math.exp(-epsilon))
        return np.log([truth, 1 - truth] if bit == 0 else [1 - truth, truth])

    data = list(itertools.product((0, 1), repeat=2))
    laws = np.array(
        [
            (answer(a, strong)[:, None] + answer(b, weak)[None, :]).ravel()
            for a, b in data
        ]
    )
    one_bit = [[0, 1], [0, 2], [1, 3], [2, 3]]
    whole = parallel_composition([release(strong), release(weak)], name="both")
    exact = worst_epsilon(log_laws=laws, pairs=one_bit)
    assert whole.epsilon == pytest.approx(exact)
    # If both bits may change the rule is wrong, and basic composition right.
    both_bits = worst_epsilon(log_laws=laws, pairs=[[0, 3], [1, 2]])
    assert both_bits > whole.epsilon + 0.3
    added = basic_composition([release(strong), release(weak)], name="both")
    assert both_bits == pytest.approx(added.epsilon)


# --- groups --------------------------------------------------------------------


def test_group_privacy_of_a_pure_release() -> None:
    group = group_privacy(release(0.1), size=3)
    assert Fraction(group.epsilon) >= 3 * Fraction(0.1)
    assert group.epsilon == pytest.approx(0.3)
    assert group.delta == 0.0
    assert group.adjacency == ROW.scaled(3)
    assert group_privacy(release(0.4, 1e-5), size=1).delta == pytest.approx(1e-5)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 0.3, 2.0])
def test_group_delta_is_the_geometric_sum(size, epsilon) -> None:
    group = group_privacy(release(epsilon, 1e-9), size=size)
    exact = 1e-9 * math.fsum(math.exp(epsilon * i) for i in range(size))
    assert group.delta == pytest.approx(exact, rel=1e-13, abs=0)


def test_group_delta_is_attained() -> None:
    # A chain on which every step attains both epsilon and delta exactly:
    # P_i - delta = e^epsilon P_(i+1) on one event.
    epsilon, delta, chain = 0.2, 0.01, [0.05]
    for _ in range(3):
        chain.append(math.exp(epsilon) * chain[-1] + delta)
    group = group_privacy(release(epsilon, delta), size=3)
    ends = [np.log([chain[3], 1 - chain[3]]), np.log([chain[0], 1 - chain[0]])]
    exact = hockey_stick(log_p=ends[0], log_q=ends[1], epsilon=group.epsilon)
    assert exact == pytest.approx(group.delta, rel=1e-12)


def test_large_groups_do_not_overflow() -> None:
    assert group_privacy(release(500.0, 1e-300), size=4).delta == 1.0
    small = group_privacy(release(300.0, 5e-324), size=2)
    assert small.delta == pytest.approx(5e-324 * math.exp(300.0), rel=1e-12, abs=0)
    with pytest.raises(ValueError, match="The 'size' parameter of group_privacy"):
        group_privacy(release(1.0), size=0)


@pytest.mark.parametrize("rule", [basic_composition, parallel_composition])
@pytest.mark.parametrize("releases", [3, None, "ab", (release(1.0) for _ in range(2))])
def test_releases_that_are_no_sequence(rule, releases) -> None:
    # An int raised a raw TypeError; a generator was used up by the checks.
    with pytest.raises(TypeError, match=f"'releases' parameter of {rule.__name__}"):
        rule(releases, name="all")


def test_group_privacy_of_no_release() -> None:
    with pytest.raises(TypeError, match="'release' parameter of group_privacy"):
        group_privacy(None, size=2)


def test_a_claim_that_no_float_equals_is_rounded_up() -> None:
    # Rounded to nearest, 1/3 became a float below 1/3.
    third = Release(
        name="r", epsilon=Fraction(1, 3), delta=Fraction(1, 3), adjacency=ROW
    )
    assert Fraction(third.epsilon) >= Fraction(1, 3)
    assert Fraction(third.delta) >= Fraction(1, 3)


def test_claims_never_below_exact_group_delta() -> None:
    # Below the exact sum in 38 % of trials when it was rounded to nearest.
    rng = stream(7, "group")
    with mpmath.workdps(60):
        for _ in range(300):
            size, delta = int(rng.integers(1, 20)), 10.0 ** rng.uniform(-300, -1)
            epsilon = 10.0 ** rng.uniform(-20, 1.5)
            group = group_privacy(release(epsilon, delta), size=size)
            e = mpmath.mpf(epsilon)
            exact = delta * mpmath.fsum(mpmath.exp(i * e) for i in range(size))
            assert group.delta >= min(1, exact)
            assert group.delta <= exact * (1 + mpmath.mpf(1e-12))
