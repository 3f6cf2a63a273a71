"""asyncio: an interrupt always gets through, and a cancelled task leaves nothing."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from background import PATIENCE_SECONDS, eventually
from docker_waiting import PATIENT, containers_of, first_print

from smolagents_fork.executors.docker import DockerExecutor, DockerPool


def run_on_small_loop(main):
    """Run ``main`` on a loop whose default pool has one thread, and that one taken for good."""
    release = threading.Event()

    async def outer():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        loop.run_in_executor(None, release.wait, 600)
        try:
            return await asyncio.wait_for(main(), 600)
        finally:
            release.set()

    return asyncio.run(outer())


async def happened(condition):
    """Let the loop go on until ``condition`` is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def threads_of_calls():
    return [t for t in threading.enumerate() if t.name.startswith("smolagents-fork-call")]


@pytest.fixture(scope="module")
def executor(image):
    with DockerExecutor(timeout_seconds=60, interrupt_grace_seconds=60) as made:
        yield made


@pytest.mark.parametrize("after", [0.0, 0.02, None])
def test_cancelled_call_is_interrupted_whenever_that_comes(executor, after):
    executor("kept, ran = 1, []")
    began = first_print(executor)

    async def main():
        code = "ran.append(1)\nprint('begun', flush=True)\nimport time\ntime.sleep(50)\nkept = 2"
        first = asyncio.ensure_future(executor.acall(code))
        second = asyncio.ensure_future(executor.acall("ran.append(2)"))
        await (asyncio.sleep(after) if after is not None else happened(began.is_set))
        second.cancel()  # waits for its turn: nothing to interrupt, and it is never run
        first.cancel()
        for task in (first, second):
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (await executor.acall("kept")).output == 1

    run_on_small_loop(main)
    assert 2 not in executor("ran").output
    assert eventually(lambda: not threads_of_calls())


def test_cancelled_creation_leaves_nothing(image, engine):
    with DockerPool(min_size=0, max_size=1, **PATIENT) as pool:

        async def main():
            executor = await DockerExecutor.acreate(pool=pool)
            waiting = asyncio.ensure_future(DockerExecutor.acreate(pool=pool))
            await happened(lambda: pool.stats().waiting == 1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert pool.stats().waiting == 0
            executor.cleanup()
            starting = asyncio.ensure_future(DockerExecutor.acreate())
            await happened(threads_of_creation)
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting
            # The loop is needed until the thread has handed over what it made.
            await happened(lambda: not threads_of_creation())
            await asyncio.sleep(0)

        before = set(containers_of(engine, os.getpid()))
        run_on_small_loop(main)
        assert eventually(lambda: set(containers_of(engine, os.getpid())) <= before)
        assert pool.stats().in_use == 0


def threads_of_creation():
    return [t for t in threading.enumerate() if t.name == "smolagents-fork-create"]
