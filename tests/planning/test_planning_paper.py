"""The paper's two examples against what its text and its public code say of them."""

from fractions import Fraction
from itertools import islice, product

import numpy as np
import pytest

from dplib.mdp.gridworld import ACTIONS
from dplib.planning.execution import success_chance
from dplib.planning.paper import NAVIGATION, STARTS, WEIGHTS, server, sysadmin
from dplib.planning.policies import marginalise
from dplib.planning.synthesis import Weights, convex_concave, first_occupancy
from dplib.privacy.word import online_mechanism


def test_navigation_has_the_size_and_out_degrees_of_the_example() -> None:
    assert NAVIGATION.shape == (25, 25)
    assert int(NAVIGATION.dead.sum()) == 163
    assert int(NAVIGATION.active.sum()) == 461
    degrees = (NAVIGATION.transitions[0] > 0).any(axis=1).sum(axis=1)
    assert sorted(set(degrees.tolist())) == [1, 3, 4, 5]


def test_twenty_iterations_give_the_success_of_the_second_configuration() -> None:
    team = sysadmin("0022")
    weights = Weights(length=0.001, correlation=0.01)
    steps = convex_concave(team, weights, first_occupancy(team))
    last = list(islice(steps, 21))[-1]
    np.testing.assert_allclose(last.correlation, 5.848539, atol=5e-6)
    mechanisms = [online_mechanism(law, epsilon=1.0, k=1) for law in team.transitions]
    policies = marginalise(team, last.occupancy)
    found = success_chance(team, policies, steps=1000, mechanisms=mechanisms)
    np.testing.assert_allclose(found, 0.99439, atol=1e-5)


def test_the_objective_rises_and_the_correlation_is_the_printed_one() -> None:
    steps = convex_concave(NAVIGATION, WEIGHTS, first_occupancy(NAVIGATION))
    some = list(islice(steps, 12))[1:]
    assert np.all(np.diff([one.objective for one in some]) > 0.0)
    np.testing.assert_allclose(some[0].correlation, 5.15263533, atol=5e-5)
    np.testing.assert_allclose(some[10].correlation, 3.89059492, atol=5e-5)


# Figure 4, arrow by arrow: (state, action): {next state: probability}.
FIGURE_FOUR = {
    (0, 0): {0: Fraction(9, 10), 1: Fraction(1, 10)},
    (1, 0): {1: Fraction(9, 10), 3: Fraction(1, 10)},
    (2, 0): {0: Fraction(9, 10), 2: Fraction(1, 10)},
    (3, 0): {3: Fraction(1)},
    (0, 1): {2: Fraction(1)},
    (1, 1): {2: Fraction(1)},
    (2, 1): {2: Fraction(1)},
    (3, 1): {2: Fraction(1)},
}


def test_a_server_moves_as_in_figure_4() -> None:
    law = server()
    assert law.shape == (4, 2, 4)
    for (s, a), row in FIGURE_FOUR.items():
        exact = [float(row.get(t, Fraction())) for t in range(4)]
        np.testing.assert_allclose(law[s, a], exact, atol=1e-15)


def test_each_probability_of_a_server_stands_at_its_own_arrow() -> None:
    law = server(repaired=0.7, breaks=0.2, fails=0.3)
    np.testing.assert_allclose(law.sum(axis=2), 1.0, atol=1e-15)
    found = law[0, 0, 1], law[1, 0, 3], law[2, 0, 0]
    assert found == pytest.approx((0.2, 0.3, 0.7))


def test_out_degrees_of_servers_are_three_and_two() -> None:
    assert (server() > 0).any(axis=1).sum(axis=1).tolist() == [3, 3, 2, 2]


@pytest.mark.parametrize("n", [3, 4, 5])
def test_the_task_is_all_healthy_and_at_most_two_in_repair_or_down(n: int) -> None:
    team = sysadmin("1" + "0" * (n - 1))
    for state in product(range(4), repeat=n):
        assert team.target[state] == (state == (0,) * n)
        assert team.dead[state] == (state.count(2) > 2 or state.count(3) > 2)
    assert team.depends == tuple(tuple(range(i)) for i in range(n))


def test_two_down_and_two_in_repair_is_the_limit() -> None:
    assert [sysadmin(start).start for start in STARTS] == [
        (0, 0, 0, 1),
        (0, 0, 2, 2),
        (2, 2, 3, 3),
    ]
    for start in ("2223", "0333"):
        with pytest.raises(ValueError, match="neither target nor dead"):
            sysadmin(start)


def test_the_numbers_of_the_text_would_let_0001_fail_at_once() -> None:
    """Section 7.2 numbers repair 0; three servers in repair are a failure."""
    as_text = {1: 0, 2: 1, 0: 2, 3: 3}
    with pytest.raises(ValueError, match="neither target nor dead"):
        sysadmin("".join(str(as_text[int(digit)]) for digit in "0001"))


@pytest.mark.parametrize("start", ["", "0401", "abc", "1.0"])
def test_configurations_are_digits_of_states(start: str) -> None:
    with pytest.raises(ValueError, match="digits from 0 to 3"):
        sysadmin(start)


def test_navigation_is_the_map_of_the_example() -> None:
    """Cells, lava and collisions one by one, from the description of Section 7.1."""
    lava, walls = {0, 1, 3}, {2, 12, 22}
    for s, t in product(range(25), repeat=2):
        assert NAVIGATION.dead[s, t] == (s == t or bool({s, t} & lava))
    assert np.argwhere(NAVIGATION.target).tolist() == [[23, 21]]
    assert NAVIGATION.start == (20, 24)
    assert NAVIGATION.depends == ((), (0,))
    for law in NAVIGATION.transitions:
        feasible = np.asarray(np.any(law > 0, axis=1))
        for cell in set(range(25)) - walls:
            row, column = divmod(cell, 5)
            near = {
                5 * y + x
                for y, x in (
                    (row, column),
                    (row, column + 1),
                    (row - 1, column),
                    (row, column - 1),
                    (row + 1, column),
                )
                if 0 <= y < 5 and 0 <= x < 5 and 5 * y + x not in walls
            }
            assert set(np.flatnonzero(feasible[cell]).tolist()) == near


def test_slips_and_blocked_steps_of_navigation() -> None:
    law = NAVIGATION.transitions[0]
    # Cell (3, 1): north, south and east are free, west too; east is the corridor.
    row, rest = law[16, ACTIONS.index("east")], 0.05 / 4
    exact = {17: 0.95, 11: rest, 15: rest, 16: rest, 21: rest}
    np.testing.assert_allclose(row, [exact.get(cell, 0.0) for cell in range(25)])
    # Cell (4, 0): west is off the map; it, north and east are equally likely.
    exact = {20: 1 / 3, 15: 1 / 3, 21: 1 / 3}
    np.testing.assert_allclose(
        law[20, ACTIONS.index("west")], [exact.get(cell, 0) for cell in range(25)]
    )
