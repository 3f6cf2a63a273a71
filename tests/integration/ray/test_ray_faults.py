"""A supervisor, node, link, head or driver is lost: errors that say so, and nothing is left.

One fault meets four executors on its node: one that is idle, one in a call, one in a tool call and
one that starts. A fifth, on another node, keeps its state. Deadlines only detect hangs.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from background import Background, eventually, running

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine
from smolagents_fork.errors import EngineUnavailableError, ForkError, SandboxDiedError
from tools.ray_cluster.cluster import NODES, RayCluster
from tools.ray_cluster.processes import alive, descendants

_SECONDS = 240.0
_SLOTS = 4
#: Of supervisors, in seconds; a node without its driver is empty that long afterwards.
_LEASE = 8.0


#: Leases that no other supervisor has: executors with the same one share a supervisor.
_leases = (_LEASE + number / 100 for number in itertools.count())


def supervisors(cluster: RayCluster) -> dict[int, str]:
    """Return the supervisors' processes, each with its node."""
    return {pid: node for node in NODES for pid in cluster.processes(node, "SupervisorActor")}


def make(cluster: RayCluster, lease_seconds: float) -> ProcessExecutor:
    """Start an executor; those with the same lease share a supervisor while it has slots."""
    engine = RayEngine(
        cluster.address,
        sandbox="process",
        slots_per_node=_SLOTS,
        cpus_per_slot=0.25,
        lease_seconds=lease_seconds,
    )
    return ProcessExecutor(
        ["time"], engine=engine, startup_timeout_seconds=_SECONDS, timeout_seconds=2 * _SECONDS
    )


class Scene:
    """Executors in their phases, on one node, and one on another.

    Attributes:
        node: of the executors in their phases.
        supervisor: its process.
        sandboxes: processes of the sandboxes there.
        neighbour: the executor on another node.
    """

    def __init__(self, cluster: RayCluster, stack: contextlib.ExitStack) -> None:
        self._cluster, self._stack = cluster, stack
        self._lease = next(_leases)
        before = supervisors(cluster).keys()
        self.idle, self.calling, self.asking = (
            self._keep(make(cluster, self._lease)) for _ in range(3)
        )
        ((self.supervisor, self.node),) = [
            (pid, node) for pid, node in supervisors(cluster).items() if pid not in before
        ]
        self.neighbour = self._elsewhere()
        for executor in (self.idle, self.calling, self.asking):
            executor("kept = 1")
        self._released = threading.Event()
        stack.callback(self._released.set)
        self.call = self._busy(self.calling, "begin()\nwhile True: time.sleep(0.05)")
        self.tool_call = self._busy(self.asking, "begin()\nwait()")
        self.start: Background | None = None
        self.sandboxes = descendants(self.supervisor)

    def _keep(self, executor: ProcessExecutor) -> ProcessExecutor:
        self._stack.callback(executor.cleanup)
        return executor

    def _elsewhere(self) -> ProcessExecutor:
        """Start an executor on another node: Ray spreads supervisors."""
        for _ in range(6):
            before = supervisors(self._cluster).keys()
            executor = self._keep(make(self._cluster, next(_leases)))
            executor("kept = 'elsewhere'")
            new = [n for pid, n in supervisors(self._cluster).items() if pid not in before]
            if new != [self.node]:
                return executor
        raise AssertionError(f"every supervisor is on {self.node}")

    def _busy(self, executor: ProcessExecutor, code: str) -> Background:
        begun = threading.Event()
        wait = self._released.wait
        executor.send_tools({"begin": begun.set, "wait": lambda: wait(_SECONDS) and None})
        call = self._stack.enter_context(running(executor, f"import time\n{code}"))
        call.until(begun.is_set, _SECONDS)
        return call

    def begin_start(self) -> None:
        """Begin another start on the node, which has one more slot."""

        def start() -> ProcessExecutor:
            return self._keep(make(self._cluster, self._lease))

        self.start = self._stack.enter_context(running(start))

    def check(self) -> None:
        """Check what every lost supervisor does to the four, and to the neighbour."""
        died = self.call.error(_SECONDS)
        assert isinstance(died, SandboxDiedError), repr(died)
        assert "may have run" in str(died)
        # The tool's own work is not cut short: the loss is reported once it is over.
        self._released.set()
        assert isinstance(self.tool_call.error(_SECONDS), SandboxDiedError)
        with pytest.raises(SandboxDiedError):
            self.idle("kept")
        assert self.neighbour("kept").output == "elsewhere"
        for executor in (self.idle, self.calling, self.asking):
            with pytest.raises(ForkError, match="kept"):  # another sandbox
                executor("kept")
            assert executor("1 + 1").output == 2
        assert self.start is not None
        error = self.start.error(_SECONDS)
        if error is None:  # elsewhere, or before the fault
            with contextlib.suppress(SandboxDiedError):
                self.start.result()("1")
            assert self.start.result()("1 + 1").output == 2
        else:
            assert isinstance(error, ForkError), repr(error)
        assert eventually(lambda: not any(map(alive, self.sandboxes)), _SECONDS)


@pytest.fixture
def scene(breakable: RayCluster) -> Iterator[Scene]:
    with contextlib.ExitStack() as stack:
        yield Scene(breakable, stack)


def test_supervisor_killed(scene: Scene) -> None:
    scene.begin_start()
    os.kill(scene.supervisor, signal.SIGKILL)
    scene.check()


def test_raylet_killed(breakable: RayCluster, scene: Scene) -> None:
    scene.begin_start()
    breakable.kill_raylet(scene.node)
    scene.check()


def test_link_cut(breakable: RayCluster, scene: Scene) -> None:
    scene.begin_start()
    breakable.cut(scene.node)
    scene.check()
    # Nobody could tell the node: its supervisor has ended all by itself.
    assert not alive(scene.supervisor)


def test_driver_killed(breakable: RayCluster) -> None:
    program = (
        "import time\n"
        "from smolagents_fork import ProcessExecutor, RayEngine\n"
        f"engine = RayEngine({breakable.address!r}, sandbox='process', cpus_per_slot=0.25, "
        f"lease_seconds={_LEASE})\n"
        "made = [ProcessExecutor(['time'], engine=engine, "
        f"startup_timeout_seconds={_SECONDS}) for _ in range(2)]\n"
        "made[0].send_tools({'begin': lambda: print('begun', flush=True)})\n"
        f"made[0]('begin()\\nimport time\\ntime.sleep({_SECONDS})')\n"
    )
    before = supervisors(breakable).keys()
    driver = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "begun\n"
        found = supervisors(breakable).keys() - before
        processes = set(found) | {child for pid in found for child in descendants(pid)}
        assert len(processes) > len(found)
        driver.kill()
    assert eventually(lambda: not any(map(alive, processes)), _SECONDS)


def test_head_killed(breakable: RayCluster, scene: Scene) -> None:
    breakable.kill_head()
    with pytest.raises(EngineUnavailableError) as caught:
        make(breakable, next(_leases))
    assert "head" in str(caught.value)
    assert breakable.address_of("head") in str(caught.value)
    # What runs ends with an error of the fork, or goes on: no hang, and this process lives.
    scene._released.set()
    for call in (scene.tool_call,):
        error = call.error(_SECONDS)
        assert error is None or isinstance(error, ForkError), repr(error)
    answered: list[Any] = []
    with contextlib.suppress(ForkError):
        answered.append(scene.neighbour("kept").output)
    assert answered in ([], ["elsewhere"])
    scene.calling.interrupt()
    assert isinstance(scene.call.error(_SECONDS), ForkError)


@pytest.mark.docker
def test_supervisor_of_containers_killed(breakable: RayCluster, engine: Any) -> None:
    before = supervisors(breakable).keys()
    place = RayEngine(breakable.address, slots_per_node=2, cpus_per_slot=0.5, memory_per_slot="64m")
    begun = threading.Event()
    with DockerExecutor(
        engine=place,
        lease_seconds=5.0,
        startup_timeout_seconds=_SECONDS,
        timeout_seconds=2 * _SECONDS,
    ) as executor:
        executor.send_tools({"begin": begun.set, "double": lambda number: 2 * number})
        container = executor._sandbox.container_id
        with running(executor, "begin()\nimport time\nwhile True: time.sleep(0.05)") as call:
            call.until(begun.is_set, _SECONDS)
            for pid in supervisors(breakable).keys() - before:
                os.kill(pid, signal.SIGKILL)
            died = call.error(_SECONDS)
        assert isinstance(died, SandboxDiedError), repr(died)
        assert "node" in str(died)
        # In another container, with the tools.
        assert executor("double(4)").output == 8
        other = executor._sandbox.container_id
        assert other != container
        assert eventually(lambda: container not in containers(engine), _SECONDS)
    assert eventually(lambda: other not in containers(engine), _SECONDS)


def containers(engine: Any) -> set[str]:
    """Return the short ids of the engine's containers."""
    return {one["Id"][:12] for one in engine.api.containers(all=True)}


@pytest.mark.skipif(os.environ.get("WHOLE_CONTRACT") != "1", reason="only with WHOLE_CONTRACT=1")
@pytest.mark.limit(3600)
def test_thousand_sandboxes_while_nodes_are_killed(breakable: RayCluster) -> None:
    lease, errors = next(_leases), 0
    memory = host_memory()
    for number in range(1000):
        if number % 100 == 50:
            breakable.complete()
            breakable.kill_node(NODES[number // 100 % len(NODES)])
        try:
            with make(breakable, lease) as executor:
                assert executor("1 + 1").output == 2
        except ForkError:
            errors += 1
    assert errors <= 100
    assert host_memory() - memory < 20 << 20
    processes = {child for pid in supervisors(breakable) for child in descendants(pid)}
    assert eventually(lambda: not any(map(alive, processes)), _SECONDS)


def host_memory() -> int:
    """Return the resident memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
