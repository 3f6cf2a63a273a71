"""The host's end of a stream of frames: one turn sends what the other side takes, and reads once.

The waiting thread calls :meth:`FrameStream.turn` again and again, and looks at its deadline, at
interruptions and at the other process between two turns. So no peer blocks its host, whether it
does not read, sends a byte at a time, or sends without end.
"""

from __future__ import annotations

import math
import select
import socket
import struct
from collections import deque

from .frames import READ_BYTES, Body, Frame, FrameReader, Kind, frame_parts

__all__ = ["FrameStream"]

# Longest wait of a send for space, in microseconds as struct timeval: the kernel waits with a
# sender for a slow reader, four times as fast as polling. A turn sends that many bytes at most.
_SEND_WAIT = struct.pack("@ll", 0, 50_000)
_SENT_AT_ONCE = 256 * 1024
_NOT_BLOCKING = getattr(socket, "MSG_DONTWAIT", 0)  # not on Windows


class FrameStream:
    """Frames over a connected socket.

    Only one thread at a time may call :meth:`turn`.

    Args:
        connection: closed by the caller.
        kinds: frames that are accepted -> most bytes of a body.
    """

    def __init__(self, connection: socket.socket, kinds: dict[Kind, int]) -> None:
        connection.setblocking(True)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SEND_WAIT)
        self._connection = connection
        self._number = connection.fileno()
        self._reader = FrameReader(kinds)
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        self._outgoing: deque[memoryview] = deque()
        #: Whether the last turn neither sent nor read anything.
        self.idle = False
        #: Whether an exception of a signal's handler has left a frame in pieces.
        self.broken = False

    @property
    def unsent(self) -> int:
        """Number of bytes that the other side has not taken yet."""
        return sum(map(len, self._outgoing))

    def watch(self, number: int) -> None:
        """End the wait of a turn when another descriptor is ready, too."""
        self._poll.register(number, select.POLLIN)

    def unwatch(self, number: int) -> None:
        """Stop watching a descriptor, before it is closed."""
        self._poll.unregister(number)

    def put(self, kind: Kind, run: int, body: Body = b"") -> None:
        """Have the next turns send a frame, behind those that wait; any thread may call this.

        Args:
            body: must not change until it is sent.
        """
        # At once, since a frame of another thread must not come between the parts.
        parts = [memoryview(part).cast("B") for part in frame_parts(kind, run, body)]
        self._outgoing.extend(parts)

    def turn(self, seconds: float) -> Frame | None:
        """Send what the other side takes, and return a frame that is complete.

        Args:
            seconds: Seconds to wait at most when there is nothing to send or read.

        Raises:
            OSError: the other side has closed the connection, or this one has.
            ProtocolError: it sent an invalid or unexpected frame.
        """
        if self.broken:
            raise ConnectionError("a frame is incomplete")
        sent = self._send() if self._outgoing else 0
        frame = self._reader.next()
        if frame is not None:
            return frame
        ready = bool(self._outgoing) or seconds <= 0 or self._wait(seconds)
        received = ready and self._receive()
        self.idle = not received and not sent
        return self._reader.next() if received else None

    def _send(self) -> int:
        part = self._outgoing[0]
        # Until what was sent is noted: a signal's handler may raise in between.
        self.broken = True
        try:
            sent = self._connection.send(part[:_SENT_AT_ONCE])
        except BlockingIOError:
            sent = 0
        if sent < len(part):
            self._outgoing[0] = part[sent:]
        else:
            self._outgoing.popleft()
        self.broken = False
        return sent

    def _receive(self) -> bool:
        """Read what has arrived; return whether anything has."""
        self.broken = True
        try:
            data = self._connection.recv(READ_BYTES, _NOT_BLOCKING)
        except BlockingIOError:
            self.broken = False
            return False
        if not data:
            raise ConnectionError("the other side has closed the connection")
        self._reader.feed(data)
        self.broken = False
        return True

    def _wait(self, seconds: float) -> bool:
        """Wait until something is ready; return whether there is something to read."""
        ready = self._poll.poll(math.ceil(seconds * 1000))
        return any(number == self._number for number, _ in ready)
