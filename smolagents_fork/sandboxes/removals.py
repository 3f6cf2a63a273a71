"""Removal of sandboxes from engines: in the background, and at the exit of the process.

A removal takes a tenth of a second or more. One thread waits for that. It ends when the queue is
empty for a second, and the exit of the process waits for it.
"""

from __future__ import annotations

import atexit
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable

from ..deadline import Deadline
from ..errors import EngineUnavailableError, ExecutorError, ExecutorStartError
from ..forks import reset_in_child
from .termination import exit_on_sigterm

__all__ = ["REMOVAL_SECONDS", "Removal", "Removals"]

#: Time for all attempts to remove one object.
REMOVAL_SECONDS = 30.0
# Time for all removals at exit: first for those in the background, then for the rest.
_EXIT_WAIT_SECONDS, _EXIT_SECONDS = 15.0, 30.0
_IDLE_SECONDS = 1.0
_ATTEMPTS = 3

#: Removes one object before a deadline, and raises unless it is gone.
Removal = Callable[[Deadline], None]


class _Pending:
    """Objects of this process that have not been removed yet, by name."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        #: Address of the engine and removal, by name of the object.
        self.known: dict[str, tuple[str, Removal]] = {}
        #: Those of them whose removal was asked for and has not succeeded.
        self.unremoved: set[str] = set()
        self.queue: queue.Queue[str] = queue.Queue()
        self.worker: threading.Thread | None = None
        self.exiting = False


_pending = _Pending()


class Removals:
    """Removals from one engine.

    Args:
        address: Address of the engine.
    """

    def __init__(self, address: str) -> None:
        self._address = address

    def register(self, name: str, remove: Removal) -> None:
        """Register an object before it is created: whatever happens, it is removed at exit.

        Args:
            name: Name of the object, unlike all others of this process.
            remove: removes it.

        Raises:
            ExecutorStartError: the process is exiting.
        """
        with _pending.lock:
            if _pending.exiting:
                raise ExecutorStartError("the process is exiting: no sandbox is started")
            _pending.known[name] = self._address, remove
        exit_on_sigterm()

    def remove(self, name: str, *, wait: bool) -> None:
        """Remove an object; no-op when it is gone.

        Args:
            name: Name of the object.
            wait: do it now; otherwise in the background.
        """
        with _pending.lock:
            if name not in _pending.known:
                return
            _pending.unremoved.add(name)
        if wait or _pending.exiting:
            _remove_now(name, Deadline(REMOVAL_SECONDS))
            return
        _remove_in_background([name])

    def wait(self, timeout: float) -> bool:
        """Wait for pending removals from the engine; return whether all are done.

        A removal that has failed before is tried once more.

        Args:
            timeout: seconds.
        """
        end = time.monotonic() + timeout
        repeated = False
        while remaining := self._remaining():
            idle = _wait_for_worker(min(0.01, end - time.monotonic()))
            if (idle and repeated) or time.monotonic() > end:
                return False
            if idle:
                _remove_in_background(remaining)
                repeated = True
        return True

    def _remaining(self) -> list[str]:
        with _pending.lock:
            known = {name: _pending.known.get(name) for name in _pending.unremoved}
        return [name for name, entry in known.items() if entry and entry[0] == self._address]


def _remove_in_background(names: Iterable[str]) -> None:
    for name in names:
        _pending.queue.put(name)
    with _pending.lock:
        if _pending.worker is None:
            _pending.worker = threading.Thread(
                target=_work, name="smolagents-fork-removal", daemon=True
            )
            _pending.worker.start()


def _wait_for_worker(timeout: float) -> bool:
    """Wait until each removal in the background has been tried; return whether that is so."""
    end = time.monotonic() + timeout
    while True:
        with _pending.lock:
            if _pending.queue.empty() and _pending.worker is None:
                return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)


def _remove_now(name: str, deadline: Deadline) -> bool:
    """Remove one object; return whether its engine answered.

    What is not removed stays known, and is removed at exit; without an answer the lease ends it.
    """
    with _pending.lock:
        known = _pending.known.get(name)
    if known is None:
        return True
    for attempt in range(_ATTEMPTS):
        try:
            known[1](deadline)
        except EngineUnavailableError:
            return False
        except ExecutorError:
            if deadline.expired():
                break
            time.sleep(deadline.at_most(0.2 * (attempt + 1)))
            continue
        with _pending.lock:
            _pending.known.pop(name, None)
            _pending.unremoved.discard(name)
        break
    return True


def _work() -> None:
    """Remove queued objects; end when the queue is empty for a second."""
    while True:
        try:
            name = _pending.queue.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            with _pending.lock:
                if not _pending.queue.empty():
                    continue
                _pending.worker = None
                return
        with contextlib.suppress(Exception):
            _remove_now(name, Deadline(REMOVAL_SECONDS))


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which owns none of its parent's sandboxes."""
    global _pending
    _pending = _Pending()


@atexit.register
def _at_exit() -> None:
    with _pending.lock:
        _pending.exiting = True
    deadline = Deadline(_EXIT_SECONDS)
    _wait_for_worker(_EXIT_WAIT_SECONDS)
    silent: set[str] = set()
    for name, (address, _) in list(_pending.known.items()):
        if deadline.expired():
            return  # the leases end what is left
        with contextlib.suppress(Exception):
            if address not in silent and not _remove_now(name, deadline):
                silent.add(address)
