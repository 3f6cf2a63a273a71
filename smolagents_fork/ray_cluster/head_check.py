"""Addresses of clusters, and a check of the head's port without Ray, whose import takes seconds."""

from __future__ import annotations

import contextlib
import socket
import ssl

from ..deadline import Deadline, within
from ..errors import EngineUnavailableError
from .node_link import tls_context, uses_tls

__all__ = ["CLIENT_SCHEME", "check_head", "find_refused_token"]

#: Begins the address of a server for clients that are not nodes of the cluster.
CLIENT_SCHEME = "ray://"
# What a client of HTTP/2 sends first, with empty settings (RFC 9113, section 3.4).
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_SETTINGS = 4
_MOST_SHOWN = 40
# Parts of what Ray says about a token, in errors and in its log. It has no class for them.
_TOKEN_TEXTS = ("InvalidAuthToken", "Unauthenticated", "Authentication token")


def _host_and_port(address: str) -> tuple[str, int] | None:
    """Return host and port of an address; ``None`` where it has none, as ``auto``."""
    host, _, port = address.removeprefix(CLIENT_SCHEME).partition("/")[0].rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdigit() else None


def check_head(address: str, seconds: float) -> None:
    """Wait for the first bytes of the head, because Ray itself takes 20 s to say that it cannot.

    A head speaks gRPC, which is HTTP/2, and sends its settings when it accepts a connection, in
    threads that wait for none of its work. So a server that sends something else, or nothing, is
    another one, or stopped. Whether it takes this process's token, Ray says.

    Args:
        address: Address of the head; one without host and port, as ``auto``, is not checked.
        seconds: Seconds to wait at most, for connection and bytes together.

    Raises:
        EngineUnavailableError: the address is wrong, or the server sends nothing in time; says
            which.
    """
    target = _host_and_port(address)
    if target is None:
        return
    unreachable = (
        f"the head of the Ray cluster at {address} cannot be reached (%s): start it, pass "
        "another address to RayEngine, or set RAY_ADDRESS"
    )
    late = EngineUnavailableError(unreachable % f"no answer within {seconds:g} s")
    deadline = Deadline(seconds)
    try:
        connection = within(
            seconds,
            lambda: socket.create_connection(target, timeout=seconds),
            late,
            socket.socket.close,
        )
    except OSError as error:
        raise EngineUnavailableError(unreachable % error) from error
    try:
        connection.settimeout(max(0.001, deadline.at_most(seconds)))
        received = _first_bytes(connection)
        wrong = f"it sent {received!r}" if received else "it closed the connection"
    except TimeoutError as error:
        raise EngineUnavailableError(
            f"the server at {address} accepts connections but sent nothing within {seconds:g} s: "
            "check the address of the head; if the head is slow, pass a larger "
            "connect_timeout_seconds= to RayEngine"
        ) from error
    except OSError as error:
        received, wrong = b"", str(error)
    # Length and kind of the first frame (RFC 9113, section 4.1).
    if received[:1] != b"\0" or received[3:4] != bytes([_SETTINGS]):
        here = "RAY_USE_TLS=1" if uses_tls() else "no RAY_USE_TLS"
        raise EngineUnavailableError(
            f"the server at {address} is not the head of a Ray cluster: {wrong}; check the "
            f"address, and whether the cluster uses TLS (here: {here})"
        )


def _first_bytes(connection: socket.socket) -> bytes:
    """Return what a server sends first; closes the connection."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(connection)
        if uses_tls():
            context = tls_context(ssl.Purpose.SERVER_AUTH)
            context.set_alpn_protocols(["h2"])
            connection = stack.enter_context(context.wrap_socket(connection))
        connection.sendall(_PREFACE)
        return connection.recv(_MOST_SHOWN)


def find_refused_token(address: str, text: str) -> EngineUnavailableError | None:
    """Return the error for a refused token if Ray says so.

    Args:
        address: Address of the head.
        text: Text of an error or of the log.
    """
    if not any(part in text for part in _TOKEN_TEXTS):
        return None
    return EngineUnavailableError(
        f"the Ray cluster at {address} refused the token of this process: set RAY_AUTH_MODE=token, "
        "and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH to the cluster's token"
    )
