"""Names, types and defaults of parameters; values converted exactly or refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplib.sweep.errors import SweepError
from dplib.sweep.parameters import Parameter, assignment, convert, read_cell

CELL = 'a = 0.5\nn = 3\nflag = True\nword = "w"\nf: float = 1\nitems = [1, 2]\nm = -2'
FLOAT, INT = Parameter("a", float, 0.5), Parameter("n", int, 3)
BOOL, TEXT = Parameter("flag", bool, True), Parameter("word", str, "w")


def test_a_cell_gives_names_types_and_defaults():
    found = {p.name: (p.kind, p.default) for p in read_cell(CELL, "here")}
    assert found == {
        "a": (float, 0.5),
        "n": (int, 3),
        "flag": (bool, True),
        "word": (str, "w"),
        "f": (float, 1.0),
        "items": (None, [1, 2]),
        "m": (int, -2),
    }
    assert isinstance(found["f"][1], float)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("n = 2 * 3", "plain literals, one a line.*Got 'n = 2 \\* 3' instead"),
        ("import numpy", "plain literals"),
        ("a = b = 1", "plain literals"),
        ("a, b = 1, 2", "plain literals"),
        ("n: int = 0.5", "plain literals"),
        ("n = 1\nn = 2", "assigns 'n' twice"),
        ("# nothing", "has no parameter"),
        ("n = ", "is not Python"),
    ],
)
def test_a_cell_that_is_more_than_literals_is_refused(cell, message):
    with pytest.raises(SweepError, match=message):
        read_cell(cell, "here")


@pytest.mark.parametrize(
    ("parameter", "value", "expected"),
    [
        (FLOAT, 3, 3.0),
        (FLOAT, "1e-5", 1e-5),
        (FLOAT, " .5 ", 0.5),
        (FLOAT, np.float64(0.1), 0.1),
        (FLOAT, np.float32(0.1), float(np.float32(0.1))),
        (FLOAT, np.int64(2), 2.0),
        (FLOAT, 2**60, float(2**60)),
        (FLOAT, "0.0", 0.0),
        (INT, 4.0, 4),
        (INT, "2e4", 20000),
        (INT, "20000.0", 20000),
        (INT, "9007199254740993", 2**53 + 1),
        (INT, np.uint8(7), 7),
        (BOOL, False, False),
        (BOOL, "true", True),
        (BOOL, np.bool_(False), False),
        (TEXT, "1e-5", "1e-5"),
        (TEXT, "", ""),
        (TEXT, np.str_("epsilon"), "epsilon"),
    ],
)
def test_a_value_is_converted_exactly(parameter, value, expected):
    found = convert(parameter, value, "here")
    assert found == expected
    assert type(found) is parameter.kind


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        (FLOAT, True, TypeError),
        (FLOAT, None, TypeError),
        (FLOAT, (0.1, 0.2), TypeError),
        (FLOAT, np.array([0.1]), TypeError),
        (FLOAT, 1j, TypeError),
        (FLOAT, math.nan, ValueError),
        (FLOAT, np.float64("inf"), ValueError),
        (FLOAT, "nan", ValueError),
        (FLOAT, "inf", ValueError),
        (FLOAT, "1e999", ValueError),
        (FLOAT, "1e-999", ValueError),
        (FLOAT, "1e99999999", ValueError),
        (FLOAT, "one", ValueError),
        (FLOAT, "1_000", ValueError),
        (FLOAT, "0x1p3", ValueError),
        (FLOAT, "", ValueError),
        (FLOAT, 2**53 + 1, ValueError),
        (FLOAT, 10**400, ValueError),
        (INT, True, TypeError),
        (INT, "True", ValueError),
        (INT, 2.5, ValueError),
        (INT, "2.5", ValueError),
        (INT, math.inf, ValueError),
        (INT, math.nan, ValueError),
        (INT, "1e9999", ValueError),
        (INT, 1 << 5000, ValueError),
        (BOOL, 1, TypeError),
        (BOOL, "1", ValueError),
        (TEXT, 3, TypeError),
        (TEXT, b"w", TypeError),
        (TEXT, ("a", "b"), TypeError),
        (TEXT, "two\nlines", ValueError),
        (TEXT, "\ud800", ValueError),
    ],
)
def test_a_value_without_exact_counterpart_is_refused_in_one_sentence(
    parameter, value, error
):
    with pytest.raises(error) as caught:
        convert(parameter, value, "here")
    text = str(caught.value)
    assert text.startswith(f"The '{parameter.name}' parameter of here must be ")
    assert f"as its default {parameter.default!r} is" in text
    assert "\n" not in text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_survives_its_text(value):
    found = convert(FLOAT, repr(value), "here")
    assert math.copysign(1, found) == math.copysign(1, value)
    assert found == value


@given(st.integers(-(2**200), 2**200))
def test_every_integer_survives_its_text(value):
    assert convert(INT, str(value), "here") == value


def test_a_misspelt_name_is_refused_with_the_nearest():
    parameters = read_cell("epsilon = 0.5\nr_max = 5", "here")
    with pytest.raises(ValueError, match=r"did you mean 'epsilon'\?.*Got 'epsilom'"):
        assignment({"epsilom": 1}, parameters, "here")
    with pytest.raises(TypeError, match="names that are text"):
        assignment({1: 1}, parameters, "here")


def test_what_is_not_given_keeps_its_default_and_a_list_cannot_be_swept():
    parameters = read_cell(CELL, "here")
    found = assignment({"n": "7"}, parameters, "here")
    assert found == {"a": 0.5, "n": 7, "flag": True, "word": "w", "f": 1.0, "m": -2}
    with pytest.raises(ValueError, match="neither number nor text"):
        assignment({"items": [3]}, parameters, "here")


@given(
    a=st.floats(allow_nan=False, allow_infinity=False),
    n=st.integers(),
    flag=st.booleans(),
    word=st.text(st.characters(exclude_categories=("Cc", "Cs"))),
)
def test_papermill_injects_the_very_values(a, n, flag, word):
    """What the kernel will read is what was checked, to the last bit."""
    from papermill.translators import PythonTranslator

    values = {"a": a, "n": n, "flag": flag, "word": word}
    cell = PythonTranslator.codify(values)
    scope = {}
    exec(cell, scope)
    found = {name: scope[name] for name in values}
    assert repr(found) == repr(values)
