"""Streams that do not block, and their use under a time limit for each direction."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Protocol

from ..system.forks import forget, keep_open

__all__ = ["NOT_READY", "ByteStream", "TimedSocket"]

#: Errors of a stream that would have to wait.
NOT_READY = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
# How often a wait for a reader looks whether it is to end, and how long it may go on then.
_STOP_POLL_SECONDS = 0.1
_STOP_SECONDS = 1.0


class ByteStream(Protocol):
    """A non-blocking stream in and out of a sandbox: the part of a socket that is used."""

    def recv(self, size: int, /) -> bytes: ...
    def send(self, data: bytes | memoryview, /) -> int: ...
    def fileno(self) -> int: ...
    def setblocking(self, flag: bool, /) -> None: ...
    def close(self) -> None: ...


class TimedSocket:
    """Socket with a time limit per direction, so that two threads can use it at once.

    ``socket.settimeout`` sets one limit for both directions. A thread that sends an interrupt would
    change the limit of the thread that waits for output. That limit also restarts with every byte,
    so a sandbox that sends or reads a byte now and then could prolong a wait forever.
    """

    def __init__(self, sock: ByteStream) -> None:
        sock.setblocking(False)
        self._sock = sock
        keep_open((sock,))
        # Serialises calls: an OpenSSL connection allows one thread at a time, and the descriptor
        # of a socket that another thread closed may be reused. Released during waits.
        self._use = threading.RLock()
        self._receive_seconds = 0.0
        self._receive_end = self._send_end = 0.0
        self._stop: Callable[[], bool] | None = None
        #: Bytes received so far.
        self.received = 0

    def receive_for(self, seconds: float, at_most: float) -> None:
        """Set the deadlines of the next receive operations.

        Args:
            seconds: longest wait for the next byte.
            at_most: longest time in total, however many bytes arrive.
        """
        self._receive_seconds = seconds
        self._receive_end = time.monotonic() + at_most

    def send_for(self, seconds: float, stop: Callable[[], bool] | None = None) -> None:
        """Set the deadline of the next send operations.

        Args:
            seconds: in total.
            stop: returns whether they are to end in a second.
        """
        self._send_end = time.monotonic() + seconds
        self._stop = stop

    def recv(self, size: int) -> bytes:
        while True:
            seconds_left = self._receive_end - time.monotonic()
            if seconds_left <= 0:
                raise TimeoutError("timed out")
            try:
                with self._use:
                    data = self._sock.recv(size)
            except (BlockingIOError, ssl.SSLWantReadError):
                self._wait(read=True, seconds=min(self._receive_seconds, seconds_left))
            except ValueError:  # closed by another thread
                raise ConnectionResetError("the stream has been closed") from None
            else:
                self.received += len(data)
                return data

    def send(self, data: bytes | memoryview) -> int:
        while True:
            seconds_left = self._send_end - time.monotonic()
            if seconds_left <= 0:
                raise TimeoutError("timed out")
            try:
                with self._use:
                    return self._sock.send(data)
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._wait_for_reader(seconds_left)

    def _wait_for_reader(self, seconds_left: float) -> None:
        if self._stop is None:
            self._wait(read=False, seconds=seconds_left)
            return
        if self._stop():
            self._stop = None
            self._send_end = min(self._send_end, time.monotonic() + _STOP_SECONDS)
            return
        with contextlib.suppress(TimeoutError):
            self._wait(read=False, seconds=min(seconds_left, _STOP_POLL_SECONDS))

    def sendall(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            view = view[self.send(view[:1_048_576]) :]

    def settimeout(self, seconds: float) -> None:
        """Set the limit of both directions; used only before the first message."""
        self.receive_for(seconds, at_most=seconds)
        self.send_for(seconds)

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        shut_down = getattr(self._sock, "shutdown", None)
        with self._use:
            if shut_down is not None:
                with contextlib.suppress(OSError):
                    shut_down(socket.SHUT_RDWR)
            with contextlib.suppress(OSError):
                self._sock.close()
        forget((self._sock,))

    def _wait(self, *, read: bool, seconds: float) -> None:
        descriptor = self._sock.fileno()
        if descriptor < 0:
            raise ConnectionResetError("the stream has been closed")
        # When no time is left it does not wait: the shortest wait takes a millisecond.
        if seconds <= 0 or not _wait_for(descriptor, read=read, seconds=seconds):
            raise TimeoutError("timed out")


if hasattr(select, "poll"):

    def _wait_for(descriptor: int, *, read: bool, seconds: float) -> bool:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN if read else select.POLLOUT)
        # Rounded up: a poll of 0 ms would spin through the last millisecond.
        return bool(poll.poll(min(int(seconds * 1000) + 1, 2**31 - 1)))

else:  # pragma: no cover - Windows

    def _wait_for(descriptor: int, *, read: bool, seconds: float) -> bool:
        reading, writing = ([descriptor], []) if read else ([], [descriptor])
        ready = select.select(reading, writing, [], seconds)
        return bool(ready[0] or ready[1])
