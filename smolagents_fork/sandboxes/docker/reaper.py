"""Removing containers: in the background, at exit, and those of owners that died.

Killing and removing takes the engine a tenth of a second or more, which nobody should wait for.
One thread does it, ends when it has nothing to do, and is waited for when the process exits.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from ...errors import ExecutorStartError
from .engine import connect, disconnect
from .labels import LABEL, owner_is_gone

__all__ = [
    "exit_on_sigterm",
    "pending",
    "reap",
    "reap_once",
    "remove",
    "starting",
    "wait_until_removed",
]

_EXIT_PATIENCE_SECONDS = 15.0
_IDLE_SECONDS = 1.0

_lock = threading.Lock()
_known: set[str] = set()
_queue: queue.Queue[str] = queue.Queue()
_worker: threading.Thread | None = None
_reaped = False
_exiting = False
# Containers that are being made right now, by whatever thread.
_starts = 0


@contextlib.contextmanager
def starting(name: str) -> Iterator[None]:
    """The time in which a container of this name is made, so that an exit in it removes it too.

    Raises:
        ExecutorStartError: the process ends; nothing would remove the container any more.
    """
    global _starts
    with _lock:
        if _exiting:
            raise ExecutorStartError("the process ends: no container is started any more")
        _known.add(name)
        _starts += 1
    exit_on_sigterm()
    try:
        yield
    finally:
        with _lock:
            _starts -= 1


def exit_on_sigterm() -> None:
    """Let SIGTERM end the process as sys.exit does, so that containers are removed.

    Only where nobody has said what SIGTERM does: its default ends the process at once, and its
    containers would stay until their lease is over. Only the main thread can do this.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    with contextlib.suppress(ValueError, OSError):
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def pending() -> int:
    """Count the containers of this process that are not removed yet."""
    with _lock:
        return len(_known)


def remove(client: Any, name: str, *, wait: bool) -> None:
    """Kill and remove ``name``; a missing container is not an error.

    Args:
        client: docker-py client, used when waiting.
        name: of the container.
        wait: do it now; otherwise in the background.
    """
    global _worker
    with _lock:
        if name not in _known:
            return
    if wait or _exiting:
        # A thread that is started while the interpreter ends never runs, and its start() waits.
        _remove_now(client, name)
        return
    _queue.put(name)
    with _lock:
        if _worker is None or not _worker.is_alive():
            _worker = threading.Thread(target=_work, name="smolagents-fork-removal", daemon=True)
            _worker.start()


def wait_until_removed(timeout: float) -> bool:
    """Wait for removals under way; whether all are done.

    Args:
        timeout: seconds.
    """
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        with _lock:
            if _queue.empty() and (_worker is None or not _worker.is_alive()):
                return True
        time.sleep(0.01)
    return False


def _remove_now(client: Any, name: str) -> None:
    import docker

    for attempt in range(3):
        try:
            client.api.remove_container(name, force=True, v=True)
        except docker.errors.NotFound:
            break
        except docker.errors.APIError as error:
            # "removal already in progress": the engine's auto-remove got there first.
            if error.status_code != 409 and attempt == 2:
                return
            time.sleep(0.05 * (attempt + 1))
            continue
        except Exception:
            # The engine is away. The container ends by its lease, and the engine removes it then.
            return
        break
    with _lock:
        _known.discard(name)


def _work() -> None:
    """Remove what is queued; end after a second of nothing to do."""
    client = None
    try:
        while True:
            try:
                name = _queue.get(timeout=_IDLE_SECONDS if client else 0.01)
            except queue.Empty:
                with _lock:
                    if not _queue.empty():
                        continue
                    global _worker
                    _worker = None
                    return
            try:
                client = client or connect(timeout=30)
                _remove_now(client, name)
            except Exception:
                continue
    finally:
        if client is not None:
            disconnect(client)


def reap_once() -> None:
    """Reap in the background, once a process."""
    global _reaped
    with _lock:
        if _reaped:
            return
        _reaped = True

    def work() -> None:
        with contextlib.suppress(Exception):
            own = connect(timeout=30)
            try:
                reap(own)
            finally:
                own.close()

    threading.Thread(target=work, name="smolagents-fork-reaper", daemon=True).start()


def reap(client: Any) -> list[str]:
    """Remove containers whose owning process, on this machine, has died; return their names.

    A container without our label, of a living owner, or of an owner on another machine stays.
    """
    removed = []
    for summary in client.api.containers(all=True, filters={"label": LABEL}):
        if owner_is_gone(summary.get("Labels") or {}):
            _remove_now(client, summary["Id"])
            removed.append(summary["Names"][0].lstrip("/"))
    return removed


def _after_fork() -> None:
    """A forked child has none of its parent's threads, and its parent's containers are not its."""
    global _lock, _queue, _worker, _starts
    _lock, _queue, _worker, _starts = threading.Lock(), queue.Queue(), None, 0
    _known.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _at_exit() -> None:
    global _exiting
    with _lock:
        _exiting = True
    end = time.monotonic() + _EXIT_PATIENCE_SECONDS
    while _starts and time.monotonic() < end:  # daemon threads run on until the very end
        time.sleep(0.01)
    wait_until_removed(_EXIT_PATIENCE_SECONDS)
    with _lock:
        left = list(_known)
    if not left:
        return
    with contextlib.suppress(Exception):
        client = connect(timeout=10)
        try:
            for name in left:
                _remove_now(client, name)
        finally:
            disconnect(client)
