"""Names, types and defaults of parameters; values converted exactly or refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplib.sweep.parameters import Parameter, RefusedError, convert, read_cell

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
        ("n: int", "plain literals"),
        ("n = 1\nn = 2", "assigns 'n' twice"),
    ],
)
def test_a_cell_that_is_more_than_literals_is_refused(cell, message):
    with pytest.raises(RefusedError, match=message):
        read_cell(cell, "here")


@pytest.mark.parametrize(
    ("parameter", "value", "expected"),
    [
        (FLOAT, 3, 3.0),
        (FLOAT, "1e-5", 1e-5),
        (FLOAT, " .5 ", 0.5),
        (FLOAT, np.float32(0.1), float(np.float32(0.1))),
        (FLOAT, np.int64(2), 2.0),
        (FLOAT, "0.0", 0.0),
        (INT, 4.0, 4),
        (INT, "2e4", 20000),
        (INT, "9007199254740993", 2**53 + 1),
        (INT, np.uint8(7), 7),
        (BOOL, np.bool_(False), False),
        (BOOL, "true", True),
        (TEXT, "1e-5", "1e-5"),
        (TEXT, "", ""),
    ],
)
def test_a_value_is_converted_exactly(parameter, value, expected):
    found = convert(parameter, value, "here")
    assert found == expected
    assert type(found) is parameter.kind


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        *((FLOAT, v) for v in (True, None, [0.1], math.nan, math.inf, 2**53 + 1)),
        *((FLOAT, v) for v in ("nan", "inf", "1e999", "1e-999", "1_000", "0x1p3", "")),
        *((INT, v) for v in (True, 2.5, math.inf, "2.5", "1e-5", "True")),
        *((BOOL, v) for v in (1, "1", "")),
        *((TEXT, v) for v in (3, b"w", "two\nlines", "\ud800")),
    ],
)
def test_a_value_without_exact_counterpart_is_refused_in_one_sentence(parameter, value):
    with pytest.raises(RefusedError) as caught:
        convert(parameter, value, "here")
    text = str(caught.value)
    assert text.startswith(f"The '{parameter.name}' parameter of here must be ")
    assert f"as its default {parameter.default!r} is" in text
    assert "\n" not in text


def test_a_list_cannot_be_swept():
    with pytest.raises(RefusedError, match="neither number nor text"):
        convert(Parameter("items", None, [1, 2]), [3], "here")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_survives_its_text(value):
    assert convert(FLOAT, repr(value), "here") == value


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
    scope = {}
    exec(PythonTranslator.codify(values), scope)
    assert repr({name: scope[name] for name in values}) == repr(values)
