"""Queue of callers that wait for a sandbox of a pool, quotas of tenants, and statistics."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["PoolQueue", "PoolStats", "TenantStats", "Waiter"]

_Sandbox = TypeVar("_Sandbox")


@dataclass(frozen=True)
class TenantStats:
    """A tenant of a pool at one moment.

    Attributes:
        in_use: sandboxes of the tenant's executors that are open.
        waiting: the tenant's executors that wait for a sandbox.
    """

    in_use: int
    waiting: int


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
        tenants: those that have or wait for sandboxes, by name; ``""`` is executors without one.
    """

    ready: int
    starting: int
    in_use: int
    waiting: int
    started: int
    failed: int
    handed_out: int
    discarded: int
    tenants: Mapping[str, TenantStats] = field(default_factory=dict)


class Waiter(Generic[_Sandbox]):
    """An entry of the queue, with the sandbox or the error that it receives.

    Args:
        notify: called after either was given, in the thread that gave it.
    """

    def __init__(self, tenant: str = "", notify: Callable[[], None] = lambda: None) -> None:
        self.tenant = tenant
        self.sandbox: _Sandbox | None = None
        self.error: BaseException | None = None
        self.given = threading.Event()
        #: Whether its caller waits no longer.
        self.has_left = False
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


class PoolQueue(Generic[_Sandbox]):
    """Callers that wait, and the sandboxes that are in use, each with its tenant.

    First come, first served, among the tenants below their quota: a tenant that has all it may
    have keeps its place, and the others are served meanwhile. The pool's lock protects it.

    Args:
        max_per_tenant: sandboxes that one tenant may use; ``None``: as many as there are.
    """

    def __init__(self, max_per_tenant: int | None = None) -> None:
        self._max_per_tenant = max_per_tenant
        self._tenant_of: dict[_Sandbox, str] = {}
        #: Callers that wait, the next one first.
        self.waiters: deque[Waiter[_Sandbox]] = deque()

    @property
    def in_use(self) -> int:
        """Number of sandboxes in use."""
        return len(self._tenant_of)

    def remove(self, waiter: Waiter[_Sandbox]) -> None:
        """Let ``waiter`` wait no longer. Idempotent."""
        if waiter in self.waiters:
            self.waiters.remove(waiter)

    def take_next(self) -> Waiter[_Sandbox] | None:
        """Take the first caller out whose tenant may have another sandbox; ``None``: none may."""
        for waiter in self.waiters:
            if not self.is_full(waiter.tenant):
                self.waiters.remove(waiter)
                return waiter
        return None

    def is_full(self, tenant: str) -> bool:
        """Tell whether a tenant has all it may have."""
        if self._max_per_tenant is None:
            return False
        return self._count_by_tenant()[tenant] >= self._max_per_tenant

    def servable(self) -> int:
        """Count the waiting callers that could have a sandbox at once if there were enough."""
        most = self._max_per_tenant
        if most is None:
            return len(self.waiters)
        used, waiting = self._count_by_tenant(), self._waiting()
        return sum(min(count, most - used[name]) for name, count in waiting.items())

    def use(self, sandbox: _Sandbox, tenant: str) -> None:
        """Note that a tenant's caller has ``sandbox``."""
        self._tenant_of[sandbox] = tenant

    def release(self, sandbox: _Sandbox) -> None:
        """Note that ``sandbox`` is no longer in use. Idempotent."""
        self._tenant_of.pop(sandbox, None)

    def tenants(self) -> dict[str, TenantStats]:
        """Return the figures of each tenant that has or waits for a sandbox."""
        used, waiting = self._count_by_tenant(), self._waiting()
        return {name: TenantStats(used[name], waiting[name]) for name in sorted({*used, *waiting})}

    def _count_by_tenant(self) -> Counter[str]:
        return Counter(self._tenant_of.values())

    def _waiting(self) -> Counter[str]:
        return Counter(waiter.tenant for waiter in self.waiters)
