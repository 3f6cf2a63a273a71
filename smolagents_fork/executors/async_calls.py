"""Blocking work for asyncio users, in threads of its own.

The event loop's default thread pool is small and shared. If executors used it, tasks that wait for
a container could block those that return one, and an interrupt might get no thread. Here every call
has a thread while it runs, and a waiting task needs none.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from ..bridge.thread import CallThread
from .call_lock import CallLock

__all__ = ["AsyncCalls", "Closeable", "in_thread"]

# Interval of interrupts of a call whose task was cancelled, until it ends.
_INTERRUPT_AGAIN_SECONDS = 0.5
_Result = TypeVar("_Result")


class Closeable(Protocol):
    """A sandbox that can be closed."""

    def close(self) -> None: ...


def in_thread(function: Callable[[], _Result], name: str) -> asyncio.Future[_Result]:
    """Start ``function`` in a new thread, and return a future of the running loop for its result.

    Cancelling the future does not end the thread. The thread does not keep the process alive.

    Args:
        function: called without arguments.
        name: Name of the thread.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Result] = loop.create_future()

    def resolve(set_it: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_it(value)

    def work() -> None:
        set_it: Callable[[Any], None]
        value: Any
        try:
            set_it, value = future.set_result, function()
        except (KeyboardInterrupt, SystemExit, StopIteration) as error:
            # A loop that gets the first two from a future ends at once, and refuses the third.
            set_it, value = future.set_exception, RuntimeError(f"{name} ended with {error!r}")
        except BaseException as error:
            set_it, value = future.set_exception, error
        # The loop may have been closed meanwhile: then no task waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(resolve, set_it, value)

    # With the caller's context, as asyncio.to_thread has it.
    run = contextvars.copy_context().run
    CallThread(target=run, args=(work,), name=name, daemon=True).start()
    return future


class AsyncCalls:
    """Calls of one executor from event loops: one by one, in order, without a thread to wait.

    Args:
        lock: Lock of the calls, also of those from threads.
        interrupt: ends the call that runs; called again until it has ended.
    """

    def __init__(self, lock: CallLock, interrupt: Callable[[], None]) -> None:
        self._lock = lock
        self._interrupt = interrupt
        self._turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]
        self._turns = weakref.WeakKeyDictionary()

    async def run(self, call: Callable[[], _Result]) -> _Result:
        """Return the result of ``call``, which runs in a thread of its own.

        A call that waits never runs if its task is cancelled. One that runs is interrupted then.
        """
        thread: list[threading.Thread] = []
        ended = threading.Event()

        def work() -> _Result:
            thread.append(threading.current_thread())
            try:
                return call()
            finally:
                ended.set()

        async with self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            task = in_thread(work, "smolagents-fork-call")
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                stop = in_thread(
                    lambda: self._abandon(thread, ended.is_set), "smolagents-fork-interrupt"
                )
                with contextlib.suppress(Exception):
                    await task
                with contextlib.suppress(Exception):
                    await stop
                raise

    def _abandon(self, thread: Sequence[threading.Thread], ended: Callable[[], bool]) -> None:
        """End the call of a task that was cancelled.

        Args:
            thread: the thread that runs the call; empty before it has one.
            ended: returns whether the call has ended.
        """
        while not thread and not ended():
            time.sleep(0.01)
        with self._lock.abandoned(thread):
            while not ended():
                # Repeatedly: the call may have the lock and not have begun.
                if self._lock.is_mine(thread):
                    self._interrupt()
                    time.sleep(_INTERRUPT_AGAIN_SECONDS)
                time.sleep(0.02)
