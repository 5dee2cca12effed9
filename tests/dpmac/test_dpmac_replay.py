"""The replayed actor-critic: its memory, targets, influence and labels by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from dplib.dpmac import replay
from dplib.dpmac.agents import (
    ACTIONS,
    MESSAGE,
    Episode,
    Team,
    Weights,
    episode,
    fresh,
    hear,
)
from dplib.dpmac.replay import Learner, Moves
from dplib.dpmac.worlds import CCN, CN, MOVES, step
from dplib.rng import stream

pytestmark = pytest.mark.usefixtures("quick_compilation")

WORLD = replace(CCN, steps=4)
SILENT = Team(WORLD, "none", hidden=8)
PLAIN = Team(WORLD, "plain", hidden=8)
SEEN = WORLD.observation
SMALL = {"PLAYED": 2, "FIRST": 2, "KEPT": 6, "BATCH": 16, "UPDATES": 1}
LENGTH = WORLD.steps - 1


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name, value in SMALL.items():
        monkeypatch.setattr(replay, name, value)
    return monkeypatch


def _single(x: object) -> np.ndarray:
    return np.array(x, np.float32)


def _layer(n: int, w: np.ndarray, b: np.ndarray) -> list[tuple[Any, Any]]:
    """Return a network of one layer, the same for all agents."""
    return [(_single([w] * n), _single([b] * n))]


def _weights(team: Team, seed: int = 0) -> Weights:
    """Return networks of the right shapes with random weights, biases too."""
    rng = np.random.default_rng(seed)
    shapes = jax.eval_shape(partial(fresh, team), jax.random.key(0))
    return jax.tree.map(lambda x: _single(rng.normal(size=x.shape) / 3.0), shapes)


def _critic(seen: np.ndarray, actions: np.ndarray, constant: float = 0.0) -> list[Any]:
    """Return the critic that is linear in what is seen and done."""
    w = np.concatenate([seen.ravel(), actions.ravel()])[:, None]
    return [(_single(w), _single([constant]))]


def _parts(team: Team) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return what makes a learner and what iterates it."""
    got: list[Callable[..., Any]] = []

    def catch(team: Team, rng: object, begin: Any, iterate: Any, **counts: int) -> None:  # noqa: ARG001
        got.extend([begin, iterate])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay, "stacked", catch)
        replay.train(team, stream(1, "parts"), iterations=1, every=1)
    return got[0], got[1]


# --- the memory -------------------------------------------------------------------


def test_the_memory_is_filled_in_order_and_wraps_around(
    small: pytest.MonkeyPatch,
) -> None:
    """Six episodes fit: two at first, and then two by two, from the start again.

    They are played by the agents, not by the copies that follow, which are spoiled.
    """

    def note(*args: Any) -> Learner:
        _, _, learner, filled, _ = args
        return learner._replace(critic=filled)

    small.setattr(replay, "_update", note)
    begin, iterate = _parts(SILENT)
    learner = jax.jit(begin)(jax.random.key(3))
    slow = jax.tree.map(lambda x: jnp.full_like(x, jnp.nan), learner.slow)
    learner = learner._replace(critic=jnp.array(0), slow=slow)
    size = SMALL["KEPT"] * LENGTH
    assert {x.shape[0] for x in learner.memory} == {size}
    assert int(learner.played) == 1  # as many iterations as fill what is there
    before = np.asarray(learner.memory.seen)
    assert np.all(before[: 2 * LENGTH].any(axis=(1, 2)))
    assert not before[2 * LENGTH :].any()
    move = jax.jit(iterate)
    for k, filled in enumerate([4, 6, 6, 6, 6], start=1):
        learner = move(learner, jax.random.key(k))
        after = np.asarray(learner.memory.seen)
        changed = (after != before).any(axis=(1, 2)).reshape(-1, LENGTH)
        at = 2 * k % 6
        assert changed.all(axis=1).nonzero()[0].tolist() == [at, at + 1]
        assert changed.any(axis=1).nonzero()[0].tolist() == [at, at + 1]
        assert int(learner.critic) == filled * LENGTH
        _assert_aligned(jax.tree.map(lambda x: np.asarray(x), learner.memory), filled)
        assert all(np.all(np.isfinite(x)) for x in learner.memory)
        before = after


def _assert_aligned(memory: Moves, episodes: int) -> None:
    """Each episode's rows follow one another."""
    for e in range(episodes):
        rows = [x[e * LENGTH : (e + 1) * LENGTH] for x in memory]
        before, did, seen, actions, _, after = rows
        np.testing.assert_array_equal(after[:-1], seen[1:])
        np.testing.assert_array_equal(before[1:], seen[:-1])
        np.testing.assert_array_equal(did[1:], actions[:-1])
        assert not before[0].any()
        assert not did[0].any()


def test_the_memory_is_a_whole_number_of_iterations() -> None:
    assert replay.KEPT % replay.PLAYED == 0
    assert replay.FIRST % replay.PLAYED == 0


def test_moves_are_those_of_an_episode_played_again_by_hand() -> None:
    weights, key = _weights(PLAIN), jax.random.key(5)
    moves = jax.jit(partial(replay._play, PLAIN))(weights, key)
    state = jax.tree.map(
        lambda x: x[0], jax.jit(partial(episode, PLAIN))(weights, key).states
    )
    move = jax.jit(lambda s, a: step(WORLD, s, a @ jnp.array(MOVES)))
    assert len(moves.reward) == LENGTH
    before, did = np.zeros((2, SEEN)), np.zeros((2, ACTIONS))
    for t in range(LENGTH):
        seen, actions = np.asarray(WORLD.observe(state)), np.asarray(moves.actions[t])
        assert sorted(actions.ravel().round(5)) == [0.0] * 8 + [1.0] * 2
        np.testing.assert_allclose(moves.before[t], before, atol=1e-5)
        np.testing.assert_array_equal(moves.did[t], did)
        np.testing.assert_allclose(moves.seen[t], seen, atol=1e-5)
        state = move(state, actions)
        np.testing.assert_allclose(moves.reward[t], WORLD.reward(state), rtol=1e-5)
        np.testing.assert_allclose(moves.after[t], WORLD.observe(state), atol=1e-5)
        before, did = seen, actions
    assert np.abs(np.diff(moves.seen, axis=0)).max() > 1e-3


# --- the losses -------------------------------------------------------------------


@pytest.fixture(scope="module")
def listened(quick_compilation: None) -> tuple[Weights, Episode, np.ndarray]:  # noqa: ARG001
    """Return agents that surely do the largest of what they hear, and what they did."""
    weights = _weights(PLAIN)
    w = np.zeros((SEEN + MESSAGE, ACTIONS))
    w[-MESSAGE : -MESSAGE + ACTIONS] = 1e5 * np.eye(ACTIONS)
    weights["actor"] = _layer(2, w, np.zeros(ACTIONS))
    play = jax.jit(jax.vmap(lambda key: episode(PLAIN, weights, key, greedy=True)))
    played = play(jax.random.split(jax.random.key(1), 30))
    seen = jax.jit(jax.vmap(jax.vmap(WORLD.observe)))(played.states)
    return weights, jax.tree.map(np.asarray, played), np.asarray(seen)


def _batch(played: Episode, seen: np.ndarray, t: int) -> Moves:
    """Return move t of all episodes, from the second on and before the last."""
    did = played.actions
    rewards = played.rewards[:, t]
    return Moves(
        seen[:, t - 1], did[:, t - 1], seen[:, t], did[:, t], rewards, seen[:, t + 1]
    )


def test_the_target_is_the_reward_and_what_the_actors_do_next_on_new_messages(
    listened: tuple[Weights, Episode, np.ndarray],
) -> None:
    """Q is linear; the actors' next actions are those that were played, by messages."""
    weights, played, seen = listened
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 2, SEEN)), rng.normal(size=(2, 2, ACTIONS))
    mean, spread, t = -1.5, 0.7, 1
    batch = _batch(played, seen, t)
    keys = jax.random.split(jax.random.key(2), len(seen))
    loss, _ = replay._losses(PLAIN, (mean, spread))
    slow = _critic(a[1], b[1], 0.3)
    found = jax.jit(loss)(_critic(a[0], b[0]), (weights, slow), batch, keys)

    def value(k: int, t: int) -> np.ndarray:
        return np.sum(a[k] * seen[:, t], axis=(1, 2)) + np.sum(
            b[k] * played.actions[:, t], axis=(1, 2)
        )

    target = (batch.reward - mean) / spread + 0.95 * (value(1, t + 1) + 0.3)
    expected = np.mean((value(0, t) - target) ** 2)
    assert float(found) == pytest.approx(expected, rel=1e-3)
    # Actions are what the others' messages say, not the same for all.
    assert len(set(played.actions[:, t + 1].argmax(axis=-1).ravel())) >= 3


def test_agents_are_led_up_the_critic_on_new_messages_and_kept_from_certainty(
    listened: tuple[Weights, Episode, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, played, seen = listened
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, SEEN)), rng.normal(size=(2, ACTIONS))
    keys = jax.random.split(jax.random.key(2), len(seen))
    batch = _batch(played, seen, 2 - 1)
    _, loss = replay._losses(PLAIN, (0.0, 1.0))
    monkeypatch.setattr(replay, "FLAT", 0.0)
    found, gradient = jax.jit(jax.value_and_grad(loss))(
        weights, _critic(a, b), batch, keys
    )
    value = np.sum(a * seen[:, 1], axis=(1, 2)) + np.sum(
        b * played.actions[:, 1], axis=(1, 2)
    )
    assert float(found) == pytest.approx(-value.mean(), rel=1e-3)
    # Softer agents feel it in their actors, readers, attention and senders.
    w, c = weights["actor"][0]
    soft = weights | {"actor": [(1e-5 * w, c)]}
    gradient = jax.jit(jax.grad(loss))(soft, _critic(a, b), batch, keys)
    sizes = {k: max(float(np.abs(w).max()) for w, _ in g) for k, g in gradient.items()}
    assert min(sizes.values()) > 0.0
    monkeypatch.undo()
    # Logits 50 and 0, 0, 0, 0 have a mean square of 500, times 1/100; I2C's agents also
    # bear the loss of their prior networks, here 7.
    sure = {"actor": _layer(2, np.zeros((SEEN + MESSAGE, 5)), [50.0, 0, 0, 0, 0])}
    monkeypatch.setattr(replay, "_prior_loss", lambda *given: 7.0)  # noqa: ARG005
    for talk, more in (("none", 0.0), ("i2c", 7.0)):
        team = Team(WORLD, talk, hidden=8)
        _, loss = replay._losses(team, (0.0, 1.0))
        critic = _critic(0 * a, 0 * b, 2.0)
        flat = jax.jit(loss)(_weights(team) | sure, critic, batch, keys)
        assert float(flat) == pytest.approx(5.0 - 2.0 + more, rel=1e-5)


def _batch_of(seen: np.ndarray, actions: np.ndarray) -> Moves:
    """Return one move, of which only these two are looked at."""
    x, did = _single(seen), _single(actions)
    return Moves(x, did, x, did, _single(0.0), x)


def _coupled(n: int, seen: int, strengths: dict[tuple[int, int], float]) -> list[Any]:
    """Return a critic that adds a strength if i does 0 and j does 1."""
    w = np.zeros((n * (seen + ACTIONS), len(strengths)))
    for unit, (i, j) in enumerate(strengths):
        w[[n * seen + ACTIONS * i, n * seen + ACTIONS * j + 1], unit] = 1.0
    bias = -np.ones(len(strengths))
    out = np.array(list(strengths.values()))[:, None]
    return [(_single(w), _single(bias)), (_single(out), _single([0.0]))]


def test_influence_is_the_divergence_of_what_q_favours_by_hand() -> None:
    find = jax.jit(replay._influence, static_argnums=(2, 3))
    rng = np.random.default_rng(0)
    move = _batch_of(rng.normal(size=(2, SEEN)), np.eye(ACTIONS)[[0, 3]])
    # A sum of what each does: neither matters to the other.
    linear = _critic(rng.normal(size=(2, SEEN)), rng.normal(size=(2, ACTIONS)))
    assert abs(float(find(linear, move, 0, 1))) < 1e-6
    # Q is ln 2 if 0 does 0 and 1 does 1: of all 25 pairs, that one weighs 2.
    critic = _coupled(2, SEEN, {(0, 1): math.log(2.0)})
    plain = np.array([6.0, 5.0, 5.0, 5.0, 5.0]) / 26.0
    given = np.array([2.0, 1.0, 1.0, 1.0, 1.0]) / 6.0
    expected = np.sum(given * np.log(given / plain))
    assert float(find(critic, move, 1, 0)) == pytest.approx(expected, abs=1e-6)
    given = np.full(5, 0.2)  # agent 1 does 3, and then Q has no wish
    expected = np.sum(given * np.log(given / plain))
    assert float(find(critic, move, 0, 1)) == pytest.approx(expected, abs=1e-6)
    # Q wants both to do the same: knowing the other's action is worth ln 5, also where
    # the exponential of Q is not a float.
    w = np.zeros((2 * (SEEN + ACTIONS), ACTIONS))
    w[-2 * ACTIONS :] = np.concatenate([np.eye(ACTIONS)] * 2)
    for strength, i, j in ((60.0, 0, 1), (60.0, 1, 0), (1000.0, 0, 1)):
        last = _single([[strength]] * 5), _single([0.0])
        both = [(_single(w), _single([-1.0] * 5)), last]
        assert float(find(both, move, i, j)) == pytest.approx(math.log(5.0), rel=1e-5)


def test_prior_networks_learn_to_ask_those_above_the_median() -> None:
    """Agent 0 does 0, which matters to the others; they matter to it if they do 1.

    They do so in the second move alone, and are nothing to each other. By the median of
    both moves, agent 0 asks nobody in the first, and both others in the second.
    The networks that learn are those by which agents ask when they play.
    """
    team = Team(replace(CN, steps=2), "i2c", hidden=8)
    rng, seen = np.random.default_rng(0), CN.observation
    move = _batch_of(rng.normal(size=(3, seen)), np.eye(ACTIONS)[[0, 3, 3]])
    second = move._replace(actions=_single(np.eye(ACTIONS)[[0, 1, 1]]))
    batch = jax.tree.map(lambda *x: np.stack(x), move, second)
    strengths = {(0, 1): math.log(2.0), (0, 2): math.log(3.0)}
    weights = _weights(team, seed=8)
    logits = np.array(
        [
            np.maximum(move.seen[i] @ w1[i] + b1[i], 0.0) @ w2[i] + b2[i]
            for (w1, b1), (w2, b2) in [weights["prior"]]
            for i in range(3)
        ]
    )
    loss = jax.jit(jax.value_and_grad(partial(replay._prior_loss, team)))
    found, gradient = loss(weights, _coupled(3, seen, strengths), batch)
    label = np.array([[[0, 0], [1, 0], [1, 0]], [[1, 1], [1, 0], [1, 0]]])
    expected = np.mean(np.log1p(np.exp(logits)) - label * logits)
    assert float(found) == pytest.approx(expected, rel=1e-5)
    slope = (1.0 / (1.0 + np.exp(-logits)) - label.mean(axis=0)) / 6.0
    np.testing.assert_allclose(gradient["prior"][1][1], slope, atol=1e-6)
    assert not any(np.any(w) for w in jax.tree.leaves(gradient["sender"]))
    # Agent j sends 1 in place j, so that hearing from it is asking it.
    ears = jax.jit(partial(hear, team))
    sent = np.eye(3, MESSAGE, dtype=np.float32)
    heard = np.asarray(ears(weights, move.seen, sent, jax.random.key(0)))[:, :3]
    asked = heard[~np.eye(3, dtype=bool)].reshape(3, 2) > 0.0
    np.testing.assert_array_equal(asked, logits > 0.0)
    assert asked.tolist() == [[True, True], [False, True], [True, False]]


# --- an update, and a run ---------------------------------------------------------


def _wishing() -> list[Any]:
    """Return a critic of the usual size: 64, and 1 for every agent that does 0."""
    n, width = WORLD.agents, replay.CRITIC
    layers = [np.zeros((n * (SEEN + ACTIONS), width)), np.zeros((width, width))]
    layers.append(np.zeros((width, 1)))
    for i in range(n):
        layers[0][n * SEEN + ACTIONS * i, i] = layers[1][i, i] = layers[2][i, 0] = 1.0
    biases = [np.zeros(width), np.zeros(width), [64.0]]
    return [(_single(w), _single(b)) for w, b in zip(layers, biases, strict=True)]


def test_an_update_draws_from_what_is_filled_and_copies_follow_by_a_hundredth(
    small: pytest.MonkeyPatch,
) -> None:
    begin, _ = _parts(SILENT)
    learner = jax.jit(begin)(jax.random.key(3))
    rows = np.arange(SMALL["KEPT"] * LENGTH)
    half = SMALL["FIRST"] * LENGTH

    def spoiled(bad: np.ndarray) -> Learner:
        memory = jax.tree.map(
            lambda x: np.where(
                bad.reshape(-1, *[1] * (x.ndim - 1)), np.float32(np.nan), x
            ),
            learner.memory,
        )
        return learner._replace(memory=memory)

    adam = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(replay.RATE))
    small.setattr(replay, "BATCH", 200)
    update = jax.jit(partial(replay._update, SILENT, adam))
    after = update(spoiled(rows >= half), half, jax.random.key(0))
    new, old = (jax.tree.leaves((x.weights, x.critic)) for x in (after, learner))
    for now, was, slow in zip(new, old, jax.tree.leaves(after.slow), strict=True):
        assert np.all(np.isfinite(now))
        moved = np.abs(np.asarray(now) - np.asarray(was))
        assert 0.9 * replay.RATE < moved.max() < 1.01 * replay.RATE
        expected = 0.99 * np.asarray(was) + 0.01 * np.asarray(now)
        np.testing.assert_allclose(slow, expected, atol=1e-7)
    # Q far above its target falls; agents do more of what it wishes, less of the rest.
    wishing = learner._replace(critic=_wishing())
    led = update(wishing, half, jax.random.key(0))
    rate = replay.RATE
    assert float(led.critic[-1][1][0]) - 64.0 == pytest.approx(-rate, rel=0.02)
    moved = np.asarray(led.weights["actor"][-1][1] - learner.weights["actor"][-1][1])
    np.testing.assert_allclose(moved, [[rate] + [-rate] * 4] * 2, rtol=0.02)
    for row in (0, half - 1):
        lost = update(spoiled(rows == row), half, jax.random.key(0))
        assert np.all(np.isnan(lost.critic[-1][1]))
    # Rewards in another unit, from another zero: the same step.
    reward = 8.0 * np.asarray(learner.memory.reward) + 64.0
    memory = learner.memory._replace(reward=reward)
    other = update(learner._replace(memory=memory), half, jax.random.key(0))
    both = (jax.tree.leaves(x.critic) for x in (other, after))
    for x, y in zip(*both, strict=True):
        assert np.mean(np.abs(np.asarray(x) - np.asarray(y))) < 0.02 * replay.RATE


@pytest.mark.slow
def test_a_short_run_is_finite_and_counts_its_moves(small: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    team = Team(replace(CCN, steps=3), "i2c", sigma=0.66, hidden=8)
    curve = replay.train(
        team, stream(1, "run"), iterations=2, every=1, seeds=2, episodes=8
    )
    assert curve.moves.tolist() == [0, 6, 12]  # 2 episodes of 3 moves
    assert curve.returns.shape == (3, 2)
    assert np.all(np.isfinite(curve.returns))
    assert all(np.all(np.isfinite(w)) for w in jax.tree.leaves(curve.weights))
    assert np.abs(np.diff(curve.returns, axis=1)).min() > 1e-3
