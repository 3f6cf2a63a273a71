"""The spare process of a fork server: taken by the next start, counted nowhere, left nowhere."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ExecutorStartError, ProgramFailedError
from smolagents_fork.proc_table import process_table
from smolagents_fork.process import spawn
from smolagents_fork.process.child_inventory import ChildInventory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc and confinement")


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition; generous, because starts are slow on a busy machine."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def server_of(pid: int) -> int:
    return process_table()[pid].parent


def spares(server: int) -> list[int]:
    """Return the processes of a fork server that have no program."""
    table = process_table()
    return [pid for pid, one in table.items() if one.parent == server and one.session != pid]


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessExecutor]:
    """An executor with a fork server of its own, since the server is shared in a process."""
    monkeypatch.setattr(spawn, "_fork_servers", {})
    with ProcessExecutor([], None) as made:
        yield made
    spawn.stop_fork_servers()


def test_next_start_takes_the_spare_and_leaves_one(executor: ProcessExecutor) -> None:
    server = server_of(executor.pid)

    def next_start_takes_it() -> bool:
        until(lambda: len(spares(server)) == 1, "no spare after a start")
        (spare,) = spares(server)
        with ProcessExecutor([], None) as other:
            assert other("6 * 7").output == 42
            assert other.confinement == executor.confinement
            until(lambda: spares(server) not in ([], [spare]), "no spare after the next start")
            assert len(spares(server)) == 1
            return other.pid == spare

    # A spare that is late on a busy machine is left out.
    until(next_start_takes_it, "no start takes the spare")


def test_spare_is_not_a_sandbox_of_the_inventory(executor: ProcessExecutor) -> None:
    server = server_of(executor.pid)
    until(lambda: bool(spares(server)), "no spare")
    listed = {entry.id for entry in ChildInventory().sandboxes()}
    assert f"process-{executor.pid}" in listed
    assert not listed & {f"process-{pid}" for pid in spares(server)}


def test_start_without_the_spare_that_was_killed(executor: ProcessExecutor) -> None:
    server = server_of(executor.pid)
    until(lambda: bool(spares(server)), "no spare")
    os.kill(spares(server)[0], signal.SIGKILL)
    with ProcessExecutor([], None) as other:
        assert other("1 + 1").output == 2
    assert executor("2 + 2").output == 4


def test_start_without_a_spare_that_does_not_answer(executor: ProcessExecutor) -> None:
    server = server_of(executor.pid)
    until(lambda: bool(spares(server)), "no spare")
    (spare,) = spares(server)
    os.kill(spare, signal.SIGSTOP)
    with ProcessExecutor([], None) as other:
        assert other.pid != spare
        assert other("1 + 1").output == 2
    until(lambda: spare not in process_table(), "the spare that was left out stays")
    assert executor("2 + 2").output == 4


def test_spare_reads_a_file_that_was_replaced(executor: ProcessExecutor, tmp_path: Path) -> None:
    data, later = tmp_path / "data.txt", tmp_path / "later.txt"
    server = server_of(executor.pid)

    def next_start_takes_it() -> bool:
        data.write_text("before")
        with (
            ProcessExecutor([], None, readable_paths=[data, later]) as other,
            pytest.raises(ProgramFailedError, match="FileNotFoundError"),
        ):
            other(f"open({str(later)!r}).read()")
        until(lambda: len(spares(server)) == 1, "no spare after a start")
        (spare,) = spares(server)
        # Its rules are about the file that had the name, and about no file.
        replacement = tmp_path / "new"
        replacement.write_text("after")
        replacement.rename(data)
        later.write_text("made")
        try:
            with ProcessExecutor([], None, readable_paths=[data, later]) as other:
                text = other(f"open({str(data)!r}).read() + open({str(later)!r}).read()").output
                assert text == "aftermade"
                return other.pid == spare
        finally:
            later.unlink()

    until(next_start_takes_it, "no start takes the spare")


def test_spare_without_the_network_is_not_taken_with_it(executor: ProcessExecutor) -> None:
    server = server_of(executor.pid)
    until(lambda: bool(spares(server)), "no spare")
    for network in (True, False):
        with ProcessExecutor([], None, network=network) as other:
            # What is made early is the same for all children of a fork server.
            assert (server_of(other.pid) == server) is not network
            assert ("network" in other.confinement["in_force"]) is not network
            assert other("1 + 1").output == 2


def test_fork_server_without_descriptors_refuses_starts_only(executor: ProcessExecutor) -> None:
    server = server_of(executor.pid)
    until(lambda: bool(spares(server)), "no spare")
    before = resource.prlimit(server, resource.RLIMIT_NOFILE)
    highest = max(int(number) for number in os.listdir(f"/proc/{server}/fd"))
    refusals = []
    # With every number of free descriptors, so that each of its system calls fails once. Numbers
    # below the highest may be free, too.
    for limit in range(highest + 9, 3, -1):
        if len(refusals) == 12:
            break
        resource.prlimit(server, resource.RLIMIT_NOFILE, (limit, before[1]))
        try:
            ProcessExecutor([], None).cleanup()
        except ExecutorStartError as error:
            refusals.append(str(error))
        assert executor("1 + 1").output == 2
    assert any(
        f"the fork server (process {server}) could not start a child: Too many open files; close "
        "executors and try again, or raise the limit on open files (ulimit -n)" == refusal
        for refusal in refusals
    )
    resource.prlimit(server, resource.RLIMIT_NOFILE, before)
    for spare in spares(server):  # which was forked under a lower limit
        os.kill(spare, signal.SIGKILL)
    with ProcessExecutor([], None) as other:
        assert other("3 + 3").output == 6
        assert server_of(other.pid) == server


def test_spare_ends_with_the_fork_server(executor: ProcessExecutor) -> None:
    server = server_of(executor.pid)
    until(lambda: bool(spares(server)), "no spare")
    (spare,) = spares(server)
    os.kill(server, signal.SIGKILL)
    until(lambda: spare not in process_table(), "the spare outlives its fork server")


def test_spare_ends_with_a_host_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from smolagents_fork import ProcessExecutor\n"
        "executor = ProcessExecutor([], None)\n"
        "print(executor.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    host = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    try:
        assert host.stdout is not None
        child = int(host.stdout.readline())
        server = server_of(child)
        until(lambda: bool(spares(server)), "no spare")
        left = {child, server, *spares(server)}
    finally:
        host.kill()
        host.wait()
        host.stdout.close()
    until(lambda: not left & process_table().keys(), "a process outlives its host")
