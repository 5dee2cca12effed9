"""Teams from YAML files: the example, and one sentence for every bad input."""

from pathlib import Path

import numpy as np
import pytest

from dplib.truthful.files import TeamFileError, read_team
from dplib.truthful.paper import hale_egerstedt
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


def read(tmp_path, text):
    path = tmp_path / "team.yml"
    path.write_text(text, encoding="utf-8")
    return read_team(path)


def test_the_example_of_the_book():
    team = read_team(EXAMPLE)
    assert team.names == ("scout", "relay", "base")
    assert team.index("base") == 2
    assert is_slater_point(team.problem, team.slater)
    assert saddle_point(team.problem).residual < 1e-10


def test_a_small_team(tmp_path):
    team = read(tmp_path, GOOD)
    assert team.problem.dims == (1, 1)
    np.testing.assert_array_equal(team.problem.weights, [1.0, 2.0])
    np.testing.assert_array_equal(team.problem.Q, [[[2, -2], [-2, 2]]])
    np.testing.assert_array_equal(team.problem.c, [-4.0])


def test_pairs_and_matrices_say_the_same(tmp_path):
    matrix = GOOD.replace(
        "pairs: [[ada, ben]]\n    limit: 4.0",
        "Q: [[2, -2], [-2, 2]]\n    a: [0, 0]\n    c: -4",
    )
    one, two = read(tmp_path, GOOD).problem, read(tmp_path, matrix).problem
    np.testing.assert_array_equal(one.Q, two.Q)
    np.testing.assert_array_equal(one.c, two.c)


def test_the_papers_instance_can_be_written_down(tmp_path):
    problem = hale_egerstedt()
    targets = problem.targets.reshape(8, 2).tolist()
    lines = ["agents:"]
    for i, target in enumerate(targets, start=1):
        box = "[[-10, 10], [-10, 10]]"
        lines.append(f"  - {{name: a{i}, box: {box}, target: {target}}}")
    lines.append("constraints:")
    for limit, pairs in (
        (5, "[a1, a2], [a1, a3]"),
        (3, "[a4, a5], [a4, a6]"),
        (3, "[a7, a8], [a7, a6]"),
        (5, "[a5, a3], [a5, a7]"),
    ):
        lines.append(f"  - {{pairs: [{pairs}], limit: {limit}}}")
    team = read(tmp_path, "\n".join(lines))
    for name in ("lower", "upper", "targets", "Q", "a", "c", "weights"):
        ours, theirs = getattr(team.problem, name), getattr(problem, name)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[[-9, 9]]\n    target: [0]",
            "[[9, -9]]\n    target: [0]",
            r"agent 1 \(ada\): 'box' must be intervals with low <= high",
        ),
        (
            "target: [0]",
            "target: [0, 1]",
            r"agent 1 \(ada\): 'target' must be a list of 1 numbers. Got \[0, 1\]",
        ),
        (
            "target: [4]",
            "target: [1e-5]",
            r"'target' must be a number without quotes, with a point .* Got '1e-5'",
        ),
        ("target: [4]", "target: [four]", r"'target' must be a number\. Got 'four'"),
        ("target: [4]", "target: [true]", "'target' must be a number. Got True"),
        ("target: [4]", "target: [.inf]", "'target' must be a finite number"),
        ("target: [4]", "target: 4", "'target' must be a list of 1 numbers. Got 4"),
        ("box: [[-9, 9]]", "box: [-9, 9]", "'box' must be a list of 2 numbers"),
        ("box: [[-9, 9]]", "box: []", r"'box' must be a list of \[low, high\]"),
        ("weight: 2", "weight: -2", "'weight' must be zero or greater. Got -2.0"),
        ("weight: 2", "wait: 2", "'wait' must be one of the fields name, box"),
        ("    target: [0]\n", "", "'target' must be given. Got 'nothing'"),
        ("name: ben", "name: ada", r"agent 2 \(ada\): 'name' must be used once"),
        ("name: ben", "name: 7", "agent 2: 'name' must be a word. Got 7"),
        ("[[ada, ben]]", "[[ada, bob]]", r"names of agents \(ada, ben\). Got 'bob'"),
        ("[[ada, ben]]", "[[ada, ada]]", "'pairs' must be of two different agents"),
        ("[[ada, ben]]", "[ada, ben]", "'pairs' must be a list of pairs of names"),
        ("[[ada, ben]]", "[]", "'pairs' must be a list of pairs of names"),
        ("limit: 4.0", "limit: 0", "'limit' must be above zero"),
        ("limit: 4.0", "limit: 4.0\n    extra: 1", "'extra' must be one of"),
        ("constraints:", "limits:", "must hold the lists 'agents' and 'constraints'"),
        ("agents:", "agents: 3\nx:", "must hold the lists"),
        (
            "  - pairs: [[ada, ben]]\n    limit: 4.0",
            "  []",
            "must be a list of at least",
        ),
        ("weight: 2", "weight: 2\n    weight: 3", "the field 'weight' is given twice"),
        ("weight: 2", "weight: [", "not YAML"),
    ],
)
def test_every_bad_input_is_one_sentence(tmp_path, old, new, message):
    assert GOOD.count(old) >= 1
    with pytest.raises(TeamFileError, match=message) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    text = str(caught.value)
    assert text.startswith("team.yml: ")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ("Q: [[2, -2]]\n    a: [0, 0]\n    c: -4", "'Q' must be 2 rows"),
        ("Q: [[2], [2]]\n    a: [0, 0]\n    c: -4", "'Q' must be a list of 2 numbers"),
        ("Q: [[2, 1], [0, 2]]\n    a: [0, 0]\n    c: -4", "'Q' must be symmetric"),
        (
            "Q: [[1, 0], [0, -1]]\n    a: [0, 0]\n    c: -4",
            r"'Q' must be positive semidefinite .* Got 'smallest eigenvalue -1'",
        ),
        ("Q: [[2, 0], [0, 2]]\n    a: [0]\n    c: -4", "'a' must be a list of 2"),
        ("Q: [[2, 0], [0, 2]]\n    a: [0, 0]", "'c' must be given"),
        ("Q: [[2, 0], [0, 2]]\n    a: [0, 0]\n    c: 4", "Problem 0 is infeasible"),
        (
            "Q: [[2, 0], [0, 2]]\n    a: [0, 0]\n    c: 0",
            "Problem 0 is without a Slater point",
        ),
    ],
)
def test_bad_matrices_and_missing_slater_points(tmp_path, matrix, message):
    text = GOOD.replace("pairs: [[ada, ben]]\n    limit: 4.0", matrix)
    with pytest.raises(TeamFileError, match=message) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith("team.yml: ")


def test_agents_of_different_dimension_have_no_distance(tmp_path):
    text = GOOD.replace(
        "box: [[-9, 9]]\n    target: [4]", "box: [[-9, 9], [0, 1]]\n    target: [4, 0]"
    )
    with pytest.raises(TeamFileError, match="agents with equally many coordinates"):
        read(tmp_path, text)


def test_files_that_are_none(tmp_path):
    with pytest.raises(TeamFileError, match=r"nowhere\.yml: there is no such file"):
        read_team(tmp_path / "nowhere.yml")
    path = tmp_path / "team.yml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TeamFileError, match=r"team\.yml: must be text in UTF-8"):
        read_team(path)
    with pytest.raises(TeamFileError, match="must hold the lists"):
        read(tmp_path, "")


def test_unknown_names():
    with pytest.raises(ValueError, match="There is no agent 'bob'; there are scout"):
        read_team(EXAMPLE).index("bob")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # YAML 1.1 reads these as 8, 90, 16 and 1000.
        ("limit: 4.0", "limit: 010", "line 12: '010' must be written as a plain"),
        ("limit: 4.0", "limit: 1:30", "line 12: '1:30' must be"),
        ("limit: 4.0", "limit: 0x10", "line 12: '0x10' must be"),
        ("limit: 4.0", "limit: 1_000", "line 12: '1_000' must be"),
        ("limit: 4.0", "limit: !!int four", "line 12: 'four' must be"),
        ("limit: 4.0", "limit: 1.0e-300", "'limit' must be at least 1e-60"),
        ("limit: 4.0", "limit: 1.0e+61", "'limit' must be at most 1e.60 in size"),
        ("weight: 2", "weight: !!bool two", "not YAML: 'two'"),
        ("target: [0]", "target: !!map [0]", "line 5: fields must be written"),
        ("    weight: 2", "    <<: {weight: 2}", "line 9: '<<' is not read"),
        ("name: ada", "name: ' ada'", "a word without spaces around it"),
        ("name: ada", 'name: "a\\nda"', "'name' must be a word"),
        ("target: [0]", "target: " + "[" * 5000, "nested too deeply"),
    ],
)
def test_what_looks_like_something_else_is_refused(tmp_path, old, new, message):
    assert GOOD.count(old) == 1
    with pytest.raises(TeamFileError, match=message) as caught:
        read(tmp_path, GOOD.replace(old, new))
    assert str(caught.value).startswith("team.yml: ")
    assert "\n" not in str(caught.value)


def test_what_is_found_is_shown_in_a_line_whatever_its_size(tmp_path):
    # Aliases of aliases: written out, ten to the power of eight ones.
    rows = [
        f"  {b}: &{b} [{', '.join([f'*{a}'] * 10)}]"
        for a, b in zip("abcdefg", "bcdefgh", strict=True)
    ]
    text = "\n".join(
        ["agents:", "  a: &a [" + "1, " * 10 + "]", *rows, "constraints: []"]
    )
    with pytest.raises(TeamFileError, match=r"at least one entry\. Got") as caught:
        read(tmp_path, text)
    assert len(str(caught.value)) < 160
    many = GOOD + "".join(f"k{i}: 1\n" for i in range(999))
    with pytest.raises(TeamFileError, match=r"nothing else\. Got") as caught:
        read(tmp_path, many)
    assert len(str(caught.value)) < 160


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_text_that_is_not_utf8_is_said_so(tmp_path, encoding):
    path = tmp_path / "team.yml"
    path.write_bytes(GOOD.replace("ada", "adé").encode(encoding))
    with pytest.raises(TeamFileError, match=r"must be text in UTF-8\. Got byte 0x"):
        read_team(path)


@pytest.mark.parametrize("change", ["\r\n", "mark"])
def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path, change):
    text = "\ufeff" + GOOD if change == "mark" else GOOD.replace("\n", change)
    path = tmp_path / "team.yml"
    path.write_bytes(text.encode())
    assert read_team(path).names == ("ada", "ben")


def test_a_path_that_cannot_be(tmp_path):
    with pytest.raises(TeamFileError, match="File name too long"):
        read_team("a" * 5000)
    with pytest.raises(TeamFileError, match="must be a file"):
        read_team(tmp_path)
