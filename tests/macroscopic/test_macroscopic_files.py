"""A network of one's own: read, or refused in one sentence that names the place."""

from pathlib import Path

import pytest

from dplib.macroscopic import files, paper
from dplib.reader_files import ReaderFileError

GOOD = """\
reactions: |
  A + R <-> AR : 3, 1
  B + R <-> BR : 1, 1
robots: {A: 2, B: 1}
others: {R: 2}
seen:
  free: [A, B]
  busy: [AR, BR]
"""


@pytest.fixture
def read(tmp_path):
    """Read a text as if it were a reader's file."""

    def from_text(text):
        path = tmp_path / "my.yml"
        path.write_text(text, encoding="utf-8")
        return files.read_network(path)

    return from_text


def test_the_example_of_the_paper(read):
    mine = read(GOOD)
    theirs = paper.RESOURCE
    assert mine.swarm.network.species == theirs.network.species
    assert mine.swarm.start(mine.counts).tolist() == theirs.start((2, 1)).tolist()
    assert mine.swarm.query.tolist() == theirs.query.tolist()
    assert (mine.types, mine.seen, mine.counts) == (
        ("A", "B"),
        ("free", "busy"),
        (2, 1),
    )


def test_the_files_of_the_book_can_be_read():
    folder = Path(__file__).parents[2] / "notebooks" / "macroscopic"
    for path in folder.glob("*.yml"):
        assert files.read_network(path).counts


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("3, 1", "3", "reactions, line 1: '<->' needs two rates"),
        ("1, 1", "1, -1", "reactions, line 2: a rate must be positive, not '-1'"),
        ("A + R", "A + 2", "reactions, line 1: '2' is no species"),
        ("{A: 2, B: 1}", "{A: 2, C: 1}", "there is no species 'C'; there are A, R"),
        ("{A: 2, B: 1}", "{A: 2, B: -1}", "robots.B must be a whole number from 0"),
        ("{A: 2, B: 1}", "{A: 2, B: 0.5}", "robots.B must be a whole number from 0"),
        ("{A: 2, B: 1}", "{A: 2}", "robots must be a mapping"),
        ("{R: 2}", "{Q: 2}", "there is no species 'Q'"),
        ("[A, B]", "[A, AR]", "'AR' stands in two sets of what is seen"),
        ("[A, B]", "[A, Z]", "there is no species 'Z'"),
        ("[A, B]", "A", "seen.free must be a list of species"),
        ("seen:", "sean:", "the file lacks the field 'seen'"),
        ("reactions: |", "sbml: a.xml\nreactions: |", "one of reactions and sbml"),
    ],
)
def test_what_is_wrong_is_one_sentence(read, old, new, words):
    assert old in GOOD
    with pytest.raises(ReaderFileError) as caught:
        read(GOOD.replace(old, new, 1))
    assert words in str(caught.value)
    assert str(caught.value).startswith("my.yml: ")
    assert "\n" not in str(caught.value)


def test_an_sbml_file_stands_beside_it(read):
    head, _, tail = GOOD.partition("reactions:")
    text = f"{head}sbml: my.xml\nrobots:{tail.split('robots:')[1]}"
    with pytest.raises(ReaderFileError, match=r"my\.xml: No such file"):
        read(text)
