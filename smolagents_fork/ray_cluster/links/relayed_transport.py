"""Relayed transport: a stream as numbered chunks, in calls that may run out of order.

A call takes a chunk of the host along and brings the sandbox's next one back. Either direction has
a window. A chunk outside of it, or too long, is not the host's: the stream is ended, and no other.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import threading
from collections import deque

from ...deadline import Deadline
from ...errors import ExecutorError, ProtocolError
from .direct_transport import Serve
from .relay_frames import NAME_BYTES, RelayAnswer, RelayCall
from .thread_priority import use_normal_priority

__all__ = ["CHUNK_BYTES", "WAIT_SECONDS", "WINDOW", "ChunkOrder", "RelayedStreams"]

#: Longest chunk, in bytes. What is longer than 100 KiB Ray passes on through its object store
#: (``RAY_max_direct_call_object_size``), which takes twice the time.
CHUNK_BYTES = 96 << 10
#: Chunks on their way at once.
WINDOW = 8
#: Time that a call waits for the sandbox's next chunk, in seconds.
WAIT_SECONDS = 10.0
_MOST_STREAMS = 4096


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
    """The node's end of one stream."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._order = ChunkOrder()
        self._changed = threading.Condition()
        self._waiting: deque[bytes | memoryview] = deque()
        self._written = 0
        self._writer: threading.Thread | None = None
        self._closed = False
        self._reading = threading.Lock()
        self._sent = 0

    def add(self, number: int, chunk: bytes) -> None:
        """Take a chunk of the host; what the sandbox does not take now, a thread passes on."""
        with self._changed:
            if self._closed:
                raise ExecutorError("the stream has ended")
            for data in self._order.add(number, chunk):
                self._pass_on(data)
            if len(self._waiting) > 2 * WINDOW:
                raise ProtocolError(f"{len(self._waiting)} chunks, over {2 * WINDOW}")

    def written(self) -> int:
        """Return how many chunks the sandbox has taken."""
        with self._changed:
            return self._written

    def next(self, seconds: float) -> tuple[int, bytes] | None:
        """Return the sandbox's next chunk with its number; an empty one at the end.

        Args:
            seconds: to wait at most; then ``None``.
        """
        deadline = Deadline(seconds)
        if not self._reading.acquire(timeout=seconds):
            return None
        try:
            if not _readable(self._socket, deadline.at_most(seconds)):
                return None
            try:
                data = self._socket.recv(CHUNK_BYTES)
            except OSError:
                data = b""
            number, self._sent = self._sent, self._sent + 1
            return number, data
        finally:
            self._reading.release()

    def close(self) -> None:
        """End the stream. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        # Not while a thread uses it: the number of the descriptor may be used again.
        if self._writer is not None:
            self._writer.join()
        with self._reading:
            self._socket.close()

    def _pass_on(self, data: bytes) -> None:
        """Write a chunk, or as much of it as the sandbox takes now. The caller has the lock."""
        count = 0
        if not self._waiting:
            try:
                count = self._socket.send(data, socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
            except OSError:
                self._closed = True
                return
        if count == len(data):
            self._written += 1
            return
        self._waiting.append(memoryview(data)[count:])
        if self._writer is None:
            self._writer = threading.Thread(
                target=self._write, name="smolagents-fork-relay", daemon=True
            )
            self._writer.start()
        self._changed.notify_all()

    def _write(self) -> None:
        use_normal_priority()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._waiting)
                if self._closed:
                    return
                data = self._waiting[0]
            try:
                self._socket.sendall(data)
            except OSError:
                with self._changed:
                    self._closed = True
                return
            with self._changed:
                self._waiting.popleft()
                self._written += 1


class RelayedStreams:
    """The node's end of relayed streams.

    Args:
        serve: serves a stream; see :data:`Serve`.
    """

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._lock = threading.Lock()
        self._streams: dict[bytes, _Stream] = {}

    def open(self, token: bytes) -> bytes:
        """Open a stream with a ticket and return its name; a wrong ticket gives one that ends."""
        ours, theirs = socket.socketpair()
        name = secrets.token_bytes(NAME_BYTES)
        with self._lock:
            if len(self._streams) >= _MOST_STREAMS:
                raise ExecutorError(f"there are {_MOST_STREAMS} streams already")
            self._streams[name] = _Stream(ours)
        threading.Thread(
            target=self._serve, args=(token, theirs), name="smolagents-fork-stream", daemon=True
        ).start()
        return name

    def exchange(self, call: RelayCall, seconds: float = WAIT_SECONDS) -> RelayAnswer:
        """Take a chunk of the host, and wait for the next one of the sandbox if the call does.

        Args:
            call: of the helper process.
            seconds: to wait at most; then the answer brings no chunk.

        Raises:
            ProtocolError: not a chunk that may come now; the stream has been ended.
            ExecutorError: the stream has ended.
        """
        stream = self._existing(call.stream)
        try:
            if call.chunk:
                stream.add(call.number, call.chunk)
        except ProtocolError:
            self.close(call.stream)
            raise
        found = stream.next(seconds) if call.waits else None
        if found is None:
            return RelayAnswer(stream.written())
        return RelayAnswer(stream.written(), True, *found)

    def close(self, name: bytes) -> None:
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

    def _existing(self, name: bytes) -> _Stream:
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
