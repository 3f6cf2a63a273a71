"""Locks, queues, threads and sleep of a program: each wait ends with the run at the latest."""

from __future__ import annotations

import _thread
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FuturesTimeoutError
from typing import Any

from ..meter import Meter
from .threads import ProgramThreads

__all__ = ["waiting_members"]

#: Seconds of one slice of a wait.
_SLICE = 0.05


def _in_slices(
    meter: Meter, acquire: Callable[[bool, float], bool], blocking: bool, timeout: float
) -> bool:
    """Acquire a lock in slices, so that the run's deadline is kept."""
    if not blocking or (timeout < 0 and timeout != -1) or timeout > threading.TIMEOUT_MAX:
        return acquire(blocking, timeout)  # at once, or says what is wrong
    if acquire(False, -1):
        return True
    end = None if timeout == -1 else time.monotonic() + timeout
    while True:
        meter.waiting()
        rest = _SLICE if end is None else end - time.monotonic()
        if acquire(True, max(0.0, min(rest, _SLICE))):
            return True
        if rest <= 0:
            return False


def _locks(meter: Meter) -> tuple[type, type, type]:
    """Make ``Lock``, ``RLock`` and ``Condition``."""

    class Lock:
        def __init__(self) -> None:
            self._lock: Any = _thread.allocate_lock()

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            return _in_slices(meter, self._lock.acquire, blocking, timeout)

        def release(self) -> None:
            self._lock.release()

        def locked(self) -> bool:
            return bool(self._lock.locked())

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, *_error: object) -> None:
            self.release()

        def __repr__(self) -> str:
            return repr(self._lock)

    class RLock(Lock):
        def __init__(self) -> None:
            self._lock = threading.RLock()

        def locked(self) -> bool:
            return not repr(self._lock).startswith("<unlocked")

        # For Condition.

        def _release_save(self) -> Any:
            return self._lock._release_save()

        def _acquire_restore(self, state: Any) -> None:
            self._lock._acquire_restore(state)

        def _is_owned(self) -> bool:
            return bool(self._lock._is_owned())

    class Condition(threading.Condition):
        def __init__(self, lock: Any = None) -> None:
            chosen: Any = RLock() if lock is None else lock
            super().__init__(chosen)

        def wait(self, timeout: float | None = None) -> bool:
            if not self._is_owned():  # type: ignore[attr-defined]
                raise RuntimeError("cannot wait on un-acquired lock")
            waiter = _thread.allocate_lock()
            waiter.acquire()
            waiters: Any = self._waiters  # type: ignore[attr-defined]
            waiters.append(waiter)
            state = self._release_save()  # type: ignore[attr-defined]
            got = False
            try:
                got = _in_slices(meter, waiter.acquire, True, -1 if timeout is None else timeout)
                return got
            finally:
                self._acquire_restore(state)  # type: ignore[attr-defined]
                if not got and waiter in waiters:
                    waiters.remove(waiter)

    for cls in (Lock, RLock, Condition):
        cls.__module__, cls.__qualname__ = "threading", cls.__name__
    return Lock, RLock, Condition


def _rebuilt(*bases: type, **parts: Callable[[Any], Any]) -> type:
    """Derive a class of the library's that waits on ``parts``, made when an object is."""

    def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:
        bases[0].__init__(self, *arguments, **keywords)  # type: ignore[misc]
        for name, make in parts.items():
            setattr(self, name, make(self))

    name, module = bases[0].__name__.removeprefix("_Py"), bases[0].__module__
    return type(name, bases, {"__init__": __init__, "__module__": module})


def _thread_class(meter: Meter, threads: ProgramThreads) -> type:
    class Thread(threading.Thread):
        def start(self) -> None:
            if self.ident is not None or not getattr(self, "_initialized", False):
                super().start()  # says what is wrong
                return
            run, wanted = self.run, self.daemon
            threads.starting(self)

            def work() -> None:
                threads.work(run, self, daemon=wanted)

            self.run = work  # type: ignore[method-assign]
            # For Python a daemon, whatever the program says: a thread in C code must not keep the
            # host's process.
            self._daemonic = True
            try:
                super().start()
            except BaseException:
                threads.not_starting(self)
                raise

        def join(self, timeout: float | None = None) -> None:
            limit = -1 if timeout is None else max(timeout, 0.0)
            _in_slices(meter, self._joined, True, limit)

        def _joined(self, _blocking: bool, seconds: float) -> bool:
            super().join(max(seconds, 0.0))
            return not self.is_alive()

    Thread.__module__, Thread.__qualname__ = "threading", "Thread"
    return Thread


def _pool(meter: Meter, threads: ProgramThreads) -> type:
    def waiting_in_slices(future: Any, wait: Callable[..., Any]) -> Callable[..., Any]:
        def ask(timeout: float | None = None) -> Any:
            def done(_blocking: bool, seconds: float) -> bool:
                with contextlib.suppress(TimeoutError, FuturesTimeoutError, CancelledError):
                    Future.exception(future, max(seconds, 0.0))
                return bool(future.done())

            _in_slices(meter, done, True, -1 if timeout is None else max(timeout, 0.0))
            return wait(0)

        return ask

    class ProgramThreadPool(ThreadPoolExecutor):
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            threads.pools.add(self)

        def submit(self, fn: Any, /, *arguments: Any, **keywords: Any) -> Any:
            made: Any = super().submit(threads.task, fn, *arguments, **keywords)
            for name in ("result", "exception"):
                setattr(made, name, waiting_in_slices(made, getattr(made, name)))
            return made

    ProgramThreadPool.__name__ = ProgramThreadPool.__qualname__ = "ThreadPoolExecutor"
    ProgramThreadPool.__module__ = ThreadPoolExecutor.__module__
    return ProgramThreadPool


def waiting_members(meter: Meter, threads: ProgramThreads) -> dict[str, Any]:
    """Make the members of time, threading, queue and concurrent.futures that wait, by name.

    Args:
        meter: of the interpreter.
        threads: the program's threads.
    """

    def sleep(seconds: float, /) -> None:
        # In slices, so that the deadline is kept; the meter is asked even for sleep(0).
        meter.charge(1)
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        end = time.monotonic() + seconds
        while True:
            rest = end - time.monotonic()
            left = meter.waiting()
            if rest <= 0:
                return
            time.sleep(min(rest, _SLICE) if left is None else min(rest, left, _SLICE))

    lock, rlock, condition = _locks(meter)
    thread = _thread_class(meter, threads)

    def on_condition(base: type) -> type:
        return _rebuilt(base, _cond=lambda _self: condition(lock()))

    def of_queue(base: type) -> type:
        names = ("not_empty", "not_full", "all_tasks_done")
        conditions = dict.fromkeys(names, lambda self: condition(self.mutex))
        return _rebuilt(base, mutex=lambda _self: lock(), **conditions)

    event, semaphore = on_condition(threading.Event), on_condition(threading.Semaphore)
    simple_queue: Any = queue._PySimpleQueue  # type: ignore[attr-defined]
    classes = (
        *(lock, rlock, condition, event, semaphore, thread),
        *map(on_condition, (threading.BoundedSemaphore, threading.Barrier)),
        _rebuilt(threading.Timer, thread, finished=lambda _self: event()),
        *map(of_queue, (queue.Queue, queue.LifoQueue, queue.PriorityQueue)),
        _rebuilt(simple_queue, _count=lambda _self: semaphore(0)),
        _pool(meter, threads),
    )
    return {"sleep": sleep, **{cls.__name__: cls for cls in classes}}
