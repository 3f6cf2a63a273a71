"""A fork server: whose children it has, what it refuses, and its end with its host."""

from __future__ import annotations

import os
import resource
import signal
import sys

import pytest
from background import eventually, process_gone
from process_harness import executor

from smolagents_fork.errors import ExecutorStartError, SandboxDiedError
from smolagents_fork.process import spawn
from smolagents_fork.system.proc_table import process_table

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="/proc and confinement"),
    pytest.mark.usefixtures("own_fork_server"),
]


def server_of(pid: int) -> int:
    return process_table()[pid].parent


@pytest.fixture
def ex(own_fork_server):
    with executor() as made:
        yield made


def test_children_with_the_network_have_another_fork_server(ex):
    for network in ("host", "none"):
        with executor(network=network) as other:
            assert (server_of(other.pid) == server_of(ex.pid)) is (network == "none")
            assert ("network" in other.confinement["in_force"]) is (network == "none")
            assert other("1 + 1").output == 2


def test_fork_server_without_descriptors_refuses_starts_only(ex):
    server = server_of(ex.pid)
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
            with executor():
                pass
        except ExecutorStartError as error:
            refusals.append(str(error))
        assert ex("1 + 1").output == 2
    assert any(
        f"the fork server (process {server}) could not start a child: Too many open files; close "
        "executors and try again, or raise the limit on open files (ulimit -n)" == refusal
        for refusal in refusals
    )
    resource.prlimit(server, resource.RLIMIT_NOFILE, before)
    with executor() as other:
        assert other("3 + 3").output == 6
        assert server_of(other.pid) == server


def test_a_killed_fork_server_is_replaced(ex):
    ex.send_tools({"three": lambda: 3})
    pid = ex.pid
    os.kill(server_of(pid), signal.SIGKILL)
    assert eventually(lambda: process_gone(pid))  # it dies with its parent
    with pytest.raises(SandboxDiedError, match="between two calls, "):
        ex("three()")
    assert ex("three()").output == 3


@pytest.mark.parametrize("idle", [False, True], ids=["killed", "idle"])
def test_ended_fork_server_is_reaped_by_the_next_start(monkeypatch, idle: bool):
    if idle:
        hurry = "fork_server.IDLE_SECONDS = 0.2\nfork_server.main"
        monkeypatch.setattr(spawn, "BOOTSTRAP", spawn.BOOTSTRAP.replace("fork_server.main", hurry))
    with executor() as one, executor(["numpy"]) as other:
        table = process_table()
        ended = {table[ex.pid].parent for ex in (one, other) if ex.pid is not None}
        assert len(ended) == 2
        for pid in () if idle else ended:
            os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: all(map(process_gone, ended)))
    assert all(os.path.exists(f"/proc/{pid}") for pid in ended)
    with executor() as ex:
        assert ex("6 * 7").output == 42
        assert ex.pid is not None
        last = process_table()[ex.pid].parent
    assert not any(os.path.exists(f"/proc/{pid}") for pid in ended - {last})
    spawn.stop_fork_servers()
    assert not os.path.exists(f"/proc/{last}")


def test_an_interrupted_start_leaves_no_fork_server(monkeypatch):
    # By then the host has started it, and waits until it is ready.
    late = "import os, time\ntime.sleep(1)\nos.kill(os.getppid(), 14)\ntime.sleep(600)\n"
    monkeypatch.setattr(spawn, "BOOTSTRAP", late)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), executor():
            pass
    finally:
        signal.signal(signal.SIGALRM, before)
    assert [one for one in process_table().values() if late in one.argv] == []
