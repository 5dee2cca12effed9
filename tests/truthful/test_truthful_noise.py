"""Scales of the noise: Table I, and Lemmas 5 and 6."""

import math

import numpy as np
import pytest

from dplib.book import claims
from dplib.privacy.adjacency import Adjacency
from dplib.rng import stream
from dplib.truthful.noise import (
    NoiseScales,
    calibrated,
    noise_support,
    sensitivities,
    table_one,
    trajectory_adjacency,
)
from dplib.truthful.paper import hale_egerstedt
from dplib.truthful.problem import (
    Problem,
    constraints,
    jacobian,
    pairwise_constraint,
)

PROBLEM = hale_egerstedt()
ADJACENCY = trajectory_adjacency(3.0)
EPSILON = math.log(3.0)


def test_table_is_as_printed_in_the_ledger():
    table = table_one()
    assert table.b_g == claims.printed("truthful.wg")[0]
    for i in range(8):
        assert table.b[i] == claims.printed(f"truthful.table1.w{i + 1}")[0]


def test_lemmas_give_all_printed_scales_but_that_of_agent_3():
    found = calibrated(PROBLEM, adjacency=ADJACENCY, epsilon=EPSILON)
    agrees = np.abs(found.b - table_one().b) < 0.005
    assert agrees.tolist() == [True, True, False, True, True, True, True, True]
    assert abs(found.b_g - 327.69) < 0.005
    assert round(found.b[2], 2) == 10.92


def test_scales_are_rounded_up():
    found = calibrated(PROBLEM, adjacency=ADJACENCY, epsilon=EPSILON)
    delta_g, delta = sensitivities(PROBLEM, adjacency=ADJACENCY)
    assert delta_g / found.b_g <= EPSILON
    assert np.all(delta / found.b <= EPSILON)
    # As printed they are not, for three of the values.
    assert np.any(delta / table_one().b > EPSILON)


def test_sensitivities_bound_what_adjacent_reports_do():
    random = stream(3, "sensitivities")
    delta_g, delta = sensitivities(PROBLEM, adjacency=ADJACENCY)
    largest_g, largest = 0.0, np.zeros(8)
    for _ in range(2000):
        x = random.choice([-10.0, 10.0], 16)
        moved = x.copy()
        d = random.integers(16)
        moved[d] -= np.sign(x[d]) * 3.0
        largest_g = max(
            largest_g,
            np.abs(constraints(PROBLEM, x) - constraints(PROBLEM, moved)).sum(),
        )
        change = np.abs(jacobian(PROBLEM, x) - jacobian(PROBLEM, moved))
        largest = np.maximum(largest, change.reshape(4, 8, 2).sum(axis=(0, 2)))
    assert largest_g <= delta_g
    assert largest_g == 333.0  # one step of B = 3 cannot stay where g is steepest
    assert np.array_equal(largest, delta)
    # The wrong norm is noticed: entries apart do not sum to the l1 change.
    assert np.any(largest > 2.0 * 3.0)


def test_scaled():
    half = table_one().scaled(0.5)
    assert half.b_g == 327.69 / 2
    assert np.array_equal(table_one().scaled(0.0).b, np.zeros(8))
    with pytest.raises(ValueError, match="non-negative"):
        table_one().scaled(-1.0)


def test_support_is_where_gradients_can_be_other_than_zero():
    support = noise_support(PROBLEM, "structural")
    x = stream(4, "support").uniform(-10, 10, (50, 16))
    assert np.array_equal(support, np.any(jacobian(PROBLEM, x) != 0.0, axis=0))
    assert noise_support(PROBLEM, "full").all()
    # Where there is no noise there is no message either.
    for j in range(4):
        q = jacobian(PROBLEM, x[0])[j]  # at a price of 1 for constraint j alone
        assert np.array_equal(q != 0.0, support[j])


def test_affine_constraint_needs_no_gradient_noise():
    pair = Problem(
        (1, 1), [-1, -1], [1, 1], [0, 0], np.zeros((1, 2, 2)), [[1, 2]], [-1]
    )
    found = calibrated(pair, adjacency=ADJACENCY, epsilon=1.0)
    assert found.b.tolist() == [0.0, 0.0]
    assert found.b_g == 6.0
    assert noise_support(pair, "structural").all()


def test_bad_arguments():
    with pytest.raises(ValueError, match="each of N >= 1 agents"):
        NoiseScales(1.0, [-1.0])
    with pytest.raises(ValueError, match="each of N >= 1 agents"):
        NoiseScales(1.0, [])
    with pytest.raises(ValueError, match="non-negative"):
        NoiseScales(-1.0, [1.0])
    with pytest.raises(ValueError, match="one of 'full', 'structural'"):
        noise_support(PROBLEM, "diagonal")
    l2 = Adjacency(name="a", unit="b", norm="l2", radius=1.0)
    with pytest.raises(ValueError, match="in the l1 norm"):
        calibrated(PROBLEM, adjacency=l2, epsilon=1.0)
    with pytest.raises(TypeError, match="an Adjacency"):
        sensitivities(PROBLEM, adjacency=3.0)
    with pytest.raises(ValueError, match="positive"):
        calibrated(PROBLEM, adjacency=ADJACENCY, epsilon=0.0)


def test_general_problem():
    Q, a, c = pairwise_constraint((1, 1), [(0, 1)], limit=4.0)
    pair = Problem((1, 1), [-10, -10], [10, 10], [0, 0], [Q], [a], [c])
    found = calibrated(pair, adjacency=trajectory_adjacency(1.0), epsilon=0.5)
    assert found.b.tolist() == [4.0, 4.0]
    assert found.b_g == 80.0
