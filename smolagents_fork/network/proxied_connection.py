"""One connection from a sandbox: what it asks for, whether it may, and what passes."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h11

from ..text.hints import PROXY_FAILURE
from .access_record import AccessRecord
from .hosts.host_names import HostNameError, parse_address, parse_host
from .hosts.host_policy import AllowedHost, HostPolicy, HostRefusedError
from .hosts.lookups import Lookup, resolve_host
from .http_relay import HttpHost
from .request_head import HEAD_TOO_LONG, BadRequestError, ProxyRequest, parse_request
from .secrets.secret_table import SecretFilter, SecretRefusedError, SecretTable
from .secrets.tls_stream import TlsStream
from .traffic import IdleWatch, SocketStream, Stream, connect_stream, run_both

if TYPE_CHECKING:
    from .secrets.secret_access import SecretAccess

__all__ = ["Access", "ProxiedConnection", "ProxyLimits"]

_NO_SECRETS = SecretTable({}, lambda _: None)

# Characters of a reason, which may quote the client, in records and in a status line, of which
# clients read up to 8 KB.
_MOST_REASON = 1000
_UNPRINTABLE = re.compile(r"[^ -~]")
# Time for a client to read a refusal, in seconds.
_REFUSAL_SECONDS = 5.0
# Bytes in which a ClientHello must be complete. Those of today's clients have up to 2 KB.
_MOST_HELLO_BYTES = 32 * 1024
_MOST_RECORD = 1 << 14
# Type of the message (RFC 8446, section 4); its length follows, in three bytes.
_CLIENT_HELLO = 1
# Head of a record of TLS with a part of a handshake, which is not empty.
_RECORD_HEAD = re.compile(rb"\x16\x03.(?!\0\0)..", re.DOTALL)
# What an extension with a server name begins with: three lengths, of all, of the list, of the name.
_SERVER_NAME = re.compile(rb"(?=\0\0(..)(..)\0(..))", re.DOTALL)
_NOT_TLS = "the first bytes through CONNECT are not a TLS ClientHello"


@dataclass(frozen=True)
class ProxyLimits:
    """Limits of one sandbox's connections; what is beyond the first waits in the sandbox.

    Attributes:
        connections: Connections served at once.
        call_bytes: Bytes moved in both directions by one call; ``None`` for no limit.
        connect_seconds: Limit of a lookup, and again of connecting to one of its addresses.
        head_seconds: Limit of receiving the head of a request, or a ClientHello.
        idle_seconds: Longest time without a byte in either direction.
        end_seconds: Longest such time once the client has ended its side.
    """

    connections: int = 32
    call_bytes: int | None = None
    connect_seconds: float = 10.0
    head_seconds: float = 30.0
    idle_seconds: float = 300.0
    end_seconds: float = 10.0


@dataclass(frozen=True)
class Access:
    """Access of one sandbox to the network.

    Attributes:
        policy: List of hosts.
        limits: Limits of the sandbox's connections.
        record: Record of refusals and bytes.
        lookup: Function that resolves names.
        lookups: Semaphore of lookups at once, since each takes a thread.
        secrets: Secrets of the sandbox; ``None`` without any.
    """

    policy: HostPolicy
    limits: ProxyLimits
    record: AccessRecord
    lookup: Lookup
    lookups: asyncio.Semaphore
    secrets: SecretAccess | None = None


class _ResponseError(Exception):
    """A response of the proxy instead of the host's; the reason is its status line and body."""

    def __init__(self, status: int, reason: str) -> None:
        # Marked, since advice for a sandbox without a network does not apply.
        super().__init__(f"{PROXY_FAILURE}{reason}" if status >= 500 else reason)
        self.status = status


class ProxiedConnection:
    """One connection from a sandbox, until it ends.

    Args:
        access: Hosts and limits of the sandbox.
        client: Connection to the sandbox.
        watch: Watch that is told of what moves.
    """

    def __init__(self, access: Access, client: SocketStream, watch: IdleWatch) -> None:
        self._access = access
        self._socket = client
        # Within TLS that ends here: its data, and the host and port of the tunnel.
        self._client: Stream = client
        self._origin: tuple[str, int] | None = None
        self._watch = watch
        self._host: HttpHost | None = None
        # The present request, while it has no response, and what the record says of it.
        self._request: ProxyRequest | None = None
        self._facts: dict[str, Any] = {}
        self._reached: list[tuple[str, int, SocketStream | None]] = []

    @classmethod
    async def serve(cls, access: Access, connection: socket.socket) -> None:
        """Serve a connection, which is closed at the end."""
        task = asyncio.current_task()
        assert task is not None
        watch = IdleWatch(task, access.limits.idle_seconds)
        client = proxied = None
        try:
            # A client that has given up must not keep its place until a slow host answers.
            client = await SocketStream.of(
                connection, access.record, watch, lambda: watch.shorten(access.limits.end_seconds)
            )
            proxied = cls(access, client, watch)
            await proxied.run()
        except (OSError, EOFError, asyncio.TimeoutError, h11.ProtocolError):
            pass  # a side has gone, or said nothing: both sides are closed
        finally:
            watch.stop()
            if client is not None:
                client.close()
            if proxied is not None:
                await proxied.report_end()

    async def report_end(self) -> None:
        """Report what was moved to and from each host."""
        for host, port, stream in self._reached:
            sent, received = (0, 0) if stream is None else (stream.sent, stream.received)
            moved = {"bytes_sent": sent, "bytes_received": received}
            with contextlib.suppress(HostRefusedError):  # there is nothing left to refuse
                await self._access.record.report("connection", "end", host=host, port=port, **moved)

    async def run(self) -> None:
        """Serve requests until the client or a refusal ends the connection."""
        try:
            while await self._serve_request():
                pass
            await self._client.finish()
        except HostRefusedError as error:
            await self._refuse(error)
        except _ResponseError as error:
            await self._respond(error.status, str(error))
        finally:
            if self._host is not None:
                self._host.close()

    async def _serve_request(self) -> bool:
        """Serve one request; return whether another may follow."""
        limits = self._access.limits
        host, port = self._origin or (None, None)
        self._request, self._facts = None, {"host": host, "port": port}
        try:
            # The first wait of a kept connection is idle time, and the watch ends it.
            first = await self._client.read_exactly(1)
            rest = await asyncio.wait_for(self._client.read_head(), limits.head_seconds)
            request = parse_request(first + rest, self._origin)
        except (asyncio.LimitOverrunError, BadRequestError) as error:
            reason = str(error) if isinstance(error, BadRequestError) else HEAD_TOO_LONG
            await self._report_refusal("connection", reason, self._facts)
            raise _ResponseError(400, reason) from None
        self._request = request
        self._facts = {"host": request.host, "port": request.port}
        if request.is_tunnel:
            return await self._serve_tunnel(request)
        try:
            request, passed = await self._check_secrets(request)
            if self._host is None or not self._host.serves(request):
                if self._host is not None:
                    self._host.close()
                self._host = await self._open_host(request)
            return await self._host.exchange(request, self._client, passed)
        except (OSError, h11.RemoteProtocolError) as error:
            if request.connection.our_state is h11.SEND_RESPONSE:
                raise _ResponseError(502, f"host {request.host!r}: {error}") from None
            raise

    async def _check_secrets(self, request: ProxyRequest) -> tuple[ProxyRequest, SecretFilter]:
        """Return the request with its secrets, and the filter of what follows it.

        Raises:
            SecretRefusedError: it has a placeholder that it may not have.
        """
        secrets = self._access.secrets
        table = _NO_SECRETS if secrets is None else secrets.table
        if self._origin is None:
            return request, table.check_plain(request)
        revealed, passed, names = table.reveal(request)
        for name in names:
            await self._report_begin("secret", {"name": name, **self._facts})
        return revealed, passed

    async def _open_host(self, request: ProxyRequest) -> HttpHost:
        """Connect to a host, by TLS in a tunnel whose own TLS ends here."""
        _, stream = await self._connect(request)
        host: Stream = stream
        if self._origin is not None:
            assert self._access.secrets is not None
            host = TlsStream(stream, self._access.secrets.client_context, request.host)
            await self._shake_hands_with_host(host, request.host)
        return HttpHost(request.host, request.port, host)

    async def _shake_hands_with_host(self, stream: TlsStream, host: str) -> None:
        try:
            await asyncio.wait_for(stream.shake_hands(), self._access.limits.connect_seconds)
        except ssl.SSLCertVerificationError as error:
            reason = f"its certificate is not valid here: {error.verify_message}"
        except asyncio.TimeoutError:
            reason = "it did not finish the TLS handshake in time"
        except (OSError, EOFError) as error:
            reason = f"no TLS: {error}"
        else:
            return
        stream.close()
        raise _ResponseError(502, f"host {host!r}: {reason}")

    async def _report_begin(self, event: str, facts: dict[str, Any]) -> None:
        """Report what is about to happen, which is refused if that cannot be recorded."""
        try:
            await self._access.record.report(event, "begin", **facts)
        except HostRefusedError as error:
            await self._report_refusal(event, str(error), facts)
            raise _ResponseError(403, str(error)) from None

    async def _refuse(self, error: HostRefusedError) -> None:
        """Report a refusal, also in the middle of a transfer; tell the client if it can read it."""
        if isinstance(error, SecretRefusedError):
            facts = {"name": error.name, **self._facts}
            await self._report_refusal("secret", str(error), facts)
        else:
            await self._report_refusal("connection", str(error), self._facts)
        request = self._request
        if request is not None and request.connection.our_state is h11.SEND_RESPONSE:
            await self._respond(403, str(error))

    async def _report_refusal(self, event: str, reason: str, facts: dict[str, Any]) -> None:
        reason = reason if len(reason) <= _MOST_REASON else f"{reason[:_MOST_REASON]}..."
        self._access.record.refuse(reason)
        with contextlib.suppress(HostRefusedError):  # it is refused already
            await self._access.record.report(event, "refused", **facts, error=reason)

    async def _connect(self, request: ProxyRequest) -> tuple[tuple[AllowedHost, ...], SocketStream]:
        """Decide about a host, and connect to the address that was checked.

        Raises:
            HostRefusedError: the host is not in the list, or has another address.
            _ResponseError: it does not answer, or the connection cannot be recorded.
        """
        access, host = self._access, request.host
        try:
            entries = access.policy.find(host, request.port)
            async with access.lookups:
                addresses = await asyncio.wait_for(
                    resolve_host(host, access.lookup), access.limits.connect_seconds
                )
        except asyncio.TimeoutError:
            raise _ResponseError(
                504, f"the name of host {host!r} was not resolved in time"
            ) from None
        except OSError as error:
            raise _ResponseError(502, f"host {host!r} has no address: {error}") from None
        permitted = access.policy.select(host, request.port, entries, addresses)
        await self._report_begin("connection", self._facts)
        stream = None
        try:
            stream = await connect_stream(
                permitted, request.port, access.limits.connect_seconds, access.record, self._watch
            )
        except OSError as error:
            reason = error.strerror or error
            raise _ResponseError(502, f"host {host!r}, port {request.port}: {reason}") from None
        finally:
            self._reached.append((host, request.port, stream))
        return entries, stream

    async def _serve_tunnel(self, request: ProxyRequest) -> bool:
        """Serve a tunnel; return whether its TLS ends here, so that requests follow."""
        secrets, host = self._access.secrets, request.host
        if secrets is not None and secrets.table.covers(host, request.port):
            self._origin = (host, request.port)
            self._host = await self._open_host(request)
            await self._establish()
            hello = await self._read_hello(host)
            self._client = client = TlsStream(self._socket, secrets.server_context(host), None)
            await asyncio.wait_for(client.shake_hands(hello), self._access.limits.head_seconds)
            return True
        entries, stream = await self._connect(request)
        try:
            await self._establish()
            if not any(entry.plain for entry in entries):
                await stream.write(await self._read_hello(host))
            await run_both(self._client.relay_to(stream), stream.relay_to(self._client))
            await stream.finish()
        finally:
            stream.close()
        return False

    async def _establish(self) -> None:
        """Tell the client to begin; what it has sent already is in the reader, behind the head."""
        self._request = None
        await self._client.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

    async def _read_hello(self, host: str) -> bytes:
        """Return the first bytes of a tunnel, once they are a ClientHello for its host.

        Raises:
            HostRefusedError: they are something else.
        """
        try:
            hello, name = await asyncio.wait_for(
                read_hello(self._client), self._access.limits.head_seconds
            )
            _check_server_name(host, name)
        except HostRefusedError as error:
            raise HostRefusedError(f"connection to host {host!r}: {error}") from None
        return hello

    async def _respond(self, status: int, reason: str) -> None:
        """Send a response of the proxy's own, and end the connection."""
        if self._access.secrets is not None:
            reason = self._access.secrets.table.hide(reason)  # it may quote the host
        line = _UNPRINTABLE.sub("?", reason)[:_MOST_REASON]
        body = f"{line}\n"
        await self._client.write(
            f"HTTP/1.1 {status} {line}\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode("ascii")
        )
        await self._client.close_gently(_REFUSAL_SECONDS)


async def read_hello(stream: Stream) -> tuple[bytes, str | None]:
    """Read from a TLS client until its ClientHello is complete.

    OpenSSL parses it, and goes no further than the server name.

    Args:
        stream: Stream of the client, before its first byte.

    Returns:
        all bytes that were read, and the server name; ``None`` if the client asks for none.

    Raises:
        HostRefusedError: they are not a ClientHello, or it is too long.
        EOFError: the client ended its side before.
    """
    names: list[str | None] = []

    def note_name(_tls: object, name: str | None, _context: object) -> int:
        names.append(name)
        return int(ssl.ALERT_DESCRIPTION_HANDSHAKE_FAILURE)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED  # the host decides about it
    context.sni_callback = note_name
    incoming = ssl.MemoryBIO()
    parser = context.wrap_bio(incoming, ssl.MemoryBIO(), server_side=True)
    received, message = bytearray(), bytearray()
    # Parsed once, when it is complete: a client may send it a byte at a time.
    while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4], "big"):
        head = await stream.read_exactly(5)
        size = int.from_bytes(head[3:], "big")
        if not _RECORD_HEAD.match(head) or size > _MOST_RECORD:
            raise HostRefusedError(_NOT_TLS)
        record = await stream.read_exactly(size)
        received += head + record
        message += record
        if message[0] != _CLIENT_HELLO:
            raise HostRefusedError(_NOT_TLS)
        if len(received) > _MOST_HELLO_BYTES:
            raise HostRefusedError(f"{_NOT_TLS} of at most {_MOST_HELLO_BYTES} bytes")
    if not _has_ascii_names(message):
        raise HostRefusedError(f"{_NOT_TLS}: its server name is not ASCII")
    incoming.write(received)
    with contextlib.suppress(ssl.SSLError):
        parser.do_handshake()
    if not names:
        raise HostRefusedError(_NOT_TLS)
    return bytes(received), names[0]


def _has_ascii_names(message: bytearray) -> bool:
    """Tell whether a ClientHello has no other server name, about which ssl would write an error."""
    for match in _SERVER_NAME.finditer(message):
        extension, names, size = (int.from_bytes(length, "big") for length in match.groups())
        name = message[match.start() + 9 : match.start() + 9 + size]
        if extension == names + 2 == size + 5 and not name.isascii():
            return False
    return True


def _check_server_name(host: str, name: str | None) -> None:
    """Refuse a server name other than the host of the tunnel."""
    if parse_address(host) is not None:
        if name is not None:
            raise HostRefusedError(f"it asks for the server name {name!r} at an address")
        return
    if name is None:
        raise HostRefusedError("its ClientHello has no server name")
    try:
        is_same = parse_host(name) == host
    except HostNameError:
        is_same = False
    if not is_same:
        raise HostRefusedError(f"its ClientHello asks for the server name {name!r}")
