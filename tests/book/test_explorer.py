"""The table of an explorer holds what it was given, and nothing that is bad."""

import json
import re
from html import unescape

import pytest

from dplib.book import explorer

PLACES = ["0.1", "1", "ln 3"]
COST = explorer.Column("cost < 1", [0.9, 0.5, 0.25], lambda x: f"{100 * x:g} %")


def table(**changes):
    given = {"over": "ε", "at": PLACES, "start": "1", "columns": [COST]} | changes
    return explorer.markup("tiny", **given)


def test_rows_are_positions_and_cells_are_values_with_their_texts():
    html = table()
    assert "data-start='1'" in html
    assert re.findall(r"<th scope='row'>([^<]*)</th>", html) == PLACES
    cells = re.findall(r"<td data-value='([^']*)'>([^<]*)</td>", html)
    assert cells == [("0.9", "90 %"), ("0.5", "50 %"), ("0.25", "25 %")]
    assert "<th scope='col'>cost &lt; 1</th>" in html


def test_the_top_of_a_curve_is_its_largest_value_unless_given():
    other = explorer.Column("other", [1, 2, 3], str, top=10)
    assert "data-tops='0.9 10'" in table(columns=[COST, other])


def test_the_axis_of_a_curve_has_three_values_as_a_reader_sees_them():
    quoted = explorer.Column("length", [1, 2, 3], "{:g}'".format, top=4)
    found = re.search("data-ticks='([^']*)'", table(columns=[COST, quoted]))
    ticks = json.loads(unescape(found[1]))
    assert ticks == [["90 %", "45 %", "0 %"], ["4'", "2'", "0'"]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"start": "2"}, "'start' parameter of explorer.show must be one of"),
        ({"at": ["1", "2"]}, r"an array of shape \(2,\)"),
        ({"columns": [explorer.Column("x", [1, 2, float("nan")], str)]}, "finite"),
        ({"columns": [explorer.Column("x", [0, 0, 0], str)]}, "'top' parameter"),
    ],
)
def test_bad_arguments_are_met_with_a_sentence(changes, words):
    with pytest.raises(ValueError, match=words):
        table(**changes)


def test_show_displays_the_table(capsys):
    explorer.show("tiny", over="ε", at=PLACES, start="1", columns=[COST])
    assert "explorer of 1 quantities over ε" in capsys.readouterr().out
