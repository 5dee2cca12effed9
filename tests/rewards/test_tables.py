"""The map J and its sensitivity, by hand, by enumeration and as a matrix."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dplib.rewards.tables import (
    adjacent,
    appearances,
    averaging_matrix,
    entry_adjacency,
    enumerated_sensitivity,
    joint_reward,
    joint_sensitivity,
    paper_sensitivity,
    reward_tables,
    reward_vector,
)
from dplib.rng import stream

TEAMS = [[3], [2, 2], [2, 5], [5, 2, 3], [1, 4], [4] * 5, [2, 3, 1, 2]]


def random_tables(actions, n=3, batch=()):
    rng = stream(2026, "test tables")
    return [rng.normal(size=(*batch, n, m)) for m in actions]


@pytest.mark.parametrize("actions", TEAMS)
def test_joint_reward_is_the_mean_entry_by_entry(actions):
    """Equation 1, with the joint action's parts written out (Remark 2)."""
    tables = random_tables(actions)
    joint = joint_reward(tables)
    assert joint.shape == (3, math.prod(actions))
    for k, parts in enumerate(itertools.product(*map(range, actions))):
        for s in range(3):
            own = [table[s, a] for table, a in zip(tables, parts, strict=True)]
            assert joint[s, k] == pytest.approx(sum(own) / len(own), abs=1e-15)


def test_joint_reward_of_a_batch():
    tables = random_tables([2, 3], batch=(4, 2))
    joint = joint_reward(tables)
    assert joint.shape == (4, 2, 3, 6)
    one = joint_reward([table[3, 1] for table in tables])
    assert np.array_equal(joint[3, 1], one)


def test_one_agent_is_an_ordinary_process():
    table = random_tables([4])[0]
    assert np.array_equal(joint_reward([table]), table)


@pytest.mark.parametrize("actions", TEAMS)
def test_matrix_is_the_map(actions):
    tables = random_tables(actions)
    rows = np.concatenate(tables, axis=1)
    assert np.allclose(rows @ averaging_matrix(actions).T, joint_reward(tables))


@pytest.mark.parametrize("actions", TEAMS)
def test_sensitivity_is_the_longest_column(actions):
    b, N = 2.5, len(actions)
    exact = b * np.linalg.norm(averaging_matrix(actions), axis=0).max()
    assert joint_sensitivity(actions, bound=b) == pytest.approx(exact, rel=1e-14)
    tried = enumerated_sensitivity(actions, bound=b)
    assert tried == pytest.approx(exact, rel=1e-14)
    one_norm = b * np.abs(averaging_matrix(actions)).sum(axis=0).max()
    printed = paper_sensitivity(actions, bound=b)
    assert printed == pytest.approx(one_norm, rel=1e-14)
    mu = max(appearances(actions))
    assert printed == pytest.approx(b * mu / N)
    # The wrong norm is caught wherever an entry appears more than once.
    assert (printed > tried * (1 + 1e-9)) == (mu > 1)


def test_sensitivity_is_attained_by_adjacent_tables_and_never_exceeded():
    actions, b = [2, 5, 3], 2.0
    tables = random_tables(actions)
    gaps = []
    for i, m in enumerate(actions):
        for s, a in itertools.product(range(3), range(m)):
            other = [table.copy() for table in tables]
            other[i][s, a] += b
            assert adjacent(tables, other, bound=b * (1 + 1e-12))
            gaps.append(np.linalg.norm(joint_reward(tables) - joint_reward(other)))
    assert max(gaps) == pytest.approx(joint_sensitivity(actions, bound=b), rel=1e-12)


def test_appearances_are_products_of_the_others():
    assert appearances([2, 5, 3]) == (15, 6, 10)
    assert appearances([4] * 10)[0] == 4**9
    assert appearances([7]) == (1,)


def test_adjacency_is_one_entry_by_at_most_b():
    zero = [np.zeros((2, 2)), np.zeros((2, 3))]
    assert not adjacent(zero, zero, bound=1.0)

    def changed(*places):
        tables = [table.copy() for table in zero]
        for i, s, a, by in places:
            tables[i][s, a] += by
        return tables

    assert adjacent(zero, changed((1, 0, 2, -1.0)), bound=1.0)
    assert not adjacent(zero, changed((1, 0, 2, 1.01)), bound=1.0)
    assert not adjacent(zero, changed((0, 0, 0, 0.1), (1, 0, 0, 0.1)), bound=1.0)
    # The restatement of Section 3.1 ("c other than k and d other than l") would
    # call these adjacent: the second change is in the same row.
    assert not adjacent(zero, changed((0, 0, 0, 0.1), (0, 0, 1, 0.1)), bound=1.0)


@pytest.mark.parametrize("bound", [0.5, 1.0, 3.0])
def test_adjacency_for_mechanisms_is_the_ball_of_one_entry(bound):
    """Twice or half the bound is noticed: some tables are adjacent and not inside."""
    ball = entry_adjacency(bound)
    assert (ball.norm, ball.radius) == ("l1", bound)
    zero = [np.zeros((2, 2))]
    for change in (0.3 * bound, bound, 1.001 * bound):
        other = [np.array([[0.0, change], [0.0, 0.0]])]
        size = np.abs(other[0] - zero[0]).sum()
        assert adjacent(zero, other, bound=bound) == (size <= ball.radius)


@pytest.mark.parametrize(
    "call",
    [
        lambda: averaging_matrix([10] * 9),
        lambda: averaging_matrix([1] * 70),
        lambda: enumerated_sensitivity([2**40], bound=1.0),
        lambda: joint_sensitivity([10**9] * 40, bound=1.0),
        lambda: paper_sensitivity([10**9] * 40, bound=1.0),
    ],
)
def test_large_teams_are_refused(call):
    with pytest.raises(ValueError, match="'actions' parameter of"):
        call()


def test_sensitivity_of_large_teams_in_closed_form():
    assert appearances([10] * 60)[0] == 10**59
    assert joint_sensitivity([10] * 60, bound=60.0) == pytest.approx(10**29.5)


def test_vector_goes_state_by_state():
    assert reward_vector([[1, 2, 3], [4, 5, 6]]).tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], "at least one table"),
        ([[1.0, 2.0]], "tables of shapes"),
        ([[[1.0]], [[1.0], [2.0]]], "shape"),
        ([[[math.nan]]], "finite"),
        ([np.zeros((0, 2))], "at least one entry"),
    ],
)
def test_tables_are_checked(tables, message):
    with pytest.raises(ValueError, match=message):
        reward_tables(tables)


def test_other_arguments_are_checked():
    with pytest.raises(TypeError, match="'tables' parameter of joint_reward"):
        joint_reward(np.zeros((2, 3, 4)))
    with pytest.raises(TypeError, match="'actions' parameter of appearances"):
        appearances(3)
    with pytest.raises(ValueError, match="'actions' parameter of appearances"):
        appearances([2, 0])
    with pytest.raises(ValueError, match="'bound' parameter of joint_sensitivity"):
        joint_sensitivity([2], bound=0.0)
    with pytest.raises(ValueError, match="of the shapes of 'first'"):
        adjacent([[[1.0]]], [[[1.0, 2.0]]], bound=1.0)
