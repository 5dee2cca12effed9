"""The repair: feasible, certified, no worse than uniform, by two solvers."""

import numpy as np
import pytest
from small_teams import ADJACENCY, CALIBRATED, EPSILON, PROBLEM, alone, flat, line

from dplib.rng import stream
from dplib.truthful import allocation
from dplib.truthful.allocation import (
    noise_power_weights,
    optimal_allocation,
    uniform_repair,
)
from dplib.truthful.joint_privacy import heard_sensitivities, joint_epsilons
from dplib.truthful.noise import calibrated, trajectory_adjacency

WEIGHTS = noise_power_weights(PROBLEM, [0.84, 1.79, 3.40, 1.98], shape="full")
BUDGET = 3.0 * heard_sensitivities(PROBLEM)  # epsilon_i per unit of 1/b


def test_matrix_times_reciprocal_scales_is_the_bound():
    ours = BUDGET @ (1.0 / CALIBRATED.stacked)
    theirs = joint_epsilons(PROBLEM, CALIBRATED, adjacency=ADJACENCY)
    assert np.allclose(ours, theirs)


def test_uniform_repair_is_17_sixths_and_holds():
    found = uniform_repair(PROBLEM, adjacency=ADJACENCY, epsilon=EPSILON)
    assert found.b_g / CALIBRATED.b_g == pytest.approx(17 / 6, rel=1e-14)
    epsilons = joint_epsilons(PROBLEM, found, adjacency=ADJACENCY)
    assert EPSILON * (1 - 1e-12) < epsilons.max() <= EPSILON
    # A factor that looks as good, 2.8, is not.
    broken = joint_epsilons(PROBLEM, CALIBRATED.scaled(2.8), adjacency=ADJACENCY)
    assert broken.max() > EPSILON


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_optimum_is_certified(solver):
    best = optimal_allocation(
        PROBLEM, adjacency=ADJACENCY, epsilon=EPSILON, weights=WEIGHTS, solver=solver
    )
    assert best.residual < 1e-6
    assert best.bound <= best.power <= best.bound * (1 + 1e-6)
    assert joint_epsilons(PROBLEM, best.scales, adjacency=ADJACENCY).max() <= EPSILON
    uniform = uniform_repair(PROBLEM, adjacency=ADJACENCY, epsilon=EPSILON)
    assert best.power < 0.5 * WEIGHTS @ uniform.stacked**2


def test_a_solver_that_stops_early_is_not_believed(monkeypatch):
    monkeypatch.setitem(allocation.ALLOCATION_SOLVERS, "SCS", {"max_iters": 20})
    with pytest.raises(RuntimeError, match="the relative duality gap is 0"):
        optimal_allocation(
            PROBLEM, adjacency=ADJACENCY, epsilon=1.0, weights=WEIGHTS, solver="SCS"
        )


def test_nothing_feasible_beats_the_certificate():
    best = optimal_allocation(
        PROBLEM, adjacency=ADJACENCY, epsilon=EPSILON, weights=WEIGHTS
    )
    random = stream(9, "allocations")
    around = 1.0 / best.scales.stacked
    for width in (0.01, 0.1, 1.0):
        for _ in range(200):
            p = around * np.exp(width * random.normal(size=9))
            p *= EPSILON / (BUDGET @ p).max()
            assert WEIGHTS @ p**-2 >= best.bound


def test_two_agents_in_closed_form():
    """Both budgets read 4 p_g + 2 p = 1; minimise p_g^-2 + 2 p^-2."""
    best = optimal_allocation(
        line(lower=(-1, -1), upper=(1, 1), limit=1.0),
        adjacency=trajectory_adjacency(1.0),
        epsilon=1.0,
        weights=np.ones(3),
    )
    p_g, p = 1.0 / best.scales.b_g, 1.0 / best.scales.b[0]
    assert 4 * p_g + 2 * p == pytest.approx(1.0, rel=1e-6)
    # With multiplier s on either row: p_g^-3 = 4 s and p^-3 = s.
    assert p / p_g == pytest.approx(4 ** (1 / 3), rel=1e-4)


def test_silent_channels_get_no_noise():
    plane, adjacency = flat([1, 2], -1), trajectory_adjacency(1.0)
    best = optimal_allocation(
        plane, adjacency=adjacency, epsilon=0.5, weights=np.ones(3)
    )
    assert best.scales.b.tolist() == [0.0, 0.0]
    assert best.scales.b_g == pytest.approx(4.0)


def test_a_team_of_one_needs_no_noise() -> None:
    # Its prices reach nobody else; this used to divide by zero.
    one = alone()
    best = optimal_allocation(one, adjacency=ADJACENCY, epsilon=1.0, weights=np.ones(2))
    assert best.power == best.bound == 0.0
    assert best.scales.b_g == 0.0
    spent = joint_epsilons(one, best.scales, adjacency=ADJACENCY)
    assert spent.tolist() == [0.0]
    # The uniform repair only ever enlarges what the lemmas ask for.
    asked = calibrated(one, adjacency=ADJACENCY, epsilon=1.0)
    found = uniform_repair(one, adjacency=ADJACENCY, epsilon=1.0)
    assert np.array_equal(found.stacked, asked.stacked)
