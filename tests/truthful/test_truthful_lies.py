"""Constant lies: published values, exact cases, the algorithm itself, mutants."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from small_teams import PROBLEM, in_units, line

from dplib.rng import stream
from dplib.truthful import lies
from dplib.truthful.algorithm import Plan, StepSizes, simulate
from dplib.truthful.constants import multiplier_radius
from dplib.truthful.kkt import polish
from dplib.truthful.lies import constant_lie, pinned
from dplib.truthful.paper import optimum
from dplib.truthful.problem import agent, agent_objectives, jacobian, objective
from dplib.truthful.reports import Lie
from dplib.truthful.saddle import saddle_point

BEST = [0.958475902617, -5.527939080918]
TRUTH = optimum()


def test_the_papers_lie():
    lie = constant_lie(PROBLEM, 5, [10, 10], truth=TRUTH)
    np.testing.assert_array_equal(lie.x[10:12], [-10, -10])
    assert lie.costs[5] == 400.0
    np.testing.assert_allclose(lie.q, [46.692, 76.786], atol=5e-4)
    mu = [2.852842989682, 14.911742874069, 14.090620260359, 4.952834695236]
    np.testing.assert_allclose(lie.multipliers, mu, atol=1e-9)
    assert lie.costs.sum() - 400 == pytest.approx(892.0276, abs=5e-5)
    assert lie.violation == pytest.approx(721.22, abs=5e-3)
    assert lie.residual < 1e-10
    assert lie.bound < 1e-8


def test_the_best_lie():
    lie = constant_lie(PROBLEM, 5, BEST, truth=TRUTH)
    assert lie.gain == pytest.approx(agent_objectives(PROBLEM, TRUTH.x)[5], abs=1e-9)
    assert np.abs(lie.q).max() < 1e-9
    assert lie.violation == pytest.approx(336.8, abs=0.05)
    # The truth minimises the sum, this lie the cost of the others alone.
    reported = lie.x.copy()
    reported[10:12] = BEST
    assert objective(PROBLEM, reported) >= TRUTH.objective
    assert lie.others_gain > 0.0


def test_reporting_the_own_optimum_changes_nothing():
    for i in range(8):
        lie = constant_lie(PROBLEM, i, TRUTH.x[agent(PROBLEM, i)], truth=TRUTH)
        assert abs(lie.gain) <= lie.bound + 1e-9
        np.testing.assert_allclose(lie.x, TRUTH.x, atol=1e-9)


def test_reply_is_the_gradient_of_the_others_cost():
    """The envelope theorem of the file's docstring, by central differences."""
    y, h = np.array([-3.0, 4.0]), 1e-4

    def others(report):
        lie = constant_lie(PROBLEM, 5, report, truth=TRUTH)
        return lie.costs.sum() - lie.costs[5]

    slopes = [(others(y + h * e) - others(y - h * e)) / (2 * h) for e in np.eye(2)]
    lie = constant_lie(PROBLEM, 5, y, truth=TRUTH)
    np.testing.assert_allclose(lie.q, slopes, rtol=1e-5)
    # Mutant: the pull of the other agents' side has the other sign.
    assert np.abs(lie.q + slopes).max() > 1.0


@pytest.mark.parametrize("report", [[10.0, 10.0], BEST, [-10.0, -10.0], [0.0, 5.0]])
def test_the_algorithm_goes_there(report):
    """The run tracks the equilibrium of the same problem with the Tikhonov terms."""
    steps, start = 20_000, 1_000_000
    alpha = 0.5 * (start + steps) ** (-1 / 3)
    still = pinned(PROBLEM, 5, report)
    plain = saddle_point(still)
    x, mu, _ = polish(still, plain.x, plain.multipliers, alpha, 1e-9)
    q = mu @ jacobian(PROBLEM, x)[:, 10:12]
    x[10:12] = np.clip((PROBLEM.targets[10:12] - q) / (1.0 + alpha), -10.0, 10.0)
    plan = Plan(
        PROBLEM,
        radius=multiplier_radius(PROBLEM, np.zeros(16)),
        lies=[Lie(5, report)],
        x0=x,
        mu0=mu,
        record=[steps],
        sizes=StepSizes(first=start),
    )
    run = simulate(plan, stream(1, "unused"))
    assert np.abs(run.x[1, 0] - x).max() < 1e-2
    assert np.abs(run.mu[1, 0] - mu).max() < 1e-2
    # The equilibrium without the terms is near by; the truthful one is not.
    lie = constant_lie(PROBLEM, 5, report, truth=TRUTH)
    assert np.abs(x - lie.x).max() < 0.5
    assert np.abs(run.x[1, 0] - TRUTH.x).max() > 1.0


def test_two_agents_in_fractions():
    """Report 3 - s: the other keeps within 2 of it; every number is rational."""
    for report in (Fraction(5, 2), Fraction(3), Fraction(7, 2), Fraction(6)):
        other = report - 2  # binds, since the other wants to be at 0
        reply = -(0 - other) * 1  # q_2 = -q_1 = x_1 - t_1
        own = Fraction(4) - reply
        gain = Fraction(1, 2) - (own - 4) ** 2 / 2
        lie = constant_lie(line(), 1, [float(report)])
        assert lie.x[1] == pytest.approx(float(own), abs=1e-9)
        assert lie.gain == pytest.approx(float(gain), abs=1e-9)


def test_an_agent_without_wishes_has_no_cost_to_save():
    idle = replace(line(), weights=np.array([1.0, 0.0]))
    truth = saddle_point(line())  # any point will do: the cost is zero there too
    lie = constant_lie(idle, 1, [5.0], truth=truth)
    assert lie.gain == 0.0
    assert lie.x[1] == -9.0  # the reply pushes it down for good


def test_a_report_that_nobody_can_follow():
    far = line(lower=(-1.5, -9), upper=(1.5, 9))
    with pytest.raises(ValueError, match="infeasible"):
        constant_lie(far, 1, [8.0])


def test_the_radius_of_the_multipliers_counts():
    """At 9 the price would be 1.75; where M stops at 1, the run ends elsewhere."""
    pair, report = line(), [9.0]
    free = constant_lie(pair, 1, report)
    assert (free.multipliers[0], free.gain) == pytest.approx((1.75, -24.0), abs=1e-8)
    radius = multiplier_radius(pair, [2.0, 2.0])
    assert radius == 1.0
    with pytest.raises(RuntimeError, match=r"add up to 1\.75, more than M"):
        constant_lie(pair, 1, report, radius=radius)
    start, steps = 1_000_000, 20_000  # small Tikhonov terms, and their equilibrium
    plan = Plan(
        pair,
        radius=radius,
        lies=[Lie(1, report)],
        x0=[6.0, -2.0],
        mu0=[1.0],
        record=[steps],
        sizes=StepSizes(first=start),
    )
    run = simulate(plan, stream(1, "unused"))
    assert run.mu[1, 0, 0] == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(run.x[1, 0], [6.0, -2.0], atol=0.02)
    gain = 0.5 - 0.5 * (run.x[1, 0, 1] - 4.0) ** 2
    assert gain == pytest.approx(-17.5, abs=0.1)


# The liar's true state is in a corner; then inside, where the reply moves it.
@pytest.mark.parametrize("y", [[0.0, 5.0], [1.0, -5.0]])
def test_bound_covers_a_displaced_saddle_point(monkeypatch, y):
    """Shift the saddle point by a known error: the gain moves less than the bound."""
    right = constant_lie(PROBLEM, 5, y, truth=TRUTH)
    still = saddle_point(pinned(PROBLEM, 5, y), tolerance=1e-10)
    random = stream(3, "shift")
    for size in (1e-6, 1e-3):
        move = random.standard_normal(20)
        move[10:12] = 0.0
        move *= size / np.linalg.norm(move)
        shifted = (still.x + move[:16], still.multipliers + move[16:], size)
        with monkeypatch.context() as patch:
            patch.setattr(lies, "_saddle", lambda *_, found=shifted: found)
            off = constant_lie(PROBLEM, 5, y, truth=TRUTH)
        assert abs(off.gain - right.gain) <= off.bound
        assert off.bound < 1e4 * size


def test_bound_covers_a_reply_that_moves_with_the_others(monkeypatch):
    """At a high price it moves more with their states than with the price."""
    pair = replace(line(lower=(-99, -99), upper=(99, 99)), weights=np.array([10.0, 1]))
    right, size = constant_lie(pair, 1, [9.0]), 1e-3
    shifted = (right.x * [1, 0] + [size, 9.0], right.multipliers, size)
    monkeypatch.setattr(lies, "_saddle", lambda *_: shifted)
    off = constant_lie(pair, 1, [9.0], truth=saddle_point(pair))
    assert abs(off.gain - right.gain) > 2.0
    assert abs(off.gain - right.gain) <= off.bound < 4.0


def test_bound_covers_errors_of_the_truth_and_of_rounding():
    own = agent(PROBLEM, 5)
    off = TRUTH.x[own] - PROBLEM.targets[own]
    for error in (0.0, 1e-3):
        x = TRUTH.x.copy()
        x[own] += error * off / np.linalg.norm(off)  # where it changes the cost most
        shifted = replace(TRUTH, x=x, bound=error)
        lie = constant_lie(PROBLEM, 5, [10.0, 10.0], truth=shifted)
        exact = agent_objectives(PROBLEM, TRUTH.x)[5] - 400.0
        assert abs(lie.gain - exact) <= lie.bound
        assert lie.bound > 1e-13


def test_bounds_have_the_units_of_the_problem():
    unit = 2.0**20
    far = in_units(PROBLEM, unit)
    far_truth = saddle_point(far)
    assert far_truth.bound == pytest.approx(unit * TRUTH.bound)
    y = np.array([1.0, -5.0])
    errors = []
    for team, report, start in ((PROBLEM, y, TRUTH), (far, unit * y, far_truth)):
        near = constant_lie(team, 5, report, truth=start)  # Newton's method is enough
        errors.append(lies._saddle(pinned(team, 5, report), near)[2])
    assert errors[1] == pytest.approx(unit * errors[0])


def test_one_solver_gives_up_and_the_other_does_not():
    """Reported 'optimal_inaccurate' here; it left a hole in the map of lies."""
    lie = constant_lie(PROBLEM, 5, [3.0, -9.0], truth=TRUTH)
    assert lie.residual < 1e-9
    assert lie.bound < 1e-6
