"""The particle worlds: fixed transitions, and the reference simulator step by step."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dplib.dpmac.worlds import CN, MOVES, PP, State, World, step


def _state(world: World, position: object, velocity: object, places: object) -> State:
    return State(
        jnp.array(position),
        jnp.array(velocity),
        jnp.array(places).reshape(-1, 2),
        jnp.zeros(world.agents, int),
    )


def _moved(world: World, state: State, actions: list[int], order: str = "new") -> State:
    return step(world, state, jnp.array(MOVES)[jnp.array(actions)], order=order)


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
