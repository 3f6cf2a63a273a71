"""Filter of a request's body and of its response, while they pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

__all__ = ["Fields", "MessageFilter"]

#: Fields of a head, names as they were written.
Fields: TypeAlias = "tuple[tuple[bytes, bytes], ...]"


class MessageFilter:
    """Sees the body of one request and its response; this one changes nothing."""

    def check_body(self, data: bytes) -> None:
        """Look at the next part of the request's body.

        Raises:
            HostRefusedError: it may not be sent.
        """

    def filter_text(self, text: bytes) -> bytes:
        """Return a text of the response, such as that of its status line, for the sandbox."""
        return text

    def begin_body(self, fields: Fields) -> Fields:
        """Prepare for the response's body; return the fields that describe it for the sandbox.

        Raises:
            ConnectionError: it is in a form that cannot be filtered.
        """
        return fields

    def filter_body(self, data: bytes) -> Iterator[bytes]:
        """Yield what may be passed on after the next part of the response's body."""
        yield data

    def end_body(self) -> bytes:
        """Return what is left of the response's body at its end.

        Raises:
            ConnectionError: it is incomplete.
        """
        return b""
