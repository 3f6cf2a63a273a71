"""Calls of an executor by tasks: turns without threads, and cancelling that outlives its loop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import Coroutine
from typing import Any

import pytest
from background import eventually

from smolagents_fork.executors.calls import CallLock


class Waiting:
    """Calls that wait until they are let go or interrupted."""

    def __init__(self) -> None:
        self.go, self.begun, self.interrupts, self.ran = threading.Event(), threading.Event(), 0, []
        self.is_deaf = False
        self.lock = CallLock(lambda _: None, self.interrupt)

    def call(self, name: str) -> str:
        with self.lock.turn("call"):
            self.ran.append(name)
            self.begun.set()
            assert self.go.wait(300)
            return name

    def acall(self, name: str) -> Coroutine[Any, Any, str]:
        return self.lock.run_async(lambda: self.call(name))

    def interrupt(self) -> None:
        self.interrupts += 1
        if not self.is_deaf:
            self.go.set()


@pytest.fixture
def executor():
    """One that lets its code go in the end, so that a test that fails leaves no thread."""
    executor = Waiting()
    yield executor
    executor.go.set()
    assert eventually(lambda: not own_threads())


def own_threads():
    return [t.name for t in threading.enumerate() if t.name == "smolagents-fork-call"]


async def moment(condition):
    """Let the loop turn until ``condition`` is true."""
    for _ in range(6000):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came")


def test_waiting_calls_hold_no_threads_and_keep_their_order(executor):
    async def main():
        calls = [asyncio.ensure_future(executor.acall(str(n))) for n in range(50)]
        await moment(executor.begun.is_set)
        await asyncio.sleep(0.2)
        assert len(own_threads()) == 1
        executor.go.set()
        return await asyncio.gather(*calls)

    assert asyncio.run(main()) == executor.ran == [str(n) for n in range(50)]


def test_cancelled_twice_with_the_loop_gone_is_interrupted_until_it_ends(executor):
    executor.is_deaf = True

    async def main():
        task = asyncio.ensure_future(executor.acall("1"))
        await moment(executor.begun.is_set)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0.1)
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(main())
    # The code still runs, and nobody awaits it: it is interrupted until it ends.
    seen = executor.interrupts
    assert eventually(lambda: executor.interrupts > seen)
    executor.go.set()
    assert eventually(lambda: not own_threads())


def test_cancelled_call_that_waits_for_a_thread_never_runs(executor):
    thread = threading.Thread(target=executor.call, args=("thread",))
    thread.start()
    assert executor.begun.wait(60)

    async def main():
        waiting = asyncio.ensure_future(executor.acall("task"))
        await moment(own_threads)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())
    assert (executor.ran, executor.interrupts) == (["thread"], 0)
    executor.go.set()
    thread.join(60)


def test_error_of_a_call_whose_task_was_cancelled_is_not_reported_as_lost():
    reports = []
    interrupted = threading.Event()
    lock = CallLock(lambda _: None, interrupted.set)

    def call():
        with lock.turn("call"):
            assert interrupted.wait(300)
            raise ValueError("interrupted")

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
        task = asyncio.ensure_future(lock.run_async(call))
        await moment(lambda: lock.is_locked)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(main())
    gc.collect()
    assert reports == []
