"""asyncio: the loop goes on, an interrupt always gets through, a cancelled task leaves nothing."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from background import PATIENCE_SECONDS, eventually, running
from docker_waiting import first_print

from smolagents_fork.errors import ExecutorStartError
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


# Room for starts on a machine that does other work; quiet, one takes less than a second.
PATIENT = {"acquire_timeout_seconds": 400, "startup_timeout_seconds": 180}

# A loop that waited for what only it can bring about would stand until a deadline of minutes; a
# busy machine makes pauses, too, of a second perhaps.
BLOCKED_SECONDS = 30


async def happened(condition):
    """Let the loop go on until ``condition`` is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def ticking():
    """Yields the longest pause of the loop; the loop was never blocked when it is short."""
    pauses = [0.0]

    async def tick():
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            pauses[0] = max(pauses[0], time.monotonic() - before)

    task = asyncio.ensure_future(tick())
    try:
        yield pauses
    finally:
        task.cancel()


def test_more_calls_than_any_thread_pool_has_threads(make):
    executor = make()

    async def main():
        most = 0
        async with ticking() as pauses:
            calls = [asyncio.ensure_future(executor.acall(f"{n} + 1")) for n in range(60)]
            while not all(call.done() for call in calls):
                most = max(most, len(threads_of_calls()))
                await asyncio.sleep(0.001)
            results = await asyncio.gather(*calls)
        assert pauses[0] < BLOCKED_SECONDS
        # One has its turn, and those before it may still be about to end.
        assert 1 <= most <= 10
        return [result.output for result in results]

    assert run_on_small_loop(main) == [n + 1 for n in range(60)]


def threads_of_calls():
    return [t for t in threading.enumerate() if t.name.startswith("smolagents-fork-call")]


def test_waiting_for_a_pool_keeps_nobody_from_giving_back(image):
    with DockerPool(min_size=0, max_size=1, **PATIENT) as pool:

        async def use(number):
            executor = await DockerExecutor.acreate(pool=pool)
            try:
                return (await executor.acall(f"{number} * 2")).output
            finally:
                executor.cleanup()

        async def main():
            async with ticking() as pauses:
                results = await asyncio.gather(*(use(number) for number in range(4)))
            assert pauses[0] < BLOCKED_SECONDS
            return results

        assert run_on_small_loop(main) == [0, 2, 4, 6]
        assert pool.stats().in_use == pool.stats().waiting == 0


@pytest.mark.parametrize("after", [0.0, 0.02, None])
def test_cancelled_call_is_interrupted_whenever_that_comes(make, after):
    executor = make(timeout_seconds=60, interrupt_grace_seconds=60)
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


def test_cancelled_call_behind_another_thread_interrupts_only_itself(make):
    executor = make(timeout_seconds=60)
    executor("ran = []")
    begun, release = threading.Event(), threading.Event()
    executor.send_tools({"hold": lambda: (begun.set(), release.wait(100))[1]})

    async def main():
        await happened(begun.is_set)
        task = asyncio.ensure_future(executor.acall("ran.append('never')"))
        await happened(threads_of_calls)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # It did not wait for the other, which it has not interrupted.
        assert not other.ended

    with running(executor, "held = hold()\nran.append('done')\nheld", stop=release.set) as other:
        run_on_small_loop(main)
        release.set()
        assert other.result().output is True
    assert executor("ran").output == ["done"]


def test_cancelled_call_that_ignores_interrupts_is_killed(make):
    executor = make(timeout_seconds=None, interrupt_grace_seconds=0.5)
    code = (
        "import time\nprint('begun', flush=True)\n"
        "while True:\n    try:\n        time.sleep(9)\n"
        "    except KeyboardInterrupt: pass"
    )
    began = first_print(executor)

    async def main():
        task = asyncio.ensure_future(executor.acall(code))
        await happened(began.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return (await executor.acall("'again'")).output

    assert run_on_small_loop(main) == "again"


def test_cancelled_creation_leaves_nothing(image, engine):
    with DockerPool(min_size=0, max_size=1, **PATIENT) as pool:

        async def main():
            async with ticking():
                executor = await DockerExecutor.acreate(pool=pool)
                waiting = asyncio.ensure_future(DockerExecutor.acreate(pool=pool))
                await happened(lambda: pool.stats().waiting == 1)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                assert pool.stats().waiting == 0
                executor.cleanup()
            starting = asyncio.ensure_future(DockerExecutor.acreate())
            await asyncio.sleep(0.2)
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting
            # The loop is needed until the thread has handed over what it made.
            await happened(lambda: not threads_of_creation())
            await asyncio.sleep(0.1)

        before = {s["Id"] for s in engine.api.containers(all=True)}
        run_on_small_loop(main)
        mine = f":{__import__('os').getpid()}:"

        def left():
            return [
                s
                for s in engine.api.containers(all=True)
                if s["Id"] not in before and mine in str(s["Labels"])
            ]

        assert eventually(lambda: not left())
        assert pool.stats().in_use == 0


def threads_of_creation():
    return [t for t in threading.enumerate() if t.name == "smolagents-fork-create"]


def test_pool_that_stays_full_is_an_error_for_asyncio_too(image):
    with DockerPool(min_size=0, max_size=1, **PATIENT) as pool, DockerExecutor(pool=pool):

        async def main():
            with pytest.raises(ExecutorStartError, match=r"acquire_timeout_seconds=0\.3"):
                await pool.acquire_async(0.3)

        run_on_small_loop(main)
        assert pool.stats().waiting == 0
