"""Streams of one connection to the proxy, under its limits."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any

from ..system.closing import close_on_error
from ..system.forks import disconnect_in_child
from .access_record import AccessRecord
from .hosts.host_names import IPAddress

__all__ = [
    "CHUNK_BYTES",
    "IdleWatch",
    "SocketStream",
    "Stream",
    "abort",
    "connect_stream",
    "run_both",
]

#: Bytes that are read at once, and half of what a stream keeps while its receiver does not read.
CHUNK_BYTES = 128 * 1024
_HEAD_END = b"\r\n\r\n"


def abort(writer: asyncio.StreamWriter) -> None:
    """Close a connection without waiting for what was not sent; no-op once it is closed."""
    # A transport that has sent its rest after close() fails in abort().
    if writer.get_extra_info("socket").fileno() >= 0:
        writer.transport.abort()


class IdleWatch:
    """Cancels a task when nothing has moved for some time.

    Args:
        task: Task of the connection.
        seconds: Longest time without a byte in either direction.
    """

    def __init__(self, task: asyncio.Task[None], seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = task
        self._seconds = seconds
        self._last = self._loop.time()
        self._timer = self._loop.call_later(seconds, self._check)

    def touch(self) -> None:
        """Note that something has moved."""
        self._last = self._loop.time()

    def shorten(self, seconds: float) -> None:
        """Wait for no more than ``seconds`` from now on."""
        self._seconds = min(self._seconds, seconds)
        self._timer.cancel()
        self._check()

    def stop(self) -> None:
        """Cancel nothing any more."""
        self._timer.cancel()

    def _check(self) -> None:
        seconds_left = self._last + self._seconds - self._loop.time()
        if seconds_left > 0:
            self._timer = self._loop.call_later(seconds_left, self._check)
        else:
            self._task.cancel()


class Stream(ABC):
    """One side of a proxied connection."""

    def __init__(self) -> None:
        # Bytes that were received and not taken, and the reading that is_at_end looks at.
        self._buffer = bytearray()
        self._ahead: asyncio.Future[bytes] | None = None

    def watch_for_end(self) -> None:
        """Notice what the peer does while nothing is read from it, as :attr:`is_at_end` tells."""
        if self._ahead is not None:
            return
        self._ahead = ahead = asyncio.ensure_future(self._receive())
        # Its error is the next reader's, if there is one.
        ahead.add_done_callback(lambda task: task.cancelled() or task.exception())

    @property
    def is_at_end(self) -> bool:
        """Tell whether the peer has ended its side, or spoken, since :meth:`watch_for_end`."""
        return self._ahead is not None and self._ahead.done()

    async def read_head(self) -> bytes:
        """Return the head of a message with the empty line at its end.

        Raises:
            asyncio.LimitOverrunError: it is too long.
            EOFError: the peer closed its side before.
        """
        searched = 0
        while (head_end := self._buffer.find(_HEAD_END, searched)) < 0:
            if len(self._buffer) > CHUNK_BYTES:
                raise asyncio.LimitOverrunError("the head is too long", len(self._buffer))
            searched = max(0, len(self._buffer) - len(_HEAD_END) + 1)
            await self._fill()
        return self._take(head_end + len(_HEAD_END))

    async def read_exactly(self, size: int) -> bytes:
        """Return the next ``size`` bytes.

        Raises:
            EOFError: the peer closed its side before.
        """
        while len(self._buffer) < size:
            await self._fill()
        return self._take(size)

    async def read(self) -> bytes:
        """Return the next bytes; none at the end."""
        return self._take(len(self._buffer)) if self._buffer else await self._next()

    async def _fill(self) -> None:
        data = await self._next()
        if not data:
            raise EOFError("the peer closed its side")
        self._buffer += data

    def _take(self, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def _next(self) -> bytes:
        ahead, self._ahead = self._ahead, None
        return await (self._receive() if ahead is None else ahead)

    def _forget_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.cancel()

    @abstractmethod
    async def _receive(self) -> bytes:
        """Receive the next bytes of the peer; none at its end."""

    @abstractmethod
    async def write(self, data: bytes) -> None:
        """Send bytes, and wait while the receiver does not read."""

    @abstractmethod
    def end(self) -> None:
        """End this side's sending."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection without waiting for what was not sent."""

    @abstractmethod
    async def finish(self) -> None:
        """Close the connection once the peer has taken what was sent."""

    @abstractmethod
    async def discard(self) -> None:
        """Read what the peer sends, to its end."""

    async def relay_to(self, other: Stream) -> None:
        """Pass on what is received, to its end, which is passed on, too."""
        while data := await self.read():
            await other.write(data)
        other.end()

    async def close_gently(self, seconds: float) -> None:
        """Send what is left, let the peer read it, and close.

        Args:
            seconds: Longest wait for the peer.
        """
        if self._ahead is not None:
            self._ahead.cancel()
            await asyncio.wait([self._ahead])
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            self.end()
            # A connection that is closed with unread bytes is reset, and the peer loses the answer.
            await asyncio.wait_for(self.discard(), seconds)
        self.close()


class SocketStream(Stream):
    """One side of a proxied connection, as it is on the network.

    Args:
        reader: Reader of the connection.
        writer: Writer of the connection.
        record: Record that counts received bytes.
        watch: Watch that is told of what moves.
        on_end: Called when the peer has ended its side.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        record: AccessRecord,
        watch: IdleWatch,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self._reader = reader
        self._writer = writer
        self._record = record
        self._watch = watch
        self._on_end = on_end
        #: Bytes received and sent until now.
        self.received = self.sent = 0

    async def _receive(self) -> bytes:
        data = await self._reader.read(CHUNK_BYTES)
        self._watch.touch()
        self.received += len(data)
        self._record.count(len(data))
        if not data and self._on_end is not None:
            self._on_end()
        return data

    def put(self, data: bytes) -> None:
        """Send bytes without waiting."""
        self._writer.write(data)
        self.sent += len(data)

    async def write(self, data: bytes) -> None:
        """Send bytes, and wait while the receiver does not read."""
        self.put(data)
        await self._writer.drain()
        self._watch.touch()

    def end(self) -> None:
        """End this side's sending."""
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.write_eof()

    def close(self) -> None:
        """Close the connection without waiting for what was not sent."""
        self._forget_ahead()
        abort(self._writer)

    async def finish(self) -> None:
        """Close the connection once the peer has taken what was sent."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def discard(self) -> None:
        while await self._reader.read(CHUNK_BYTES):
            pass

    @classmethod
    async def of(
        cls,
        connection: socket.socket,
        record: AccessRecord,
        watch: IdleWatch,
        on_end: Callable[[], None] | None = None,
    ) -> SocketStream:
        """Make a stream of a connected socket, which belongs to it from now on."""
        with close_on_error(connection):
            reader, writer = await asyncio.open_connection(sock=connection, limit=CHUNK_BYTES)
        return cls(reader, writer, record, watch, on_end)


async def connect_stream(
    addresses: list[IPAddress],
    port: int,
    seconds: float,
    record: AccessRecord,
    watch: IdleWatch,
) -> SocketStream:
    """Connect to the first of some addresses that answers.

    Args:
        addresses: One or more addresses, which were checked.
        port: Port of the host.
        seconds: Limit for all addresses together; each has an equal share of what is left.
        record: Record that counts received bytes.
        watch: Watch that is told of what moves.

    Raises:
        OSError: none answers; the error of the last.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    error: OSError = TimeoutError("no address answered in time")
    for place, address in enumerate(addresses):
        share = max(0.0, end - loop.time()) / (len(addresses) - place)
        try:
            connection = await _connect_one(address, port, share)
        except asyncio.TimeoutError:
            continue
        except OSError as refusal:
            error = refusal
            continue
        return await SocketStream.of(connection, record, watch)
    raise error


async def _connect_one(address: IPAddress, port: int, seconds: float) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    connection = socket.socket(family, socket.SOCK_STREAM)
    with close_on_error(connection):
        connection.setblocking(False)
        disconnect_in_child(connection)
        connecting = asyncio.get_running_loop().sock_connect(connection, (str(address), port))
        await asyncio.wait_for(connecting, seconds)
    return connection


async def run_both(*relays: Coroutine[Any, Any, None]) -> None:
    """Run two coroutines until both have ended, or one has failed."""
    tasks = [asyncio.ensure_future(relay) for relay in relays]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
