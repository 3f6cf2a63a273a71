"""Requests between processes: a key, one request a connection, its answer, the bytes of a stream.

The host and the placer ask supervisors so.

Requests and answers are frames: a length, then one value of the codec. Both ends refuse a frame
over the limit before they read it, and decode without pickle. With ``RAY_USE_TLS=1`` both sides
prove themselves with Ray's certificates first; without, Ray itself runs without.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..codec import decode, encode
from ..deadline import Deadline
from ..errors import (
    ConfigurationError,
    DecodeError,
    ExecutorStartError,
    ForkError,
    ProtocolError,
)
from ..stream.stream_copy import copy_both_ways
from ..system.closing import close_on_error
from ..system.first_process_link import MARK
from .plain_data import CLASSES, SupervisorPlace, failure_data, failure_of

__all__ = [
    "KEY_BYTES",
    "AnswerStream",
    "FrameSocket",
    "RequestServer",
    "answer_of",
    "answer_requests",
    "answer_to",
    "ask",
    "connect",
    "tls_context",
    "uses_tls",
    "value_of",
]

#: Length of a supervisor's key.
KEY_BYTES = 32
_MOST_BYTES = 16 << 20
_LENGTH = struct.Struct("!I")
# Time to connect, and for all that comes before an answer, in seconds.
_CONNECT_SECONDS = _HANDSHAKE_SECONDS = 10.0
_MOST_HANDSHAKES = 64
# Pause after a connection that could not be accepted, in seconds.
_AGAIN_SECONDS = 0.1
# Bytes of one read or write. For more, malloc maps memory anew at each message.
_PIECE = 1 << 16


class FrameSocket:
    """Frames over a socket. One thread may send while another receives.

    Args:
        connection: a blocking socket; :meth:`receive` reads no byte behind a frame.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def send(self, value: dict[str, Any]) -> None:
        """Send a value.

        Raises:
            OSError: the other end has closed the connection.
            ForkError: the value cannot be encoded; nothing was sent.
        """
        body = encode(value, max_bytes=_MOST_BYTES)
        self._socket.sendall(_LENGTH.pack(len(body)) + body)

    def receive(self, seconds: float | None = None) -> dict[str, Any] | None:
        """Return the next value; ``None`` when the other end has closed the connection.

        Args:
            seconds: to wait at most; ``None``: for ever.

        Raises:
            TimeoutError: it did not come in time, or only a part that is lost.
            OSError: the connection was lost.
            ProtocolError: not a frame of the other end.
        """
        deadline = Deadline(seconds)
        head = _receive_exactly(self._socket, _LENGTH.size, deadline)
        if head is None:
            return None
        (length,) = _LENGTH.unpack(head)
        if length > _MOST_BYTES:
            raise ProtocolError(f"a frame of {length} bytes, over {_MOST_BYTES}")
        body = _receive_exactly(self._socket, length, deadline)
        if body is None:
            return None
        try:
            value = decode(body, path="frame", max_bytes=_MOST_BYTES, classes=CLASSES)
        except DecodeError as error:
            raise ProtocolError(f"a frame that cannot be read: {error}") from error
        if type(value) is not dict:
            raise ProtocolError(f"a frame with {type(value).__name__}")
        return value

    def close(self) -> None:
        """Close the connection, also for a thread that waits in it. Idempotent."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _receive_exactly(connection: socket.socket, size: int, deadline: Deadline) -> bytes | None:
    """Return the next bytes; ``None`` when the other end has closed the connection."""
    read = bytearray()
    while len(read) < size:
        seconds_left = deadline.remaining()
        connection.settimeout(None if seconds_left is None else max(0.001, seconds_left))
        data = connection.recv(min(size - len(read), _PIECE))
        if not data:
            return None
        read += data
    return bytes(read)


# -- the end that asks --


def connect(place: SupervisorPlace, seconds: float, op: str, **arguments: Any) -> socket.socket:
    """Send a request and return the connection.

    Args:
        place: of the supervisor.
        seconds: to wait at most; ten are enough for a node that is there.
        op: name of the request.
        **arguments: plain data and instances of :data:`CLASSES`.

    Raises:
        OSError: the supervisor cannot be reached; says where.
        EncodeError: an argument cannot be sent; says which.
    """
    seconds = min(seconds, _CONNECT_SECONDS)
    deadline = Deadline(seconds)
    try:
        connection = socket.create_connection((place.address, place.port), timeout=seconds)
        try:
            connection.settimeout(max(0.01, deadline.at_most(seconds)))
            _keep_alive(connection)
            if place.tls:
                connection = tls_context(ssl.Purpose.SERVER_AUTH).wrap_socket(connection)
            connection.sendall(place.key)
            connection = _plain(connection)
            FrameSocket(connection).send({"op": op, "arguments": arguments})
        except BaseException:
            connection.close()
            raise
    except OSError as error:
        raise type(error)(
            f"no connection to the supervisor at {place.address}:{place.port}: {error}; nodes "
            "must be reachable at any port that their system assigns"
        ) from error
    connection.settimeout(None)
    return connection


def answer_of(connection: socket.socket, seconds: float) -> Any:
    """Return the value of the answer that comes next.

    Args:
        connection: from :func:`connect`.
        seconds: to wait at most.

    Raises:
        ForkError: what the supervisor raised, or an answer that is none.
        OSError: the connection was lost, also without a word, or no answer came in time.
    """
    try:
        answer = FrameSocket(connection).receive(seconds)
    except TimeoutError as error:
        raise TimeoutError(f"no answer within {seconds:.1f} s: {error}") from error
    if answer is None:
        raise ConnectionError("the supervisor ended the connection")
    connection.settimeout(None)
    return value_of(answer)


def value_of(answer: dict[str, Any]) -> Any:
    """Return the value of an answer.

    Raises:
        ForkError: its error, or an answer that is none.
    """
    if "error" in answer:
        raise failure_of(answer["error"])
    return answer.get("ok")


def ask(place: SupervisorPlace, seconds: float, op: str, **arguments: Any) -> Any:
    """Carry out a request on a connection of its own and return its value.

    Args:
        place: of the supervisor.
        seconds: to wait at most.
        op: name of the request.
        **arguments: plain data.

    Raises:
        ForkError: what the supervisor raised.
        OSError: the supervisor cannot be reached, or no answer came in time.
    """
    with connect(place, seconds, op, **arguments) as connection:
        return answer_of(connection, seconds)


def _keep_alive(connection: socket.socket) -> None:
    """Send messages at once, and notice within 35 s that a peer cannot be reached any more.

    There is no ``TCP_USER_TIMEOUT``: with it Linux ends a connection whose reader pauses, as an
    application at a breakpoint does. The lease notices earlier that a supervisor is lost.
    """
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 6)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


# -- the end that answers --


def answer_requests(carry_out: Callable[[str], bool], connection: socket.socket) -> None:
    """Answer as a first process does, until the other end closes the connection.

    Args:
        carry_out: takes a request, such as ``state``; returns whether it is answered.
        connection: from :func:`connect`; what comes of it is of a :class:`.FirstProcess`.
    """
    with connection.makefile("rb") as lines:
        for line in lines:
            request, _, number = line.decode().strip().partition(" ")
            if carry_out(request):
                connection.sendall(f"{MARK}answer {number} R\n".encode())


def answer_to(work: Callable[[], Any]) -> dict[str, Any]:
    """Carry out a request and return its answer.

    Args:
        work: returns the value of the answer, or raises its error.
    """
    try:
        return {"ok": work()}
    except ForkError as error:
        return {"error": failure_data(error)}
    except Exception as error:
        return {"error": failure_data(ExecutorStartError(f"{type(error).__name__}: {error}"))}


@dataclass(frozen=True)
class AnswerStream:
    """Answer that the bytes of a stream follow.

    Attributes:
        head: the answer.
        serve: serves the stream until it ends, in a thread of its own; called once.
    """

    head: Any
    serve: Callable[[socket.socket], None]


class RequestServer:
    """Answers each request by its method: ``do_start`` for ``start``, with the connection first."""

    def listen(self, server: socket.socket, key: bytes, *, tls: bool) -> None:
        """Serve connections, each in a thread of its own, until the socket is shut down.

        Args:
            server: a listening socket.
            key: that those who connect show.
            tls: whether both sides prove themselves with Ray's certificates.
        """
        context = tls_context(ssl.Purpose.CLIENT_AUTH) if tls else None
        # Strangers who connect and say nothing take none of the others' places for long.
        handshakes = threading.BoundedSemaphore(_MOST_HANDSHAKES)

        def begin(connection: socket.socket) -> None:
            try:
                connection, request = _accept(connection, key, context)
            except (OSError, ProtocolError):
                return
            finally:
                handshakes.release()
            with connection, contextlib.suppress(OSError):
                self._serve(connection, request)

        def accept() -> None:
            with server:
                while handshakes.acquire():
                    try:
                        connection, _ = server.accept()
                        with close_on_error(connection):
                            threading.Thread(target=begin, args=(connection,), daemon=True).start()
                    except (OSError, RuntimeError) as error:
                        handshakes.release()
                        if getattr(error, "errno", 0) in (errno.EINVAL, errno.EBADF):  # shut down
                            return
                        time.sleep(_AGAIN_SECONDS)  # a peer that has gone, too many files, threads

        threading.Thread(target=accept, name="smolagents-fork-accept", daemon=True).start()

    def _serve(self, connection: socket.socket, request: dict[str, Any]) -> None:
        op, arguments = str(request.get("op")), request.get("arguments", {})
        answer = answer_to(lambda: getattr(self, f"do_{op}")(connection, **arguments))
        stream = answer.get("ok")
        if isinstance(stream, AnswerStream):
            answer = {"ok": stream.head}
        frames = FrameSocket(connection)
        try:
            frames.send(answer)
        except ForkError as error:
            # Nothing of it was sent: it is encoded first.
            frames.send({"error": failure_data(error)})
        finally:
            if isinstance(stream, AnswerStream):
                # Also for a peer that is gone: it releases what was opened.
                stream.serve(connection)


def _accept(
    connection: socket.socket, key: bytes, context: ssl.SSLContext | None
) -> tuple[socket.socket, dict[str, Any]]:
    """Return the connection and its request once it has shown the key.

    Raises:
        OSError: another key, or nothing in time.
        ProtocolError: not a request.
    """
    try:
        connection.settimeout(_HANDSHAKE_SECONDS)
        _keep_alive(connection)
        if context is not None:
            connection = context.wrap_socket(connection, server_side=True)
        shown = _receive_exactly(connection, KEY_BYTES, Deadline(_HANDSHAKE_SECONDS))
        if shown is None or not hmac.compare_digest(shown, key):
            raise OSError("a wrong key, or none")
        connection = _plain(connection)
        request = FrameSocket(connection).receive(_HANDSHAKE_SECONDS)
        if request is None:
            raise OSError("the connection ended before its request")
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection, request


# -- TLS --


def uses_tls() -> bool:
    """Return whether Ray uses TLS in this process."""
    return os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true")


def tls_context(purpose: ssl.Purpose) -> ssl.SSLContext:
    """Return a context with Ray's certificates, which every node and driver has.

    Raises:
        ConfigurationError: a file is not named, or cannot be read.
    """
    names = ("RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY")
    paths = [os.environ.get(name, "") for name in names]
    try:
        context = ssl.create_default_context(purpose, cafile=paths[0])
        context.load_cert_chain(paths[1], paths[2])
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(f"{name}={path!r}" for name, path in zip(names, paths, strict=True))
        raise ConfigurationError(
            f"RAY_USE_TLS=1 with {files}: {error}; name the cluster's files, or unset RAY_USE_TLS "
            "if the cluster has no TLS"
        ) from error
    # Ray's certificates name no host; its own connections check the authority alone.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def _plain(connection: socket.socket) -> socket.socket:
    """Return a plain socket for a connection; that of TLS is copied in a thread of its own."""
    if not isinstance(connection, ssl.SSLSocket):
        return connection
    ours, theirs = socket.socketpair()

    def copy() -> None:
        """Copy both directions in one thread, for TLS allows no two at once."""
        with connection, theirs:
            copy_both_ways(connection, theirs)

    with close_on_error(ours, theirs):
        threading.Thread(target=copy, name="smolagents-fork-tls", daemon=True).start()
    return ours
