"""Adjacency: distances, radii, and no silent default."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from dplib.privacy.adjacency import Adjacency

X = np.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
Y = np.array([[3.0, 0.0], [1.0, -3.0], [5.0, 5.0]])


def make(norm: str, radius: float = 3.0) -> Adjacency:
    return Adjacency(name="data", unit="one trajectory", norm=norm, radius=radius)


@pytest.mark.parametrize(
    ("norm", "distance"), [("l1", 7.0), ("l2", 5.0), ("linf", 4.0), ("hamming", 2.0)]
)
def test_distance_is_over_all_steps_at_once(norm, distance) -> None:
    assert make(norm).distance(X, Y) == distance
    assert make(norm).distance(Y, X) == distance
    assert make(norm).distance(X, X) == 0.0
    assert make(norm, radius=distance).relates(X, Y)
    assert not make(norm, radius=np.nextafter(distance, 0.0)).relates(X, Y)


def test_a_constant_difference_leaves_every_trajectory_ball() -> None:
    # Each step is within the radius; the trajectory is not.
    steps = np.zeros((1000, 1))
    assert make("l1").relates(steps[:3], steps[:3] + 1.0)
    assert not make("l1").relates(steps, steps + 1.0)


def test_data_of_two_shapes_have_no_distance() -> None:
    # Broadcast, one step would be held against every step.
    with pytest.raises(ValueError, match="'y' parameter of Adjacency"):
        make("l1").distance(X, X[0])


def test_nothing_has_a_default() -> None:
    with pytest.raises(TypeError, match="missing 4 required keyword-only"):
        Adjacency()
    with pytest.raises(FrozenInstanceError):
        make("l1").radius = 4.0


def test_large_integers_that_differ_are_not_equal() -> None:
    # As floats 2^53 and 2^53 + 1 are the same: hamming distance 0.
    assert make("hamming").distance([2**53], [2**53 + 1]) == 1.0
