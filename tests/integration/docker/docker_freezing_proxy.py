"""A way to the engine that can be frozen, thawed and closed, so that the engine need not be."""

from __future__ import annotations

import contextlib
import select
import socket
import threading


class Proxy:
    """A TCP port that leads to the engine's socket; it can be frozen, thawed and closed."""

    def __init__(self, target: str, address: str = "127.0.0.1") -> None:
        self.target = target
        self.thawed = threading.Event()
        self.thawed.set()
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        self.open: list[socket.socket] = []
        self.closed = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        peers: dict[socket.socket, socket.socket] = {}
        while not self.closed:
            self.thawed.wait()
            ready, _, _ = select.select([self.listener, *peers], [], [], 0.05)
            if not self.thawed.is_set():
                continue
            for sock in ready:
                if sock is self.listener:
                    with contextlib.suppress(OSError):  # whoever knocked has gone, or the engine
                        near = sock.accept()[0]
                        peers |= self._joined(near)
                    continue
                try:
                    data = sock.recv(65536)
                    if data:
                        peers[sock].sendall(data)
                        continue
                except (OSError, KeyError):
                    pass
                if sock in peers:
                    other = peers.pop(sock)
                    peers.pop(other, None)
                    for end in (sock, other):
                        end.close()
        for sock in (self.listener, *peers):
            sock.close()

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
