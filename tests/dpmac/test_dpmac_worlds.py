"""The particle worlds: fixed transitions, and the reference simulator step by step."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mpe2 import simple_reference_v3, simple_spread_v3

from dplib.dpmac.worlds import CCN, CN, MOVES, PP, State, World, step

EPISODES = 200
TO_MPE2 = np.array([0, 2, 1, 4, 3])  # there left comes before right, down before up
_step = jax.jit(step, static_argnums=0, static_argnames="order")


def _state(world: World, position: object, velocity: object, places: object) -> State:
    return State(
        jnp.array(position),
        jnp.array(velocity),
        jnp.array(places).reshape(-1, 2),
        jnp.zeros(world.agents, int),
    )


@partial(jax.jit, static_argnums=(0, 3))
def _played(
    world: World, starts: State, actions: jax.Array, order: str = "new"
) -> tuple[State, jax.Array, jax.Array]:
    """Return states, rewards and observations, (episode, step, ...)."""

    def move(state: State, action: jax.Array) -> tuple[State, object]:
        state = step(world, state, jnp.array(MOVES)[action], order=order)
        return state, (state, world.reward(state), world.observe(state))

    return jax.vmap(lambda start, moves: jax.lax.scan(move, start, moves)[1])(
        starts, actions
    )


@partial(jax.jit, static_argnums=0)
def _starts(world: World, keys: jax.Array) -> State:
    return jax.vmap(world.start)(keys)


def _begun(world: World, seed: int = 1) -> tuple[State, np.ndarray]:
    """Return starts in motion, closer together than the world's, and actions."""
    keys = jax.random.split(jax.random.key(seed), EPISODES)
    starts = State(*(np.array(part) for part in _starts(world, keys)))
    rng = np.random.default_rng(seed)
    velocity = rng.normal(size=starts.position.shape)
    starts = starts._replace(position=0.6 * starts.position, velocity=velocity)
    return starts, rng.integers(5, size=(EPISODES, world.steps, world.agents))


def _moved(world: World, state: State, actions: list[int], order: str = "new") -> State:
    return _step(world, state, jnp.array(MOVES)[jnp.array(actions)], order=order)


@pytest.fixture(autouse=True)
def _double() -> object:
    with jax.enable_x64(True):
        yield


def test_cooperative_navigation_moves_as_the_authors_code_does() -> None:
    state = _state(
        CN,
        [[0.1, 0.2], [0.25, 0.3], [-0.5, -0.4]],
        [[0.5, -0.2], [0.0, 0.0], [0.1, 0.1]],
        [[0.0, 0.0], [0.8, -0.8], [-0.6, 0.5]],
    )
    after = _moved(CN, state, [1, 4, 0])
    velocity = [
        [-0.12115088301353122, -0.8141005886756874],
        [0.9961508830135313, 0.16410058867568733],
        [0.075, 0.075],
    ]
    position = [
        [0.08788491169864689, 0.11858994113243126],
        [0.3496150883013531, 0.31641005886756873],
        [-0.4925, -0.3925],
    ]
    np.testing.assert_allclose(after.velocity, velocity, atol=1e-12)
    np.testing.assert_allclose(after.position, position, atol=1e-12)
    assert float(CN.reward(after)) == pytest.approx(-9.289329449016384, abs=1e-12)
    old = _moved(CN, state, [1, 4, 0], order="old")
    np.testing.assert_allclose(old.velocity, velocity, atol=1e-12)
    np.testing.assert_allclose(
        old.position, [[0.15, 0.18], [0.25, 0.3], [-0.49, -0.39]], atol=1e-12
    )


def test_predators_and_prey_move_as_the_authors_code_does() -> None:
    state = _state(
        PP,
        [[0.1, 0.2], [-0.3, 0.4], [0.13, 0.25], [0.5, 0.5], [-0.9, -0.2]],
        [[0.5, -0.2]] + [[0.0, 0.0]] * 4,
        [],
    )
    after = _moved(PP, state, [1, 4, 0])
    position = [
        [0.1763403395656023, 0.1664005659426705],
        [-0.3, 0.35],
        [0.1411596604343977, 0.2685994340573295],
        [0.57, 0.5],
        [-0.76, -0.24949747468305833],
    ]
    np.testing.assert_allclose(after.position, position, atol=1e-12)
    assert float(PP.reward(after)) == pytest.approx(-1.2429322625566086, abs=1e-12)


@pytest.mark.parametrize(
    ("world", "theirs"), [(CN, simple_spread_v3), (CCN, simple_reference_v3)]
)
def test_moves_pays_and_shows_as_mpe2_does(world: World, theirs: object) -> None:
    starts, actions = _begun(world)
    states, rewards, seen = _played(world, starts, actions, "old")
    env = theirs.parallel_env(max_cycles=world.steps)
    # What follows is theirs, in (episode, step, agent, ...).
    position, velocity, paid, shown = [], [], [], []
    for e in range(EPISODES):
        env.reset(seed=e)
        inner = env.unwrapped.world
        bodies = [body.state for body in inner.agents + inner.landmarks]
        places = np.concatenate([starts.position[e], starts.landmarks[e]])
        for body, place in zip(bodies, places, strict=True):
            body.p_pos = place.copy()
        for agent, v in zip(inner.agents, starts.velocity[e], strict=True):
            agent.state.p_vel = v.copy()
        if world is CCN:
            for agent, goal in zip(inner.agents, starts.goals[e, ::-1], strict=True):
                agent.goal_b = inner.landmarks[int(goal)]
        for chosen in TO_MPE2[actions[e]]:
            back = env.step(dict(zip(env.agents, chosen, strict=True)))
            position.append([agent.state.p_pos.copy() for agent in inner.agents])
            velocity.append([agent.state.p_vel.copy() for agent in inner.agents])
            shown.append([row[: seen.shape[-1]] for row in back[0].values()])
            paid.append(list(back[1].values()))
    shape = actions.shape[:2]
    position = np.array(position).reshape(states.position.shape)
    np.testing.assert_allclose(states.position, position, atol=1e-10, rtol=0)
    velocity = np.array(velocity).reshape(states.velocity.shape)
    np.testing.assert_allclose(states.velocity, velocity, atol=1e-10, rtol=0)
    np.testing.assert_allclose(seen, np.array(shown).reshape(seen.shape), atol=1e-6)
    paid = np.array(paid)
    if world is CN:  # they halve and do not sum the distances, and miss the constant
        paid = 2.0 * paid.sum(axis=1) - 3.0
    else:  # each gets half its own distance and half the mean, which is not squared
        paid = -np.sum((2.0 * paid - paid.mean(axis=1, keepdims=True)) ** 2, axis=1)
    np.testing.assert_allclose(rewards, paid.reshape(shape), atol=1e-9, rtol=0)
    new = _played(world, starts, actions)[0]
    assert np.median(np.abs(new.position - position).max(axis=(1, 2, 3))) > 0.05


@pytest.mark.parametrize("world", [CN, CCN, PP])
def test_collisions_create_no_momentum(world: World) -> None:
    starts, actions = _begun(world)
    states, _, _ = _played(world, starts, actions)
    after = np.array(states.velocity[:, :, : world.agents])
    first = starts.velocity[:, None, : world.agents]
    before = np.concatenate([first, after[:, :-1]], axis=1)
    gained = after - 0.75 * before - 0.5 * np.array(MOVES)[actions]
    np.testing.assert_allclose(gained.sum(axis=2), 0.0, atol=1e-12)
    touched = np.abs(gained).max(axis=(2, 3)) > 0.01
    assert touched.sum() > 20 if world.solid else not touched.any()


@pytest.mark.parametrize("world", [CN, CCN, PP])
def test_names_of_agents_do_not_matter(world: World) -> None:
    starts, actions = _begun(world, seed=2)
    order = np.roll(np.arange(world.agents), 1)
    bodies = np.concatenate([order, np.arange(world.agents, world.agents + world.prey)])
    renamed = starts._replace(
        position=starts.position[:, bodies],
        velocity=starts.velocity[:, bodies],
        goals=starts.goals[:, order],
    )
    states, rewards, seen = _played(world, starts, actions)
    others, same, shown = _played(world, renamed, actions[..., order])
    np.testing.assert_allclose(
        others.position, states.position[:, :, bodies], atol=1e-9
    )
    np.testing.assert_allclose(same, rewards, atol=1e-9)
    if world is not CN:  # there the others are shown in the order of their names
        np.testing.assert_allclose(shown, seen[:, :, order], atol=1e-9)


@partial(jax.jit, static_argnums=0)
def _slopes(
    world: World, starts: State, pushes: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """Return what three moves pay and show, and its gradient, of each of a batch."""

    def paid(position: jax.Array, pushes: jax.Array, start: State) -> jax.Array:
        def move(state: State, push: jax.Array) -> tuple[State, jax.Array]:
            state = step(world, state, push)
            return state, world.reward(state) + world.observe(state).sum()

        return jax.lax.scan(move, start._replace(position=position), pushes)[1].sum()

    one = jax.value_and_grad(paid, (0, 1))
    return jax.vmap(one)(starts.position, pushes, starts)


@pytest.mark.parametrize("world", [CN, CCN, PP])
def test_gradients_are_finite_and_right(world: World) -> None:
    rng = np.random.default_rng(3)
    starts = State(*(part[:4].copy() for part in _begun(world, seed=3)[0]))
    at, pushes = starts.position, rng.normal(size=(4, 3, world.agents, 2))
    at[0, 1] = at[0, 0]  # two agents in one place
    at[1] = at[1, 0]  # all bodies and landmarks in one place, where they stay
    starts.landmarks[1] = at[1, 0]
    starts.velocity[1], pushes[1] = 0.0, 0.0
    at[2, 1] = at[2, 0] + 0.03  # a collision
    _, slopes = _slopes(world, starts, pushes)
    assert all(np.isfinite(slope).all() for slope in slopes)
    ways = [rng.normal(size=slope.shape) for slope in slopes]
    h = 1e-7
    up, down = (
        _slopes(world, starts._replace(position=at + x * ways[0]), pushes + x * ways[1])
        for x in (h, -h)
    )
    expected = sum(
        np.sum(slope * way, axis=tuple(range(1, slope.ndim)))
        for slope, way in zip(slopes, ways, strict=True)
    )
    found = (up[0] - down[0]) / (2 * h)
    np.testing.assert_allclose(found[2:], expected[2:], rtol=1e-4)


FAR = (9.0, 9.0)
HALF = 0.5**0.5


@pytest.mark.parametrize(
    ("prey", "hunters", "action"),
    [
        pytest.param((0.0, 0.3), [(0.1, 0.0)], (0, 1), id="along the longer axis"),
        pytest.param((0.0, 0.0), [(-0.5, 0.0), (0.3, 0.1)], (-1, 0), id="the nearest"),
        pytest.param((0.25, 0.25), [(0.0, 0.0)], (0, HALF), id="a tie"),
        pytest.param((-0.25, -0.25), [(0.0, 0.0)], (0, -HALF), id="a tie below"),
        pytest.param((0.9, 0.1), [(0.7, 0.1)], (-1, 0), id="border, against flight"),
        pytest.param((0.9, 0.1), [(1.2, 0.1)], (-3, 0), id="border, with flight"),
        pytest.param((-0.9, 0.0), [(-0.9, -0.5)], (2, 1), id="border, across"),
        pytest.param((0.1, -0.9), [(0.1, -0.7)], (0, 1), id="border below"),
        pytest.param((0.85, 0.95), [(0.85, 0.5)], (0, -1), id="border, longer axis"),
        pytest.param((0.9, 0.9), [(0.9, 0.5)], (0, 1), id="a corner is no border"),
        pytest.param((0.8, 0.0), [(0.5, 0.0)], (1, 0), id="not yet a border"),
        pytest.param((0.0, 0.0), [(0.0899, 0.0)], (0, 0), id="caught"),
        pytest.param((0.9, 0.0), [(0.9, 0.0899)], (0, 0), id="caught at the border"),
        pytest.param((0.9, 0.0), [(0.9, 0.0)], (0, 0), id="caught in its place"),
        pytest.param((0.0, 0.0), [(0.0901, 0.0)], (-1, 0), id="not quite caught"),
    ],
)
def test_what_a_prey_does(
    prey: tuple[float, float],
    hunters: list[tuple[float, float]],
    action: tuple[float, float],
) -> None:
    others = [FAR, (9.0, -9.0), (-9.0, 9.0)][: 3 - len(hunters)]
    bodies = [*others, *hunters, FAR, prey]
    velocity = np.full((5, 2), [0.4, -0.2])
    after = _moved(PP, _state(PP, bodies, velocity, []), [0, 0, 0])
    expected = 0.75 * velocity[4] + 0.7 * np.array(action)  # 7 dt
    np.testing.assert_allclose(after.velocity[4], expected, atol=1e-12)
    np.testing.assert_allclose(
        after.position[4], np.array(prey) + 0.1 * expected, atol=1e-12
    )


def test_a_predator_sees_one_prey_and_the_others_by_distance() -> None:
    prey = [[-0.6, 0.0], [-0.4, 0.0]]
    state = _state(
        PP, [[0.9, 0.0], [0.3, 0.0], [0.6, 0.1], *prey], np.zeros((5, 2)), []
    )
    seen = jax.jit(PP.observe)(state)
    assert seen.shape == (3, PP.observation)
    # Both prey are beyond 1.2: the first is shown, though the second is nearer.
    np.testing.assert_allclose(
        seen[0], [0, 0, 0.9, 0, -1.5, 0, -0.3, 0.1, -0.6, 0], atol=1e-12
    )
    np.testing.assert_allclose(
        seen[1], [0, 0, 0.3, 0, -0.7, 0, 0.3, 0.1, 0.6, 0], atol=1e-12
    )
