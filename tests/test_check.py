"""Every bad argument is met with one sentence; every good one comes back converted."""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dplib import check

REAL_CHECKS = [
    check.finite,
    check.positive,
    check.nonnegative,
    check.probability,
    check.unit_interval,
]


def test_the_sentence() -> None:
    with pytest.raises(ValueError, match=r"^The 'epsilon' parameter") as caught:
        check.positive("epsilon", -1, "laplace_scale")
    assert str(caught.value) == (
        "The 'epsilon' parameter of laplace_scale must be a positive finite float. "
        "Got -1 instead."
    )


def test_a_numpy_scalar_is_shown_as_the_number_it_holds() -> None:
    with pytest.raises(ValueError, match=r"Got -1\.5 instead\.$"):
        check.positive("epsilon", np.float64(-1.5), "f")


def test_a_long_value_is_cut_to_one_line_of_80_characters() -> None:
    with pytest.raises(TypeError) as caught:
        check.finite("x", np.zeros((50, 50)), "f")
    message = str(caught.value)
    assert "\n" not in message
    shown = message.split("Got ")[1].removesuffix(" instead.")
    assert len(shown) == 80
    assert shown.endswith("...")


@pytest.mark.parametrize("function", REAL_CHECKS)
@pytest.mark.parametrize(
    "value", [True, np.True_, "1", None, 1j, [0.5], np.array(0.5), Decimal("0.5")]
)
def test_what_is_no_real_number_is_a_type_error(function, value) -> None:
    with pytest.raises(TypeError, match="The 'x' parameter of f must be"):
        function("x", value, "f")


@pytest.mark.parametrize("function", REAL_CHECKS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
def test_what_is_not_finite_is_a_value_error(function, value) -> None:
    with pytest.raises(ValueError, match="The 'x' parameter of f must be"):
        function("x", value, "f")


@pytest.mark.parametrize("function", REAL_CHECKS)
@pytest.mark.parametrize(
    "value", [0.5, np.float32(0.5), np.float64(0.5), Fraction(1, 2)]
)
def test_real_numbers_come_back_as_floats(function, value) -> None:
    result = function("x", value, "f")
    assert type(result) is float
    assert result == 0.5


@pytest.mark.parametrize(
    ("function", "inside", "outside"),
    [
        (check.positive, [5e-324, 1e308], [0.0, -0.0, -1e-300]),
        (check.nonnegative, [0.0, 5e-324], [-5e-324]),
        (check.probability, [0.0, 1.0], [-5e-324, 1.0000000000000002]),
        (check.unit_interval, [5e-324, 0.9999999999999999], [0.0, 1.0]),
    ],
)
def test_the_ends_of_each_range(function, inside, outside) -> None:
    for value in inside:
        assert function("x", value, "f") == value
    for value in outside:
        with pytest.raises(ValueError, match="The 'x' parameter of f must be"):
            function("x", value, "f")


def test_integers() -> None:
    assert type(check.integer("n", np.int64(3), "f")) is int
    assert check.integer("n", 2**70, "f") == 2**70
    for value in (3.0, True, np.True_, "3", None):
        with pytest.raises(TypeError, match="must be an integer"):
            check.integer("n", value, "f")
    with pytest.raises(ValueError, match=r"an integer between 1 and 3\. Got 4"):
        check.integer("n", 4, "f", low=1, high=3)
    with pytest.raises(ValueError, match=r"an integer <= 3\. Got 4"):
        check.integer("n", 4, "f", high=3)
    with pytest.raises(ValueError, match=r"an integer >= 1\. Got 0"):
        check.integer("n", 0, "f", low=1)


def test_words() -> None:
    assert check.member("noise", "full", "f", {"full", "structural"}) == "full"
    with pytest.raises(ValueError, match="one of 'full', 'structural'"):
        check.member("noise", "ful", "f", {"full", "structural"})


def test_member_of_another_type_is_a_type_error() -> None:
    # It raised ValueError, against the rule at the head of dplib.check.
    for value in (3, None, ["full"]):
        with pytest.raises(TypeError, match="one of 'full'"):
            check.member("noise", value, "f", ["full"])


def test_arrays_are_read_only_copies() -> None:
    mine = np.array([[1.0, 2.0]])
    result = check.array("x", mine, "f", shape=(None, 2))
    mine[0, 0] = 9.0
    assert result.tolist() == [[1.0, 2.0]]
    assert result.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        result[0, 0] = 1.0


@pytest.mark.parametrize("value", [["a"], [True], [1j], [None], [Fraction(1, 2)]])
def test_arrays_of_other_things_are_a_type_error(value) -> None:
    with pytest.raises(TypeError, match="an array of real numbers"):
        check.array("x", value, "f", shape=(1,))


@pytest.mark.parametrize(
    ("value", "shape"),
    [([1.0, 2.0], (3,)), (1.0, (1,)), ([[1.0]], (1,)), ([[1.0], [1.0, 2.0]], (2, 2))],
)
def test_arrays_of_another_shape_are_a_value_error(value, shape) -> None:
    with pytest.raises(ValueError, match="The 'x' parameter of f must be an array of"):
        check.array("x", value, "f", shape=shape)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_arrays_must_be_finite(value) -> None:
    with pytest.raises(ValueError, match="an array of finite numbers"):
        check.array("x", [0.0, value], "f", shape=(None,))


@pytest.mark.skipif(
    np.finfo(np.longdouble).maxexp <= 1024, reason="no longer float on this machine"
)
def test_a_longer_float_that_overflows_is_refused_without_a_warning() -> None:
    # It warned of an overflow in the conversion before it refused.
    value = np.array([np.finfo(np.longdouble).max])
    with pytest.raises(ValueError, match="an array of finite numbers"):
        check.array("x", value, "f", shape=(1,))


def test_fail_when_the_value_cannot_be_printed() -> None:
    # repr of an integer with more than 4300 digits raises: a raw error came out.
    with pytest.raises(ValueError, match=r"Got a value of type int that cannot"):
        check.positive("x", 10**5000, "f")


def test_masked_entries_are_refused() -> None:
    # numpy drops the mask, and the hidden number counted.
    value = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    with pytest.raises(ValueError, match="an array without masked entries"):
        check.array("x", value, "f", shape=(None,))
    bare = np.ma.masked_array([1.0, 2.0], mask=[False, False])
    assert check.array("x", bare, "f", shape=(2,)).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int8])
def test_unsigned_record(kind) -> None:
    # A difference of unsigned integers wraps around: [7, 3, 9] passed.
    with pytest.raises(ValueError, match="ascending numbers between 0 and 10"):
        check.ascending("record", np.array([7, 3, 9], kind), "f", high=10)
    good = check.ascending("record", np.array([3, 7, 9], kind), "f", high=10)
    assert good.tolist() == [3, 7, 9]
    assert good.dtype == np.int64


@pytest.mark.parametrize(
    "value", [[], 3, [[1]], [0.5], [[1], [1, 2]], [2**64 - 1], [-1], [3, 3], None]
)
def test_what_is_no_ascending_vector(value) -> None:
    with pytest.raises(ValueError, match="The 'record' parameter of f must be"):
        check.ascending("record", value, "f")


def test_instances_and_sequences() -> None:
    assert check.instance("word", "a", "f", str) == "a"
    with pytest.raises(TypeError, match=r"must be an Integral\. Got 'a'"):
        check.instance("n", "a", "f", numbers.Integral)
    assert check.sequence("words", ("a", "b"), "f", str) == ("a", "b")
    for value in (3, None, "ab", (word for word in "ab"), ["a", 1]):
        with pytest.raises(TypeError, match="The 'words' parameter of f must be a seq"):
            check.sequence("words", value, "f", str)
    with pytest.raises(ValueError, match="a sequence of at least one str"):
        check.sequence("words", [], "f", str)
