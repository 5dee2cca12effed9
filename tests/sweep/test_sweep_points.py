"""Points from grids, ranges, lists and CSV files: once each, or refused."""

import codecs

import numpy as np
import pytest

from dplib.sweep import points as points_of
from dplib.sweep.parameters import RefusedError, read_cell

PARAMETERS = read_cell("a = 0.5\nn = 3\nword = 'w'", "here")


def checked(rows, **axes):
    return points_of.checked(rows, axes, PARAMETERS, "here")


def test_a_grid_counts_like_an_odometer():
    found = checked([{}], a=np.array([0.1, 1.0]), n=range(1, 3))
    assert [(p["a"], p["n"]) for p in found] == [(0.1, 1), (0.1, 2), (1.0, 1), (1.0, 2)]
    assert [list(p) for p in found] == [["a", "n", "word"]] * 4
    assert all(type(p["a"]) is float and type(p["n"]) is int for p in found)


def test_what_is_not_given_keeps_its_default():
    found = checked([{"n": 2, "a": 3}, {}])
    assert found == (
        {"a": 3.0, "n": 2, "word": "w"},
        {"a": 0.5, "n": 3, "word": "w"},
    )
    assert list(found[0]) == ["a", "n", "word"]


def test_rows_and_a_grid_multiply():
    found = checked([{"a": "1"}, {"a": "2"}], n=["1", "2"])
    assert [(p["a"], p["n"]) for p in found] == [(1, 1), (1, 2), (2, 1), (2, 2)]


@pytest.mark.parametrize(
    ("rows", "axes", "message"),
    [
        ([{}], {"a": []}, "'a' parameter of here must be given a list of values"),
        ([{}], {"word": "w"}, "must be given a list of values. Got 'w'"),
        ([{}], {"b": [1]}, r"in its parameters cell \(a, n, word\)"),
        ([{"wrod": 1}], {}, r"did you mean 'word'\?.*Got 'wrod'"),
        ([{1: 1}], {}, "given by names"),
        ([], {}, "at least one point"),
        ([{"a": 1}], {"a": [2]}, "that no single point gives. Got 'a'"),
        ([{"a": 1}, {"a": 1.0}], {}, "Points 1 and 2 are the same: a=1.0"),
        ([{}, {"a": "0.5"}], {}, "Points 1 and 2 are the same"),
        ([{}], {"n": [1, 2, "1"]}, "Points 1 and 3 are the same"),
        ([{}], {"n": ["1:2.5"]}, "must be a range of whole numbers, or one with a"),
        ([{}], {"n": ["3:1"]}, "must be a range of whole numbers"),
        ([{}], {"a": ["0:1:1"]}, "a range of two or more numbers"),
        ([{}], {"a": ["0:1:log3"]}, "without 0 if it is logarithmic"),
        ([{}], {"a": ["-1:1:log3"]}, "without 0 if it is logarithmic"),
        ([{}], {"a": ["0:1:lin3"]}, "must be a range, as 1:20"),
        ([{}], {"a": ["1e308:-1e308:5"]}, "a range of finite floats"),
        ([{}], {"n": ["1:1e9"]}, "a range of at most 1000000 numbers. Got '1:1e9'"),
        ([{}], {"n": ["1:1e6"], "a": [0, 1]}, "at most 1000000 points. Got 2000000"),
        ([{"n": 1}] * 11, {"a": ["0:1:99999"]}, "at most 1000000 points. Got 1099989"),
        ([{}], {"a": ["x:1:3"]}, "must be a finite float"),
    ],
)
def test_what_is_no_point_or_a_point_twice_is_refused(rows, axes, message):
    with pytest.raises(RefusedError, match=message):
        checked(rows, **axes)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("n", ["1:4", "9"], [1, 2, 3, 4, 9]),
        ("n", [f"{2**53 + 1}:{2**53 + 3}"], [2**53 + 1, 2**53 + 2, 2**53 + 3]),
        ("n", ["10:1000:log5"], [10, 32, 100, 316, 1000]),
        ("a", ["1:3"], [1.0, 2.0, 3.0]),
        ("a", ["0:1:4"], [0.0, 0.333333333333, 0.666666666667, 1.0]),
        ("a", ["10:0.1:log3"], [10.0, 1.0, 0.1]),
        ("a", ["-1:-4:log3"], [-1.0, -2.0, -4.0]),
        ("word", ["1:4"], ["1:4"]),
    ],
)
def test_s5_a_range_is_spread_out(name, given, expected):
    found = [point[name] for point in checked([{}], **{name: given})]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=0.1,1:10:log3", ("a", ["0.1", "1:10:log3"])),
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
    with pytest.raises(RefusedError, match="'--grid' parameter of sweep must be of"):
        points_of.grid_option(text)


def read(folder, text):
    path = folder / "mine.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return points_of.from_csv(path, PARAMETERS, "here")


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
    assert read(tmp_path, text) == [{"a": 1e-5, "n": 1}, {"a": 0.1, "n": 2}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,n\n", "a line of names and at least one point"),
        ("a, a\n1,2\n", "Row 1 of .*A name is there twice"),
        (",a\n0,1\n", "Row 2 of .*given by names in its parameters cell"),
        ("a,n\n1\n", r"Row 2 of \S+ It must have 2 values"),
        ("a,n\n1,2\n\n1,2,3\n", "Row 4 of .* It must have 2 values"),
        ("n\n1\n2.5\n", "Row 3 of .*The 'n' parameter of here must be an integer"),
        ("n\n1\n\n1.0\n", "Row 4 of .*It is the same as row 2"),
        ('n,word\n1,"in"put\n', "Row 2 of "),
        ("a\n1\n".encode("utf-16"), "cannot be read: it is not in UTF-8"),
    ],
)
def test_s5_an_error_in_a_file_names_its_row(tmp_path, text, message):
    with pytest.raises(RefusedError, match=message):
        read(tmp_path, text)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RefusedError, match="cannot be read: No such file or directory"):
        points_of.from_csv(tmp_path / "none.csv", PARAMETERS, "here")
