"""Frames that wait to be sent to a supervisor, which may not read them."""

from __future__ import annotations

import collections
import contextlib
import socket
import threading
import time

from ..sandboxes.provisioner import ByteStream
from .run_frames import Kind, pack_head

__all__ = ["Outbox"]

# Bytes that may wait before further threads wait for room.
_MOST_WAITING = 32 << 20
# Bytes that are sent at once, and how often before the run looks at something else.
_PIECE_BYTES = 1 << 18
_MOST_PIECES = 64


class Outbox:
    """Frames of a run: put in by any thread, sent by the thread of the run, which never waits here.

    Args:
        stream: non-blocking.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._sender = threading.get_ident()
        self._parts: collections.deque[memoryview] = collections.deque()
        self._bytes = 0
        self._room = threading.Condition()
        self._closed = False
        self._progress = time.monotonic()
        self._woken, self._wake = socket.socketpair()
        for end in (self._woken, self._wake):
            end.setblocking(False)

    @property
    def stalled_seconds(self) -> float:
        """Seconds for which bytes have waited and none could be sent."""
        return time.monotonic() - self._progress if self._parts else 0.0

    @property
    def waiting(self) -> bool:
        """Tell whether bytes wait."""
        return bool(self._parts)

    def fileno(self) -> int:
        """Descriptor that is readable when another thread has put in a frame."""
        return self._woken.fileno()

    def put(self, kind: Kind, number: int, body: bytes) -> None:
        """Append a frame. Other threads than that of the run wait for room.

        Raises:
            OSError: the run has ended.
        """
        with self._room:
            while self._bytes > _MOST_WAITING and threading.get_ident() != self._sender:
                if self._closed:
                    break
                self._room.wait()
            if self._closed:
                raise BrokenPipeError("the run has ended")
            if not self._parts:
                self._progress = time.monotonic()
            for part in (pack_head(kind, number, len(body)), body):
                if part:
                    self._parts.append(memoryview(part))
                    self._bytes += len(part)
            # Full: the run's thread has been woken already.
            with contextlib.suppress(BlockingIOError):
                self._wake.send(b"\0")

    def send(self) -> None:
        """Send what can be sent now.

        Raises:
            OSError: the stream has ended.
        """
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(4096)
        for _ in range(_MOST_PIECES):
            if not self._parts:
                return
            part = self._parts[0]
            try:
                count = self._stream.send(bytes(part[:_PIECE_BYTES]))
            except BlockingIOError:
                return
            with self._room:
                self._progress = time.monotonic()
                self._bytes -= count
                if count == len(part):
                    self._parts.popleft()
                else:
                    self._parts[0] = part[count:]
                self._room.notify_all()

    def close(self) -> None:
        """Drop what waits; threads that wait for room get an error."""
        with self._room:
            self._closed = True
            self._parts.clear()
            self._bytes = 0
            self._room.notify_all()
            self._woken.close()
            self._wake.close()
