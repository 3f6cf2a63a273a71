"""Queue of callers that wait for a sandbox of a pool, and the pool's statistics."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["PoolStats", "Waiter"]

_Sandbox = TypeVar("_Sandbox")


@dataclass(frozen=True)
class PoolStats:
    """A pool at one moment.

    Attributes:
        ready: sandboxes that can be handed out.
        starting: sandboxes being started.
        in_use: sandboxes of executors that are open.
        waiting: executors that wait for a sandbox.
        started: sandboxes started since the pool was made.
        failed: starts that failed.
        handed_out: sandboxes handed out.
        discarded: ready sandboxes removed, because they were idle too long or dead.
    """

    ready: int
    starting: int
    in_use: int
    waiting: int
    started: int
    failed: int
    handed_out: int
    discarded: int


class Waiter(Generic[_Sandbox]):
    """An entry of the queue, with the sandbox or the error that it receives.

    Args:
        notify: called after either was given, in the thread that gave it.
    """

    def __init__(self, notify: Callable[[], None] = lambda: None) -> None:
        self.sandbox: _Sandbox | None = None
        self.error: BaseException | None = None
        self.given = threading.Event()
        self._notify = notify

    def give(self, sandbox: _Sandbox | None = None, error: BaseException | None = None) -> None:
        """End the wait with a sandbox or with an error."""
        self.sandbox, self.error = sandbox, error
        self.given.set()
        self._notify()

    def wait_again(self) -> None:
        """Wait again, because the sandbox cannot be used."""
        self.sandbox = None
        self.given.clear()
