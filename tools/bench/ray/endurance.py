"""Sandboxes acquired while nodes are killed, and a pool with more callers than slots."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

from smolagents_fork import DockerPool
from smolagents_fork.errors import ForkError

from ...ray_cluster.processes import descendants
from ..host_state import resident_bytes
from .bench_cluster import PATIENCE_SECONDS, BenchCluster, waited

__all__ = ["acquires", "callers"]

#: Acquisitions for each node that is killed.
_EVERY = 100
_WARM = 20
_SLOTS = 12
_QUOTA = 4
_TENANTS_CALLERS = 40


def acquires(bench: BenchCluster, count: int) -> dict[str, Any]:
    """Acquire and release process sandboxes while nodes are killed.

    Args:
        bench: the cluster.
        count: of sandboxes; in every hundred a node is killed with the sandbox.
    """
    lease, failed, foreign, memory = bench.new_lease(), 0, 0, 0
    for number in range(count):
        if number == min(_WARM, count - 1):
            gc.collect()
            memory = resident_bytes()
        killing = number % _EVERY == _EVERY // 2
        if killing:
            bench.cluster.complete()
        try:
            with bench.process(lease) as executor:
                if killing:
                    bench.cluster.kill_node(bench.node_of(executor.pid))
                executor("1 + 1")
        except ForkError:
            failed += 1
        except Exception:
            foreign += 1
    gc.collect()
    grown = max(0, resident_bytes() - memory)

    def children() -> int:
        return sum(len(descendants(pid)) for pid in bench.supervisors())

    # A supervisor stays a minute without sandboxes, and its fork server with it.
    waited(lambda: not children(), 2 * PATIENCE_SECONDS)
    return {
        "count": count,
        "failed": failed,
        "foreign": foreign,
        "grown_bytes": grown,
        "left": children(),
    }


class _Callers:
    """Callers of a pool, each in a thread of its own, which wait in a known order.

    Args:
        pool: whose sandboxes they want.
    """

    def __init__(self, pool: DockerPool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._releases: dict[int, threading.Event] = {}
        self._threads: list[threading.Thread] = []
        #: Those that have got a sandbox, in their order; how many had one at once.
        self.served: list[int] = []
        self.errors: list[str] = []
        self.most = self._open = 0

    def add(self, tenant: str) -> int:
        """Let one more ask; return its number when it waits or is served."""
        number = len(self._threads)
        self._releases[number] = threading.Event()
        before = self._asked()
        thread = threading.Thread(target=self._ask, args=(number, tenant), daemon=True)
        self._threads.append(thread)
        thread.start()
        waited(lambda: self._asked() > before, PATIENCE_SECONDS)
        return number

    def _asked(self) -> int:
        with self._lock:
            waiting: int = self._pool.stats().waiting
            return waiting + len(self.served) + len(self.errors)

    def _ask(self, number: int, tenant: str) -> None:
        try:
            sandbox = self._pool.acquire(4 * PATIENCE_SECONDS, tenant=tenant)
        except ForkError as error:
            with self._lock:
                self.errors.append(str(error))
            return
        with self._lock:
            self.served.append(number)
            self._open += 1
            self.most = max(self.most, self._open, self._pool.stats().in_use)
        self._releases[number].wait()
        with self._lock:
            self._open -= 1
        self._pool.release(sandbox)

    def until_served(self, count: int) -> bool:
        """Wait until so many have been served, or a long time."""
        return waited(lambda: len(self.served) + len(self.errors) >= count, PATIENCE_SECONDS)

    def release_one_by_one(self) -> None:
        """Release the first that was served, wait until the next one is, and so on."""
        number = 0
        while number < len(self.served):
            wanted = len(self.served) + (self._pool.stats().waiting > 0)
            self._releases[self.served[number]].set()
            self.until_served(wanted)
            number += 1

    def close(self) -> None:
        """Release all, those that still wait once they are served; wait for their threads."""
        for one in self._releases.values():
            one.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE_SECONDS)


def callers(bench: BenchCluster, count: int) -> dict[str, Any]:
    """Figures of more callers than slots, and of two tenants with quotas.

    Args:
        bench: the cluster.
        count: of callers.
    """
    bench.cluster.complete()
    with _pool(bench, None) as asking:
        for _ in range(count):
            asking.add("")
        asking.until_served(_SLOTS)
        first = len(asking.served)
        asking.release_one_by_one()
        later = asking.served[first:]
        unserved, most = count - len(asking.served), asking.most
    with _pool(bench, _QUOTA) as asking:
        for _ in range(_TENANTS_CALLERS):
            asking.add("first")
        asking.until_served(_QUOTA)
        began = time.perf_counter()
        second = {asking.add("second") for _ in range(_QUOTA)}
        # None of the first tenant's has been released: who is served did not wait for it.
        waited(lambda: second <= set(asking.served), PATIENCE_SECONDS)
        seconds = time.perf_counter() - began
        waited_for_first = len(second - set(asking.served))
        beyond = len(set(asking.served) - second) - _QUOTA
        asking.close()
        unserved += _TENANTS_CALLERS + _QUOTA - len(asking.served)
        return {
            "callers": count,
            "unserved": unserved,
            "out_of_order": sum(
                one != other for one, other in zip(later, sorted(later), strict=True)
            ),
            "most": max(most, asking.most),
            "second_waited": waited_for_first,
            "second_seconds": seconds,
            "beyond_quota": max(0, beyond),
        }


@contextlib.contextmanager
def _pool(bench: BenchCluster, quota: int | None) -> Iterator[_Callers]:
    engine = bench.engine("docker", bench.new_lease(), _SLOTS // len(bench.cluster.nodes))
    with DockerPool(
        min_size=_SLOTS,
        max_size=_SLOTS,
        max_per_tenant=quota,
        engine=engine,
        startup_timeout_seconds=PATIENCE_SECONDS,
    ) as pool:
        asking = _Callers(pool)
        try:
            pool.wait_until_ready(timeout=PATIENCE_SECONDS)
            yield asking
        finally:
            asking.close()
