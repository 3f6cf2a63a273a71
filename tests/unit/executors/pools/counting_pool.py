"""A pool of sandboxes that are nothing but numbers."""

from __future__ import annotations

import itertools
import threading
from typing import Any, ClassVar

from smolagents_fork.executors.pools.pool_options import PoolOptions
from smolagents_fork.executors.pools.pool_queue import PoolQueue
from smolagents_fork.executors.pools.sandbox_pool import SandboxPool
from smolagents_fork.options.option import Options

#: Only detects hangs.
PATIENCE = 240.0


class Numbered:
    """A sandbox.

    Attributes:
        number: of its start.
        closed: whether it has been removed.
        alive: whether it can be handed out.
    """

    def __init__(self, number: int) -> None:
        self.number, self.closed, self.alive = number, False, True

    def close(self) -> None:
        self.closed = True


class NotedQueue(PoolQueue[Numbered]):
    """A queue that notes which sandboxes it has seen used, in order."""

    def __init__(self, max_per_tenant: int | None) -> None:
        super().__init__(max_per_tenant)
        self.given: list[Numbered] = []

    def use(self, sandbox: Numbered, tenant: str) -> None:
        self.given.append(sandbox)
        super().use(sandbox, tenant)


class CountingPool(SandboxPool[Numbered, Options]):
    """A pool that remembers the most sandboxes it had.

    Attributes:
        started: all sandboxes.
        given: those handed out, in order.
        failure: what a start raises.
        may_start: starts wait for it.
    """

    noun: ClassVar[str] = "number"

    def __init__(self, max_size: int, **options: Any) -> None:
        minimum = options.pop("min_size", 0)
        numbers = (minimum, max_size, 300.0, PATIENCE)
        super().__init__(PoolOptions(*numbers, concurrent_starts=max_size, **options), Options)
        self.started: list[Numbered] = []
        self._queue = NotedQueue(self.max_per_tenant)
        self.given = self._queue.given
        self.most_open = 0
        self.failure: BaseException | None = None
        self.may_start = threading.Event()
        self.may_start.set()
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._fill()

    def _start(self) -> Numbered:
        assert self.may_start.wait(PATIENCE)
        if self.failure is not None:
            raise self.failure
        with self._lock:
            self.started.append(Numbered(next(self._numbers)))
            self.most_open = max(self.most_open, sum(not one.closed for one in self.started))
            return self.started[-1]

    def _is_alive(self, sandbox: Numbered) -> bool:
        return sandbox.alive
