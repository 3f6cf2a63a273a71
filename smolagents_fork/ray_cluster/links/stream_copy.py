"""Bytes copied between two streams, in both directions at once."""

from __future__ import annotations

import contextlib
import select
import ssl

from ...deadline import Deadline
from ...sandboxes.provisioner import ByteStream

__all__ = ["copy_both_ways"]

# Bytes that are read of a stream before the other takes some.
_PIECE = 1 << 18
# Time for what was read of a stream that has ended.
_REST_SECONDS = 30.0
_WAIT_MILLISECONDS = 1000
_NOT_READY = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def copy_both_ways(one: ByteStream, other: ByteStream) -> None:
    """Copy until one of two streams ends; what was read before is passed on. Closes none of them.

    Args:
        one: a socket, also of TLS, or a stream that may have bytes its descriptor does not show.
        other: likewise.
    """
    to_one, to_other = bytearray(), bytearray()
    with contextlib.suppress(OSError, ValueError):
        one.setblocking(False)
        other.setblocking(False)
        while True:
            read = _read(other, to_one), _read(one, to_other)
            if None in read:
                break
            moved = _write(one, to_one) + _write(other, to_other)
            if not moved and not any(read):
                _wait((one, to_other, to_one), (other, to_one, to_other))
    for target, rest in ((one, to_one), (other, to_other)):
        with contextlib.suppress(OSError, ValueError):
            _write_all(target, rest)


def _read(source: ByteStream, buffer: bytearray) -> int | None:
    """Read into ``buffer`` if it has room; return the number of bytes, ``None`` at the end."""
    if len(buffer) >= _PIECE:
        return 0
    try:
        data = source.recv(_PIECE)
    except _NOT_READY:
        return 0
    buffer += data
    return len(data) or None


def _write(target: ByteStream, buffer: bytearray) -> int:
    if not buffer:
        return 0
    try:
        count = target.send(bytes(buffer[:_PIECE]))
    except _NOT_READY:
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


def _wait(*ends: tuple[ByteStream, bytearray, bytearray]) -> None:
    """Wait until one of the streams, each with what was read of it and what it gets, is ready."""
    poll = select.poll()
    for stream, taken, given in ends:
        # Not read while the other side takes nothing, and yet its end is noticed.
        wanted = select.POLLIN if len(taken) < _PIECE else 0
        poll.register(stream.fileno(), wanted | (select.POLLOUT if given else 0))
    poll.poll(_WAIT_MILLISECONDS)
