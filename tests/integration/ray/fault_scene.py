"""Executors of fault tests: one in each phase on one node, and one on another node."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time

import pytest
from background import Background, eventually, running
from ray_nodes.cluster import RayCluster
from ray_nodes.processes import alive, descendants

from smolagents_fork import ProcessExecutor, RayEngine
from smolagents_fork.errors import ForkError, SandboxDiedError
from smolagents_fork.ray_cluster import supervisors as shared

__all__ = ["LEASE", "SECONDS", "Scene", "close_placer", "leases", "make", "supervisors"]

#: Only detects hangs.
SECONDS = 240.0
_SLOTS = 4
#: Of supervisors, in seconds; a node without its driver is empty that long afterwards.
LEASE = 15.0


#: Leases that no other supervisor has: executors with the same one share a supervisor.
leases = (LEASE + number / 100 for number in itertools.count())


def supervisors(cluster: RayCluster) -> dict[int, str]:
    """Return the supervisors' processes, each with its node."""
    return {
        pid: node for node in cluster.nodes for pid in cluster.processes(node, "SupervisorActor")
    }


def close_placer(cluster: RayCluster) -> None:
    """End this process's placer for a cluster: the next one may have the same address."""
    found = shared._shared.get(cluster.address)
    if found is not None:
        found.placer.close()


def make(
    cluster: RayCluster, lease_seconds: float, start_seconds: float = SECONDS
) -> ProcessExecutor:
    """Start an executor; those with the same lease share a supervisor while it has slots."""
    engine = RayEngine(
        cluster.address,
        sandbox="process",
        slots_per_node=_SLOTS,
        cpus_per_slot=0.25,
        lease_seconds=lease_seconds,
    )
    return ProcessExecutor(
        ["time"], engine=engine, startup_timeout_seconds=start_seconds, timeout_seconds=2 * SECONDS
    )


class Scene:
    """Executors in their phases, on one node, and one on another.

    Attributes:
        released: ends the tool call.
        node: of the executors in their phases.
        supervisor: its process.
        sandboxes: processes of the sandboxes there.
        neighbour: the executor on another node.
    """

    def __init__(self, cluster: RayCluster, stack: contextlib.ExitStack) -> None:
        self._cluster, self._stack = cluster, stack
        self._lease = next(leases)
        before = supervisors(cluster).keys()
        self.idle, self.calling, self.asking = (
            self._keep(make(cluster, self._lease)) for _ in range(3)
        )
        ((self.supervisor, self.node),) = [
            (pid, node) for pid, node in supervisors(cluster).items() if pid not in before
        ]
        self.neighbour = self._elsewhere()
        for executor in self._there:
            executor("kept = 1")
        self.released = threading.Event()
        self.call = self._busy(self.calling, "begin()\nwhile True: time.sleep(0.05)")
        self.tool_call = self._busy(self.asking, "begin()\nwait()")
        # Before the calls are waited for, also when a check has failed.
        stack.callback(self.released.set)
        self.start: Background | None = None
        self.sandboxes = descendants(self.supervisor)

    @property
    def _there(self) -> tuple[ProcessExecutor, ...]:
        return self.idle, self.calling, self.asking

    def _keep(self, executor: ProcessExecutor) -> ProcessExecutor:
        self._stack.callback(executor.cleanup)
        return executor

    def _elsewhere(self) -> ProcessExecutor:
        """Start an executor on another node: Ray spreads supervisors."""
        # A node that an earlier test has broken is avoided for 20 seconds.
        for _ in range(30):
            before = supervisors(self._cluster).keys()
            executor = self._keep(make(self._cluster, next(leases)))
            executor("kept = 'elsewhere'")
            new = [n for pid, n in supervisors(self._cluster).items() if pid not in before]
            if len(new) == 1 and new[0] != self.node:
                return executor
            executor.cleanup()
            time.sleep(1)
        raise AssertionError(f"every supervisor is on {self.node}")

    def _busy(self, executor: ProcessExecutor, code: str) -> Background:
        begun = threading.Event()
        wait = self.released.wait
        executor.send_tools({"begin": begun.set, "wait": lambda: wait(SECONDS) and None})
        call = self._stack.enter_context(running(executor, f"import time\n{code}"))
        self._stack.callback(executor.interrupt)
        call.until(begun.is_set, SECONDS)
        return call

    def begin_start(
        self, lease_seconds: float | None = None, start_seconds: float = SECONDS
    ) -> None:
        """Begin another start.

        Args:
            lease_seconds: one that no other supervisor has, so that it needs a new one; ``None``:
                on the node, which has one more slot.
            start_seconds: to wait for it.
        """
        lease = lease_seconds or self._lease

        def start() -> ProcessExecutor:
            return self._keep(make(self._cluster, lease, start_seconds))

        self.start = self._stack.enter_context(running(start))

    def check(self, reason: str, *, ended: bool = True) -> None:
        """Check what every lost supervisor does to the four, and to the neighbour.

        Args:
            reason: pattern of the reason in the errors.
            ended: whether its sandboxes end by themselves.
        """
        died = self.call.error(SECONDS)
        assert isinstance(died, SandboxDiedError), repr(died)
        assert "may have run" in str(died)
        # The tool's own work is not cut short: the loss is reported once it is over.
        self.released.set()
        assert isinstance(self.tool_call.error(SECONDS), SandboxDiedError)
        with pytest.raises(SandboxDiedError, match=reason):
            self.idle("kept")
        assert self.neighbour("kept").output == "elsewhere"
        for executor in self._there:
            with pytest.raises(ForkError, match="kept"):  # another sandbox
                executor("kept")
            assert executor("1 + 1").output == 2
        assert self.start is not None
        error = self.start.error(SECONDS)
        if error is None:  # elsewhere, or before the fault
            with contextlib.suppress(SandboxDiedError):
                self.start.result()("1")
            assert self.start.result()("1 + 1").output == 2
        else:
            assert isinstance(error, ForkError), repr(error)
        if ended:
            assert eventually(lambda: not any(map(alive, self.sandboxes)), SECONDS)
