"""The end of a container's output, decoded from the engine's frames.

The engine sends output in frames of an 8-byte header (stream number, length) and a payload, as its
API documents for ``attach``. A terminal's output has no frames.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable

__all__ = ["KEPT_BYTES", "Tail"]

# Bytes of a container's output that are kept.
KEPT_BYTES = 4096
_HEADER = struct.Struct(">B3sL")
# Standard input, output and error, and the engine's own messages.
_STREAMS = range(4)
_STDOUT = 1


class Tail:
    """The end of a container's output.

    Args:
        framed: whether the engine sends it in frames, which it does except for a terminal.
        take_output: takes standard output, which is the first process's; ``None``: it is kept.
    """

    def __init__(
        self, framed: bool = True, take_output: Callable[[bytes], None] | None = None
    ) -> None:
        self._framed = framed
        self._take_output = take_output
        self._stream = 0
        self._head = b""
        self._left_in_frame = 0
        self._kept = b""
        self._cut = False
        self._ended = threading.Event()
        #: The error that ended the stream early; empty without one.
        self.broken = ""

    def restart(self) -> None:
        """Begin a new stream, in place of one that may have been cut anywhere."""
        self._head, self._left_in_frame = b"", 0

    def feed(self, data: bytes) -> None:
        """Add bytes of the stream, cut anywhere."""
        if not self._framed:
            self._keep(data, 0, len(data))
            return
        data = self._head + data
        self._head = b""
        at = 0
        while at < len(data):
            if self._left_in_frame == 0:
                if len(data) - at < _HEADER.size:
                    self._head = data[at:]
                    return
                self._stream, zeros, self._left_in_frame = _HEADER.unpack_from(data, at)
                if self._stream not in _STREAMS or any(zeros):
                    # Not as the engine's API documents: shown unchanged rather than dropped.
                    self._framed = False
                    self._keep(data, at, len(data))
                    return
                at += _HEADER.size
            end = min(len(data), at + self._left_in_frame)
            if self._stream == _STDOUT and self._take_output is not None:
                self._take_output(data[at:end])
            else:
                self._keep(data, at, end)
            self._left_in_frame -= end - at
            at = end

    def _keep(self, data: bytes, start: int, end: int) -> None:
        length = len(self._kept) + end - start
        self._cut = self._cut or length > KEPT_BYTES
        # In one assignment, because other threads read it.
        self._kept = (self._kept + data[max(start, end - KEPT_BYTES) : end])[-KEPT_BYTES:]

    def end(self, broken: str = "") -> None:
        """Note the end of the stream.

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
