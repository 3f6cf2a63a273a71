"""A side of a connection whose TLS the proxy ends."""

from __future__ import annotations

import contextlib
import ssl

from ..traffic import CHUNK_BYTES, SocketStream, Stream

__all__ = ["TlsStream"]


class TlsStream(Stream):
    """Data of a TLS connection over another stream, which counts its bytes.

    Args:
        raw: Stream of the encrypted bytes.
        context: Settings and certificates.
        server_name: Name of the peer that a client asks for; ``None``: this side is the server.
    """

    def __init__(self, raw: SocketStream, context: ssl.SSLContext, server_name: str | None) -> None:
        super().__init__()
        self._raw = raw
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=server_name is None,
            server_hostname=server_name,
        )

    async def shake_hands(self, received: bytes = b"") -> None:
        """Do the handshake.

        Args:
            received: Bytes of the peer that were read before.

        Raises:
            ssl.SSLError: the certificate, or what the peer sent, is not valid.
            EOFError: the peer closed its side.
        """
        self._incoming.write(received)
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._flush()
                if not await self._read_raw():
                    raise EOFError("the peer closed its side during the handshake") from None
            except ssl.SSLError:
                await self._flush()  # the peer learns why
                raise
            else:
                return await self._flush()

    async def write(self, data: bytes) -> None:
        """Encrypt and send bytes, and wait while the receiver does not read."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._tls.write(rest) :]
        await self._flush()

    async def _receive(self) -> bytes:
        while True:
            data = bytearray()
            try:
                while len(data) < CHUNK_BYTES:
                    part = self._tls.read(CHUNK_BYTES)
                    if not part:
                        break
                    data += part
            except ssl.SSLWantReadError:
                if not data:
                    await self._flush()
                    # Some servers end without saying so within TLS; HTTP has its own ends.
                    if not await self._read_raw():
                        return b""
                    continue
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                pass
            return bytes(data)

    async def _read_raw(self) -> bool:
        data = await self._raw.read()
        self._incoming.write(data)
        return bool(data)

    async def _flush(self) -> None:
        if self._outgoing.pending:
            await self._raw.write(self._outgoing.read())

    def end(self) -> None:
        """End this side's sending, within TLS and without."""
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        self._raw.put(self._outgoing.read())
        self._raw.end()

    def close(self) -> None:
        """Close the connection without waiting for what was not sent."""
        self._forget_ahead()
        self._raw.close()

    async def finish(self) -> None:
        """Close the connection once the peer has taken what was sent."""
        self.end()
        await self._raw.finish()

    async def discard(self) -> None:
        await self._raw.discard()
