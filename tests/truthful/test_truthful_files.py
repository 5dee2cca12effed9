"""Teams from YAML files: the example, and one sentence for every bad input."""

from pathlib import Path

import numpy as np
import pytest
from small_teams import PROBLEM, STARS, TABLE_I

from dplib.reader_files import ReaderFileError
from dplib.truthful.files import read_team
from dplib.truthful.problem import is_slater_point
from dplib.truthful.saddle import saddle_point

EXAMPLE = Path(__file__).parents[2] / "notebooks" / "truthful" / "my_team.yml"

GOOD = """
agents:
  - name: ada
    box: [[-9, 9]]
    target: [0]
  - name: ben
    box: [[-9, 9]]
    target: [4]
    weight: 2
constraints:
  - pairs: [[ada, ben]]
    limit: 4.0
"""
MATRIX = """Q: [[2, -2], [-2, 2]]
    a: [0, 0]
    c: -4"""


def read(tmp_path, text):
    path = tmp_path / "team.yml"
    path.write_text(text, encoding="utf-8")
    return read_team(path)


def test_the_example_of_the_book():
    team = read_team(EXAMPLE)
    assert team.names == ("scout", "relay", "base")
    assert is_slater_point(team.problem, team.slater)
    assert saddle_point(team.problem).residual < 1e-10


def test_pairs_and_matrices_say_the_same(tmp_path):
    matrix = GOOD.replace("pairs: [[ada, ben]]\n    limit: 4.0", MATRIX)
    for problem in (read(tmp_path, GOOD).problem, read(tmp_path, matrix).problem):
        assert problem.dims == (1, 1)
        np.testing.assert_array_equal(problem.weights, [1.0, 2.0])
        np.testing.assert_array_equal(problem.Q, [[[2, -2], [-2, 2]]])
        np.testing.assert_array_equal(problem.c, [-4.0])


def test_the_papers_instance_can_be_written_down(tmp_path):
    box = "[[-10, 10], [-10, 10]]"
    lines = ["agents:"] + [
        f"  - {{name: a{i}, box: {box}, target: {list(target)}}}"
        for i, target in enumerate(TABLE_I, start=1)
    ]
    lines.append("constraints:")
    for pairs, limit in STARS:
        names = ", ".join(f"[a{i}, a{k}]" for i, k in pairs)
        lines.append(f"  - {{pairs: [{names}], limit: {limit}}}")
    team = read(tmp_path, "\n".join(lines))
    for name in ("lower", "upper", "targets", "Q", "a", "c", "weights"):
        ours, theirs = getattr(team.problem, name), getattr(PROBLEM, name)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("box: [[-9, 9]]", "box: [[9, -9]]", r"agents\[0\].box .* low <= high"),
        ("box: [[-9, 9]]", "box: [-9, 9]", r"an interval \[low, high\]. Got 9"),
        ("box: [[-9, 9]]", "box: []", r"agents\[0\].box must be a list of \[low"),
        ("target: [0]", "target: [0, 1]", r"agents\[0\].target .* a list of 1 num"),
        ("target: [4]", "target: [four]", r"target\[0\] must be a number. Got 'four'"),
        ("target: [4]", "target: [true]", r"agents\[1\].target\[0\] .* Got True"),
        ("target: [4]", "target: [.inf]", r"target\[0\] must be a number. Got inf"),
        ("target: [4]", "target: 4", r"agents\[1\].target must be a list of numbers"),
        ("weight: 2", "weight: -2", r"agents\[1\].weight .* 0 or greater. Got -2"),
        ("weight: 2", "wait: 2", "unknown field 'wait'; did you mean 'weight'"),
        ("    target: [0]\n", "", r"agents\[0\] lacks the field 'target'"),
        ("name: ben", "name: ada", r"agents\[1\].name must be used once. Got 'ada'"),
        ("name: ben", "name: 7", r"agents\[1\].name must be a word. Got 7"),
        ("[[ada, ben]]", "[[ada, bob]]", r"pairs .* agents \(ada, ben\). Got .*'bob'"),
        ("[[ada, ben]]", "[[ada, ada]]", r"pairs must be of two different agents"),
        ("[[ada, ben]]", "[[ada, ben], [ben, ada]]", "pairs must be of pairs named"),
        ("[[-9, 9]]\n    target: [4]", "[[0, 9], [0, 9]]\n    target: [4, 4]", "pairs"),
        ("[[ada, ben]]", "[ada, ben]", r"pairs\[1\] must be a pair of names. Got 'ben"),
        ("limit: 4.0", "limit: 0", r"constraints\[0\].limit must be a number above 0"),
        ("constraints:", "limits:", "lacks the field 'constraints'"),
        ("weight: 2", "weight: 2\n    weight: 3", "line 10: found duplicate key"),
        ("weight: 2", "weight: [", "team.yml, line 1"),
    ],
)
def test_every_bad_input_is_one_sentence(tmp_path, old, new, message):
    assert GOOD.count(old) >= 1
    with pytest.raises(ReaderFileError, match=message) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert str(caught.value).startswith("team.yml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Q: [[2, -2], [-2, 2]]", "Q: [[2, -2]]", r"constraints\[0\].Q must be 2 rows"),
        ("[-2, 2]]", "[0, 2]]", "'Q' .* symmetric in constraint 0"),
        ("[[2, -2], [-2, 2]]", "[[1, 0], [0, -1]]", "positive semidefinite in const"),
        ("a: [0, 0]", "a: [0]", r"constraints\[0\].a must be a list of 2 numbers"),
        ("c: -4", "", r"constraints\[0\] lacks the field 'c'"),
        ("c: -4", "c: 4", "The problem is infeasible"),
        ("c: -4", "c: 0", "No Slater point was found"),
    ],
)
def test_bad_matrices_and_missing_slater_points(tmp_path, old, new, message):
    text = GOOD.replace("pairs: [[ada, ben]]\n    limit: 4.0", MATRIX)
    assert text.count(old) == 1
    with pytest.raises(ReaderFileError, match=message) as caught:
        read(tmp_path, text.replace(old, new))
    assert str(caught.value).startswith("team.yml: ")
