"""The compiled loop against plain numpy and the paper, the sampler, the reports."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from small_teams import PROBLEM, STARS, TABLE_I

from dplib.rng import stream
from dplib.truthful import kernel
from dplib.truthful.algorithm import (
    Plan,
    Simulation,
    StepSizes,
    _noise_draws,
    record_steps,
    simulate,
    simulate_pairs,
)
from dplib.truthful.kernel import PRETENCE, project_multipliers
from dplib.truthful.noise import NoiseScales, table_one
from dplib.truthful.paper import experiment_plan, optimum
from dplib.truthful.problem import Problem, agent, constraints, jacobian
from dplib.truthful.reports import Lie, Pretence, replicas

LIES = [
    Lie(5, [10, 10]),
    Lie(5, [-10, -10], budget=3.0),
    Lie(0, [40, 1]),
    Pretence(6, [3, 1], weight=0.5),
    Pretence(6, [0, 0], weight=0.0, budget=25.0),
]


# -- the same computation in plain numpy -------------------------------------


def laplace_draws(rng, count):
    """Laplace variables of scale 1, in the order that the kernel's docstring gives."""
    uniforms = rng.random((count + 52) // 53)
    words = (uniforms * 2.0**53).astype(np.int64)
    bits = (words[:, None] >> np.arange(53)) & 1
    signs = np.where(bits.ravel()[:count] == 1, 1.0, -1.0)
    return signs * rng.standard_exponential(count)


def reported_states(problem, liars, r, x, spent):
    """What the agents of replica r report; `spent` grows."""
    reported = x.copy()
    for i in np.flatnonzero(liars.kind[r]):
        mine = agent(problem, int(i))
        lie = liars.shown[r, mine] - x[mine]
        distance, left = np.abs(lie).sum(), liars.budget[r, i] - spent[i]
        share = 1.0 if distance <= left else max(left, 0.0) / distance
        reported[mine] = x[mine] + share * lie
        spent[i] += share * distance
    return reported


def onto_ball(v, radius):
    """Projection onto M by bisection on the shift, not by sorting."""
    if np.maximum(v, 0.0).sum() <= radius:
        return np.maximum(v, 0.0)
    low, high = v.min() - radius, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(v - middle, 0.0).sum() > radius:
            low = middle
        else:
            high = middle
    return np.maximum(v - high, 0.0)


def reference(plan, rng, draws=None):
    """Algorithm 2 with dense matrices and nothing clever."""
    problem, sizes = plan.problem, plan.sizes
    draws = _noise_draws(plan) if draws is None else draws
    liars = replicas(problem, plan.lies, plan.x0)
    count, m, n = len(liars.kind), problem.n_constraints, problem.n_states
    split = np.cumsum([draws.reports.size, draws.g.size])
    x, mu = np.tile(plan.x0, (count, 1)), np.tile(plan.mu0, (count, 1))
    spent, hits = np.zeros((count, problem.n_agents)), np.zeros(count, dtype=int)
    kept = [[], [], []]
    for k in range(plan.record[-1] + 1):
        if k in plan.record:
            for into, now in zip(kept, (x, mu, spent.sum(axis=1)), strict=True):
                into.append(now.copy())
        gamma = float(sizes.gamma(sizes.first + k))
        alpha = float(sizes.alpha(sizes.first + k))
        noise = laplace_draws(rng, split[-1] + draws.scale.size)
        on_state, on_value, on_entry = np.split(noise, split)
        w = np.zeros((m, n))
        w[draws.constraint, draws.coordinate] = draws.scale * on_entry
        for r in range(count):
            seen = reported_states(problem, liars, r, x[r], spent[r])
            if on_state.size:
                seen = seen + draws.reports * on_state
            q = (jacobian(problem, seen) + w).T @ mu[r]
            g = constraints(problem, seen) - draws.bias
            if on_value.size:
                g = g + draws.g * on_value
            for i in np.flatnonzero(liars.kind[r] == PRETENCE):
                mine = agent(problem, int(i))
                y = liars.shown[r, mine]
                pull = liars.weights[r, i] * (y - liars.targets[r, mine])
                y = y - gamma * (pull + q[mine] + alpha * y)
                box = problem.lower[mine], problem.upper[mine]
                liars.shown[r, mine] = np.clip(y, *box)
            if k < plan.record[-1]:
                hits[r] += (
                    np.maximum(mu[r] + gamma * (g - alpha * mu[r]), 0.0).sum()
                    > plan.radius
                )
            pull = problem.coordinate_weights * (x[r] - problem.targets)
            new = x[r] - gamma * (pull + q + alpha * x[r])
            x[r] = np.clip(new, problem.lower, problem.upper)
            mu[r] = onto_ball(mu[r] + gamma * (g - alpha * mu[r]), plan.radius)
    x, mu, deviation = (np.moveaxis(np.array(one), 0, 1) for one in kept)
    return Simulation(plan.record, x, mu, deviation, hits)


def gap(one, other):
    names = ("x", "mu", "deviation", "hits")
    return max(np.abs(getattr(one, n) - getattr(other, n)).max() for n in names)


def paper_plan(**changes):
    rest = {"record": [0, 1, 2, 17, 400], "mu0": np.full(4, 0.3), "lies": LIES}
    return experiment_plan(**(rest | changes))


@pytest.mark.parametrize(
    "noise",
    [{}, {"shape": "structural"}, {"scales": None, "report_scale": 2.73}],
)
def test_the_loop_is_the_reference_on_the_paper_s_instance(noise):
    plan = paper_plan(**noise)
    fast, slow = simulate(plan, stream(3)), reference(plan, stream(3))
    assert gap(fast, slow) < 1e-11  # deviations are of the order 1e4
    assert np.abs(fast.x - slow.x).max() < 1e-12
    # The lies do something, each something else.
    assert len(np.unique(fast.x[:, -1, 10].round(6))) == len(LIES) + 1


def random_plan(number):
    """A small random instance with every kind of row, noise and lie."""
    random = stream(number, "random case")
    dims = tuple(int(size) for size in random.integers(1, 4, random.integers(1, 5)))
    n, m, agents = sum(dims), int(random.integers(1, 4)), len(dims)
    Q, a = np.zeros((m, n, n)), np.zeros((m, n))
    for j in range(m):
        touched = random.choice(n, size=random.integers(0, n + 1), replace=False)
        root = np.zeros((n, n))
        root[:, touched] = random.normal(size=(n, touched.size))
        Q[j], a[j] = root.T @ root / n, random.normal(size=n) * random.integers(0, 2, n)
    lower, upper = -random.uniform(0, 2, n), random.uniform(0, 2, n)
    pinned = random.random(n) < 0.15
    upper[pinned] = lower[pinned]
    targets, c = 3 * random.normal(size=n), random.normal(size=m)
    weights = random.choice([0.0, 1.0, 2.5], size=agents)
    scales = NoiseScales(2.0, random.choice([0.0, 0.5, 3.0], size=agents))
    noise = (
        {},
        {"scales": scales},
        {"scales": scales, "shape": "structural"},
        {"report_scale": 1.3},
    )[number % 4]
    i = int(random.integers(agents))
    made_up = 2 * random.normal(size=(2, dims[i]))
    budget = (np.inf, 0.0, 1.0, 7.0)[number // 4 % 4]
    mu0 = random.uniform(0, 1, m)
    return Plan(
        Problem(dims, lower, upper, targets, Q, a, c, weights),
        radius=float(mu0.sum()) + (1e-9, 1.0, 100.0)[number % 3],
        record=np.unique(random.integers(0, 41, size=5)),
        sizes=StepSizes(0.3, 0.7, c1=0.2, c2=0.6, first=1 + number % 5),
        lies=[
            Lie(i, made_up[0], budget=budget),
            Pretence(i, made_up[1], weight=float(number % 3), budget=budget),
        ],
        x0=random.uniform(lower, upper),
        mu0=mu0,
        **noise,
    )


def test_the_loop_is_the_reference_on_random_problems():
    boxes, balls = 0, 0
    for number in range(48):
        plan = random_plan(number)
        fast, slow = simulate(plan, stream(number)), reference(plan, stream(number))
        assert gap(fast, slow) < 1e-10, number
        free = plan.problem.upper > plan.problem.lower
        boxes += np.any((fast.x == plan.problem.upper)[..., free])
        balls += np.all(fast.hits > 0)
    assert min(boxes, balls) > 10


@pytest.mark.parametrize(
    "broken",
    [
        lambda d: d._replace(g=d.g * 0.5),
        lambda d: d._replace(scale=d.scale * 0.5),
        lambda d: d._replace(bias=d.bias + 1.0),
        lambda d: d._replace(constraint=d.constraint[::-1].copy()),
    ],
)
def test_the_comparison_notices_broken_noise(broken):
    plan = paper_plan(shape="structural", lies=LIES[:1])
    slow = reference(plan, stream(3), broken(_noise_draws(plan)))
    assert gap(simulate(plan, stream(3)), slow) > 1e-3


# -- the algorithm as the paper has it ---------------------------------------


def from_the_paper(
    steps, x, mu, radius, *, first=1, simultaneous=True, dual_sign=-1.0, use_ball=True
):
    """Algorithm 1 agent by agent, with switches for mistakes one could make."""
    x = {i: np.array(x[2 * i - 2 : 2 * i], dtype=float) for i in range(1, 9)}
    for k in range(first, first + steps):
        gamma, alpha = 0.01 * k ** (-3 / 5), 0.5 * k ** (-1 / 3)
        q = {i: np.zeros(2) for i in range(1, 9)}
        for j, (pairs, _) in enumerate(STARS):
            for a, b in pairs:
                q[a] += mu[j] * 2 * (x[a] - x[b])
                q[b] += mu[j] * 2 * (x[b] - x[a])
        new = {}
        for i in range(1, 9):
            direction = (x[i] - np.array(TABLE_I[i - 1])) + q[i] + alpha * x[i]
            new[i] = np.clip(x[i] - gamma * direction, -10, 10)
        seen = x if simultaneous else new
        raised = np.zeros(4)
        for j, (pairs, limit) in enumerate(STARS):
            g = sum(float(np.sum((seen[a] - seen[b]) ** 2)) for a, b in pairs) - limit
            raised[j] = mu[j] + gamma * (g + dual_sign * alpha * mu[j])
        mu = onto_ball(raised, radius) if use_ball else np.maximum(raised, 0.0)
        x = new
    return np.concatenate([x[i] for i in range(1, 9)]), mu


RANDOM = np.random.default_rng(11)
START = {"x0": RANDOM.uniform(-10, 10, size=16), "mu0": RANDOM.uniform(0, 5, size=4)}


def difference(run, x, mu):
    return max(np.abs(run.x[0, -1] - x).max(), np.abs(run.mu[0, -1] - mu).max())


@pytest.mark.parametrize("radius", [416.5 / 3, 25.0])  # with 25 the 1-norm ball acts
@pytest.mark.parametrize("first", [1, 100])
def test_without_noise_it_is_algorithm_1_agent_by_agent(radius, first):
    exact = from_the_paper(400, *START.values(), radius, first=first)
    more = {"radius": radius, "record": [400], "sizes": StepSizes(first=first)}
    for scales in (None, table_one().scaled(0.0)):
        run = simulate(experiment_plan(scales=scales, **START, **more), stream(1))
        assert difference(run, *exact) < 1e-12


@pytest.mark.parametrize(
    "mistake",
    [{"simultaneous": False}, {"dual_sign": 1.0}, {"use_ball": False}, {"first": 2}],
)
def test_mistakes_would_be_caught(mistake):
    plan = experiment_plan(scales=None, radius=25.0, **START, record=[50])
    run = simulate(plan, stream(1))
    assert difference(run, *from_the_paper(50, *START.values(), 25.0)) < 1e-12
    wrong = from_the_paper(50, *START.values(), 25.0, **mistake)
    assert difference(run, *wrong) > 1e-3


def test_final_errors_of_the_noise_free_run():
    """250,000 steps: what is left without any noise."""
    run = simulate(experiment_plan(scales=None), stream(1))
    assert round(float(np.linalg.norm(run.x - optimum().x)), 6) == 0.323453
    error = float(np.linalg.norm(run.mu - optimum().multipliers))
    assert round(error, 6) == 0.028585


def test_a_lie_enters_every_message_and_the_liar_moves_by_its_true_state():
    """One step by hand, from the paper's description."""
    gamma, alpha, mu = 0.01, 0.5, np.array([0.5, 1.0, 2.0, 0.25])
    told = np.zeros(16)
    told[10:12] = 10.0
    plan = experiment_plan(scales=None, record=[1], mu0=mu, lies=LIES[:1])
    got = simulate(plan, stream(1))
    q = jacobian(PROBLEM, told).T @ mu  # from the reports, for every agent
    x = -gamma * (-PROBLEM.targets + q)  # from the true states, all 0
    assert np.abs(got.x[1, 0] - np.clip(x, -10, 10)).max() < 1e-15
    up = np.maximum(mu + gamma * (constraints(PROBLEM, told) - alpha * mu), 0.0)
    assert np.abs(got.mu[1, 0] - up).max() < 1e-15
    assert got.deviation[:, 0].tolist() == [0.0, 20.0]
    # Neighbours of agent 5 feel it at once, agent 0 does not.
    assert np.all(got.x[1, 0, 6:8] != got.x[0, 0, 6:8])
    assert np.all(got.x[1, 0, :2] == got.x[0, 0, :2])


# -- replicas, budgets, records ----------------------------------------------


def test_replicas_do_not_disturb_each_other():
    many = simulate(paper_plan(), stream(9))
    for r, lie in enumerate(LIES, start=1):
        one = simulate(paper_plan(lies=[lie]), stream(9))
        assert np.array_equal(one.x, many.x[[0, r]])
        assert np.array_equal(one.deviation, many.deviation[[0, r]])


@settings(max_examples=20, deadline=None)
@given(budget=st.floats(0.0, 200.0), seed=st.integers(0, 1000))
def test_a_budget_is_kept_and_used_up(budget, seed):
    plan = experiment_plan(record=[10, 200], lies=[Lie(5, [10, 10], budget=budget)])
    run = simulate(plan, stream(seed))
    # Twenty per step is what the lie costs at first: all is used within ten.
    assert np.all(run.deviation[1] <= budget * (1 + 1e-12))
    assert run.deviation[1, -1] == pytest.approx(budget, abs=1e-9)


def test_a_lie_without_budget_is_the_truth():
    lies = [Lie(5, [10, 10], budget=0.0), Pretence(5, [10, 10])]
    run = simulate(experiment_plan(record=[200], lies=lies), stream(1))
    assert np.array_equal(run.x[1], run.x[0])  # nothing to spend
    assert np.array_equal(run.x[2], run.x[0])  # its own wishes, its own life
    assert np.all(run.deviation == 0.0)


def test_the_same_stream_and_any_record_give_the_same_run():
    every = simulate(experiment_plan(record=range(501)), stream(4, "a"))
    some = simulate(experiment_plan(record=[0, 7, 500]), stream(4, "a"))
    assert np.array_equal(some.x, every.x[:, [0, 7, 500]])
    assert np.all(every.x[0, 0] == 0.0)
    other = simulate(experiment_plan(record=[500]), stream(4, "b"))
    assert not np.array_equal(other.x[0, 0], some.x[0, -1])


def test_pairs_stack_single_runs():
    plan = paper_plan(record=[0, 50])
    stack = simulate_pairs(plan, (stream(1, s) for s in range(3)))
    one = simulate(plan, stream(1, 2))
    for name in ("x", "mu", "deviation", "hits"):
        assert np.array_equal(getattr(stack, name)[2], getattr(one, name))
        assert not getattr(stack, name).flags.writeable


@given(st.integers(1, 10**6), st.integers(3, 300))
@settings(max_examples=50, deadline=None)
def test_record_steps(steps, count):
    record = record_steps(steps, count)
    assert record[:2].tolist() == [0, 1]
    assert record[-1] == steps
    assert np.all(np.diff(record) > 0)
    assert len(record) <= count


def test_memory_does_not_grow_with_the_steps():
    peaks = []
    for steps in (1000, 200_000):
        plan = experiment_plan(record=[steps])
        tracemalloc.start()
        simulate(plan, stream(1))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


# -- the projection onto M ---------------------------------------------------


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=6), st.floats(0.01, 60.0))
@settings(max_examples=200, deadline=None)
def test_projection_onto_m_is_optimal(values, radius):
    """It is in M, and v - p makes no acute angle with any corner's direction."""
    v = np.array(values)
    p = project_multipliers(v, radius)
    assert np.all(p >= 0.0)
    assert p.sum() <= radius + 1e-12  # rounding is that of v, up to 50
    corners = np.vstack((np.zeros(v.size), radius * np.eye(v.size)))
    assert np.max((corners - p) @ (v - p)) <= 1e-9 * (1 + radius * 50)
    np.testing.assert_allclose(p, onto_ball(v, radius), rtol=0, atol=1e-9)


def test_rescaling_in_place_of_projecting_would_be_caught():
    v = np.array([3.0, 2.0, -1.0])
    rescaled = np.maximum(v, 0) * 3.0 / 5.0
    p = project_multipliers(v, 3.0)
    assert np.linalg.norm(v - p) < np.linalg.norm(v - rescaled)


def test_projection_of_huge_entries():
    """Sums of huge entries lost the radius: the multipliers left M unseen."""
    huge = np.array([1e17, 1.0, -3.0])  # 1e17 - 3 is 1e17: no entry was left
    assert project_multipliers(huge, 3.0).tolist() == [3.0, 0.0, 0.0]


# -- the sampler -------------------------------------------------------------


def test_the_sampler_draws_what_numpy_draws_and_leaves_the_stream_there():
    ours, numpys = stream(2), stream(2)
    noise, scale = np.empty(1000), np.arange(1000.0)
    kernel._draw(ours, scale, np.empty(19, dtype=np.int64), noise)
    assert np.array_equal(noise, scale * laplace_draws(numpys, 1000))
    assert ours.random() == numpys.random()


def test_the_sampler_s_draws_are_independent_laplace_variables():
    """A correct sampler fails once in a million seeds."""
    z = np.empty(200_000)
    words = np.empty(-(-z.size // kernel.BITS), dtype=np.int64)
    kernel._draw(stream(5, "sampler"), np.ones(z.size), words, z)
    assert stats.kstest(z, stats.laplace.cdf).pvalue > 1e-6
    # A sampler that takes the scale for a standard deviation is noticed.
    assert stats.kstest(z / np.sqrt(2), stats.laplace.cdf).pvalue < 1e-100
    # Neighbours, and draws that share a word of signs, have nothing in common.
    for lag in (1, 2, 53):
        signs = np.sign(z[lag:]) * np.sign(z[:-lag])
        assert abs(signs.mean()) < 6 / np.sqrt(z.size)
        assert abs((z[lag:] * z[:-lag]).mean()) < 12 / np.sqrt(z.size)


# -- where noise falls, and how much ------------------------------------------


def test_scales_of_the_noise_on_g_and_on_its_gradients():
    scales = NoiseScales(2.0, np.arange(8.0))
    draws = _noise_draws(experiment_plan(scales=scales))
    assert draws.g.tolist() == [2.0] * 4
    assert draws.scale.tolist() == [*np.repeat(np.arange(8.0), 2)] * 4
    assert draws.reports.size == 0


def test_the_bias_of_noise_on_the_reports_is_exact_for_a_two_point_noise():
    """Any noise of variance v raises E g_j by v tr(Q_j) / 2, in exact numbers."""
    b = np.sqrt(0.5)  # a Laplace variable of this scale has variance 1
    draws = _noise_draws(experiment_plan(scales=None, report_scale=b))
    assert draws.reports.tolist() == [b] * 16
    x = np.arange(16.0)
    flips = np.vstack([np.eye(16) * 4.0, -np.eye(16) * 4.0])  # variance 1 each
    raised = constraints(PROBLEM, x + flips).mean(axis=0) - constraints(PROBLEM, x)
    assert np.array_equal(raised, draws.bias.round(9))


# -- what a plan refuses -----------------------------------------------------


def test_fractions_and_integers_are_step_sizes_too():
    # They reached the compiled loop as they were, which could not be compiled.
    exact = StepSizes(1, Fraction(1, 2), Fraction(1, 3), Fraction(3, 5), np.int32(2))
    runs = [
        simulate(experiment_plan(record=[5], sizes=sizes), stream(1))
        for sizes in (StepSizes(1.0, 0.5, 1 / 3, 3 / 5, 2), exact)
    ]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (StepSizes, {"gamma_bar": 0.0}, "'gamma_bar' .* positive"),
        (StepSizes, {"c1": 0.6}, r"'c1' .* less than 'c2', 0.6 \(Theorem 1\)"),
        (StepSizes, {"c1": 0.4}, r"'c2' .* less than 1 - 'c1', 0.6 \(Theorem 1\)"),
        (StepSizes, {"first": 0}, "'first' .* >= 1"),
        (experiment_plan, {"radius": 0.0}, "'radius' .* positive"),
        (experiment_plan, {"shape": "half"}, "'shape' .* 'full', 'structural'"),
        (experiment_plan, {"report_scale": -1.0}, "'report_scale' .* non-negative"),
        (experiment_plan, {"x0": np.full(16, 11.0)}, "'x0' .* in the box"),
        (experiment_plan, {"mu0": np.full(4, 99.0)}, "'mu0' .* sum <= 138"),
        (experiment_plan, {"mu0": -np.ones(4)}, "'mu0' .* non-negative"),
        (experiment_plan, {"record": [3, 2]}, "'record' .* ascending"),
        (experiment_plan, {"record": []}, "'record' .* ascending"),
        # These would have read and written beyond the loop's arrays.
        (experiment_plan, {"lies": [Lie(8, [1, 1])]}, "'agent' .* between 0 and 7"),
        (experiment_plan, {"lies": [Lie(0, [1, 1, 1])]}, "2 coordinates for agent 0"),
        (experiment_plan, {"scales": NoiseScales(1.0, [1.0])}, "for 8 agents"),
        (Lie, {"agent": 0, "report": [1, 1], "budget": -1.0}, "'budget'"),
        (Lie, {"agent": -1, "report": [1, 1]}, "'agent' .* >= 0"),
        (Lie, {"agent": 0, "report": [1e300, 0]}, "'report' .* at most 1e.60"),
        (Pretence, {"agent": 0, "target": [1, 1], "weight": -1.0}, "'weight'"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_one_sentence(kind, change, words):
    with pytest.raises(ValueError, match=words):
        kind(**change)
