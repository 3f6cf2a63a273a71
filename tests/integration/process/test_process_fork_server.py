"""A fork server: whose children it has, what it refuses, and its end with its host."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator

import pytest

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.process import spawn
from smolagents_fork.system.proc_table import process_table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc and confinement")


def server_of(pid: int) -> int:
    return process_table()[pid].parent


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessExecutor]:
    """An executor with a fork server of its own, since the server is shared in a process."""
    monkeypatch.setattr(spawn, "_fork_servers", {})
    with ProcessExecutor([], None) as made:
        yield made
    spawn.stop_fork_servers()


def test_children_with_the_network_have_another_fork_server(executor: ProcessExecutor) -> None:
    server = server_of(executor.pid)
    for network in ("host", "none"):
        with ProcessExecutor([], None, network=network) as other:
            assert (server_of(other.pid) == server) is (network == "none")
            assert ("network" in other.confinement["in_force"]) is (network == "none")
            assert other("1 + 1").output == 2


def test_fork_server_without_descriptors_refuses_starts_only(executor: ProcessExecutor) -> None:
    server = server_of(executor.pid)
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
    with ProcessExecutor([], None) as other:
        assert other("3 + 3").output == 6
        assert server_of(other.pid) == server
