"""Success under truthful and private communication, against independent routes."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from dplib.book.replicates import share_interval
from dplib.planning.execution import chance, success_chance
from dplib.planning.game import MarkovGame
from dplib.planning.paper import NAVIGATION
from dplib.planning.policies import Policies
from dplib.planning.rollouts import rollouts
from dplib.privacy.word import OnlineMechanism, online_mechanism

FloatArray = NDArray[np.float64]
Step = dict[tuple[tuple[int, ...], tuple[int, ...]], float]
Listener = Callable[[OnlineMechanism, int, int, int], FloatArray]

DEPENDS = (
    ((), (0,)),
    ((1,), ()),
    ((), (), (0, 1)),
    ((1, 2), (2,), ()),
    ((), (), ()),
)


def _random(
    seed: int, depends: tuple[tuple[int, ...], ...]
) -> tuple[MarkovGame, Policies]:
    """Return a random team whose agents may stay, and random policies for it."""
    rng = np.random.default_rng(seed)
    sizes = tuple(int(n) for n in rng.integers(2, 4, size=len(depends)))
    laws = []
    for n in sizes:
        law = rng.dirichlet(np.ones(n), size=(n, 2))
        law *= rng.random((n, 1, n)) < 0.7  # not everything is feasible
        law += 0.1 * np.eye(n)[:, None]
        laws.append(law / law.sum(axis=2, keepdims=True))
    kind = rng.choice(3, p=[0.6, 0.2, 0.2], size=sizes)
    start = tuple(n - 1 for n in sizes)
    kind[start], kind[(0,) * len(sizes)] = 0, 1
    team = MarkovGame(
        transitions=tuple(laws),
        start=start,
        target=kind == 1,
        dead=kind == 2,
        depends=depends,
    )
    policies = tuple(
        rng.dirichlet(np.full(2, 0.4), size=(*(sizes[j] for j in on), sizes[i]))
        for i, on in enumerate(depends)
    )
    return team, policies


def _mechanisms(
    team: MarkovGame, *, epsilon: float, k: int = 1
) -> list[OnlineMechanism]:
    return [online_mechanism(law, epsilon=epsilon, k=k) for law in team.transitions]


def _as_defined(mechanism: OnlineMechanism, s: int, y: int, step: int) -> FloatArray:
    """Return Algorithm 1's distribution, from its two rules only."""
    del step
    can = [int(z) for z in np.flatnonzero(mechanism.feasible[y])]
    result = np.zeros(len(mechanism.feasible))
    for z in can:
        if s not in can:
            result[z] = 1.0 / len(can)
        elif z == s:
            result[z] = mechanism.tau[y] if len(can) > 1 else 1.0
        else:
            result[z] = (1.0 - mechanism.tau[y]) / (len(can) - 1)
    return result


def _explicit(
    team: MarkovGame,
    policies: Policies,
    steps: int,
    mechanisms: list[OnlineMechanism] | None,
    first: str,
    listen: Listener = _as_defined,
) -> dict[str, float]:
    """Run the chain forwards, joint state by joint state, all agents' words kept."""
    agents = range(team.n_agents)
    now: Step = {(team.start, team.start): 1.0}
    ends = {"target": 0.0, "dead": 0.0, "moves": 0.0}
    for t in range(steps):
        after: Step = {}
        for (state, last), weight in now.items():
            ends["moves"] += weight
            if mechanisms is None:
                tells = [np.eye(n)[s] for n, s in zip(team.shape, state, strict=True)]
            elif t == 0 and first == "start":
                tells = [np.eye(n)[s] for n, s in zip(team.shape, last, strict=True)]
            else:
                tells = [listen(mechanisms[i], state[i], last[i], t) for i in agents]
            for told in product(*(range(n) for n in team.shape)):
                said = weight * float(
                    np.prod([tell[z] for tell, z in zip(tells, told, strict=True)])
                )
                if said == 0.0:
                    continue
                moves = []
                for i, on in enumerate(team.depends):
                    acts = policies[i][tuple(told[j] for j in on)][state[i]]
                    moves.append(acts @ team.transitions[i][state[i]])
                for to in product(*(range(n) for n in team.shape)):
                    p = said * float(
                        np.prod([m[s] for m, s in zip(moves, to, strict=True)])
                    )
                    if team.target[to]:
                        ends["target"] += p
                    elif team.dead[to]:
                        ends["dead"] += p
                    elif p > 0.0:
                        after[to, told] = after.get((to, told), 0.0) + p
        now = after
    return ends


def _copy_game(m: int) -> tuple[MarkovGame, Policies]:
    """Agent 0 jumps to one of m cells; agent 1 waits, then jumps to the one it hears.

    A cell is a state from 1 to m. Meeting at once is success, all else failure.
    """
    jump = np.zeros((m + 1, 1, m + 1))
    jump[0, 0, 1:] = 1.0 / m
    jump[1:, 0, 1:] = np.eye(m)
    choose = np.repeat(np.eye(m + 1)[:, None], m + 1, axis=1)
    choose[0] = np.eye(m + 1)  # from 0, action a leads to state a
    s, r = np.indices((m + 1, m + 1))
    team = MarkovGame(
        transitions=(jump, choose),
        start=(0, 0),
        target=(s == r) & (s > 0),
        dead=(s != r) & (r > 0),
        depends=((), (0,)),
    )
    follow = np.repeat(np.eye(m + 1)[:, None], m + 1, axis=1)
    return team, (np.ones((m + 1, 1)), follow)


@pytest.mark.parametrize("depends", DEPENDS)
@pytest.mark.parametrize("first", ["drawn", "start"])
def test_a_chain_built_forwards_gives_the_same_chances(
    depends: tuple[tuple[int, ...], ...], first: str
) -> None:
    for seed in range(3):
        team, policies = _random(seed, depends)
        for told in (None, _mechanisms(team, epsilon=0.7)):
            chain = _explicit(team, policies, 4, told, first)
            options = {"steps": 4, "mechanisms": told, "first": first}
            found = success_chance(team, policies, **options)  # type: ignore[arg-type]
            assert found == pytest.approx(chain["target"], abs=1e-12)
            lost = chance(team, policies, team.dead.astype(float), **options)  # type: ignore[arg-type]
            assert lost == pytest.approx(chain["dead"], abs=1e-12)
            nothing = np.zeros(team.shape)
            moves = chance(team, policies, nothing, each=1.0, **options)  # type: ignore[arg-type]
            assert moves == pytest.approx(chain["moves"], abs=1e-12)


def test_the_copy_game_has_the_success_that_theory_gives() -> None:
    m, epsilon = 8, 2.97
    team, policies = _copy_game(m)
    told = _mechanisms(team, epsilon=epsilon)
    assert success_chance(team, policies, steps=3) == pytest.approx(1.0, abs=1e-12)
    found = success_chance(team, policies, steps=3, mechanisms=told, first="start")
    assert found == pytest.approx(1.0 / ((m - 1) * np.exp(-epsilon) + 1), abs=1e-12)
    # The start cannot follow itself: a first word that is drawn is pure noise.
    found = success_chance(team, policies, steps=3, mechanisms=told, first="drawn")
    assert found == pytest.approx(1.0 / m, abs=1e-12)


@pytest.mark.parametrize("first", ["drawn", "start"])
def test_words_that_are_always_true_cost_nothing(first: str) -> None:
    for depends in DEPENDS:
        team, policies = _random(7, depends)
        told = _mechanisms(team, epsilon=500.0)
        found = success_chance(team, policies, steps=6, mechanisms=told, first=first)
        honest = success_chance(team, policies, steps=6)
        assert found == pytest.approx(honest, abs=1e-12)


def test_words_that_nobody_uses_cost_nothing() -> None:
    team, policies = _random(3, ((), (0,)))
    told = _mechanisms(team, epsilon=0.01)
    deaf = (policies[0], np.broadcast_to(policies[1][:1], policies[1].shape))
    for first in ("drawn", "start"):
        found = success_chance(team, deaf, steps=6, mechanisms=told, first=first)
        assert found == pytest.approx(success_chance(team, deaf, steps=6), abs=1e-12)


def test_words_that_are_used_matter() -> None:
    gaps = []
    for seed in range(5):
        team, policies = _random(seed, ((), (0,)))
        told = _mechanisms(team, epsilon=0.01)
        noisy = success_chance(team, policies, steps=6, mechanisms=told)
        gaps.append(abs(noisy - success_chance(team, policies, steps=6)))
    assert max(gaps) > 1e-2


def _swapped(mechanism: OnlineMechanism, s: int, y: int, step: int) -> FloatArray:
    """Read the mechanism with the true and the last private state exchanged."""
    return _as_defined(mechanism, y, s, step)


def _forgetful(mechanism: OnlineMechanism, s: int, y: int, step: int) -> FloatArray:
    """Forget the last private state: as if it were always 0."""
    del y
    return _as_defined(mechanism, s, 0, step)


def _frank(mechanism: OnlineMechanism, s: int, y: int, step: int) -> FloatArray:
    """Tell the truth in every second step."""
    honest = np.eye(len(mechanism.feasible))[s]
    return honest if step % 2 else _as_defined(mechanism, s, y, step)


@pytest.mark.parametrize("fault", [_swapped, _forgetful, _frank])
def test_a_wrong_mechanism_would_be_seen(fault: Listener) -> None:
    gaps = []
    for seed in range(3):
        team, policies = _random(seed, ((), (0,)))
        told = _mechanisms(team, epsilon=2.0)
        wrong = _explicit(team, policies, 4, told, "drawn", fault)["target"]
        right = success_chance(team, policies, steps=4, mechanisms=told)
        gaps.append(abs(wrong - right))
    assert max(gaps) > 1e-4


def test_timing_ends_and_number_of_steps_matter() -> None:
    team, policies = _random(1, ((), (0,)))
    told = _mechanisms(team, epsilon=1.0)
    right = success_chance(team, policies, steps=4, mechanisms=told)
    early = success_chance(team, policies, steps=4, mechanisms=told, first="start")
    assert abs(early - right) > 1e-4
    immortal = replace(team, dead=np.zeros(team.shape, dtype=bool))
    assert success_chance(immortal, policies, steps=4, mechanisms=told) > right + 1e-4
    assert success_chance(team, policies, steps=5, mechanisms=told) > right + 1e-4


@pytest.mark.parametrize("first", ["drawn", "start"])
@pytest.mark.parametrize("private", [False, True])
def test_sampled_episodes_agree_with_the_exact_chances(
    first: str, private: bool
) -> None:
    samples = 40000
    for seed, depends in enumerate(DEPENDS):
        team, policies = _random(seed, depends)
        told = _mechanisms(team, epsilon=1.0) if private else None
        options = {"steps": 5, "mechanisms": told, "first": first}
        seen = rollouts(
            team,
            policies,
            samples=samples,
            rng=np.random.default_rng(seed),
            **options,  # type: ignore[arg-type]
        )
        assert not np.any(seen.success & seen.failure)
        assert np.all(seen.moves[~(seen.success | seen.failure)] == 5)
        for flags, kind in ((seen.success, team.target), (seen.failure, team.dead)):
            exact = chance(team, policies, kind.astype(float), **options)  # type: ignore[arg-type]
            share = share_interval(int(flags.sum()), samples, chance=1e-6)
            assert share.low <= exact <= share.high
        nothing = np.zeros(team.shape)
        mean = chance(team, policies, nothing, each=1.0, **options)  # type: ignore[arg-type]
        error = seen.moves.std() / np.sqrt(samples)
        assert abs(seen.moves.mean() - mean) < 5.0 * error + 1e-12


def test_navigation_agrees_with_its_rollouts() -> None:
    def towards(goal: int) -> FloatArray:
        """Prefer the actions whose likeliest end is nearer to the goal."""
        law = NAVIGATION.transitions[0]
        cell = np.arange(25)
        far = abs(cell // 5 - goal // 5) + abs(cell % 5 - goal % 5)
        return np.exp(-3.0 * (law @ far)) / np.exp(-3.0 * (law @ far)).sum(
            axis=1, keepdims=True
        )

    first, second = towards(23), towards(21)
    wait = np.zeros_like(second)
    wait[:, 4] = 1.0
    near = np.arange(25) % 5 < 3  # agent 0 is not through yet: agent 1 waits
    policies = (first, np.where(near[:, None, None], wait, second))
    told = _mechanisms(NAVIGATION, epsilon=1.0, k=3)
    for mechanisms in (None, told):
        options = {"steps": 200, "mechanisms": mechanisms}
        exact = success_chance(NAVIGATION, policies, **options)  # type: ignore[arg-type]
        seen = rollouts(
            NAVIGATION,
            policies,
            samples=20000,
            rng=np.random.default_rng(5),
            **options,  # type: ignore[arg-type]
        )
        share = share_interval(int(seen.success.sum()), 20000, chance=1e-6)
        assert 0.01 < exact < 0.99
        assert share.low <= exact <= share.high


def test_a_timing_that_does_not_exist_is_refused() -> None:
    team, policies = _random(1, ((), (0,)))
    with pytest.raises(ValueError, match="first"):
        success_chance(team, policies, steps=2, first="never")
    with pytest.raises(ValueError, match="first"):
        rollouts(
            team,
            policies,
            steps=2,
            samples=2,
            rng=np.random.default_rng(1),
            first="never",
        )


def test_many_small_steps_add_up() -> None:
    """A step succeeds with probability 0.01: far from settled when changes are small.

    Closed forms: 1 - 0.99^T, and (1 - 0.99^T) / 0.01 moves.
    """
    law = np.array([[[0.99, 0.01]], [[0.0, 1.0]]])
    team = MarkovGame(
        transitions=(law,),
        start=(0,),
        target=np.array([False, True]),
        dead=np.zeros(2, dtype=bool),
        depends=((),),
    )
    only = (np.ones((2, 1)),)
    for steps in (300, 4000):
        exact = 1.0 - 0.99**steps
        assert success_chance(team, only, steps=steps) == pytest.approx(
            exact, abs=5e-12
        )
        moves = chance(team, only, np.zeros(2), steps=steps, each=1.0)
        assert moves == pytest.approx(100.0 * exact, abs=5e-12)


def test_what_does_not_fit_the_team_is_refused() -> None:
    team, policies = _random(1, ((), (0,)))
    told = _mechanisms(team, epsilon=1.0)
    far = online_mechanism(np.ones((5, 1, 5)) / 5.0, epsilon=1.0, k=1)
    wrong: list[tuple[dict[str, object], str]] = [
        ({"policies": (2.0 * policies[0], policies[1])}, "sum to 1"),
        ({"policies": (np.nan * policies[0], policies[1])}, "sum to 1"),
        ({"policies": policies[:1]}, "arrays of shapes"),
        ({"policies": policies[::-1]}, "arrays of shapes"),
        ({"mechanisms": []}, "one for each agent"),
        ({"mechanisms": told[:1]}, "one for each agent"),
        ({"mechanisms": told * 2}, "one for each agent"),
        ({"mechanisms": [told[0], far]}, "one for each agent"),
        ({"steps": -1}, "'steps'"),
    ]
    right = {"policies": policies, "mechanisms": told, "steps": 2}
    rng = np.random.default_rng(1)
    for change, words in wrong:
        with pytest.raises(ValueError, match=words):
            success_chance(team, **right | change)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=words):
            rollouts(team, samples=2, rng=rng, **right | change)  # type: ignore[arg-type]
