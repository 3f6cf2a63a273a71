"""Members of threading: threads that end with the run they belong to.

Part of the boundary that guards.py decides by. Locks are taken in slices, so that the deadline is
kept; what waits is made of them, by copies of Python's own code.
"""

from __future__ import annotations

import _thread
import threading
import time
import types
from collections.abc import Callable
from typing import Any

from .build import words
from .copies import copied
from .ownership import GUARDS_ITS_BASES
from .replaced import REFUSED, members

__all__ = ["MAKERS"]

#: Seconds of one slice of a wait.
_SLICE = 0.05


def _locks(modules: Any) -> dict[str, Any]:
    """``Lock`` and ``RLock``, which wait no longer than the run."""
    meter = modules.meter

    def patiently(acquire: Callable[..., bool], blocking: bool, timeout: float) -> bool:
        if not blocking:
            return acquire(False) if timeout == -1 else acquire(False, timeout)
        if (timeout < 0 and timeout != -1) or timeout > threading.TIMEOUT_MAX:
            return acquire(True, timeout)  # says what is wrong
        if acquire(False):
            return True
        end = None if timeout == -1 else time.monotonic() + timeout
        while True:
            meter.waiting()
            rest = _SLICE if end is None else end - time.monotonic()
            if acquire(True, max(0.0, min(rest, _SLICE))):
                return True
            if rest <= 0:
                return False

    class Lock:
        __slots__ = ("__weakref__", "_real")

        def __init__(self) -> None:
            real.__set__(self, self._made())

        _made = staticmethod(_thread.allocate_lock)

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            return patiently(real.__get__(self).acquire, blocking, timeout)

        def release(self) -> None:
            real.__get__(self).release()

        def locked(self) -> bool:
            held: bool = real.__get__(self).locked()
            return held

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, *_error: object) -> None:
            self.release()

        def __repr__(self) -> str:
            state = "locked" if self.locked() else "unlocked"
            return f"<{state} _thread.{type(self).__name__} object at {id(self):#x}>"

    class RLock(Lock):
        __slots__ = ()
        _made = staticmethod(threading.RLock)  # type: ignore[assignment]

        def locked(self) -> bool:
            return not repr(real.__get__(self)).startswith("<unlocked")

        # For Condition.

        def _release_save(self) -> Any:
            return real.__get__(self)._release_save()

        def _acquire_restore(self, state: Any) -> None:
            for _ in range(state[0]):
                self.acquire()

        def _is_owned(self) -> bool:
            owned: bool = real.__get__(self)._is_owned()
            return owned

    real: Any = Lock.__dict__["_real"]
    # From here on only the methods above find it.
    del Lock._real  # type: ignore[attr-defined]
    for cls, name in ((Lock, "lock"), (RLock, "RLock")):
        cls.__name__ = cls.__qualname__ = name
        cls.__module__ = "_thread"
        setattr(cls, GUARDS_ITS_BASES, True)
    return {"Lock": Lock, "RLock": RLock, "_allocate_lock": Lock, "_RLock": RLock}


def _thread_class(modules: Any, locks: dict[str, Any]) -> type:
    """``Thread``, as Python's own is used; what runs is not of that class."""
    registry = modules.threads
    Lock = locks["Lock"]
    numbers = iter(range(1, 2**62))

    class Thread:
        def __init__(
            self,
            group: None = None,
            target: Callable[..., object] | None = None,
            name: str | None = None,
            args: Any = (),
            kwargs: Any = None,
            *,
            daemon: bool | None = None,
            context: Any = None,
        ) -> None:
            if group is not None:
                raise AssertionError("group argument must be None for now")
            if name is None:
                called = getattr(target, "__name__", None)
                name = f"Thread-{next(numbers)}" + (f" ({called})" if type(called) is str else "")
            self.name = str(name)
            self._target, self._args = target, args
            self._kwargs = {} if kwargs is None else kwargs
            here = registry.live.get(_thread.get_ident())
            self._daemonic = bool(here is not None and here.daemon) if daemon is None else daemon
            self._context = context
            self._ident: int | None = None
            self._native_id: int | None = None
            self._ended = Lock()
            self._ended.acquire()
            self._state = "initial"

        @property
        def ident(self) -> int | None:
            return self._ident

        @property
        def native_id(self) -> int | None:
            return self._native_id

        @property
        def daemon(self) -> bool:
            return self._daemonic

        @daemon.setter
        def daemon(self, daemonic: bool) -> None:
            if self._state == "started":
                raise RuntimeError("cannot set daemon status of active thread")
            self._daemonic = daemonic

        def start(self) -> None:
            if "_state" not in vars(self):
                raise RuntimeError("thread.__init__() not called")
            if self._state != "initial":
                raise RuntimeError("threads can only be started once")

            def work() -> None:
                self._ident, self._native_id = _thread.get_ident(), threading.get_native_id()
                try:
                    self.run() if self._context is None else self._context.run(self.run)
                finally:
                    self._state = "stopped"
                    self._ended.release()

            self._state = "started"
            try:
                registry.start(self, work, failed)
            except BaseException:
                self._state = "initial"
                raise

        def run(self) -> None:
            try:
                if self._target is not None:
                    self._target(*self._args, **self._kwargs)
            finally:
                del self._target, self._args, self._kwargs

        def join(self, timeout: float | None = None) -> None:
            if "_state" not in vars(self):
                raise RuntimeError("Thread.__init__() not called")
            if self._state == "initial":
                raise RuntimeError("cannot join thread before it is started")
            if self._ident == _thread.get_ident():
                raise RuntimeError("cannot join current thread")
            if self._ended.acquire(True, -1 if timeout is None else max(timeout, 0)):
                self._ended.release()

        def is_alive(self) -> bool:
            return self._state == "started"

        def getName(self) -> str:
            return self.name

        def setName(self, name: str) -> None:
            self.name = str(name)

        def isDaemon(self) -> bool:
            return self.daemon

        def setDaemon(self, daemonic: bool) -> None:
            self.daemon = daemonic

        def __repr__(self) -> str:
            state = self._state + (" daemon" if self._daemonic else "")
            state += "" if self._ident is None else f" {self._ident}"
            return f"<{type(self).__name__}({self.name}, {state})>"

    def failed(error: BaseException) -> None:
        """What ``threading.excepthook`` writes, to the program's own stderr."""
        here = registry.live.get(_thread.get_ident())
        error.__traceback__ = _own_frames(error.__traceback__)
        modules.stderr.write(f"Exception in thread {here.name}:\n")
        members("traceback", modules)["print_exception"](error)

    Thread.__module__, Thread.__qualname__ = "threading", "Thread"
    setattr(Thread, GUARDS_ITS_BASES, True)
    return Thread


def _own_frames(entry: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback from the program's first frame on."""
    start = entry
    while start is not None and not start.tb_frame.f_code.co_filename.startswith("<program "):
        start = start.tb_next
    return start or entry


def _threading(modules: Any) -> dict[str, Any]:
    locks = _locks(modules)
    Thread = _thread_class(modules, locks)
    registry = modules.threads
    main = Thread(name="MainThread")
    main._state, main._ident = "started", 0

    def current_thread() -> Any:
        return registry.live.get(_thread.get_ident(), main)

    def alive() -> list[Any]:
        return [main, *list(registry.live.values())]

    names = words("Condition Event Semaphore BoundedSemaphore Barrier Timer ")
    made = copied(threading, names, {**locks, "Thread": Thread, "current_thread": current_thread})
    refused = words(
        "settrace setprofile gettrace getprofile settrace_all_threads setprofile_all_threads "
        "stack_size excepthook "
    )
    return {
        **dict.fromkeys(refused, REFUSED),
        **{name: made[name] for name in (*names, "Lock", "RLock", "Thread")},
        "current_thread": current_thread,
        "currentThread": current_thread,
        "main_thread": lambda: main,
        "enumerate": alive,
        "active_count": lambda: len(alive()),
        "activeCount": lambda: len(alive()),
    }


def _low_level(modules: Any) -> dict[str, Any]:
    refused = words(
        "start_new_thread start_new start_joinable_thread interrupt_main stack_size exit "
        "exit_thread daemon_threads_allowed "
    )
    locks = members("threading", modules)
    return {
        **dict.fromkeys(refused, REFUSED),
        "allocate_lock": locks["Lock"],
        "allocate": locks["Lock"],
        "LockType": locks["Lock"],
        "lock": locks["Lock"],
        "RLock": locks["RLock"],
    }


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "threading": _threading,
    "_thread": _low_level,
}
