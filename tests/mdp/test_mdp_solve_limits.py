"""Where solves end: the most work, the smallest tolerance, the largest discount."""

from fractions import Fraction

import numpy as np
import pytest

from dplib.mdp.batch import rounding_error, solve_many
from dplib.mdp.evaluate import evaluate
from dplib.mdp.model import MDP
from dplib.mdp.solve import solve

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
        solve(model, r, tolerance=1e4, stopping="sup", sweeps=0)
    found = solve(model, r, tolerance=1e4, sweeps=0, max_iterations=10)
    assert found.iterations == 2  # the span rule needs no more


def test_where_states_take_turns_rounding_stalls_the_change_and_is_named():
    """From far off the difference of two values shrinks until rounding stops it.

    The tolerance is a hundred times the rounding error, and yet out of reach.
    """
    model, r, start = MDP(TURNS, 0.9999), [[1.0], [0.0]], [0.0, 5000.0]
    with pytest.raises(RuntimeError, match="rounding may keep it from coming closer"):
        solve(model, r, tolerance=2e-5, start=start)
    with pytest.raises(RuntimeError, match=r"tolerance is 2e-05\.$"):
        solve(model, r, tolerance=2e-5, start=start, max_iterations=9)
    found = solve(model, r, tolerance=1e-4, start=start)
    assert largest_error(model, r, found.values) <= Fraction(found.bound)


@pytest.mark.parametrize(
    ("r", "options", "message"),
    [
        ([[1e6]], {"tolerance": 1e-9}, "'tolerance' .* twice the rounding error"),
        ([[1e6]], {"tolerance": 1e-12, "stopping": "residual"}, "twice the rounding"),
        ([[1e6]], {"tolerance": 0.0}, "'tolerance' .* twice the rounding error"),
        ([[1.0]], {"tolerance": 1e-3, "stopping": "norm"}, "one of 'residual', 'span'"),
        # The compiled loops would read past the end of these.
        ([[1.0, 2.0]], {"tolerance": 1e-3}, "'rewards' .* shape"),
        ([[1.0]], {"tolerance": 1e-3, "start": [0.0, 1.0]}, "'start' .* shape"),
    ],
)
def test_what_no_solve_can_keep_is_refused(r, options, message):
    with pytest.raises(ValueError, match=message):
        solve(MDP([[[1.0]]], 0.999), r, **options)


def test_a_discount_too_close_to_one_is_not_evaluated():
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
    for sweeps in (0, 10):
        found = solve(model, r, tolerance=tolerance, stopping=stopping, sweeps=sweeps)
        assert found.bound <= tolerance * (1 + 1e-12)


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
