"""Results get into the folder whole or not at all, and damaged ones do not count."""

import os
import resource
import subprocess
import sys

import pytest

from dplib.book import whole_files
from dplib.sweep import store
from dplib.sweep.store import Result, Store, SweepError

POINT = {"a": 0.1, "n": 3}


@pytest.fixture
def place(tmp_path):
    return Store(tmp_path / "out", "f" * 64, tmp_path)


def write(place, x=1 / 3):
    place.write("k", POINT, Result("done", [{"x": x}]))


def test_a_result_is_read_back_to_the_last_bit(place):
    write(place)
    assert place.finished() == {"k": (POINT, Result("done", [{"x": 1 / 3}]))}
    assert (place.done("k"), place.done("other")) == (True, False)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda _: "",
        lambda text: text.replace("0.3333", "0.4333"),
        lambda text: text.replace('"n": 3', '"n": 4'),
        lambda _: "[]",
        lambda _: "{}",
        lambda _: '"text"',
    ],
)
def test_a_damaged_result_does_not_count(place, damage):
    write(place)
    path = place.path("results", "k")
    path.write_text(damage(path.read_text()))
    assert not place.done("k")
    assert place.finished() == {}
    write(place)
    assert place.done("k")


def test_a_result_under_the_name_of_another_point_does_not_count(place):
    write(place)
    path = place.path("results", "k")
    path.rename(path.with_name("other.json"))
    assert place.finished() == {}


def test_a_folder_in_the_place_of_a_result_does_not_count(place):
    place.path("results", "k").mkdir(parents=True)
    assert not place.done("k")
    with pytest.raises(OSError, match="directory"):
        write(place)
    assert [p.name for p in place.path("results", "k").parent.iterdir()] == ["k.json"]


def test_a_result_takes_the_place_of_a_failure(place):
    failed = Result("failed", [], "unlucky", "all of it")
    place.write("k", POINT, failed)
    assert place.failure("k") == failed
    write(place)
    assert place.failure("k") is None


def test_a_full_disk_leaves_the_old_file_and_nothing_else(place):
    write(place)
    path = place.path("results", "k")
    old = path.read_text()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write(place, 1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == old
    assert list(path.parent.iterdir()) == [path]


def test_only_what_the_dead_left_is_cleaned(place):
    write(place)
    folder = place.folder / "results"
    host = whole_files._HOST
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    gone = [f".k.json~{host}~{dead.pid}~01234567.part"]
    stay = [
        f".k.json~{host}~{os.getpid()}~01234567.part",
        ".k.json~elsewhere~1~01234567.part",
        *("thesis.pdf.part", "notes~x.part", ".movie.part"),  # somebody's own
    ]
    for name in gone + stay:
        (folder / name).write_text("half")
    mark = place.path("running", "k")
    mark.parent.mkdir()
    mark.touch()
    place.clean()
    assert sorted(p.name for p in folder.iterdir()) == sorted(["k.json", *stay])
    assert not mark.exists()


def test_one_driver_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_PATIENCE", 0.1)
    assert store.since(tmp_path) is None
    with store.locked(tmp_path):
        assert store.since(tmp_path) > 1e9
        with (
            pytest.raises(SweepError, match=f"in use by process {os.getpid()} on"),
            store.locked(tmp_path),
        ):
            pass
    assert store.since(tmp_path) is None
    with store.locked(tmp_path):
        pass


@pytest.mark.parametrize("name", ["table.csv", "points.csv", "lock", ".mine.part"])
def test_s1_a_folder_with_files_of_the_users_is_refused(tmp_path, name):
    assert store.must_be_ours(tmp_path) == tmp_path
    (tmp_path / name).write_text("mine")
    with pytest.raises(store.RefusedError, match="not empty, and not a sweep's"):
        store.must_be_ours(tmp_path)
    for empty in ("", "  "):
        with pytest.raises(store.RefusedError, match="must have a name"):
            store.must_be_ours(empty)
    with pytest.raises(store.RefusedError, match=f"{name} is a file"):
        store.must_be_ours(tmp_path / name / "deeper")
    assert (tmp_path / name).read_text() == "mine"
