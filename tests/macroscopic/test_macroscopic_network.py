"""Networks: what the text form means, what is refused, and how reactions fire."""

import numpy as np
import pytest

from dplib.macroscopic.network import Network, NetworkError, parse


def test_the_text_form_means_what_it_says():
    network = parse(
        """
        # robots in pairs
        A + R <-> AR : 3, 1   # there and back
        2 A -> B : 0.5
        0 -> A : 1e-3
        B -> 0 : 2
        """
    )
    assert network.species == ("A", "R", "AR", "B")
    assert network.rates.tolist() == [3, 1, 0.5, 1e-3, 2]
    assert network.reactants.tolist() == [
        [1, 1, 0, 0],
        [0, 0, 1, 0],
        [2, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 1],
    ]
    assert network.products[:2].tolist() == network.reactants[1::-1].tolist()
    assert network.changes[2].tolist() == [-2, 0, 0, 1]


def test_a_species_named_twice_counts_twice():
    assert parse("A + A -> 2 * B : 1").reactants.tolist() == [[2, 0]]
    assert parse("A + 2A -> B : 1").reactants.tolist() == [[3, 0]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no reaction"),
        ("# nothing", "there is no reaction"),
        ("A -> B : 1\nA + : 3", "line 2: 'A + : 3' is no reaction"),
        ("A -> B", "line 1: 'A -> B' is no reaction"),
        ("A -> B : fast", "line 1: a rate must be positive, not 'fast'"),
        ("A -> B : 0", "line 1: a rate must be positive, not '0'"),
        ("A <-> B : 1, nan", "line 1: a rate must be positive, not 'nan'"),
        ("A -> B : inf", "line 1: a rate must be positive, not 'inf'"),
        ("A <-> B : 1", "line 1: '<->' needs two rates"),
        ("A -> B : 1, 2", "line 1: '->' needs one rate"),
        ("A + 3 -> B : 1", "line 1: '3' is no species"),
        ("0 A -> B : 1", "line 1: '0 A' is no species"),
        ("A -> B-C : 1", "line 1: 'B-C' is no species"),
        ("A + -> B : 1", "line 1: '' is no species"),
    ],
)
def test_one_sentence_names_line_and_species(text, says):
    with pytest.raises(NetworkError) as caught:
        parse(text)
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)


def test_an_unknown_species_is_named_with_the_known_ones():
    with pytest.raises(NetworkError, match="no species 'C'; there are A, B"):
        parse("A -> B : 1").vector(["A", "C"])


def test_rates_of_a_network_are_positive_and_finite():
    with pytest.raises(ValueError, match="'rates' parameter of Network"):
        Network(("A",), [[1]], [[0]], [-1.0])


def test_reactions_fire_in_falling_factorials():
    """Two robots in A are one pair; one robot is none: x squared would fire."""
    pairs = parse("2 A -> B : 0.5\n3 A + B -> C : 1")
    assert pairs.propensities([2, 7, 0]).tolist() == [1, 0]
    assert pairs.propensities([1, 7, 0]).tolist() == [0, 0]
    assert pairs.propensities([0, 7, 0]).tolist() == [0, 0]
    states = [[4, 2, 0], [5, 0, 1]]
    assert pairs.propensities(states).tolist() == [[6, 48], [10, 0]]


def test_arrays_are_read_only():
    network = parse("A -> B : 1")
    for value in (network.reactants, network.products, network.rates):
        with pytest.raises(ValueError, match="read-only"):
            value[0] = 2


def test_networks_keep_their_own_copy():
    reactants = np.array([[1, 0]])
    network = Network(("A", "B"), reactants, [[0, 1]], [1.0])
    reactants[0, 0] = 5
    assert network.reactants.tolist() == [[1, 0]]
