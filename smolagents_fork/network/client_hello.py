"""The server name in the first message of a TLS client (RFC 8446 section 4.1.2, RFC 6066)."""

from __future__ import annotations

from .hosts.host_policy import HostRefusedError

__all__ = ["HelloReader", "read_server_name"]

# Bytes in which a ClientHello must be complete. Those of today's clients have up to 2 KB.
_MOST_BYTES = 32 * 1024
_RECORD_HEAD, _MESSAGE_HEAD, _MOST_RECORD = 5, 4, 1 << 14
_HANDSHAKE, _MAJOR_VERSION, _CLIENT_HELLO, _SERVER_NAME, _HOST_NAME = 22, 3, 1, 0, 0
_NOT_TLS = "the first bytes through CONNECT are not a TLS ClientHello"


class HelloReader:
    """A ClientHello that is being received, in one record of TLS or in several.

    Example:
        >>> hello = HelloReader()
        >>> hello.needed
        5
        >>> hello.add(b"GET /")
        Traceback (most recent call last):
        ...
        smolagents_fork.network.hosts.host_policy.HostRefusedError: the first bytes through \
CONNECT are not a TLS ClientHello
    """

    def __init__(self) -> None:
        #: Number of bytes to add next; 0 if the message is complete.
        self.needed = _RECORD_HEAD
        #: All bytes that were added.
        self.received = bytearray()
        self._message = bytearray()
        self._in_record = False

    def add(self, data: bytes) -> None:
        """Take the next bytes.

        Args:
            data: Exactly as many bytes as are needed.

        Raises:
            HostRefusedError: they are not those of a ClientHello, or it is too long.
        """
        self.received += data
        if len(self.received) > _MOST_BYTES:
            raise HostRefusedError(f"{_NOT_TLS} of at most {_MOST_BYTES} bytes")
        if self._in_record:
            self._message += data
            if self._message[0] != _CLIENT_HELLO:
                raise HostRefusedError(_NOT_TLS)
            self.needed = 0 if len(self._message) >= self._length else _RECORD_HEAD
        else:
            size = int.from_bytes(data[3:], "big")
            is_tls = data[0] == _HANDSHAKE and data[1] == _MAJOR_VERSION
            if not is_tls or not 0 < size <= _MOST_RECORD:
                raise HostRefusedError(_NOT_TLS)
            self.needed = size
        self._in_record = not self._in_record

    @property
    def server_name(self) -> str | None:
        """The name that the complete message asks for; ``None`` if it has none."""
        if len(self._message) != self._length:
            raise HostRefusedError(f"{_NOT_TLS}: more follows in its record")
        return read_server_name(bytes(self._message[_MESSAGE_HEAD:]))

    @property
    def _length(self) -> int:
        return _MESSAGE_HEAD + int.from_bytes(self._message[1:_MESSAGE_HEAD], "big")


class _Fields:
    """Fields of a message, one after the other.

    Args:
        data: Bytes of the message.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def is_empty(self) -> bool:
        """Tell whether the last field has been read."""
        return self._place >= len(self._data)

    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""
        end = self._place + size
        if end > len(self._data):
            raise HostRefusedError(f"{_NOT_TLS}: a field is longer than its message")
        part = self._data[self._place : end]
        self._place = end
        return part

    def number(self, size: int) -> int:
        """Return the next ``size`` bytes as a number."""
        return int.from_bytes(self.take(size), "big")

    def vector(self, size: int) -> bytes:
        """Return a field whose length stands before it in ``size`` bytes."""
        return self.take(self.number(size))


def read_server_name(message: bytes) -> str | None:
    """Return the server name of a ClientHello; ``None`` if it has none.

    Args:
        message: Body of the message, without the heads of record and message.

    Raises:
        HostRefusedError: it cannot be parsed, or has more than one name.
    """
    hello = _Fields(message)
    hello.take(2 + 32)  # version, random
    hello.vector(1)  # session
    hello.vector(2)  # cipher suites
    hello.vector(1)  # compression
    if hello.is_empty:
        return None
    extensions = _Fields(hello.vector(2))
    if not hello.is_empty:
        raise HostRefusedError(f"{_NOT_TLS}: more follows behind its extensions")
    name = None
    while not extensions.is_empty:
        extension, body = extensions.number(2), extensions.vector(2)
        if extension == _SERVER_NAME:
            if name is not None:
                raise HostRefusedError(f"{_NOT_TLS}: it has two server names")
            name = _host_name(body)
    return name


def _host_name(body: bytes) -> str:
    extension = _Fields(body)
    names = _Fields(extension.vector(2))
    name_type, name = names.number(1), names.vector(2)
    is_alone = names.is_empty and extension.is_empty
    if name_type != _HOST_NAME or not is_alone or not name.isascii():
        raise HostRefusedError(f"{_NOT_TLS}: its server name is not one host name")
    return name.decode("ascii")
