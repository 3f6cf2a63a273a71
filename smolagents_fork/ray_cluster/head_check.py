"""Check of a cluster's head by one call, without Ray, whose import takes seconds.

A head speaks gRPC, which is HTTP/2 (RFC 9113): the call is three frames, and the status of its
answer is plain text in the last header block, as gRPC's C core sends it.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
from pathlib import Path

from ..deadline import Deadline, within
from ..errors import EngineUnavailableError
from .links.direct_transport import tls_context, uses_tls
from .ray_address import CLIENT_SCHEME, host_and_port
from .token_errors import token_refused

__all__ = ["check_head", "probe_head"]

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _GOAWAY = 0, 1, 3, 4, 7
_END_STREAM, _END_HEADERS = 1, 4
_FRAME_HEAD = 9
_STREAM = 1
# A head's frames are far smaller; the length of something else is any number.
_MOST_BYTES = 1 << 16
_STATUS = re.compile(rb"grpc-status[\x01\x02](\d{1,2})")
# Status 204 to 500 as the first field of a block (RFC 7541, appendix A); gRPC's is 200.
_HTTP_ERRORS = range(0x89, 0x8F)
_UNIMPLEMENTED, _UNAUTHENTICATED = 12, 16
# Methods that take an empty message and change nothing, of a head and of a server for clients.
_METHOD = "/ray.rpc.NodeInfoGcsService/CheckAlive"
_CLIENT_METHOD = "/ray.rpc.RayletDriver/ClusterInfo"
_MOST_SHOWN = 40


class _OtherServerError(Exception):
    """Another server than a Ray cluster's head; the message says which."""


class _SilentServerError(Exception):
    """A server that accepts connections and sends nothing in time."""


def probe_head(address: str, seconds: float) -> None:
    """Connect to the head's port, because Ray itself takes 20 s to say that it cannot.

    Args:
        address: of the head.
        seconds: to wait at most, also for the look-up of a name.

    Raises:
        EngineUnavailableError: nobody listens there, or it cannot be reached.
    """
    target = host_and_port(address)
    if target is not None:
        _connected(address, target, seconds).close()


def check_head(address: str, seconds: float) -> None:
    """Ask the head whether it takes this process's token.

    An answer that does not come in time says nothing: a busy head is slow, and Ray asks again. A
    server that sends nothing at all is not a head, or one that is stopped: gRPC sends its settings
    (RFC 9113, section 3.4) when it accepts a connection, in threads that wait for no method.

    Args:
        address: of the head; one without host and port, as ``auto``, is not checked.
        seconds: to wait at most, for connection and answer together.

    Raises:
        EngineUnavailableError: the address or the token is wrong, or the server sends nothing in
            time; says which.
    """
    target = host_and_port(address)
    if target is None:
        return
    token = _token()
    if token is None and os.environ.get("RAY_AUTH_MODE", "").lower() == "token":
        raise EngineUnavailableError(
            "RAY_AUTH_MODE=token and there is no token: set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH "
            "to a file that has it"
        )
    deadline = Deadline(seconds)
    with _connected(address, target, seconds) as connection:
        method = _CLIENT_METHOD if address.startswith(CLIENT_SCHEME) else _METHOD
        try:
            status = _asked(connection, method, token or "", deadline)
        except _SilentServerError as error:
            raise EngineUnavailableError(
                f"what is at {address} accepts connections and sent nothing within {seconds:g} s: "
                "check the address of the head; if the head is slow, give RayEngine a larger "
                "connect_timeout_seconds="
            ) from error
        except TimeoutError:
            return
        except (_OtherServerError, OSError) as error:
            here = "RAY_USE_TLS=1" if uses_tls() else "no RAY_USE_TLS"
            raise EngineUnavailableError(
                f"what answers at {address} is not the head of a Ray cluster: {error}; check the "
                f"address, and whether the cluster uses TLS (here: {here})"
            ) from error
    if status == _UNAUTHENTICATED:
        raise token_refused(address)
    if status == _UNIMPLEMENTED and method == _METHOD:
        raise EngineUnavailableError(
            f"what answers at {address} is not the head of a Ray cluster: it does not know "
            f"{_METHOD}; give the head's own port, which 'ray start --head' prints"
        )


def _connected(address: str, target: tuple[str, int], seconds: float) -> socket.socket:
    """Connect to a head's port.

    Raises:
        EngineUnavailableError: nobody listens there, or it cannot be reached.
    """

    def error(reason: object) -> EngineUnavailableError:
        return EngineUnavailableError(
            f"the head of the Ray cluster at {address} cannot be reached ({reason}): start it, or "
            "give RayEngine another address or set RAY_ADDRESS"
        )

    try:
        return within(
            seconds,
            lambda: socket.create_connection(target, timeout=seconds),
            error(f"no answer within {seconds:g} s"),
        )
    except OSError as reason:
        raise error(reason) from reason


def _token() -> str | None:
    """Return the token of this process from the places where Ray looks for it, in its order."""
    if os.environ.get("RAY_AUTH_MODE", "").lower() == "disabled":
        return None
    if token := os.environ.get("RAY_AUTH_TOKEN", "").strip():
        return token
    path = os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token"
    try:
        return Path(path).read_text("utf-8").strip() or None
    except (OSError, ValueError):
        return None


def _asked(connection: socket.socket, method: str, token: str, deadline: Deadline) -> int | None:
    """Call a method with an empty message; return the answer's status if it can be read.

    Raises:
        TimeoutError: no answer in time.
        OSError: the connection ended without one.
        _OtherServerError: the answer is not HTTP/2.
        _SilentServerError: the server sent nothing in time.
    """
    _limit(connection, deadline)
    if uses_tls():
        context = tls_context(ssl.Purpose.SERVER_AUTH)
        context.set_alpn_protocols(["h2"])
        try:
            connection = context.wrap_socket(connection)
        except TimeoutError as error:
            raise _SilentServerError from error
    fields = {
        ":method": "POST",
        ":scheme": "https" if uses_tls() else "http",
        ":path": method,
        ":authority": "ray",
        "te": "trailers",
        "content-type": "application/grpc",
    }
    if token:
        fields["authorization"] = f"Bearer {token}"
    with connection:
        connection.sendall(
            _PREFACE
            + _frame(_SETTINGS, 0, 0, b"")
            + _frame(_HEADERS, _END_HEADERS, _STREAM, b"".join(map(_field, fields.items())))
            + _frame(_DATA, _END_STREAM, _STREAM, bytes(5))
        )
        return _status(connection, deadline)


def _status(connection: socket.socket, deadline: Deadline) -> int | None:
    received, first = bytearray(), True
    while True:
        while len(received) >= _FRAME_HEAD:
            length, kind, flags = int.from_bytes(received[:3], "big"), received[3], received[4]
            stream = int.from_bytes(received[5:_FRAME_HEAD], "big")
            if (first and kind != _SETTINGS) or length > _MOST_BYTES:
                shown = bytes(received[:_MOST_SHOWN])
                raise _OtherServerError(f"it sent {shown!r}")
            first = False
            if len(received) < _FRAME_HEAD + length:
                break
            block = bytes(received[_FRAME_HEAD : _FRAME_HEAD + length])
            del received[: _FRAME_HEAD + length]
            if kind == _HEADERS and stream == _STREAM and flags & _END_STREAM and block:
                if block[0] in _HTTP_ERRORS:
                    raise _OtherServerError("it is a web server")
                found = _STATUS.search(block)
                return int(found[1]) if found else None
            if kind in (_RESET, _GOAWAY):
                return None
        _limit(connection, deadline)
        try:
            piece = connection.recv(_MOST_BYTES)
        except TimeoutError as error:
            if first and not received:
                raise _SilentServerError from error
            raise
        if not piece:
            said = f" after {bytes(received[:_MOST_SHOWN])!r}" if received else ""
            raise _OtherServerError(f"it closed the connection{said}")
        received += piece


def _limit(connection: socket.socket, deadline: Deadline) -> None:
    """Have the next operation of a socket end at the deadline."""
    connection.settimeout(max(0.001, deadline.remaining() or 0.0))


def _frame(kind: int, flags: int, stream: int, block: bytes) -> bytes:
    """Return a frame (RFC 9113, section 4.1)."""
    head = len(block).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
    return head + block


def _field(field: tuple[str, str]) -> bytes:
    """Return a header field as a literal that is never indexed (RFC 7541, section 6.2.3)."""
    return b"\x10" + b"".join(_length(len(text)) + text.encode() for text in field)


def _length(length: int) -> bytes:
    """Return the length of a string (RFC 7541, section 5.1)."""
    if length < 127:
        return bytes([length])
    coded, rest = bytearray([127]), length - 127
    while rest >= 128:
        coded.append(rest % 128 + 128)
        rest //= 128
    coded.append(rest)
    return bytes(coded)
