"""A reader's own team: what is read, and what is refused in one sentence."""

import numpy as np
import pytest

from dplib.planning.files import read_mission
from dplib.planning.grid import MapError, grid_team
from dplib.reader_files import ReaderFileError
from dplib.sweep import notebook as sweep_notebook

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
        (GOOD.replace("0.1", "-0.1"), "slip must be a probability below 1"),
        (GOOD.replace("A.b", "A.bb"), "map: rows of different lengths"),
        (GOOD.replace("A.b", "A?b"), "map: an unknown character '\\?'"),
        (GOOD.replace("A.b", "A.."), "map: one B and one b are needed"),
        (GOOD.replace("{B: [A]}", "{C: [A]}"), "hears must be about agents"),
        (
            GOOD.replace("{B: [A]}", "{B: [A], A: [B]}"),
            "hears must be free of circles. Got '(A hears B hears A|B hears A)",
        ),
        (GOOD.replace("{B: [A]}", "{B: [B]}"), "hears.B must be a list of other"),
        (GOOD.replace("{B: [A]}", "{B: [A, A]}"), "each once. Got 'A, A'"),
        (GOOD.replace("A.b", "A b"), "map: an unknown character ' '"),
        (GOOD.replace("A.b", "A . b"), "map: an unknown character ' '"),
        (GOOD.replace("  B.a", "   B.a"), "map: an unknown character ' '"),
        (GOOD.replace("A.b\n", "A.b\n\n"), "map: an empty row"),
        (GOOD.replace(".b", "ıb"), "map: an unknown character 'ı'"),
        ("map: Σ.σς\nslip: 0\n", "a map with one agent or more"),
        (GOOD.replace("A.b\n  B.a", "A#b\n  B#a"), "map: no moves bring all agents"),
        (GOOD.replace("A.b\n  B.a", "A~b\n  B~a"), "map: no moves bring all agents"),
        (GOOD.replace("A.b\n  B.a", "...\n  ..."), "a map with one agent or more"),
        ("slip: 0.1\n", "lacks the field 'map'"),
        (GOOD + "slips: 2\n", "did you mean 'slip'"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, text, words):
    path = tmp_path / "mission.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReaderFileError, match=words) as caught:
        read_mission(path)
    assert str(caught.value).startswith("mission.yml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "most"),
    [
        (["A" + 50 * "." + "a", "B" + 50 * "." + "b"], "100 cells or fewer for 2"),
        (["Aa" + 199 * "."], "200 cells or fewer for 1"),
        (["Aab..", "Bc...", "C...."], "12 cells or fewer for 3"),
    ],
)
def test_too_large_a_map_is_refused(tmp_path, rows, most):
    path = tmp_path / "mission.yml"
    drawn = "\n  ".join(rows)
    path.write_text(f"map: |\n  {drawn}\nslip: 0\n", encoding="utf-8")
    with pytest.raises(ReaderFileError, match=f"map must be of {most} agents"):
        read_mission(path)


def test_a_map_of_the_largest_size_is_read(tmp_path):
    path = tmp_path / "mission.yml"
    row = 41 * "."
    path.write_text(f"map: |\n  A.b{row}\n  B.a{row}\nslip: 0\n", encoding="utf-8")
    assert read_mission(path).team.n_states == 88**2


def test_indented_maps_and_empty_lines_around_them_are_read_alike():
    plain, _ = grid_team("A.b\nB.a", slip=0.1, depends=[(), (0,)])
    spaced, _ = grid_team("\n   \n    A.b  \n    B.a\n\n", slip=0.1, depends=[(), (0,)])
    assert spaced.start == plain.start == (0, 3)
    assert spaced.shape == (6, 6)


def test_agents_that_block_each_other_are_refused(tmp_path):
    """Alone each gets home; together one must wait on the other's only way."""
    path = tmp_path / "mission.yml"
    text = "map: |\n  {}\nslip: 0\n"
    path.write_text(text.format("AbBa"), encoding="utf-8")
    read_mission(path)  # they swap cells, which is no collision
    path.write_text(text.format("bA#aB"), encoding="utf-8")
    with pytest.raises(ReaderFileError, match="no moves bring all agents"):
        read_mission(path)


def test_the_page_for_a_team_of_your_own_can_be_swept():
    """Once its cells assigned parameters again, which a sweep refuses."""
    page = sweep_notebook.read("planning/08_your_team")
    names = [one.name for one in page.parameters]
    assert {"epsilon", "beta", "mission_file"} <= set(names)


def test_the_slip_and_all_listeners_of_a_file_reach_the_team(tmp_path):
    path = tmp_path / "mission.yml"
    drawn = "Ab.\n  Bc.\n  C.a"
    text = f"map: |\n  {drawn}\nslip: 0.1\nhears: {{C: [B, A], B: [A]}}\n"
    path.write_text(text, encoding="utf-8")
    team = read_mission(path).team
    assert team.depends == ((), (0,), (0, 1))
    whole, _ = grid_team(drawn.replace(" ", ""), slip=0.1, depends=team.depends)
    for law, same in zip(team.transitions, whole.transitions, strict=True):
        np.testing.assert_array_equal(law, same)
    assert team.transitions[0][2, 3, 1] == pytest.approx(0.9)  # west


def test_three_agents_collide_in_pairs_and_meet_at_their_letters():
    team, names = grid_team("Ab.\nBc~\nC.a", slip=0.1, depends=[()] * 3)
    assert names == ("A", "B", "C")
    assert team.start == (0, 3, 6)
    assert np.argwhere(team.target).tolist() == [[8, 1, 4]]
    for cells in np.ndindex(team.shape):
        assert team.dead[cells] == (len(set(cells)) < 3 or 5 in cells)


def test_slips_and_blocked_steps():
    team, _ = grid_team("A.a", slip=0.9, depends=[()])
    law = team.transitions[0]
    np.testing.assert_allclose(law[0, 3], [0.5, 0.5, 0.0])  # west, off the map
    np.testing.assert_allclose(law[1, 2], [0.45, 0.45, 0.1])  # east, mostly slips
    np.testing.assert_allclose(law.sum(axis=2), 1.0)


def test_a_letter_twice_is_refused():
    with pytest.raises(MapError, match="one A and one a"):
        grid_team("AA.a", slip=0.1, depends=[()])
