"""Program that an engine has started in a sandbox: its output over one stream."""

from __future__ import annotations

import contextlib
import selectors
from collections.abc import Iterator

from ...deadline import Deadline
from ...errors import ExecutorError
from ...stream.timed_socket import ByteStream

__all__ = ["read_pieces"]

_READ_BYTES = 1 << 20


def read_pieces(stream: ByteStream, *, deadline: Deadline) -> Iterator[bytes]:
    """Yield the output of a started program; closes the stream.

    Raises:
        ExecutorError: it took too long, or the stream broke.
    """
    with contextlib.closing(stream), selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while not deadline.expired():
            try:
                data = stream.recv(_READ_BYTES)
            except BlockingIOError:
                selector.select(deadline.at_most(1e6))
                continue
            except OSError as error:
                raise ExecutorError(
                    f"the stream to a program in the sandbox broke: {error}"
                ) from None
            if not data:
                return
            yield data
    raise ExecutorError(
        f"a program in the sandbox exceeded its time limit of {deadline.seconds:g} s"
    )
