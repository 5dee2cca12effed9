"""Local policies from occupancy measures: by hand in fractions, and in their limits."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from dplib.planning.game import MarkovGame
from dplib.planning.policies import complete, counts, marginalise

FloatArray = NDArray[np.float64]

# A lamp that is off (0) or on (1), and is left alone (0) or switched on (1).
LAMP = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
TEAM = MarkovGame(
    transitions=(LAMP, LAMP),
    start=(0, 0),
    target=np.array([[False, False], [False, True]]),
    dead=np.zeros((2, 2), dtype=bool),
    depends=((), (0,)),
)

# (s_0, s_1, a_0, a_1): occupancy; action 2 is to have stopped.
MEASURE: dict[tuple[int, ...], Fraction] = {
    (0, 0, 1, 0): Fraction(1, 2),
    (0, 0, 0, 1): Fraction(1, 3),
    (0, 0, 0, 0): Fraction(1, 6),
    (1, 0, 1, 1): Fraction(1, 4),
    (1, 0, 0, 0): Fraction(1, 4),
    (0, 1, 1, 0): Fraction(1, 3),
    (1, 1, 2, 2): Fraction(5, 6),
}


def _array(measure: dict[tuple[int, ...], Fraction]) -> FloatArray:
    x = np.zeros((2, 2, 3, 3))
    for where, value in measure.items():
        x[where] = float(value)
    return x


def _share(keep: dict[int, int], action: tuple[int, int]) -> Fraction:
    """Return how often agent action[0] takes action[1], given coordinates `keep`."""
    agent, taken = action
    some = {
        where: x
        for where, x in MEASURE.items()
        if all(where[axis] == value for axis, value in keep.items())
        and where[2 + agent] < 2
    }
    return sum(
        (x for where, x in some.items() if where[2 + agent] == taken), Fraction()
    ) / sum(some.values(), Fraction())


def test_marginals_are_the_quotients_of_section_6() -> None:
    first, second = marginalise(TEAM, _array(MEASURE) + 1e-15)
    for own, action in product(range(2), repeat=2):
        exact = _share({0: own}, (0, action))
        assert first[own, action] == pytest.approx(float(exact), abs=1e-12)
    for told, own, action in ((0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1), (0, 1, 0)):
        exact = _share({0: told, 1: own}, (1, action))
        assert second[told, own, action] == pytest.approx(float(exact), abs=1e-12)
    # One of them in full: (1/2 + 1/6) / (1/2 + 1/3 + 1/6).
    assert second[0, 0, 0] == pytest.approx(2 / 3, abs=1e-12)


def test_the_order_of_axes_is_dependencies_then_own_state() -> None:
    turned = replace(TEAM, depends=((1,), ()))
    heard, alone = marginalise(turned, _array(MEASURE) + 1e-15)
    # Agent 0 is off and hears that agent 1 is on: it switches.
    assert heard[1, 0, 1] == pytest.approx(1.0, abs=1e-12)
    # Agent 1 is off and hears that agent 0 is on: it waits half of the time.
    assert alone[0, 0] == pytest.approx(float(_share({1: 0}, (1, 0))), abs=1e-12)
    # With the axes the wrong way round, this would be agent 0 on and agent 1 off.
    assert heard[0, 1, 1] == pytest.approx(0.5, abs=1e-12)


def test_stopping_is_no_action_of_a_policy() -> None:
    more = MEASURE | {(1, 1, 2, 2): Fraction(100)}
    for one, other in zip(
        counts(TEAM, _array(MEASURE)), counts(TEAM, _array(more)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_completion_tends_to_the_quotients_and_to_the_habits() -> None:
    x = _array(MEASURE) + 1e-15
    plain = marginalise(TEAM, x)
    rare = complete(TEAM, x, kappa=1e-9)
    often = complete(TEAM, x, kappa=1e12)
    np.testing.assert_allclose(rare[0], plain[0], atol=1e-12)
    np.testing.assert_allclose(rare[1][:, 0], plain[1][:, 0], atol=1e-8)
    habit = [float(_share({1: 0}, (1, action))) for action in range(2)]
    for told in range(2):
        np.testing.assert_allclose(often[1][told, 0], habit, atol=1e-9)
    for policy in (*rare, *often):
        np.testing.assert_allclose(policy.sum(axis=-1), 1.0, atol=1e-12)


def test_completion_by_hand() -> None:
    kappa = Fraction(1, 2)
    filled = complete(TEAM, _array(MEASURE) + 1e-15, kappa=float(kappa))[1]
    habit = _share({1: 0}, (1, 1))
    exact = (Fraction(1, 4) + kappa * habit) / (Fraction(1, 2) + kappa)
    assert filled[1, 0, 1] == pytest.approx(float(exact), abs=1e-12)
    # Never on beside a lamp that is on: what it does on average when it is on.
    assert filled[1, 1, 0] == pytest.approx(1.0, abs=1e-12)


def test_all_that_an_agent_hears_counts() -> None:
    """Three agents of different sizes: the last hears both others, or the first."""
    sizes, acts = (2, 3, 4), (2, 3, 2)
    rng = np.random.default_rng(8)
    laws = tuple(
        np.broadcast_to(np.eye(n)[:, None], (n, m, n))
        for n, m in zip(sizes, acts, strict=True)
    )
    target = np.zeros(sizes, dtype=bool)
    target[1, 2, 3] = True
    team = MarkovGame(
        transitions=laws,
        start=(0, 0, 0),
        target=target,
        dead=np.zeros(sizes, dtype=bool),
        depends=((), (0,), (0, 1)),
    )
    x = rng.random((*sizes, *(m + 1 for m in acts)))
    alone, second, third = counts(team, x)
    np.testing.assert_allclose(alone, np.einsum("ijkabc->ia", x)[:, :2])
    np.testing.assert_allclose(second, np.einsum("ijkabc->ijb", x)[..., :3])
    np.testing.assert_allclose(third, np.einsum("ijkabc->ijkc", x)[..., :2])
    turned = counts(replace(team, depends=((1, 2), (), (1,))), x)
    np.testing.assert_allclose(turned[0], np.einsum("ijkabc->jkia", x)[..., :2])
    np.testing.assert_allclose(turned[2], np.einsum("ijkabc->jkc", x)[..., :2])
