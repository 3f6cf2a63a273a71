"""Ready containers: handed out once, refilled, fair, bounded, calm when the engine is broken."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time

import pytest
from docker_waiting import eventually, gone
from smolagents.utils import AgentError

from smolagents_fork.containers import removal
from smolagents_fork.errors import (
    ConfigurationError,
    EngineUnavailableError,
    ExecutorClosedError,
    ExecutorStartError,
)
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.executors.docker_session import KernelSession
from smolagents_fork.executors.pool import DockerPool

# Room for starts on a machine that does other work; quiet, one takes less than a second.
PATIENT = {"acquire_timeout_seconds": 170, "startup_timeout_seconds": 150}


@pytest.fixture
def pool(image):
    with DockerPool(min_size=1, max_size=3, **PATIENT) as made:
        yield made


def test_ready_container_is_handed_out_and_refilled(pool):
    assert pool.wait_until_ready()
    with DockerExecutor(pool=pool) as executor:
        assert executor("1+1").output == 2
        assert pool.stats().in_use == 1
        assert pool.wait_until_ready()
    stats = pool.stats()
    assert (stats.in_use, stats.ready, stats.handed_out) == (0, 1, 1)


def test_container_is_never_used_twice(pool):
    seen = set()
    for _ in range(3):
        with DockerExecutor(pool=pool) as executor:
            with pytest.raises(AgentError, match="NameError"):
                executor("left_behind")
            executor("left_behind = 1")
            seen.add(executor.container.id)
    assert len(seen) == 3


def test_full_pool_makes_wait_and_says_what_it_is_doing(image):
    with DockerPool(min_size=0, max_size=1, **PATIENT) as pool, DockerExecutor(pool=pool) as first:
        started = time.monotonic()
        with pytest.raises(ExecutorStartError) as caught:
            pool.acquire(timeout=0.5)
        assert time.monotonic() - started < 5
        assert "acquire_timeout_seconds=0.5" in str(caught.value)
        assert "in_use=1" in str(caught.value)
        # Not one more than max_size was started for the one who waited, nor would be.
        assert not eventually(lambda: pool.stats().starting or pool.stats().started > 1, 0.5)
        threading.Timer(0.5, first.cleanup).start()
        with DockerExecutor(pool=pool) as second:
            assert second("'mine'").output == "mine"


def test_first_come_first_served(image):
    order: list[int] = []
    with DockerPool(min_size=0, max_size=1, **PATIENT) as pool:
        with DockerExecutor(pool=pool):
            threads = []
            for number in range(3):

                def take(number=number):
                    with DockerExecutor(pool=pool):
                        order.append(number)

                threads.append(threading.Thread(target=take))
                threads[-1].start()
                assert eventually(lambda n=number: pool.stats().waiting == n + 1, 10)
        for thread in threads:
            thread.join(120)
    assert order == [0, 1, 2]


def test_bounded_under_contention(image, monkeypatch):
    lock = threading.Lock()
    opening = most_opening = most = 0
    results = []
    original = KernelSession.open

    def counted(session):
        nonlocal opening, most_opening
        with lock:
            opening += 1
            most_opening = max(most_opening, opening)
        try:
            original(session)
        finally:
            with lock:
                opening -= 1

    monkeypatch.setattr(KernelSession, "open", counted)
    with DockerPool(min_size=1, max_size=4, concurrent_starts=2, **PATIENT) as pool:

        def work(number):
            nonlocal most
            with DockerExecutor(pool=pool) as executor:
                with lock:
                    stats = pool.stats()
                    most = max(most, stats.in_use + stats.ready + stats.starting)
                results.append(executor(f"{number} * 2").output)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(180)
        assert pool.stats().handed_out == 6
        assert pool.stats().waiting == 0
    assert sorted(results) == [n * 2 for n in range(6)]
    assert most <= 4
    assert most_opening == 2


def test_idle_containers_above_the_minimum_are_removed(image, engine):
    with DockerPool(min_size=0, max_size=1, idle_seconds=1) as pool:
        # Started for somebody who gives up: then there is one more than is wanted.
        while not (pool.stats().starting or pool.stats().ready):
            with contextlib.suppress(ExecutorStartError):
                session = pool.acquire(timeout=0.1)
                session.close()
                pool.release(session)
        assert eventually(lambda: pool.stats().ready == 1, 60)
        name = pool._ready[0][0].sandbox.name
        assert eventually(lambda: pool.stats().discarded == 1, 15)
        assert pool.stats().ready == 0
        assert pool.stats().failed == 0
        assert eventually(lambda: gone(engine, name), 15)


def test_dead_container_is_not_handed_out(pool, engine):
    assert pool.wait_until_ready()
    session = pool._ready[0][0]
    engine.api.remove_container(session.sandbox.name, force=True)
    time.sleep(0.5)
    with DockerExecutor(pool=pool) as executor:
        assert executor("1+1").output == 2
    assert pool.stats().discarded == 1


def test_broken_engine_is_told_and_not_hammered_and_the_pool_recovers(image, proxy):
    proxy.refusing = True
    with DockerPool(min_size=2, max_size=4) as pool:
        started = time.monotonic()
        with pytest.raises(EngineUnavailableError):
            DockerExecutor(pool=pool)
        assert time.monotonic() - started < 10
        time.sleep(max(0, 2.5 - (time.monotonic() - started)))
        assert pool.stats().failed >= 1
        # Pauses of 0.5, 1, 2 ... seconds: three rounds of two starts, a few connections each.
        assert proxy.accepted <= 40
        proxy.refusing = False
        assert pool.wait_until_ready(2, timeout=60)
        with DockerExecutor(pool=pool) as executor:
            assert executor("1+1").output == 2
        assert pool.wait_until_ready(2, timeout=60)
        assert removal.wait_until_removed(30)
        # At rest nothing is asked of the engine.
        asked = len(proxy.requests)
        time.sleep(1)
        assert len(proxy.requests) == asked


def test_executor_may_not_ask_for_another_container(pool):
    with pytest.raises(ConfigurationError, match=r"memory='1g' is decided by the pool"):
        DockerExecutor(pool=pool, memory="1g")
    with pytest.raises(ConfigurationError, match="numpy: not in the pool's additional_imports"):
        DockerExecutor(["numpy"], pool=pool)
    with DockerExecutor(["json"], pool=pool, timeout_seconds=3) as executor:
        assert executor.options.timeout_seconds == 3
    with pytest.raises(ConfigurationError, match="min_size=5, max_size=2"):
        DockerPool(min_size=5, max_size=2)


def test_asyncio_user_awaits_a_container_and_calls_without_blocking_the_loop(image):
    async def main(pool):
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.02)
                ticks += 1

        ticking = asyncio.ensure_future(tick())
        first = await DockerExecutor.acreate(pool=pool)
        pending = asyncio.ensure_future(DockerExecutor.acreate(pool=pool))
        while pool.stats().waiting == 0:  # the pool is full; the second one is in the queue
            await asyncio.sleep(0.01)
        before = ticks
        await asyncio.sleep(0.4)
        assert not pending.done()
        assert ticks - before >= 5
        first.cleanup()
        second = await pending
        before = ticks
        try:
            calls = [second.acall(f"import time; time.sleep(0.1); {n} + 1") for n in range(3)]
            results = await asyncio.gather(*calls)
        finally:
            second.cleanup()
            ticking.cancel()
        assert ticks - before >= 5
        return [result.output for result in results]

    with DockerPool(min_size=0, max_size=1, **PATIENT) as pool:
        assert asyncio.run(main(pool)) == [1, 2, 3]
        assert pool.stats().handed_out == 2


def test_closed_pool(image, engine):
    pool = DockerPool(min_size=1, max_size=1)
    assert pool.wait_until_ready()
    name = pool._ready[0][0].sandbox.name
    assert not gone(engine, name)
    pool.close()
    pool.close()
    with pytest.raises(ExecutorClosedError):
        pool.acquire()
    assert eventually(lambda: gone(engine, name), 15)
    assert pool.stats().ready == 0
