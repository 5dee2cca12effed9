"""Structure of networks: counts by hand, exact conditions, and a second route."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.macroscopic import paper
from dplib.macroscopic.network import parse
from dplib.macroscopic.structure import (
    balanced_point,
    complexes,
    conservation_laws,
    deficiency,
    linkage_classes,
    weakly_reversible,
)

SWAP = """
    a + b <-> ab : 1, 1
    c + d <-> cd : 1, 1
    a + d <-> ad : 1, 1
    b + c <-> bc : 1, 1
    ab + cd <-> ad + bc : {}, 1
"""


def imbalance(network, log_c):
    """Return the largest relative gap between inflow and outflow of a complex."""
    found = complexes(network)
    flows = network.rates * np.exp(network.reactants @ log_c)
    n = len(found.members)
    out = np.bincount(found.reactant, flows, n)
    into = np.bincount(found.product, flows, n)
    return np.abs(out / into - 1).max()


@pytest.mark.parametrize(
    ("network", "n_complexes", "classes", "rank"),
    [
        (paper.RESOURCE.network, 4, 2, 2),
        (paper.pairs().network, 4, 2, 2),
        (paper.FIGURE_SIX.network, 8, 4, 4),
        (paper.two_routes().network, 7, 3, 3),
        (parse(SWAP.format(1)), 10, 5, 4),
        (parse("A -> B : 1\nB -> C : 1\nC -> A : 1"), 3, 1, 2),
        (parse("2 A <-> A + B : 1, 1\nA + B <-> 2 B : 1, 1"), 3, 1, 1),
    ],
)
def test_counts_by_hand(network, n_complexes, classes, rank):
    assert len(complexes(network).members) == n_complexes
    assert linkage_classes(network).max() + 1 == classes
    assert deficiency(network) == n_complexes - classes - rank
    assert len(conservation_laws(network)) == len(network.species) - rank


def test_complexes_stand_in_the_order_of_appearance():
    found = complexes(paper.pairs().network)
    assert found.members.tolist() == [
        [1, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 0, 0, 0, 1],
    ]
    assert found.reactant.tolist() == [0, 1, 2, 3]
    assert found.product.tolist() == [1, 0, 3, 2]


def test_the_tasks_cannot_be_undone():
    network = paper.tasks().network
    assert not weakly_reversible(network)
    assert balanced_point(network) is None
    assert len(conservation_laws(network)) == 3


# -- conservation laws -----------------------------------------------------------


def test_laws_of_a_tree_count_the_robots_of_each_type():
    network = paper.pairs().network  # r1, r2, r12, r3, r123
    assert sorted(conservation_laws(network).tolist()) == [
        [0, 0, 0, 1, 1],
        [0, 1, 1, 0, 1],
        [1, 0, 1, 0, 1],
    ]


def test_mixed_signs_only_where_needed():
    assert conservation_laws(parse("0 <-> A + B : 1, 1")).tolist() in (
        [[-1, 1]],
        [[1, -1]],
    )
    assert conservation_laws(parse("0 <-> A : 1, 1")).tolist() == []
    assert conservation_laws(parse("2 A <-> 3 B : 1, 1")).tolist() == [[3, 2]]


def test_laws_are_whole_and_hold():
    networks = [paper.tasks().network, paper.FIGURE_SIX.network, parse(SWAP.format(1))]
    for network in networks:
        laws = conservation_laws(network)
        assert not np.any(laws @ network.changes.T)
        assert np.all(laws >= 0)
        rank = len(network.species) - np.linalg.matrix_rank(network.changes)
        assert np.linalg.matrix_rank(laws) == len(laws) == rank


# -- complex balance -------------------------------------------------------------


@given(st.lists(st.integers(1, 9), min_size=8, max_size=8))
@settings(deadline=None)
def test_two_routes_are_balanced_exactly_if_their_cycle_is(kappa):
    k1, k2, k3, k4, k5, k6, k7, k8 = kappa
    network = paper.two_routes(kappa).network
    agree = Fraction(k1, k2) * Fraction(k5, k6) == Fraction(k3, k4) * Fraction(k7, k8)
    log_c = balanced_point(network)
    assert (log_c is not None) == agree
    if agree:
        assert imbalance(network, log_c) < 1e-12


def test_partners_that_swap_have_a_cycle_too():
    """N_C = 2 L, as the proof of Proposition 2 counts, is not enough."""
    assert balanced_point(parse(SWAP.format(1))) is not None
    assert balanced_point(parse(SWAP.format("1.000001"))) is None


@given(st.lists(st.floats(1e-6, 1e6), min_size=8, max_size=8))
@settings(deadline=None)
def test_deficiency_zero_is_balanced_for_all_rates(rates):
    text = "\n".join(
        f"{line} : {there!r}, {back!r}"
        for line, there, back in zip(
            ("r1 + r2 <-> r12", "r1 + r3 <-> r13", "r2 + r3 <-> r23", "r12 + r3 <-> r"),
            rates[::2],
            rates[1::2],
            strict=True,
        )
    )
    network = parse(text)
    log_c = balanced_point(network)
    assert imbalance(network, log_c) < 1e-11
    at = [network.index(name) for name in ("r1", "r2", "r3")]
    assert log_c[at].tolist() == [0, 0, 0]


def test_one_way_cycles_are_balanced_without_detailed_balance():
    """Weights of a class are those of its random walk, not ratios along an edge."""
    network = parse("A + B -> C : 2\nC -> D : 3\nD -> A + B : 5\nC -> A + B : 7")
    weights = np.exp(balanced_point(network)[[2, 3]])
    # C: 2 in, 3 + 7 out; D: 3 in, 5 out.
    np.testing.assert_allclose(weights, [1 / 5, 3 / 25], rtol=1e-14)


def test_parallel_reactions_add_up():
    one, two = parse("A <-> B : 3, 1"), parse("A -> B : 1\nA <-> B : 2, 1")
    np.testing.assert_allclose(balanced_point(one), balanced_point(two), rtol=1e-14)


def test_rates_over_three_hundred_orders_of_magnitude():
    steps = [f"s{k} <-> s{k + 1} : 1e150, 1e-150" for k in range(5)]
    log_c = balanced_point(parse("\n".join(steps)))
    np.testing.assert_allclose(np.diff(log_c), 300 * np.log(10), rtol=1e-14)
    # The condition is relative to such logarithms: balanced, and off by a thousandth.
    big = (1e100, 1e-100, 1e90, 1e-90, 1e80, 1e-80, 1e90, 1e-90)
    assert balanced_point(paper.two_routes(big).network) is not None
    off = (1.001e100, *big[1:])
    assert balanced_point(paper.two_routes(off).network) is None


def test_points_of_the_same_network_differ_by_conservation_laws_only():
    """The stationary distribution is that of any point: the swap is in the laws."""
    network = paper.pairs((2, 3, 5, 7)).network
    log_c = balanced_point(network)
    for law, t in itertools.product(conservation_laws(network), (-3.0, 2.0)):
        assert imbalance(network, log_c + t * law) < 1e-12
    for species in range(5):
        moved = log_c + np.eye(5)[species]
        assert imbalance(network, moved) > 0.1
