"""The paper's two examples against what its text and its public code say of them."""

from itertools import islice

import numpy as np

from dplib.planning.execution import success_chance
from dplib.planning.paper import NAVIGATION, WEIGHTS, sysadmin
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
