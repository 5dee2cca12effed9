"""Scales of the noise: Table I, and Lemmas 5 and 6."""

import numpy as np
import pytest
from small_teams import ADJACENCY, CALIBRATED, EPSILON, PROBLEM, flat, line

from dplib.book import claims
from dplib.privacy.adjacency import Adjacency
from dplib.rng import stream
from dplib.truthful.noise import (
    NoiseScales,
    calibrated,
    noise_support,
    sensitivity_matrix,
    table_one,
    trajectory_adjacency,
)
from dplib.truthful.problem import Problem, constraints, jacobian


def test_table_is_as_printed_in_the_ledger():
    table = table_one()
    assert table.b_g == claims.printed("truthful.wg")[0]
    for i in range(8):
        assert table.b[i] == claims.printed(f"truthful.table1.w{i + 1}")[0]


def test_lemmas_give_all_printed_scales_but_that_of_agent_3():
    agrees = np.abs(CALIBRATED.b - table_one().b) < 0.005
    assert agrees.tolist() == [True, True, False, True, True, True, True, True]
    assert abs(CALIBRATED.b_g - 327.69) < 0.005
    assert round(CALIBRATED.b[2], 2) == 10.92


def test_what_an_agent_moves_is_not_what_moves_it():
    # Agent 1 has one coordinate, which is in both gradient entries of agent 2.
    ends = np.ones(3)
    uneven = Problem((1, 2), -ends, ends, 0 * ends, [np.ones((3, 3))], [0 * ends], [-9])
    np.testing.assert_array_equal(sensitivity_matrix(uneven)[:, 1:], [[1, 2], [1, 2]])


def test_scales_are_rounded_up():
    sensitivities = 3.0 * sensitivity_matrix(PROBLEM).max(axis=0)
    assert np.all(sensitivities / CALIBRATED.stacked <= EPSILON)
    # As printed they are not, for three of the values.
    assert np.sum(sensitivities[1:] / table_one().b > EPSILON) >= 3


def test_sensitivities_bound_what_adjacent_reports_do():
    random = stream(3, "sensitivities")
    bound = 3.0 * sensitivity_matrix(PROBLEM)
    largest = np.zeros((8, 9))
    for _ in range(4000):
        x = random.choice([-10.0, 10.0], 16)
        moved = x.copy()
        d = random.integers(16)
        moved[d] -= np.sign(x[d]) * 3.0
        change = np.abs(constraints(PROBLEM, x) - constraints(PROBLEM, moved)).sum()
        turned = np.abs(jacobian(PROBLEM, x) - jacobian(PROBLEM, moved))
        row = [change, *turned.reshape(4, 8, 2).sum(axis=(0, 2))]
        largest[d // 2] = np.maximum(largest[d // 2], row)
    assert np.all(largest <= bound)
    # One step of B = 3 cannot stay where g is steepest.
    assert largest[:, 0].max() == 333.0
    assert bound[:, 0].max() == 360.0
    assert np.array_equal(largest[:, 1:], bound[:, 1:])
    # The wrong norm is noticed: entries apart do not sum to the l1 change.
    assert np.any(largest[:, 1:].max(axis=0) > 2.0 * 3.0)


def test_support_is_where_gradients_can_be_other_than_zero():
    support = noise_support(PROBLEM, "structural")
    x = stream(4, "support").uniform(-10, 10, (50, 16))
    assert np.array_equal(support, np.any(jacobian(PROBLEM, x) != 0.0, axis=0))
    assert noise_support(PROBLEM, "full").all()


def test_affine_constraint_needs_no_gradient_noise():
    pair = flat([1, 2], -1)
    found = calibrated(pair, adjacency=ADJACENCY, epsilon=1.0)
    assert found.b.tolist() == [0.0, 0.0]
    assert found.b_g == 6.0
    assert noise_support(pair, "structural").all()


def test_two_agents_by_hand():
    pair = line(lower=(-10, -10), upper=(10, 10))
    found = calibrated(pair, adjacency=trajectory_adjacency(1.0), epsilon=0.5)
    assert found.b.tolist() == [4.0, 4.0]
    assert found.b_g == 80.0


L2 = Adjacency(name="a", unit="b", norm="l2", radius=1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NoiseScales(1.0, [-1.0]), "each of N >= 1 agents"),
        (lambda: NoiseScales(1.0, []), "each of N >= 1 agents"),
        (lambda: NoiseScales(-1.0, [1.0]), "non-negative"),
        (lambda: NoiseScales(np.nan, [1.0]), "non-negative"),
        (lambda: noise_support(PROBLEM, "diagonal"), "one of 'full', 'structural'"),
        (lambda: calibrated(PROBLEM, adjacency=L2, epsilon=1.0), "in the l1 norm"),
        (lambda: calibrated(PROBLEM, adjacency=ADJACENCY, epsilon=0.0), "positive"),
        (lambda: trajectory_adjacency(0.0), "'B' parameter .* positive"),
    ],
)
def test_bad_values_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
