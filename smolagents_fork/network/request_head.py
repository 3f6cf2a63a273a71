"""Heads of requests to the proxy: parsed by h11, and refused where two parsers could disagree."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import h11

from .hosts.host_names import HostNameError, parse_authority

__all__ = [
    "HEAD_TOO_LONG",
    "MOST_HEAD_BYTES",
    "BadRequestError",
    "Fields",
    "ProxyRequest",
    "end_to_end",
    "parse_request",
]

#: Fields of a head, names as they were written.
Fields: TypeAlias = "tuple[tuple[bytes, bytes], ...]"
#: Bytes in which the head of a message must be complete.
MOST_HEAD_BYTES = 64 * 1024
HEAD_TOO_LONG = f"the request was refused: its head has more than {MOST_HEAD_BYTES} bytes"

# Fields of one connection (RFC 9110 section 7.6.1). Without Upgrade, a plain connection stays HTTP.
_HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization",
     b"proxy-connection", b"te", b"upgrade")
)  # fmt: skip
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LONE_LINE_END = re.compile(rb"(?<!\r)\n|\r(?!\n)")
_FOLDED = re.compile(rb"\r\n[ \t]")
# h11 makes one field of several equal ones.
_LENGTH = re.compile(rb"\n(?:content-length|transfer-encoding)[ \t]*:", re.IGNORECASE)
# Without fragments, and without backslashes, which some parsers take for slashes.
_TARGET = re.compile(rb"[!$-\[\]-~]+")
_HTTP = b"http://"
_HTTP_PORT, _HTTPS_PORT = 80, 443


class BadRequestError(Exception):
    """A request that the proxy does not understand, or could understand in two ways."""


@dataclass(frozen=True)
class ProxyRequest:
    """The head of a request.

    Attributes:
        method: Method such as ``GET``; ``CONNECT`` asks for a tunnel.
        host: Destination in its one spelling.
        port: Port of the destination.
        target: Path and query for the host; empty for a tunnel.
        headers: Fields for the host, without those about the connection to the proxy.
        connection: Connection of h11, which has read the head and reads the body.
    """

    method: bytes
    host: str
    port: int
    target: bytes
    headers: Fields
    connection: h11.Connection

    @property
    def is_tunnel(self) -> bool:
        """Tell whether the client asks for a tunnel."""
        return self.method == b"CONNECT"


def parse_request(head: bytes, origin: tuple[str, int] | None = None) -> ProxyRequest:
    """Parse the head of a request.

    Args:
        head: Head of the request, with the empty line at its end.
        origin: Host and port of the tunnel whose TLS ends here, in which the request came;
            ``None``: it came to the proxy itself.

    Raises:
        BadRequestError: names the rule that it violates.

    Example:
        >>> request = parse_request(b"GET http://a.example/x?y HTTP/1.0\\r\\n\\r\\n")
        >>> request.host, request.port, request.target
        ('a.example', 80, b'/x?y')
    """
    if len(head) > MOST_HEAD_BYTES:
        raise BadRequestError(HEAD_TOO_LONG)
    for pattern, rule in (
        (_CONTROL, "it has a control character"),
        (_LONE_LINE_END, "a line ends without CR and LF"),
        (_FOLDED, "a field has more than one line"),
    ):
        if pattern.search(head):
            raise BadRequestError(f"the request was refused: {rule}")
    if len(_LENGTH.findall(head)) > 1:
        raise BadRequestError("the request was refused: its body has more than one length")
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_HEAD_BYTES)
    connection.receive_data(head)
    try:
        event = connection.next_event()
    except h11.RemoteProtocolError as error:
        raise BadRequestError(f"the request was refused: {error}") from None
    if not isinstance(event, h11.Request):
        raise BadRequestError("the request was refused: it has no request line")
    _check_framing(event)
    if not _TARGET.fullmatch(event.target):
        raise BadRequestError("the request was refused: its target has an invalid character")
    try:
        host, port, target = _destination(event, origin)
    except HostNameError as error:
        raise BadRequestError(f"the request was refused: {error}") from None
    fields = end_to_end(event.headers.raw_items())
    # The same as the target's, by the check above, and missing in HTTP/1.0.
    authority = f"[{host}]" if ":" in host else host
    usual = _HTTP_PORT if origin is None else _HTTPS_PORT
    authority += "" if port == usual else f":{port}"
    headers = (
        (b"Host", authority.encode("ascii")),
        *(field for field in fields if field[0].lower() != b"host"),
    )
    return ProxyRequest(bytes(event.method), host, port, target, headers, connection)


def end_to_end(fields: Iterable[tuple[bytes, bytes]]) -> Fields:
    """Return the fields that a proxy passes on: those not about one connection.

    Args:
        fields: Fields of a request or a response, names as they were written.
    """
    named = {
        name.strip().lower()
        for field, value in fields
        if field.lower() == b"connection"
        for name in value.split(b",")
    }
    # Framing is never a matter of one connection here: the body is passed on as it was framed.
    dropped = (_HOP_BY_HOP | named) - {b"transfer-encoding", b"content-length", b"host"}
    return tuple((name, value) for name, value in fields if name.lower() not in dropped)


def _values(event: h11.Request, name: bytes) -> list[bytes]:
    return [value for field, value in event.headers if field == name]


def _check_framing(event: h11.Request) -> None:
    if event.http_version not in (b"1.0", b"1.1"):
        raise BadRequestError("this proxy speaks HTTP/1.1")
    lengths, codings = _values(event, b"content-length"), _values(event, b"transfer-encoding")
    if codings and event.http_version != b"1.1":
        raise BadRequestError("the request was refused: HTTP/1.0 has no Transfer-Encoding")
    if event.method == b"CONNECT" and (codings or lengths not in ([], [b"0"])):
        raise BadRequestError("the request was refused: CONNECT has no body")


def _destination(event: h11.Request, origin: tuple[str, int] | None) -> tuple[str, int, bytes]:
    """Return host, port and the target for the host."""
    text = event.target.decode("ascii")
    if origin is not None:
        if event.method == b"CONNECT" or not text.startswith("/"):
            raise BadRequestError("the request was refused: its target is not a path")
        (host, port), target = origin, bytes(event.target)
    elif event.method == b"CONNECT":
        host, port = parse_authority(text)
        target = b""
    elif event.target[: len(_HTTP)].lower() == _HTTP:
        authority, path = _split_address(text[len(_HTTP) :])
        host, port = parse_authority(authority, _HTTP_PORT)
        target = path.encode("ascii")
    elif text.startswith("/"):
        raise BadRequestError("this is a proxy: the target of a request is a full http:// address")
    else:
        raise BadRequestError("this proxy speaks HTTP: use CONNECT for HTTPS")
    for value in _values(event, b"host"):  # h11 refuses a second one
        named = parse_authority(value.decode("latin-1"), port)
        # Clients leave out the port in some versions, and write it in others.
        if named != (host, port):
            raise BadRequestError(
                f"the request was refused: its Host is {named[0]!r}, port {named[1]}, and its "
                f"target {host!r}, port {port}"
            )
    return host, port, target


def _split_address(text: str) -> tuple[str, str]:
    """Return authority, and path with query, of an address without its scheme."""
    authority = re.split(r"[/?]", text, maxsplit=1)[0]
    return authority, f"/{text[len(authority) :].removeprefix('/')}"
