"""YAML that readers write: what is read, and what is refused in one sentence."""

from pathlib import Path

import pytest

from dplib import strict_yaml


def read(tmp_path, text):
    path = tmp_path / "mine.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return strict_yaml.load(path, ValueError)


def test_plain_values_are_read(tmp_path):
    text = "a: 1\nb: [0.5, -2, .inf]\nc: {d: word}\n"
    assert read(tmp_path, text) == {
        "a": 1,
        "b": [0.5, -2, float("inf")],
        "c": {"d": "word"},
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 010", "line 1: '010' must be written as a plain decimal"),
        ("a: 1:30", "line 1: '1:30' must be written as a plain decimal"),
        ("a: 0x10", "plain decimal"),
        ("a: 1\na: 2", "line 2: the field 'a' is given twice"),
        ("b: &x {c: 1}\na:\n  <<: *x", "'<<' is not read"),
        ("? [1, 2]\n: 3", "a field's name must be a word"),
        ("a: !!map 3", "fields must be written as 'name: value'"),
        ("a: !!timestamp x", "not YAML"),
        ("a: 2001-99-99", "not YAML"),
        ("a: !python/object:os.system x", "not YAML"),
        ("[" * 5000, "nested too deeply"),
        ("a: [", "not YAML"),
        (b"a: \xff", "must be text in UTF-8. Got byte 0xff at 3"),
    ],
)
def test_what_is_refused(tmp_path, text, words):
    with pytest.raises(ValueError, match=r"^mine\.yml: ") as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_file_and_a_folder_are_one_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"^none\.yml: there is no such file\.$"):
        strict_yaml.load(tmp_path / "none.yml", ValueError)
    for path in (tmp_path, Path()):
        with pytest.raises(ValueError, match=r": must be a file\. Got a folder\.$"):
            strict_yaml.load(path, ValueError)


def test_what_is_shown_fits_on_a_line_whatever_its_size():
    bomb = ["x"] * 10
    for _ in range(12):
        bomb = [bomb] * 10
    for value in (bomb, "y" * 10_000, {"a": "line\nbreak"}, 10**60):
        text = strict_yaml.shown(value)
        assert len(text) <= 80
        assert "\n" not in text
