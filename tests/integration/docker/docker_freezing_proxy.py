"""A way to the engine that can be frozen, thawed and closed, so that the engine need not be."""

from __future__ import annotations

import contextlib
import select
import socket
import threading


class Proxy:
    """A TCP port that leads to the engine's socket; it can be frozen, thawed and closed.

    Attributes:
        gathering: whether all the engine says about a program that has been started is held back
            until it has said everything, so that it arrives in one piece.
        freezing_at: words of a request with which it freezes.
        rewriting: words of the engine's answers, and others of the same length in their place.
    """

    def __init__(self, target: str, address: str = "127.0.0.1") -> None:
        self.target = target
        self.address = address
        self.gathering = False
        self.freezing_at = b""
        self.rewriting: dict[bytes, bytes] = {}
        self.thawed = threading.Event()
        self.thawed.set()
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        self.peers: dict[socket.socket, socket.socket] = {}
        self.ended: set[socket.socket] = set()
        self.gathered: dict[socket.socket, bytes] = {}
        self.closed = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while not self.closed:
            self.thawed.wait()
            reading = self.peers.keys() - self.ended
            ready, _, _ = select.select([self.listener, *reading], [], [], 0.05)
            if not self.thawed.is_set():
                continue
            for sock in ready:
                with contextlib.suppress(OSError):  # whoever knocked has gone, or the engine
                    if sock is self.listener:
                        self.peers |= self._joined(sock.accept()[0])
                    elif sock in self.peers:
                        self._copy(sock, self.peers[sock])
        for sock in (self.listener, *self.peers):
            sock.close()

    def _copy(self, sock: socket.socket, other: socket.socket) -> None:
        data = b""
        with contextlib.suppress(OSError):
            data = sock.recv(65536)
        if self.freezing_at and self.freezing_at in data:
            self.thawed.clear()
            return
        for written, read in self.rewriting.items():
            assert len(written) == len(read)
            data = data.replace(written, read)
        if self.gathering and b"/start HTTP/1.1" in data:
            self.gathered[other] = b""
        if data and sock in self.gathered:
            self.gathered[sock] += data
            return
        try:
            other.sendall(data or self.gathered.pop(sock, b""))
            if not data:
                self.ended.add(sock)
                other.shutdown(socket.SHUT_WR)
        except OSError:
            self.ended |= {sock, other}
        if {sock, other} <= self.ended:
            for end in (sock, other):
                del self.peers[end]
                self.ended.discard(end)
                end.close()

    def _joined(self, near: socket.socket) -> dict[socket.socket, socket.socket]:
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(self.target)
        except OSError:
            near.close()
            far.close()
            raise
        return {near: far, far: near}

    def close(self) -> None:
        self.closed = True
        self.thawed.set()
        self.thread.join(60)
