"""Files that are whole or absent; tables that read back to the last bit."""

import os
import subprocess
import sys

import pytest

from dplib.book import whole_files
from dplib.book.whole_files import abandoned, table_text, write_atomically


def test_floats_are_written_in_full():
    rows = [("a", 1, 0.1), ("b", -2, 1e-300), ("c", 3, 1 / 3)]
    lines = table_text(("name", "n", "x"), rows).splitlines()
    assert lines[1] == "a,1,0.1"
    assert [float(line.split(",")[2]) for line in lines[1:]] == [r[2] for r in rows]


def test_a_file_is_written_with_its_folder_and_nothing_beside(tmp_path):
    path = tmp_path / "new" / "a.txt"
    write_atomically(path, "one\n")
    write_atomically(path, "two\n")
    assert path.read_text() == "two\n"
    assert list(path.parent.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file_and_nothing_beside(tmp_path):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")
    code = (
        "import resource, sys, signal, pathlib\n"
        "from dplib.book.whole_files import write_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "write_atomically(pathlib.Path(sys.argv[1]), 'x' * 10_000)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True)
    assert ended.returncode != 0
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        (".a.txt~{host}~{pid}~00000000.part", False),  # this process lives
        (".a.txt~{host}~999999999~00000000.part", True),
        ("thesis.pdf.part", False),
        (".movie.part", False),
    ],
)
def test_what_the_dead_left_is_told_apart(tmp_path, name, gone):
    path = tmp_path / name.format(host=whole_files._HOST, pid=os.getpid())
    path.touch()
    assert abandoned(path) is gone
