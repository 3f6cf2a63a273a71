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


class _Forks(threading.local):
    """Gives a forked child the default back, since it owns none of its parent's sandboxes.

    A handler in Python can lose the signal that is to end a child: its exception is dropped in a
    function that Python calls at a fork, and it does not run while a worker of
    ``multiprocessing.Pool`` waits for a semaphore. So the signal is blocked from before the fork
    until the child has the default. The mask is that of the thread that forks.
    """

    _mask: set[int] | None = None

    def before(self) -> None:
        """Block the signal, if the handler is the one of this module."""
        if signal.getsignal(signal.SIGTERM) is _exit:
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def in_parent(self) -> None:
        """Restore the mask."""
        if self._mask is not None:
            mask, self._mask = self._mask, None
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def in_child(self) -> None:
        """Restore the default, then the mask."""
        if self._mask is not None:
            with contextlib.suppress(ValueError, OSError):
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self.in_parent()


if hasattr(os, "register_at_fork"):
    _forks = _Forks()
    os.register_at_fork(
        before=_forks.before, after_in_parent=_forks.in_parent, after_in_child=_forks.in_child
    )
