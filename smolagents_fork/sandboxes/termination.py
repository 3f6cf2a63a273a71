"""SIGTERM as an orderly end of the process, so that sandboxes are removed."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading

__all__ = ["exit_on_sigterm"]


def exit_on_sigterm() -> None:
    """Let SIGTERM end the process as sys.exit does, so that sandboxes are removed.

    A handler of the application stays. The default ends the process at once, and its sandboxes
    would run until their lease is over. Only the main thread can set a handler.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    with contextlib.suppress(ValueError, OSError):
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _exit)


def _exit(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def _after_fork() -> None:
    """Restore the default in a forked child, which owns none of its parent's sandboxes."""
    # A handler in Python runs between two instructions: one that comes just before the child waits
    # for a semaphore is not seen, as in the workers of multiprocessing.Pool, which are terminated.
    with contextlib.suppress(ValueError, OSError):
        if signal.getsignal(signal.SIGTERM) is _exit:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
