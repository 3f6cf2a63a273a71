"""The helper process and its supervisors: what is lost with the helper, and room for others."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from smolagents_fork import ProcessExecutor, RayEngine
from smolagents_fork.errors import (
    ExecutorError,
    ExecutorStartError,
)
from smolagents_fork.ray_cluster.helper_process import stop_helpers
from smolagents_fork.ray_cluster.node.watched_folder import PREFIX
from tools.ray_cluster.cluster import RayCluster

# Only detects hangs.
_SECONDS = 180.0


def folders() -> set[str]:
    return {str(path) for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/*")}


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < end, folders()
        time.sleep(0.1)


@pytest.fixture
def made(breakable: RayCluster) -> Iterator[Callable[[], ProcessExecutor]]:
    """Make executors, two of which share a supervisor; none of their folders may be left."""
    before = folders()
    executors = []
    engine = RayEngine(breakable.address, sandbox="process", slots_per_node=2)

    def make() -> ProcessExecutor:
        executor = ProcessExecutor(
            engine=engine, startup_timeout_seconds=_SECONDS, timeout_seconds=_SECONDS
        )
        executors.append(executor)
        return executor

    yield make
    for executor in executors:
        executor.cleanup()
    stop_helpers()
    wait_until(lambda: folders() <= before)


def test_killed_helper_loses_its_sandboxes_and_not_the_host(breakable: RayCluster, made):
    executor = made()
    executor.send_variables({"sent": 21})
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = [int(pid) for path in children for pid in path.read_text().split()]
    helpers = [pid for pid in pids if b"helper_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    executor.send_tools({"double": lambda number: 2 * number})
    for pid in helpers:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(ExecutorError, match="helper process"):
        call_until_it_fails(executor)
    assert executor("double(sent)").output == 42


def call_until_it_fails(executor: ProcessExecutor) -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        executor("1")
        time.sleep(0.1)


def test_busy_cluster_says_what_is_used_and_idle_supervisors_make_room(breakable: RayCluster, made):
    count = len(breakable.nodes)
    whole = RayEngine(breakable.address, sandbox="process", slots_per_node=1, cpus_per_slot=16)
    user = whole.cluster()  # the helper, and so its supervisors, outlive the executors
    with contextlib.ExitStack() as stack:
        stack.callback(user.close)
        for _ in range(count):
            executor = ProcessExecutor(engine=whole, startup_timeout_seconds=_SECONDS)
            stack.callback(executor.cleanup)
        with pytest.raises(ExecutorStartError) as caught:
            ProcessExecutor(engine=whole, startup_timeout_seconds=3)
        words = (
            f"became free in 3 s: {count} of {count} slots in use on {count} nodes, 1 more asked"
        )
        assert words in str(caught.value)
        executor.cleanup()
        with ProcessExecutor(engine=whole, startup_timeout_seconds=_SECONDS) as again:
            assert again("1 + 1").output == 2
        other = RayEngine(breakable.address, sandbox="process", slots_per_node=2, cpus_per_slot=8)
        with ProcessExecutor(engine=other, startup_timeout_seconds=_SECONDS) as again:
            assert again("1 + 1").output == 2
