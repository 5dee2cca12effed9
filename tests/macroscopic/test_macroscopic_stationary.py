"""The steady state by formula and by the balance of flows, and what each refuses."""

import numpy as np
import pytest

from dplib.macroscopic import paper, stationary, trees
from dplib.macroscopic.distribution import observe
from dplib.macroscopic.network import NetworkError, parse
from dplib.macroscopic.states import generator
from dplib.macroscopic.swarm import observing

# Balanced only if the two ways to the triple agree.
AGREE, DISAGREE = (2, 1, 3, 1, 3, 1, 2, 1), (3, 1, 1, 1, 1, 1, 1, 1)


@pytest.mark.parametrize(
    ("swarm", "counts"),
    [
        (paper.RESOURCE, (3, 2)),
        (paper.pairs((2, 1, 0.1, 5)), (3, 3, 2)),
        (paper.two_routes(AGREE), (2, 3, 2)),
    ],
)
def test_formula_is_null_vector(swarm, counts):
    by_formula = stationary.product_form(swarm, counts)
    by_flows = stationary.null_vector(swarm, counts)
    assert np.array_equal(by_formula.outcomes, by_flows.outcomes)
    np.testing.assert_allclose(by_formula.log_p, by_flows.log_p, atol=1e-11)


@pytest.mark.parametrize(
    ("swarm", "counts"),
    [(paper.two_routes(DISAGREE), (2, 2, 2)), (paper.tasks(), (2, 1, 1))],
)
def test_flows_balance_without_a_formula(swarm, counts):
    with pytest.raises(NetworkError, match="not complex balanced"):
        stationary.product_form(swarm, counts)
    found = stationary.null_vector(swarm, counts)
    p = np.exp(found.log_p)
    flow = generator(swarm.network, found.outcomes).T @ p
    assert np.abs(flow).max() < 1e-14
    assert abs(p.sum() - 1) < 1e-14
    seen = stationary.observed(swarm)(counts)
    np.testing.assert_allclose(seen.log_p, observe(found, swarm.query).log_p)


def test_tiny_probabilities_keep_their_digits():
    """A birth-death chain: pi_k is (1e-9)^k over k!, down to 1e-200 and below."""
    swarm = observing(parse("a <-> b : 1e-9, 1"), ["a"], [["b"]])
    found = stationary.null_vector(swarm, (20,))
    from_below = found.log_p[::-1]  # by b
    k = np.arange(21)
    exact = stationary.product_form(swarm, (20,)).log_p[::-1]
    np.testing.assert_allclose(from_below, exact, atol=1e-11)
    assert from_below[-1] < -400
    assert np.array_equal(found.outcomes[::-1, 1], k)


@pytest.mark.parametrize("ways", [(1, 1e4, 1, 1e2), (1e4, 1, 1e2, 1)])
def test_odds_beyond_the_range_of_numbers(ways):
    """A chain from 300 a to 300 b, each step in balance; the odds pass 1e308."""
    text = "a <-> b : {}, {}\na + b <-> 2 b : {}, {}".format(*ways)
    swarm = observing(parse(text), ["a"], [["b"]])
    found = stationary.null_vector(swarm, (300,))
    rates = generator(swarm.network, found.outcomes)
    steps = np.log(rates.diagonal(1)) - np.log(rates.diagonal(-1))
    np.testing.assert_allclose(np.diff(found.log_p), steps, atol=1e-10)
    assert found.log_p.max() - found.log_p.min() > np.log(1e308)
    assert abs(np.logaddexp.reduce(found.log_p)) < 1e-12


def test_states_that_are_left_for_good_have_no_weight():
    swarm = observing(parse("a -> b : 1\nb <-> c : 2, 3"), ["a"], [["a"], ["b"], ["c"]])
    found = stationary.null_vector(swarm, (1,))
    assert found.outcomes.tolist() == [[0, 0, 1], [0, 1, 0]]
    np.testing.assert_allclose(np.exp(found.log_p), [0.4, 0.6])
    with pytest.raises(NetworkError, match="2 steady states"):
        stationary.null_vector(
            observing(parse("a -> b : 1\na -> c : 1"), "a", ["a"]), (1,)
        )


def test_too_many_states_in_one_sentence():
    with pytest.raises(NetworkError, match="up to 1500 states"):
        stationary.null_vector(paper.tasks(), (5, 5, 5))


def test_which_route():
    """A tree lists no states, so that a cap of states does not stop it."""
    many = (2000, 2000, 1)
    assert len(trees.observed(paper.pairs())(many).log_p) == 4001
    assert trees.observed(paper.tasks()) is None
