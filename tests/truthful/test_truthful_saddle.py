"""The saddle point: reference values, two solvers, honest bounds, refusals."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_teams import PROBLEM, in_units, line, random_problem

from dplib.truthful import saddle
from dplib.truthful.constants import multiplier_radius
from dplib.truthful.kkt import certify, polish, residual
from dplib.truthful.paper import optimum
from dplib.truthful.problem import constraints, is_slater_point, jacobian, objective
from dplib.truthful.saddle import find_slater_point, saddle_point, solve_convex

X_HAT = [
    *(2.5866884092304, -1.3035767867592, 2.3676640935350, -0.0702753721014),
    *(0.7723397397219, -0.9305689112521, 3.1415761315897, -3.2057106653133),
    *(1.9664943776825, -2.7759626561816, 2.9632553741552, -2.0213537817053),
    *(1.8338317349415, -3.1644433507257, 2.3681501391438, -3.5281084759614),
]
MU_HAT = [0.839322548201223, 1.794892438759468, 3.398582036752441, 1.979095542667543]
TRUTH = optimum()
ALPHA_END = 0.5 * 250_000 ** (-1 / 3)


def lagrangian(problem, x, mu):
    return objective(problem, x) + constraints(problem, x) @ mu


def test_reference_values():
    np.testing.assert_allclose(TRUTH.x, X_HAT, rtol=0, atol=1e-12)
    np.testing.assert_allclose(TRUTH.multipliers, MU_HAT, rtol=0, atol=1e-12)
    other = saddle_point(PROBLEM, solver="SCS")
    gap = [*(other.x - TRUTH.x), *(other.multipliers - TRUTH.multipliers)]
    assert np.linalg.norm(gap) <= min(other.bound + TRUTH.bound, 1e-13)
    assert TRUTH.objective == pytest.approx(311.4141036049725, abs=1e-10)
    assert np.all(TRUTH.multipliers > 0.0)
    assert TRUTH.residual < 1e-14
    assert 0.0 < TRUTH.bound < 1e-11
    np.testing.assert_allclose(
        np.linalg.svd(jacobian(PROBLEM, TRUTH.x), compute_uv=False),
        [7.407, 6.036, 5.293, 4.281],
        atol=5e-4,
    )
    assert TRUTH.licq == pytest.approx(4.281, abs=5e-4)
    np.testing.assert_allclose(
        TRUTH.x.reshape(8, 2).mean(axis=0), [2.25, -2.125], rtol=0, atol=1e-13
    )
    radius = multiplier_radius(PROBLEM, np.zeros(16))
    assert TRUTH.multipliers.sum() < radius


def test_saddle_inequalities():
    """Equation (1) itself, at random points."""
    rng = np.random.default_rng(1)
    value = lagrangian(PROBLEM, TRUTH.x, TRUTH.multipliers)
    assert value == pytest.approx(TRUTH.objective, abs=1e-12)
    x = rng.uniform(PROBLEM.lower, PROBLEM.upper, size=(1000, 16))
    assert lagrangian(PROBLEM, x, TRUTH.multipliers).min() > value
    for mu in rng.exponential(5.0, size=(200, 4)):
        assert lagrangian(PROBLEM, TRUTH.x, mu) <= value + 1e-12


def exact_by_mpmath(problem, point):
    """Newton's method with 50 digits, all constraints active, box inactive."""
    n, m = problem.n_states, problem.n_constraints
    with mpmath.workdps(50):
        Q = [mpmath.matrix(q.tolist()) for q in problem.Q]
        t = mpmath.matrix(problem.targets.tolist())
        x = mpmath.matrix(point.x.tolist())
        mu = mpmath.matrix(point.multipliers.tolist())
        for _ in range(4):
            rows = [Q[j] * x for j in range(m)]
            hessian = mpmath.eye(n)
            force = x - t
            for j in range(m):
                hessian += mu[j] * Q[j]
                force += mu[j] * rows[j]
            matrix = mpmath.zeros(n + m)
            matrix[:n, :n] = hessian
            right = mpmath.zeros(n + m, 1)
            right[:n, 0] = -force
            for j in range(m):
                matrix[n + j, :n] = rows[j].T
                matrix[:n, n + j] = rows[j]
                value = (x.T * rows[j])[0] / 2 + mpmath.mpf(float(problem.c[j]))
                right[n + j] = -value
            move = mpmath.lu_solve(matrix, right)
            x, mu = x + move[:n, 0], mu + move[n:, 0]
        error = mpmath.norm(
            mpmath.matrix([*x, *mu])
            - mpmath.matrix([*point.x.tolist(), *point.multipliers.tolist()])
        )
        return np.array([*map(float, x), *map(float, mu)]), float(error)


def test_bound_is_honest():
    exact, error = exact_by_mpmath(PROBLEM, TRUTH)
    assert error <= TRUTH.bound
    # Also far from rounding: points pushed off by up to 1e-3.
    rng = np.random.default_rng(2)
    for size in (1e-3, 1e-5, 1e-8):
        for _ in range(20):
            push = size * rng.normal(size=20) / np.sqrt(20)
            z = exact + push
            bound, active, at_bound = certify(PROBLEM, z[:16], z[16:], 0.0)
            assert np.linalg.norm(push) <= bound < 50 * size
            assert active.all()
            assert not at_bound.any()


def test_a_bound_from_the_residual_alone_would_be_caught():
    """Without the inverse of the derivative the error is understated."""
    exact, _ = exact_by_mpmath(PROBLEM, TRUTH)
    rows = jacobian(PROBLEM, exact[:16])
    hessian = np.eye(16) + np.tensordot(exact[16:], PROBLEM.Q, 1)
    matrix = np.block([[hessian, rows.T], [rows, np.zeros((4, 4))]])
    weakest = np.linalg.svd(matrix)[2][-1]
    z = exact + 1e-6 * weakest
    bound, _, _ = certify(PROBLEM, z[:16], z[16:], 0.0)
    assert residual(PROBLEM, z[:16], z[16:]) < 1e-6 <= bound


def test_large_numbers_are_judged_by_their_own_rounding():
    """Found by random trials: an absolute tolerance refused sound results."""
    factor = 1e3  # x scales, the multipliers do not
    large = in_units(PROBLEM, factor)
    x, mu, _ = polish(large, factor * TRUTH.x + 1.0, TRUTH.multipliers, 0.0, 1e-12)
    assert residual(large, x, mu) > 1e-12
    bound, _, _ = certify(large, x, mu, 0.0)
    np.testing.assert_allclose(x, factor * TRUTH.x, rtol=0, atol=bound)
    assert bound < 1e-3


def test_certify_refuses_from_where_the_theorem_ends():
    # The number is 0.794 at a hundredth of this way, and grows in proportion.
    way = np.linspace(0, 1, 16)
    certify(PROBLEM, TRUTH.x + 0.0062 * way, TRUTH.multipliers, 0.0)
    with pytest.raises(RuntimeError, match=r"Kantorovich number is 0\.516, above 1/2"):
        certify(PROBLEM, TRUTH.x + 0.0065 * way, TRUTH.multipliers, 0.0)


def test_a_residual_of_zero_is_not_a_bound_of_zero():
    """The forces on this point vanish in floats; it is off by a rounding error."""
    t, limit = 6.821770123928726, 2.8885069963470924
    with mpmath.workdps(40):
        apart = mpmath.sqrt(limit)
        exact = [(t - apart) / 2, (t + apart) / 2, (t / apart - 1) / 4]
        z = np.array([float(one) for one in exact])
        error = mpmath.norm([a - b for a, b in zip(z, exact, strict=True)])
    problem = line(targets=(0, t), limit=limit)
    assert residual(problem, z[:2], z[2:]) == 0.0
    assert 0.0 < error <= certify(problem, z[:2], z[2:], 0.0)[0]


FAINT = line(limit=16.0 - 1e-6)


@pytest.mark.parametrize(
    ("problem", "x", "mu"),
    [
        # A price that is less than the error: it may be none.
        (line(limit=16.0 + 1e-6), [0, 4], 1e-5),
        # A coordinate that is nearer to its bound than the error.
        (line(upper=(9, 3 + 1e-9)), [1, 3], 0.25 + 1e-6),
        # A constraint that holds here, but not at the optimum, for a price of 1/128.
        (replace(FAINT, Q=1e-6 * FAINT.Q, c=1e-6 * FAINT.c), [1e-6, 4 - 1e-6], 0.0),
        # A coordinate that is not quite on the bound that holds it.
        (line(lower=(1, -9), upper=(9, 2)), [1 + 1e-9, 2], 0.0),
    ],
)
def test_certify_refuses_what_may_be_on_either_side(problem, x, mu):
    with pytest.raises(RuntimeError, match="cannot be certified"):
        certify(problem, np.array(x, dtype=float), np.array([mu]), 0.0)


def test_a_bound_that_a_coordinate_wants_to_leave_leaves_a_residual():
    away = line(lower=(1, -9), targets=(2, 4), limit=99.0)
    assert residual(away, np.array([1.0, 4.0]), np.zeros(1)) == 1.0


def test_closed_form_on_a_line():
    """x = (1, 3), mu = 1/4; with the second agent held at 2.5: (0.5, 2.5), 1/8."""
    point = saddle_point(line())
    np.testing.assert_allclose(point.x, [1, 3], atol=1e-14)
    np.testing.assert_allclose(point.multipliers, [0.25], atol=1e-14)
    held = saddle_point(line(upper=(9, 2.5)))
    np.testing.assert_allclose(held.x, [0.5, 2.5], atol=1e-14)
    np.testing.assert_allclose(held.multipliers, [0.125], atol=1e-14)
    assert held.x[1] == 2.5
    # The constraint's gradient (-4, 4) loses its second entry to the bound.
    assert held.licq == pytest.approx(4.0)
    assert point.licq == pytest.approx(4.0 * np.sqrt(2.0))


def test_nothing_active_and_everything_held():
    loose = saddle_point(line(limit=25.0))
    np.testing.assert_allclose(loose.x, [0, 4], atol=1e-14)
    assert loose.multipliers[0] == 0.0
    assert loose.licq == np.inf
    corner = saddle_point(line(lower=(1, -9), upper=(9, 2)))
    np.testing.assert_array_equal(corner.x, [1, 2])
    assert corner.bound == 0.0


@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_random_problems_with_bounds_and_constraints(seed):
    """Active sets of every kind; two solvers must lead to the same point."""
    rng = np.random.default_rng(seed)
    problem = replace(
        random_problem(seed, dims=(1, 2, 3)),
        lower=rng.uniform(-2, -0.2, size=6),
        upper=rng.uniform(0.2, 2, size=6),
        targets=rng.uniform(-3, 3, size=6),
        a=0.3 * rng.normal(size=(3, 6)),
        c=-rng.uniform(0.2, 2, size=3),  # zero is a Slater point
    )
    first, second = (saddle_point(problem, solver=s) for s in ("CLARABEL", "SCS"))
    assert first.residual <= 1e-12
    apart = [*(first.x - second.x), *(first.multipliers - second.multipliers)]
    assert np.abs(apart).max() <= first.bound + second.bound
    radius = multiplier_radius(problem, np.zeros(6))
    assert first.multipliers.sum() <= radius


def test_slater_point():
    for solver in ("CLARABEL", "SCS"):
        point = find_slater_point(PROBLEM, solver=solver)
        assert is_slater_point(PROBLEM, point)
        assert constraints(PROBLEM, point).max() == pytest.approx(-3.0, abs=1e-3)


def test_infeasible_problem_gets_one_sentence():
    apart = line(lower=(-9, 5), upper=(-1, 9))  # at least 6 apart, at most 2 allowed
    for function, why in (
        (find_slater_point, "the largest constraint, number 0, is 32; "),
        (saddle_point, "the largest constraint, number 0, is 32; "),
        (solve_convex, "no point of the box"),
    ):
        with pytest.raises(ValueError, match=f"^The problem is infeasible: .*{why}"):
            function(apart)


def test_feasible_without_a_slater_point():
    touching = line(lower=(-9, 1), upper=(-1, 9))  # exactly 2 apart at best
    with pytest.raises(ValueError, match="No Slater point was found: at the best"):
        saddle_point(touching)


def test_ties_are_certified():
    """Each was refused: a force that is zero is on neither side of zero."""
    for problem, x in (
        (line(limit=16.0), [0, 4]),  # the optimum without the constraint lies on it
        (line(limit=25.0, upper=(9, 4)), [0, 4]),  # a target on the edge of its box
        (line(limit=16.0, upper=(9, 4)), [0, 4]),  # both
        (line(upper=(9, 4)), [1, 3]),
    ):
        point = saddle_point(problem)
        assert np.linalg.norm(point.x - x) <= point.bound < 1e-12


@pytest.mark.parametrize("off", [-1e-14, 1e-14])
def test_a_tie_shifts_the_solution_by_no_more_than_the_bound(off):
    """Whichever side it is on, the exact saddle point is known here."""
    problem = line(limit=(4.0 - off) ** 2, upper=(9, 4.0 + off))
    # Two agents that must come closer by `off` go half of it each.
    exact = np.array([max(off, 0.0) / 2, 4.0 - max(off, 0.0) / 2 - max(-off, 0.0)])
    point = saddle_point(problem)
    assert np.linalg.norm(point.x - exact) <= point.bound < 1e-11


def test_multiples_of_a_constraint_share_its_price():
    """They were refused as dependent; of all prices the paper means the least-norm."""
    once, twice = saddle_point(line()), saddle_point(line(copies=2))
    np.testing.assert_allclose(twice.x, once.x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(twice.multipliers, [0.125, 0.125], rtol=0, atol=1e-12)
    times = np.array([1, 3])
    scaled = line(copies=2)
    scaled = replace(scaled, Q=times[:, None, None] * scaled.Q, c=times * scaled.c)
    np.testing.assert_allclose(saddle_point(scaled).multipliers, [0.025, 0.075])
    assert saddle_point(scaled).residual < 1e-14
    assert saddle_point(scaled).licq < 1e-12  # they are not unique


def test_what_cannot_be_decided_is_refused():
    # Held in a corner by no force, and by a constraint whose price is anybody's guess.
    with pytest.raises(RuntimeError, match="linearly dependent"):
        saddle_point(line(lower=(0, 0), upper=(4, 4), limit=16.0))
    # Different constraints that are dependent where they bind.
    (Q,), (a,), (c,) = line().Q, line().a, line().c
    apart = replace(line(), Q=[Q, 0 * Q], a=[a, [-1, 1]], c=[c, -2])
    with pytest.raises(RuntimeError, match=r"dependent|Newton's method"):
        saddle_point(apart)


@pytest.mark.parametrize("unit", [1e-8, 1e-5, 0.01, 100.0, 1e5, 1e8])
def test_units_of_length_do_not_matter(unit):
    """At 1e-5 no Slater point was found; at 100 both solvers failed."""
    other = saddle_point(in_units(PROBLEM, unit))
    np.testing.assert_allclose(other.x / unit, TRUTH.x, rtol=0, atol=1e-11)
    np.testing.assert_allclose(other.multipliers, TRUTH.multipliers, rtol=1e-11)
    assert other.bound < 1e-10 * max(unit, 1.0)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_of_cost_and_of_constraints_do_not_matter(factor):
    dear = saddle_point(replace(PROBLEM, weights=factor * PROBLEM.weights))
    np.testing.assert_allclose(dear.x, TRUTH.x, rtol=0, atol=1e-11)
    rows = np.array([factor, 1.0, 1.0 / factor, 1.0])
    mixed = saddle_point(
        replace(PROBLEM, Q=rows[:, None, None] * PROBLEM.Q, c=rows * PROBLEM.c)
    )
    np.testing.assert_allclose(mixed.x, TRUTH.x, rtol=0, atol=1e-11)
    np.testing.assert_allclose(mixed.multipliers * rows, TRUTH.multipliers, rtol=1e-11)


def test_the_second_solver_is_asked_where_the_first_fails(monkeypatch):
    monkeypatch.setitem(saddle.SOLVERS, "CLARABEL", {"max_iter": 2})
    with pytest.raises(RuntimeError, match="not 'optimal'"):
        saddle_point(line(), solver="CLARABEL")
    np.testing.assert_allclose(saddle_point(line()).x, [1, 3], rtol=0, atol=1e-12)


def test_a_solver_that_stops_early_is_not_believed(monkeypatch):
    monkeypatch.setitem(saddle.SOLVERS, "SCS", {"max_iters": 5, "eps_abs": 1e-9})
    with pytest.raises(RuntimeError, match="not 'optimal'"):
        solve_convex(PROBLEM, solver="SCS")


def test_regularised_at_the_end_of_the_run():
    x, mu, _ = polish(PROBLEM, TRUTH.x, TRUTH.multipliers, ALPHA_END, 1e-12)
    bound, _, _ = certify(PROBLEM, x, mu, ALPHA_END)
    assert bound < 1e-11
    assert round(np.linalg.norm(x - TRUTH.x), 5) == 0.06998
    assert round(np.linalg.norm(mu - TRUTH.multipliers), 5) == 0.02259


def test_regularised_is_where_update_2_rests():
    """With sizes held fixed the update itself leads there: no Newton, no solver."""
    x, mu = np.zeros(16), np.zeros(4)
    for _ in range(10_000):
        q, g = jacobian(PROBLEM, x).T @ mu, constraints(PROBLEM, x)
        x = x - 0.01 * (x - PROBLEM.targets + q + 0.5 * x)
        mu = np.maximum(mu + 0.01 * (g - 0.5 * mu), 0.0)
    assert certify(PROBLEM, x, mu, 0.5)[0] < 1e-11
    near_x, near_mu, _ = polish(PROBLEM, x + 1e-3, mu, 0.5, 1e-12)
    np.testing.assert_allclose(x, near_x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(mu, near_mu, rtol=0, atol=1e-12)


@pytest.mark.parametrize("exponent", [-162, -165, -310, -323])
def test_certify_refuses_underflow(exponent):
    """At 1e-165 squares underflowed: a bound of 0 for a point that is 3.16 off."""
    small = replace(line(), weights=np.full(2, 10.0**exponent))
    with pytest.raises(RuntimeError, match="cannot be certified"):
        certify(small, np.zeros(2), np.zeros(1), 0.0)
    with pytest.raises(RuntimeError, match=r"certified|did not reach"):
        saddle_point(small)
