"""Results get into the folder whole or not at all, and damaged ones do not count."""

import os
import resource
import subprocess
import sys

import pytest

from dplib.book import whole_files
from dplib.sweep import inputs, lock, store, watch
from dplib.sweep.errors import KernelLostError, SweepError

POINT = {"a": 0.1, "n": 3}


@pytest.fixture
def place(tmp_path):
    return store.Store(tmp_path / "out", "f" * 64, tmp_path)


def write(place, x=1 / 3):
    place.write_result("k", POINT, store.Result(({"x": x},), {"seconds": 1.0}))


def test_a_result_is_read_back_to_the_last_bit(place):
    write(place)
    assert place.result("k", POINT).rows == ({"x": 1 / 3},)
    assert place.result("other", POINT) is None


def test_a_result_of_another_point_does_not_count(place):
    write(place)
    assert place.result("k", {**POINT, "n": 4}) is None


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
    assert place.result("k", POINT) is None
    write(place)
    assert place.result("k", POINT) is not None


def test_a_folder_in_the_place_of_a_result_does_not_count(place):
    place.path("results", "k").mkdir(parents=True)
    assert place.result("k", POINT) is None
    with pytest.raises(OSError, match="directory"):
        write(place)
    assert [p.name for p in place.path("results", "k").parent.iterdir()] == ["k.json"]


def test_a_result_takes_the_place_of_a_failure(place):
    failure = store.Failure("failed", "unlucky", "all of it", {"seconds": 1.0})
    place.write_failure("k", POINT, failure)
    assert place.failure("k") == failure
    write(place)
    assert place.failure("k") is None


def test_what_read_a_file_counts_as_long_as_the_file_holds_the_same(place, tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("one")
    files = inputs.digests({str(data): watch.file_state(data)}, tmp_path)
    assert list(files) == ["data.csv"]
    result = store.Result(({"x": 1},), {}, files)
    failure = store.Failure("failed", "unlucky", "", {}, files)
    place.write_failure("k", POINT, failure)
    assert place.failure("k") == failure
    data.write_text("two")
    assert place.failure("k") is None
    data.write_text("one")
    place.write_result("k", POINT, result)
    assert place.result("k", POINT) == result
    assert place.outdated("k", POINT) == ""
    data.write_text("two!")
    assert place.result("k", POINT) is None
    assert place.outdated("k", POINT) == "data.csv"
    data.write_text("one")
    assert place.result("k", POINT) == result
    data.unlink()
    assert place.result("k", POINT) is None


def test_a_file_that_changes_while_it_is_read_is_told(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("one")
    with pytest.raises(KernelLostError, match=r"data.csv changed while a point"):
        inputs.digests({str(data): (1, 1, 3)}, tmp_path)
    assert inputs.digests({str(tmp_path / "gone"): (1, 1, 3)}, tmp_path) == {}


def test_a_file_of_the_same_size_and_time_is_told_apart(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("one")
    before = watch.file_state(data)
    files = inputs.digests({str(data): before}, tmp_path)
    data.write_text("two")
    os.utime(data, ns=(before[0], before[0]))
    assert inputs.changed(files, tmp_path) == "data.csv"
    with pytest.raises(KernelLostError):
        inputs.digests({str(data): before}, tmp_path)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.txt"
    store.write_atomically(path, "old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            store.write_atomically(path, "new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_is_forced_to_disk_before_it_is_renamed(tmp_path, monkeypatch):
    done = []
    for name, function in (("fsync", os.fsync), ("replace", os.replace)):
        monkeypatch.setattr(
            os, name, lambda *a, n=name, f=function: done.append(n) or f(*a)
        )
    path_type = type(tmp_path)
    rename = path_type.replace
    monkeypatch.setattr(
        path_type, "replace", lambda *a: done.append("rename") or rename(*a)
    )
    store.write_atomically(tmp_path / "x.txt", "new")
    kept = [name for name in done if name in ("fsync", "rename")]
    assert kept == ["fsync", "rename", "fsync"]


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
    (place.folder / "running").mkdir()
    place.path("running", "k").write_text("somewhere")
    store.clean(place)
    assert sorted(p.name for p in folder.iterdir()) == sorted(["k.json", *stay])
    assert place.running(["k"]) == []


def test_one_driver_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_PATIENCE", 0.1)
    assert not lock.held(tmp_path)
    with lock.locked(tmp_path):
        assert lock.held(tmp_path)
        with (
            pytest.raises(SweepError, match=f"in use by process {os.getpid()} on"),
            lock.locked(tmp_path),
        ):
            pass
    assert not lock.held(tmp_path)
    with lock.locked(tmp_path):
        pass
