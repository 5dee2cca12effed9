"""Rows of batch notebooks: plain values, checked, shown, and left to be collected."""

import json

import numpy as np
import pytest

from dplib import sweep


def test_a_row_holds_plain_values():
    given = {"a": np.float64(0.1), "b": np.int64(3), "c": "none", "d": np.bool_(True)}
    found = sweep.row(**given)
    assert found == {"a": 0.1, "b": 3, "c": "none", "d": True}
    assert [type(value) for value in found.values()] == [float, int, str, bool]
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({}, ValueError, "'values' parameter of record must be at least one"),
        ({"a": float("nan")}, ValueError, "'a' parameter of record must be finite"),
        ({"a": [1.0]}, TypeError, "'a' parameter of record must be a number or text"),
        ({"a": None}, TypeError, "'a' parameter of record must be a number or text"),
        ({"a": "x\ry"}, ValueError, "'a' parameter of record must be free of control"),
        ({"a": "\ud800"}, ValueError, "'a' parameter of record must be free of"),
    ],
)
def test_a_row_refuses_what_no_table_can_hold(values, error, message):
    with pytest.raises(error, match=message):
        sweep.row(**values)


def test_record_shows_six_digits_and_keeps_all(monkeypatch):
    seen = []
    monkeypatch.setattr("IPython.display.display", lambda *a, **_: seen.append(a[0]))
    sweep.record(error=1 / 3, lie="<none>", steps=10)
    (bundle,) = seen
    assert bundle[sweep.MIME_TYPE] == {"error": 1 / 3, "lie": "<none>", "steps": 10}
    assert bundle["text/plain"] == "error = 0.333333, lie = <none>, steps = 10"
    assert "&lt;none&gt;" in bundle["text/html"]
