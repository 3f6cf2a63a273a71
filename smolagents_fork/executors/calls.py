"""Calls of one executor, one at a time: from threads, and from event loops.

The event loop's default thread pool is small and shared. If executors used it, tasks that wait for
a container could block those that return one, and an interrupt might get no thread. Here every call
has a thread while it runs, and a waiting task needs none.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..bridge.thread import CallThread
from ..errors import ConfigurationError, ExecutorError, InterpreterError

__all__ = ["CallLock", "check_code", "check_encodable", "in_thread"]

# Interval at which a waiting call checks whether the executor was closed.
_CHECK_SECONDS = 0.2
# Interval of interrupts of a call whose task was cancelled, until it ends.
_INTERRUPT_AGAIN_SECONDS = 0.5
# Interval of checks whether such a call has begun.
_LOOK_SECONDS = 0.02
_Result = TypeVar("_Result")


def in_thread(function: Callable[[], _Result], name: str) -> asyncio.Future[_Result]:
    """Start ``function`` in a new thread, and return a future of the running loop for its result.

    Cancelling the future does not end the thread. The thread does not keep the process alive.
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


def check_code(code: object) -> None:
    """Refuse a program that is not text."""
    if not isinstance(code, str):
        raise ConfigurationError(f"code is {type(code).__name__}: pass text")


def check_encodable(code: str) -> None:
    """Refuse a program that UTF-8 cannot encode, as Python's compiler does.

    Raises:
        InterpreterError: it has a lone surrogate.
    """
    try:
        code.encode()
    except UnicodeEncodeError as error:
        raise InterpreterError(
            f"Code parsing failed due to: {type(error).__name__}: {error}"
        ) from None


class _TaskCall:
    """A call of a task."""

    def __init__(self, lock: CallLock) -> None:
        self.lock = lock
        self.has_turn = self.cancelled = False
        self.ended = threading.Event()


# The task's call that this thread makes.
_task_call: contextvars.ContextVar[_TaskCall | None] = contextvars.ContextVar(
    "smolagents_fork_task_call", default=None
)


class CallLock:
    """One call at a time, over threads and event loops.

    Args:
        check_open: raises when the executor has been closed; gets the name of the method.
        interrupt: ends the call that runs.
    """

    def __init__(self, check_open: Callable[[str], None], interrupt: Callable[[], None]) -> None:
        self._check_open = check_open
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]
        self._turns = weakref.WeakKeyDictionary()

    @contextlib.contextmanager
    def turn(self, action: str) -> Iterator[None]:
        """Acquire the lock for the block.

        Raises:
            ExecutorError: the call's task was cancelled while it waited.
            ExecutorClosedError: the executor was closed, perhaps while this call waited.
        """
        call = _task_call.get() or _TaskCall(self)
        if call.lock is not self:  # of the executor whose tool uses this one
            call = _TaskCall(self)
        self._check_pointless(action, call)
        while not self._lock.acquire(timeout=_CHECK_SECONDS):
            self._check_pointless(action, call)
        try:
            self._check_pointless(action, call)
            call.has_turn = True
            yield
        finally:
            call.has_turn = False
            self._lock.release()

    def _check_pointless(self, action: str, call: _TaskCall) -> None:
        self._check_open(action)
        if call.cancelled:
            raise ExecutorError(f"{action} was cancelled before it began")

    @contextlib.contextmanager
    def try_lock(self) -> Iterator[bool]:
        """Try to acquire the lock; yield whether it succeeded."""
        acquired = self._lock.acquire(blocking=False)
        try:
            yield acquired
        finally:
            if acquired:
                self._lock.release()

    @property
    def is_locked(self) -> bool:
        """State of the lock; true while a call runs."""
        return self._lock.locked()

    async def run_async(self, call: Callable[[], _Result]) -> _Result:
        """Return the result of a call from an event loop, which runs in a thread of its own.

        Calls of one loop run in their order. A call that waits never runs if its task is cancelled.
        One that runs is interrupted then, and again until it has ended.

        Args:
            call: takes its turn by :meth:`turn`.
        """
        mine = _TaskCall(self)

        def work() -> _Result:
            _task_call.set(mine)
            try:
                return call()
            finally:
                mine.ended.set()

        async with self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            task = in_thread(work, "smolagents-fork-call")
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                mine.cancelled = True
                # Nobody awaits the call's error any more; asyncio would log that it was lost.
                task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
                stop = in_thread(lambda: self._end(mine), "smolagents-fork-interrupt")
                ending: list[asyncio.Future[Any]] = [task, stop]
                await asyncio.wait(ending)
                raise

    def _end(self, call: _TaskCall) -> None:
        """Interrupt the call of a task that was cancelled until it has ended."""
        pause = 0.0
        while not call.ended.wait(pause):
            pause = _LOOK_SECONDS
            # Repeatedly: the call may have its turn and not have begun.
            if call.has_turn:
                self._interrupt()
                pause = _INTERRUPT_AGAIN_SECONDS
