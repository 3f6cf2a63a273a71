"""Standard output and standard error of the programs of a guest.

Both are the guest's descriptor 1, which code in C writes to as well: text arrives in the order in
which it was written, and survives the guest.
"""

from __future__ import annotations

import codecs
import io
import os
import sys

__all__ = ["use_program_output"]

_DESCRIPTOR = 1
_ERRORS = "smolagents_fork.replacement_character"


class DescriptorWriter(io.RawIOBase):
    """Writes all bytes, however few the kernel accepts at once."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def fileno(self) -> int:
        return _DESCRIPTOR

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        view = memoryview(data).cast("B")  # type: ignore[arg-type]
        sent = 0
        while sent < len(view):
            sent += os.write(_DESCRIPTOR, view[sent:])
        return len(view)


def use_program_output() -> None:
    """Make new standard streams, which write at once.

    A lone surrogate, which is not text, is written as U+FFFD.
    """
    codecs.register_error(_ERRORS, replace_character)
    for name in ("stdout", "stderr"):
        stream = io.TextIOWrapper(
            DescriptorWriter(f"<{name}>"),
            encoding="utf-8",
            errors=_ERRORS,
            newline="\n",
            write_through=True,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def replace_character(error: UnicodeError) -> tuple[bytes, int]:
    """Return what stands for a character that cannot be encoded, and where to go on."""
    assert isinstance(error, UnicodeEncodeError)
    return "\ufffd".encode(), error.start + 1
