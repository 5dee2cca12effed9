"""Reading a team and its rewards: what the example means, and what is refused."""

import json
from pathlib import Path

import pytest

from dplib.reader_files import ReaderFileError
from dplib.rewards import files

EXAMPLE = Path(__file__).parents[2] / "notebooks" / "rewards" / "my_rewards.yml"


def small():
    """Return a valid file of two agents, as a mapping."""
    grid = {"rows": 1, "columns": 2, "slip": 0.1, "law": "put"}
    return {
        "discount": 0.5,
        "agents": [
            {"name": "a", "grid": grid, "start": 1},
            {"name": "b", "transitions": [[[0.5, 0.5]], [[0, 1]]], "start": 0},
        ],
        "rewards": {"default": -1, "rules": [{"at": {"a": 0, "b": 1}, "reward": 3}]},
        "privacy": {"b": 1.0, "delta": 0.01, "epsilon": [0.5, 1]},
    }


def read(tmp_path, raw):
    path = tmp_path / "mine.yml"
    path.write_text(json.dumps(raw))
    return files.read_rewards(path)


def test_the_example_reads():
    mine = files.read_rewards(EXAMPLE)
    team = mine.example
    assert mine.names == ("picker", "gate")
    assert (team.model.n_states, team.model.n_actions) == (18, 10)
    # Cell 0 with the gate open; the picker stays (4), the gate is left alone (0).
    assert (team.goal_state, team.goal_action) == (1, 4 * 2 + 0)
    assert team.start == 8 * 2
    picker, gate = team.tables
    assert picker[1].tolist() == [-1, -1, -1, -1, 10]
    assert gate[1].tolist() == [10, -2]
    assert gate[3].tolist() == [-1, -2]


def test_later_rules_win_and_a_rule_without_words_is_about_all(tmp_path):
    raw = small()
    raw["rewards"]["rules"] += [
        {"reward": 7},
        {"who": ["b"], "at": {"a": 1}, "reward": 9},
        {"who": "a", "action": 2, "reward": 1},
        {"who": "a", "action": "stay", "reward": 2},
    ]
    a, b = read(tmp_path, raw).example.tables
    assert a.tolist() == [[7, 7, 1, 7, 2]] * 4
    assert b[:, 0].tolist() == [7, 7, 9, 9]


def test_the_goal_is_the_largest_joint_reward(tmp_path):
    """More states than actions: state and action must not change places."""
    raw = small()
    raw["agents"][0]["grid"]["columns"] = 3
    raw["rewards"]["rules"] = [{"at": {"a": 2, "b": 1}, "reward": 3}]
    team = read(tmp_path, raw).example
    assert team.rewards.shape == (6, 5)
    assert (team.goal_state, team.goal_action) == (5, 0)
    assert team.rewards[5, 0] == team.rewards.max()


def broken(path, value):
    """Return the small file with one place changed; `None` takes the field away."""
    raw = small()
    place = raw
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return raw


LARGE = {"rows": 20, "columns": 20, "slip": 0.1, "law": "put"}
MOVES = ["agents", 1, "transitions"]
RULE = ["rewards", "rules", 0]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["discount"], 1.0, "discount must be a number from 0.01 to 0.9999. Got 1.0"),
        (["discount"], True, "discount must be a number"),
        (["discount"], float("nan"), "discount must be a number"),
        (["discount"], None, "the file lacks the field 'discount'"),
        (["colour"], 1, "the file has an unknown field 'colour'"),
        (["agents"], [], "agents must be a list of at least one entry"),
        (["agents", 0], 3, "agents[0] must be a mapping of name, start, and one of"),
        (["agents", 0, "grid"], None, "one of grid and transitions"),
        (["agents", 1, "grid"], LARGE, "one of grid and transitions"),
        (["agents", 1, "name"], "a", "agents must be agents of different names"),
        (["agents", 1, "name"], "ga\nte", "agents[1].name must be one short word"),
        (["agents", 0, "start"], 2, "agents[0].start must be one of [0, 1]. Got 2"),
        (["agents", 0, "grid", "law"], "far", "law must be one of other action, any"),
        (["agents", 0, "grid", "rows"], 0, "rows must be a whole number from 1 to 20"),
        (["agents", 0, "grid"], LARGE | {"rows": 1.5}, "a whole number from 1 to 20"),
        (MOVES, [[[2, -1]], [[0, 1]]], "must be a number from 0 to 1"),
        (MOVES, [[["1", "0"]], [[0, 1]]], "must be a number from 0 to 1"),
        (MOVES, [[0.5]], "must be a list of at least one entry"),
        (MOVES, [[[1, 0]], [[0]]], "must be an array of shape"),
        (MOVES, [[[0.5, 0.4]], [[0, 1]]], "Got a sum of 0.9 in agent 1, state 0"),
        (MOVES, [[[0.5, 0.499999]], [[0, 1]]], "must be probabilities that sum to 1"),
        ([*RULE, "at"], {"c": 0}, "rules[0].at must be one of ['a', 'b']. Got 'c'"),
        ([*RULE, "at"], {"a": 2}, "rules[0].at.a must be one of [0, 1]. Got 2"),
        ([*RULE, "at"], [0], "rules[0].at"),
        ([*RULE, "who"], "c", "rules[0].who must be one of ['a', 'b']. Got 'c'"),
        ([*RULE, "who"], [], "rules[0].who"),
        ([*RULE, "action"], "up", "rules[0].action must be one of ['north', 'south'"),
        ([*RULE, "action"], 5, "rules[0].action must be one of ['north', 'south'"),
        ([*RULE, "reward"], -1, "such that some joint reward is the largest"),
        (["privacy", "delta"], 0.5, "delta must be a number from 1e-12 to 0.49"),
        (["privacy", "epsilon"], [-1], "must be a number from 0.01 to 100. Got -1"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, path, value, words):
    with pytest.raises(ReaderFileError) as caught:
        read(tmp_path, broken(path, value))
    text = str(caught.value)
    assert text.startswith("mine.yml: ")
    assert words in text
    assert "\n" not in text


def test_too_large_a_team_is_refused(tmp_path):
    raw = small()
    raw["agents"] = [{"name": name, "grid": LARGE, "start": 0} for name in "ab"]
    with pytest.raises(ReaderFileError, match="at most 50000"):
        read(tmp_path, raw)
