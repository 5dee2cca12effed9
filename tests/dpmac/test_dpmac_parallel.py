"""The worlds behind PettingZoo's interface: its own test, and the same trajectories."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dplib.dpmac.parallel import ParticleEnv
from dplib.dpmac.worlds import CCN, CN, MOVES, PP, World, step

with warnings.catch_warnings():
    # PettingZoo's tests import a game of theirs in a way that they deprecate.
    message = "The old environment creation API has been deprecated"
    warnings.filterwarnings("ignore", message, DeprecationWarning)
    from pettingzoo.test import parallel_api_test, parallel_seed_test

WORLDS = pytest.mark.parametrize("world", [CN, CCN, PP], ids=lambda world: world.name)


@WORLDS
def test_passes_the_tests_of_pettingzoo(world: World) -> None:
    parallel_api_test(ParticleEnv(world), num_cycles=100)
    parallel_seed_test(lambda: ParticleEnv(world), num_cycles=50)


@WORLDS
@jax.enable_x64(True)  # so that another processor's last bits do not grow
def test_an_episode_is_that_of_the_world(world: World) -> None:
    env = ParticleEnv(world)
    move = jax.jit(lambda state, push: step(world, state, push))
    look = jax.jit(lambda state: (world.observe(state), world.reward(state)))
    rng = np.random.default_rng(1)
    for episode in range(2):
        seen, _ = env.reset(seed=5) if episode == 0 else env.reset()
        state = world.start(jax.random.fold_in(jax.random.key(5), episode))
        for t in range(1, world.steps + 1):
            expected, _ = look(state)
            np.testing.assert_allclose(list(seen.values()), expected, atol=1e-6)
            chosen = rng.integers(5, size=world.agents)
            actions = dict(zip(env.agents, chosen, strict=True))
            seen, paid, ended, cut, _ = env.step(actions)
            state = move(state, jnp.array(MOVES)[chosen])
            reward = float(look(state)[1])
            assert list(paid.values()) == pytest.approx([reward] * world.agents)
            assert not any(ended.values())
            assert set(cut.values()) == {t == world.steps}
        np.testing.assert_allclose(env.state.position, state.position, atol=1e-9)
        assert env.agents == []


def test_what_an_agent_gets_is_its_own() -> None:
    env = ParticleEnv(CN)
    seen, _ = env.reset(seed=1)
    for agent, row in seen.items():
        assert row.dtype == np.float32
        assert row in env.observation_space(agent)
        assert row.flags.writeable
    before = env.state.position
    env.step({"agent_2": 0, "agent_1": 3, "agent_0": 0})  # names, not places, decide
    ahead = np.array(env.state.position - before)
    np.testing.assert_allclose(ahead[1] - [0.0, 0.05], 0.0, atol=1e-6)
    seen["agent_0"][:] = 0.0  # nobody else's, and not the world's
    assert np.abs(seen["agent_1"]).max() > 0.0


def test_without_a_seed_the_first_is_zero_and_the_next_differ() -> None:
    env, same = ParticleEnv(CCN), ParticleEnv(CCN)
    env.reset()
    same.reset(seed=0)
    np.testing.assert_array_equal(env.state.position, same.state.position)
    first = env.state.position
    env.reset()
    assert np.abs(env.state.position - first).max() > 0.01


def test_wrong_actions_are_refused() -> None:
    env = ParticleEnv(CCN)
    with pytest.raises(ValueError, match="call reset"):
        env.step({"agent_0": 0, "agent_1": 0})
    env.reset(seed=1)
    with pytest.raises(ValueError, match="'actions' parameter of step"):
        env.step({"agent_0": 0})
    with pytest.raises(ValueError, match="between 0 and 4"):
        env.step({"agent_0": 0, "agent_1": 5})
    with pytest.raises(TypeError, match="an integer"):
        env.step({"agent_0": 0, "agent_1": 1.0})
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=-1)
    env.step({"agent_0": 0, "agent_1": 4})  # none of this has moved or ended it
