"""A reader's own team: what is read, and what is refused in one sentence."""

import numpy as np
import pytest

from dplib.planning.files import read_mission
from dplib.planning.grid import MapError, grid_team
from dplib.reader_files import ReaderFileError

GOOD = "map: |\n  A.b\n  B.a\nslip: 0.1\nhears: {B: [A]}\n"


def test_a_file_becomes_a_team(tmp_path):
    path = tmp_path / "mission.yml"
    path.write_text(GOOD, encoding="utf-8")
    mission = read_mission(path)
    assert mission.names == ("A", "B")
    assert mission.team.start == (0, 3)
    assert mission.team.target[5, 2]
    assert mission.team.depends == ((), (0,))
    assert mission.team.dead[4, 4]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("0.1", "1"), "slip must be a probability below 1"),
        (GOOD.replace("A.b", "A.bb"), "map: rows of different lengths"),
        (GOOD.replace("A.b", "A?b"), "map: an unknown character '\\?'"),
        (GOOD.replace("A.b", "A.."), "map: one B and one b are needed"),
        (GOOD.replace("{B: [A]}", "{C: [A]}"), "hears must be about agents"),
        (GOOD.replace("{B: [A]}", "{B: [A], A: [B]}"), "without a circle"),
        (GOOD.replace("{B: [A]}", "{B: [B]}"), "numbers of other agents"),
        (GOOD.replace("A.b\n  B.a", "...\n  ..."), "a map with one agent or more"),
        (GOOD.replace("A.b", "A.b" + 40 * ".").replace("B.a", "B.a" + 40 * "."), ""),
        ("slip: 0.1\n", "lacks the field 'map'"),
        (GOOD + "slips: 2\n", "did you mean 'slip'"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, text, words):
    path = tmp_path / "mission.yml"
    path.write_text(text, encoding="utf-8")
    if not words:  # 86 cells are not too many
        assert read_mission(path).team.n_states == 86**2
        return
    with pytest.raises(ReaderFileError, match=words) as caught:
        read_mission(path)
    assert str(caught.value).startswith("mission.yml")
    assert "\n" not in str(caught.value)


def test_too_large_a_map_is_refused(tmp_path):
    path = tmp_path / "mission.yml"
    row = "." * 50
    path.write_text(f"map: |\n  A{row}a\n  B{row}b\nslip: 0\n", encoding="utf-8")
    with pytest.raises(ReaderFileError, match="8000 joint positions"):
        read_mission(path)


def test_slips_and_blocked_steps():
    team, _ = grid_team("A.a", slip=0.9, depends=[()])
    law = team.transitions[0]
    np.testing.assert_allclose(law[0, 3], [0.5, 0.5, 0.0])  # west, off the map
    np.testing.assert_allclose(law[1, 2], [0.45, 0.45, 0.1])  # east, mostly slips
    np.testing.assert_allclose(law.sum(axis=2), 1.0)


def test_a_letter_twice_is_refused():
    with pytest.raises(MapError, match="one A and one a"):
        grid_team("AA.a", slip=0.1, depends=[()])
