"""k releases together: exact fractions, enumerated laws, and an accountant."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dplib.privacy.adjacency import Adjacency
from dplib.privacy.composition import Release, basic_composition
from dplib.privacy.enumeration import worst_epsilon, worst_log_delta
from dplib.privacy.kfold import (
    advanced_composition,
    optimal_composition,
    optimal_log_delta,
)
from dplib.privacy.laplace_profile import laplace_log_delta
from dplib.rng import stream

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)

ROW = Adjacency(name="row", unit="one row replaced", norm="hamming", radius=1)
BOTH = [[0, 1]]


def release(epsilon: float, delta: float = 0.0) -> Release:
    return Release(name="r", epsilon=epsilon, delta=delta, adjacency=ROW)


def printed_delta(epsilon: float, k: int, i: int) -> mpmath.mpf:
    """delta_i of Kairouz, Oh and Viswanath as printed, in many digits."""
    e = mpmath.mpf(epsilon)
    terms = [
        mpmath.binomial(k, j)
        * (mpmath.exp((k - j) * e) - mpmath.exp((k - 2 * i + j) * e))
        for j in range(i)
    ]
    return mpmath.fsum(terms) / (1 + mpmath.exp(e)) ** k


# --- optimal composition -------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "k"), [(0.1, 7), (1.0, 10), (0.01, 40), (5.0, 6)])
def test_the_printed_closed_form(epsilon, k) -> None:
    with mpmath.workdps(80):
        for i in range(k // 2 + 1):
            level = (k - 2 * i) * epsilon
            ours = optimal_log_delta(release(epsilon), count=k, epsilon=level)
            exact = printed_delta(epsilon, k, i)
            if i == 0:
                # The last term is a difference of equal numbers: nothing is left.
                assert ours < -30.0
            else:
                assert ours == pytest.approx(float(mpmath.log(exact)), abs=1e-10)


@pytest.mark.parametrize(("k", "i"), [(1000, 1), (1000, 30), (1000, 400), (20_000, 7)])
def test_the_closed_form_far_out(k, i) -> None:
    # delta down to e^-13,000: far below the smallest float.
    with mpmath.workdps(60):
        exact = float(mpmath.log(printed_delta(0.1, k, i)))
    level = (k - 2 * i) * 0.1
    ours = optimal_log_delta(release(0.1), count=k, epsilon=level)
    assert ours == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_randomised_responses_enumerated(k) -> None:
    # 2^k answers, each with its own product probability.
    epsilon = 0.8
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    answers = np.array(list(itertools.product((0, 1), repeat=k)))
    laws = np.stack(
        [
            np.log(np.where(answers == bit, truth, 1 - truth)).sum(axis=1)
            for bit in (0, 1)
        ]
    )
    levels = np.linspace(0.0, (k - 0.05) * epsilon, 9)
    exact = worst_log_delta(log_laws=laws, pairs=BOTH, epsilon=levels)
    ours = optimal_log_delta(release(epsilon), count=k, epsilon=levels)
    np.testing.assert_allclose(ours, exact, atol=1e-11)
    for delta in (0.0, 1e-6, 1e-2, 0.3):
        whole = optimal_composition(release(epsilon), count=k, delta=delta, name="k")
        exact_epsilon = worst_epsilon(log_laws=laws, pairs=BOTH, delta=delta)
        assert whole.epsilon == pytest.approx(exact_epsilon, abs=1e-12)


@quick
@given(st.integers(0, 2**32), st.floats(0.0, 1.0))
def test_optimal_composition_bounds_an_adaptive_joint_law(seed, part) -> None:
    rng = stream(seed)
    first = np.log(rng.dirichlet(np.ones(3), 2))
    second = [np.log(rng.dirichlet(np.ones(3), 2)) for _ in range(3)]
    joint = np.concatenate([first[:, [y]] + second[y] for y in range(3)], axis=1)
    epsilon = max(worst_epsilon(log_laws=law, pairs=BOTH) for law in (first, *second))
    level = 2 * part * epsilon
    exact = worst_log_delta(log_laws=joint, pairs=BOTH, epsilon=level)
    bound = optimal_log_delta(release(epsilon), count=2, epsilon=level)
    assert math.exp(exact) <= math.exp(bound) + 1e-12


@pytest.mark.parametrize("level", [0.5, 1.5, 3.0])
def test_randomised_responses_by_an_accountant(level) -> None:
    epsilon, k = 0.5, 12
    one = pld.from_randomized_response(
        2.0 / (1.0 + math.exp(epsilon)), 2, value_discretization_interval=1e-4
    )
    theirs = one.self_compose(k).get_delta_for_epsilon(level)  # pessimistic
    ours = math.exp(optimal_log_delta(release(epsilon), count=k, epsilon=level))
    assert ours <= theirs * (1 + 1e-9)
    assert ours == pytest.approx(theirs, rel=5e-3)


@pytest.mark.parametrize("k", [1, 4, 12])
def test_laplace_releases_stay_below(k) -> None:
    # The accountant composes k Laplace releases; ours holds for any mechanism.
    epsilon = 0.5
    one = pld.from_laplace_mechanism(
        1.0, sensitivity=epsilon, value_discretization_interval=1e-4
    )
    whole = one.self_compose(k)
    for level in np.array([0.2, 0.5, 0.8]) * k * epsilon:
        laplace = whole.get_delta_for_epsilon(level)
        bound = math.exp(optimal_log_delta(release(epsilon), count=k, epsilon=level))
        assert laplace <= bound + 1e-6
    # With half the noise the same bound is broken.
    halved = pld.from_laplace_mechanism(
        0.5, sensitivity=epsilon, value_discretization_interval=1e-4
    ).self_compose(k)
    level = 0.5 * k * epsilon
    bound = math.exp(optimal_log_delta(release(epsilon), count=k, epsilon=level))
    assert halved.get_delta_for_epsilon(level) > bound + 0.02


def test_one_laplace_release_is_below_one_randomised_response() -> None:
    levels = np.linspace(0.0, 1.9, 20)
    laplace = laplace_log_delta(epsilon=levels, shift=2.0, scale=1.0)
    response = optimal_log_delta(release(2.0), count=1, epsilon=levels)
    assert np.all(laplace <= response)


@quick
@given(st.floats(0.01, 3.0), st.integers(1, 60), st.floats(1e-12, 0.5))
def test_round_trip_and_order(epsilon, k, delta) -> None:
    one = release(epsilon)
    whole = optimal_composition(one, count=k, delta=delta, name="k")
    assert whole.epsilon <= k * epsilon * (1 + 1e-12)
    back = optimal_log_delta(one, count=k, epsilon=whole.epsilon)
    if whole.epsilon > 0.0:
        # The curve's slope is at most 1: an ulp of epsilon is an ulp of delta.
        assert math.exp(back) == pytest.approx(delta, rel=1e-9, abs=1e-13)
    more = optimal_composition(one, count=k + 1, delta=delta, name="k + 1")
    assert more.epsilon >= whole.epsilon - 1e-12
    advanced = advanced_composition(one, count=k, slack=delta, name="k")
    assert whole.epsilon <= advanced.epsilon


def test_pure_limit_and_zero() -> None:
    pure = optimal_composition(release(0.3), count=50, delta=0.0, name="k")
    assert pure.epsilon == pytest.approx(15.0, rel=1e-14)
    free = optimal_composition(release(0.0), count=50, delta=0.0, name="k")
    assert free.epsilon == 0.0


def test_many_releases() -> None:
    # 1e5 releases: the laws are still normalised, and by the central limit the
    # answer is that of one Gaussian release with mu = epsilon sqrt(k).
    whole = optimal_composition(release(1e-3), count=100_000, delta=1e-6, name="k")
    mu, level = 1e-3 * math.sqrt(100_000), whole.epsilon
    gaussian = stats.norm.cdf(mu / 2 - level / mu) - math.exp(level) * stats.norm.cdf(
        -mu / 2 - level / mu
    )
    assert gaussian == pytest.approx(1e-6, rel=0.01, abs=0)
    assert whole.adjacency == ROW


def test_only_pure_releases() -> None:
    with pytest.raises(ValueError, match="its delta must be 0"):
        optimal_composition(release(0.1, 1e-9), count=2, delta=1e-6, name="k")
    with pytest.raises(TypeError, match="must be a Release"):
        optimal_log_delta(0.1, count=2, epsilon=1.0)
    with pytest.raises(ValueError, match="The 'count' parameter of optimal_log_delta"):
        optimal_log_delta(release(0.1), count=0, epsilon=1.0)


# --- advanced composition ------------------------------------------------------


def test_advanced_composition_exact_value() -> None:
    whole = advanced_composition(release(0.1, 1e-8), count=100, slack=1e-6, name="k")
    exact = 0.1 * math.sqrt(200 * math.log(1e6)) + 10 * (math.exp(0.1) - 1)
    assert whole.epsilon == pytest.approx(exact, rel=1e-14)
    assert whole.delta == pytest.approx(2e-6, rel=1e-12, abs=0)


def test_advanced_beats_basic_only_for_many_releases() -> None:
    for k, better in ((10, False), (1000, True)):
        basic = basic_composition([release(0.1)] * k, name="k")
        advanced = advanced_composition(release(0.1), count=k, slack=1e-6, name="k")
        assert (advanced.epsilon < basic.epsilon) == better


def test_a_forgotten_factor_of_two_is_caught() -> None:
    # sqrt(k log) in place of sqrt(2 k log) falls below the optimum.
    one, k, slack = release(1e-3), 10_000, 1e-100
    broken = 1e-3 * math.sqrt(k * -math.log(slack)) + k * 1e-3 * math.expm1(1e-3)
    optimal = optimal_composition(one, count=k, delta=slack, name="k")
    advanced = advanced_composition(one, count=k, slack=slack, name="k")
    assert broken < optimal.epsilon < advanced.epsilon
    assert advanced.epsilon == pytest.approx(optimal.epsilon, rel=0.03)


def test_advanced_arguments() -> None:
    with pytest.raises(ValueError, match="'slack' parameter of advanced_composition"):
        advanced_composition(release(0.1), count=2, slack=0.0, name="k")
    with pytest.raises(ValueError, match="The 'epsilon' parameter of Release"):
        advanced_composition(release(800.0), count=2, slack=0.1, name="k")


# --- claims --------------------------------------------------------------------


def exact_delta(epsilon: float, k: int, level: float) -> mpmath.mpf:
    """The hockey stick of k randomised responses, term by term in many digits."""
    e, level = mpmath.mpf(epsilon), mpmath.mpf(level)
    terms = [
        mpmath.binomial(k, wrong)
        * (mpmath.exp((k - wrong) * e) - mpmath.exp(level + wrong * e))
        for wrong in range(k + 1)
        if (k - 2 * wrong) * e > level
    ]
    return mpmath.fsum(terms) / (1 + mpmath.exp(e)) ** k


@pytest.mark.parametrize(
    ("epsilon", "k"), [(1e-300, 10), (1e-16, 10), (1e17, 2), (1e16, 5), (0.1, 10)]
)
def test_optimal_composition_at_extreme_epsilon(epsilon, k) -> None:
    # With the loss formed from the two logs, 1e-300 ten times gave 0, 1e-16 gave
    # 8.9e-16, and 1e17 twice gave 0 at a true delta of 1.
    pure = optimal_composition(release(epsilon), count=k, delta=0.0, name="k")
    assert Fraction(pure.epsilon) >= k * Fraction(epsilon)
    assert pure.epsilon == pytest.approx(k * epsilon, rel=4e-16, abs=0)
    free = optimal_composition(release(epsilon), count=k, delta=1.0, name="k")
    assert free.epsilon == 0.0


@pytest.mark.parametrize(
    ("epsilon", "k", "delta"),
    [
        *[(1e-16, 10, 1e-17), (1e-300, 3, 1e-301), (1e4, 5, 0.1), (1e5, 2, 0.4)],
        *[(50.0, 1, 1 - 2**-53), (1e-10, 17, 1e-200)],
    ],
)
def test_optimal_composition_keeps_its_delta(epsilon, k, delta) -> None:
    whole = optimal_composition(release(epsilon), count=k, delta=delta, name="k")
    with mpmath.workdps(700 if epsilon < 1.0 else 60):
        assert exact_delta(epsilon, k, whole.epsilon) <= delta
        if delta < 0.5:
            less = whole.epsilon * (1 - 1e-9)
            assert exact_delta(epsilon, k, less) > delta


def test_losses_too_large_for_the_logs_are_refused() -> None:
    for count, delta in ((2, 0.1), (5, 1e-6)):
        with pytest.raises(ValueError, match="epsilon times 'count' is at most 1e"):
            optimal_composition(release(1e17), count=count, delta=delta, name="k")
    with pytest.raises(ValueError, match="epsilon times 'count' is at most 1e"):
        optimal_log_delta(release(1e10), count=1, epsilon=0.0)


def test_claims_never_below_exact() -> None:
    # Advanced composition was below its own formula in half of the trials.
    rng = stream(7, "claims")
    for _ in range(150):
        epsilon, k = 10.0 ** rng.uniform(-18, 0.3), int(rng.integers(1, 18))
        delta = 10.0 ** rng.uniform(-20, -0.01)
        whole = optimal_composition(release(epsilon), count=k, delta=delta, name="k")
        advanced = advanced_composition(
            release(epsilon), count=k, slack=delta, name="k"
        )
        with mpmath.workdps(80):
            assert exact_delta(epsilon, k, whole.epsilon) <= delta
            e = mpmath.mpf(epsilon)
            exact = e * mpmath.sqrt(2 * k * -mpmath.log(mpmath.mpf(delta)))
            exact += k * e * mpmath.expm1(e)
            assert exact <= advanced.epsilon <= exact * (1 + mpmath.mpf(1e-14))


def test_counts_beyond_a_float() -> None:
    # The square root of 10**400 releases raised a raw OverflowError.
    with pytest.raises(ValueError, match="'count' parameter of advanced_composition"):
        advanced_composition(release(0.1), count=10**400, slack=0.1, name="k")
    with pytest.raises(ValueError, match="'count' parameter of optimal_composition"):
        optimal_composition(release(0.1), count=10**9, delta=0.1, name="k")
