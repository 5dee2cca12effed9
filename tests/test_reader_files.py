"""YAML that readers write: what is read, and what is refused in one sentence."""

from pathlib import Path

import pytest

from dplib.reader_files import ReaderFileError, load

BOX = {"type": "array", "items": {"type": "number", "minimum": 0, "must": "0 or more"}}
AGENT = {"required": ["box"], "properties": {"box": BOX, "count": {"type": "integer"}}}
SCHEMA = {
    "type": "object",
    "required": ["limit", "agents"],
    "additionalProperties": False,
    "properties": {
        "limit": {"type": "number", "must": "a number"},
        "agents": {"type": "array", "items": AGENT},
    },
}


def read(folder, text, schema=SCHEMA):
    path = folder / "mine.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(path, schema)


def refusal(folder, text, schema=SCHEMA):
    with pytest.raises(ReaderFileError) as caught:
        read(folder, text, schema)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_yaml_1_2_reads_what_is_seen(tmp_path):
    text = "a: 1e-5\nb: [010, no, 1:30, 0.5]\nc: {d: word}\n"
    assert read(tmp_path, text, {}) == {
        "a": 1e-5,
        "b": [10, "no", "1:30", 0.5],
        "c": {"d": "word"},
    }


def test_numbers_and_what_is_none(tmp_path):
    for number in ("7", "1e-5", "-.5", "1e60", "0"):
        held = read(tmp_path, f"limit: {number}\nagents: []")
        assert held == {"limit": float(number), "agents": []}
    for value in ('"1"', "true", ".inf", ".nan", "1e61", "1" + 400 * "0", "[1]", ""):
        sentence = refusal(tmp_path, f"limit: {value}\nagents: []")
        assert sentence.startswith("mine.yml: limit must be a number. Got ")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("7", "the file: 7 is not of type 'object'."),
        ("limit: 1", "the file lacks the field 'agents'."),
        (
            "{limit: 1, agents: [], agent: 1}",
            "the file has an unknown field 'agent'; did you mean 'agents'?",
        ),
        (
            "{limit: 1, agents: [], 7: 1}",
            "the file has an unknown field '7'; known: limit, agents.",
        ),
        (
            "{limit: 1, agents: [{box: [1, -2]}]}",
            "agents[0].box[1] must be 0 or more. Got -2.",
        ),
        (
            "{limit: 1, agents: [{id: ada, box: [1, -2]}]}",
            "ada: box[1] must be 0 or more. Got -2.",
        ),
        ("{limit: 1, agents: [{id: ada}]}", "ada lacks the field 'box'."),
        (
            "{limit: 1, agents: [{box: [], count: 3.0}]}",
            "agents[0].count: 3.0 is not of type 'integer'.",
        ),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, text, sentence):
    assert refusal(tmp_path, text) == f"mine.yml: {sentence}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2", "mine.yml, line 2: found duplicate key"),
        ("a: 1\nb: [", "mine.yml, line 2: "),
        ("a: 2001-99-99", "mine.yml: not YAML: "),
        ("a: !python/object:os.system x", "mine.yml, line 1: "),
        (b"a: \xff", "mine.yml: not YAML: 'utf-8' codec can't decode byte 0xff"),
        (b"a: \x00", "mine.yml: not YAML: "),
        ("[" * 2000, "mine.yml: nested too deeply."),
    ],
)
def test_what_is_no_yaml_is_refused(tmp_path, text, words):
    assert refusal(tmp_path, text, {}).startswith(words)


def test_fields_may_be_numbers_and_names_at_once(tmp_path):
    """Two errors, at a number and at a name, had no order: a TypeError."""
    schema = {"additionalProperties": {"type": "integer", "must": "an integer"}}
    with pytest.raises(ReaderFileError, match=r"must be an integer\. Got '[ab]'"):
        read(tmp_path, "{x: {picker: a, 1: b}}", {"properties": {"x": schema}})


def test_a_folder_is_refused_in_one_sentence():
    with pytest.raises(ReaderFileError, match="directory"):
        load(Path(), {})
