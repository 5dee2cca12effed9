"""Lower bounds from the messages: exact events, samples, another accountant."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy.integrate import quad
from scipy.stats import beta

from dplib.privacy.laplace_profile import (
    laplace_delta,
    laplace_loss_atoms,
    laplace_loss_density,
)
from dplib.privacy.laplace_sum import laplace_sum_log_density
from dplib.rng import stream
from dplib.truthful.joint_privacy import calibrated_factors, joint_epsilons
from dplib.truthful.kernel import project_multipliers
from dplib.truthful.message_laws import (
    binned_laws,
    message_entries,
    messages_delta,
)
from dplib.truthful.noise import (
    NoiseScales,
    calibrated,
    noise_support,
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
from dplib.truthful.released import (
    agent_lower_bounds,
    far_apart,
    first_messages_delta,
    gradient_loss,
    silence_log_probability,
    worst_gradient_loss,
    worst_two_step_loss,
)

PROBLEM = hale_egerstedt()
ADJACENCY = trajectory_adjacency(3.0)
EPSILON = math.log(3.0)
CALIBRATED = calibrated(PROBLEM, adjacency=ADJACENCY, epsilon=EPSILON)


def star():
    """Three agents on a line, the first tied to the two others; B = 1."""
    Q, a, c = pairwise_constraint((1, 1, 1), [(0, 1), (0, 2)], limit=1.0)
    box = np.full(3, 10.0)
    problem = Problem((1, 1, 1), -box, box, np.zeros(3), [Q], [a], [c])
    scales = calibrated(problem, adjacency=trajectory_adjacency(1.0), epsilon=EPSILON)
    return problem, scales


@pytest.mark.parametrize("shape", ["full", "structural"])
def test_worst_losses_of_the_paper(shape):
    steps = {"gamma": 0.01, "alpha": 0.5}
    one, two = (
        [
            worst(
                PROBLEM, table_one(), i=i, adjacency=ADJACENCY, shape=shape, **extra
            ).loss
            / EPSILON
            for i in range(8)
        ]
        for worst, extra in ((worst_gradient_loss, {}), (worst_two_step_loss, steps))
    )
    by_hand = np.array([2, 1 / 2, 5 / 6, 5 / 6, 11 / 6, 5 / 6, 11 / 6, 1 / 3])
    assert np.allclose(one, by_hand, rtol=5e-4)
    # One move of 3 changes g by 111 for every pair that it stretches, of 360.
    degree = np.array([2, 1, 2, 2, 3, 2, 3, 1])
    assert np.allclose(two, by_hand + degree * 111 / 360, rtol=5e-4)
    upper = joint_epsilons(PROBLEM, table_one(), adjacency=ADJACENCY) / EPSILON
    assert np.all(np.array(two) < upper)
    assert np.flatnonzero(np.array(two) < 1).tolist() == [1, 7]


@pytest.mark.parametrize("shape", ["full", "structural"])
def test_supremum_is_attained_in_the_tail_and_not_passed(shape):
    worst = worst_gradient_loss(
        PROBLEM, CALIBRATED, i=6, adjacency=ADJACENCY, shape=shape
    )
    entries = message_entries(
        PROBLEM,
        CALIBRATED,
        i=6,
        x=worst.x,
        adjacent=worst.adjacent,
        mu=worst.mu,
        shape=shape,
    )
    assert worst.loss == pytest.approx(11 / 6 * EPSILON)
    total = 0.0
    for entry in entries:
        y = np.concatenate([np.linspace(-500, 500, 999), [-1e9, 1e9]])
        loss = laplace_sum_log_density(
            y - entry.value, scales=entry.scales
        ) - laplace_sum_log_density(y - entry.adjacent, scales=entry.scales)
        assert np.abs(loss).max() <= entry.loss + 1e-5  # logs of 1e9 keep 1e-6
        total += np.abs(loss[-2:]).max()
    assert total == pytest.approx(worst.loss, rel=1e-4)


def test_nothing_random_is_worse_than_the_worst():
    random = stream(6, "moves")
    for i, shape in ((0, "full"), (6, "full"), (6, "structural")):
        worst = worst_gradient_loss(
            PROBLEM, CALIBRATED, i=i, adjacency=ADJACENCY, shape=shape
        ).loss
        for _ in range(200):
            x = random.uniform(-5, 5, 16)
            move = random.dirichlet([0.5, 0.5]) * random.choice([-3, 3], 2)
            moved = x.copy()
            moved[2 * i : 2 * i + 2] += move
            mu = random.exponential(1.0, 4) * random.integers(0, 2, 4)
            arguments = {"i": i, "x": x, "adjacent": moved, "mu": mu, "shape": shape}
            assert gradient_loss(PROBLEM, CALIBRATED, **arguments) <= worst + 1e-9


def exact_delta_of_two(r, epsilon):
    """delta of two iid Laplace losses, by their law and quadrature."""
    atoms, masses = laplace_loss_atoms(shift=r, scale=1.0)
    outer = sum(
        m * float(_delta_after(a, r, epsilon))
        for a, m in zip(atoms, masses, strict=True)
    )
    inner = quad(
        lambda t: (
            float(laplace_loss_density(loss=t, shift=r, scale=1.0))
            * float(_delta_after(t, r, epsilon))
        ),
        -r,
        r,
        points=[epsilon - r] if epsilon - r > -r else None,
    )[0]
    return outer + inner


def _delta_after(loss, r, epsilon):
    """E[(1 - exp(epsilon - loss - L))_+] over one Laplace loss L."""
    left = epsilon - loss
    if left >= 0.0:
        return laplace_delta(epsilon=left, shift=r, scale=1.0)
    # delta at a negative epsilon, by the symmetry of the pair.
    return 1 - math.exp(left) * (1 - laplace_delta(epsilon=-left, shift=r, scale=1.0))


def entries_of(i, shape, scales):
    worst = worst_gradient_loss(PROBLEM, scales, i=i, adjacency=ADJACENCY, shape=shape)
    return message_entries(
        PROBLEM,
        scales,
        i=i,
        x=worst.x,
        adjacent=worst.adjacent,
        mu=worst.mu,
        shape=shape,
    )


def test_delta_of_agent_1_two_routes():
    entries = entries_of(0, "full", table_one())
    exact = exact_delta_of_two(entries[0].loss, EPSILON)
    binned = messages_delta(entries, epsilon=EPSILON, bins=400)
    assert exact - 1e-5 < binned <= exact
    assert round(exact, 3) == 0.264


def test_delta_of_agent_7_against_dp_accounting():
    entries = entries_of(6, "structural", table_one())
    composed = None
    for entry in entries:
        pld = privacy_loss_distribution.from_laplace_mechanism(
            1.0 / entry.loss, value_discretization_interval=1e-4
        )
        composed = pld if composed is None else composed.compose(pld)
    theirs = composed.get_delta_for_epsilon(EPSILON)
    ours = messages_delta(entries, epsilon=EPSILON, bins=120)
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert round(ours, 4) == 0.1488  # and half the noise shows at once
    half = entries_of(6, "structural", table_one().scaled(0.5))
    assert messages_delta(half, epsilon=EPSILON, bins=60) > 2 * ours


def test_bins_only_lose():
    entries = entries_of(6, "full", CALIBRATED)
    coarse, fine = (messages_delta(entries, epsilon=EPSILON, bins=n) for n in (20, 80))
    assert 0.0 < coarse < fine
    for entry in entries:
        log_p, log_q = binned_laws(entry, bins=60)
        assert np.abs(log_p - log_q).max() <= entry.loss + 1e-9


# --- the smallest counterexamples ---------------------------------------------


def test_three_agents_on_a_line_exactly():
    """Both neighbours hear a positive number: 1/4 against 1/36; 3 was promised."""
    problem, scales = star()
    x, moved = np.zeros(3), np.array([1.0, 0.0, 0.0])
    arguments = {"i": 0, "x": x, "adjacent": moved, "mu": [1.0], "shape": "full"}
    assert gradient_loss(problem, scales, **arguments) == pytest.approx(2 * EPSILON)
    # P(W > 0) = 1/2; moved by 2 against a scale of 2 / ln 3 it is 1/2 of 1/3.
    p, q = Fraction(1, 2) ** 2, Fraction(1, 6) ** 2
    assert (p, q, p / q) == (Fraction(1, 4), Fraction(1, 36), 9)
    assert p > 3 * q
    assert jacobian(problem, moved)[0, 1:].tolist() == [-2.0, -2.0]
    assert scales.b[1:] == pytest.approx(2 / EPSILON)


def test_three_agents_sampled():
    """200 000 runs of the message; Clopper-Pearson at 1e-7 on either side."""
    problem, scales = star()
    n, random = 200_000, stream(7, "audit")
    lower_p, upper_q = _audit(problem, scales, n, random)
    assert math.log(lower_p / upper_q) > EPSILON
    # With the noise doubled the messages keep the promise; the audit agrees.
    lower_p, upper_q = _audit(problem, scales.scaled(2.0), n, random)
    assert math.log(lower_p / upper_q) < EPSILON


def _audit(problem, scales, n, random):
    counts = []
    for x in (np.zeros(3), np.array([1.0, 0.0, 0.0])):
        noise = random.laplace(0, scales.b, (n, 1, 3))
        q = np.einsum("j,sjn->sn", [1.0], jacobian(problem, x) + noise)
        counts.append(int(np.sum((q[:, 1] > 0) & (q[:, 2] > 0))))
    low = beta.ppf(1e-7, counts[0], n - counts[0] + 1)
    high = beta.ppf(1 - 1e-7, counts[1] + 1, n - counts[1])
    return low, high


def test_two_agents_need_the_prices():
    """One step keeps the promise, two do not: 2 - B / (4 h) of it is lost."""
    Q, a, c = pairwise_constraint((1, 1), [(0, 1)], limit=1.0)
    h = 10.0
    pair = Problem((1, 1), [-h, -h], [h, h], [0, 0], [Q], [a], [c])
    scales = calibrated(pair, adjacency=trajectory_adjacency(1.0), epsilon=EPSILON)
    common = {"i": 0, "adjacency": trajectory_adjacency(1.0), "shape": "structural"}
    one = worst_gradient_loss(pair, scales, **common).loss
    two = worst_two_step_loss(pair, scales, gamma=0.01, alpha=0.5, **common).loss
    assert one == pytest.approx(EPSILON)
    assert two == pytest.approx((2 - 1 / (4 * h)) * EPSILON)


def test_silence_sampled():
    """A run of the cloud's price update; Hoeffding at 1e-7."""
    problem, scales = star()
    scales = NoiseScales(2.0, scales.b)
    n, random = 200_000, stream(8, "silence")
    x, mu, gamma, alpha = np.array([1.0, 0.0, 0.5]), np.array([0.02]), 0.1, 0.5
    g = constraints(problem, x) + random.laplace(0, 2.0, (n, 1))
    silent = [
        project_multipliers(mu + gamma * (row - alpha * mu), 50.0)[0] == 0.0
        for row in g
    ]
    expected = math.exp(
        silence_log_probability(problem, scales, x=x, mu=mu, gamma=gamma, alpha=alpha)
    )
    assert abs(np.mean(silent) - expected) < math.sqrt(math.log(2 / 1e-7) / (2 * n))


def test_silence_counts_every_price():
    x, mu = far_apart(PROBLEM, i=6), np.array([0.0, 0.0, 1.0, 1.0])
    z = mu * (1 - 0.005) / 0.01 + constraints(PROBLEM, x)
    by_hand = sum(
        math.log(0.5) - v / 327.69 if v >= 0 else math.log(1 - math.exp(v / 327.69) / 2)
        for v in z
    )
    ours = silence_log_probability(
        PROBLEM, table_one(), x=x, mu=mu, gamma=0.01, alpha=0.5
    )
    assert ours == pytest.approx(by_hand)


def test_one_receiver_alone():
    step = {"gamma": 0.01, "alpha": 0.5, "shape": "full", "adjacency": ADJACENCY}
    two = worst_two_step_loss(PROBLEM, CALIBRATED, i=0, receivers=[1], **step).loss
    assert two == pytest.approx((1 + 222 / 360) * EPSILON)
    two = worst_two_step_loss(PROBLEM, CALIBRATED, i=6, receivers=[7], **step).loss
    assert two == pytest.approx((1 + 333 / 360) * EPSILON)
    with pytest.raises(ValueError, match="together see every price"):
        worst_two_step_loss(
            PROBLEM, CALIBRATED, i=0, receivers=[1], **step | {"shape": "structural"}
        )


def test_own_message_included():
    worst = worst_two_step_loss(
        PROBLEM,
        CALIBRATED,
        i=6,
        adjacency=ADJACENCY,
        shape="structural",
        gamma=0.01,
        alpha=0.5,
        receivers="all",
    )
    assert worst.loss == pytest.approx((1 + 11 / 6 + 333 / 360) * EPSILON)


def test_bad_arguments():
    x = np.zeros(16)
    common = {"i": 0, "x": x, "mu": np.ones(4), "shape": "full"}
    with pytest.raises(ValueError, match="equal to 'x' but for"):
        gradient_loss(PROBLEM, CALIBRATED, adjacent=np.ones(16), **common)
    with pytest.raises(ValueError, match="non-negative"):
        gradient_loss(PROBLEM, CALIBRATED, adjacent=x, **common | {"mu": [-1, 0, 0, 0]})
    with pytest.raises(ValueError, match="whose message differs"):
        gradient_loss(
            PROBLEM, CALIBRATED.scaled(0.0), adjacent=3 * np.eye(16)[0], **common
        )
    assert noise_support(PROBLEM, "full").shape == (4, 16)


def test_closed_form_of_the_star():
    """Three agents: delta at epsilon is 1 - (1 + epsilon/4) exp(-epsilon/2)."""
    problem, scales = star()
    exact = 1 - (1 + EPSILON / 4) * math.exp(-EPSILON / 2)
    (ours,) = first_messages_delta(
        problem,
        scales,
        i=0,
        adjacency=trajectory_adjacency(1.0),
        shape="full",
        epsilon=[EPSILON],
        bins=600,
    )
    assert exact - 1e-6 < ours <= exact


def test_boxes_smaller_than_b_are_used_in_all_coordinates():
    """A move stopped at the first side: 1.22 instead of 1.83."""
    small = Problem(
        PROBLEM.dims,
        PROBLEM.lower / 10,
        PROBLEM.upper / 10,
        PROBLEM.targets,
        PROBLEM.Q,
        PROBLEM.a,
        PROBLEM.c,
    )
    scales = calibrated(small, adjacency=ADJACENCY, epsilon=1.0)
    found = worst_gradient_loss(small, scales, i=6, adjacency=ADJACENCY, shape="full")
    assert found.loss == pytest.approx(11 / 6)
    assert np.abs(found.x - found.adjacent).sum() == pytest.approx(3.0)


def test_an_agent_alone_tells_nobody():
    """It raised: no set of receivers sees a price."""
    alone = Problem((1,), [-1], [1], [0], [[[2.0]]], [[0.0]], [-1.0])
    scales = calibrated(alone, adjacency=ADJACENCY, epsilon=1.0)
    found = agent_lower_bounds(
        alone, scales, adjacency=ADJACENCY, gamma=0.01, alpha=0.5
    )
    assert found.tolist() == [0.0]
    assert calibrated_factors(alone) == (Fraction(0),)
