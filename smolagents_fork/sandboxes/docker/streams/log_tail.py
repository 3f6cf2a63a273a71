"""The end of a container's output."""

from __future__ import annotations

import threading

__all__ = ["KEPT_BYTES", "Tail"]

# Bytes of a container's output that are kept.
KEPT_BYTES = 4096


class Tail:
    """The end of a container's output."""

    def __init__(self) -> None:
        self._kept = b""
        self._cut = False
        self._ended = threading.Event()
        #: The error that ended the output early; empty without one.
        self.broken = ""

    def add(self, payload: bytes) -> None:
        """Add output."""
        self._cut = self._cut or len(self._kept) + len(payload) > KEPT_BYTES
        # In one assignment, because other threads read it.
        self._kept = (self._kept + payload[-KEPT_BYTES:])[-KEPT_BYTES:]

    def end(self, broken: str = "") -> None:
        """Note the end of the output.

        Args:
            broken: the error, if it ended early.
        """
        self.broken = broken
        self._ended.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the output; return false if it is late or came early."""
        return self._ended.wait(seconds) and not self.broken

    def text(self) -> str:
        """Return the kept text, from the beginning of a line if possible."""
        kept = self._kept
        if self._cut and b"\n" in kept[:-1]:
            kept = kept.partition(b"\n")[2]
        return kept.decode("utf-8", "replace")
