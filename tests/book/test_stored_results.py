"""The stored results of this book: current, small, and what their code gives.

Tasks that are drawn at random, others every day, are run again and compared with the
table. Of every result there are as many as took SHARE seconds when it was made, and at
least one. Whoever alters a column, and the digest with it, is found out every time; who
alters one task is so on the days when it is drawn, which the fixture prints the chance
of. ``DPLIB_SAMPLE=20261231`` repeats the draw of a day.
"""

import dataclasses

import pytest

from dplib.book import ledger, stored, stored_work

ROOT = ledger.book_root()
RESULTS = stored.find(ROOT)
#: Those whose tasks run again here; curves of training do in tests/dpmac.
SAMPLED = [path for path in RESULTS if path.parents[1].name != "dpmac"]
BUDGET = 122.0  # CPU seconds: SHAREs, and what one task of populations takes more
SHARE = 100.0 / len(SAMPLED)
#: Bytes, where a figure has a point a row: 3 x 10,905 trees, 4 x 2,000 sets of rates.
LARGE = {"trees": 800_000, "rates": 400_000}


def of_all(**options):
    return pytest.mark.parametrize("path", RESULTS, ids=lambda p: p.stem, **options)


def planned(have):
    """Return how many tasks to run again, and the seconds that they took."""
    each = have.about["provenance"]["cpu_seconds"] / have.about["tasks"]
    points = max(1, min(have.about["tasks"], int(SHARE / each)))
    return points, points * each


@pytest.fixture(scope="module", params=SAMPLED, ids=lambda path: path.stem)
def again(request):
    """A definition, its stored result, and some of its tasks run here and now."""
    definition = stored.load_definition(request.param)
    have = stored.load(definition.name, root=ROOT)
    points, _ = planned(have)
    tasks = stored_work.sample(definition, points)
    day, all_tasks = stored_work.sample_day(), len(definition.tasks)
    print(f"DPLIB_SAMPLE={day}: {len(tasks)} of {all_tasks} tasks, {tasks}")
    return definition, have, {task: definition.rows(task) for task in tasks}


@pytest.mark.slow
def test_a_sample_is_what_the_code_gives(again):
    assert stored.difference(*again) == ""


@pytest.mark.slow
def test_an_altered_column_is_noticed(again):
    definition, have, fresh = again
    for column in definition.columns:
        at = have.header.index(column)
        rows = tuple((*r[:at], altered(r[at]), *r[at + 1 :]) for r in have.rows)
        forged = dataclasses.replace(have, rows=rows)
        assert column in stored.difference(definition, forged, fresh)


def altered(cell):
    try:
        return str(1.01 * float(cell) or 1.0)
    except ValueError:
        return f"{cell}?"


def test_the_samples_keep_their_budget():
    """A task of minutes needs a short sibling: fewer steps, with rows of its own."""
    every = [stored.load(f"{p.parent.parent.name}/{p.stem}") for p in SAMPLED]
    assert sum(planned(have)[1] for have in every) <= BUDGET


@of_all()
def test_every_stored_result_is_current(path):
    """If it says that the code has changed: make recertify."""
    assert stored.status(stored.load_definition(path)) == ""


@of_all()
def test_every_stored_result_is_small(path):
    assert path.with_suffix(".csv").stat().st_size < LARGE.get(path.stem, 300_000)


@of_all()
def test_every_stored_result_is_read_by_a_page(path):
    name = f"{path.parent.parent.name}/{path.stem}"
    pages = (ROOT / "notebooks").glob("*/*.md")
    assert any(f'stored.load("{name}")' in page.read_text() for page in pages)


def test_no_result_without_a_definition():
    for path in (ROOT / "notebooks").glob("*/results/*"):
        if path.suffix in (".csv", ".json"):
            assert path.with_suffix(".py").is_file(), path.name
        else:
            assert path.suffix == ".py" or path.name == "__pycache__", path.name
