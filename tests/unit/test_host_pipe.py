"""Programs that are run to their end, and what they start, end with a host that is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from background import eventually

from smolagents_fork.host_pipe import run_program
from smolagents_fork.proc_table import process_exists

HOST = """
from smolagents_fork.host_pipe import run_program
run_program(["sh", "-c", "sleep 600 & echo $$ $! > pids.new; mv pids.new pids; wait"], seconds=600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="F_SETSIG")
def test_program_and_what_it_starts_end_with_a_killed_host(tmp_path: Path):
    pids = tmp_path / "pids"
    with subprocess.Popen([sys.executable, "-c", HOST], cwd=tmp_path) as host:
        assert eventually(pids.exists)
        host.kill()
    for pid in pids.read_text().split():
        assert eventually(lambda pid=pid: not process_exists(int(pid)))


def test_what_a_program_leaves_running_ends_with_its_time(tmp_path: Path):
    with pytest.raises(subprocess.TimeoutExpired):
        run_program(["sh", "-c", "sleep 600 & echo $! > pid; wait"], seconds=0.5, folder=tmp_path)
    assert eventually(lambda: not process_exists(int((tmp_path / "pid").read_text())))
