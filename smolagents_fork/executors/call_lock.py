"""Locks that let one caller at a time use an executor."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from ..errors import ExecutorError

__all__ = ["CallLock"]

# Interval at which a waiting call checks whether the executor was closed.
_CHECK_SECONDS = 0.2


class CallLock:
    """One call at a time, over threads.

    Args:
        check_open: raises when the executor has been closed; gets the name of the method.
    """

    def __init__(self, check_open: Callable[[str], None]) -> None:
        self._check_open = check_open
        self._lock = threading.Lock()
        # Threads and not their ids, which later threads reuse.
        self._thread: threading.Thread | None = None
        self._abandoned: set[threading.Thread] = set()

    @contextlib.contextmanager
    def turn(self, action: str) -> Iterator[None]:
        """Acquire the lock for the block.

        Args:
            action: name of the method, for messages.

        Raises:
            ExecutorError: the thread's call was cancelled while it waited.
            ExecutorClosedError: the executor was closed, perhaps while this call waited.
        """
        me = threading.current_thread()
        self._check_pointless(action, me)
        while not self._lock.acquire(timeout=_CHECK_SECONDS):
            self._check_pointless(action, me)
        try:
            self._check_pointless(action, me)
            self._thread = me
            try:
                yield
            finally:
                self._thread = None
        finally:
            self._lock.release()

    def _check_pointless(self, action: str, thread: threading.Thread) -> None:
        self._check_open(action)
        if thread in self._abandoned:
            raise ExecutorError(f"{action} was cancelled before it began")

    @contextlib.contextmanager
    def unless_taken(self) -> Iterator[bool]:
        """Try to acquire the lock; yield whether it succeeded."""
        taken = self._lock.acquire(blocking=False)
        try:
            yield taken
        finally:
            if taken:
                self._lock.release()

    @property
    def taken(self) -> bool:
        """State of the lock; true while a call runs."""
        return self._lock.locked()

    def is_mine(self, thread: Sequence[threading.Thread]) -> bool:
        """Tell whether the thread in ``thread``, if there is one, has the lock."""
        return self._thread in thread

    @contextlib.contextmanager
    def abandoned(self, thread: Sequence[threading.Thread]) -> Iterator[None]:
        """Refuse the lock to the one thread in ``thread`` inside the block."""
        self._abandoned.update(thread)
        try:
            yield
        finally:
            self._abandoned.difference_update(thread)
