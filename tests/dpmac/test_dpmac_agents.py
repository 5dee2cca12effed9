"""Agents that talk: their noise, who hears whom and when, and what flows back."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dplib.dpmac import agents, paper
from dplib.dpmac.agents import (
    ACTIONS,
    MESSAGE,
    SIGNATURE,
    Episode,
    Team,
    Weights,
    choose,
    episode,
    fresh,
    hear,
    speak,
)
from dplib.dpmac.worlds import CCN, CN, MOVES, step
from dplib.privacy.gaussian import gaussian_delta, gaussian_epsilon

pytestmark = pytest.mark.usefixtures("quick_compilation")

TWO, THREE = replace(CCN, steps=4), replace(CN, steps=2)
C, DRAWS = 0.5, 20_000
SIGMA = paper.noise_sigma(paper.TASKS["CCN"], epsilon=1.0)
PRIVATE = partial(Team, sigma=SIGMA, bound=C, hidden=8)
SILENT = partial(Team, sigma=0.0, bound=C, hidden=8)  # scaled, with noise of size 0
FREE = partial(Team, bound=C, hidden=8)


@partial(jax.jit, static_argnums=0)
def _said(team: Team, weights: Weights, keys: jax.Array) -> jax.Array:
    """Return messages (draws, n, message) on one fixed observation and move."""
    seen, actions = _situation(team)
    return jax.vmap(lambda key: speak(team, weights, seen, actions, key))(keys)


@partial(jax.jit, static_argnums=0)
def _heard(team: Team, weights: Weights, sent: jax.Array, keys: jax.Array) -> jax.Array:
    seen, _ = _situation(team)
    return jax.vmap(lambda key: hear(team, weights, seen, sent, key))(keys)


@partial(jax.jit, static_argnums=0)
def _played(team: Team, weights: Weights, keys: jax.Array) -> Episode:
    return jax.vmap(lambda key: episode(team, weights, key, greedy=True))(keys)


@partial(jax.jit, static_argnums=0)
def _flow(team: Team, weights: Weights, keys: jax.Array, when: jax.Array) -> Weights:
    """Return the gradient of what agent 0 alone costs in the states of some steps."""

    def cost(weights: Weights, key: jax.Array) -> jax.Array:
        states = episode(team, weights, key).states
        goal = jnp.take_along_axis(states.landmarks, states.goals[:, :1, None], axis=1)[
            :, 0
        ]
        return when @ jnp.sum((states.position[:, 0] - goal) ** 2, axis=1)

    grads = jax.vmap(jax.grad(cost), (None, 0))(weights, keys)
    return jax.tree.map(lambda x: jnp.abs(x), grads)


def _situation(team: Team) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    n = team.world.agents
    seen = rng.normal(size=(n, team.world.observation)).astype(np.float32)
    return seen, np.eye(ACTIONS, dtype=np.float32)[:n]


def _weights(team: Team, seed: int = 0) -> Weights:
    """Return networks of the right shapes with random weights, biases too."""
    rng = np.random.default_rng(seed)
    shapes = jax.eval_shape(partial(fresh, team), jax.random.key(0))
    return jax.tree.map(lambda x: _single(rng.normal(size=x.shape) / 3.0), shapes)


def _single(x: object) -> np.ndarray:
    return np.array(x, np.float32)


def _layer(n: int, w: np.ndarray, b: np.ndarray) -> list[tuple[object, object]]:
    """Return a network of one layer, the same for all agents."""
    return [(_single([w] * n), _single([b] * n))]


def _listener(team: Team, bias: np.ndarray | None = None) -> list[object]:
    """Return an actor that takes the coordinates of what it hears for its logits."""
    w = np.zeros((team.world.observation + MESSAGE, ACTIONS))
    w[-MESSAGE : -MESSAGE + ACTIONS] = np.eye(ACTIONS)
    if bias is not None:  # it compares the first coordinate with a constant
        w[:] = 0.0
        w[-MESSAGE, 1] = 1.0
    return _layer(team.world.agents, w, np.zeros(ACTIONS) if bias is None else bias)


def _asking(weights: Weights, asks: list[list[float]]) -> Weights:
    """Let I2C's agents ask, or not, whatever they see."""
    first, (w, _) = weights["prior"]
    return weights | {"prior": [first, (0.0 * w, _single(asks))]}


def _last(network: list[tuple[object, object]], factor: float) -> list[object]:
    *rest, (w, b) = network
    return [*rest, (factor * w, factor * b)]


def _keys(count: int, seed: int = 0) -> jax.Array:
    bits = np.random.default_rng(seed).integers(2**32, size=(count, 2))
    return jax.random.wrap_key_data(bits.astype(np.uint32))


def _assert_white(noise: object, sigma: float) -> None:
    """Every number in a row has variance sigma^2, and no two are correlated."""
    rows = np.asarray(noise, dtype=float).reshape(len(noise), -1)
    off = sigma**2 * math.sqrt(2.0 / len(rows))
    covariance = rows.T @ rows / len(rows)
    assert np.abs(rows.mean(axis=0)).max() < 6.0 * sigma / math.sqrt(len(rows))
    assert np.abs(covariance - sigma**2 * np.eye(len(covariance))).max() < 6.0 * off


@pytest.mark.parametrize(
    ("name", "bad", "error"),
    [
        ("talk", "tarmak", ValueError),
        ("talk", "DPMAC", ValueError),
        ("sigma", math.nan, ValueError),
        ("sigma", -1.0, ValueError),
        ("sigma", "1", TypeError),
        ("bound", 0.0, ValueError),
        ("hidden", 0, ValueError),
        ("hidden", 8.0, TypeError),
        ("world", replace(CN, agents=1), ValueError),
    ],
)
def test_a_team_is_checked(name: str, bad: object, error: type[Exception]) -> None:
    with pytest.raises(error, match=f"'{name}.*' parameter of Team"):
        Team(**{"world": CN, name: bad})


# --- the privacy of a message -----------------------------------------------------


@pytest.mark.parametrize("talk", ["dpmac", "plain"])
def test_senders_scale_their_messages_and_add_noise_of_their_own(talk: str) -> None:
    weights = _weights(PRIVATE(THREE, talk))
    clean = _said(SILENT(THREE, talk), weights, _keys(DRAWS))
    np.testing.assert_allclose(np.linalg.norm(clean, axis=-1), C, rtol=1e-5)
    if talk == "plain":  # also the quiet ones
        quiet = weights | {"sender": _last(weights["sender"], 0.01)}
        np.testing.assert_allclose(
            _said(SILENT(THREE, talk), quiet, _keys(DRAWS)), clean, rtol=1e-4
        )
    noise = _said(PRIVATE(THREE, talk), weights, _keys(DRAWS)) - clean
    assert noise.shape == (DRAWS, 3, MESSAGE)
    _assert_white(noise, SIGMA)
    # It is not DPMAC's own draw a second time.
    both = [np.asarray(x, float).reshape(DRAWS, -1) for x in (clean, noise)]
    shared = both[0].T @ both[1] / DRAWS
    assert np.abs(shared).max() < 6.0 * C * SIGMA / math.sqrt(DRAWS)
    # What they hear is not made noisy a second time.
    sent = clean[0]
    ears = [
        _heard(team(THREE, "plain"), weights, sent, _keys(2))
        for team in (PRIVATE, FREE)
    ]
    np.testing.assert_allclose(ears[0][0], ears[0][1])
    np.testing.assert_allclose(ears[0], ears[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("talk", ["tarmac", "i2c"])
def test_receivers_scale_what_they_hear_and_add_noise_of_their_own(talk: str) -> None:
    team = PRIVATE(THREE, talk)
    weights = _weights(team)
    if talk == "i2c":
        weights = _asking(weights, [[1.0, 1.0]] * 3)
    # Here the senders are exact, and not scaled.
    sent = _said(team, weights, _keys(2))
    np.testing.assert_allclose(sent[0], sent[1])
    louder = weights | {"sender": _last(weights["sender"], 3.0)}
    np.testing.assert_allclose(
        _said(team, louder, _keys(2)), 3.0 * sent, rtol=1e-4, atol=1e-5
    )
    clean = _heard(SILENT(THREE, talk), weights, sent[0], _keys(DRAWS))
    np.testing.assert_allclose(np.linalg.norm(clean, axis=-1), C, rtol=1e-5)
    noise = _heard(team, weights, sent[0], _keys(DRAWS)) - clean
    _assert_white(noise, SIGMA)


def test_half_the_noise_and_shared_noise_are_seen() -> None:
    noise = np.random.default_rng(0).normal(size=(DRAWS, 3, MESSAGE))
    _assert_white(noise, 1.0)
    for wrong in (0.5 * noise, noise[:, [0, 0, 2]], noise[..., [0] * MESSAGE]):
        with pytest.raises(AssertionError):
            _assert_white(wrong, 1.0)


@pytest.mark.parametrize("talk", ["dpmac", "plain", "tarmac", "i2c"])
def test_without_privacy_messages_have_any_norm(talk: str) -> None:
    team = FREE(THREE, talk)
    weights = _weights(team)
    if talk == "i2c":
        weights = _asking(weights, [[1.0, 1.0]] * 3)
    sent = _said(team, weights, _keys(2))[0]
    if talk in ("dpmac", "plain"):
        norms = np.linalg.norm(sent, axis=-1)
    else:
        norms = np.linalg.norm(_heard(team, weights, sent, _keys(2))[0], axis=-1)
    assert np.ptp(norms) > 0.1
    assert np.abs(norms - C).min() > 1e-3


def test_the_spread_of_a_dpmac_message_is_between_1_over_e_and_e() -> None:
    """Its head is tanh: huge biases give the two ends."""
    team = FREE(THREE, "dpmac")
    weights = _weights(team)
    *first, (w, _) = weights["sender"]
    head = np.repeat([0.3, 100.0, -100.0], [MESSAGE, MESSAGE // 2, MESSAGE // 2])
    bias = _single([head] * 3)
    sent = _said(team, weights | {"sender": [*first, (0.0 * w, bias)]}, _keys(DRAWS))
    spread = np.repeat([math.e, 1.0 / math.e], MESSAGE // 2)
    _assert_white((np.asarray(sent, float) - 0.3) / spread, 1.0)


def test_opposite_messages_are_the_sensitivity_apart_and_give_away_its_epsilon() -> (
    None
):
    """At noise that is claimed to give epsilon = 1, one message has 6.29."""
    team, exact = PRIVATE(THREE, "plain"), SILENT(THREE, "plain")
    weights = _weights(team)
    opposite = weights | {"sender": _last(weights["sender"], -1.0)}
    some = [_said(exact, _weights(team, s), _keys(2))[0] for s in range(20)]
    m = _said(exact, weights, _keys(2))[0]
    apart = np.linalg.norm(m - _said(exact, opposite, _keys(2))[0], axis=-1)
    np.testing.assert_allclose(apart, 2.0 * C, rtol=1e-5)
    assert max(np.linalg.norm(m - x, axis=-1).max() for x in some) <= 2.0 * C + 1e-6
    epsilon = gaussian_epsilon(sensitivity=2.0 * C, sigma=SIGMA, delta=paper.DELTA)
    assert round(epsilon, 2) == 6.29
    # The privacy loss of sent messages against the opposite ones, at epsilon = 1.
    sent = np.asarray(_said(team, weights, _keys(DRAWS)), float)
    loss = 2.0 * np.einsum("knd,nd->kn", sent, m) / SIGMA**2
    over = np.maximum(0.0, 1.0 - np.exp(1.0 - loss)).ravel()
    error = over.std() / math.sqrt(over.size)
    delta = gaussian_delta(sensitivity=2.0 * C, sigma=SIGMA, epsilon=1.0)
    assert abs(over.mean() - delta) < 6.0 * error
    for factor in (0.5, 1.1):
        wrong = gaussian_delta(sensitivity=2.0 * C, sigma=factor * SIGMA, epsilon=1.0)
        assert abs(wrong - delta) > 12.0 * error


def test_a_receiver_hears_opposite_messages_the_sensitivity_apart() -> None:
    team = SILENT(THREE, "tarmac")
    weights = _weights(team)
    sent = _said(team, weights, _keys(2))[0]
    turned = np.where(np.arange(SIGNATURE + MESSAGE) < SIGNATURE, sent, -sent)
    one, other = (
        np.asarray(_heard(team, weights, x, _keys(2)))[0] for x in (sent, turned)
    )
    np.testing.assert_allclose(np.linalg.norm(one - other, axis=-1), 2 * C, rtol=1e-5)


def test_noise_of_senders_is_fresh_in_every_step_of_an_episode() -> None:
    """What is left of messages, less those of norm C on what was seen and done."""
    team = PRIVATE(TWO, "plain")
    weights = _weights(team) | {"actor": _listener(team)}
    played = _played(team, weights, _keys(DRAWS))

    @jax.jit
    @partial(jnp.vectorize, signature="(n,o),(n,a)->(n,m)")
    def exact(seen: jax.Array, actions: jax.Array) -> jax.Array:
        return speak(SILENT(TWO, "plain"), weights, seen, actions, jax.random.key(0))

    seen = jax.jit(jax.vmap(jax.vmap(TWO.observe)))(played.states)
    clean = np.asarray(exact(seen, played.actions))
    np.testing.assert_allclose(np.linalg.norm(clean, axis=-1), C, rtol=1e-5)
    _assert_white(played.messages - clean, SIGMA)


@pytest.mark.parametrize("talk", ["tarmac", "i2c"])
def test_noise_of_receivers_is_fresh_in_every_step_of_an_episode(talk: str) -> None:
    """Nothing is sent; an agent goes right if the noise is above its deviation."""
    team = PRIVATE(TWO, talk)
    weights = _weights(team)
    weights["sender"] = _last(weights["sender"], 0.0)
    weights["actor"] = _listener(team, np.array([SIGMA, 0.0, -9.0, -9.0, -9.0]))
    went = np.asarray(_played(team, weights, _keys(DRAWS)).actions[..., 1], float)
    chance = 0.5 * math.erfc(math.sqrt(0.5))
    deviation = math.sqrt(chance * (1.0 - chance))
    rows = went.reshape(DRAWS, -1) - chance
    assert np.abs(rows.mean(axis=0)).max() < 6.0 * deviation / math.sqrt(DRAWS)
    covariance = rows.T @ rows / DRAWS
    np.fill_diagonal(covariance, 0.0)
    assert np.abs(covariance).max() < 6.0 * deviation**2 / math.sqrt(DRAWS)


# --- who hears what, and when -----------------------------------------------------


@pytest.mark.parametrize(
    ("team", "answer"),
    [
        (PRIVATE(TWO, "plain"), 2),  # what 0 has done
        (PRIVATE(TWO, "tarmac"), 3),  # where 0 is then
        (PRIVATE(TWO, "i2c"), 3),
    ],
    ids=["plain", "tarmac", "i2c"],
)
def test_a_message_is_heard_one_step_later_and_not_before(
    team: Team, answer: int
) -> None:
    """Agent 1 is changed; agent 0 acts on it in step 1, agent 1 hears of that later."""
    weights = _weights(team) | {"actor": _listener(team)}
    if team.talk == "i2c":
        weights = _asking(weights, [[1.0]] * 2)
    first, *rest = weights["sender"]
    weights["sender"] = [(10.0 * first[0], first[1]), *rest]  # more to be heard
    other = _weights(team, seed=1)["sender"]
    mixed = jax.tree.map(lambda x, y: np.stack([x[0], y[1]]), weights["sender"], other)
    was, now = (
        np.asarray(_played(team, w, _keys(DRAWS)).actions)
        for w in (weights, weights | {"sender": mixed})
    )
    differs = (was.argmax(-1) != now.argmax(-1)).mean(axis=0)  # (step, agent)
    assert differs[0, 0] == 0.0
    assert differs[1, 0] > 0.1
    assert np.all(differs[:answer, 1] == 0.0)
    assert differs[answer, 1] > 0.001


def test_silent_teams_send_and_hear_zeros() -> None:
    team = PRIVATE(THREE, "none")
    assert set(_weights(team)) == {"actor"}
    sent = _said(team, _weights(team), _keys(2))
    np.testing.assert_array_equal(sent, np.zeros((2, 3, MESSAGE)))
    np.testing.assert_array_equal(_heard(team, _weights(team), sent[0], _keys(2)), sent)


@pytest.mark.parametrize("talk", ["plain", "tarmac", "i2c"])
def test_agents_hear_the_others_and_not_themselves(talk: str) -> None:
    team = FREE(THREE, talk)
    weights = _weights(team)
    if talk == "i2c":
        weights = _asking(weights, [[1.0, 1.0]] * 3)
    sent = np.asarray(_said(team, weights, _keys(2)))[0]
    before = _heard(team, weights, sent, _keys(2))[0]
    for j in range(3):
        turned = sent + np.eye(3, dtype=np.float32)[j, :, None]
        after = np.asarray(_heard(team, weights, turned, _keys(2)))[0]
        changes = np.abs(after - before).max(axis=1)
        assert changes[j] == 0.0
        assert np.delete(changes, j).min() > 1e-3


def test_names_of_the_senders_do_not_matter() -> None:
    """To TarMAC; DPMAC's reader has a place for everyone, which must move too."""
    renamed = [0, 2, 1]
    for talk in ("tarmac", "plain"):
        team = FREE(THREE, talk)
        weights = _weights(team)
        sent = np.asarray(_said(team, weights, _keys(2)))[0]
        before = _heard(team, weights, sent, _keys(2))[0, 0]
        if talk == "plain":
            ((w, b),) = weights["reader"]
            weights["reader"] = [(np.roll(w, w.shape[1] // 2, axis=1), b)]
        after = _heard(team, weights, sent[renamed], _keys(2))[0, 0]
        np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)
        assert np.abs(before).max() > 0.1


def test_tarmac_weighs_values_by_how_signatures_answer_the_query() -> None:
    """Weights 3/4 and 1/4, by hand; the query is made from one's own observation."""
    team = FREE(THREE, "tarmac")
    seen = _situation(team)[0][:, 0]
    query = np.zeros((team.world.observation, SIGNATURE))
    query[0, 0] = math.sqrt(SIGNATURE) * math.log(3.0) / seen[0]
    weights = _weights(team)
    weights["query"] = _layer(3, query, np.zeros(SIGNATURE))
    sent = np.zeros((3, SIGNATURE + MESSAGE))
    sent[1, 0], sent[1, SIGNATURE], sent[2, SIGNATURE] = 1.0, 8.0, 4.0
    heard = _heard(team, weights, _single(sent), _keys(2))[0]
    assert float(heard[0, 0]) == pytest.approx(7.0, rel=1e-5)
    # Agent 1 hears 0 and 2, whose signatures answer alike; agent 2 hears 0 and 1.
    last = 8.0 / (1.0 + 3.0 ** -(seen[2] / seen[0]))
    assert heard[1:, 0].tolist() == pytest.approx([2.0, last], rel=1e-5)


def test_dpmac_attends_to_messages_and_reads_from_them() -> None:
    """Keys are the first coordinate, so that 1 counts three times as much as 2."""
    team = FREE(THREE, "plain")
    w, b = np.zeros((MESSAGE, 96)), np.zeros(96)
    b[0] = math.sqrt(32.0)  # queries
    w[0, 32] = 1.0  # keys
    w[:, 64 : 64 + MESSAGE] = np.eye(MESSAGE)  # values
    read = np.zeros((64, MESSAGE))
    read[:MESSAGE] = np.eye(MESSAGE)  # what the first of the others attends to
    weights = _weights(team) | {
        "attention": _layer(3, w, b),
        "reader": _layer(3, read, np.zeros(MESSAGE)),
    }
    sent = np.zeros((3, MESSAGE))
    sent[1, 0], sent[1, 1], sent[2, 1] = math.log(3.0), 8.0, 4.0
    heard = _heard(team, weights, _single(sent), _keys(2))[0]
    assert heard[:, 1].tolist() == pytest.approx([7.0, 2.0, 6.0], rel=1e-5)


def test_i2c_hears_only_whom_it_asks() -> None:
    team = FREE(THREE, "i2c")
    # Agent 0 asks 1 alone, agent 1 asks 0 and 2, agent 2 asks nobody.
    weights = _asking(_weights(team), [[1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]])
    sent = _said(team, weights, _keys(2))[0]
    heard = _heard(team, weights, sent, _keys(2))[0]
    sent = np.asarray(sent)
    expected = [sent[1], (sent[0] + sent[2]) / 2.0, np.zeros(MESSAGE)]
    np.testing.assert_allclose(heard, expected, rtol=1e-5)
    # Nobody asked gives noise alone, and no division by zero.
    private = _heard(PRIVATE(THREE, "i2c"), weights, sent, _keys(DRAWS))
    _assert_white(private[:, 2], SIGMA)


# --- acting, and what flows back --------------------------------------------------


def test_untrained_agents_choose_evenly_and_have_no_biases() -> None:
    team = Team(THREE, "none", hidden=64)
    weights = jax.jit(partial(fresh, team))(jax.random.key(0))
    weights = jax.tree.map(np.asarray, weights)
    assert all(np.all(b == 0.0) for _, b in weights["actor"])
    spread = [float(w.std() * math.sqrt(w.shape[1] / 2.0)) for w, _ in weights["actor"]]
    assert spread == pytest.approx([1.0, 1.0, 0.01], rel=0.1)
    w = weights["actor"][0][0]
    assert np.abs(w[0] - w[1]).max() > 0.1  # no two agents alike


def test_actions_are_drawn_from_the_softmax_of_the_logits_and_so_is_the_gradient() -> (
    None
):
    chances = np.array([[0.05, 0.1, 0.15, 0.2, 0.5], [0.2] * 5])
    logits = _single(np.log(chances))

    @jax.jit
    @partial(jax.vmap, in_axes=(None, 0))
    def draw(logits: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        drawn = partial(choose, key=key, greedy=False)
        return drawn(logits), jax.jacobian(lambda x: drawn(x)[0])(logits)[:, 0]

    drawn, slopes = (np.asarray(x, float) for x in draw(logits, _keys(DRAWS)))
    np.testing.assert_allclose(drawn.max(axis=-1), 1.0, atol=1e-6)
    np.testing.assert_allclose(drawn.sum(axis=-1), 1.0, atol=1e-6)
    error = np.sqrt(chances * (1.0 - chances) / DRAWS)
    assert np.all(np.abs(drawn.mean(axis=0) - chances) < 6.0 * error)
    assert choose(logits, jax.random.key(0), True).argmax(axis=1).tolist() == [4, 0]
    # More of a logit is more of its action, at the cost of all others.
    assert np.all(np.einsum("kii->ki", slopes) > 0.0)
    assert np.all(slopes[:, ~np.eye(ACTIONS, dtype=bool)] < 0.0)
    np.testing.assert_allclose(slopes.sum(axis=1), 0.0, atol=1e-6)


def test_an_episode_moves_and_pays_as_its_world_does() -> None:
    team = PRIVATE(TWO, "tarmac")
    weights = _weights(team) | {"actor": _listener(team)}
    played = _played(team, weights, _keys(DRAWS))
    played = jax.tree.map(lambda x: np.asarray(x)[:20], played)
    moved = jax.jit(jax.vmap(lambda s, a: step(TWO, s, a @ jnp.array(MOVES))))
    for t in range(TWO.steps):
        state = jax.tree.map(lambda x, t=t: x[:, t], played.states)
        after = moved(state, played.actions[:, t])
        goal = np.take_along_axis(state.landmarks, state.goals[..., None], axis=1)
        paid = -np.sum((after.position - goal) ** 2, axis=(1, 2))
        np.testing.assert_allclose(played.rewards[:, t], paid, rtol=1e-5)
        if t + 1 < TWO.steps:
            np.testing.assert_allclose(
                played.states.position[:, t + 1], after.position, atol=1e-5
            )
    assert np.all(played.states.velocity[:, 0] == 0.0)
    assert np.ptp(played.states.position[:, 0, 0, 0]) > 0.1


def test_what_one_agent_costs_flows_back_to_the_other_through_messages_only() -> None:
    """Sent in step 0, heard in step 1, seen in the position before step 2."""
    weights = _weights(FREE(TWO, "plain"))
    steps = np.eye(TWO.steps, dtype=np.float32)
    silent = _flow(FREE(TWO, "none"), weights, _keys(8), steps.sum(axis=0))
    assert all(float(np.asarray(w)[:, 1].sum()) == 0.0 for w in jax.tree.leaves(silent))
    assert np.asarray(silent["actor"][0][0])[:, 0].max() > 0.0
    for t, when in enumerate(steps):
        found = _flow(FREE(TWO, "plain"), weights, _keys(8), when)
        total = {
            name: [float(np.asarray(w)[:, 1].sum()) for w, _ in found[name]]
            for name in found
        }
        assert (min(total["sender"]) > 0.0) == (t >= 2)
        assert (max(total["sender"]) > 0.0) == (t >= 2)
        assert (min(total["actor"]) > 0.0) == (t >= 2)  # the sender tells what it did
    assert agents.others(3) == [[1, 2], [0, 2], [0, 1]]
