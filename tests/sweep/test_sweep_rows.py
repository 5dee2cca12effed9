"""Rows of batch notebooks: plain values, checked, shown, and left to be collected."""

import json

import numpy as np
import pytest

from dplib import sweep
from dplib.sweep import rows


def test_a_row_holds_plain_values():
    given = {"a": np.float64(0.1), "b": np.int64(3), "c": "a\tb", "d": np.bool_(True)}
    found = sweep.row(**given)
    assert found == {"a": 0.1, "b": 3, "c": "a\tb", "d": True}
    assert [type(value) for value in found.values()] == [float, int, str, bool]


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({}, ValueError, "'values' parameter of record must be at least one"),
        ({"a": float("nan")}, ValueError, "'a' parameter of record must be finite"),
        ({"a": [1.0]}, TypeError, "'a' parameter of record must be a number or text"),
        ({"a": "x\ry"}, ValueError, "'a' parameter of record must be printable text"),
        ({"a": "\ud800"}, ValueError, "'a' parameter of record must be printable"),
    ],
)
def test_a_row_refuses_what_no_table_can_hold(values, error, message):
    with pytest.raises(error, match=message):
        sweep.row(**values)


def test_record_shows_six_digits_and_keeps_all(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr("IPython.display.display", lambda *a, **_: seen.append(a[0]))
    sweep.record(error=1 / 3, lie="<none>", steps=10)
    (bundle,) = seen
    assert bundle[sweep.MIME_TYPE] == {"error": 1 / 3, "lie": "<none>", "steps": 10}
    assert bundle["text/plain"] == "error = 0.333333, lie = <none>, steps = 10"
    assert "&lt;none&gt;" in bundle["text/html"]
    # In the kernel of a sweep, also into its file.
    monkeypatch.setenv(rows.FILE, str(tmp_path / "rows"))
    sweep.record(x=1 / 3, said="a\nbü", n=2**70)
    sweep.record(x=2.0)
    first, second = (tmp_path / "rows").read_text().splitlines()
    assert json.loads(first) == {"x": 1 / 3, "said": "a\nbü", "n": 2**70}
    assert json.loads(second) == {"x": 2.0}
