"""Relayed transport: a stream as numbered chunks, in calls that may run out of order.

Either direction has a window. A chunk outside of it, or too long, is not the host's: the stream is
ended, and no other.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable

from ...errors import ExecutorError, ProtocolError
from .direct_transport import Serve
from .thread_priority import use_normal_priority

__all__ = ["CHUNK_BYTES", "WINDOW", "ChunkOrder", "RelayedStreams", "pump"]

#: Longest chunk, in bytes.
CHUNK_BYTES = 1 << 20
#: Chunks on their way at once.
WINDOW = 8
_MOST_STREAMS = 4096
# Pause while a sandbox does not read, in seconds.
_BUSY_SECONDS = 0.02


class ChunkOrder:
    """Chunks of one direction, which come in any order within the window, put in order."""

    def __init__(self) -> None:
        self.next = 0
        self._early: dict[int, bytes] = {}

    def add(self, number: int, chunk: bytes) -> list[bytes]:
        """Take a chunk and return those that are in order now.

        Args:
            number: of the chunk, from 0.
            chunk: bytes.

        Raises:
            ProtocolError: outside the window, twice, or too long.
        """
        if type(number) is not int or not self.next <= number < self.next + WINDOW:
            raise ProtocolError(
                f"chunk {number!r} outside the window {self.next} to {self.next + WINDOW - 1}"
            )
        if number in self._early:
            raise ProtocolError(f"chunk {number} twice")
        if type(chunk) is not bytes or len(chunk) > CHUNK_BYTES:
            size = len(chunk) if isinstance(chunk, bytes) else type(chunk).__name__
            raise ProtocolError(f"chunk {number} of {size} bytes, over {CHUNK_BYTES}")
        self._early[number] = chunk
        found = []
        while self.next in self._early:
            found.append(self._early.pop(self.next))
            self.next += 1
        return found


class _Stream:
    """The node's end of one stream; a thread of its own passes chunks on."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self.sent = 0
        self.reading = threading.Lock()
        self._order = ChunkOrder()
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._closed = False
        self._writer = threading.Thread(
            target=self._write, name="smolagents-fork-relay", daemon=True
        )
        self._writer.start()

    def add(self, number: int, chunk: bytes) -> int:
        """Take a chunk; return how many wait for the sandbox to read."""
        with self._changed:
            if self._closed:
                raise ExecutorError("the stream has ended")
            self._waiting.extend(self._order.add(number, chunk))
            if len(self._waiting) > 2 * WINDOW:
                raise ProtocolError(f"{len(self._waiting)} chunks, over {2 * WINDOW}")
            self._changed.notify_all()
            return len(self._waiting)

    def waiting(self) -> int:
        """Return how many chunks wait for the sandbox to read."""
        with self._changed:
            if self._closed:
                raise ExecutorError("the stream has ended")
            return len(self._waiting)

    def close(self) -> None:
        """End the stream. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        # Not while a thread uses it: the number of the descriptor may be used again.
        self._writer.join()
        with self.reading:
            self.socket.close()

    def _write(self) -> None:
        use_normal_priority()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._waiting)
                if self._closed:
                    return
                data = self._waiting[0]
            try:
                self.socket.sendall(data)
            except OSError:
                with self._changed:
                    self._closed = True
                return
            with self._changed:
                self._waiting.popleft()


class RelayedStreams:
    """The node's end of relayed streams.

    Args:
        serve: serves a stream; see :data:`Serve`.
    """

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._lock = threading.Lock()
        self._streams: dict[str, _Stream] = {}

    def open(self, token: bytes) -> str:
        """Open a stream with a ticket and return its name; a wrong ticket gives one that ends."""
        ours, theirs = socket.socketpair()
        name = secrets.token_hex(8)
        with self._lock:
            if len(self._streams) >= _MOST_STREAMS:
                raise ExecutorError(f"there are {_MOST_STREAMS} streams already")
            self._streams[name] = _Stream(ours)
        threading.Thread(
            target=self._serve, args=(token, theirs), name="smolagents-fork-stream", daemon=True
        ).start()
        return name

    def write(self, name: str, number: int, chunk: bytes) -> int:
        """Take a chunk of the host; return how many wait for the sandbox to read.

        Raises:
            ProtocolError: not a chunk that may come now; the stream has been ended.
            ExecutorError: the stream has ended.
        """
        try:
            return self._existing(name).add(number, chunk)
        except ProtocolError:
            self.close(name)
            raise

    def waiting(self, name: str) -> int:
        """Return how many chunks wait for the sandbox to read.

        Raises:
            ExecutorError: the stream has ended.
        """
        return self._existing(name).waiting()

    def read(self, name: str, seconds: float) -> tuple[int, bytes] | None:
        """Return the next chunk for the host with its number; an empty one at the end.

        Args:
            name: of the stream.
            seconds: to wait at most; then ``None``.
        """
        stream = self._existing(name)
        with stream.reading:
            if not _readable(stream.socket, seconds):
                return None
            try:
                data = stream.socket.recv(CHUNK_BYTES)
            except OSError:
                data = b""
            number, stream.sent = stream.sent, stream.sent + 1
            return number, data

    def close(self, name: str) -> None:
        """End a stream. Idempotent."""
        with self._lock:
            stream = self._streams.pop(name, None)
        if stream is not None:
            stream.close()

    def close_all(self) -> None:
        """End all streams. Idempotent."""
        with self._lock:
            names = list(self._streams)
        for name in names:
            self.close(name)

    def _existing(self, name: str) -> _Stream:
        with self._lock:
            stream = self._streams.get(name)
        if stream is None:
            raise ExecutorError("the stream has ended")
        return stream


def _readable(end: socket.socket, seconds: float) -> bool:
    poll = select.poll()
    try:
        poll.register(end, select.POLLIN)
    except (OSError, ValueError):
        return True
    return bool(poll.poll(seconds * 1000))


def pump(
    end: socket.socket,
    write: Callable[[int, bytes], Callable[[], int]],
    waiting: Callable[[], int],
    read: Callable[[], tuple[int, bytes] | None],
    close: Callable[[], None],
) -> None:
    """Relay a stream from the helper's side until it ends; blocks.

    Args:
        end: the host's.
        write: begins to send a chunk with its number; returns a function that waits for it and
            returns how many chunks wait for the sandbox.
        waiting: returns how many chunks wait for the sandbox.
        read: returns the next chunk with its number, an empty one at the end, ``None`` for none.
        close: ends the node's end.
    """
    reader = threading.Thread(
        target=_pump_back, args=(end, read), name="smolagents-fork-relay", daemon=True
    )
    reader.start()
    begun: deque[Callable[[], int]] = deque()
    number = 0
    try:
        while data := end.recv(CHUNK_BYTES):
            if len(begun) >= WINDOW and begun.popleft()() >= WINDOW:
                while begun:
                    begun.popleft()()
                while waiting() >= WINDOW:
                    time.sleep(_BUSY_SECONDS)
            begun.append(write(number, data))
            number += 1
        while begun:
            begun.popleft()()
    except (OSError, ExecutorError):
        pass
    finally:
        close()
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        reader.join()
        end.close()


def _pump_back(end: socket.socket, read: Callable[[], tuple[int, bytes] | None]) -> None:
    order = ChunkOrder()
    try:
        while True:
            found = read()
            if found is None:
                continue
            for data in order.add(*found):
                if not data:
                    return
                end.sendall(data)
    except (OSError, ExecutorError):
        pass
    finally:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
