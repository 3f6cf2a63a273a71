"""Connections to the first processes of this process's sandboxes, which renew their leases.

A connection to a first process's input and output carries what is in
:mod:`smolagents_fork.system.first_process_link`: renewals and requests to it, its answers, and the
end of the main process. One thread has all connections, because only one may use a connection with
TLS. It starts with the first lease and ends with the last. A connection that is lost, or whose
first process does not answer, is replaced by a thread of its own, so that an engine that does not
answer delays no other lease.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable

from ..stream.timed_socket import NOT_READY, ByteStream
from ..system.first_process_link import END, FirstProcess
from ..system.forks import ForkSafeLock, forget, keep_open, reset_in_child

__all__ = ["Lease"]

# Renewals of each lease. The host process may be late for all but one. A connection counts as cut
# at the renewal after which as many have had no answer.
_RENEWALS = 5
_UNANSWERED = 1.5
# Pauses between attempts to attach again. The first one is before the first attempt: an engine
# closes the output before it reports the end of the sandbox.
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 1.0
# Bytes of one read, and of the output of one first process that are read at once.
_PIECE, _MOST_READ = 1 << 16, 1 << 20


class Lease:
    """Lease of one sandbox, renewed until :meth:`close`.

    Args:
        stream: Connection to the input and output of the sandbox's first process. It does not
            block.
        attach: returns another connection, or ``None`` when the sandbox has ended; raises when the
            engine does not answer.
        note_end: takes the reason for which no other connection takes the place of a lost one;
            empty when the sandbox has ended.

    Raises:
        OSError: the process has no free descriptors.
        RuntimeError: no thread can be started.
    """

    def __init__(
        self,
        stream: ByteStream,
        attach: Callable[[], ByteStream | None],
        seconds: float,
        note_end: Callable[[str], None] = lambda _broken: None,
    ) -> None:
        self._attach, self._seconds, self._note_end = attach, seconds, note_end
        self._requests: deque[bytes] = deque()
        # Requests that the connection could not take yet. Only for the thread that has it.
        self._unsent = bytearray()
        #: The sandbox's first process.
        self.first_process = FirstProcess(self._request)
        #: The present connection; ``None`` after a loss.
        self.stream: ByteStream | None = stream
        #: Whether another connection is being opened.
        self.attaching = False
        #: Whether the lease is not renewed any more.
        self.closed = False
        #: Monotonic time of the next renewal.
        self.due = 0.0
        _keeper.add(self)

    def close(self) -> None:
        """End the renewal, and the sandbox. Idempotent, from any thread, also in a destructor."""
        self.closed = True
        _keeper.wake()

    def _request(self, data: bytes) -> None:
        self._requests.append(data)
        _keeper.wake()

    def work(self, stream: ByteStream) -> None:
        """Read and write what is due. Only for the thread that has the connections."""
        try:
            output = _read(stream)
        except Exception as error:
            self._lose(stream, f"{type(error).__name__}: {error}")
            return
        if output is None:
            self._lose(stream, "")
            return
        first, seconds = self.first_process, self._seconds
        first.feed(output)
        if first.silent_seconds > seconds * _UNANSWERED / _RENEWALS:
            self._lose(stream, "the first process does not answer")
            return
        now = time.monotonic()
        if now >= self.due:
            self.due = now + seconds / _RENEWALS
            first.ask()
        # An error is met by the next read, too; a full connection is that of a hanging engine.
        with contextlib.suppress(OSError, ValueError):
            while self._requests:
                self._unsent += self._requests.popleft()
            if self._unsent:
                del self._unsent[: stream.send(bytes(self._unsent))]

    @property
    def has_unsent(self) -> bool:
        """Tell whether a request waits until the connection takes it."""
        return bool(self._unsent)

    def release(self) -> None:
        """End the sandbox of a closed lease. Only for the thread that has the connections."""
        stream, self.stream = self.stream, None
        if stream is None:
            return
        # The engine may take a while to end it.
        with contextlib.suppress(Exception):
            stream.send(bytes(self._unsent) + END)
        stream.close()

    def _lose(self, stream: ByteStream, broken: str) -> None:
        self.stream = None
        stream.close()
        self.first_process.reconnect(False)
        # None is added from now on: they were for this connection.
        self._requests.clear()
        self._unsent.clear()
        if self.closed:
            self._end(broken)
            return
        self.attaching = True
        try:
            threading.Thread(
                target=self._attach_again, name="smolagents-fork-lease", daemon=True
            ).start()
        except RuntimeError as error:  # no thread can be started
            self.attaching = False
            self._end(f"{broken} ({error})")

    def _attach_again(self) -> None:
        """Replace a lost connection, unless the sandbox has ended or its lease is over."""
        end = self.first_process.heard_at + self._seconds
        pause, broken = _FIRST_PAUSE_SECONDS, ""
        try:
            while not self.closed:
                time.sleep(pause)
                pause = min(_LONGEST_PAUSE_SECONDS, pause * 2)
                try:
                    stream = self._attach()
                except Exception as error:
                    if time.monotonic() < end:
                        continue
                    broken = f"{type(error).__name__}: {error}"
                    break
                if stream is None:
                    break
                # Before the keeper has the stream: it asks at once, and feeds what it reads.
                self.first_process.reconnect(True)
                self.due, self.stream = 0.0, stream
                return
            self._end(broken)
        finally:
            self.attaching = False
            _keeper.wake()

    def _end(self, broken: str) -> None:
        self._note_end(broken)
        self.close()


def _read(stream: ByteStream) -> bytes | None:
    """Return what has arrived; ``None`` at the end of the stream."""
    output = bytearray()
    # Until nothing is left: TLS may have decrypted bytes that the descriptor does not show.
    with contextlib.suppress(*NOT_READY):
        while len(output) < _MOST_READ:
            if not (data := stream.recv(_PIECE)):
                return bytes(output) or None
            output += data
    return bytes(output)


class _Keeper:
    """The thread that has all connections; runs while there is a lease."""

    def __init__(self) -> None:
        # Acquired while leases come and go. Never by wake(), which garbage collection may call in a
        # thread that has it.
        self._lock = threading.Lock()
        self._wake_lock = ForkSafeLock()
        self._leases: set[Lease] = set()
        self._thread: threading.Thread | None = None
        # Ends of a pair of sockets while the thread runs: one wakes it.
        self._woken: socket.socket | None = None
        self._waker: socket.socket | None = None

    def add(self, lease: Lease) -> None:
        """Begin to renew a lease; errors as for :class:`Lease`."""
        with self._lock:
            self._leases.add(lease)
            try:
                if self._thread is None:
                    self._start()
            except BaseException:
                self._leases.discard(lease)
                self.abandon()
                raise
        self.wake()

    def _start(self) -> None:
        self._woken, self._waker = socket.socketpair()
        keep_open((self._woken, self._waker))
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        thread = threading.Thread(
            target=self._work, args=(self._woken,), name="smolagents-fork-leases", daemon=True
        )
        thread.start()
        self._thread = thread

    def wake(self) -> None:
        """Have the thread look at all leases. From any thread, also in a destructor."""
        # Under a lock: the descriptor of a closed socket could be another file's by now.
        with self._wake_lock:
            if self._waker is not None:
                with contextlib.suppress(OSError):  # full: the thread wakes anyway
                    self._waker.send(b"\0")

    def abandon(self) -> None:
        """Close the pair of sockets."""
        with self._wake_lock:
            pair = [end for end in (self._woken, self._waker) if end is not None]
            self._thread = self._woken = self._waker = None
            for end in pair:
                end.close()
        forget(pair)

    def _work(self, woken: socket.socket) -> None:
        while leases := self._open_leases():
            streams = [(lease, lease.stream) for lease in leases]
            for lease, stream in streams:
                if stream is not None:
                    # One lease's error must not end the renewal of the others.
                    with contextlib.suppress(Exception):
                        lease.work(stream)
            self._wait(woken, leases)

    def _open_leases(self) -> list[Lease]:
        """Release the closed leases and return the others; end the thread when there are none."""
        with self._lock:
            for lease in [lease for lease in self._leases if lease.closed and not lease.attaching]:
                self._leases.discard(lease)
                lease.release()
            if not self._leases:
                self.abandon()
            return list(self._leases)

    def _wait(self, woken: socket.socket, leases: list[Lease]) -> None:
        """Wait until a connection is ready, a renewal is due, or another thread wakes this one."""
        open_streams = [(lease, lease.stream) for lease in leases]
        with selectors.DefaultSelector() as selector:
            selector.register(woken, selectors.EVENT_READ)
            due = float("inf")
            for lease, stream in open_streams:
                if stream is not None:
                    due = min(due, lease.due)
                    events = selectors.EVENT_WRITE if lease.has_unsent else 0
                    selector.register(stream, selectors.EVENT_READ | events)
            seconds = None if due == float("inf") else max(0.0, due - time.monotonic())
            selector.select(seconds)
        with contextlib.suppress(OSError):
            woken.recv(4096)


_keeper = _Keeper()


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which owns none of its parent's sandboxes."""
    global _keeper
    inherited, _keeper = _keeper, _Keeper()
    inherited.abandon()
