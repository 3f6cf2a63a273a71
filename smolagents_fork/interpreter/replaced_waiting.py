"""Members of time, queue and asyncio that wait: never past the deadline, never in another thread.

Part of the boundary that guards.py decides by.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .build import words
from .replaced import REFUSED, members

__all__ = ["MAKERS", "LoopStandIn", "run_coroutine"]

#: Seconds of one slice of a wait.
_SLICE = 0.05


def _time(modules: Any) -> dict[str, Any]:
    meter = modules.meter

    def sleep(seconds: float) -> None:
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

    # The host's clock and time zone are not the program's to set.
    refused = dict.fromkeys(("clock_settime", "clock_settime_ns", "tzset"), REFUSED)
    return {"sleep": sleep, **refused}


def _queue(modules: Any) -> dict[str, Any]:
    meter = modules.meter
    locks = members("threading", modules)

    def patiently(
        attempt: Callable[[float], Any], timeout: float | None, failure: type[Exception]
    ) -> Any:
        """Repeat a short wait until it succeeds, its own timeout or the deadline is over."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            meter.waiting()
            rest = None if end is None else end - time.monotonic()
            try:
                return attempt(max(0.0, _SLICE if rest is None else min(rest, _SLICE)))
            except failure:
                if rest is not None and rest <= 0:
                    raise

    class Patient:
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            inner = super().get  # type: ignore[misc]
            if not block or (timeout is not None and timeout < 0):
                return inner(block, timeout)
            return patiently(lambda slice_: inner(True, slice_), timeout, queue.Empty)

        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
            inner = super().put  # type: ignore[misc]
            if not block or (timeout is not None and timeout < 0):
                inner(item, block, timeout)
                return
            patiently(lambda slice_: inner(item, True, slice_), timeout, queue.Full)

    class Joining(Patient):
        def __init__(self, maxsize: int = 0) -> None:
            super().__init__(maxsize)  # type: ignore[call-arg]
            # Public attributes, which a program may wait for.
            self.mutex = locks["Lock"]()
            for name in ("not_empty", "not_full", "all_tasks_done"):
                setattr(self, name, locks["Condition"](self.mutex))

        def join(self) -> None:
            def attempt(slice_: float) -> None:
                with self.all_tasks_done:  # type: ignore[attr-defined]
                    if self.unfinished_tasks:  # type: ignore[attr-defined]
                        self.all_tasks_done.wait(slice_)  # type: ignore[attr-defined]
                    if self.unfinished_tasks:  # type: ignore[attr-defined]
                        raise queue.Full

            patiently(attempt, None, queue.Full)

    def made(name: str, patient: type) -> type:
        base = getattr(queue, name)
        return type(
            name, (patient, base), {"__module__": "queue", "__qualname__": name, "@guards": True}
        )

    result = {name: made(name, Joining) for name in ("Queue", "LifoQueue", "PriorityQueue")}
    result["SimpleQueue"] = made("SimpleQueue", Patient)
    return result


def run_coroutine(modules: Any, coroutine: Any) -> Any:
    """``asyncio.run`` that keeps the deadline and leaves no loop, task or thread behind."""
    import asyncio
    from asyncio import events

    meter = modules.meter
    if not asyncio.iscoroutine(coroutine):
        raise ValueError(f"a coroutine was expected, got {coroutine!r}")
    outer = events._get_running_loop()
    if modules.loops.running:
        coroutine.close()
        raise RuntimeError("asyncio.run() cannot be called from a running event loop")
    loop = modules.loops.open()
    # The host may be asynchronous itself; the program's loop runs inside its callback. Not before
    # there is one: were that broken off, asyncio would find none here, and make one for the host.
    events._set_running_loop(None)

    def watch() -> None:
        left = meter.seconds_left()
        if meter.stop is not None or (left is not None and left <= 0):
            loop.stop()
        else:
            loop.call_later(_SLICE, watch)

    def finish() -> None:
        meter.caught()
        left = meter.seconds_left()
        if left is not None and left <= 0:
            meter.out_of_time()

    task = None
    try:
        loop.call_soon(watch)
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except RuntimeError:
            finish()
            raise
        finally:
            finish()
            _cancel(loop, asyncio.all_tasks(loop))
            finish()
    finally:
        if task is None:
            coroutine.close()  # broken off before it could begin
        for left_over in asyncio.all_tasks(loop):
            left_over._log_destroy_pending = False  # type: ignore[attr-defined]
        modules.loops.close(loop)
        events._set_running_loop(outer)


def _cancel(loop: Any, tasks: Any) -> None:
    """What ``asyncio.run`` does with tasks left over, for as long as the deadline lasts."""
    import asyncio

    if not tasks:
        return
    for one in tasks:
        one.cancel()
    try:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    except RuntimeError:
        return  # stopped at the deadline, which the caller reports


class LoopStandIn:
    """An event loop that is not running: it runs one coroutine after another, as ``run`` does."""

    def __init__(self, modules: Any) -> None:
        self._modules = modules
        self._closed = False

    def run_until_complete(self, future: Any) -> Any:
        if self._closed:
            raise RuntimeError("Event loop is closed")
        return run_coroutine(self._modules, future)

    def is_running(self) -> bool:
        return False

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True


#: What a program may use of asyncio: nothing that starts threads or processes, opens connections,
#: takes signals or replaces the loop.
_ASYNCIO = frozenset(
    words(
        "run sleep gather create_task ensure_future wait wait_for as_completed shield timeout "
        "timeout_at TaskGroup Task Future Event Lock Condition Semaphore BoundedSemaphore Barrier "
        "BrokenBarrierError Queue LifoQueue PriorityQueue QueueEmpty QueueFull CancelledError "
        "TimeoutError InvalidStateError iscoroutine iscoroutinefunction isfuture current_task "
        "all_tasks Runner get_running_loop get_event_loop ALL_COMPLETED FIRST_COMPLETED "
        "FIRST_EXCEPTION QueueShutDown Timeout "
    )
)


def _asyncio(modules: Any) -> dict[str, Any]:
    import asyncio
    from asyncio import events

    refused = {
        name: REFUSED
        for name, value in vars(asyncio).items()
        if not (name.startswith("_") or name in _ASYNCIO or isinstance(value, ModuleType))
    }

    def run(main: Any, **_options: Any) -> Any:
        return run_coroutine(modules, main)

    def get_event_loop() -> Any:
        running = events._get_running_loop()
        return LoopStandIn(modules) if running is None else running

    async def to_thread(func: Any, /, *arguments: Any, **keywords: Any) -> Any:
        # No thread: what it calls runs here and now.
        return func(*arguments, **keywords)

    return {
        **refused,
        "run": run,
        "Runner": REFUSED,
        "new_event_loop": lambda: LoopStandIn(modules),
        "get_event_loop": get_event_loop,
        "set_event_loop": lambda _loop: None,
        "to_thread": to_thread,
    }


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "time": _time,
    "queue": _queue,
    "asyncio": _asyncio,
}
