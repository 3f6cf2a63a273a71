"""Printed output of a program: kept up to a limit, head and tail, and given to a reader.

One option limits it on every executor: ``max_print_outputs_length``, in characters. This module is
also sent to kernels as a single file, so it imports the standard library only.
"""

from __future__ import annotations

import codecs
import contextlib
import functools
import io
import sys
from threading import Lock
from typing import Any, Protocol

__all__ = [
    "DEFAULT_PRINT_LENGTH",
    "MOST_WITH_TEXT",
    "BytesWriter",
    "PrintContainer",
    "flush_streams",
    "ignore_settings",
    "print_whole",
    "program_print",
    "truncate",
    "truncation_note",
]

# In a kernel, the function of that name is replaced.
_print = print
#: Characters kept of a call's output where no option says otherwise; upstream's default.
DEFAULT_PRINT_LENGTH = 50_000
#: Longest encoded value that a sandbox sends with its ``str()``, which takes a second at most.
MOST_WITH_TEXT = 2 << 20


def truncation_note(max_length: int) -> str:
    """Return upstream's note, which stands where text was left out.

    Args:
        max_length: limit of the text, in characters.
    """
    return f"\n..._This content has been truncated to stay below {max_length} characters_...\n"


def truncate(content: str, max_length: int) -> str:
    """Truncate ``content`` to its first and last half of ``max_length``, with upstream's note."""
    if len(content) <= max_length:
        return content
    half = max_length // 2
    return content[:half] + truncation_note(max_length) + content[len(content) - half :]


class StandardPair(Protocol):
    """Standard output and standard error of a program."""

    stdout: Any
    stderr: Any


def print_whole(
    *values: Any, file: Any = None, own: StandardPair, flush: bool = False, **keywords: Any
) -> None:
    """Print as ``print`` does, to a standard stream in one write: a reader gets no part of it.

    Args:
        *values: Values to print.
        file: stream to print to; ``None``: the program's standard output.
        own: the program's streams.
        flush: whether to flush the stream.
        **keywords: ``print``'s others.
    """
    stream = own.stdout if file is None else file
    standard = (own.stdout, own.stderr, sys.stdout, sys.stderr)
    if stream is None or all(stream is not standard_stream for standard_stream in standard):
        _print(*values, file=stream, flush=flush, **keywords)
        return
    text = io.StringIO(newline="")
    try:
        _print(*values, file=text, **keywords)
    finally:  # as print, which has written what precedes a value that has no text
        written = text.getvalue()
        if written:
            stream.write(written)
    if flush:
        stream.flush()


@functools.wraps(print)
def program_print(*values: Any, file: Any = None, flush: bool = False, **keywords: Any) -> None:
    """Print in one write to the standard streams of this process; see :func:`print_whole`."""
    print_whole(*values, file=file, own=sys, flush=flush, **keywords)


def flush_streams() -> None:
    """Flush the standard streams, as Python does at its end; they may be the program's own."""
    for name in ("stdout", "stderr"):
        with contextlib.suppress(Exception, SystemExit, GeneratorExit):
            getattr(sys, name).flush()


def ignore_settings(
    *,
    encoding: object = None,
    errors: object = None,
    newline: object = None,
    line_buffering: object = None,
    write_through: object = None,
) -> None:
    """Stand for ``reconfigure`` of a stream that takes text and encodes none."""


class BytesWriter(io.RawIOBase):
    """Binary form of a stream that takes text: bytes are UTF-8, and go where ``print`` writes.

    Args:
        stream: the stream. A character whose bytes come in two writes is one.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        content = bytes(memoryview(data))
        self._stream.write(self._decoder.decode(content))
        return len(content)

    def flush(self) -> None:
        # The garbage collector may close the stream before this object, whose end flushes.
        if not self._stream.closed:
            self._stream.flush()


class PrintContainer:
    """Text that a program printed, with upstream's interface (``value``, ``append``, ``+=``).

    Endless output must not fill the host's memory, so only the first and the last part are kept.

    Args:
        keep: characters of each part; :meth:`text` has that many of both together.
    """

    def __init__(self, keep: int = DEFAULT_PRINT_LENGTH) -> None:
        self._keep = keep
        self._head = ""
        self._parts: list[str] = []
        self._size = 0
        self._cut = False
        self._lock = Lock()

    def append(self, text: str) -> PrintContainer:
        with self._lock:  # threads may print, too
            self._parts.append(text)
            self._size += len(text)
            if self._size > 4 * self._keep + 4096:
                self._join()
        return self

    def __iadd__(self, other: object) -> PrintContainer:
        return self.append(str(other))

    def _join(self) -> None:
        text = "".join(self._parts)
        if not self._cut and self._size > 2 * self._keep + 2:
            self._head = text[: self._keep]
            text = text[self._keep :]
            self._cut = True
        if self._cut:
            text = text[-self._keep - 1 :]
        self._parts = [text]
        self._size = len(text)

    def text(self) -> str:
        """Return what was printed, truncated to the limit."""
        return truncate(self.value, self._keep)

    @property
    def value(self) -> str:
        """All text kept, as one string."""
        return self._head + "".join(self._parts)

    @value.setter
    def value(self, text: str) -> None:
        self._head, self._cut = "", False
        self._parts, self._size = [text], len(text)

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return f"PrintContainer({self.value})"

    def __len__(self) -> int:
        return len(self.value)
