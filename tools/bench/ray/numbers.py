"""Many sandboxes at once, and calls on one, two and three nodes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from smolagents_fork import DockerExecutor, ProcessExecutor
from smolagents_fork.errors import ForkError

from ...ray_cluster.processes import descendants
from .bench_cluster import BenchCluster, pss_bytes

__all__ = ["containers", "processes", "scaling"]

#: Starts at a time.
_STARTERS = 8
_SLEEPERS = 8
_ROUNDS = 4
_TRIES = 6
_LOCAL_CONTAINERS = 3


def processes(bench: BenchCluster, count: int) -> dict[str, Any]:
    """Figures of process sandboxes that are open at once.

    Args:
        bench: the cluster.
        count: of sandboxes, a third of them for each supervisor.
    """
    before, lease = bench.supervisors().keys(), bench.new_lease()
    with _opened(lambda: bench.process(lease, _slots(bench, count)), count) as (made, seconds):
        found = bench.supervisors().keys() - before
        children = {child for pid in found for child in descendants(pid)}
        return {
            "count": count,
            "answered": _answers(made),
            "seconds": seconds,
            "bytes_each": pss_bytes(children) / count,
            "supervisor_bytes": pss_bytes(set(found)) / max(1, len(found)),
            "actors": len(found),
        }


def containers(bench: BenchCluster, count: int) -> dict[str, Any]:
    """Figures of containers that are open at once, beside some of this machine.

    Args:
        bench: the cluster.
        count: of containers, a third of them for each supervisor.
    """
    with _opened(DockerExecutor, min(count, _LOCAL_CONTAINERS)) as (made, _):
        _answers(made)
        local = [one.stats().memory_bytes for one in made]
    lease = bench.new_lease()
    with _opened(lambda: bench.container(lease, _slots(bench, count)), count) as (made, seconds):
        answered = _answers(made)
        return {
            "count": count,
            "answered": answered,
            "seconds": seconds,
            "bytes": [one.stats().memory_bytes for one in made],
            "local_bytes": local,
        }


def scaling(bench: BenchCluster) -> dict[str, Any]:
    """Measure calls a second that sleep 0.5 s, on one node, on two, and so on."""
    code = "import time\ntime.sleep(0.5)"
    with contextlib.ExitStack() as stack:
        groups: dict[str, list[ProcessExecutor]] = {}
        for _ in range(_TRIES * len(bench.cluster.nodes)):
            if len(groups) == len(bench.cluster.nodes):
                break
            lease = bench.new_lease()
            made = [stack.enter_context(bench.process(lease, _SLEEPERS)) for _ in range(_SLEEPERS)]
            groups.setdefault(bench.node_of(made[0].pid), made)
        rates: list[float] = []
        open_ones: list[ProcessExecutor] = []
        for group in groups.values():
            open_ones += group
            rates.append(_rate(open_ones, code))
    return {"rates": rates}


def _rate(executors: list[ProcessExecutor], code: str) -> float:
    with ThreadPoolExecutor(len(executors)) as callers:
        list(callers.map(lambda one: one(code), executors))  # threads, first runs
        began = time.perf_counter()
        list(callers.map(lambda one: [one(code) for _ in range(_ROUNDS)], executors))
        return len(executors) * _ROUNDS / (time.perf_counter() - began)


def _slots(bench: BenchCluster, count: int) -> int:
    """Slots with which every node is needed."""
    return -(-count // len(bench.cluster.nodes))


@contextlib.contextmanager
def _opened(make: Callable[[], Any], count: int) -> Any:
    """Yield executors that are open at once, and the seconds that their starts took together.

    Those that do not start are left out.
    """
    made: list[Any] = []

    def start(_number: int) -> None:
        with contextlib.suppress(ForkError):
            made.append(make())

    with ThreadPoolExecutor(_STARTERS) as starters:
        try:
            began = time.perf_counter()
            list(starters.map(start, range(count)))
            yield made, time.perf_counter() - began
        finally:
            list(starters.map(lambda one: one.cleanup(), made))


def _answers(made: list[Any]) -> int:
    """Count the executors that answer."""
    answered = 0
    for number, executor in enumerate(made):
        with contextlib.suppress(ForkError):
            answered += executor(f"{number} + 1").output == number + 1
    return answered
