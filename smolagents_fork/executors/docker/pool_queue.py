"""Queue of callers that wait for a container of a pool, and the pool's statistics."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from ..jupyter.connection import KernelConnection

__all__ = ["PoolStats", "Waiter"]


@dataclass(frozen=True)
class PoolStats:
    """A pool at one moment.

    Attributes:
        ready: containers that can be handed out.
        starting: containers being started.
        in_use: containers of executors that are open.
        waiting: executors that wait for a container.
        started: containers started since the pool was made.
        failed: starts that failed.
        handed_out: containers handed out.
        discarded: ready containers removed, because they were idle too long or dead.
    """

    ready: int
    starting: int
    in_use: int
    waiting: int
    started: int
    failed: int
    handed_out: int
    discarded: int


class Waiter:
    """An entry of the queue, with the container or the error that it receives.

    Args:
        notify: called after either was given, in the thread that gave it.
    """

    def __init__(self, notify: Callable[[], None] = lambda: None) -> None:
        self.connection: KernelConnection | None = None
        self.error: BaseException | None = None
        self.given = threading.Event()
        self._notify = notify

    def give(
        self, connection: KernelConnection | None = None, error: BaseException | None = None
    ) -> None:
        """End the wait with a container or with an error."""
        self.connection, self.error = connection, error
        self.given.set()
        self._notify()

    def wait_again(self) -> None:
        """Wait again, because the container cannot be used."""
        self.connection = None
        self.given.clear()
