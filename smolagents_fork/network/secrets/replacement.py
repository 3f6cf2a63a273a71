"""Texts replaced in a body that arrives in parts, plain or compressed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence

__all__ = ["GzipBody", "PlainBody", "find_beginning"]

_GZIP = 16 + zlib.MAX_WBITS
# Bytes that are decompressed at once: the receiver decides when there are more.
_MOST_BYTES = 1 << 20


def find_beginning(data: bytes, texts: Sequence[bytes]) -> int:
    """Return how many bytes at the end of ``data`` may be the beginning of a text.

    Args:
        data: Bytes in which no text is complete.
        texts: Texts to look for.

    Example:
        >>> find_beginning(b"token: ghp_1", [b"ghp_1234"])
        5
    """
    longest = max((len(text) for text in texts), default=1) - 1
    for size in range(min(longest, len(data)), 0, -1):
        end = data[-size:]
        if any(text.startswith(end) for text in texts):
            return size
    return 0


class PlainBody:
    """A body as it is, of which only a possible beginning of a text waits for the next part.

    Args:
        pairs: Texts, and what replaces them.

    Example:
        >>> body = PlainBody([(b"secret-1", b"public-1")])
        >>> [*body.add(b"a sec"), *body.add(b"ret-1 an"), body.end()]
        [b'a ', b'public-1 an', b'']
    """

    def __init__(self, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        self._pairs = pairs
        self._texts = [text for text, _ in pairs]
        self._waiting = b""

    def add(self, data: bytes) -> Iterator[bytes]:
        """Yield what is certain after the next part."""
        data = self._waiting + data
        for text, replacement in self._pairs:
            data = data.replace(text, replacement)
        size = find_beginning(data, self._texts)
        self._waiting = data[len(data) - size :]
        yield data[: len(data) - size]

    def end(self) -> bytes:
        """Return what waits."""
        data, self._waiting = self._waiting, b""
        return data


class GzipBody:
    """A body in the form of gzip, which is passed on plain.

    Args:
        plain: Takes what is decompressed.
        count: Takes the number of decompressed bytes; raises if there are too many.
    """

    def __init__(self, plain: PlainBody, count: Callable[[int], None]) -> None:
        self._plain = plain
        self._count = count
        self._reader = zlib.decompressobj(_GZIP)
        self._has_begun = False

    def add(self, data: bytes) -> Iterator[bytes]:
        """Yield what is certain after the next part, piece by piece.

        Raises:
            ConnectionError: it is not gzip.
        """
        text = b""
        while data or len(text) == _MOST_BYTES:
            self._has_begun = True
            if self._reader.eof:  # a file of several members
                self._reader = zlib.decompressobj(_GZIP)
            try:
                text = self._reader.decompress(data, _MOST_BYTES)
            except zlib.error as error:
                raise ConnectionError(f"the response is not gzip: {error}") from None
            data = self._reader.unconsumed_tail or self._reader.unused_data
            self._count(len(text))
            yield from self._plain.add(text)

    def end(self) -> bytes:
        """Return what waits.

        Raises:
            ConnectionError: the body ends in the middle.
        """
        if self._has_begun and not self._reader.eof:
            raise ConnectionError("the response's gzip is truncated")
        return self._plain.end()
