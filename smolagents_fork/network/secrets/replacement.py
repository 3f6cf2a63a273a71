"""Texts replaced in a body that arrives in parts."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["PlainBody", "find_beginning"]


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
    """A body, of which only a possible beginning of a text waits for the next part.

    Args:
        pairs: Texts, and what replaces them.

    Example:
        >>> body = PlainBody([(b"secret-1", b"public-1")])
        >>> [body.add(b"a sec"), body.add(b"ret-1 an"), body.end()]
        [b'a ', b'public-1 an', b'']
    """

    def __init__(self, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        self._pairs = pairs
        self._texts = [text for text, _ in pairs]
        self._waiting = b""

    def add(self, data: bytes) -> bytes:
        """Return what is certain after the next part."""
        data = self._waiting + data
        for text, replacement in self._pairs:
            data = data.replace(text, replacement)
        size = find_beginning(data, self._texts)
        self._waiting = data[len(data) - size :]
        return data[: len(data) - size]

    def end(self) -> bytes:
        """Return what waits."""
        data, self._waiting = self._waiting, b""
        return data
