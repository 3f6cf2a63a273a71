"""Times of calls, for sandboxes whose engine keeps figures of them."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from typing import Protocol, TypeGuard, runtime_checkable

__all__ = ["RecordsCalls", "recorded"]


@runtime_checkable
class RecordsCalls(Protocol):
    """A sandbox whose engine keeps figures of calls: an optional capability."""

    def record_call(self, seconds: float) -> None:
        """Take the time of one run of code, tools included; never waits, never raises.

        Args:
            seconds: Seconds from the sending of the code to its end, however it ended.
        """


@contextlib.contextmanager
def recorded(sandbox: object) -> Iterator[None]:
    """Record the time of the block as that of one run of code.

    Args:
        sandbox: Sandbox that runs it; one without the capability is left alone.
    """
    begun = time.monotonic()
    try:
        yield
    finally:
        if _records_calls(sandbox):
            sandbox.record_call(time.monotonic() - begun)


def _records_calls(sandbox: object) -> TypeGuard[RecordsCalls]:
    return _has_record_call(type(sandbox))  # type: ignore[arg-type]  # a class has a hash


# Python takes longer for this question about a protocol than a child process for a small call.
@functools.lru_cache(maxsize=64)
def _has_record_call(kind: type) -> bool:
    return issubclass(kind, RecordsCalls)
