"""Bytes copied between two streams, in both directions at once."""

from __future__ import annotations

import contextlib
import select
import ssl

from ...deadline import Deadline
from ...sandboxes.provisioner import ByteStream

__all__ = ["copy_both_ways"]

# Bytes that are read of a stream before the other takes some.
_MOST = 1 << 18
# Bytes of one read or write. For more, malloc maps memory anew at each message.
_PIECE = 1 << 16
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
        poll = _Poll(one, other)
        while True:
            read = _read(other, to_one), _read(one, to_other)
            if None in read:
                break
            moved = _write(one, to_one) + _write(other, to_other)
            if not moved and not any(read):
                poll.wait(to_one, to_other)
    for target, rest in ((one, to_one), (other, to_other)):
        with contextlib.suppress(OSError, ValueError):
            _write_all(target, rest)


def _read(source: ByteStream, buffer: bytearray) -> int | None:
    """Read into ``buffer`` if it has room; return the number of bytes, ``None`` at the end."""
    if len(buffer) >= _MOST:
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


class _Poll:
    """Waits until one of two streams is ready for what it is needed for.

    Args:
        one: a stream.
        other: the other.
    """

    def __init__(self, one: ByteStream, other: ByteStream) -> None:
        self._numbers = one.fileno(), other.fileno()
        self._poll = select.poll()
        self._wanted: tuple[int, int] | None = None

    def wait(self, to_one: bytearray, to_other: bytearray) -> None:
        """Wait, with what is to be written to each."""
        wanted = _wanted(to_other, to_one), _wanted(to_one, to_other)
        if wanted != self._wanted:
            for number, events in zip(self._numbers, wanted, strict=True):
                self._poll.register(number, events)
            self._wanted = wanted
        self._poll.poll(_WAIT_MILLISECONDS)


def _wanted(taken: bytearray, given: bytearray) -> int:
    """Return the events that matter for a stream, with what was read of it and what it gets."""
    # Not read while the other side takes nothing, and yet its end is noticed.
    wanted = select.POLLIN if len(taken) < _MOST else 0
    return wanted | (select.POLLOUT if given else 0)
