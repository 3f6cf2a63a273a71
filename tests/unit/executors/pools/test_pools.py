"""Pools: order of the queue, quotas of tenants, reports of demand, failed starts, text forms."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from background import Background, eventually, running
from counting_pool import PATIENCE, CountingPool, Numbered

from smolagents_fork import AgentSandbox, DockerExecutor, DockerPool, ProcessExecutor, WasmExecutor
from smolagents_fork.errors import ExecutorClosedError, ExecutorStartError, SandboxDiedError
from smolagents_fork.executors.hosted import E2BExecutor
from smolagents_fork.executors.pools import sandbox_pool
from smolagents_fork.executors.pools.pool_queue import TenantStats


class Callers:
    """Callers of a pool in threads, in the order in which they have joined the queue."""

    def __init__(self, pool: CountingPool, stack: contextlib.ExitStack) -> None:
        self.pool, self._stack = pool, stack
        self.served: list[str] = []
        self.taken: dict[str, Numbered] = {}
        self.owners: dict[Numbered, str] = {}
        self._lock = threading.Lock()

    def join(self, name: str, tenant: str = "") -> Background:
        """Let another caller ask for a sandbox; return when it is in the queue or has one."""
        before = self.pool.stats()
        seen = before.waiting + before.handed_out

        def take() -> None:
            try:
                sandbox = self.pool.acquire(tenant=tenant)
            except ExecutorClosedError:
                return
            with self._lock:
                self.taken[name] = sandbox
                self.owners[sandbox] = name
                self.served.append(name)

        call = self._stack.enter_context(running(take, stop=self.pool.close))
        call.until(lambda: (now := self.pool.stats()).waiting + now.handed_out > seen)
        return call

    def leave(self, name: str) -> None:
        """Close a caller's sandbox."""
        sandbox = self.taken.pop(name)
        sandbox.close()
        self.pool.release(sandbox)

    def wait_for(self, count: int) -> None:
        """Wait until so many callers have been served."""
        assert eventually(lambda: len(self.served) >= count), (self.served, self.pool.stats())


@contextlib.contextmanager
def callers(pool: CountingPool) -> Iterator[Callers]:
    with contextlib.ExitStack() as stack, pool:  # closed first: nobody waits any longer
        yield Callers(pool, stack)


def test_ready_sandbox_goes_to_the_tenant_that_falls_below_its_quota() -> None:
    with callers(CountingPool(4, min_size=1, max_per_tenant=1)) as queue:
        queue.join("a1", "a")
        queue.join("a2", "a")
        queue.wait_for(1)
        assert eventually(lambda: queue.pool.stats().ready == 1)
        queue.leave("a1")
        queue.wait_for(2)


def test_order_is_kept_among_all_who_may_have_one() -> None:
    with callers(CountingPool(1, max_per_tenant=1)) as queue:
        names = [f"{tenant}{number}" for number in range(3) for tenant in "abc"]
        for name in names:
            queue.join(name, name[0])
        for count, name in enumerate(names, 1):
            queue.wait_for(count)
            queue.leave(name)
        assert queue.served == names


def test_forty_eight_callers_on_twelve_slots() -> None:
    """One tenant asks for 40, the other for 8; each may have 4 of 12 at a time."""
    pool = CountingPool(12, max_per_tenant=4)
    most: Counter[str] = Counter()
    with callers(pool) as queue:
        greedy = [f"greedy{number}" for number in range(40)]
        modest = [f"modest{number}" for number in range(8)]
        for name in greedy:
            queue.join(name, "greedy")
        queue.wait_for(4)
        for name in modest:
            queue.join(name, "modest")
        # Four of the second tenant, while 36 of the first wait and none of its four has ended.
        queue.wait_for(8)
        assert sorted(queue.served) == sorted(greedy[:4] + modest[:4])
        stats = pool.stats()
        assert stats.tenants == {"greedy": TenantStats(4, 36), "modest": TenantStats(4, 4)}
        assert (stats.in_use, stats.waiting) == (8, 40)
        for ended in range(48):
            queue.wait_for(min(48, ended + 1))
            for tenant, figures in pool.stats().tenants.items():
                most[tenant] = max(most[tenant], figures.in_use)
            queue.leave(queue.served[ended])
        # Callers wake in any order; the pool gives in order.
        given = [queue.owners[sandbox] for sandbox in pool.given]
        assert [name for name in given if name in greedy] == greedy
        assert [name for name in given if name in modest] == modest
    assert max(most.values()) <= 4
    assert pool.most_open <= 12
    assert all(one.closed for one in pool.started)
    assert pool.stats().tenants == {}


def test_error_of_a_full_tenant_names_it_and_its_quota() -> None:
    with callers(CountingPool(3, max_per_tenant=1)) as queue:
        queue.join("a1", "team a")
        queue.wait_for(1)
        message = r"tenant 'team a' has all it may have: raise max_per_tenant=1, or close executors"
        with pytest.raises(ExecutorStartError, match=message):
            queue.pool.acquire(timeout=0.01, tenant="team a")
        assert queue.pool.stats().waiting == 0


def test_error_of_a_full_pool_says_who_has_its_sandboxes() -> None:
    with callers(CountingPool(3)) as queue:
        for number, tenant in enumerate(("team a", "team a", "")):
            queue.join(str(number), tenant)
        queue.wait_for(3)
        message = re.escape(
            "the pool is full (executors without a tenant have 1, tenant 'team a' has 2 of "
            "max_size=3 numbers): raise max_size=3, or close executors that are no longer used, "
            "by cleanup() of their agents or a with block"
        )
        with pytest.raises(ExecutorStartError, match=message):
            queue.pool.acquire(timeout=0.01)
        with pytest.raises(ExecutorStartError, match=message):
            asyncio.run(queue.pool.acquire_async(timeout=0.01))


def test_pool_whose_last_place_starts_for_another_is_full() -> None:
    pool = CountingPool(2)
    with callers(pool) as queue:
        queue.join("first")
        queue.wait_for(1)
        pool.may_start.clear()
        queue.join("second")
        assert eventually(lambda: pool.stats().starting == 1)
        message = r"the pool is full \(executors without a tenant have 1, 1 starting of max_size=2"
        with pytest.raises(ExecutorStartError, match=message):
            pool.acquire(timeout=0.01)
        pool.may_start.set()
        queue.wait_for(2)


def test_error_of_a_late_start_says_what_the_engine_says() -> None:
    with CountingPool(1) as pool:
        pool.may_start.clear()
        message = (
            r"its numbers are still starting: call pool.wait_until_ready\(\)"
            " first, or raise acquire_timeout_seconds, min_size=0 or concurrent_starts="
        )
        with pytest.raises(ExecutorStartError, match=message):
            pool.acquire(timeout=0.01)
        with pytest.raises(ExecutorStartError, match=message):
            asyncio.run(pool.acquire_async(timeout=0.01))
        pool.failure = SandboxDiedError("node a is lost", cause="node")
        pool.may_start.set()
        assert eventually(lambda: pool.stats().failed)
        message = "its last start failed, another one follows: SandboxDiedError: node a is lost"
        with pytest.raises(ExecutorStartError, match=message):
            pool.acquire(timeout=0.01)


def test_failed_start_is_an_error_of_a_caller_who_may_have_one() -> None:
    pool = CountingPool(3, max_per_tenant=1)
    with callers(pool) as queue:
        queue.join("a1", "a")
        queue.wait_for(1)
        waiting = queue.join("a2", "a")
        pool.failure = ExecutorStartError("no place")
        with pytest.raises(ExecutorStartError, match="no place"):
            pool.acquire(tenant="b")
        pool.failure = None
        assert not waiting.ended
        queue.leave("a1")
        queue.wait_for(2)


def test_dead_sandbox_is_replaced_within_the_quota() -> None:
    pool = CountingPool(3, min_size=1, max_per_tenant=1)
    with callers(pool) as queue:
        assert pool.wait_until_ready(timeout=PATIENCE)
        pool.started[0].alive = False
        queue.join("a1", "a")
        queue.wait_for(1)
        assert queue.taken["a1"].alive
        assert pool.started[0].closed
        assert pool.stats().tenants == {"a": TenantStats(1, 0)}


def test_asyncio_has_the_same_quota() -> None:
    async def main(pool: CountingPool) -> None:
        first = await pool.acquire_async(tenant="a")
        second = asyncio.ensure_future(pool.acquire_async(tenant="a"))
        other = await asyncio.wait_for(pool.acquire_async(tenant="b"), PATIENCE)
        assert not second.done()
        pool.release(first)
        await asyncio.wait_for(second, PATIENCE)
        pool.release(other)

    with CountingPool(4, max_per_tenant=1) as pool:
        asyncio.run(main(pool))


def test_demand_is_reported_when_callers_wait() -> None:
    reports: list[tuple[int, int]] = []

    def on_demand(needed: int, capacity: int) -> None:
        pool.stats()  # the lock is free
        reports.append((needed, capacity))

    pool = CountingPool(2, max_per_tenant=3, on_demand=on_demand)
    with callers(pool) as queue:
        for number in range(4):
            queue.join(f"a{number}", "a")
        # Three are what the quota allows, whatever is asked for.
        assert eventually(lambda: reports and reports[-1] == (3, 2))
        queue.join("b1", "b")
        assert eventually(lambda: reports[-1] == (4, 2))


def test_error_of_on_demand_is_logged_and_the_next_report_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls: list[int] = []

    def on_demand(needed: int, capacity: int) -> None:
        calls.append(needed)
        raise ValueError("no machine to be had")

    pool = CountingPool(1, on_demand=on_demand)
    with caplog.at_level(logging.ERROR), callers(pool) as queue:
        for number in range(3):
            queue.join(f"a{number}")
            assert eventually(lambda n=number: calls and calls[-1] == n + 1)
    assert "no machine to be had" in caplog.text


def test_thread_that_cannot_be_started_is_a_failed_start_and_no_end_of_the_pool(monkeypatch):
    with DockerPool(min_size=0, max_size=1) as pool:
        start = threading.Thread.start

        def refused(thread):
            if thread.name == "smolagents-fork-pool-start":
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(sandbox_pool, "_FIRST_PAUSE_SECONDS", 0.01)
        monkeypatch.setattr(threading.Thread, "start", refused)
        for _ in range(2):
            with pytest.raises(ExecutorStartError, match="can't start new thread"):
                pool.acquire(timeout=30)
        stats = pool.stats()
        assert (stats.starting, stats.failed, stats.waiting) == (0, 2, 0)


def test_half_made_executors_have_a_text_form() -> None:
    for cls in (AgentSandbox, DockerExecutor, ProcessExecutor, WasmExecutor, E2BExecutor):
        assert repr(cls.__new__(cls)) == f"<{cls.__name__}: not started>"


def test_pool_says_what_it_has() -> None:
    with CountingPool(3) as pool:
        pool.acquire()
        assert re.fullmatch(
            r"<CountingPool: open, 0 ready, 0 starting and 1 in use of max_size=3, 0 waiting.*>",
            repr(pool),
        )
    assert repr(pool).startswith("<CountingPool: closed")
