"""Swarms: where robots start, what is seen, and who is adjacent."""

import numpy as np
import pytest

from dplib.macroscopic import paper
from dplib.macroscopic.network import NetworkError, parse
from dplib.macroscopic.swarm import Swarm, TypeChange, observing


def test_the_example_of_section_3_starts_as_printed():
    at = [paper.RESOURCE.network.index(name) for name in ("A", "B", "R", "AR", "BR")]
    assert paper.RESOURCE.start((2, 1))[at].tolist() == [2, 1, 2, 0, 0]
    assert paper.RESOURCE.start((1, 2))[at].tolist() == [1, 2, 2, 0, 0]


def test_the_tasks_have_21_reactions_of_nine_species():
    swarm = paper.tasks((2, 3, 5), (7, 11, 13))
    network = swarm.network
    assert (len(network.species), len(network.rates)) == (9, 21)
    # Four reactions in which a type meets a task, three in which it leaves one.
    values, times = np.unique(network.rates, return_counts=True)
    assert dict(zip(values, times, strict=True)) == {
        2: 4,
        3: 4,
        5: 4,
        7: 3,
        11: 3,
        13: 3,
    }
    seen = swarm.query @ np.ones(9, dtype=int)
    assert seen.tolist() == [3, 3, 3]


@pytest.mark.parametrize("counts", [(1,), (1, 2, 3), (-1, 2)])
def test_counts_are_one_for_each_type(counts):
    with pytest.raises(ValueError, match="'counts' parameter of Swarm"):
        paper.RESOURCE.start(counts)


def test_what_is_seen_are_disjoint_sums():
    network = parse("A <-> B : 1, 1")
    with pytest.raises(ValueError, match="two sets of what is seen"):
        observing(network, ["A"], [["A", "B"], ["B"]])
    with pytest.raises(ValueError, match="two sets of what is seen"):
        observing(network, ["A"], [["A", "A"]])
    with pytest.raises(NetworkError, match="no species 'C'"):
        observing(network, ["A"], [["C"]])
    with pytest.raises(ValueError, match="'homes' parameter"):
        Swarm(network, (0, 0), np.zeros(2, dtype=int), np.eye(2, dtype=int))
    with pytest.raises(ValueError, match="'B' parameter of others"):
        observing(network, ["A"], [["A"]], {"B": -1})


def test_adjacent_databases_differ_by_one_robot():
    every = list(TypeChange().neighbours((2, 1, 0)))
    assert sorted(every) == [(1, 1, 1), (1, 2, 0), (2, 0, 1), (3, 0, 0)]
    assert len(list(TypeChange().neighbours((5, 5, 5)))) == 6
    filled = list(TypeChange(empty_types=False).neighbours((2, 1, 0)))
    assert filled == [(1, 1, 1)]
    one_way = TypeChange(moves=((0, 1),))
    assert list(one_way.neighbours((2, 1, 0))) == [(1, 2, 0)]
    assert list(one_way.neighbours((0, 3, 0))) == []


def test_adjacency_is_symmetric():
    for counts in [(2, 1, 0), (0, 0, 3), (4, 4, 4)]:
        for other in TypeChange().neighbours(counts):
            assert counts in list(TypeChange().neighbours(other))


def test_no_moves_is_not_all_moves():
    assert list(TypeChange(moves=()).neighbours((2, 1))) == []


def test_no_type_is_empty_if_none_may_be():
    # (2, 4, 0) was listed: type 3 was empty before, and still is.
    full = TypeChange(empty_types=False)
    assert list(full.neighbours((3, 3, 0))) == [(2, 3, 1), (3, 2, 1)]
