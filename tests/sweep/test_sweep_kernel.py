"""The kernels of a sweep: their sockets, and what is left when one is killed."""

import os
import subprocess
import sys
from pathlib import Path

from dplib.sweep import kernel


def test_a_kernel_is_this_python_and_speaks_through_files(tmp_path):
    place = Path("/tmp/dplib-sweep-1-a")
    manager = kernel._manager(place)(kernel_name="another")
    assert manager.transport == "ipc"
    assert manager.ip.startswith(str(place))
    assert manager.kernel_spec.argv[0] == sys.executable
    far = kernel._manager(tmp_path / ("x" * 100))(kernel_name="python3")
    assert far.transport == "tcp"  # the name of a socket would be too long


def test_only_folders_of_dead_processes_are_forgotten(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    gone = tmp_path / f"dplib-sweep-{dead.pid}-a"
    mine = tmp_path / f"dplib-sweep-{os.getpid()}-a"
    strange = tmp_path / "dplib-sweep-x"
    for folder in (gone, mine, strange):
        folder.mkdir()
        (folder / "k-1").write_text("")
        kernel._forget(folder)
    assert sorted(tmp_path.iterdir()) == sorted([mine, strange])
