"""Algorithm 2: the compiled loop against plain numpy, the sampler, the reports."""

import dataclasses
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dplib.rng import stream
from dplib.truthful import algorithm, kernel
from dplib.truthful.algorithm import StepSizes
from dplib.truthful.input_perturbation import (
    constraint_bias,
    report_draws,
    report_scale,
    simulate_perturbed,
)
from dplib.truthful.kernel import _onto_multipliers
from dplib.truthful.noise import NoiseScales, table_one, trajectory_adjacency
from dplib.truthful.problem import (
    Problem,
    agent,
    constraints,
    hale_egerstedt,
    jacobian,
    pairwise_constraint,
)
from dplib.truthful.reference import laplace_draws, simulate_reference
from dplib.truthful.reports import Lie, Pretence, replicas
from dplib.truthful.simulation import (
    output_draws,
    run_draws,
    simulate,
    simulate_pairs,
    sparse_rows,
)

R = 416.5 / 3
PROBLEM = hale_egerstedt()
LIES = [
    Lie(5, [10, 10]),
    Lie(5, [-10, -10], budget=3.0),
    Lie(0, [40, 1]),
    Pretence(6, [3, 1], weight=0.5),
    Pretence(6, [0, 0], weight=0.0, budget=25.0),
]


def crooked():
    """Three agents of 1, 2 and 3 coordinates, linear terms, a box that acts."""
    dims, n = (1, 2, 3), 6
    random = stream(7, "crooked")
    factors = random.normal(size=(2, 2, n))
    factors[1][:, :3] = 0.0  # the second constraint does not touch agents 0 and 1
    Q = np.einsum("jkc,jkd->jcd", factors, factors)
    a = np.array([[1, 0, 0, 0, 0, 2.0], [0, 0, 0, -1, 0, 0.5]])
    return Problem(
        dims,
        np.full(n, -2.0),
        np.full(n, 1.5),
        random.normal(size=n) * 3,
        Q,
        a,
        [-1.0, -2.0],
        [1.0, 0.5, 2.0],
    )


def both_ways(problem, draws, lies, *, radius=R, steps=400, sizes=None, x0=None):
    sizes = StepSizes() if sizes is None else sizes
    x0 = np.zeros(problem.n_states) if x0 is None else np.asarray(x0, dtype=float)
    mu0 = np.full(problem.n_constraints, 0.3)
    record = np.array([0, 1, 2, 17, steps])
    fast = run_draws(
        problem,
        draws,
        steps=steps,
        radius=radius,
        rng=stream(3, "both"),
        sizes=sizes,
        lies=lies,
        x0=x0,
        mu0=mu0,
        record=record,
    )
    slow = simulate_reference(
        problem,
        draws,
        replicas(problem, lies, x0),
        rng=stream(3, "both"),
        x0=x0,
        mu0=mu0,
        radius=radius,
        sizes=sizes,
        record=record,
    )
    return fast, slow


def gap(one, other):
    return max(
        np.abs(getattr(one, name) - getattr(other, name)).max()
        for name in ("x", "mu", "deviation", "hits")
    )


@pytest.mark.parametrize("shape", ["full", "structural"])
def test_the_loop_is_the_reference_on_the_paper_s_instance(shape):
    problem = hale_egerstedt()
    fast, slow = both_ways(problem, output_draws(problem, table_one(), shape), LIES)
    assert gap(fast, slow) < 1e-11  # deviations are of the order 1e4
    assert np.abs(fast.x - slow.x).max() < 1e-12
    # The lies do something, each something else.
    assert np.ptp(fast.x[:, -1, 10]) > 1.0
    assert len(np.unique(fast.x[:, -1, 10].round(6))) == len(LIES) + 1


def test_the_loop_is_the_reference_where_everything_acts():
    """Odd dimensions, linear terms, weights, box and ball active, late k."""
    problem = crooked()
    scales = NoiseScales(40.0, [1.0, 2.0, 0.5])
    lies = [Lie(2, [1, 1, 1]), Pretence(1, [9, 9], weight=2.0), Lie(0, [0.5], 1.0)]
    fast, slow = both_ways(
        problem,
        output_draws(problem, scales),
        lies,
        radius=1.5,
        sizes=StepSizes(0.2, 0.7, 0.2, 0.6, first=5),
        x0=np.full(6, 0.25),
    )
    assert gap(fast, slow) < 1e-11
    assert np.all(fast.hits > 10)
    assert np.any(fast.x == problem.upper) or np.any(fast.x == problem.lower)


def test_input_perturbation_is_the_reference():
    problem = hale_egerstedt()
    fast, slow = both_ways(problem, report_draws(problem, scale=2.73), LIES)
    assert gap(fast, slow) < 1e-11


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
    problem = hale_egerstedt()
    draws = output_draws(problem, table_one(), "structural")
    _, slow = both_ways(problem, draws, LIES[:1])
    fast, _ = both_ways(problem, broken(draws), LIES[:1])
    assert gap(fast, slow) > 1e-3


def test_without_noise_it_is_algorithm_1():
    problem = hale_egerstedt()
    record = [0, 1, 10, 2000]
    plain = algorithm.run(problem, steps=2000, radius=R, record=record)
    for scales in (None, table_one().scaled(0.0)):
        noisy = simulate(
            problem, scales, steps=2000, radius=R, rng=stream(1), record=record
        )
        assert np.abs(noisy.x[0] - plain.x).max() < 1e-12
        assert np.abs(noisy.mu[0] - plain.mu).max() < 1e-12
    crook = crooked()
    plain = algorithm.run(crook, steps=300, radius=2.0, record=[300])
    noisy = simulate(crook, None, steps=300, radius=2.0, rng=stream(1), record=[300])
    assert np.abs(noisy.x[0] - plain.x).max() < 1e-12


def test_a_lie_enters_every_message_and_the_liar_moves_by_its_true_state():
    """One step by hand, from the paper's description."""
    problem, gamma, alpha = hale_egerstedt(), 0.01, 0.5
    mu = np.array([0.5, 1.0, 2.0, 0.25])
    told = np.zeros(16)
    told[10:12] = 10.0
    got = simulate(
        problem,
        None,
        steps=1,
        radius=R,
        rng=stream(1),
        lies=[Lie(5, [10, 10])],
        mu0=mu,
        record=[1],
    )
    q = jacobian(problem, told).T @ mu  # from the reports, for every agent
    x = -gamma * (-problem.targets + q)  # from the true states, all 0
    assert np.abs(got.x[1, 0] - np.clip(x, -10, 10)).max() < 1e-15
    g = constraints(problem, told)
    up = np.maximum(mu + gamma * (g - alpha * mu), 0.0)
    assert np.abs(got.mu[1, 0] - up).max() < 1e-15
    assert got.deviation[1, 0] == 20.0
    assert got.deviation[0, 0] == 0.0
    # Neighbours of agent 5 feel it at once, agent 0 does not.
    assert np.all(got.x[1, 0, 6:8] != got.x[0, 0, 6:8])
    assert np.all(got.x[1, 0, :2] == got.x[0, 0, :2])


def test_replicas_do_not_disturb_each_other():
    problem = hale_egerstedt()

    def go(lies):
        return simulate(
            problem,
            table_one(),
            steps=300,
            radius=R,
            rng=stream(9),
            lies=lies,
            record=[300],
        )

    many = go(LIES)
    for r, lie in enumerate(LIES, start=1):
        one = go([lie])
        assert np.array_equal(one.x[0], many.x[0])
        assert np.array_equal(one.x[1], many.x[r])
        assert np.array_equal(one.deviation[1], many.deviation[r])


@settings(max_examples=20, deadline=None)
@given(budget=st.floats(0.0, 200.0), seed=st.integers(0, 1000))
def test_a_budget_is_kept_and_used_up(budget, seed):
    run = simulate(
        hale_egerstedt(),
        table_one(),
        steps=200,
        radius=R,
        rng=stream(seed),
        lies=[Lie(5, [10, 10], budget=budget)],
        record=[10, 200],
    )
    # Twenty per step is what the lie costs at first: all is used within ten.
    assert np.all(run.deviation[1] <= budget * (1 + 1e-12))
    assert run.deviation[1, -1] == pytest.approx(budget, abs=1e-9)


def test_a_lie_without_budget_is_the_truth():
    run = simulate(
        hale_egerstedt(),
        table_one(),
        steps=200,
        radius=R,
        rng=stream(1),
        lies=[Lie(5, [10, 10], budget=0.0), Pretence(5, [10, 10])],
        record=[200],
    )
    assert np.array_equal(run.x[1], run.x[0])  # nothing to spend
    assert np.array_equal(run.x[2], run.x[0])  # its own wishes, its own life
    assert np.all(run.deviation == 0.0)


def test_the_same_stream_and_any_record_give_the_same_run():
    problem = hale_egerstedt()

    def go(record, name="a"):
        return simulate(
            problem,
            table_one(),
            steps=500,
            radius=R,
            rng=stream(4, name),
            record=record,
        ).x[0, -1]

    assert np.array_equal(go([500]), go(list(range(501))))
    assert not np.array_equal(go([500]), go([500], "b"))


def test_pairs_stack_single_runs():
    problem = hale_egerstedt()
    kwargs = {"steps": 50, "radius": R, "lies": LIES[:1], "record": [0, 50]}
    stack = simulate_pairs(
        problem, table_one(), streams=[stream(1, s) for s in range(3)], **kwargs
    )
    one = simulate(problem, table_one(), rng=stream(1, 2), **kwargs)
    for name in ("x", "mu", "deviation", "hits"):
        assert np.array_equal(getattr(stack, name)[2], getattr(one, name))
        assert not getattr(stack, name).flags.writeable


# -- the sampler ------------------------------------------------------------


def sample(count=200_000, seed=1):
    noise = np.empty(count)
    words = np.empty(-(-count // kernel.BITS), dtype=np.int64)
    kernel._draw(stream(seed, "sampler"), np.ones(count), words, noise)
    return noise


def test_the_sampler_draws_what_numpy_draws_and_leaves_the_stream_there():
    ours, numpys = stream(2), stream(2)
    noise, scale = np.empty(1000), np.arange(1000.0)
    kernel._draw(ours, scale, np.empty(19, dtype=np.int64), noise)
    assert np.array_equal(noise, scale * laplace_draws(numpys, 1000))
    assert ours.random() == numpys.random()


def test_moments_of_the_sampler():
    """Each is six standard errors wide: a seed in 5e8 fails."""
    z = sample()
    root = np.sqrt(z.size)
    for power, mean, square in ((1, 0, 2), (2, 2, 24), (3, 0, 720), (4, 24, 40320)):
        error = np.sqrt(square - mean**2) / root
        assert abs((z**power).mean() - mean) < 6 * error
    assert abs(np.abs(z).mean() - 1) < 6 / root
    assert abs((z > 0).mean() - 0.5) < 3 / root
    # Neighbours, and draws that share a word of signs, are independent.
    for lag in (1, 2, 53):
        assert abs((np.sign(z[lag:]) * np.sign(z[:-lag])).mean()) < 6 / root
        assert abs((z[lag:] * z[:-lag]).mean()) < 12 / root


def test_the_law_of_the_sampler_by_kolmogorov_smirnov():
    z = sample(seed=5)
    # A correct sampler fails once in a million seeds.
    assert stats.kstest(z, stats.laplace.cdf).pvalue > 1e-6
    # The guess of section "by standard deviation" is noticed.
    assert stats.kstest(z / np.sqrt(2), stats.laplace.cdf).pvalue < 1e-100


def test_noise_reaches_g_and_the_messages_at_their_scales():
    """One step from known multipliers, over many seeds."""
    problem, mu = hale_egerstedt(), np.array([60.0, 30.0, 20.0, 10.0])
    runs = simulate_pairs(
        problem,
        NoiseScales(2.0, np.full(8, 1e-3)),
        streams=[stream(8, s) for s in range(4000)],
        steps=1,
        radius=R,
        mu0=mu,
        record=[1],
    )
    z_g = (runs.mu[:, 0, 0] - runs.mu[:, 0, 0].mean(axis=0)) / 0.01
    assert stats.kstest(z_g.ravel() / 2.0, stats.laplace.cdf).pvalue > 1e-6
    z_q = (runs.x[:, 0, 0] - runs.x[:, 0, 0].mean(axis=0)) / 0.01
    want = np.sqrt(2.0) * 1e-3 * np.linalg.norm(mu)  # full: all four entries
    # The squares' kurtosis is at most 6: six standard errors of a std.
    assert np.abs(z_q.std(axis=0) / want - 1).max() < 6 * np.sqrt(5 / 4 / 4000)


# -- input perturbation -----------------------------------------------------


@pytest.mark.slow
def test_input_perturbation_is_unbiased():
    """Mean of g and of q over many draws of one step, at six standard errors."""
    problem, mu = hale_egerstedt(), np.array([3.0, 2.0, 1.0, 4.0])
    b = report_scale(adjacency=trajectory_adjacency(3.0), epsilon=np.log(3))
    assert b == pytest.approx(3 / np.log(3), rel=1e-15)
    kwargs = {"steps": 1, "radius": 1e6, "mu0": mu + 1000.0, "record": [1]}
    runs = simulate_perturbed(
        problem, scale=b, streams=[stream(6, s) for s in range(20_000)], **kwargs
    )
    exact = simulate_perturbed(problem, scale=0.0, streams=[stream(6)], **kwargs)
    free = (runs.mu[:, 0, 0] - exact.mu[0, 0, 0]) / 0.01
    error = free.std(axis=0) / np.sqrt(len(free))
    assert np.all(np.abs(free.mean(axis=0)) < 6 * error)
    # Without the correction the bias would be seen.
    assert np.all(constraint_bias(problem, scale=b) > 60 * error)


def test_the_bias_is_exact_for_a_two_point_noise():
    """Any noise of variance v raises E g_j by v tr(Q_j) / 2, in exact numbers."""
    problem, x = hale_egerstedt(), np.arange(16.0)
    flips = np.vstack([np.eye(16) * 4.0, -np.eye(16) * 4.0])  # variance 1 each
    raised = constraints(problem, x + flips).mean(axis=0) - constraints(problem, x)
    assert np.array_equal(raised, constraint_bias(problem, scale=np.sqrt(0.5)).round(9))


# -- form and arguments -----------------------------------------------------


def test_sparse_rows_hold_the_whole_problem():
    for problem in (hale_egerstedt(), crooked()):
        rows = sparse_rows(problem)
        Q, a = np.zeros_like(problem.Q), np.zeros_like(problem.a)
        for j in range(problem.n_constraints):
            for p in range(rows.first_row[j], rows.first_row[j + 1]):
                c = rows.coordinate[p]
                a[j, c] = rows.linear[p]
                for e in range(rows.first_entry[p], rows.first_entry[p + 1]):
                    Q[j, c, rows.column[e]] = rows.value[e]
        assert np.array_equal(Q, problem.Q)
        assert np.array_equal(a, problem.a)


def test_a_problem_without_quadratic_terms_runs():
    Q, a, _ = pairwise_constraint((1, 1), [(0, 1)], limit=4.0)
    flat = Problem((1, 1), [-9, -9], [9, 9], [0, 4], [0 * Q], [a + 1.0], [-2.0])
    fast, slow = both_ways(flat, output_draws(flat, NoiseScales(1.0, [1, 1])), ())
    assert gap(fast, slow) < 1e-12
    assert sparse_rows(flat).value.size == 0


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"steps": 0}, ValueError, "'steps' parameter of simulate"),
        ({"radius": 0.0}, ValueError, "'radius'"),
        ({"rng": 3}, TypeError, "'rng' parameter of simulate"),
        ({"sizes": 3}, TypeError, "'sizes'"),
        ({"noise": "half"}, ValueError, "'shape'"),
        ({"x0": np.full(16, 11.0)}, ValueError, "in the box"),
        ({"mu0": np.full(4, 99.0)}, ValueError, "'mu0'"),
        ({"record": [3, 2]}, ValueError, "ascending"),
        ({"record": [0.5]}, ValueError, "integers"),
        ({"record": [0, 99]}, ValueError, "between 0 and 10"),
        ({"lies": [3]}, TypeError, "'lies'"),
        ({"lies": [Lie(8, [1, 1])]}, ValueError, "'agent'"),
        ({"lies": [Lie(0, [1, 1, 1])]}, ValueError, "2 coordinates for agent 0"),
        ({"scales": 3.0}, TypeError, "'scales'"),
        ({"scales": NoiseScales(1.0, [1.0])}, ValueError, "for 8 agents"),
    ],
)
def test_bad_arguments_get_one_sentence(change, error, words):
    good = {"scales": table_one(), "steps": 10, "radius": R, "rng": stream(1)}
    scales = (good | change).pop("scales")
    rest = {k: v for k, v in (good | change).items() if k != "scales"}
    with pytest.raises(error, match=words):
        simulate(hale_egerstedt(), scales, **rest)


def test_bad_lies_are_refused():
    with pytest.raises(ValueError, match="'budget' parameter of Lie"):
        Lie(0, [1, 1], budget=-1.0)
    with pytest.raises(ValueError, match="'weight' parameter of Pretence"):
        Pretence(0, [1, 1], weight=-1.0)
    with pytest.raises(ValueError, match="'agent' parameter of Lie"):
        Lie(-1, [1, 1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        Lie(0, [1, 1]).agent = 3
    with pytest.raises(ValueError, match="'streams'"):
        simulate_pairs(hale_egerstedt(), None, streams=[], steps=1, radius=R)
    with pytest.raises(ValueError, match="'streams'"):
        simulate_perturbed(hale_egerstedt(), scale=1.0, streams=[], steps=1, radius=R)


def test_the_liar_s_slice_is_the_only_one_that_differs_at_first():
    problem = hale_egerstedt()
    told = replicas(problem, [Lie(5, [10, 10])], np.zeros(16))
    assert np.flatnonzero(told.kind[1]).tolist() == [5]
    assert np.all(told.shown[1, agent(problem, 5)] == 10.0)


def test_the_kernels_projection_of_huge_entries():
    """Sums of huge entries lose the radius: the multipliers left M unseen."""
    v = np.array([1e17, 1.0, -3.0])
    assert _onto_multipliers(v, 3.0)
    assert v.tolist() == [3.0, 0.0, 0.0]


def random_case(number: int) -> dict[str, object]:
    """Return a small random instance with every kind of row, noise and lie."""
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
    problem = Problem(dims, lower, upper, targets, Q, a, c, weights)
    scales = NoiseScales(2.0, random.choice([0.0, 0.5, 3.0], size=agents))
    draws = (
        output_draws(problem, None),
        output_draws(problem, scales, "full"),
        output_draws(problem, scales, "structural"),
        report_draws(problem, scale=1.3),
    )[number % 4]
    i = int(random.integers(agents))
    made_up = 2 * random.normal(size=(2, dims[i]))
    budget = (np.inf, 0.0, 1.0, 7.0)[number // 4 % 4]
    mu0 = random.uniform(0, 1, m)
    return {
        "problem": problem,
        "draws": draws,
        "lies": [
            Lie(i, made_up[0], budget=budget),
            Pretence(i, made_up[1], weight=float(number % 3), budget=budget),
        ],
        "x0": random.uniform(lower, upper),
        "mu0": mu0,
        "radius": float(mu0.sum()) + (1e-9, 1.0, 100.0)[number % 3],
        "sizes": StepSizes(gamma_bar=0.3, first=1 + number % 5),
        "record": np.unique(random.integers(0, 41, size=5)),
    }


def test_the_loop_is_the_reference_on_random_problems() -> None:
    for number in range(48):
        case = random_case(number)
        problem, draws, lies = (case.pop(key) for key in ("problem", "draws", "lies"))
        fast = run_draws(
            problem, draws, steps=40, rng=stream(number, "x"), lies=lies, **case
        )
        told = replicas(problem, lies, case["x0"])
        slow = simulate_reference(problem, draws, told, rng=stream(number, "x"), **case)
        for name in ("x", "mu", "deviation"):
            ours, theirs = getattr(fast, name), getattr(slow, name)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)
        np.testing.assert_array_equal(fast.hits, slow.hits)


def test_memory_does_not_grow_with_the_steps() -> None:
    peaks = []
    for steps in (1000, 200_000):
        tracemalloc.start()
        simulate(
            PROBLEM, None, steps=steps, radius=1.0, rng=stream(1, "x"), record=[steps]
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_noise_of_another_problem_never_reaches_the_loop() -> None:
    # The loop trusts its indices: these would have read and written beyond its arrays.
    draws = output_draws(PROBLEM, table_one(), "structural")
    rest = {"steps": 1, "radius": 1.0, "rng": stream(1, "x")}
    for name, bad in [
        ("coordinate", draws.coordinate + 10),
        ("constraint", draws.constraint - 1),
        ("coordinate", draws.coordinate[:-1]),
        ("coordinate", draws.coordinate * 0),
        ("coordinate", draws.coordinate.astype(float)),
        ("scale", -draws.scale),
        ("g", draws.g[:-1]),
        ("reports", np.ones(3)),
        ("bias", np.full(4, np.nan)),
    ]:
        with pytest.raises((TypeError, ValueError), match=r"'draws.* must "):
            run_draws(PROBLEM, draws._replace(**{name: bad}), **rest)
    full = output_draws(PROBLEM, table_one())
    turned = full._replace(
        scale=full.scale[::-1],
        constraint=full.constraint[::-1],
        coordinate=full.coordinate[::-1],
    )
    with pytest.raises(ValueError, match="row by row if they are all"):
        run_draws(PROBLEM, turned, **rest)


def test_fractions_and_integers_are_step_sizes_too() -> None:
    # They reached the compiled loop as they were, which could not be compiled.
    plain = StepSizes(gamma_bar=1.0, alpha_bar=0.5, c1=1 / 3, c2=3 / 5, first=2)
    exact = StepSizes(1, Fraction(1, 2), Fraction(1, 3), Fraction(3, 5), np.int32(2))
    runs = [
        simulate(PROBLEM, None, steps=5, radius=9.0, rng=stream(1, "x"), sizes=sizes)
        for sizes in (plain, exact)
    ]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)


def test_huge_numbers_are_refused_and_not_run_to_nan() -> None:
    # Noise of scale 1e308 used to come back as NaN, without a word.
    with pytest.raises(ValueError, match=r"'b' parameter of NoiseScales .* 1e.60"):
        NoiseScales(1e308, np.full(8, 1e308))
    with pytest.raises(ValueError, match=r"'report' parameter of Lie .* 1e.60"):
        Lie(5, [1e300, 0.0])
    edge = NoiseScales(1e60, np.full(8, 1e60))
    run = simulate(PROBLEM, edge, steps=50, radius=1e60, rng=stream(1, "x"))
    assert np.all(np.isfinite(run.x))
    assert np.all(np.isfinite(run.mu))


def test_the_scale_on_reports_is_spent_on_the_whole_radius() -> None:
    # Loss of one Laplace release of a report that changes by B: B over the scale.
    b = report_scale(adjacency=trajectory_adjacency(3.0), epsilon=0.3)
    assert 0.3 * (1 - 1e-12) < 3.0 / b <= 0.3
