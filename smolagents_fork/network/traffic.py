"""Streams of one connection to the proxy, under its limits."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Coroutine
from typing import Any

from ..system.forks import disconnect_in_child
from .access_record import AccessRecord
from .host_names import IPAddress

__all__ = ["IdleWatch", "Stream", "abort", "connect_stream", "run_both"]

# Bytes that are read at once, and half of what a stream keeps while its receiver does not read.
_CHUNK_BYTES = 128 * 1024


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

    def stop(self) -> None:
        """Cancel nothing any more."""
        self._timer.cancel()

    def _check(self) -> None:
        left = self._last + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check)
        else:
            self._task.cancel()


class Stream:
    """One side of a proxied connection.

    Args:
        reader: Reader of the connection.
        writer: Writer of the connection.
        record: Record that counts received bytes.
        watch: Watch that is told of what moves.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        record: AccessRecord,
        watch: IdleWatch,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._record = record
        self._watch = watch
        #: Bytes received and sent until now.
        self.received = self.sent = 0

    @property
    def is_at_end(self) -> bool:
        """Tell whether the peer is known to have ended its side."""
        return self._reader.at_eof()

    async def read_head(self) -> bytes:
        """Return the head of a message with the empty line at its end.

        Raises:
            asyncio.LimitOverrunError: it is too long.
            asyncio.IncompleteReadError: the peer ended its side before.
        """
        return self._received(await self._reader.readuntil(b"\r\n\r\n"))

    async def read_exactly(self, size: int) -> bytes:
        """Return the next ``size`` bytes.

        Raises:
            asyncio.IncompleteReadError: the peer ended its side before.
        """
        return self._received(await self._reader.readexactly(size))

    async def read(self) -> bytes:
        """Return the next bytes; none at the end."""
        return self._received(await self._reader.read(_CHUNK_BYTES))

    async def write(self, data: bytes) -> None:
        """Send bytes, and wait while the receiver does not read."""
        self._writer.write(data)
        self.sent += len(data)
        await self._writer.drain()
        self._watch.touch()

    def _received(self, data: bytes) -> bytes:
        self._watch.touch()
        self.received += len(data)
        self._record.count(len(data))
        return data

    async def relay_to(self, other: Stream) -> None:
        """Pass on what is received, to its end, which is passed on, too.

        Args:
            other: Other side of the connection.
        """
        while data := await self.read():
            await other.write(data)
        other.end()

    def end(self) -> None:
        """End this side's sending."""
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.write_eof()

    def close(self) -> None:
        """Close the connection without waiting for what was not sent."""
        abort(self._writer)

    async def finish(self) -> None:
        """Close the connection once the peer has taken what was sent."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def close_gently(self, seconds: float) -> None:
        """Send what is left, let the peer read it, and close.

        Args:
            seconds: Longest wait for the peer.
        """
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            self.end()
            # A connection that is closed with unread bytes is reset, and the peer loses the answer.
            await asyncio.wait_for(self._discard(), seconds)
        self.close()

    async def _discard(self) -> None:
        while await self._reader.read(_CHUNK_BYTES):
            pass

    @classmethod
    async def of(cls, connection: socket.socket, record: AccessRecord, watch: IdleWatch) -> Stream:
        """Make a stream of a connected socket, which belongs to it from now on."""
        try:
            reader, writer = await asyncio.open_connection(sock=connection, limit=_CHUNK_BYTES)
        except BaseException:
            connection.close()
            raise
        return cls(reader, writer, record, watch)


async def connect_stream(
    addresses: list[IPAddress],
    port: int,
    seconds: float,
    record: AccessRecord,
    watch: IdleWatch,
) -> Stream:
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
        return await Stream.of(connection, record, watch)
    raise error


async def _connect_one(address: IPAddress, port: int, seconds: float) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        disconnect_in_child(connection)
        connecting = asyncio.get_running_loop().sock_connect(connection, (str(address), port))
        await asyncio.wait_for(connecting, seconds)
    except BaseException:
        connection.close()
        raise
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
