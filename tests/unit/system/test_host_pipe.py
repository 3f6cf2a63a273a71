"""Programs that are run to their end, and what they start, end with a host that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from background import eventually

from smolagents_fork.system.host_pipe import find_program, run_program
from smolagents_fork.system.proc_table import process_exists

HOST = """
from smolagents_fork.system.host_pipe import run_program
WORK = "sleep 600 & echo $$ $! > pids.new; mv pids.new pids; wait"
run_program(["/bin/sh", "-c", WORK], seconds=600, environment={"PATH": "/usr/bin:/bin"})
"""


def run(script: str, **keywords: Any) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin"}
    return run_program(
        ["/bin/sh", "-c", script], **{"seconds": 60.0, "environment": environment, **keywords}
    )


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
        run("sleep 600 & echo $! > pid; wait", seconds=0.5, folder=tmp_path)
    assert eventually(lambda: not process_exists(int((tmp_path / "pid").read_text())))


@pytest.mark.parametrize("leave", ["sleep 600 & echo $!", "sleep 600 >&- 2>&- & echo $!"])
def test_what_a_program_leaves_running_ends_with_it(leave: str):
    done = run(leave)
    assert done.returncode == 0
    assert eventually(lambda: not process_exists(int(done.stdout)))


def test_what_a_program_leaves_running_may_close_what_it_inherits(tmp_path: Path):
    close = "import os, sys, time; os.closerange(3, 99); print(os.getpid(), flush=True)"
    left = f"{sys.executable} -c '{close}; time.sleep(600)' > pid &"
    done = run(f"{left} until test -s pid; do sleep 0.05; done; cat pid", folder=tmp_path)
    assert eventually(lambda: not process_exists(int(done.stdout)))


def test_output_of_a_program_is_read_to_its_end_and_only_its_end_is_kept():
    done = run("head -c 30000000 /dev/zero; echo error >&2; echo end")
    assert len(done.stdout) == 1 << 20
    assert done.stdout.endswith("error\nend\n")


def test_program_gets_nothing_that_is_not_listed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_OF_THE_HOST", "x")
    held = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(held, True)
    try:
        done = run(f"cat; env; test -e /proc/self/fd/{held} || echo closed", folder="/")
    finally:
        os.close(held)
    assert "SECRET_OF_THE_HOST" not in done.stdout
    assert "closed" in done.stdout


@pytest.mark.parametrize("name", ["deno", "./deno", "../deno", ""])
def test_program_is_named_by_its_absolute_path(name: str):
    with pytest.raises(ValueError, match="is not an absolute path"):
        run_program([name], seconds=60.0, environment={})


@pytest.mark.parametrize("folder", ["", ".", "bin", "./bin", "../bin", "bin/../bin"])
def test_program_of_the_current_folder_is_not_found(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    here = tmp_path / "here"
    for place in (here, here / "bin", tmp_path / "bin", tmp_path / "system"):
        place.mkdir(exist_ok=True)
        (place / "program").write_text("#!/bin/sh\n")
        (place / "program").chmod(0o755)
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", folder)
    assert find_program("program") is None
    monkeypatch.setenv("PATH", os.pathsep.join([folder, str(tmp_path / "system")]))
    assert find_program("program") == str(tmp_path / "system" / "program")
    # A path is the user's own choice; it means the same wherever it is started.
    assert find_program("./program") == str(here / "program")
    assert find_program("program/../program") is None
