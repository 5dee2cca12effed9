"""The gate of a team: what is refused, in one sentence that names the parameter."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dplib.planning.game import MarkovGame
from dplib.planning.paper import NAVIGATION, sysadmin

TEAM = sysadmin("012")


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"depends": ((2,), (0,), (1,))}, "depends", "without a circle"),
        ({"depends": ((1, 2), (2,), (0,))}, "depends", "without a circle"),
        ({"depends": ((), (0,), (1, 0))}, "depends", "in rising order"),
        ({"depends": ((), (0,), (0, 3))}, "depends", "numbers of other agents"),
        ({"depends": ((), (0,), (2,))}, "depends", "numbers of other agents"),
        ({"depends": ((), (0,), (0, 0))}, "depends", "in rising order"),
        ({"depends": ((), ())}, "depends", "for every agent"),
        ({"start": (0, 1)}, "start", "one local state"),
        ({"start": (0, 1, 4)}, "start", "one local state"),
        ({"start": (0, 1, -1)}, "start", "one local state"),
        ({"start": (2, 2, 2)}, "start", "neither target nor dead"),
        ({"start": (0, 0, 0)}, "start", "neither target nor dead"),
        ({"dead": np.ones((4, 4, 4), dtype=bool)}, "target", "none of which is dead"),
        ({"target": np.zeros((4, 4, 4), dtype=bool)}, "target", "one or more"),
        ({"target": np.zeros((4, 4), dtype=bool)}, "target", "an array of shape"),
    ],
)
def test_the_gate_of_a_team(change: dict[str, Any], name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        replace(TEAM, **change)
    message = str(caught.value)
    assert message.startswith(f"The '{name}' parameter of MarkovGame must be")
    assert "\n" not in message


def test_transitions_that_are_no_distribution_name_the_agent() -> None:
    law = np.array(TEAM.transitions[1])
    law[1, 0, 1] = 0.8
    with pytest.raises(ValueError, match="agent 1") as caught:
        replace(TEAM, transitions=(TEAM.transitions[0], law, TEAM.transitions[2]))
    assert "\n" not in str(caught.value)


def test_every_acyclic_graph_is_accepted_in_any_order() -> None:
    for depends in (((), (), ()), ((1, 2), (2,), ()), ((2,), (0, 2), ())):
        assert replace(TEAM, depends=depends).depends == depends


def test_who_is_told_about_and_what_is_active() -> None:
    assert TEAM.told == (0, 1)
    assert replace(TEAM, depends=((), (), ())).told == ()
    assert NAVIGATION.told == (0,)
    np.testing.assert_array_equal(TEAM.active, ~(TEAM.target | TEAM.dead))


def test_a_team_cannot_be_changed_from_outside() -> None:
    target = np.zeros((4, 4, 4), dtype=bool)
    target[0, 0, 0] = True
    team = replace(TEAM, target=target)
    target[1, 1, 1] = True
    assert int(team.target.sum()) == 1
    with pytest.raises(ValueError, match="read-only"):
        team.target[0, 0, 0] = False
    assert isinstance(team, MarkovGame)
