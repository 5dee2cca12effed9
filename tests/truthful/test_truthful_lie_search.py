"""The search for lies that pay: certificates, every agent, degenerate cases."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_teams import PROBLEM, line

from dplib.truthful.lie_search import (
    best_constant_lie,
    indifferent_report,
    lie_map,
    objective_range,
    opposite_corner,
)
from dplib.truthful.lies import constant_lie
from dplib.truthful.paper import optimum
from dplib.truthful.problem import (
    Problem,
    agent_objectives,
    pairwise_constraint,
)
from dplib.truthful.saddle import saddle_point

TRUTH = optimum()


def test_every_agent_gets_its_whole_cost_back():
    honest = agent_objectives(PROBLEM, TRUTH.x)
    for i in range(8):
        best = best_constant_lie(PROBLEM, i, truth=TRUTH)
        assert best.proved
        assert best.lie.gain == pytest.approx(honest[i], abs=1e-8)
        assert best.lie.violation > 10.0
        # ... and the others pay no more (the truth minimises f_i + V_i, this V_i).
        report = indifferent_report(PROBLEM, i)
        assert constant_lie(PROBLEM, i, report, truth=TRUTH).others_gain > 0.0


def test_agent_four_has_many_best_reports():
    """Without agent 4 (here 3) its constraint is slack: a degenerate problem."""
    lie = constant_lie(PROBLEM, 3, indifferent_report(PROBLEM, 3))
    np.testing.assert_array_equal(lie.q, [0.0, 0.0])


def test_simple_lies_of_the_paper_s_instance():
    for name, expected in {
        "corner": [-16.5, -61.8, 52.7, 26.1, -19.5, 97.0, 93.4, -6.3],
        "target": [-197.1, -14.5, -227.3, -313.9, -153.9, -303.0, -306.6, -205.8],
    }.items():
        for i, value in enumerate(expected):
            report = opposite_corner(PROBLEM, i)
            if name == "target":
                report = PROBLEM.targets[2 * i : 2 * i + 2]
            lie = constant_lie(PROBLEM, i, report, truth=TRUTH)
            assert lie.gain == pytest.approx(value, abs=0.051)


def test_map_agrees_with_single_lies():
    reports = [[-10, -10], [0, 0], [5, -5], [10, 10]]
    found = lie_map(PROBLEM, 5, reports, truth=TRUTH)
    for there, report in zip(found, reports, strict=True):
        one = constant_lie(PROBLEM, 5, report, truth=TRUTH)
        assert there.gain == pytest.approx(one.gain, abs=1e-7)
        assert there.others_gain == pytest.approx(one.others_gain, abs=1e-7)


def test_no_lie_of_the_map_beats_the_ceiling():
    axis = np.linspace(-10, 10, 5)
    grid = [[u, v] for u in axis for v in axis]
    gains = [one.gain for one in lie_map(PROBLEM, 5, grid, truth=TRUTH) if one]
    ceiling = best_constant_lie(PROBLEM, 5, truth=TRUTH).ceiling
    assert max(gains) <= ceiling + 1e-9


def test_lies_whose_prices_leave_m_are_not_counted():
    """Agent 2 reports 5.5 or more; the price is a quarter of the report less 2."""
    problem = line(lower=(-9, 5.5))
    near, far = lie_map(problem, 1, [[5.5], [9.0]], radius=1.0)
    assert near is not None
    assert far is None
    with pytest.raises(RuntimeError, match="prices outside M"):
        best_constant_lie(problem, 1, radius=0.5)


def test_a_lie_is_proved_best_within_its_bound_only():
    best = best_constant_lie(line(), 1)
    for missing, proved in ((1.9, True), (2.1, False)):  # the ceiling has an error too
        gain = best.ceiling - missing * 1e-6
        found = replace(best, lie=replace(best.lie, gain=gain, bound=1e-6))
        assert found.proved == proved


@pytest.mark.parametrize("low", [3.5, 2.5])
def test_where_the_box_forbids_the_best_lie_the_grid_is_searched(low):
    """Agent 2 cannot report less than `low`, so some price remains."""
    problem = line(lower=(-9, low))
    best = best_constant_lie(problem, 1, points=5)
    assert not best.proved
    assert best.lie.report[0] == pytest.approx(low)
    # The other keeps within 2: price x_1 = low - 2, true state 4 - (low - 2).
    own = max(low, 6.0 - low)
    truth = 0.5 * (max(low, 3.0) - 4.0) ** 2
    assert best.lie.gain == pytest.approx(truth - 0.5 * (own - 4.0) ** 2, abs=1e-6)
    assert 0.0 <= best.lie.gain < best.ceiling


@given(st.floats(-8, 8), st.floats(-8, 8))
@settings(max_examples=25, deadline=None)
def test_the_indifferent_lie_never_costs_the_other(first, second):
    if abs(abs(first - second) - 2.0) < 1e-2:
        return  # the constraint is about to bind: degenerate
    problem = line(targets=(first, second))
    best = best_constant_lie(problem, 1)
    assert best.proved
    assert best.lie.others_gain >= -1e-6


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e5])
def test_an_ordinary_team_in_any_unit(unit):
    """Five in a row, one target on a corner, a constraint given twice; it died here."""
    dims, rows = (2,) * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 1)]
    terms = [pairwise_constraint(dims, [row], limit=4.0 * unit**2) for row in rows]
    targets = unit * np.array([10, 10, -3, 5, 6, -2, -7, -4, 1, 8])
    side = np.full(10, 10.0 * unit)
    team = Problem(dims, -side, side, targets, *zip(*terms, strict=True))
    truth = saddle_point(team)
    for i, cost in enumerate(agent_objectives(team, truth.x)):
        best = best_constant_lie(team, i, truth=truth)
        assert best.proved
        assert best.lie.gain == pytest.approx(cost, rel=1e-6)
        assert best.lie.bound < 1e-6 * cost


@given(st.lists(st.floats(-20, 20), min_size=4, max_size=4), st.floats(0, 3))
@settings(max_examples=60, deadline=None)
def test_range_holds_every_cost_and_is_attained(targets, weight):
    Q, a, c = pairwise_constraint((2, 2), [(0, 1)], limit=1.0)
    lower, upper = [-3, -1, 0, -4], [5, 0, 2, 4]
    team = Problem((2, 2), lower, upper, targets, [Q], [a], [c], [1.0, weight])
    low, high = objective_range(team)
    places = np.linspace(lower, upper, 9)
    inside = np.array(np.meshgrid(*places.T)).reshape(4, -1).T
    nearest = np.clip(targets, lower, upper)
    costs = agent_objectives(team, np.vstack([inside, nearest]))
    np.testing.assert_allclose(costs.max(axis=0), high)
    np.testing.assert_allclose(costs.min(axis=0), low)
