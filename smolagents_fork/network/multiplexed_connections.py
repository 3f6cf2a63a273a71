"""Connections of a sandbox that arrive over one stream, for the proxy.

Where a listener cannot travel to this process (an engine elsewhere, another kernel, a stock image),
:mod:`smolagents_fork.sandboxes.connection_multiplexer` listens in the sandbox and carries what
connects there. The frames have a limit for each connection and for all, so a sandbox makes this
process keep some megabytes at most, whatever it sends.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import socket
import struct

from ..errors import ProtocolError
from ..guest.frames import Body, Frame, FrameReader, Kind, of_multiplexer, pack_frame
from ..sandboxes.connection_multiplexer import PIECE, WINDOW
from ..sandboxes.provisioner import ByteStream
from ..system.closing import close_on_error
from ..system.forks import disconnect_in_child
from .traffic import abort, run_both

__all__ = ["MultiplexedConnections"]

_logger = logging.getLogger("smolagents_fork")
_COUNT = struct.Struct("!I")
# Bytes that wait for the stream before connections are read no further.
_MOST_WAITING = 1 << 20
# Connections at once, those included that the proxy has not accepted yet: twice those of the
# multiplexer, which may have closed some before this side has.
_MOST_CONNECTIONS = 128
# Pieces that are read before other connections have their turn.
_PIECES_A_TURN = 16
# Bytes that are sent at once.
_SENT_AT_ONCE = 1 << 18


class _Carried:
    """One connection that the multiplexer carries."""

    def __init__(self) -> None:
        #: Bytes that the sandbox may still be sent.
        self.credit = WINDOW
        self.has_credit = asyncio.Event()
        #: Bytes of the sandbox that the proxy has not taken.
        self.received = bytearray()
        self.waiting = 0
        self.has_received = asyncio.Event()
        #: Whether the sandbox sends no more.
        self.has_ended = False
        #: Carries it, once it is accepted.
        self.task: asyncio.Task[None] | None = None


class MultiplexedConnections:
    """Connections over one stream. Used in one event loop.

    Args:
        stream: Stream to a multiplexer that listens; closed by :meth:`close`.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(of_multiplexer())
        self._unsent = bytearray()
        self._is_free = asyncio.Event()
        self._is_free.set()
        self._carried: dict[int, _Carried] = {}
        # A loop alone does not keep them.
        self._tasks: set[asyncio.Task[None]] = set()
        # Set while one may not have been accepted, and at the end.
        self._has_arrived = asyncio.Event()
        self._is_closed = self._is_paused = False
        stream.setblocking(False)
        self._loop.add_reader(stream.fileno(), self._read)

    async def accept(self) -> socket.socket:
        """Return the next connection of the sandbox, in non-blocking mode.

        Raises:
            EOFError: the stream has ended.
        """
        while True:
            await self._has_arrived.wait()
            if self._is_closed:
                raise EOFError("the stream of the sandbox's connections has ended")
            arrived = next((item for item in self._carried.items() if item[1].task is None), None)
            if arrived is None:
                self._has_arrived.clear()
                continue
            number, carried = arrived
            try:
                near, far = socket.socketpair()
            except OSError as error:  # this process has no descriptor left
                _logger.warning("a connection of a sandbox was refused: %s", error)
                self._forget(number)
                self._put(Kind.CLOSED, number)
                continue
            for end in (near, far):
                end.setblocking(False)
                disconnect_in_child(end)
            with close_on_error(near, far):
                reader, writer = await asyncio.open_connection(sock=near, limit=PIECE)
            if self._carried.get(number) is not carried:  # the client has gone meanwhile
                abort(writer)
                far.close()
                continue
            carried.task = self._loop.create_task(self._carry(number, carried, reader, writer))
            self._tasks.add(carried.task)
            # Also of a task that is cancelled before it begins.
            carried.task.add_done_callback(functools.partial(self._end, number, carried, writer))
            return far

    def close(self) -> None:
        """Cut all connections and close the stream. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        self._loop.remove_reader(self._stream.fileno())
        self._loop.remove_writer(self._stream.fileno())
        self._stream.close()
        for number in list(self._carried):
            self._forget(number)
        self._has_arrived.set()

    # -- frames of the sandbox --

    def _read(self) -> None:
        """Take the frames that have arrived."""
        try:
            for _ in range(_PIECES_A_TURN):
                if self._is_paused:
                    return
                data = self._stream.recv(PIECE)
                if not data:
                    self.close()
                    return
                self._reader.feed(data)
                while (frame := self._reader.next()) is not None:
                    self._take(frame)
                if self._is_closed:
                    return
        except BlockingIOError:
            return
        except (OSError, ProtocolError):
            self.close()
            return
        # What a stream has decoded already makes its descriptor ready no more.
        self._loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        if not self._is_closed:
            self._read()

    def _take(self, frame: Frame) -> None:
        """Take one frame.

        Raises:
            ProtocolError: it breaks the rules.
        """
        if frame.kind is Kind.CONNECTION:
            self._open(frame.run)
            return
        carried = self._carried.get(frame.run)
        if carried is None:
            return  # it was closed before the sandbox knew
        if frame.kind is Kind.BYTES:
            carried.waiting += len(frame.body)
            if carried.has_ended or carried.waiting > WINDOW:
                raise ProtocolError("a connection of the sandbox exceeded its window")
            carried.received += frame.body
            carried.has_received.set()
        elif frame.kind is Kind.NO_MORE:
            carried.has_ended = True
            carried.has_received.set()
        elif frame.kind is Kind.PASSED_ON:
            if len(frame.body) != _COUNT.size:
                raise ProtocolError("a byte count has the wrong length")
            carried.credit += _COUNT.unpack(frame.body)[0]
            if carried.credit > WINDOW:
                raise ProtocolError("the sandbox acknowledged more than it received")
            carried.has_credit.set()
        else:
            self._forget(frame.run)

    def _open(self, number: int) -> None:
        if number in self._carried:
            raise ProtocolError(f"connection {number} was opened before")
        if len(self._carried) >= _MOST_CONNECTIONS:
            self._put(Kind.CLOSED, number)
            return
        self._carried[number] = _Carried()
        self._has_arrived.set()

    def _forget(self, number: int) -> None:
        """Cut a connection."""
        carried = self._carried.pop(number, None)
        if carried is not None and carried.task is not None:
            carried.task.cancel()

    # -- one connection --

    async def _carry(
        self,
        number: int,
        carried: _Carried,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Carry a connection until both sides have ended it, or one has lost it."""
        try:
            await run_both(
                self._send(number, carried, reader), self._receive(number, carried, writer)
            )
        except OSError:
            self._put(Kind.CLOSED, number)

    def _end(
        self,
        number: int,
        carried: _Carried,
        writer: asyncio.StreamWriter,
        task: asyncio.Task[None],
    ) -> None:
        abort(writer)
        self._tasks.discard(task)
        # A sandbox may open a number again that it has closed.
        if self._carried.get(number) is carried:
            del self._carried[number]

    async def _send(self, number: int, carried: _Carried, reader: asyncio.StreamReader) -> None:
        """Send what the proxy writes to the sandbox."""
        while True:
            while not carried.credit:
                carried.has_credit.clear()
                await carried.has_credit.wait()
            await self._is_free.wait()
            data = await reader.read(min(PIECE, carried.credit))
            if not data:
                self._put(Kind.NO_MORE, number)
                return
            carried.credit -= len(data)
            self._put(Kind.BYTES, number, data)

    async def _receive(self, number: int, carried: _Carried, writer: asyncio.StreamWriter) -> None:
        """Write to the proxy what the sandbox sends."""
        while True:
            while not carried.received:
                if carried.has_ended:
                    writer.write_eof()
                    return
                carried.has_received.clear()
                await carried.has_received.wait()
            piece = bytes(carried.received)
            carried.received.clear()
            writer.write(piece)
            await writer.drain()
            carried.waiting -= len(piece)
            self._put(Kind.PASSED_ON, number, _COUNT.pack(len(piece)))

    # -- frames to the sandbox --

    def _put(self, kind: Kind, number: int, body: Body = b"") -> None:
        """Have a frame sent, behind those that wait."""
        if self._is_closed:
            return
        is_idle = not self._unsent
        self._unsent += pack_frame(kind, number, body)
        if len(self._unsent) >= _MOST_WAITING:
            self._is_free.clear()
        if len(self._unsent) >= 2 * _MOST_WAITING and not self._is_paused:
            # A sandbox that sends without reading is not answered without end.
            self._is_paused = True
            self._loop.remove_reader(self._stream.fileno())
        if is_idle:
            self._write()

    def _write(self) -> None:
        """Send what the stream takes now."""
        try:
            while self._unsent:
                sent = self._stream.send(bytes(self._unsent[:_SENT_AT_ONCE]))
                del self._unsent[:sent]
        except BlockingIOError:
            self._loop.add_writer(self._stream.fileno(), self._write)
        except OSError:
            self.close()
            return
        else:
            self._loop.remove_writer(self._stream.fileno())
        if len(self._unsent) < _MOST_WAITING:
            self._is_free.set()
            if self._is_paused:
                self._is_paused = False
                self._loop.add_reader(self._stream.fileno(), self._read)
