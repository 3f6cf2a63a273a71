"""A gateway's end of a WebSocket: its handshake, and the connection that it opens."""

from __future__ import annotations

import contextlib
import socket

from background import running
from websocket_frames import switching_answer

from smolagents_fork.jupyter.websocket import Connection, GatewayAddress
from smolagents_fork.jupyter.wire import SUBPROTOCOL_V1
from smolagents_fork.stream.timed_socket import TimedSocket

__all__ = ["opened_connection"]


def _serve_handshake(far, answer):
    request = b""
    while b"\r\n\r\n" not in request:
        request += far.recv(4096)
    far.sendall(answer(request))


@contextlib.contextmanager
def opened_connection(answer=lambda request: switching_answer(request, SUBPROTOCOL_V1)):
    """Yield a connection and the gateway's end of it, which has sent ``answer(request)``."""
    near, far = socket.socketpair()
    far.settimeout(60)
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with far:
        with running(_serve_handshake, far, answer):
            connection = Connection(
                TimedSocket(near),
                GatewayAddress(),
                "/",
                timeout=60,
                limit=1 << 20,
            )
        with contextlib.closing(connection):
            yield connection, far
