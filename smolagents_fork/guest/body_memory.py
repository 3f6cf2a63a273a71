"""Memory of long frames that is used again.

New memory costs more than reading into it: the system makes and clears each page, after the C
library has given it back for the frame before.
"""

from __future__ import annotations

import contextlib

__all__ = ["BODIES", "BodyMemory"]

#: Longest body whose memory is kept, in bytes.
MOST_KEPT = 16 << 20


class BodyMemory:
    """Memory of the last long body of a process, for its next one. From any thread."""

    def __init__(self) -> None:
        self._kept: list[bytearray] = []  # at most one; changed by calls that are atomic

    def take(self, length: int) -> bytearray | None:
        """Return memory for a body, which has old content; ``None`` if none of that size is kept.

        Args:
            length: of the body, in bytes.
        """
        try:
            memory = self._kept.pop()
        except IndexError:
            return None
        if len(memory) < length:
            return None
        del memory[length:]
        return memory

    def give(self, body: bytes | bytearray) -> None:
        """Keep the memory of a body.

        Args:
            body: of a frame, which has been decoded and which nobody uses any more. It is not kept
                if there is still a view of it.
        """
        if not isinstance(body, bytearray) or not 0 < len(body) <= MOST_KEPT:
            return
        with contextlib.suppress(BufferError):
            body.append(body.pop())  # cannot change its length while there is a view
            self._kept[:] = [body]


#: That of this process.
BODIES = BodyMemory()
