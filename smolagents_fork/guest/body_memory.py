"""Memory of long frames and copies that is used again.

New memory costs more than reading into it: the system makes and clears each page, after the C
library has given it back for the frame before.
"""

from __future__ import annotations

import contextlib

__all__ = ["BODIES", "LONG", "BodyMemory"]

#: Longest body whose memory is kept, in bytes.
MOST_KEPT = 16 << 20
#: Shortest body for which kept memory is looked for, in bytes.
LONG = 1 << 20


class BodyMemory:
    """Memory of the last long body of a process, for its next one. From any thread."""

    def __init__(self) -> None:
        self._kept: list[bytearray] = []  # at most one; changed by calls that are atomic

    def take(self, length: int) -> bytearray | None:
        """Return memory for a body, which has old content; ``None`` if none of that size is kept.

        Args:
            length: Length of the body, in bytes.
        """
        try:
            memory = self._kept.pop()
        except IndexError:
            return None
        # The frame of an array is a little longer than a copy of the array.
        missing = length - len(memory)
        if missing > length // 8:
            return None
        if missing > 0:
            memory.extend(bytes(missing))
        else:
            del memory[length:]
        return memory

    def copy(self, content: bytes | bytearray | memoryview) -> bytes | bytearray:
        """Return a copy, in memory that is kept if it is long."""
        memory = self.take(len(content)) if len(content) >= LONG else None
        if memory is None:
            return bytearray(content) if len(content) >= LONG else bytes(content)
        with memoryview(memory) as view:  # the bytearray's own assignment copies twice
            view[:] = content
        return memory

    def give(self, body: bytes | bytearray | memoryview) -> None:
        """Keep the memory of a body.

        Args:
            body: Body of a frame, which has been decoded, or a copy. Nobody uses it any more: it is
                not kept if there is still a view of it.
        """
        if not isinstance(body, bytearray) or not 0 < len(body) <= MOST_KEPT:
            return
        with contextlib.suppress(BufferError):
            body.append(body.pop())  # cannot change its length while there is a view
            self._kept[:] = [body]


#: That of this process.
BODIES = BodyMemory()
