"""Points from grids, lists and CSV files: in order, once each, or refused."""

import codecs

import numpy as np
import pytest

from dplib.sweep import points as points_of
from dplib.sweep.errors import SweepError
from dplib.sweep.parameters import read_cell

PARAMETERS = read_cell("a = 0.5\nn = 3\nword = 'w'", "here")


def checked(points):
    return points_of.checked(points, PARAMETERS, "here")


def test_a_grid_counts_like_an_odometer():
    found = checked({"a": np.array([0.1, 1.0]), "n": range(1, 3)})
    assert [(p["a"], p["n"]) for p in found] == [(0.1, 1), (0.1, 2), (1.0, 1), (1.0, 2)]
    assert [list(p) for p in found] == [["a", "n", "word"]] * 4
    assert all(type(p["a"]) is float and type(p["n"]) is int for p in found)


def test_a_list_keeps_its_order_and_the_cell_its_own():
    found = checked([{"n": 2, "a": 3}, {}])
    assert found[0] == {"a": 3.0, "n": 2, "word": "w"}
    assert found[1] == {"a": 0.5, "n": 3, "word": "w"}
    assert list(found[0]) == ["a", "n", "word"]


@pytest.mark.parametrize(
    ("points", "error", "message"),
    [
        ({}, ValueError, "at least one name"),
        ({"a": []}, ValueError, "'a' parameter of the grid of sweep must be a list"),
        ({"a": 0.5}, TypeError, "must be a list of at least one value. Got 0.5"),
        ({"word": "w"}, TypeError, "must be a list of at least one value"),
        ({"a": (x for x in "12")}, TypeError, "must be a list of at least one value"),
        ({"b": [1]}, ValueError, r"in its parameters cell \(a, n, word\)"),
        ([], ValueError, "list of at least one point"),
        (None, TypeError, "list of at least one point"),
        ("a=1", TypeError, "list of at least one point"),
        ([("a", 1)], TypeError, "mappings from names to values"),
        ([{"a": 1}, {"a": 1.0}], ValueError, "Points 1 and 2 are the same: a=1.0"),
        ([{}, {"a": "0.5"}], ValueError, "Points 1 and 2 are the same"),
        ({"n": [1, 2, "1"]}, ValueError, "Points 1 and 3 are the same"),
    ],
)
def test_what_is_no_point_or_a_point_twice_is_refused(points, error, message):
    with pytest.raises(error, match=message):
        checked(points)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=0.1,1,10", ("a", ["0.1", "1", "10"])),
        (" a =1", ("a", ["1"])),
        ('word="x,y",z', ("word", ["x,y", "z"])),
        ('word=""', ("word", [""])),
        ("word=,x", ("word", ["", "x"])),
        ("word=k=v", ("word", ["k=v"])),
    ],
)
def test_an_option_is_a_name_and_values(text, expected):
    assert points_of.grid_option(text) == expected


@pytest.mark.parametrize("text", ["a", "=1", "a=", 'a="1', "a=1\n2"])
def test_another_option_is_refused(text):
    with pytest.raises(ValueError, match="'--grid' parameter of sweep must be of"):
        points_of.grid_option(text)


def csv_file(folder, text):
    path = folder / "points.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "a,n\n1e-5,1\n0.1,2\n",
        codecs.BOM_UTF8 + b"a,n\n1e-5,1\n0.1,2\n",
        "a, n\r\n1e-5, 1\r\n0.1,2\r\n\r\n",
        'a,"n"\n"1e-5",1\n\n0.1,2',
    ],
)
def test_a_file_gives_one_point_a_line(tmp_path, text):
    found = checked(points_of.from_csv(csv_file(tmp_path, text)))
    assert [(p["a"], p["n"]) for p in found] == [(1e-5, 1), (0.1, 2)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a line of names and at least one point"),
        ("a,n\n", "a line of names and at least one point"),
        ("a,a\n1,2\n", "has the column 'a' twice"),
        ("a, a\n1,2\n", "has the column 'a' twice"),
        (",a\n0,1\n", "a column without a name"),
        (
            "a,n\n1\n",
            "Row 2 of .* must have a value for each of the 2 names.*Got 1 instead",
        ),
        (
            "a,n\n1,2\n1,2,3\n",
            "Row 3 of .* must have a value for each of the 2 names.*Got 3 instead",
        ),
        (b"a\n\xff\n", "cannot be read"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path, text, message):
    with pytest.raises(SweepError, match=message):
        points_of.from_csv(csv_file(tmp_path, text))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SweepError, match="cannot be read: No such file or directory"):
        points_of.from_csv(tmp_path / "none.csv")


def test_a_file_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "points.csv"
    path.write_bytes("a\n1\n".encode("utf-16"))
    with pytest.raises(SweepError, match="cannot be read: it is not in UTF-8"):
        points_of.from_csv(path)


def test_a_file_and_a_grid_multiply_and_do_not_share_names():
    rows = [{"a": "1"}, {"a": "2"}]
    found = list(points_of.product(rows, {"n": ["1", "2"]}))
    assert found[1] == {"a": "1", "n": "2"}
    assert len(found) == 4
    with pytest.raises(ValueError, match=r"that the file lacks\. Got 'a'"):
        points_of.product(rows, {"a": ["1"]})


def test_a_file_with_a_broken_quote_is_refused(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text('epsilon,mechanism\n1,"in"put\n')
    with pytest.raises(SweepError, match="cannot be read"):
        points_of.from_csv(path)
