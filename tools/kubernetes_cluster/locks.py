"""Locks between processes of this machine that build or run a cluster."""

from __future__ import annotations

import fcntl
import time
from typing import IO

from tools.errors import ToolError

__all__ = ["acquire"]

_PAUSE_SECONDS = 1.0


def acquire(file: IO[str], action: str, seconds: float) -> None:
    """Acquire the lock of a file, until it is closed.

    Args:
        file: The file.
        action: What its holder does, for messages.
        seconds: Seconds to wait at most for another process.

    Raises:
        ToolError: another process still has the lock.
    """
    end = time.monotonic() + seconds
    is_said = False
    while True:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                raise ToolError(
                    f"another process {action}, after {seconds:g} s still: end it first"
                ) from None
        if not is_said:
            print(f"== waiting: another process {action}", flush=True)
            is_said = True
        time.sleep(_PAUSE_SECONDS)
