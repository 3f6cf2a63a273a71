"""Bytes copied between two streams, in both directions at once."""

from __future__ import annotations

import contextlib
import select

from ..deadline import Deadline
from .timed_socket import NOT_READY, ByteStream

__all__ = ["copy_both_ways"]

# Bytes that are read of a stream before the other takes some.
_MOST_COPIED = 1 << 18
# Bytes of one read or write. For more, malloc maps memory anew at each message.
_PIECE = 1 << 16
# Time for what was read of a stream that has ended.
_REST_SECONDS = 30.0
_WAIT_MILLISECONDS = 1000


def copy_both_ways(first: ByteStream, second: ByteStream) -> None:
    """Copy until one of two streams ends; what was read before is passed on. Closes none of them.

    Args:
        first: a socket, also of TLS, or a stream that may have bytes its descriptor does not show.
        second: likewise.
    """
    unsent = {first: bytearray(), second: bytearray()}
    directions = ((first, second), (second, first))
    poll = select.poll()
    with contextlib.suppress(OSError, ValueError):
        first.setblocking(False)
        second.setblocking(False)
        while True:
            read = [_read(source, unsent[target]) for source, target in directions]
            if None in read:
                break
            sent = [_write(end, rest) for end, rest in unsent.items()]
            if any(read) or any(sent):
                continue
            for source, target in directions:
                # Not read while the other side takes nothing, and yet its end is noticed.
                events = select.POLLIN if len(unsent[target]) < _MOST_COPIED else 0
                poll.register(source.fileno(), events | (select.POLLOUT if unsent[source] else 0))
            poll.poll(_WAIT_MILLISECONDS)
    for end, rest in unsent.items():
        with contextlib.suppress(OSError, ValueError):
            _write_all(end, rest)


def _read(source: ByteStream, buffer: bytearray) -> int | None:
    """Read into ``buffer`` if it has room; return the number of bytes, ``None`` at the end."""
    if len(buffer) >= _MOST_COPIED:
        return 0
    try:
        data = source.recv(_PIECE)
    except NOT_READY:
        return 0
    buffer += data
    return len(data) or None


def _write(target: ByteStream, buffer: bytearray) -> int:
    if not buffer:
        return 0
    try:
        count = target.send(bytes(buffer[:_PIECE]))
    except NOT_READY:
        return 0
    del buffer[:count]
    return count


def _write_all(target: ByteStream, buffer: bytearray) -> None:
    deadline = Deadline(_REST_SECONDS)
    while buffer and not deadline.expired():
        if not _write(target, buffer):
            poll = select.poll()
            poll.register(target.fileno(), select.POLLOUT)
            poll.poll(_WAIT_MILLISECONDS)
