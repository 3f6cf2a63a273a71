"""Renewal of the leases of this process's pods.

One thread writes a byte to the standard input of each pod's first process several times in each
lease (:mod:`smolagents_fork.sandboxes.first_process`). A lost attachment is replaced by a thread of
its own, so that a cluster that does not answer delays no other lease.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from ....errors import ExecutorError
from ....forks import reset_in_child
from .channel_socket import ChannelSocket

__all__ = ["PodLease"]

# Renewals of each lease. The host process may be late for all but one.
_RENEWALS = 5
_ATTEMPT_SECONDS = 5.0
_PAUSE_SECONDS = 0.5


class PodLease:
    """Lease of one pod, renewed until :meth:`close`.

    Args:
        attach: attaches to the standard input of the pod's first process, within seconds.
        seconds: of the lease.
        is_there: returns whether the pod may still run; called after a loss.

    Raises:
        ExecutorError: the pod cannot be attached to.
    """

    def __init__(
        self,
        attach: Callable[[float], ChannelSocket],
        seconds: float,
        is_there: Callable[[], bool],
    ) -> None:
        self._attach, self._seconds, self._is_there = attach, seconds, is_there
        self._closed = False
        self._attaching = False
        self._sock = attach(seconds)
        self._sock.send(b"\n")
        self.due = time.monotonic() + seconds / _RENEWALS
        _keeper.add(self)

    def renew(self) -> None:
        """Renew the lease without waiting; attach again in the background after a loss."""
        self.due = time.monotonic() + self._seconds / _RENEWALS
        if self._attaching:
            return
        with contextlib.suppress(ExecutorError):
            if self._sock.receive() is not None and self._sock.status is None:
                if not self._sock.unsent:
                    self._sock.send(b"\n")
                return
        self._attaching = True
        threading.Thread(
            target=self._attach_again, name="smolagents-fork-attach", daemon=True
        ).start()

    def _attach_again(self) -> None:
        end = time.monotonic() + self._seconds
        try:
            while not self._closed and time.monotonic() < end and self._is_there():
                with contextlib.suppress(ExecutorError, OSError):
                    sock = self._attach(_ATTEMPT_SECONDS)
                    sock.send(b"\n")
                    self._sock.close()
                    self._sock = sock
                    if self._closed:
                        sock.close()
                    return
                time.sleep(_PAUSE_SECONDS)
            self.close()  # it has ended, or its lease is over
        finally:
            self._attaching = False

    def close(self) -> None:
        """End the renewal. Idempotent."""
        self._closed = True
        _keeper.discard(self)
        self._sock.close()


class _Keeper:
    """The thread that renews all leases; runs while there is one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._leases: set[PodLease] = set()
        self._thread: threading.Thread | None = None

    def add(self, lease: PodLease) -> None:
        with self._changed:
            self._leases.add(lease)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="smolagents-fork-pod-leases", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def discard(self, lease: PodLease) -> None:
        with self._changed:
            self._leases.discard(lease)
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._leases:
                    self._thread = None
                    return
                next_due = min(lease.due for lease in self._leases)
                self._changed.wait(max(0.0, next_due - time.monotonic()))
                now = time.monotonic()
                due = [lease for lease in self._leases if lease.due <= now]
            for lease in due:
                # One lease's error must not end the renewal of the others.
                with contextlib.suppress(Exception):
                    lease.renew()


_keeper = _Keeper()


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which owns none of its parent's pods."""
    global _keeper
    _keeper = _Keeper()
