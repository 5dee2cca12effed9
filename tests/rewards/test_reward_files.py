"""Reading a team and its rewards: what the example means, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from dplib.rewards import files

EXAMPLE = Path(__file__).parents[2] / "notebooks" / "rewards" / "my_rewards.yml"


def small():
    """Return a valid file of two agents, as a mapping."""
    return {
        "discount": 0.5,
        "agents": [
            {
                "name": "a",
                "grid": {"rows": 1, "columns": 2, "slip": 0.1, "law": "put"},
                "start": 1,
            },
            {"name": "b", "transitions": [[[0.5, 0.5]], [[0, 1]]], "start": 0},
        ],
        "rewards": {"default": -1, "rules": [{"at": {"a": 0, "b": 1}, "reward": 3}]},
        "privacy": {"b": 1.0, "delta": 0.01, "epsilon": [0.5, 1]},
    }


def read(tmp_path, raw):
    path = tmp_path / "mine.yml"
    path.write_text(raw if isinstance(raw, str) else yaml.safe_dump(raw))
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


def test_a_rule_without_words_is_about_all(tmp_path):
    raw = small()
    raw["rewards"]["rules"] += [
        {"reward": 7},
        {"who": "b", "at": {"a": 1}, "reward": 9},
    ]
    a, b = read(tmp_path, raw).example.tables
    assert np.all(a == 7)
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


@pytest.mark.parametrize("total", [0.995, 1.005, 1 - 1e-6])
def test_probabilities_add_up_to_one_within_rounding(tmp_path, total):
    raw = small()
    raw["agents"][1]["transitions"][1] = [[0.25, total - 0.25]]
    with pytest.raises(files.RewardFileError, match="probabilities that add up to 1"):
        read(tmp_path, raw)


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


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["discount"], 1.0, "'discount' must be a number from 0.01 to 0.9999. Got 1.0"),
        (["discount"], "5e-1", "with a point before e"),
        (["discount"], True, "'discount' must be a number"),
        (["discount"], None, "'discount' must be given"),
        (["colour"], 1, "'colour' must be one of the fields"),
        (["agents"], [], "'agents' must be a list of at least one entry"),
        (["agents", 0], 3, "agent 1: must be a mapping of fields. Got 3"),
        (["agents", 1, "name"], "a", "agent 2: 'name' must be a word, used once"),
        (["agents", 0, "start"], 2, "'start' must be a whole number from 0 to 1"),
        (["agents", 0, "grid", "law"], "far", "grid: 'law' must be one of other"),
        (["agents", 0, "grid", "rows"], 0, "'rows' must be a whole number from 1"),
        (["agents", 0, "grid"], None, "or else 'transitions'"),
        (["agents", 1, "transitions"], [[0.5]], "'transitions' must be a list of st"),
        (["agents", 1, "transitions"], [[[1, 0]], [[0]]], "2 of them in state 1, act"),
        (["agents", 1, "transitions"], [0.5], "'transitions' must be a list of st"),
        (["agents", 1, "transitions"], [[[1, 0]], []], "1 actions in state 1 as in 0"),
        (["agents", 1, "transitions"], [[[True, False]], [[0, 1]]], "Got True"),
        (["agents", 1, "transitions"], [[["1", "0"]], [[0, 1]]], "Got 1"),
        (["agents", 1, "transitions"], [[[None, 1]], [[0, 1]]], "Got None"),
        (["agents", 1, "transitions"], [[[10**400, 1]], [[0, 1]]], "from 0 to 1 in st"),
        (["agents", 1, "transitions"], [[[0, 1]] * 9] * 60_000, "60000 states of 9"),
        (["agents", 1, "name"], "ga\nte", "'name' must be a word of printable letters"),
        (["agents", 1, "name"], "\x1b[31m", "'name' must be a word of printable"),
        (["a\nb"], 1, "'a b' must be one of the fields"),
        (["\x07"], 1, "'?' must be one of the fields"),
        (
            ["agents", 0, "name"],
            "x" * 41,
            "'name' must be a word of at most 40 letters",
        ),
        (["agents"], [{}] * 71, "'agents' must be at most 16. Got 71"),
        (["rewards", "rules", 0, "who"], [], "'who' must be one agent or more"),
        (
            ["agents", 1, "transitions"],
            [[[0.5, 0.4]], [[0, 1]]],
            "that add up to 1. Got 0.9 in state 0, action 0",
        ),
        (["agents", 1, "transitions"], [[[2, -1]], [[0, 1]]], "from 0 to 1"),
        (["rewards", "rules", 0, "at"], {"c": 0}, "'at' must be agents among a, b"),
        (["rewards", "rules", 0, "at"], {"a": 2}, "'at' must be a whole number from 0"),
        (["rewards", "rules", 0, "at"], [0], "'at' must be a mapping"),
        (["rewards", "rules", 0, "who"], "c", "'who' must be agents among a, b"),
        (["rewards", "rules", 0, "action"], "up", "or one of north, south"),
        (["rewards", "rules", 0, "reward"], -1, "some joint reward is the largest"),
        (["privacy", "delta"], 0.5, "'delta' must be a number from 1e-12 to 0.49"),
        (["privacy", "epsilon"], [1, 1], "'epsilon' must be an ascending list"),
        (["privacy", "epsilon"], [-1], "'epsilon' must be a number from 0.01"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, path, value, words):
    with pytest.raises(files.RewardFileError) as caught:
        read(tmp_path, broken(path, value))
    text = str(caught.value)
    assert text.startswith("mine.yml: ")
    assert words in text
    assert "\n" not in text


def test_too_large_a_team_is_refused(tmp_path):
    raw = small()
    raw["agents"][0]["grid"].update(rows=20, columns=20)
    raw["agents"][1] = {**raw["agents"][0], "name": "b"}
    with pytest.raises(files.RewardFileError, match="at most 50000"):
        read(tmp_path, raw)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(files.RewardFileError, match="there is no such file"):
        files.read_rewards(tmp_path / "none.yml")
    with pytest.raises(files.RewardFileError, match="not YAML"):
        read(tmp_path, "a: [")
    with pytest.raises(files.RewardFileError, match="'discount' is given twice"):
        read(tmp_path, "discount: 1\ndiscount: 2\n")
    with pytest.raises(files.RewardFileError, match="must be a mapping of fields"):
        read(tmp_path, "- 1\n")
    with pytest.raises(TypeError, match="'path' parameter of read_rewards"):
        files.read_rewards(3)


@pytest.mark.parametrize("text", ["[" * 5000, "a: !!timestamp x", "a: 010"])
def test_what_yaml_itself_stumbles_on_is_one_sentence(tmp_path, text):
    path = tmp_path / "mine.yml"
    path.write_text(text)
    with pytest.raises(files.RewardFileError, match=r"^mine\.yml: "):
        files.read_rewards(path)
