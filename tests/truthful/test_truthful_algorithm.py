"""Algorithm 1 against a loop written straight from the paper; projections."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dplib.truthful.algorithm import (
    StepSizes,
    messages,
    project_box,
    project_multipliers,
    record_steps,
    run,
    step,
)
from dplib.truthful.constants import multiplier_radius
from dplib.truthful.problem import constraints, hale_egerstedt, jacobian
from dplib.truthful.saddle import saddle_point

R = 416.5 / 3

TARGETS = [(6, -4), (2, 2), (-7, 7), (8, -9), (3, -7), (10, 10), (-10, -10), (6, -6)]
# Constraint by constraint: the pairs of agents and the bound, as printed.
STARS = [
    ([(1, 2), (1, 3)], 5.0),
    ([(4, 5), (4, 6)], 3.0),
    ([(7, 8), (7, 6)], 3.0),
    ([(5, 3), (5, 7)], 5.0),
]


def onto_ball(v, radius):
    """Projection onto M by bisection on the shift, not by sorting."""
    clipped = [max(value, 0.0) for value in v]
    if sum(clipped) <= radius:
        return clipped
    low, high = 0.0, max(v)
    for _ in range(200):
        middle = (low + high) / 2
        if sum(max(value - middle, 0.0) for value in v) > radius:
            low = middle
        else:
            high = middle
    return [max(value - high, 0.0) for value in v]


def from_the_paper(
    steps,
    x,
    mu,
    radius,
    *,
    first=1,
    simultaneous=True,
    dual_sign=-1.0,
    use_ball=True,
):
    """Algorithm 1 agent by agent, with switches for mistakes one could make."""
    x = {i: np.array(x[2 * i - 2 : 2 * i], dtype=float) for i in range(1, 9)}
    mu = list(mu)
    for k in range(first, first + steps):
        gamma, alpha = 0.01 * k ** (-3 / 5), 0.5 * k ** (-1 / 3)
        q = {i: np.zeros(2) for i in range(1, 9)}
        for j, (pairs, _) in enumerate(STARS):
            for a, b in pairs:
                q[a] += mu[j] * 2 * (x[a] - x[b])
                q[b] += mu[j] * 2 * (x[b] - x[a])
        new = {}
        for i in range(1, 9):
            direction = (x[i] - np.array(TARGETS[i - 1])) + q[i] + alpha * x[i]
            new[i] = np.clip(x[i] - gamma * direction, -10, 10)
        seen = x if simultaneous else new
        raised = []
        for j, (pairs, limit) in enumerate(STARS):
            g = sum(float(np.sum((seen[a] - seen[b]) ** 2)) for a, b in pairs) - limit
            raised.append(mu[j] + gamma * (g + dual_sign * alpha * mu[j]))
        mu = onto_ball(raised, radius) if use_ball else [max(v, 0.0) for v in raised]
        x = new
    return np.concatenate([x[i] for i in range(1, 9)]), np.array(mu)


def wild_start():
    rng = np.random.default_rng(11)
    return rng.uniform(-10, 10, size=16), rng.uniform(0, 5, size=4)


def difference(one, x, mu):
    return max(np.abs(one.x[-1] - x).max(), np.abs(one.mu[-1] - mu).max())


def test_equals_the_paper_agent_by_agent():
    problem = hale_egerstedt()
    for start, radius in (
        ((np.zeros(16), np.zeros(4)), R),
        (wild_start(), R),
        (wild_start(), 25.0),  # the 1-norm ball acts
    ):
        fast = run(
            problem, steps=400, radius=radius, x0=start[0], mu0=start[1], record=[400]
        )
        assert difference(fast, *from_the_paper(400, *start, radius)) < 1e-12


@pytest.mark.parametrize(
    "mistake",
    [
        {"simultaneous": False},
        {"dual_sign": 1.0},
        {"use_ball": False},
        {"first": 2},
    ],
)
def test_mistakes_would_be_caught(mistake):
    start = wild_start()
    fast = run(
        hale_egerstedt(),
        steps=50,
        radius=25.0,
        x0=start[0],
        mu0=start[1],
        record=[50],
    )
    assert difference(fast, *from_the_paper(50, *start, 25.0)) < 1e-12
    assert difference(fast, *from_the_paper(50, *start, 25.0, **mistake)) > 1e-3


def test_the_origin_of_k_is_an_argument():
    x, mu = from_the_paper(100, np.zeros(16), np.zeros(4), R, first=100)
    late = run(hale_egerstedt(), steps=100, radius=R, sizes=StepSizes(first=100))
    assert difference(late, x, mu) < 1e-12


def test_messages_are_jacobian_and_constraints():
    problem = hale_egerstedt()
    x, mu = wild_start()
    q, g = messages(problem, x, mu)
    np.testing.assert_allclose(q, jacobian(problem, x).T @ mu, rtol=0, atol=1e-12)
    np.testing.assert_allclose(g, constraints(problem, x), rtol=0, atol=1e-12)


def test_step_is_pure_and_takes_any_message():
    problem = hale_egerstedt()
    x, mu = wild_start()
    kept = x.copy(), mu.copy()
    noisy = step(
        problem, x, mu, np.ones(16), -np.ones(4), gamma=0.1, alpha=0.2, radius=R
    )
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(mu, kept[1])
    moved = x - 0.1 * (x - problem.targets + 1.0 + 0.2 * x)
    np.testing.assert_allclose(noisy[0], np.clip(moved, -10, 10), atol=1e-14)
    np.testing.assert_allclose(noisy[1], mu + 0.1 * (-1.0 - 0.2 * mu), atol=1e-14)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=6), st.floats(0.01, 60.0))
@settings(max_examples=200, deadline=None)
@example([33.0, 33.0, 33.0], 0.01)
def test_projection_onto_m_is_optimal(values, radius):
    """It is in M, and v - p makes no acute angle with any corner's direction."""
    v = np.array(values)
    p = project_multipliers(v, radius)
    assert np.all(p >= 0.0)
    assert p.sum() <= radius + 1e-12  # rounding is that of v, up to 50
    corners = np.vstack((np.zeros(v.size), radius * np.eye(v.size)))
    assert np.max((corners - p) @ (v - p)) <= 1e-9 * (1 + radius * 50)
    np.testing.assert_allclose(p, onto_ball(values, radius), rtol=0, atol=1e-9)


def test_projection_onto_m_against_a_solver():
    rng = np.random.default_rng(3)
    for _ in range(5):
        v, radius = rng.normal(scale=3.0, size=5), rng.uniform(0.5, 4.0)
        p = cp.Variable(5)
        program = cp.Problem(
            cp.Minimize(cp.sum_squares(p - v)), [p >= 0, cp.sum(p) <= radius]
        )
        program.solve(solver="CLARABEL")
        np.testing.assert_allclose(project_multipliers(v, radius), p.value, atol=1e-6)


def test_rescaling_in_place_of_projecting_would_be_caught():
    v = np.array([3.0, 2.0, -1.0])
    rescaled = np.maximum(v, 0) * 3.0 / 5.0
    p = project_multipliers(v, 3.0)
    assert np.linalg.norm(v - p) < np.linalg.norm(v - rescaled)


def test_projection_onto_the_box():
    v = np.array([-3.0, 0.5, 7.0])
    np.testing.assert_array_equal(
        project_box(v, np.full(3, -1.0), np.full(3, 2.0)), [-1.0, 0.5, 2.0]
    )


def test_step_sizes_of_the_paper():
    sizes = StepSizes()
    assert sizes.gamma(250_000) == pytest.approx(0.01 * 250_000 ** (-3 / 5), rel=1e-15)
    assert sizes.alpha(250_000) == pytest.approx(0.0079370, abs=5e-8)
    np.testing.assert_array_equal(sizes.indices(3), [1, 2, 3])
    np.testing.assert_array_equal(StepSizes(first=5).indices(2), [5, 6])


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"gamma_bar": 0.0}, r"'gamma_bar' .* positive"),
        ({"alpha_bar": -1.0}, r"'alpha_bar' .* positive"),
        ({"c1": 0.0}, r"'c1' .* positive"),
        ({"c1": 0.6}, r"'c1' .* less than 'c2', 0.6 \(Theorem 1\)"),
        ({"c1": 0.4}, r"'c2' .* less than 1 - 'c1', 0.6 \(Theorem 1\)"),
        ({"first": 0}, r"'first' .* between 1 and"),
    ],
)
def test_step_sizes_outside_theorem_1_are_refused(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        StepSizes(**fields)


def test_recording_does_not_change_the_run():
    problem = hale_egerstedt()
    every = run(problem, steps=50, radius=R, record=np.arange(51))
    some = run(problem, steps=50, radius=R, record=[0, 7, 50])
    np.testing.assert_array_equal(some.x, every.x[[0, 7, 50]])
    np.testing.assert_array_equal(some.mu, every.mu[[0, 7, 50]])
    np.testing.assert_array_equal(every.x[0], np.zeros(16))
    default = run(problem, steps=50, radius=R)
    assert default.steps[0] == 0
    assert default.steps[-1] == 50
    np.testing.assert_array_equal(default.x, every.x[default.steps])
    for array in (default.steps, default.x, default.mu):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@given(st.integers(1, 10**6), st.integers(3, 300))
@settings(max_examples=50, deadline=None)
def test_record_steps(steps, count):
    record = record_steps(steps, count)
    assert record[0] == 0
    assert record[1] == 1
    assert record[-1] == steps
    assert np.all(np.diff(record) > 0)
    assert len(record) <= count


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"steps": 0}, ValueError, r"'steps' parameter of run .* between 1 and"),
        ({"radius": 0.0}, ValueError, r"'radius' parameter of run .* positive"),
        ({"x0": np.zeros(8)}, ValueError, r"'x0' .* shape \(16,\)"),
        ({"x0": np.full(16, 11.0)}, ValueError, r"'x0' .* in the box"),
        ({"mu0": -np.ones(4)}, ValueError, r"'mu0' .* non-negative"),
        ({"mu0": np.full(4, 40.0)}, ValueError, r"'mu0' .* sum <= 138"),
        ({"record": [0.5]}, ValueError, r"'record' .* integers"),
        ({"record": [3, 2]}, ValueError, r"'record' .* ascending"),
        ({"record": [0, 11]}, ValueError, r"'record' .* between 0 and 10"),
        ({"record": [-1]}, ValueError, r"'record' .* between 0 and 10"),
    ],
)
def test_bad_arguments_are_refused(change, error, sentence):
    with pytest.raises(error, match=sentence):
        run(hale_egerstedt(), **({"steps": 10, "radius": R} | change))


@pytest.mark.slow
def test_final_errors_of_the_noise_free_run():
    """250,000 steps: what is left without any noise."""
    problem = hale_egerstedt()
    point = saddle_point(problem)
    radius = multiplier_radius(problem, np.zeros(16))
    end = run(problem, steps=250_000, radius=radius, record=[250_000])
    assert round(float(np.linalg.norm(end.x[-1] - point.x)), 6) == 0.323453
    error = float(np.linalg.norm(end.mu[-1] - point.multipliers))
    assert round(error, 6) == 0.028585


@pytest.mark.parametrize(
    ("values", "projected"),
    [
        ([1e17, 1.0], [3.0, 0.0]),  # 1e17 - 3 is 1e17: no entry was left
        ([1e17, 1e17], [1.5, 1.5]),
        ([1e30, -1e30, 5.0], [3.0, 0.0, 0.0]),
        ([1.7e308, 1.7e308, -1.7e308], [1.5, 1.5, 0.0]),
        ([-1e300, 2.0], [0.0, 2.0]),
    ],
)
def test_projection_of_huge_entries(values, projected):
    np.testing.assert_array_equal(project_multipliers(np.array(values), 3.0), projected)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_projection_of_what_is_not_finite(value):
    with pytest.raises(ValueError, match="'v' parameter of project_multipliers"):
        project_multipliers(np.array([value, 1.0]), 3.0)


def test_a_run_with_enormous_steps_stays_in_its_sets():
    sizes = StepSizes(gamma_bar=1e30)
    end = run(hale_egerstedt(), steps=20, radius=R, sizes=sizes)
    assert np.all(np.abs(end.x) <= 10.0)
    assert np.all(end.mu >= 0.0)
    assert np.all(end.mu.sum(axis=1) <= R * (1 + 1e-12))


def test_unsigned_record_of_a_run():
    problem = hale_egerstedt()
    with pytest.raises(ValueError, match="'record' parameter of run must be ascending"):
        run(problem, steps=10, radius=R, record=np.array([7, 3, 9], np.uint8))
    small = run(problem, steps=10, radius=R, record=np.array([3, 7, 9], np.uint8))
    same = run(problem, steps=10, radius=R, record=[3, 7, 9])
    np.testing.assert_array_equal(small.x, same.x)


@pytest.mark.parametrize(
    ("change", "error", "name"),
    [
        ({"record": [[1], [1, 2]]}, ValueError, "record"),
        ({"sizes": "paper"}, TypeError, "sizes"),
        ({"problem": None}, TypeError, "problem"),
    ],
)
def test_no_raw_error_from_a_run(change, error, name):
    arguments = {"problem": hale_egerstedt(), "steps": 10, "radius": R} | change
    with pytest.raises(error, match=f"The '{name}' parameter of run must be"):
        run(arguments.pop("problem"), **arguments)


def test_more_steps_than_a_float_counts():
    # 10**19 overflowed its integers and gave negative numbers of steps.
    with pytest.raises(ValueError, match="'steps' parameter of record_steps"):
        record_steps(10**19)
