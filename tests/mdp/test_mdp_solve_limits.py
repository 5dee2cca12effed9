"""Where solves end: the most work, the smallest tolerance, the smallest rewards."""

from fractions import Fraction

import numpy as np
import pytest

from dplib.mdp.batch import solve_many
from dplib.mdp.evaluate import evaluate, evaluation_bound
from dplib.mdp.model import MDP
from dplib.mdp.policy_iteration import modified_policy_iteration, policy_iteration
from dplib.mdp.solve import STOPPING, rounding_error, value_iteration

HALVES = [[[0.5, 0.5]], [[0.5, 0.5]]]
TURNS = [[[0.0, 1.0]], [[1.0, 0.0]]]


def exact_values(model, r):
    """Values of a model of two states and one action, in fractions."""
    (a, b), (c, d) = (
        [Fraction(model.discount) * Fraction(float(p)) for p in model.transitions[s, 0]]
        for s in (0, 1)
    )
    x, y = (Fraction(float(one)) for one in np.ravel(r))
    det = (1 - a) * (1 - d) - b * c
    return [((1 - d) * x + b * y) / det, (c * x + (1 - a) * y) / det]


def largest_error(model, r, values):
    pairs = zip(exact_values(model, r), values, strict=True)
    return max(abs(want - Fraction(float(v))) for want, v in pairs)


def test_more_backups_than_a_loop_ends_with_are_refused():
    """Named bug: 3e10 backups by default, in a loop that nothing interrupts."""
    model, r = MDP(HALVES, 1 - 1e-9), [[1.0], [0.0]]
    match = "'tolerance' parameter of .* must be larger, or 'max_iterations' be given"
    with pytest.raises(ValueError, match=match):
        value_iteration(model, r, tolerance=1e4, stopping="sup")
    with pytest.raises(ValueError, match=match):
        solve_many(model, [r], tolerance=1e4, stopping="sup")
    found = value_iteration(model, r, tolerance=1e4, max_iterations=10)
    assert found.iterations == 2  # the span rule needs no more


@pytest.mark.parametrize("number", [10**8 + 1, 10**19, 10**30])
def test_counts_that_a_loop_cannot_end_with_are_refused(number):
    """Named bug: an OverflowError from the compiled loop, or a loop without end."""
    model, r = MDP(HALVES, 0.9), [[1.0], [0.0]]
    with pytest.raises(
        ValueError, match=r"'max_iterations' .* between 1 and 100000000"
    ):
        value_iteration(model, r, tolerance=1e-3, max_iterations=number)
    with pytest.raises(
        ValueError, match=r"'max_iterations' .* between 1 and 100000000"
    ):
        solve_many(model, [r], tolerance=1e-3, max_iterations=number)
    with pytest.raises(ValueError, match=r"'sweeps' .* between 0 and 1000000"):
        modified_policy_iteration(model, r, tolerance=1e-3, sweeps=number)
    with pytest.raises(ValueError, match=r"'sweeps' .* between 0 and 1000000"):
        solve_many(model, [r], tolerance=1e-3, sweeps=number)


def test_the_default_work_grows_with_states_and_actions(monkeypatch):
    monkeypatch.setattr("dplib.mdp.solve.MOST_UPDATES", 100)
    model, r = MDP(HALVES, 0.9), [[1.0], [0.0]]
    with pytest.raises(ValueError, match="and 50 are the most by default"):
        value_iteration(model, r, tolerance=1e-3)


def test_where_states_take_turns_rounding_stalls_the_change_and_is_named():
    """From far off the difference of two values shrinks until rounding stops it.

    The tolerance is a hundred times the rounding error, and yet out of reach.
    """
    model, r, start = MDP(TURNS, 0.9999), [[1.0], [0.0]], [0.0, 5000.0]
    match = "rounding may keep it from coming closer"
    with pytest.raises(RuntimeError, match=match):
        modified_policy_iteration(model, r, tolerance=2e-5, start=start)
    with pytest.raises(RuntimeError, match=match):
        solve_many(model, [r], tolerance=2e-5, start=start)
    with pytest.raises(RuntimeError, match=r"tolerance is 2e-05\.$"):
        value_iteration(model, r, tolerance=2e-5, start=start, max_iterations=9)
    found = modified_policy_iteration(model, r, tolerance=1e-4, start=start)
    assert largest_error(model, r, found.values) <= Fraction(found.bound)


@pytest.mark.parametrize("size", [1e-290, 1e-305, 1e-310, 1e-315, 1e-320, 5e-323])
@pytest.mark.parametrize("discount", [0.3, 0.9, 0.999])
def test_bounds_hold_where_rewards_are_below_the_normal_floats(size, discount):
    """Named bug: rounding is not relative there, and bounds of 0 were false."""
    model = MDP([[[0.37, 0.63]], [[0.21, 0.79]]], discount)
    r = np.array([[size], [0.3 * size]])
    tolerance = max(1e-3 * size, 1e-321) / (1 - discount)
    for stopping in STOPPING:
        found = value_iteration(model, r, tolerance=tolerance, stopping=stopping)
        assert largest_error(model, r, found.values) <= Fraction(found.bound)
    many = solve_many(model, [r], tolerance=tolerance)
    assert largest_error(model, r, many.values[0]) <= Fraction(many.bound[0])
    exact = policy_iteration(model, r)
    assert largest_error(model, r, exact.values) <= Fraction(exact.bound)
    values = evaluate(model, r, [0, 0])
    bound = evaluation_bound(model, r, [0, 0], values)
    assert largest_error(model, r, values) <= Fraction(bound)


@pytest.mark.parametrize("stopping", STOPPING)
def test_the_smallest_float_is_too_small_a_tolerance(stopping):
    """Named bug: "math domain error", of a limit that was rounded to zero."""
    model, r = MDP(HALVES, 0.5), [[1e-310], [0.0]]
    with pytest.raises(ValueError, match=r"'tolerance' .* twice the rounding"):
        value_iteration(model, r, tolerance=5e-324, stopping=stopping)


def test_without_rewards_nothing_is_rounded():
    model = MDP(HALVES, 0.5)
    found = value_iteration(model, [[0.0], [0.0]], tolerance=5e-324)
    assert found.bound == 0.0
    assert evaluation_bound(model, [[0.0], [0.0]], [0, 0], [0.0, 0.0]) == 0.0


def test_values_to_be_judged_have_the_sizes_of_all_numbers():
    """Named bug: 1e308 gave a bound of inf, and a warning of numpy."""
    model = MDP(HALVES, 0.5)
    with pytest.raises(ValueError, match="'values' parameter of evaluation_bound"):
        evaluation_bound(model, [[1.0], [0.0]], [0, 0], [1e308, -1e308])


def test_a_discount_too_close_to_one_is_not_evaluated():
    """The docstring's rule: 1 - discount of (k + 3) 1e-7, here with k = 2."""
    r = [[1.0], [0.0]]
    with pytest.raises(RuntimeError, match="could not certify"):
        evaluate(MDP(HALVES, 1 - 2e-7), r, [0, 0])
    assert evaluate(MDP(HALVES, 1 - 1e-6), r, [0, 0])[0] == pytest.approx(5e5, rel=1e-5)


@pytest.mark.parametrize("stopping", ["span", "sup"])
@pytest.mark.parametrize("factor", [2.1, 3.0, 10.0])
def test_the_certified_bound_is_within_the_tolerance(stopping, factor):
    """Rounding is part of what the tolerance promises."""
    rng = np.random.default_rng(3)
    model = MDP(rng.dirichlet(np.ones(5), size=(5, 2)), 0.9)
    r = rng.standard_normal((5, 2))
    rounding = rounding_error(model, float(np.abs(r).max()) / (1.0 - 0.9))
    tolerance = factor * rounding
    found = value_iteration(model, r, tolerance=tolerance, stopping=stopping)
    assert found.bound <= tolerance * (1 + 1e-12)
    many = solve_many(model, r[None], tolerance=tolerance, stopping=stopping)
    assert many.bound[0] <= tolerance * (1 + 1e-12)


def test_every_sample_has_its_own_tolerance():
    rng = np.random.default_rng(4)
    model = MDP(rng.dirichlet(np.ones(4), size=(4, 3)), 0.95)
    r = rng.standard_normal((3, 4, 3)) * np.array([1.0, 1e9, 1e-9])[:, None, None]
    found = solve_many(model, r)
    for k in range(3):
        alone = solve_many(model, r[k : k + 1])
        assert np.array_equal(found.values[k], alone.values[0])
        assert found.bound[k] == alone.bound[0]
        assert found.bound[k] < 1e-9 * np.abs(r[k]).max()
    given = solve_many(model, r, tolerance=[1e-3, 1e6, 1e-12])
    assert np.all(given.bound <= [1e-3, 1e6, 1e-12])
    assert np.all(given.iterations <= found.iterations)
    zero = solve_many(model, np.zeros((1, 4, 3)))
    assert zero.values.max() == 0.0


@pytest.mark.parametrize("tolerance", [0.0, [1.0, 0.0], [1.0], "1", [[1.0, 1.0]]])
def test_tolerances_of_another_shape_are_refused(tolerance):
    model = MDP([[[1.0]]], 0.5)
    with pytest.raises((TypeError, ValueError), match="'tolerance' parameter of solve"):
        solve_many(model, np.ones((2, 1, 1)), tolerance=tolerance)
