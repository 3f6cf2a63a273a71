"""A supervisor, raylet, link, driver or head is lost: seconds to the error, and what is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from smolagents_fork.errors import ForkError, SandboxDiedError

from ...paths import ROOT
from ...ray_cluster.processes import descendants
from .bench_cluster import PATIENCE_SECONDS, BenchCluster, left, waited

__all__ = ["driver_killed", "head_killed", "node_lost"]

#: After a fault, until what is left is counted.
_LEFT_SECONDS = 20.0
_TRIES = 8


class _Scene:
    """A process sandbox and a container on one node, and others on other nodes."""

    def __init__(self, bench: BenchCluster, stack: contextlib.ExitStack) -> None:
        self._bench, self._stack = bench, stack
        self._node_ids = bench.node_ids()
        before = bench.supervisors().keys()
        self.caller, self.node = self._process()
        found: list[tuple[Any, str]] = []
        for make in (self._process, *[self._container] * _TRIES):
            found.append(make())
            nodes = [node for _, node in found[1:]]  # of the containers
            if self.node in nodes and len(set(nodes)) > 1:
                break
        self.neighbours = [executor for executor, node in found if node != self.node]
        self.supervisors = {
            pid
            for pid, node in bench.supervisors().items()
            if node == self.node and pid not in before
        }
        self.processes = {
            *self.supervisors, *(child for pid in self.supervisors for child in descendants(pid))
        }  # fmt: skip
        self.containers = bench.containers(self._node_ids[self.node])

    def _process(self) -> tuple[Any, str]:
        """Open a process sandbox on a supervisor of its own; return it and its node."""
        executor = self._bench.process(self._bench.new_lease())
        self._stack.callback(executor.cleanup)
        executor("kept = 1")
        return executor, self._bench.node_of(executor.pid)

    def _container(self) -> tuple[Any, str]:
        """Open a container on a supervisor of its own; return it and its node."""
        before = self._bench.containers()
        executor = self._bench.container(self._bench.new_lease())
        self._stack.callback(executor.cleanup)
        executor("kept = 1")
        for node, node_id in self._node_ids.items():
            if self._bench.containers(node_id) - before:
                return executor, node
        raise ForkError("a container is on no node of the cluster")

    def call(self) -> _RunningCall:
        """Begin a call that does not end by itself."""
        return _RunningCall(self.caller)

    def neighbours_lost(self) -> int:
        """Count the sandboxes of other nodes that have lost their state."""
        return sum(not _kept(one) for one in self.neighbours)


def _kept(executor: Any) -> bool:
    with contextlib.suppress(ForkError):
        return bool(executor("kept").output == 1)
    return False


class _RunningCall:
    """A call in a thread of its own, until its error."""

    def __init__(self, executor: Any) -> None:
        begun = threading.Event()
        self._executor, self._error_at, self._error = executor, 0.0, None
        executor.send_tools({"begin": begun.set})
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        if not begun.wait(PATIENCE_SECONDS):
            raise ForkError(f"a call has not begun after {PATIENCE_SECONDS} s")

    def _run(self) -> None:
        try:
            self._executor("import time\nbegin()\nwhile True: time.sleep(0.05)")
        except SandboxDiedError:
            self._error_at = time.perf_counter()

    def error_after(self, began: float) -> float:
        """Seconds from ``began`` until the call's error."""
        self._thread.join(PATIENCE_SECONDS)
        return (self._error_at or time.perf_counter()) - began


def node_lost(bench: BenchCluster, fault: str) -> dict[str, Any]:
    """Hurt a node while a call runs there.

    Args:
        bench: the cluster.
        fault: ``supervisor``, ``raylet`` or ``link``.
    """
    bench.cluster.complete()
    with contextlib.ExitStack() as stack:
        scene = _Scene(bench, stack)
        call = scene.call()
        began = time.perf_counter()
        if fault == "supervisor":
            for pid in scene.supervisors:
                os.kill(pid, signal.SIGKILL)
        elif fault == "raylet":
            bench.cluster.kill_raylet(scene.node)
        else:
            bench.cluster.cut(scene.node)
        seconds = call.error_after(began)
        lost = scene.neighbours_lost()
        time.sleep(max(0.0, _LEFT_SECONDS - (time.perf_counter() - began)))
        found = left(bench, scene.processes, scene.containers)
    return {
        "seconds": seconds,
        "neighbours": len(scene.neighbours),
        "neighbours_lost": lost,
        "processes": len(scene.processes),
        "containers": len(scene.containers),
        "left": found,
    }


@contextlib.contextmanager
def _host(bench: BenchCluster) -> Iterator[subprocess.Popen[str]]:
    """Yield a host process whose call has begun."""
    command = [sys.executable, "-m", "tools.bench.ray.host", bench.cluster.address]
    with subprocess.Popen(
        [*command, str(bench.new_lease())],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as host:
        try:
            if _line(host) != "begun":
                raise ForkError(f"the host process ended with status {host.wait()}")
            yield host
        finally:
            host.kill()


def _line(host: subprocess.Popen[str]) -> str:
    assert host.stdout is not None
    return host.stdout.readline().strip()


def _next(host: subprocess.Popen[str]) -> str:
    """Let the host go on; return the line that it prints, or nothing if it has ended."""
    assert host.stdin is not None
    try:
        host.stdin.write("\n")
        host.stdin.flush()
    except BrokenPipeError:
        return ""
    return _line(host)


def driver_killed(bench: BenchCluster) -> dict[str, Any]:
    """Kill a host process with a process sandbox and a container."""
    bench.cluster.complete()
    before, containers_before = bench.sandboxes(), bench.containers()
    with _host(bench) as host:
        processes, containers = bench.sandboxes() - before, bench.containers() - containers_before
        host.kill()
        time.sleep(_LEFT_SECONDS)
        found = left(bench, processes, containers)
    return {"left": found, "processes": len(processes), "containers": len(containers)}


def head_killed(bench: BenchCluster, seconds: float) -> dict[str, Any]:
    """Kill the head, start another sandbox, and see whether the host process lives.

    Args:
        bench: the cluster.
        seconds: after which it has to live; Ray ends its own processes after a minute.
    """
    bench.cluster.complete()
    with _host(bench) as host:
        began = time.perf_counter()
        bench.cluster.kill_head()
        answer = json.loads(_next(host) or '{"seconds": 0, "error": "the host process ended"}')
        error = answer["error"]
        waited(lambda: host.poll() is not None, seconds - (time.perf_counter() - began))
        alive = _next(host) == "alive"
    named = "head" in error and bench.cluster.address.partition(":")[0] in error
    return {"seconds": answer["seconds"], "error": error, "named": named, "alive": alive}
