import numpy as np
import pytest

from dplib.mdp.gridworld import ACTIONS, SLIP_LAWS, gridworld

N, S, E, W, STAY = range(5)


@pytest.mark.parametrize("law", SLIP_LAWS)
def test_rows_sum_to_one(law):
    for slip in (0.0, 0.1, 1.0):
        T = gridworld(3, 4, slip=slip, law=law, walls=[(1, 1)])
        np.testing.assert_allclose(T.sum(axis=2), 1.0, atol=1e-15)
        assert T.min() >= 0


@pytest.mark.parametrize("law", SLIP_LAWS)
def test_without_slips_all_laws_are_one(law):
    T = gridworld(3, 3, slip=0.0, law=law)
    ends = T.argmax(axis=2)
    assert T.max(axis=2).min() == 1.0
    assert ends[4].tolist() == [1, 7, 5, 3, 4]
    assert ends[0].tolist() == [0, 3, 1, 0, 0]  # north and west are blocked


# In the middle of a 3 x 3 grid, going east with slip 0.12: the law by hand.
MIDDLE = {
    "other action": {5: 0.88, 1: 0.03, 7: 0.03, 3: 0.03, 4: 0.03},
    "any action": {5: 0.904, 1: 0.024, 7: 0.024, 3: 0.024, 4: 0.024},
    "sideways": {5: 0.88, 1: 0.06, 7: 0.06},
    "put": {5: 0.88, 4: 0.12},
    "sure stay": {5: 0.88, 1: 0.03, 7: 0.03, 3: 0.03, 4: 0.03},
    "reachable": {5: 0.88, 1: 0.03, 7: 0.03, 3: 0.03, 4: 0.03},
    "neighbour": {5: 0.88, 1: 0.04, 7: 0.04, 3: 0.04},
    "any cell": {5: 0.88} | dict.fromkeys((0, 1, 2, 3, 4, 6, 7, 8), 0.015),
}
# In the corner 0, staying.
CORNER = {
    "other action": {0: 0.94, 1: 0.03, 3: 0.03},
    "any action": {0: 0.952, 1: 0.024, 3: 0.024},
    "sideways": {0: 1.0},
    "put": {0: 1.0},
    "sure stay": {0: 1.0},
    "reachable": {0: 0.88, 1: 0.06, 3: 0.06},
    "neighbour": {0: 0.88, 1: 0.06, 3: 0.06},
    "any cell": {0: 0.88} | dict.fromkeys(range(1, 9), 0.015),
}


@pytest.mark.parametrize("law", SLIP_LAWS)
def test_laws_by_hand(law):
    T = gridworld(3, 3, slip=0.12, law=law)
    for row, want in ((T[4, E], MIDDLE[law]), (T[0, STAY], CORNER[law])):
        full = np.zeros(9)
        full[list(want)] = list(want.values())
        np.testing.assert_allclose(row, full, atol=1e-15)


def test_all_laws_are_tried_by_hand():
    assert set(MIDDLE) == set(CORNER) == set(SLIP_LAWS)
    assert len(ACTIONS) == 5


def test_walls_are_like_the_border():
    T = gridworld(1, 3, slip=0.0, law="put", walls=[(0, 1)])
    assert T[0, E, 0] == 1.0
    assert np.array_equal(T[1], np.tile([0.0, 1.0, 0.0], (5, 1)))


def test_any_cell_never_slips_into_a_wall():
    T = gridworld(2, 2, slip=0.3, law="any cell", walls=[(1, 1)])
    assert T[0, STAY].tolist() == [0.7, 0.15, 0.15, 0.0]


def test_nothing_to_slip_to():
    assert gridworld(1, 1, slip=0.5, law="any cell").tolist() == [[[1.0]] * 5]


def test_symmetry_of_the_square():
    # Mirrored along the diagonal, north and west, and south and east, change places.
    for law in SLIP_LAWS:
        T = gridworld(4, 4, slip=0.1, law=law)
        mirror = np.arange(16).reshape(4, 4).T.ravel()
        swapped = T[mirror][:, [W, E, S, N, STAY]][:, :, mirror]
        np.testing.assert_allclose(swapped, T, atol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"slip": 1.5}, "a probability between 0 and 1"),
        ({"law": "sidewise"}, "one of 'any action'"),
        ({"walls": [(3, 0)]}, "cells of the grid"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        gridworld(3, 3, **{"slip": 0.1, "law": "put"} | arguments)
