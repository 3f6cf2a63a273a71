"""Sandboxes on a Ray cluster beside those of this machine, in turns; needs root.

A cluster with a head and three nodes is started in network namespaces of this machine. Its faults
are tests (tests/integration/ray).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import docker

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine
from smolagents_fork.errors import EngineUnavailableError

from ...ray_cluster import network
from ...ray_cluster.cluster import RayCluster
from ...ray_cluster.sharing import using_cluster
from ..docker.bench import base_image
from ..runner import Measured, say
from ..table import Row
from ..timings import alternated, timed

__all__ = ["measure"]

#: Only detects hangs.
_PATIENCE_SECONDS = 240.0
_TOOL_CALLS = 100
_STARTERS = 8
_PROCESSES, _CONTAINERS = 120, 30


def measure(repeat: int) -> Measured:
    """Return the figures of both sides.

    Args:
        repeat: starts are as many, calls ten times.

    Raises:
        EngineUnavailableError: no cluster with three nodes can be made here.
    """
    if reason := network.missing():
        raise EngineUnavailableError(f"a cluster with three nodes cannot be made: {reason}")
    parts: Mapping[str, Callable[[_Sandboxes], list[Row]]] = {
        "starts": lambda made: [_start_row(made, repeat)],
        "calls": lambda made: _call_rows(made, 10 * repeat),
        "many processes": _process_rows,
        "many containers": _container_rows,
    }
    rows = []
    with _sandboxes() as made:
        for name, part in parts.items():
            say(name)
            rows += part(made)
    return Measured(rows, "medians; the three nodes share this machine")


class _Sandboxes:
    """Sandboxes on a cluster.

    Args:
        cluster: that runs.
    """

    def __init__(self, cluster: RayCluster) -> None:
        self.cluster = cluster
        # Executors with an equal reservation share supervisors, and others do not: the last digits
        # of the lease tell reservations apart.
        self._digits = itertools.count(1)

    def lease(self) -> float:
        """Return a lease in seconds: the default one, with digits that no other has."""
        return 15.0 + next(self._digits) / 1000

    def _engine(self, sandbox: Literal["docker", "process"], lease: float, slots: int) -> RayEngine:
        # It reserves little: idle supervisors keep what they have for a minute.
        return RayEngine(
            self.cluster.address, sandbox=sandbox, slots_per_node=slots, lease_seconds=lease,
            cpus_per_slot=0.02, memory_per_slot="4m",
        )  # fmt: skip

    def process(self, lease: float, slots: int = 8) -> ProcessExecutor:
        """Open a process sandbox on the cluster."""
        return ProcessExecutor(
            ["time"], engine=self._engine("process", lease, slots),
            startup_timeout_seconds=_PATIENCE_SECONDS,
        )  # fmt: skip

    def container(self, lease: float, slots: int = 8) -> DockerExecutor:
        """Open a container on the cluster."""
        return DockerExecutor(
            engine=self._engine("docker", lease, slots),
            startup_timeout_seconds=_PATIENCE_SECONDS,
        )


@contextlib.contextmanager
def _sandboxes() -> Iterator[_Sandboxes]:
    """Start a cluster, with its token in the environment; end it with all it has."""
    before = dict(os.environ)
    client = docker.from_env()
    try:
        base_image(client)
        DockerExecutor.setup([], progress=lambda _line: None)
        with (
            tempfile.TemporaryDirectory(prefix="bench-ray-") as folder,
            using_cluster(Path(folder)) as cluster,
        ):
            os.environ |= cluster.environment
            yield _Sandboxes(cluster)
    finally:
        client.close()
        os.environ.clear()
        os.environ.update(before)


def _start_row(made: _Sandboxes, count: int) -> Row:
    lease = made.lease()

    def start(make: Callable[[], ProcessExecutor]) -> float:
        began = time.perf_counter()
        with make() as executor:
            executor("1+1")
            return time.perf_counter() - began

    def local() -> ProcessExecutor:
        return ProcessExecutor(["time"])

    # Both sides have made what is made once: fork server, placer process, supervisor.
    with local(), made.process(lease):
        turns = alternated(
            {"floor": lambda: start(local), "now": lambda: start(lambda: made.process(lease))},
            count,
        )
    return Row("process: start and first call", turns["now"], turns["floor"], goal=2)


def _call_rows(made: _Sandboxes, count: int) -> list[Row]:
    many = f"for i in range({_TOOL_CALLS}): same(i)"
    with DockerExecutor() as local, made.container(made.lease()) as remote:
        for executor in (local, remote):
            executor.send_tools({"same": lambda value: value})
            executor("same(1)")

        def turns(code: str, rounds: int) -> dict[str, list[float]]:
            sides = {"floor": local, "now": remote}
            return alternated({name: _timer(one, code) for name, one in sides.items()}, rounds)

        call, tools = turns("1+1", count), turns(many, max(1, count // 20))
    each = {name: [one / _TOOL_CALLS for one in values] for name, values in tools.items()}
    return [
        Row("docker: call of 1+1", call["now"], call["floor"], goal=1.3),
        Row("docker: call of a tool", each["now"], each["floor"], goal=1.5),
    ]


def _timer(executor: DockerExecutor, code: str) -> Callable[[], float]:
    return lambda: timed(lambda: executor(code))


def _process_rows(made: _Sandboxes) -> list[Row]:
    lease, slots = made.lease(), -(-_PROCESSES // len(made.cluster.nodes))
    with ProcessExecutor(["time"]) as local:
        local("1+1")
        floor = _private_bytes(local.pid)
    with _open(lambda: made.process(lease, slots), _PROCESSES) as (executors, seconds):
        used = [_private_bytes(one.pid) for one in executors]
    return [
        Row(f"process: each start of {_PROCESSES} at once", seconds / _PROCESSES),
        Row("process: memory of a sandbox", used, floor, unit="byte", goal=1.5),
    ]


def _private_bytes(pid: int | None) -> int:
    """Return the memory of a process; a page that several share counts in parts."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _container_rows(made: _Sandboxes) -> list[Row]:
    lease, slots = made.lease(), -(-_CONTAINERS // len(made.cluster.nodes))
    with DockerExecutor() as local:
        local("1+1")
        floor = local.stats().memory_bytes
    with _open(lambda: made.container(lease, slots), _CONTAINERS) as (executors, seconds):
        used = [one.stats().memory_bytes for one in executors]
    return [
        Row(f"docker: each start of {_CONTAINERS} at once", seconds / _CONTAINERS),
        Row("docker: memory of a container", used, floor, unit="byte", goal=1.15),
    ]


@contextlib.contextmanager
def _open(make: Callable[[], Any], count: int) -> Iterator[tuple[list[Any], float]]:
    """Yield executors that are open at once and have answered, and the seconds for all starts."""
    with ThreadPoolExecutor(_STARTERS) as starters, contextlib.ExitStack() as stack:
        began = time.perf_counter()
        executors = []
        for executor in starters.map(lambda _: make(), range(count)):
            executors.append(stack.enter_context(executor))
        seconds = time.perf_counter() - began
        for number, executor in enumerate(executors):
            assert executor(f"{number} + 1").output == number + 1
        yield executors, seconds
