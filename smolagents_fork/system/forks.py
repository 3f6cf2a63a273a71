"""State of this process that its forked copies must not use.

A fork copies objects and their descriptors, but not the threads, and not the sandboxes. Two
processes with one connection read each other's answers, and a tool that one's code calls would be
served by the other. Three means prevent that:

- :class:`Owner` is the process that made an object; the object checks it before each use.
- :func:`disconnect_in_child` and :func:`keep_open` register open connections. A forked copy of this
  process has none of them: each descriptor is replaced by an unconnected socket. So
  nothing that a copy does with an inherited object reaches a sandbox, and a sandbox ends with its
  owner, not with the last copy.
- :class:`ForkSafeLock` is free in a forked copy, whoever had it; :func:`reset_in_child` lets
  modules clear their registries there.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import TypeVar

from ..errors import ExecutorError

__all__ = [
    "ForkSafeLock",
    "Owner",
    "disconnect_in_child",
    "forget",
    "keep_open",
    "reset_in_child",
]

_Reset = TypeVar("_Reset", bound=Callable[[], None])


class Owner:
    """The process that makes an object, for checks before its use.

    Example:
        >>> owner = Owner()
        >>> owner.inherited
        False
        >>> owner.check("ProcessExecutor", "call")
    """

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def inherited(self) -> bool:
        """Tell whether this process is a forked copy of the one that made the object."""
        return os.getpid() != self._pid

    def check(self, name: str, action: str) -> None:
        """Refuse the use of an inherited object.

        Args:
            name: class of the object.
            action: method that was called.

        Raises:
            ExecutorError: this process is a forked copy of the one that made the object.
        """
        if self.inherited:
            raise ExecutorError(
                f"{name}: {action} in process {os.getpid()}, forked from process {self._pid}, "
                f"which created it and keeps its sandboxes; create another {name} in this process, "
                "after the fork"
            )


_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


class ForkSafeLock:
    """A reentrant lock for what a whole module shares; free in a forked copy of this process.

    A thread of the parent may have a lock at the moment of the fork. The copy has no such thread,
    so nothing would ever release it there.

    Example:
        >>> lock = ForkSafeLock()
        >>> with lock, lock:
        ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self, timeout: float = -1) -> bool:
        """Take the lock; return whether it was free in time.

        Args:
            timeout: seconds; -1: no limit.
        """
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        """Release the lock, which this thread has."""
        self._lock.release()

    def renew(self) -> None:
        """Release the lock, whichever thread has it. Only for a process with one thread."""
        self._lock = threading.RLock()


_connections: weakref.WeakSet[object] = weakref.WeakSet()
_kept: set[object] = set()


def disconnect_in_child(connection: object) -> None:
    """Register a connection that forked copies of this process must not have.

    Args:
        connection: socket or file with a ``fileno()``, which is negative once it is closed.
    """
    _connections.add(connection)


def keep_open(connections: Iterable[object]) -> None:
    """Register connections, and keep references to them until :func:`forget`.

    Every agent's executor is in a reference cycle. Garbage collection could finalise its sockets
    and processes before the executor closes them, with a ResourceWarning.

    Args:
        connections: sockets and files with a ``fileno()``; others are only kept.
    """
    _kept.update(connections)


def forget(connections: Iterable[object]) -> None:
    """Stop keeping connections, which have been closed."""
    _kept.difference_update(connections)


def reset_in_child(reset: _Reset) -> _Reset:
    """Have a function called in each forked copy of this process, before anything else in it.

    Args:
        reset: clears registries of the parent's sandboxes.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=reset)
    return reset


@reset_in_child
def _renew_locks() -> None:
    for lock in _locks:
        lock.renew()


@reset_in_child
def _disconnect() -> None:
    registered = {*_kept, *_connections}
    numbers = [number for connection in registered if (number := _descriptor(connection)) >= 0]
    if not numbers:
        return
    # Not closed: the number could be that of another file when the inherited object uses it.
    dead, other = socket.socketpair()
    with dead, other:
        other.close()
        for number in numbers:
            with contextlib.suppress(OSError):
                os.dup2(dead.fileno(), number, inheritable=False)


def _descriptor(connection: object) -> int:
    with contextlib.suppress(Exception):
        number = connection.fileno()  # type: ignore[attr-defined]  # not every object has it
        return number if type(number) is int else -1
    return -1
