"""Ready containers: handed out once, refilled, fair, bounded, calm when the engine is broken."""

from __future__ import annotations

import asyncio
import os
import threading
import time

import pytest
from docker_waiting import eventually
from smolagents.utils import AgentError

from smolagents_fork.errors import (
    ConfigurationError,
    EngineUnavailableError,
    ExecutorClosedError,
    ExecutorStartError,
)
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.executors.pool import DockerPool


@pytest.fixture
def pool(image):
    with DockerPool(min_size=1, max_size=3, acquire_timeout_seconds=60) as made:
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
    with DockerPool(min_size=0, max_size=1) as pool, DockerExecutor(pool=pool) as first:
        started = time.monotonic()
        with pytest.raises(ExecutorStartError) as caught:
            pool.acquire(timeout=0.5)
        assert time.monotonic() - started < 5
        assert "acquire_timeout_seconds=0.5" in str(caught.value)
        assert "in_use=1" in str(caught.value)
        threading.Timer(0.5, first.cleanup).start()
        with DockerExecutor(pool=pool) as second:
            assert second("'mine'").output == "mine"


def test_first_come_first_served(image):
    order: list[int] = []
    with DockerPool(min_size=0, max_size=1) as pool:
        with DockerExecutor(pool=pool):
            threads = []
            for number in range(4):

                def take(number=number):
                    with DockerExecutor(pool=pool):
                        order.append(number)

                threads.append(threading.Thread(target=take))
                threads[-1].start()
                assert eventually(lambda n=number: pool.stats().waiting == n + 1, 10)
        for thread in threads:
            thread.join(120)
    assert order == [0, 1, 2, 3]


def test_bounded_under_contention(image):
    most = 0
    lock = threading.Lock()
    results = []
    with DockerPool(min_size=1, max_size=3, concurrent_starts=2) as pool:

        def work(number):
            nonlocal most
            with DockerExecutor(pool=pool) as executor:
                with lock:
                    stats = pool.stats()
                    most = max(most, stats.in_use + stats.ready + stats.starting)
                results.append(executor(f"{number} * 2").output)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(180)
    assert sorted(results) == [n * 2 for n in range(8)]
    assert most <= 3


def test_idle_containers_above_the_minimum_are_removed(image):
    with DockerPool(min_size=0, max_size=2, idle_seconds=1) as pool:
        session = pool.acquire()
        waiting = threading.Thread(target=lambda: pool.acquire().close())
        waiting.start()
        waiting.join(60)
        session.close()
        pool.release()
        pool.release()
        # One more than is wanted: started for somebody who gave up.
        with pytest.raises(ExecutorStartError):
            pool.acquire(timeout=0.001)
        assert eventually(lambda: pool.stats().ready == 1, 30)
        assert eventually(lambda: pool.stats().ready == 0, 15)
        assert pool.stats().discarded == 1


def test_dead_container_is_not_handed_out(pool, engine):
    assert pool.wait_until_ready()
    session = pool._ready[0][0]
    engine.api.remove_container(session.sandbox.name, force=True)
    time.sleep(0.5)
    with DockerExecutor(pool=pool) as executor:
        assert executor("1+1").output == 2
    assert pool.stats().discarded == 1


def test_broken_engine_is_told_and_not_hammered(image, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/docker.sock")
    with DockerPool(min_size=2, max_size=4) as pool:
        with pytest.raises(EngineUnavailableError):
            DockerExecutor(pool=pool)
        time.sleep(2)
        assert 1 <= pool.stats().failed <= 10


def test_executor_may_not_ask_for_another_container(pool):
    with pytest.raises(ConfigurationError, match=r"memory='1g' is decided by the pool"):
        DockerExecutor(pool=pool, memory="1g")
    with pytest.raises(ConfigurationError, match="numpy: not in the pool's additional_imports"):
        DockerExecutor(["numpy"], pool=pool)
    with DockerExecutor(["json"], pool=pool, timeout_seconds=3) as executor:
        assert executor.options.timeout_seconds == 3
    with pytest.raises(ConfigurationError, match="min_size=5, max_size=2"):
        DockerPool(min_size=5, max_size=2)


def test_asyncio_user_awaits_executor_and_calls(pool):
    async def main():
        executor = await DockerExecutor.acreate(pool=pool)
        try:
            results = await asyncio.gather(*(executor.acall(f"{n} + 1") for n in range(3)))
        finally:
            executor.cleanup()
        return [result.output for result in results]

    assert asyncio.run(main()) == [1, 2, 3]


def test_closed_pool(image, engine):
    pool = DockerPool(min_size=1, max_size=1)
    assert pool.wait_until_ready()
    name = pool._ready[0][0].sandbox.name
    pool.close()
    pool.close()
    with pytest.raises(ExecutorClosedError):
        pool.acquire()
    assert eventually(
        lambda: f"/{name}" not in [n for s in engine.api.containers(all=True) for n in s["Names"]],
        15,
    )
    assert os.getpid() > 0
