"""Program that an engine has started in a sandbox: its input and its output over one stream."""

from __future__ import annotations

import contextlib
import selectors
from collections.abc import Callable, Iterable, Iterator

from ...deadline import Deadline
from ...errors import ExecutorError
from ...stream.timed_socket import ByteStream
from .stream_errors import StreamLost, TooMuchOutput

__all__ = ["read_all", "read_pieces"]

_READ_BYTES = 1 << 20
# Pause between two looks whether a silent stream has been cut.
_LOOK_SECONDS = 1.0


def read_all(
    stream: ByteStream,
    stdin: Iterable[bytes],
    *,
    deadline: Deadline,
    max_bytes: int,
    is_lost: Callable[[], bool],
) -> bytes:
    """Return the output of a program; see :func:`read_pieces`.

    Args:
        stream: to the program.
        stdin: pieces of its input.
        deadline: Deadline of the program.
        max_bytes: largest output allowed.
        is_lost: returns whether the stream may have been cut.

    Raises:
        TooMuchOutput: it wrote more.
    """
    output = bytearray()
    for piece in read_pieces(stream, stdin, deadline=deadline, is_lost=is_lost):
        output += piece
        if len(output) > max_bytes:
            raise TooMuchOutput(f"it wrote more than {max_bytes} bytes")
    return bytes(output)


def read_pieces(
    stream: ByteStream,
    stdin: Iterable[bytes] = (),
    *,
    deadline: Deadline,
    is_lost: Callable[[], bool] = lambda: False,
) -> Iterator[bytes]:
    """Give a started program its input and yield its output; closes the stream.

    Neither direction waits for the other: a program may write before it has read all of its input,
    and end without that.

    Args:
        stream: to the program.
        stdin: pieces of its input, whose length the program must know: not every connection can
            signal an end.
        deadline: Deadline of the program.
        is_lost: returns whether the stream may have been cut; called once a second of silence.

    Raises:
        ExecutorError: it took too long.
        StreamLost: the stream broke, or was cut.
    """
    pieces = iter(stdin)
    unsent = memoryview(b"")
    with contextlib.closing(stream):
        while True:
            if deadline.expired():
                raise ExecutorError(
                    "a program in the sandbox took longer than it was given "
                    f"({deadline.seconds:g} s)"
                )
            unsent = _send(stream, unsent, pieces)
            try:
                data = stream.recv(_READ_BYTES)
            except BlockingIOError:
                is_ready = _wait(stream, deadline.at_most(_LOOK_SECONDS), sending=bool(unsent))
                if not is_ready and is_lost():
                    raise StreamLost(
                        "the connection to the engine was cut while a program ran"
                    ) from None
                continue
            except OSError as error:
                raise StreamLost(f"the stream to a program in the sandbox broke: {error}") from None
            if not data:
                return
            yield data


def _send(stream: ByteStream, unsent: memoryview, pieces: Iterator[bytes]) -> memoryview:
    """Send input while that can be done at once; return the rest of the present piece."""
    try:
        while unsent or (unsent := memoryview(next(pieces, b""))):
            unsent = unsent[stream.send(unsent) :]
    except BlockingIOError:
        pass
    except OSError:
        # A program that ends without reading all of its input says why.
        return memoryview(b"")
    return unsent


def _wait(stream: ByteStream, seconds: float, *, sending: bool) -> bool:
    """Wait until something arrives, or can be sent; return whether that is so."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ | (selectors.EVENT_WRITE if sending else 0))
        return bool(selector.select(seconds))
