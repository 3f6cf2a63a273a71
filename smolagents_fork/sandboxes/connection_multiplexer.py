"""Multiplexer in a sandbox: carries connections to a port of its loopback over one stream.

This file is sent as text and runs in the sandbox with any Python 3, as ``python3 -I -S -c TEXT
PORT``. It imports the standard library only. Its frames are those of
:mod:`smolagents_fork.guest.frames`, whose run number is that of a connection here. The host trusts
none of them: code in the sandbox may have taken this process over, and gains nothing, because the
host's proxy decides about each connection.

Each side sends at most :data:`WINDOW` bytes of a connection that the other has not passed on, so a
slow reader delays its own connection alone. When the stream ends, all connections do. The next
multiplexer of the sandbox asks this one to end, which an engine may keep alive after a cut.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import sys
import time

HEADER = struct.Struct("!BII")
COUNT = struct.Struct("!I")
# Kinds of frames; the first is this side's alone.
CONNECTION, BYTES, NO_MORE, CLOSED, PASSED_ON = 27, 28, 29, 30, 31
#: Sent first, when the port can be connected to.
LISTENING = b"L"
WINDOW = 1 << 20
PIECE = 1 << 16
# Connections at once; more wait in the queue of the port.
_MOST_CONNECTIONS = 64
# Bytes that wait for the stream before connections are read no further.
_MOST_WAITING = 1 << 20
# Abstract name (unix(7)) of the multiplexer of a port in this network namespace.
_NAME = "\0smolagents-fork-multiplexer-%d"
_PATIENCE_SECONDS = 5.0


class Connection:
    """One connection to the port."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        #: Bytes that the host may still be sent.
        self.credit = WINDOW
        #: Bytes for the client.
        self.waiting = bytearray()
        self.client_ended = self.host_ended = False


class Multiplexer:
    """The connections of one port, over standard input and output.

    Args:
        successor: Socket that the next multiplexer connects to.
    """

    def __init__(self, listener: socket.socket, successor: socket.socket) -> None:
        self.listener = listener
        self.successor = successor
        self.connections: dict[int, Connection] = {}
        self.count = 0
        self.received = bytearray()
        self.unsent = bytearray(LISTENING)
        for number in (0, 1):
            os.set_blocking(number, False)

    def run(self) -> None:
        """Carry connections until the stream ends, or a successor comes."""
        while True:
            readers: list[int | socket.socket] = [0, self.successor]
            writers: list[int | socket.socket] = []
            if self.unsent:
                writers.append(1)
            has_room = len(self.unsent) < _MOST_WAITING
            if has_room and len(self.connections) < _MOST_CONNECTIONS:
                readers.append(self.listener)
            by_socket: dict[int | socket.socket, int] = {}
            for number, connection in self.connections.items():
                by_socket[connection.sock] = number
                if has_room and connection.credit and not connection.client_ended:
                    readers.append(connection.sock)
                if connection.waiting:
                    writers.append(connection.sock)
            readable, writable, _ = select.select(readers, writers, [])
            if self.successor in readable or (0 in readable and not self.read_frames()):
                return
            if self.listener in readable:
                self.accept()
            for sock in readable:
                if sock in by_socket:
                    self.read(by_socket[sock])
            for sock in writable:
                if sock in by_socket:
                    self.write(by_socket[sock])
            if self.unsent and not self.send_frames():
                return

    def accept(self) -> None:
        """Accept a connection, which the host serves."""
        try:
            sock, _ = self.listener.accept()
        except OSError:
            return
        self.count += 1
        self.connections[self.count] = Connection(sock)
        self.put(CONNECTION, self.count)

    def read(self, number: int) -> None:
        """Read what the client of a connection has sent."""
        connection = self.connections.get(number)
        if connection is None:
            return
        try:
            data = connection.sock.recv(min(PIECE, connection.credit))
        except BlockingIOError:
            return
        except OSError:
            self.close(number)
            return
        if data:
            connection.credit -= len(data)
            self.put(BYTES, number, data)
            return
        connection.client_ended = True
        self.put(NO_MORE, number)
        self.close_if_ended(number)

    def write(self, number: int) -> None:
        """Send what the host has sent to the client of a connection."""
        connection = self.connections.get(number)
        if connection is None:
            return
        try:
            size = connection.sock.send(connection.waiting)
        except BlockingIOError:
            return
        except OSError:
            self.close(number)
            return
        del connection.waiting[:size]
        self.put(PASSED_ON, number, COUNT.pack(size))
        self.end_if_sent(connection)
        self.close_if_ended(number)

    def end_if_sent(self, connection: Connection) -> None:
        """Tell the client that the host sends no more, once it has all bytes."""
        if connection.host_ended and not connection.waiting:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_WR)

    def close_if_ended(self, number: int) -> None:
        """Forget a connection that both sides have ended."""
        connection = self.connections[number]
        if connection.client_ended and connection.host_ended and not connection.waiting:
            connection.sock.close()
            del self.connections[number]

    def close(self, number: int) -> None:
        """Close a connection that was lost, and tell the host."""
        self.connections.pop(number).sock.close()
        self.put(CLOSED, number)

    def read_frames(self) -> bool:
        """Take the frames that have arrived; return whether the stream goes on."""
        try:
            data = os.read(0, PIECE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.received += data
        begin = 0
        while len(self.received) - begin >= HEADER.size:
            kind, number, length = HEADER.unpack_from(self.received, begin)
            end = begin + HEADER.size + length
            if end > len(self.received):
                break
            self.take(kind, number, self.received[end - length : end])
            begin = end
        del self.received[:begin]
        return bool(data)

    def take(self, kind: int, number: int, body: bytes | bytearray) -> None:
        """Take one frame of the host."""
        connection = self.connections.get(number)
        if connection is None:
            return  # it was closed before the host knew
        if kind == BYTES:
            connection.waiting += body
        elif kind == NO_MORE:
            connection.host_ended = True
            self.end_if_sent(connection)
            self.close_if_ended(number)
        elif kind == PASSED_ON:
            connection.credit += COUNT.unpack(body)[0]
        elif kind == CLOSED:
            # The client sees a reset instead of an end that looks whole.
            linger = struct.pack("ii", 1, 0)
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            connection.sock.close()
            del self.connections[number]

    def put(self, kind: int, number: int, body: bytes = b"") -> None:
        """Have a frame sent."""
        self.unsent += HEADER.pack(kind, number, len(body))
        self.unsent += body

    def send_frames(self) -> bool:
        """Send what the stream takes; return whether it goes on."""
        try:
            del self.unsent[: os.write(1, self.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True


def replace_predecessor(port: int) -> socket.socket:
    """End the multiplexer before, if there is one; return the socket for the next."""
    name = _NAME % port
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.bind(name)
        except OSError:
            if time.monotonic() > end:
                sys.exit("the multiplexer before has not ended")
        else:
            sock.listen(1)
            return sock
        with contextlib.suppress(OSError):
            sock.connect(name)
        sock.close()
        time.sleep(0.02)


def main() -> None:
    """Be the multiplexer of the port that the first argument names."""
    port = int(sys.argv[1])
    successor = replace_predecessor(port)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(_MOST_CONNECTIONS)
    listener.setblocking(False)
    Multiplexer(listener, successor).run()


if __name__ == "__main__":
    main()
