"""Collaboration trees against enumeration, fractions and the generator."""

from fractions import Fraction
from itertools import product, repeat
from math import factorial, prod
from math import log as ln

import numpy as np
import pytest

from dplib.macroscopic import paper, stationary, trees
from dplib.macroscopic.distribution import observe
from dplib.macroscopic.leakage import leakage
from dplib.macroscopic.network import parse
from dplib.macroscopic.swarm import TypeChange, observing

TERNARY = parse(
    """
    a + b + c <-> abc : 2, 3
    abc + d <-> abcd : 0.5, 4
    e + f <-> ef : 1, 7
    """
)
SWARMS = {
    "pairs": (paper.pairs((0.3, 2, 5, 0.7)), (3, 4, 2)),
    "three parts, two trees, public robots, unseen species": (
        observing(
            TERNARY, "abde", [["a", "b"], ["abc", "ef"], ["e"]], {"c": 2, "f": 1}
        ),
        (2, 3, 1, 2),
    ),
}


@pytest.mark.parametrize("name", SWARMS)
def test_tree_is_product_form_is_null_vector(name):
    swarm, counts = SWARMS[name]
    found = trees.observed(swarm)(counts)
    for states in (stationary.product_form, stationary.null_vector):
        other = observe(states(swarm, counts), swarm.query)
        assert np.array_equal(found.outcomes, other.outcomes)
        np.testing.assert_allclose(found.log_p, other.log_p, atol=1e-11)


@pytest.mark.parametrize(
    ("text", "homes"),
    [
        ("A + C -> 0 : 1\nA <-> B : 1, 1", "AC"),
        ("A + B <-> 0 : 1, 1", "AB"),
        ("A + B <-> A : 1, 1", "B"),
    ],
)
def test_what_makes_no_compound_is_no_tree(text, homes):
    assert trees.observed(observing(parse(text), homes, [["B"]])) is None


def test_robots_that_leave_in_pairs():
    swarm = observing(parse("A + C -> 0 : 1\nA <-> B : 1, 1"), "AC", [["A"], ["B"]])
    found = stationary.observed(swarm)((2, 1))
    assert found.outcomes.tolist() == [[0, 1], [1, 0]]
    np.testing.assert_allclose(found.log_p, ln(1 / 2))


def exact_pairs(n1, n2, n3, k, ell):
    """Return the distribution of Equation 18 in fractions, k and ell ratios."""
    weights = {}
    for pair, triple in product(range(n1 + 1), range(n3 + 1)):
        single = n1 - pair - triple, n2 - pair - triple, n3 - triple
        if min(single) >= 0:
            bottom = prod(map(factorial, (*single, pair, triple)))
            weights[sum(single), pair, triple] = (
                Fraction(k) ** pair * Fraction(k * ell) ** triple / bottom
            )
    total = sum(weights.values())
    return {y: w / total for y, w in weights.items()}


def test_pairs_in_fractions():
    exact = exact_pairs(4, 5, 3, Fraction(1, 2), Fraction(3))
    found = trees.observed(paper.pairs((1, 2, 6, 2)))((4, 5, 3))
    assert [tuple(y) for y in found.outcomes.tolist()] == sorted(exact)
    np.testing.assert_allclose(
        np.exp(found.log_p), [float(exact[y]) for y in sorted(exact)], rtol=1e-13
    )


def test_figure_eight_minimum_and_a_tail_beyond_floats():
    law = stationary.observed(paper.pairs())
    found = leakage(law, (220, 220, 200), nu=1e-5, adjacency=TypeChange())
    assert abs(found.value - 1.902630731127) < 1e-11
    # No robot collaborates: ln of the fraction.
    least = exact_pairs(30, 30, 20, 1, 1)[80, 0, 0]
    log = law((30, 30, 20)).log_probability((80, 0, 0))
    assert abs(log - (ln(least.numerator) - ln(least.denominator))) < 1e-10
    assert law((220, 220, 200)).log_p.min() < -1900


def test_what_is_no_tree_is_not_taken_for_one():
    for text in (
        "a + b <-> ab : 1, 1\nb + c <-> bc : 1, 1",  # b is part of two
        "a + b <-> ab : 1, 1\nc + d <-> ab : 1, 1",  # ab is made in two ways
        "a + b -> ab : 1",  # no way back
        "2 a <-> aa : 1, 1",
        "a + b <-> ab : 1, 1\na -> b : 1",
        "a + b <-> c : 1, 1\nc + d <-> a : 1, 1",  # a circle
    ):
        network = parse(text)
        home = network.species[0]
        assert trees.observed(observing(network, [home], [[home]])) is None
    started = observing(SWARMS["pairs"][0].network, ["r12"], [["r1"]])
    assert trees.observed(started) is None


def shape_text(shape, rates, names=None):
    """Return the reactions of a binary tree, and its species with their sizes."""
    names, lines, sizes = iter(names or map(str, range(1000))), [], {}

    def grown(part):
        name = "s" + next(names)
        if part:
            left, right = map(grown, part)
            lines.append(f"{left} + {right} <-> {name} : {next(rates)}, 2")
            sizes[name] = sizes[left] + sizes[right]
        else:
            sizes[name] = 1
        return name

    grown(shape)
    return "\n".join(lines), sizes


def by_size(shape, rates):
    text, sizes = shape_text(shape, iter(rates))
    singles = [name for name, size in sizes.items() if size == 1]
    seen = [
        [name for name, size in sizes.items() if size == one]
        for one in sorted(set(sizes.values()))
    ]
    return observing(parse(text), singles, seen)


@pytest.mark.parametrize("shape", trees.binary_shapes(5))
@pytest.mark.parametrize("robots", [1, 2])
def test_leakage_of_a_study_is_that_of_definition_three(shape, robots):
    """All neighbours by symmetry give what all of them one by one give."""
    swarm = by_size(shape, [3.0] * 4)
    law = trees.observed(swarm)
    nus = [1e-2, 1e-5]
    forest = trees.by_size(5, robots)
    tree = trees.plant(forest, shape, robots, repeat(1.5))
    both = list(forest.compared(tree))
    for nu in nus:
        one = max(np.abs(np.log((p + nu) / (q + nu))).max() for p, q in both)
        slow = leakage(law, (robots,) * 5, nu=nu, adjacency=TypeChange())
        assert abs(slow.value - one) < 1e-10
    np.testing.assert_allclose(
        forest.distribution(tree).log_p, law((robots,) * 5).log_p, atol=1e-12
    )


@pytest.mark.parametrize("wrong", ["weights", "used", "factorial"])
def test_a_wrong_recursion_is_noticed(monkeypatch, wrong):
    """The ratio of a part forgotten, robots used twice, or a factorial left out."""
    swarm, counts = SWARMS["pairs"]
    right = trees.observed(swarm)(counts).log_p
    compound, gammaln = trees._compound, trees.gammaln
    if wrong == "weights":
        monkeypatch.setattr(
            trees, "_compound", lambda p, key, _, top: compound(p, key, 0.0, top)
        )
    elif wrong == "used":
        monkeypatch.setattr(trees, "_product", lambda _, b, f=trees._product: f(b, b))
    else:
        monkeypatch.setattr(trees, "gammaln", lambda n: 0.0 * gammaln(n))
    found = trees.observed(swarm)(counts).log_p
    assert found.shape != right.shape or np.abs(found - right).max() > 1e-3


def test_wedderburn_etherington_by_recursion():
    counts = [0, 1]
    for n in range(2, 13):
        pairs = sum(counts[i] * counts[n - i] for i in range(1, n))
        counts.append((pairs + (counts[n // 2] if n % 2 == 0 else 0)) // 2)
        assert len(set(trees.binary_shapes(n))) == counts[n]


def test_too_many_observations_in_one_sentence():
    with pytest.raises(ValueError, match="below 2\\^62"):
        trees.by_size(16, 50)


def test_memory_is_given_back():
    forest = trees.by_size(6, 1)
    shape = trees.binary_shapes(6)[0]
    tree = trees.plant(forest, shape, 1, repeat(1.0))
    before = forest.distribution(tree).log_p
    held = len(forest._known)
    forest.forget(3)
    assert len(forest._known) < held
    assert np.array_equal(forest.distribution(tree).log_p, before)
