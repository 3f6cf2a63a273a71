"""Removal of sandboxes from engines: in the background, and at the exit of the process.

A removal takes a tenth of a second or more. One thread waits for that, as long as there is one to
do, and the exit of the process waits for the thread.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator

from ..deadline import Deadline
from ..errors import EngineUnavailableError, ExecutorStartError, ForkError
from ..system.forks import reset_in_child
from .termination import exit_on_sigterm

__all__ = ["REMOVAL_SECONDS", "Removal", "Removals", "wait_until_tried"]

#: Time for all attempts to remove one object.
REMOVAL_SECONDS = 30.0
# Time at exit for starts and removals that other threads have begun; then for all other removals.
_EXIT_WAIT_SECONDS, _EXIT_SECONDS = 15.0, 30.0
_ATTEMPTS = 3
_LOOK_SECONDS = 0.01

#: Removes one object before a deadline, and raises unless it is gone.
Removal = Callable[[Deadline], None]


class _Pending:
    """Objects of this process that have not been removed yet, by name."""

    def __init__(self) -> None:
        # Reentrant: garbage collection may close an executor in a thread that has the lock.
        self.lock = threading.RLock()
        #: Address of the engine and removal, by name of the object.
        self.known: dict[str, tuple[Hashable, Removal]] = {}
        #: Those of them whose removal was asked for and has not succeeded.
        self.unremoved: set[str] = set()
        #: Those of them that the thread has yet to remove.
        self.queue: deque[str] = deque()
        self.worker: threading.Thread | None = None
        #: Number of objects that threads are starting now.
        self.starts = 0
        self.exiting = False


_pending = _Pending()
# Engines on which this process has looked for what ended processes have left.
_reaped: set[Hashable] = set()


class Removals:
    """Removals from one engine."""

    def __init__(self, address: Hashable) -> None:
        self._address = address

    def register(self, name: str, remove: Removal) -> None:
        """Register an object before it is created: whatever happens, it is removed at exit.

        Args:
            name: Name of the object, unlike all others of this process.

        Raises:
            ExecutorStartError: the process is exiting.
        """
        with _pending.lock:
            if _pending.exiting:
                raise ExecutorStartError("the process is exiting: no sandbox can be started")
            _pending.known[name] = self._address, remove
        exit_on_sigterm()

    @contextlib.contextmanager
    def starting(self, name: str, remove: Removal) -> Iterator[None]:
        """Register an object as :meth:`register` does, and delay the exit until the block ends.

        Raises:
            ExecutorStartError: the process is exiting.
        """
        with _pending.lock:
            self.register(name, remove)
            _pending.starts += 1
        try:
            yield
        finally:
            with _pending.lock:
                _pending.starts -= 1

    def reap_once(self, reap: Callable[[], object]) -> None:
        """Reap in the background, once an engine and process; an error ends it.

        Args:
            reap: removes what ended processes have left on the engine.
        """
        with _pending.lock:
            if self._address in _reaped:
                return
            _reaped.add(self._address)

        def work() -> None:
            with contextlib.suppress(Exception):
                reap()

        threading.Thread(target=work, name="smolagents-fork-reaper", daemon=True).start()

    def remove(self, name: str, *, wait: bool) -> None:
        """Remove an object; no-op when it is gone.

        Args:
            wait: do it now; otherwise in the background.
        """
        with _pending.lock:
            if name not in _pending.known:
                return
            _pending.unremoved.add(name)
        if wait or _pending.exiting:
            # A thread that is started at exit never runs, and its start() would block.
            _remove_now(name, Deadline(REMOVAL_SECONDS))
            return
        _remove_in_background([name])

    def wait(self, timeout: float) -> bool:
        """Wait for pending removals from the engine; return whether all are done.

        A removal that has failed before is tried once more.
        """
        end = time.monotonic() + timeout
        repeated = False
        while True:
            # At one moment: what remains may be removed a moment before the thread is idle.
            with _pending.lock:
                unremoved = _pending.unremoved
                remaining = [n for n in unremoved if _pending.known[n][0] == self._address]
                idle = _is_idle()
            if not remaining:
                return True
            if (idle and repeated) or time.monotonic() > end:
                return False
            if idle:
                _remove_in_background(remaining)
                repeated = True
            time.sleep(_LOOK_SECONDS)

    def wait_for(self, name: str, timeout: float) -> bool:
        """Wait for one object's removal, whatever happens to others; return whether it is done."""
        end = time.monotonic() + timeout
        while name in _pending.known:
            if time.monotonic() > end:
                return False
            time.sleep(_LOOK_SECONDS)
        return True


def wait_until_tried(timeout: float) -> bool:
    """Wait until each removal in the background has been tried; return whether that is so."""
    return _wait_until(_is_idle, timeout)


def _is_idle() -> bool:
    return not _pending.queue and _pending.worker is None


def _wait_until(condition: Callable[[], bool], timeout: float) -> bool:
    end = time.monotonic() + timeout
    while True:
        with _pending.lock:
            if condition():
                return True
        if time.monotonic() > end:
            return False
        time.sleep(_LOOK_SECONDS)


def _remove_in_background(names: Iterable[str]) -> None:
    with _pending.lock:
        _pending.queue.extend(names)
        if _pending.worker is None:
            worker = threading.Thread(target=_work, name="smolagents-fork-removal", daemon=True)
            worker.start()
            _pending.worker = worker


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
        except ForkError:
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
    """Remove the queued objects."""
    while True:
        with _pending.lock:
            if not _pending.queue:
                _pending.worker = None
                return
            name = _pending.queue.popleft()
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
    waiting = Deadline(_EXIT_WAIT_SECONDS)
    # Daemon threads still run now.
    _wait_until(lambda: not _pending.starts, waiting.at_most(_EXIT_WAIT_SECONDS))
    wait_until_tried(waiting.at_most(_EXIT_WAIT_SECONDS))
    deadline = Deadline(_EXIT_SECONDS)
    silent: set[Hashable] = set()
    for name, (address, _) in list(_pending.known.items()):
        if deadline.expired():
            return  # the leases end what is left
        with contextlib.suppress(Exception):
            if address not in silent and not _remove_now(name, deadline):
                silent.add(address)
