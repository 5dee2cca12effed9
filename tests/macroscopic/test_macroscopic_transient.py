"""The master equation: exact cases, second routes, what a certificate must notice."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import expm
from scipy.sparse.linalg import expm_multiply

from dplib.macroscopic import paper, states, transient
from dplib.macroscopic.distribution import Distribution, aligned, observe
from dplib.macroscopic.leakage import leakage
from dplib.macroscopic.network import NetworkError, parse
from dplib.macroscopic.swarm import TypeChange, observing
from dplib.rng import stream

TASKS = paper.tasks()
UNEQUAL = paper.tasks(alpha=(0.2, 0.5, 0.8), beta=(0.8, 0.5, 0.2))


def apart(p: Distribution, q: Distribution) -> float:
    """Return the largest difference of the probabilities of an event."""
    _, a, b = aligned(p, q)
    difference = np.exp(a) - np.exp(b)
    return max(difference[difference > 0].sum(), -difference[difference < 0].sum())


def by_uniformisation(swarm, counts, tau):
    """Return the distribution as a sum of Poisson terms, all of them positive."""
    kept = states.reachable(swarm.network, swarm.start(counts))
    rates = states.generator(swarm.network, kept)
    fastest = float(-rates.diagonal().min())
    power = np.all(kept == swarm.start(counts), axis=1).astype(float)
    last = int(stats.poisson.isf(1e-15, fastest * tau)) + 2
    p = np.zeros(len(kept))
    for weight in stats.poisson.pmf(np.arange(last), fastest * tau):
        p += weight * power
        power = power + rates.T @ power / fastest
    return Distribution(kept, np.log(np.maximum(p, 1e-320)))


# --- states and generator


def test_states_are_all_that_reactions_reach_and_in_order():
    """Against populations listed by the conservation laws alone."""
    found = states.reachable(TASKS.network, TASKS.start((2, 1, 1)))
    listed = [
        (2 - a - d - e, 1 - b - d - f, 1 - c - e - f, a, b, c, d, e, f)
        for a, b, c, d, e, f in np.ndindex(3, 2, 2, 3, 3, 2)
        if a + d + e <= 2 and b + d + f <= 1 and c + e + f <= 1
    ]
    names = ["e1", "e2", "e3", "w1", "w2", "w3", "w12", "w13", "w23"]
    order = [names.index(name) for name in TASKS.network.species]
    assert found.tolist() == sorted([row[k] for k in order] for row in listed)


def test_number_of_states_of_the_tasks():
    """14 and 2,610 states with one and with five robots of each type."""
    for n, number in ((1, 14), (5, 2610)):
        assert len(states.reachable(TASKS.network, TASKS.start((n,) * 3))) == number


def test_generator_is_the_sum_of_all_reactions():
    """By hand: two reactions with the same change; 2 A -> B with falling factorials."""
    network = parse("A <-> B : 1, 5\n2 A -> A + B : 0.5")
    kept = states.reachable(network, [3, 0])
    rates = states.generator(network, kept).toarray()
    exact = [[Fraction(0)] * 4 for _ in range(4)]
    for a in range(4):
        down, up = a + Fraction(a * (a - 1), 2), 5 * (3 - a)
        if a > 0:
            exact[a][a - 1] += down
        if a < 3:
            exact[a][a + 1] += up
        exact[a][a] -= down + up
    assert kept[:, 0].tolist() == [0, 1, 2, 3]
    assert rates.tolist() == [[float(one) for one in row] for row in exact]


def test_rates_out_of_the_list_stay_on_the_diagonal():
    """What leaves the listed states is lost, not kept."""
    network = parse("0 <-> A : 4, 1")
    rates = states.generator(network, np.array([[0], [1], [2]])).toarray()
    assert rates.tolist() == [[-4, 4, 0], [1, -5, 4], [0, 2, -6]]


def test_too_many_states_are_refused_in_one_sentence():
    """Also where their number is infinite."""
    with pytest.raises(NetworkError, match="more than 100 states are reachable"):
        states.reachable(parse("0 -> A : 1"), [0], cap=100)


def test_states_around_are_so_many_reactions_away():
    """Three arrivals at most."""
    network = parse("0 -> A : 1")
    assert states.around(network, np.array([[5]]), 3).ravel().tolist() == [5, 6, 7, 8]


# --- distributions


@pytest.mark.parametrize("tau", [0.0, 0.01, 1.0, 30.0])
def test_independent_robots_are_binomial(tau):
    """Each of ten robots is away with (1 - exp(-3 tau)) / 3."""
    swarm = observing(parse("home <-> away : 1, 2"), ["home"], [["away"]])
    away = (1 - math.exp(-3 * tau)) / 3
    found = observe(transient.transient(swarm, (10,), tau), swarm.query)
    exact = Distribution(
        np.arange(11)[:, None], stats.binom.logpmf(np.arange(11), 10, away)
    )
    assert apart(found, exact) <= found.error + 1e-13
    assert found.error <= 1e-10


@pytest.mark.parametrize("tau", [100, 150, 1000])
def test_a_long_first_step_does_not_lose_everything(tau):
    # The first step jumped over the defect: no mass was left, and the error was 0.
    swarm = observing(parse("A <-> B : 1, 1"), "AB", [["A"], ["B"]])
    found = transient.transient(swarm, (100, 0), tau)
    half = stats.binom.logpmf(found.outcomes[:, 0], 100, 0.5)
    assert np.abs(np.exp(found.log_p) - np.exp(half)).sum() <= 2 * found.error


def test_mass_that_is_lost_counts_as_error(monkeypatch):
    advance = transient._advance
    monkeypatch.setattr(
        transient, "_advance", lambda *a: (0.9 * advance(*a)[0], *advance(*a)[1:])
    )
    assert transient.transient(TASKS, (1, 1, 1), 0.01).error > 0.05


def test_a_time_too_late_for_rounding_is_refused():
    swarm = observing(parse("A <-> B : 1, 1"), "AB", [["A"], ["B"]])
    with pytest.raises(NetworkError, match="nothing moves, as far as rounding tells"):
        transient.transient(swarm, (50, 0), 1e9)


def test_a_queue_without_end_keeps_a_window():
    """Arrivals and departures from an infinite space: Poisson at every time."""
    swarm = observing(parse("0 <-> A : 30, 1\nB -> C : 1"), ["B"], [["A"]])
    found = observe(transient.transient(swarm, (0,), 2.0, listed=100), swarm.query)
    mean = 30 * (1 - math.exp(-2.0))
    n = np.arange(200)[:, None]
    exact = Distribution(n, stats.poisson.logpmf(n.ravel(), mean))
    assert 0 < found.error <= 1e-10
    assert apart(found, exact) <= found.error + 1e-13


@pytest.mark.parametrize("swarm", [TASKS, UNEQUAL])
@pytest.mark.parametrize("tau", [0.05, 0.7, 10.0])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-11])
def test_the_certificate_holds_against_uniformisation(swarm, tau, tolerance):
    """The true error is at most what is certified, and that what was asked for."""
    found = transient.transient(swarm, (4, 3, 5), tau, tolerance=tolerance)
    exact = by_uniformisation(swarm, (4, 3, 5), tau)
    assert apart(found, exact) <= found.error + 1e-13
    assert found.error <= tolerance


@pytest.mark.parametrize("tau", [0.02, 5.0])
def test_a_window_has_a_certificate_too(tau):
    """With 300 states at most listed at once the mass lost bounds the error."""
    whole = transient.transient(TASKS, (8, 7, 8), tau)
    found = transient.transient(TASKS, (8, 7, 8), tau, tolerance=1e-4, listed=300)
    assert len(found.log_p) < len(whole.log_p)
    assert apart(found, whole) <= found.error + whole.error
    assert found.error <= 1e-4


def test_it_agrees_with_expm_in_log_probability():
    """Rare states too: 1e-9 of the probability of each, down to 1e-9."""
    found = transient.transient(UNEQUAL, (3, 2, 3), 2.0, tolerance=1e-13)
    kept = states.reachable(UNEQUAL.network, UNEQUAL.start((3, 2, 3)))
    first = np.all(kept == UNEQUAL.start((3, 2, 3)), axis=1).astype(float)
    dense = expm(2.0 * states.generator(UNEQUAL.network, kept).toarray().T) @ first
    _, a, b = aligned(found, Distribution(kept, np.log(dense)))
    often = b > math.log(1e-4)
    assert np.abs(a - b)[often].max() < 1e-9
    scipy = expm_multiply(2.0 * states.generator(UNEQUAL.network, kept).T, first)
    assert np.abs(scipy - dense).sum() < 1e-11


def test_a_wrong_generator_would_be_noticed():
    """K in place of its transpose loses a tenth of the mass or makes some."""
    kept = states.reachable(TASKS.network, TASKS.start((2, 2, 2)))
    rates = states.generator(TASKS.network, kept).toarray()
    first = np.all(kept == TASKS.start((2, 2, 2)), axis=1).astype(float)
    assert abs((expm(0.5 * rates) @ first).sum() - 1) > 0.1
    assert abs((expm(0.5 * rates.T) @ first).sum() - 1) < 1e-12


def test_simulation_agrees():
    """20,000 runs of the jump chain of the tasks, each count within 5 sigma."""
    swarm, counts, tau, runs = UNEQUAL, (2, 3, 2), 1.5, 20_000
    rng = stream(7, "tests", "jump chain")
    network, x = swarm.network, np.tile(swarm.start(counts), (runs, 1))
    clock = np.zeros(runs)
    while np.any(clock < tau):
        r = network.propensities(x)
        total = r.sum(axis=1)
        clock += rng.exponential(size=runs) / total
        jump = (rng.random(runs)[:, None] * total[:, None] > r.cumsum(axis=1)).sum(1)
        x += np.where((clock < tau)[:, None], network.changes[jump], 0)
    found = transient.observed(swarm, tau)(counts)
    seen = x @ swarm.query.T
    for row, log_p in zip(found.outcomes, found.log_p, strict=True):
        p = math.exp(log_p)
        share = np.all(seen == row, axis=1).mean()
        assert abs(share - p) <= 5 * math.sqrt(p * (1 - p) / runs) + 1e-4


# --- leakage of the tasks


def test_leakage_of_equal_types():
    """Two routes, and the finite value without smoothing where supports agree."""
    law = transient.observed(TASKS, 10.0)
    found = leakage(law, (4, 4, 4), nu=1e-5, adjacency=TypeChange())

    def other(counts):
        return observe(by_uniformisation(TASKS, counts, 10.0), TASKS.query)

    exact = leakage(other, (4, 4, 4), nu=1e-5, adjacency=TypeChange())
    assert found.low <= exact.value <= found.high
    assert found.high - found.low < 1e-4


def test_types_of_equal_rates_are_exchangeable():
    """Counts in another order give the same distribution of what is seen."""
    law = transient.observed(TASKS, 3.0)
    assert apart(law((3, 1, 4)), law((4, 3, 1))) < 1e-10
    law = transient.observed(UNEQUAL, 3.0)
    assert apart(law((3, 1, 4)), law((4, 3, 1))) > 0.05


def test_bad_input():
    """One sentence each."""
    with pytest.raises(ValueError, match="'tau'"):
        transient.transient(TASKS, (1, 1, 1), -1.0)
    with pytest.raises(ValueError, match="'tolerance'"):
        transient.transient(TASKS, (1, 1, 1), 1.0, tolerance=0.0)
