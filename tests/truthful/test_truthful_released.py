"""Lower bounds: losses of messages by hand, by sampling and by two accountants."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy.special import gammaln, logsumexp, xlogy
from scipy.stats import beta
from small_teams import ADJACENCY, CALIBRATED, EPSILON, PROBLEM, alone, line, star

from dplib.privacy.laplace_sum import _two_sided_erlangs
from dplib.rng import stream
from dplib.truthful.joint_privacy import joint_epsilons
from dplib.truthful.kernel import project_multipliers
from dplib.truthful.noise import (
    NoiseScales,
    calibrated,
    noise_support,
    table_one,
    trajectory_adjacency,
)
from dplib.truthful.problem import constraints, jacobian
from dplib.truthful.released import (
    MessageEntry,
    Messages,
    Step,
    agent_lower_bounds,
    binned_distributions,
    far_apart,
    first_messages_delta,
    gradient_loss,
    message_entries,
    messages_delta,
    silence_log_probability,
    two_step_loss,
    worst_step,
)

FIRST = {"gamma": 0.01, "alpha": 0.5}
ONE = np.ones(1)


def private_star():
    scales = calibrated(star(), adjacency=trajectory_adjacency(1.0), epsilon=EPSILON)
    return star(), scales


def worst_first_step(messages, i, adjacency=ADJACENCY):
    return worst_step(
        messages.problem,
        i=i,
        adjacency=adjacency,
        loss=lambda step: gradient_loss(messages, step),
    )


def worst_entries(i, shape, scales):
    messages = Messages(PROBLEM, scales, shape)
    return message_entries(messages, worst_first_step(messages, i))


# --- losses of one step and of two ----------------------------------------------


@pytest.mark.parametrize("shape", ["full", "structural"])
def test_worst_losses_of_the_paper(shape):
    messages = Messages(PROBLEM, table_one(), shape)
    one = [gradient_loss(messages, worst_first_step(messages, i)) for i in range(8)]
    by_hand = np.array([2, 1 / 2, 5 / 6, 5 / 6, 11 / 6, 5 / 6, 11 / 6, 1 / 3])
    assert np.allclose(np.array(one) / EPSILON, by_hand, rtol=5e-4)
    # One move of 3 changes g by 111 for every pair that it stretches, of 360.
    two = agent_lower_bounds(messages, adjacency=ADJACENCY, **FIRST) / EPSILON
    degree = np.array([2, 1, 2, 2, 3, 2, 3, 1])
    assert np.allclose(two, by_hand + degree * 111 / 360, rtol=5e-4)
    upper = joint_epsilons(PROBLEM, table_one(), adjacency=ADJACENCY) / EPSILON
    assert np.all(two < upper)
    assert np.flatnonzero(two < 1).tolist() == [1, 7]


def log_density(y, scales):
    """Log density of a weighted sum of Laplace variables, from its Erlang parts."""
    logs, signs = [], []
    for scale, power, weight in _two_sided_erlangs(scales):
        z = np.abs(y) / scale
        own = xlogy(power, z) - z - gammaln(power + 1) - math.log(2 * scale)
        logs.append(own + math.log(abs(weight)))
        signs.append(np.full(z.shape, math.copysign(1.0, weight)))
    return logsumexp(logs, axis=0, b=signs)


@pytest.mark.parametrize("shape", ["full", "structural"])
def test_supremum_is_attained_in_the_tail_and_not_passed(shape):
    total = 0.0
    for entry in worst_entries(6, shape, CALIBRATED):
        y = np.concatenate([np.linspace(-500, 500, 999), [-1e9, 1e9]])
        loss = log_density(y - entry.value, entry.scales)
        loss -= log_density(y - entry.adjacent, entry.scales)
        assert np.abs(loss).max() <= entry.loss + 1e-5  # logs of 1e9 keep 1e-6
        total += np.abs(loss[-2:]).max()
    assert total == pytest.approx(11 / 6 * EPSILON, rel=1e-4)


@pytest.mark.parametrize(("i", "shape"), [(0, "full"), (6, "full"), (6, "structural")])
def test_nothing_random_is_worse_than_the_worst(i, shape):
    random = stream(6, "moves", i, shape)
    messages = Messages(PROBLEM, CALIBRATED, shape)
    worst = gradient_loss(messages, worst_first_step(messages, i))
    for _ in range(200):
        x = random.uniform(-5, 5, 16)
        move = random.dirichlet([0.5, 0.5]) * random.choice([-3, 3], 2)
        moved = x.copy()
        moved[2 * i : 2 * i + 2] += move
        mu = random.exponential(1.0, 4) * random.integers(0, 2, 4)
        assert gradient_loss(messages, Step(i, x, moved, mu)) <= worst + 1e-9


@pytest.mark.parametrize(
    ("i", "receivers", "shape", "factor"),
    [
        (0, [1], "full", 1 + 222 / 360),
        (6, [7], "full", 1 + 333 / 360),
        (6, "all", "structural", 1 + 11 / 6 + 333 / 360),
    ],
)
def test_other_receivers(i, receivers, shape, factor):
    messages = Messages(PROBLEM, CALIBRATED, shape, receivers)
    found = agent_lower_bounds(messages, adjacency=ADJACENCY, **FIRST)
    assert found[i] == pytest.approx(factor * EPSILON)


def test_receivers_who_cannot_see_every_price_are_refused():
    messages = Messages(PROBLEM, CALIBRATED, "structural", [1])
    step = Step(0, np.zeros(16), 3.0 * np.eye(16)[0], np.ones(4))
    with pytest.raises(ValueError, match="together see every price"):
        two_step_loss(messages, step, **FIRST)


def test_boxes_smaller_than_b_are_used_in_all_coordinates():
    """A move stopped at the first side: 1.22 instead of 1.83."""
    small = replace(PROBLEM, lower=PROBLEM.lower / 10, upper=PROBLEM.upper / 10)
    scales = calibrated(small, adjacency=ADJACENCY, epsilon=1.0)
    messages = Messages(small, scales)
    step = worst_first_step(messages, 6)
    assert gradient_loss(messages, step) == pytest.approx(11 / 6)
    assert np.abs(step.x - step.adjacent).sum() == pytest.approx(3.0)
    assert np.all((step.adjacent >= small.lower) & (step.adjacent <= small.upper))


def test_an_agent_alone_tells_nobody():
    """It raised: no set of receivers sees a price."""
    scales = calibrated(alone(), adjacency=ADJACENCY, epsilon=1.0)
    found = agent_lower_bounds(Messages(alone(), scales), adjacency=ADJACENCY, **FIRST)
    assert found.tolist() == [0.0]


# --- the distributions of messages ----------------------------------------------


@pytest.mark.parametrize("shape", ["full", "structural"])
def test_entries_describe_sampled_messages(shape):
    """Variance of 1e5 messages, twelve standard errors; and their means."""
    n, random = 100_000, stream(11, "messages")
    x = random.uniform(-5, 5, 16)
    moved, mu = x.copy(), np.array([0.5, 2.0, 0.0, 1.0])
    moved[8] += 3.0  # agent 5
    messages = Messages(PROBLEM, table_one(), shape)
    entries = message_entries(messages, Step(4, x, moved, mu))
    assert [one.receiver for one in entries] == [2, 3, 6]
    scales = np.repeat(table_one().b, 2)
    noise = random.laplace(0, 1, (n, 4, 16)) * scales * noise_support(PROBLEM, shape)
    q = np.einsum("l,slc->sc", mu, jacobian(PROBLEM, x) + noise)
    for one in entries:
        sample = q[:, 2 * one.receiver]
        variance = 2 * np.sum(one.scales**2)
        assert abs(sample.mean() - one.value) < 6 * math.sqrt(variance / n)
        assert np.var(sample) == pytest.approx(variance, rel=12 * math.sqrt(5 / n))


def test_delta_of_two_equal_entries_in_closed_form():
    """1 - (1 + h/2) exp(-h) with h = r - epsilon/2, for epsilon between r and 2 r."""
    for r, epsilon in ((1.0, 1.0), (2.0, 3.0), (1.5, 2.9)):
        h = r - epsilon / 2
        exact = -math.expm1(-h) - 0.5 * h * math.exp(-h)
        entry = MessageEntry(0, 0.0, r, ONE)
        binned = messages_delta([entry, entry], epsilon=epsilon, bins=600)
        assert exact - 1e-5 < binned <= exact + 1e-15


def test_one_entry_of_two_equal_scales_loses_less():
    """Hidden in two Laplace variables the same shift shows less often."""
    one = MessageEntry(0, 0.0, 2.0, ONE)
    two = MessageEntry(0, 0.0, 2.0, np.ones(2))
    assert one.loss == two.loss == 2.0
    assert messages_delta([two], epsilon=1.0) < messages_delta([one], epsilon=1.0)
    log_p, log_q = binned_distributions(two, bins=2000, reach=200.0)
    assert np.abs(log_p - log_q).max() == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize(
    ("i", "shape", "delta"), [(0, "full", 0.2642), (6, "structural", 0.1488)]
)
def test_delta_against_dp_accounting(i, shape, delta):
    entries = worst_entries(i, shape, table_one())
    composed = None
    for entry in entries:
        pld = privacy_loss_distribution.from_laplace_mechanism(
            1.0 / entry.loss, value_discretization_interval=1e-4
        )
        composed = pld if composed is None else composed.compose(pld)
    ours = messages_delta(entries, epsilon=EPSILON, bins=120)
    theirs = composed.get_delta_for_epsilon(EPSILON)
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert ours == pytest.approx(delta, abs=1e-4)
    # Half the noise shows at once.
    half = worst_entries(i, shape, table_one().scaled(0.5))
    assert messages_delta(half, epsilon=EPSILON, bins=60) > 2 * ours


def test_bins_only_lose():
    entries = worst_entries(6, "full", CALIBRATED)
    coarse, fine = (messages_delta(entries, epsilon=EPSILON, bins=n) for n in (20, 80))
    assert 0.0 < coarse < fine
    for entry in entries:
        log_p, log_q = binned_distributions(entry, bins=60)
        assert np.abs(log_p - log_q).max() <= entry.loss + 1e-9


# --- the smallest counterexamples -----------------------------------------------


def test_three_agents_on_a_line_exactly():
    """Both neighbours hear a positive number: 1/4 against 1/36; 3 was promised."""
    problem, scales = private_star()
    step = Step(0, np.zeros(3), np.array([1.0, 0.0, 0.0]), ONE)
    loss = gradient_loss(Messages(problem, scales), step)
    assert loss == pytest.approx(2 * EPSILON)
    # P(W > 0) = 1/2; moved by 2 against a scale of 2 / ln 3 it is 1/2 of 1/3.
    p, q = Fraction(1, 2) ** 2, Fraction(1, 6) ** 2
    assert (p, q, p / q) == (Fraction(1, 4), Fraction(1, 36), 9)
    assert jacobian(problem, step.adjacent)[0, 1:].tolist() == [-2.0, -2.0]
    assert scales.b[1:] == pytest.approx(2 / EPSILON)


def test_closed_form_of_the_star():
    """Three agents: delta at epsilon is 1 - (1 + epsilon/4) exp(-epsilon/2)."""
    exact = 1 - (1 + EPSILON / 4) * math.exp(-EPSILON / 2)
    ours = first_messages_delta(
        Messages(*private_star()),
        i=0,
        adjacency=trajectory_adjacency(1.0),
        epsilon=EPSILON,
        bins=600,
    )
    assert exact - 1e-6 < ours <= exact


def test_three_agents_sampled():
    """200 000 runs of the message; Clopper-Pearson at 1e-7 on either side."""
    problem, scales = private_star()
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
    h, adjacency = 10.0, trajectory_adjacency(1.0)
    pair = line(lower=(-h, -h), upper=(h, h))
    scales = calibrated(pair, adjacency=adjacency, epsilon=EPSILON)
    messages = Messages(pair, scales, "structural")
    one = gradient_loss(messages, worst_first_step(messages, 0, adjacency))
    two = agent_lower_bounds(messages, adjacency=adjacency, **FIRST)[0]
    assert one == pytest.approx(EPSILON)
    assert two == pytest.approx((2 - 1 / (4 * h)) * EPSILON)


def test_silence_sampled():
    """A run of the cloud's price update; Hoeffding at 1e-7."""
    problem, scales = private_star()
    messages = Messages(problem, NoiseScales(2.0, scales.b))
    n, random = 200_000, stream(8, "silence")
    x, mu, gamma, alpha = np.array([1.0, 0.0, 0.5]), np.array([0.02]), 0.1, 0.5
    g = constraints(problem, x) + random.laplace(0, 2.0, (n, 1))
    silent = [
        project_multipliers(mu + gamma * (row - alpha * mu), 50.0)[0] == 0.0
        for row in g
    ]
    expected = silence_log_probability(messages, x, mu, gamma=gamma, alpha=alpha)
    error = math.sqrt(math.log(2 / 1e-7) / (2 * n))
    assert abs(np.mean(silent) - math.exp(expected)) < error


def test_silence_counts_every_price():
    x, mu = far_apart(PROBLEM, i=6), np.array([0.0, 0.0, 1.0, 1.0])
    z = mu * (1 - 0.005) / 0.01 + constraints(PROBLEM, x)
    by_hand = sum(
        math.log(0.5) - v / 327.69 if v >= 0 else math.log(1 - math.exp(v / 327.69) / 2)
        for v in z
    )
    ours = silence_log_probability(Messages(PROBLEM, table_one()), x, mu, **FIRST)
    assert ours == pytest.approx(by_hand)
