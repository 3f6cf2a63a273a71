"""A kernel's double, and the connection of a client to it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gateway_clients import Client
from gateway_streams import Loop, Stream

__all__ = ["DoubledKernel", "connected_client"]

_UPGRADE = (
    b"GET /api/kernels/k/channels HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a2V5\r\n"
    b"Sec-WebSocket-Protocol: v1.kernel.websocket.jupyter.org\r\n\r\n"
)


@dataclass
class DoubledKernel:
    """A kernel and the link to it, which note whether they are read."""

    connections: int = 1
    paused: bool = False

    def get(self, _name):
        return self

    def attach(self, _client, _identity):
        return self

    def detach(self, _client):
        self.connections -= 1

    def pause(self):
        self.paused = True

    def resume(self):
        self.paused = False


@contextlib.contextmanager
def connected_client(
    loop: Loop,
    kernel: DoubledKernel,
    turned: Callable[[Callable[[], Any]], None],
    ended: Callable[[Client], object],
) -> Iterator[tuple[Client, socket.socket]]:
    """Connect a client to a kernel; give it and the other end, which does not block.

    Args:
        loop: of the gateway.
        kernel: of the client.
        turned: turns the loop until a condition is true.
        ended: takes the client when it has ended.
    """
    ours, theirs = socket.socketpair()
    client = Client(loop, kernel, "", ended)
    client.begin(lambda *handlers: Stream(loop, ours, *handlers))
    with theirs:
        theirs.sendall(_UPGRADE)
        turned(lambda: client._link is not None)
        theirs.setblocking(False)
        yield client, theirs
        client.close("the test is over")
