"""A gateway's end of a WebSocket: its handshake, and the connection that it opens."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import socket

from background import running

from smolagents_fork.jupyter.websocket import Connection, GatewayAddress
from smolagents_fork.jupyter.wire import SUBPROTOCOL_V1
from smolagents_fork.stream.timed_socket import TimedSocket

__all__ = ["opened_connection"]

# RFC 6455, section 1.3.
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def valid_answer(key, protocol=SUBPROTOCOL_V1):
    """The answer to a handshake's key; without a subprotocol if that is empty."""
    digest = base64.b64encode(hashlib.sha1(key + _GUID).digest())
    chosen = b"Sec-WebSocket-Protocol: " + protocol.encode() + b"\r\n" if protocol else b""
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + chosen
        + b"Sec-WebSocket-Accept: "
        + digest
        + b"\r\n\r\n"
    )


def _serve_handshake(far, answer):
    request = b""
    while b"\r\n\r\n" not in request:
        request += far.recv(4096)
    key = next(x for x in request.split(b"\r\n") if x.lower().startswith(b"sec-websocket-key"))
    far.sendall(answer(key.partition(b": ")[2]))


@contextlib.contextmanager
def opened_connection(answer=valid_answer):
    """Yield a connection and the gateway's end of it, which has sent ``answer(key)``."""
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
