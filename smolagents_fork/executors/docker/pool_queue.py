"""Queue of callers that wait for a container of a pool, and the pool's statistics."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from .connection import KernelConnection

__all__ = ["PoolStats", "Waiter"]


@dataclass(frozen=True)
class PoolStats:
    """A pool at one moment.

    Attributes:
        ready: containers waiting to be handed out.
        starting: being started.
        in_use: handed out, and their executors not closed.
        waiting: executors that wait for one.
        started: containers started since the pool was made.
        failed: starts that failed.
        handed_out: containers handed out.
        discarded: ready ones thrown away, idle too long or found dead.
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
    """A place in the queue, and what is given to it.

    Args:
        told: called when something was given, from whatever thread gave it.
    """

    def __init__(self, told: Callable[[], None] = lambda: None) -> None:
        self.connection: KernelConnection | None = None
        self.error: BaseException | None = None
        self.given = threading.Event()
        self._told = told

    def give(
        self, connection: KernelConnection | None = None, error: BaseException | None = None
    ) -> None:
        """End the wait with a container or with an error."""
        self.connection, self.error = connection, error
        self.given.set()
        self._told()

    def wait_again(self) -> None:
        """Wait again, because the container that was given cannot be used."""
        self.connection = None
        self.given.clear()
