"""Direct transport: one TCP connection for each stream, opened with a ticket.

The first bytes of the host are the ticket. With ``RAY_USE_TLS=1`` both
sides prove themselves with Ray's certificates first; without, Ray itself runs without.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable

from ...deadline import Deadline
from ...errors import ConfigurationError
from .stream_copy import copy_both_ways
from .thread_priority import use_normal_priority

__all__ = ["TICKET_BYTES", "Listener", "connect_directly", "tls_context", "uses_tls"]

#: Length of a ticket.
TICKET_BYTES = 32
_HANDSHAKE_SECONDS = 10.0
_MOST_HANDSHAKES = 64
#: Takes a ticket and a stream, and serves it until it ends; returns whether the ticket was good.
Serve = Callable[[bytes, socket.socket], bool]


def uses_tls() -> bool:
    """Return whether Ray uses TLS in this process."""
    return os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true")


def tls_context(purpose: ssl.Purpose) -> ssl.SSLContext:
    """Return a context with Ray's certificates, which every node and driver has.

    Args:
        purpose: of the connection.

    Raises:
        ConfigurationError: a file is not named, or cannot be read.
    """
    names = ("RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY")
    paths = [os.environ.get(name, "") for name in names]
    try:
        context = ssl.create_default_context(purpose, cafile=paths[0])
        context.load_cert_chain(paths[1], paths[2])
    except (OSError, ssl.SSLError) as error:
        given = ", ".join(f"{name}={path!r}" for name, path in zip(names, paths, strict=True))
        raise ConfigurationError(
            f"RAY_USE_TLS=1 with {given}: {error}; name the cluster's files, or unset RAY_USE_TLS "
            "if the cluster has no TLS"
        ) from error
    # Ray's certificates name no host; its own connections check the authority alone.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    return context


class Listener:
    """The port of a supervisor.

    Args:
        address: of this node.
        serve: serves a stream; see :data:`Serve`.
    """

    def __init__(self, address: str, serve: Serve) -> None:
        self._serve = serve
        self._tls = tls_context(ssl.Purpose.CLIENT_AUTH) if uses_tls() else None
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.create_server((address, 0), family=family, backlog=128)
        self.port: int = self._socket.getsockname()[1]
        self._handshakes = threading.BoundedSemaphore(_MOST_HANDSHAKES)
        threading.Thread(target=self._accept, name="smolagents-fork-accept", daemon=True).start()

    def close(self) -> None:
        """Accept no more connections. Idempotent."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            # Strangers who connect and say nothing take none of the others' places for long.
            if not self._handshakes.acquire(timeout=_HANDSHAKE_SECONDS):
                connection.close()
                continue
            threading.Thread(
                target=self._begin, args=(connection,), name="smolagents-fork-stream", daemon=True
            ).start()

    def _begin(self, connection: socket.socket) -> None:
        try:
            stream, token = self._greeted(connection)
        except (OSError, ValueError):
            connection.close()
            return
        finally:
            self._handshakes.release()
        self._serve(token, stream)

    def _greeted(self, connection: socket.socket) -> tuple[socket.socket, bytes]:
        connection.settimeout(_HANDSHAKE_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True)
        token = _exactly(connection, TICKET_BYTES, Deadline(_HANDSHAKE_SECONDS))
        connection.settimeout(None)
        return plain(connection), token


def connect_directly(address: tuple[str, int], token: bytes, seconds: float) -> socket.socket:
    """Open a stream.

    Args:
        address: of the supervisor.
        token: opens one stream, once.
        seconds: to wait at most.

    Raises:
        OSError: the address cannot be reached, or the other side did not accept the ticket.
    """
    deadline = Deadline(seconds)
    connection = socket.create_connection(address, timeout=seconds)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(max(0.01, deadline.at_most(seconds)))
        if uses_tls():
            connection = tls_context(ssl.Purpose.SERVER_AUTH).wrap_socket(connection)
        connection.sendall(token)
    except BaseException:
        connection.close()
        raise
    connection.settimeout(None)
    return plain(connection)


def _exactly(connection: socket.socket, count: int, deadline: Deadline) -> bytes:
    found = b""
    while len(found) < count:
        connection.settimeout(max(0.01, deadline.at_most(_HANDSHAKE_SECONDS)))
        data = connection.recv(count - len(found))
        if not data or deadline.expired():
            raise OSError("the connection ended before its ticket")
        found += data
    return found


def plain(connection: socket.socket) -> socket.socket:
    """Return a plain socket for a connection; that of TLS is copied in a thread of its own."""
    if not isinstance(connection, ssl.SSLSocket):
        return connection
    ours, theirs = socket.socketpair()
    threading.Thread(
        target=_copy, args=(connection, theirs), name="smolagents-fork-tls", daemon=True
    ).start()
    return ours


def _copy(secured: ssl.SSLSocket, inside: socket.socket) -> None:
    """Copy until one end closes; one thread for both directions, for TLS allows no two at once."""
    use_normal_priority()
    with secured, inside:
        copy_both_ways(secured, inside)
