"""The soft problem and the convex-concave procedure, against independent routes."""

from dataclasses import replace
from itertools import islice, product

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import logsumexp

from dplib.planning import soft, synthesis
from dplib.planning.correlation import local_counts, proxy
from dplib.planning.execution import chance, success_chance
from dplib.planning.game import MarkovGame
from dplib.planning.paper import NAVIGATION, sysadmin
from dplib.planning.policies import complete, counts, marginalise
from dplib.planning.soft import Backups, EndlessError, solve_soft
from dplib.planning.synthesis import (
    FLOOR,
    Weights,
    convex_concave,
    first_occupancy,
    induced,
    joint_balance,
    length,
    linear_program,
    success,
    tangent,
)

SERVERS = sysadmin("01")
WEIGHTS = Weights(length=0.01, correlation=0.1)


def problem(team, weights):
    """Return the first convex problem: tables, rewards, ends."""
    backups = Backups(team)
    rewards, ends = tangent(team, weights, first_occupancy(team))
    return backups, rewards[backups.active], ends


def test_backups_are_the_joint_means_and_transitions():
    team = sysadmin("011")
    backups = Backups(team)
    rng = np.random.default_rng(1)
    values = rng.normal(size=team.n_states)
    np.testing.assert_allclose(
        backups.mean(values), team.expected(values)[backups.active]
    )
    policy = rng.dirichlet(np.ones(team.n_actions), size=len(backups.active))
    np.testing.assert_allclose(
        backups.under(policy) @ values, (policy * backups.mean(values)).sum(axis=1)
    )


def test_only_reachable_states_count():
    reachable = set(Backups(NAVIGATION).active.tolist())
    assert len(reachable) == 341
    walls = {(w, s) for w in (2, 12, 22) for s in range(25)}
    assert not reachable & {w * 25 + s for w, s in walls}


def test_nobody_walks_through_dead_states():
    """State 2 is live, and lies behind 1, which is dead."""
    onward = [[0, 1, 0, 0.0]], [[0, 0, 1, 0.0]], [[0, 0, 0, 1.0]], [[0, 0, 0, 1.0]]
    assert Backups(alone(*onward, dead=[1])).active.tolist() == [0]
    assert Backups(alone(*onward)).active.tolist() == [0, 1, 2]


def test_newton_and_value_iteration_agree_and_the_bound_holds():
    backups, rewards, ends = problem(SERVERS, WEIGHTS)
    found = solve_soft(backups, rewards, ends, temperature=0.1)
    V = np.where(SERVERS.active.ravel(), 0.0, ends)
    for _ in range(3000):
        V[backups.active] = 0.1 * logsumexp((rewards + backups.mean(V)) / 0.1, axis=1)
    np.testing.assert_allclose(found.values, V[backups.active], atol=1e-9)
    assert found.bound < 1e-8
    np.testing.assert_allclose(found.policy.sum(axis=1), 1.0)


def test_a_conic_solver_finds_the_same_value():
    backups, rewards, ends = problem(SERVERS, WEIGHTS)
    found = solve_soft(backups, rewards, ends, temperature=0.1)
    S, m = rewards.shape
    balance, _ = joint_balance(SERVERS, backups)
    stop = backups.mean(np.where(SERVERS.active.ravel(), 0.0, ends))
    x = cp.Variable((S, m), nonneg=True)
    visits = cp.sum(x, axis=1, keepdims=True) @ np.ones((1, m))
    objective = cp.sum(cp.multiply(rewards + stop, x))
    objective -= 0.1 * cp.sum(cp.rel_entr(x, visits))
    here = np.ravel_multi_index(SERVERS.start, SERVERS.shape)
    enters = (backups.active == here) * 1.0
    flow = [balance @ cp.vec(x, order="C") == enters]
    value = cp.Problem(cp.Maximize(objective), flow).solve(solver=cp.CLARABEL)
    start = int(np.flatnonzero(enters)[0])
    assert value == pytest.approx(found.values[start], abs=1e-6)
    assert value != pytest.approx(found.values[start] + 1e-3, abs=1e-6)


def alone(*moves, dead=()):
    """Return one agent that starts in 0; rows of laws, the target comes last."""
    law = np.array(moves, dtype=float)
    n = len(law)
    return MarkovGame(
        transitions=(law,),
        start=(0,),
        target=np.arange(n) == n - 1,
        dead=np.isin(np.arange(n), dead),
        depends=((),),
    )


# From 0 to the end at once, or by 1, where one stays for 100 steps.
DETOUR = alone(
    [[0, 0, 1], [0, 1, 0]],
    [[0, 0.99, 0.01], [0, 0.99, 0.01]],
    [[0, 0, 1], [0, 0, 1]],
)
DOOR = alone([[1, 0], [0, 1]], [[0, 1], [0, 1]])  # wait, or go


def test_a_loose_solution_has_an_honest_bound():
    """At tolerance 1 the first policy is taken, if the certificate lets it pass."""
    backups, rewards, ends = problem(SERVERS, WEIGHTS)
    best = solve_soft(backups, rewards, ends, temperature=0.1)
    loose = solve_soft(backups, rewards, ends, temperature=0.1, tolerance=1.0)
    start = int(np.searchsorted(backups.active, 1))
    gap = best.values[start] - loose.values[start]
    steps = loose.visits.sum()
    assert 1e-6 < gap <= loose.bound
    assert loose.bound == pytest.approx(2.0 * loose.residual * steps)
    assert 0.0 < best.bound < 1e-11


def test_the_certificate_sees_that_other_ways_are_longer():
    """By the residual and the length of the policy at hand, the gap would be 1.4."""
    backups = Backups(DETOUR)
    rewards = np.array([[0.0, 0.0], [-0.5, -0.5]])
    straight = np.array([[1.0, 0.0], [1.0, 0.0]])
    options = {"temperature": 1.0, "start": straight, "tolerance": 1.0}
    found = solve_soft(backups, rewards, np.array([0.0, 0.0, 0.0]), **options)
    # From 1 on: 100 steps, each of which earns ln 2 - 1/2 beside what is best.
    best = np.logaddexp(0.0, 100.0 * (np.log(2.0) - 0.5))
    assert best - found.values[0] <= found.bound
    assert found.iterations > 1


def test_a_good_start_is_used():
    backups, rewards, ends = problem(SERVERS, WEIGHTS)
    cold = solve_soft(backups, rewards, ends, temperature=0.1)
    options = {"temperature": 0.1, "start": cold.policy}
    assert cold.iterations > 2
    assert solve_soft(backups, rewards, ends, **options).iterations == 1


def test_staying_that_pays_has_no_best_policy(monkeypatch):
    backups = Backups(SERVERS)
    options = {"temperature": 1.0}
    with pytest.raises(EndlessError, match="grow without bound: staying pays"):
        solve_soft(backups, np.ones((1, 4)), np.zeros(16), **options)
    backups = Backups(DOOR)
    costs = np.full((1, 2), -1.0)
    with pytest.raises(EndlessError, match="never ends an episode"):
        solve_soft(backups, costs, np.zeros(2), start=np.array([[1.0, 0.0]]), **options)
    monkeypatch.setattr(soft, "STEPS", 2)
    with pytest.raises(EndlessError, match="after 2 steps does not certify"):
        solve_soft(backups, costs, np.zeros(2), **options)


def test_the_tangent_lies_above_the_entropies_and_touches():
    rng = np.random.default_rng(2)
    shape = (4, 4, 3, 3)
    at, other = rng.exponential(size=(2, *shape))
    rewards, ends = tangent(SERVERS, Weights(length=0.0, correlation=1.0), at)

    def line(x):
        going = x[:, :, :2, :2].reshape(16, 4)
        stopping = x[:, :, 2, 2].ravel()
        return (
            -(going * rewards).sum()
            - (stopping * (ends - SERVERS.target.ravel())).sum()
        )

    def entropies(x):
        whole = x.reshape(16, -1)
        joint = (whole * np.log(whole / whole.sum(axis=1, keepdims=True))).sum()
        return proxy(SERVERS, x) - joint

    def only_joint(x):  # agents stop together
        kept = np.zeros_like(x) + 1e-300
        kept[:, :, :2, :2], kept[:, :, 2, 2] = x[:, :, :2, :2], x[:, :, 2, 2]
        return kept

    at, other = only_joint(at), only_joint(other)
    rewards, ends = tangent(SERVERS, Weights(length=0.0, correlation=1.0), at)
    assert line(at) == pytest.approx(entropies(at))
    assert line(other) > entropies(other) + 1e-6


@pytest.mark.parametrize("start", ["01", "0011"])
def test_the_objective_never_falls(start):
    team = sysadmin(start)
    some = list(islice(convex_concave(team, WEIGHTS, first_occupancy(team)), 12))
    assert np.all(np.diff([one.objective for one in some[1:]]) > -1e-10)
    for one in some:
        assert one.objective == pytest.approx(
            one.success - 0.01 * one.length - 0.1 * one.correlation
        )


def test_without_the_tangent_it_would_fall(monkeypatch):
    """Prices that forget the agents' habits are no convex-concave procedure."""

    def flat(team, weights, occupancy):
        rewards, ends = tangent(team, weights, occupancy)
        return np.full_like(rewards, -weights.length), ends

    monkeypatch.setattr(synthesis, "tangent", flat)
    first = first_occupancy(NAVIGATION)
    heavy = Weights(length=0.3, correlation=0.05)
    some = list(islice(convex_concave(NAVIGATION, heavy, first), 4))
    monkeypatch.undo()
    right = list(islice(convex_concave(NAVIGATION, heavy, first), 4))
    assert some[3].objective < right[3].objective - 0.01


def test_the_first_measure_is_as_long_as_allowed():
    assert length(first_occupancy(NAVIGATION)) == pytest.approx(20.0, abs=1e-6)
    step = np.array([[[0.0, 1.0]], [[0.0, 1.0]]])  # the only way is there
    door = MarkovGame(
        transitions=(step,),
        start=(0,),
        target=[False, True],
        dead=[False, False],
        depends=((),),
    )
    assert length(first_occupancy(door)) == pytest.approx(2.0)


def test_longest_binds():
    """A quick step succeeds half of the time; by 1 it takes one more, and succeeds."""
    stay = [[0, 0, 0, 1.0]] * 2
    hurry = alone([[0, 0, 0.5, 0.5], [0, 1, 0, 0]], stay, stay, stay, dead=[2])
    for longest, steps, chances in ((100.0, 3.0, 1.0), (2.5, 2.5, 0.75)):
        x = linear_program(hurry, longest=longest)
        assert length(x) == pytest.approx(steps, abs=1e-8)
        assert success(hurry, x) == pytest.approx(chances, abs=1e-8)
    # At this price of entropy, only a multiplier beyond the first guess is enough.
    x = first_occupancy(DOOR, price=5.0, longest=2.01)
    assert length(x) == pytest.approx(2.01, abs=1e-6)


def test_an_end_that_is_too_far_is_refused():
    corridor = np.roll(np.eye(30), 1, axis=1)[:, None]
    far, here = alone(*corridor), alone([[1, 0]], [[0, 1]])
    assert length(first_occupancy(far, longest=31.0)) == pytest.approx(30.0)
    for solve in (linear_program, first_occupancy):
        words = f"'longest' parameter of {solve.__name__} .* a length within"
        for team in (far, here):  # 29 steps away, and never reached
            with pytest.raises(ValueError, match=words):
                solve(team, longest=29.0)


def test_iterates_carry_the_bound_of_their_problem():
    backups, rewards, ends = problem(SERVERS, WEIGHTS)
    found = solve_soft(backups, rewards, ends, temperature=0.1)
    steps = convex_concave(SERVERS, WEIGHTS, first_occupancy(SERVERS))
    bounds = [one.bound for one in islice(steps, 2)]
    assert bounds == [0.0, found.bound]


def test_the_linear_program_finds_the_best_of_all_policies():
    """Two servers: value iteration over joint actions, without a solver."""
    backups = Backups(SERVERS)
    V = SERVERS.target.ravel().astype(float)
    for _ in range(4000):
        V[backups.active] = (backups.mean(V) - 0.01).max(axis=1)
    here = np.ravel_multi_index(SERVERS.start, SERVERS.shape)
    x = linear_program(SERVERS, price=0.01)
    found = success(SERVERS, x) - 0.01 * (length(x) - 1.0)
    assert found == pytest.approx(V[here], abs=1e-7)


def test_occupancy_policy_and_recursion_are_one():
    team = sysadmin("0011")
    x = linear_program(team, price=1e-3)
    policies = complete(team, x, kappa=1e-3)
    again = induced(team, policies)
    recursion = success_chance(team, policies, steps=3000)
    assert success(team, again) == pytest.approx(recursion, abs=1e-7)
    moves = chance(team, policies, np.zeros(team.shape), steps=3000, each=1.0)
    assert length(again) == pytest.approx(moves + 1.0, abs=1e-5)


def test_marginals_by_hand():
    team = sysadmin("01")
    rng = np.random.default_rng(3)
    x = rng.exponential(size=(4, 4, 3, 3))
    first, second = counts(team, x)
    np.testing.assert_allclose(first, x.sum(axis=(1, 3))[:, :2])
    np.testing.assert_allclose(second, x.sum(axis=2)[:, :, :2])
    turned = replace(team, depends=((1,), ()))
    heard, own = counts(turned, x)
    np.testing.assert_allclose(heard, x.sum(axis=3)[:, :, :2].swapaxes(0, 1))
    np.testing.assert_allclose(own, x.sum(axis=(0, 2))[:, :2])
    for table in marginalise(team, x):
        np.testing.assert_allclose(table.sum(axis=-1), 1.0)


def test_what_never_occurs_is_uniform_or_the_habit():
    team = sysadmin("01")
    x = np.full((4, 4, 3, 3), FLOOR)
    x[0, 1, 0, 1] = x[3, 1, 0, 1] = 1.0  # the second repairs when unhealthy
    plain, filled = marginalise(team, x)[1], complete(team, x, kappa=1e-3)[1]
    np.testing.assert_allclose(plain[2, 1], [0.5, 0.5])
    assert filled[2, 1, 1] > 0.999
    np.testing.assert_allclose(plain[0, 1], filled[0, 1], atol=1e-6)


def test_independent_agents_have_no_correlation_of_actions():
    """A product of policies in one joint state: the proxy is 0."""
    coin = np.array([[[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    team = MarkovGame(
        transitions=(coin, coin),
        start=(0, 0),
        target=[[False, False], [False, True]],
        dead=np.zeros((2, 2), dtype=bool),
        depends=((), ()),
    )
    fair = (np.full((2, 2), 0.5),) * 2
    assert proxy(team, induced(team, fair)) == pytest.approx(0.0, abs=1e-6)
    copied = np.full((2, 2, 3, 3), FLOOR)
    copied[0, 0, 0, 0] = copied[0, 0, 1, 1] = 0.5
    copied[1, 1, 2, 2] = 1.0
    assert proxy(team, copied) == pytest.approx(np.log(2), abs=1e-6)
    assert [one.shape for one in local_counts(team, copied)] == [(2, 3), (2, 3)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"depends": ((1,), (0,))}, "without a circle"),
        ({"depends": ((), (1,))}, "numbers of other agents"),
        ({"depends": ((),)}, "numbers of other agents"),
        ({"start": (0, 0)}, "neither target nor dead"),
        ({"start": (0, 7)}, "one local state"),
        ({"target": np.zeros((4, 4), dtype=bool)}, "one or more joint states"),
        ({"dead": np.zeros((4, 3), dtype=bool)}, "an array of shape"),
    ],
)
def test_a_team_that_is_none_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        replace(SERVERS, **change)


def test_weights_are_checked():
    with pytest.raises(ValueError, match="'correlation' parameter of Weights"):
        Weights(length=0.1, correlation=0.0)
    assert all(
        one.n_states == 4 ** len(digits)
        for digits in ("0", "00", "000")
        for one in [sysadmin("1" + digits[1:])]
    )
    with pytest.raises(ValueError, match="digits from 0 to 3"):
        sysadmin("04")


def test_servers_of_the_paper():
    team = sysadmin("2233")
    assert team.start == (2, 2, 3, 3)
    assert not team.dead[team.start]
    failures = [s for s in product(range(4), repeat=4) if team.dead[s]]
    assert len(failures) == 26
    assert all(max(s.count(2), s.count(3)) > 2 for s in failures)
