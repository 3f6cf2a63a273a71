"""Connections to the first processes of this process's pods, which renew their leases.

An attachment to a pod's first process carries what is in :mod:`smolagents_fork.first_process_link`:
renewals and requests to it, its answers, and the end of the main process. One thread has all
attachments. A lost one is replaced by a thread of its own, so that a cluster that does not answer
delays no other lease.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable

from ....errors import ExecutorError
from ....first_process_link import END, FirstProcess
from ....forks import forget, keep_open, reset_in_child
from .channel_socket import ChannelSocket

__all__ = ["PodLease"]

# Renewals of each lease. The host process may be late for all but one. An attachment counts as cut
# when some have not been answered.
_RENEWALS = 5
_UNANSWERED = 2
_ATTEMPT_SECONDS = 5.0
_PAUSE_SECONDS = 0.5
_READ = 65_536


class PodLease:
    """Lease of one pod, renewed until :meth:`close`.

    Args:
        attach: attaches to the input and output of the pod's first process, within seconds.
        seconds: of the lease.
        may_run: returns whether the pod may still run; called after a loss.

    Raises:
        ExecutorError: the pod cannot be attached to.
    """

    def __init__(
        self,
        attach: Callable[[float], ChannelSocket],
        seconds: float,
        may_run: Callable[[], bool],
    ) -> None:
        self._attach, self._seconds, self._may_run = attach, seconds, may_run
        #: Whether the lease is not renewed any more.
        self.closed = False
        #: Monotonic time of the next renewal.
        self.due = 0.0
        #: The present attachment; ``None`` after a loss.
        self.sock: ChannelSocket | None = attach(seconds)
        self._requests: deque[bytes] = deque()
        #: The pod's first process.
        self.first_process = FirstProcess(self._request)
        _keeper.add(self)

    def _request(self, data: bytes) -> None:
        self._requests.append(data)
        _keeper.wake()

    def work(self, sock: ChannelSocket) -> None:
        """Read and write what is due. Only for the thread that has the attachments."""
        with contextlib.suppress(BlockingIOError):
            while data := sock.recv(_READ):
                self.first_process.feed(data)
            self._lose(sock)
            return
        if self.first_process.silent_seconds > self._seconds * _UNANSWERED / _RENEWALS:
            self._lose(sock)
            return
        now = time.monotonic()
        if now >= self.due:
            self.due = now + self._seconds / _RENEWALS
            self.first_process.ask()
        with contextlib.suppress(BlockingIOError):
            while self._requests:
                sock.send(self._requests[0])
                self._requests.popleft()

    def _lose(self, sock: ChannelSocket) -> None:
        self.sock = None
        sock.close()
        self.first_process.reconnect(False)
        self._requests.clear()
        if self.first_process.end is None:
            threading.Thread(
                target=self._attach_again, name="smolagents-fork-attach", daemon=True
            ).start()

    def _attach_again(self) -> None:
        end = time.monotonic() + self._seconds
        while not self.closed and time.monotonic() < end and self._may_run():
            with contextlib.suppress(ExecutorError, OSError):
                sock = self._attach(_ATTEMPT_SECONDS)
                self.due = 0.0
                self.sock = sock
                self.first_process.reconnect(True)
                _keeper.wake()
                return
            time.sleep(_PAUSE_SECONDS)
        self.close()  # it has ended, or its lease is over

    def close(self) -> None:
        """End the renewal. Idempotent, from any thread."""
        self.closed = True
        _keeper.wake()


class _Keeper:
    """The thread that has all attachments; runs while there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leases: set[PodLease] = set()
        self._thread: threading.Thread | None = None
        # Ends of a pair of sockets while the thread runs: one wakes it.
        self._woken: socket.socket | None = None
        self._waker: socket.socket | None = None

    def add(self, lease: PodLease) -> None:
        with self._lock:
            self._leases.add(lease)
            if self._thread is None:
                self._woken, self._waker = socket.socketpair()
                keep_open((self._woken, self._waker))
                self._woken.setblocking(False)
                self._waker.setblocking(False)
                self._thread = threading.Thread(
                    target=self._work, args=(self._woken,), name="smolagents-fork-pod-leases",
                    daemon=True,
                )  # fmt: skip
                self._thread.start()
        self.wake()

    def wake(self) -> None:
        """Have the thread look at all leases. From any thread."""
        waker = self._waker
        if waker is not None:
            # Full: it has been woken already. Closed: the thread has ended.
            with contextlib.suppress(OSError):
                waker.send(b"\0")

    def abandon(self) -> None:
        """Close the pair of sockets."""
        pair = [end for end in (self._woken, self._waker) if end is not None]
        self._thread = self._woken = self._waker = None
        for end in pair:
            end.close()
        forget(pair)

    def _work(self, woken: socket.socket) -> None:
        while True:
            with self._lock:
                for lease in [one for one in self._leases if one.closed]:
                    self._leases.discard(lease)
                    if lease.sock is not None:
                        # The cluster may take a while to end the pod.
                        with contextlib.suppress(BlockingIOError):
                            lease.sock.send(END)
                        lease.sock.close()
                if not self._leases:
                    self.abandon()
                    return
                leases = [(one, one.sock) for one in self._leases if one.sock is not None]
            for lease, sock in leases:
                # One lease's error must not end the renewal of the others.
                with contextlib.suppress(Exception):
                    lease.work(sock)
            _wait(woken, [(one, sock) for one, sock in leases if one.sock is sock])


def _wait(woken: socket.socket, leases: list[tuple[PodLease, ChannelSocket]]) -> None:
    """Wait until an attachment is ready, a renewal is due, or another thread wakes this one."""
    due = min((lease.due for lease, _ in leases), default=time.monotonic() + _PAUSE_SECONDS)
    with selectors.DefaultSelector() as selector:
        selector.register(woken, selectors.EVENT_READ)
        for _, sock in leases:
            events = selectors.EVENT_WRITE if sock.has_unsent else 0
            selector.register(sock, selectors.EVENT_READ | events)
        selector.select(max(0.0, due - time.monotonic()))
    with contextlib.suppress(OSError):
        woken.recv(4096)


_keeper = _Keeper()


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which owns none of its parent's pods."""
    global _keeper
    _keeper.abandon()
    _keeper = _Keeper()
