"""The map J, by hand, as a matrix, and by the lengths of its columns."""

import itertools
import math

import numpy as np
import pytest

from dplib.rewards.tables import (
    appearances,
    averaging_matrix,
    joint_reward,
    reward_tables,
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


@pytest.mark.parametrize("actions", TEAMS)
def test_matrix_is_the_map(actions):
    tables = random_tables(actions)
    rows = np.concatenate(tables, axis=1)
    assert np.allclose(rows @ averaging_matrix(actions).T, joint_reward(tables))


@pytest.mark.parametrize("actions", TEAMS)
def test_an_entry_appears_once_for_every_choice_of_the_others(actions):
    J, N = averaging_matrix(actions), len(actions)
    mu = np.repeat(appearances(actions), actions)
    assert np.allclose(np.abs(J).sum(axis=0), mu / N)  # in the 1-norm, as printed
    assert np.allclose(np.linalg.norm(J, axis=0), np.sqrt(mu) / N)  # sensitivity


def test_large_teams_have_appearances():
    assert appearances([2, 5, 3]) == (15, 6, 10)
    assert appearances([10] * 60)[0] == 10**59


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], "one table or more"),
        ([[1.0, 2.0]], r"shape \(any, any\)"),
        ([[[1.0]], [[1.0], [2.0]]], r"shape \(1, any\)"),
        ([[[math.nan]]], "finite"),
        ([np.zeros((0, 2))], "with entries"),
    ],
)
def test_tables_are_checked(tables, message):
    with pytest.raises(ValueError, match=f"'tables' parameter of Team .*{message}"):
        reward_tables(tables, "Team")
