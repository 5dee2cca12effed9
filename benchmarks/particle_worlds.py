"""Steps of cooperative navigation: compiled and side by side, and by mpe2.

In one run this prints steps of the world (all agents move once, see and are paid) per
CPU second, of

- mpe2's simple_spread_v3 behind its parallel interface;
- `ParticleEnv`, the same interface around ours;
- whole episodes of ours, compiled, of 1, 32 and 1,024 worlds at a time.

All count the start of an episode, and agents move at random; our compiled code also
draws these moves. Compilation is not counted, but printed. First both must move alike.

    python benchmarks/particle_worlds.py
"""

import os

# One thread; read when jax is imported.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"

import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from mpe2 import simple_spread_v3

from dplib.dpmac.parallel import ParticleEnv
from dplib.dpmac.worlds import CN, MOVES, State, step

PROMISED = 200.0  # times mpe2's steps, with 1,024 worlds at a time
SIZES = (1, 32, 1024)
TO_MPE2 = np.array([0, 2, 1, 4, 3])  # there left comes before right, down before up


def seconds(call, rounds=5):
    """Return the least CPU seconds of a call, and what it returns."""
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        result = call()
        times.append(time.process_time() - begun)
    return min(times), result


@partial(jax.jit, static_argnums=1)
def episodes(key, worlds):
    """Return what agents see, (world, step, agent, ...), and are paid."""

    def move(state, action):
        state = step(CN, state, jnp.array(MOVES)[action])
        return state, (CN.observe(state), CN.reward(state))

    def one(key):
        begin, act = jax.random.split(key)
        actions = jax.random.randint(act, (CN.steps, CN.agents), 0, len(MOVES))
        return jax.lax.scan(move, CN.start(begin), actions)[1]

    return jax.vmap(one)(jax.random.split(key, worlds))


def play(env, actions):
    """Play one episode through the parallel interface."""
    env.reset()
    for row in actions:
        back = env.step(dict(zip(env.agents, row, strict=True)))
    return back


def gap(env, actions):
    """Return how far positions are from mpe2's after an episode that starts there."""
    env.reset(seed=1)
    bodies = env.unwrapped.world.agents
    state = State(
        jnp.array([body.state.p_pos for body in bodies]),
        jnp.zeros((CN.agents, 2)),
        jnp.zeros((CN.agents, 2)),
        jnp.zeros(CN.agents, int),
    )
    move = jax.jit(partial(step, CN, order="old"))
    for row in actions:
        env.step(dict(zip(env.agents, TO_MPE2[row], strict=True)))
        state = move(state, jnp.array(MOVES)[row])
    there = np.array([body.state.p_pos for body in bodies])
    return float(np.abs(there - state.position).max())


def main():
    """Print the rates and the ratios."""
    rng = np.random.default_rng(1)
    actions = rng.integers(len(MOVES), size=(CN.steps, CN.agents))
    theirs = simple_spread_v3.parallel_env(max_cycles=CN.steps)
    apart = gap(theirs, actions)
    assert apart < 1e-4, apart
    count = 20 * CN.steps
    spent, _ = seconds(lambda: [play(theirs, actions) for _ in range(20)])
    base = count / spent
    print(f"mpe2: {base:,.0f} steps per CPU second")
    ours = ParticleEnv(CN)
    play(ours, actions)
    spent, _ = seconds(lambda: [play(ours, actions) for _ in range(20)])
    print(f"ParticleEnv: {count / spent:,.0f}, {count / spent / base:.1f} x")
    for worlds in SIZES:
        begun = time.process_time()
        program = episodes.lower(jax.random.key(0), worlds).compile()
        compiled = time.process_time() - begun
        repeats = max(1, 1024 // worlds)
        keys = jax.random.split(jax.random.key(worlds), repeats)
        spent, back = seconds(
            lambda program=program, keys=keys: jax.block_until_ready(
                [program(key) for key in keys]
            )
        )
        assert back[0][0].shape == (worlds, CN.steps, CN.agents, CN.observation)
        rate = repeats * worlds * CN.steps / spent
        text = f"compiled, {worlds:,} at a time: {rate:,.0f}, {rate / base:,.1f} x"
        print(f"{text} (compilation: {compiled:.1f} CPU seconds)")
    met = "" if rate / base >= PROMISED else "   NOT MET"
    print(
        f"batched against mpe2: {rate / base:.3g} x (promised: {PROMISED:.0f} x){met}"
    )


if __name__ == "__main__":
    main()
