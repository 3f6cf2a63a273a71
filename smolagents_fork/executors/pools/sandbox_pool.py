"""Pool of ready sandboxes, so that an executor need not wait for a start.

Who calls what: the application makes one pool and passes it to its executors
(``executor_kwargs={"pool": pool}``). An executor's constructor calls :meth:`SandboxPool.acquire`,
its cleanup :meth:`SandboxPool.release`. One thread of the pool keeps it filled; a bounded number of
threads start sandboxes. A sandbox is handed out once and removed afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ... import telemetry
from ...deadline import Deadline
from ...distributions.requirements import missing_requirements
from ...errors import (
    ConfigurationError,
    ExecutorClosedError,
    ExecutorStartError,
    ForkError,
    SandboxDiedError,
)
from ...options import accept
from ...options.option import Options, about, options_of_calls, part_of
from ...system.forks import Owner
from ...text.representation import represent
from ..calls import in_thread
from .pool_options import PoolOptions
from .pool_queue import PoolQueue, PoolStats, Waiter

__all__ = ["Closeable", "SandboxPool"]

_logger = logging.getLogger(__name__)
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0

# typing.Self is there from 3.11 on; the fork runs on 3.10 too.
_Self = TypeVar("_Self", bound="SandboxPool[Any, Any]")


class Closeable(Protocol):
    """A sandbox that can be closed."""

    def close(self) -> None: ...


_Sandbox = TypeVar("_Sandbox", bound=Closeable)
_OfExecutor = TypeVar("_OfExecutor", bound=Options)


class SandboxPool(ABC, Generic[_Sandbox, _OfExecutor]):
    """Ready sandboxes of one kind, each for one executor.

    A subclass's constructor ends with :meth:`_fill`.

    Args:
        options: Options of the pool, with those of the executors.
        own_options: names of those that may differ from the pool's, besides those of calls.
    """

    #: What a sandbox is called in messages.
    noun: ClassVar[str]

    def __init__(
        self,
        options: PoolOptions,
        options_class: type[_OfExecutor],
        own_options: Collection[str] = (),
    ) -> None:
        #: Options of the sandboxes, and those of calls that executors do not choose themselves.
        self.options = part_of(options, options_class)
        self.additional_imports = list(options.additional_imports)
        self.min_size, self.max_size = options.min_size, options.max_size
        self.idle_seconds = options.idle_seconds
        self.acquire_timeout_seconds = options.acquire_timeout_seconds
        self._own_options = frozenset({*options_of_calls(options_class), *own_options})
        self._changed = threading.Condition()
        self._ready: deque[tuple[_Sandbox, float]] = deque()
        self.max_per_tenant = options.max_per_tenant
        self._queue: PoolQueue[_Sandbox] = PoolQueue(options.max_per_tenant)
        self._on_demand = options.on_demand
        # The newest report to it that was not made yet, and whether a thread makes reports.
        self._demand: tuple[int, int] | None = None
        self._reports = False
        self._starting = 0
        self._started = self._failed = self._handed_out = self._discarded = 0
        # Error of the newest start that has ended, if it failed.
        self._failure: BaseException | None = None
        self._pause = 0.0
        self._not_before = 0.0
        self._closed = False
        self._concurrent_starts = options.concurrent_starts
        telemetry.watch_pool(self)
        self._owner = Owner()

    @classmethod
    def check(cls: type[_Self], name: str, value: Any) -> _Self | None:
        """Return a pool of this class, or ``None``; check of an executor's option.

        Raises:
            ConfigurationError: it is neither.
        """
        if value is not None and not isinstance(value, cls):
            raise ConfigurationError(f"{name}={value!r}: pass a {cls.__name__}, or None")
        return value

    # -- for subclasses --

    @abstractmethod
    def _start(self) -> _Sandbox:
        """Start a sandbox; nothing of it is left if that fails. Called in several threads."""

    @abstractmethod
    def _is_alive(self, sandbox: _Sandbox) -> bool:
        """Tell whether a ready sandbox can be handed out."""

    def _fill(self) -> None:
        """Start the thread that keeps the pool filled."""
        threading.Thread(target=self._keep, name="smolagents-fork-pool", daemon=True).start()

    # -- for executors --

    def acquire(self, timeout: float | None = None, *, tenant: str = "") -> _Sandbox:
        """Return a ready sandbox for the caller alone; first come, first served.

        Callers of a tenant that has ``max_per_tenant`` sandboxes wait until it has fewer; they do
        not delay others.

        Args:
            timeout: Seconds to wait; ``None``: ``acquire_timeout_seconds``.
            tenant: Name of the tenant whose quota counts.

        Raises:
            ExecutorStartError: no sandbox became free in time, or none can be started.
            ExecutorClosedError: the pool has been closed.
            ExecutorError: the caller is a forked child of the pool's process.
        """
        seconds = self.acquire_timeout_seconds if timeout is None else timeout
        deadline, sandbox = Deadline(seconds), None
        with self._waiting(Waiter(accept.tenant("tenant", tenant))) as waiter:
            while sandbox is None:
                waiter.given.wait(deadline.remaining())
                sandbox = self._take(waiter, seconds)
        return sandbox

    async def acquire_async(self, timeout: float | None = None, *, tenant: str = "") -> _Sandbox:
        """Do as :meth:`acquire`, for asyncio: waiting needs no thread, cancelling leaves the queue.

        Args:
            timeout: Seconds to wait; ``None``: ``acquire_timeout_seconds``.
            tenant: Name of the tenant whose quota counts.
        """
        seconds = self.acquire_timeout_seconds if timeout is None else timeout
        deadline, sandbox = Deadline(seconds), None
        loop, notification = asyncio.get_running_loop(), asyncio.Event()

        def notify() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(notification.set)

        with self._waiting(Waiter(accept.tenant("tenant", tenant), notify)) as waiter:
            while sandbox is None:
                with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                    await asyncio.wait_for(notification.wait(), deadline.remaining())
                notification.clear()
                sandbox = await in_thread(
                    lambda: self._take(waiter, seconds), "smolagents-fork-pool-check"
                )
        return sandbox

    def release(self, sandbox: _Sandbox) -> None:
        """Note that an executor has closed its sandbox. Idempotent."""
        if self._owner.inherited:
            return
        with self._changed:
            self._queue.release(sandbox)
            self._hand_out()  # a ready one, to the next caller of the same tenant
            self._changed.notify_all()

    def options_for(self, requested: _OfExecutor, imports: Sequence[str]) -> _OfExecutor:
        """Return the pool's options, with the executor's own taken from ``requested``.

        Args:
            requested: The executor's options; only those that were passed are compared.
            imports: Names that its code may import.

        Raises:
            ConfigurationError: the executor needs a sandbox that differs from the pool's.
        """
        names = requested.given & about(type(self.options)).keys()
        values = {name: getattr(requested, name) for name in names}
        for name, value in values.items():
            decided = getattr(self.options, name)
            if name not in self._own_options and value != decided:
                raise ConfigurationError(
                    f"{name}={value!r} is decided by the pool, which has {decided!r}: pass it to "
                    "the pool"
                )
        missing = missing_requirements(imports, self.additional_imports)
        if missing:
            raise ConfigurationError(
                f"{', '.join(missing)}: not in the pool's additional_imports; add them there"
            )
        own = {name: value for name, value in values.items() if name in self._own_options}
        return dataclasses.replace(self.options, **own)

    # -- for applications --

    def stats(self) -> PoolStats:
        """Return the figures of this moment."""
        self._owner.check(type(self).__name__, "stats")
        with self._changed:
            return self._stats()

    def wait_until_ready(self, count: int | None = None, timeout: float = 60.0) -> bool:
        """Wait for ready sandboxes; return whether there are enough.

        Args:
            count: Number of sandboxes; ``None``: ``min_size``.
            timeout: Seconds to wait at most.
        """
        self._owner.check(type(self).__name__, "wait_until_ready")
        minimum = self.min_size if count is None else count
        with self._changed:
            return self._changed.wait_for(lambda: len(self._ready) >= minimum, timeout)

    def close(self) -> None:
        """Remove the ready sandboxes; executors keep theirs. Idempotent.

        No-op in a forked child: the sandboxes are those of the process that made the pool.
        """
        if self._owner.inherited:
            return
        with self._changed:
            self._closed = True
            ready, self._ready = list(self._ready), deque()
            while self._queue.waiters:
                error = ExecutorClosedError("the pool has been closed; create another")
                self._queue.waiters.popleft().give(error=error)
            self._changed.notify_all()
        for sandbox, _ in ready:
            sandbox.close()

    def __repr__(self) -> str:
        """Return what the pool is, its sandboxes, limits and state."""
        try:
            with self._changed:
                figures, closed = self._stats(), self._closed
        except AttributeError:  # the constructor has failed
            return represent(self, "not started", "")
        state = (
            f"{'closed' if closed else 'open'}, {figures.ready} ready, {figures.starting} starting "
            f"and {figures.in_use} in use of max_size={self.max_size}, {figures.waiting} waiting"
        )
        return represent(self, state, "", self.options)

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the queue --

    @contextlib.contextmanager
    def _waiting(self, waiter: Waiter[_Sandbox]) -> Iterator[Waiter[_Sandbox]]:
        """Let ``waiter`` wait; what it was given is removed if the block raises."""
        # Before the lock, which another thread may have had at the fork.
        self._owner.check(type(self).__name__, "acquire")
        try:
            with self._changed:
                self._check_open()
                self._queue.waiters.append(waiter)
                self._hand_out()
                self._changed.notify_all()
                if self._on_demand is not None and not waiter.given.is_set():
                    self._report_demand()
            yield waiter
        except BaseException:
            with self._changed:
                waiter.has_left = True
                self._queue.remove(waiter)
            if waiter.sandbox is not None:
                self._discard(waiter.sandbox)
                self.release(waiter.sandbox)
            raise

    def _take(self, waiter: Waiter[_Sandbox], seconds: float) -> _Sandbox | None:
        """Return the sandbox that ``waiter`` was given; ``None`` if it has to wait for another.

        Raises:
            ExecutorStartError: it was given none in time, or the start for it failed.
            ExecutorClosedError: the pool has been closed.
        """
        with self._changed:
            if not waiter.given.is_set():
                raise ExecutorStartError(
                    f"no {self.noun} became free in acquire_timeout_seconds={seconds}: "
                    f"{self._stats()}; {self._advice(waiter.tenant)}"
                )
        if waiter.error is not None:
            raise waiter.error
        sandbox = waiter.sandbox
        assert sandbox is not None
        if self._is_alive(sandbox):
            return sandbox
        with self._changed:
            if waiter.has_left:
                return None
            self._check_open()
            waiter.wait_again()
            self._queue.waiters.appendleft(waiter)
            self._queue.release(sandbox)
            self._hand_out()
            self._changed.notify_all()
        self._discard(sandbox)
        return None

    def _check_open(self) -> None:
        if self._closed:
            raise ExecutorClosedError("the pool has been closed; create another")

    def _report_demand(self) -> None:
        """Report to the application how many sandboxes are needed. The caller holds the lock."""
        self._demand = (self._queue.in_use + self._queue.servable(), self.max_size)
        if not self._reports:
            threading.Thread(
                target=self._make_reports, name="smolagents-fork-pool-demand", daemon=True
            ).start()
            self._reports = True

    def _make_reports(self) -> None:
        while True:
            with self._changed:
                # Reports that came during a call are one report: the newest.
                demand, self._demand = self._demand, None
                if demand is None or self._on_demand is None or self._closed:
                    self._reports = False
                    return
            try:
                self._on_demand(*demand)
            except Exception:
                _logger.exception("on_demand(%d, %d) failed", *demand)

    def _is_full(self, tenant: str) -> bool:
        """Tell whether a tenant's caller waits for another to end. The caller holds the lock."""
        if self._queue.is_full(tenant) or self._queue.in_use >= self.max_size:
            return True
        starting = self._starting + len(self._ready)
        is_taken = self._queue.in_use + starting >= self.max_size
        return is_taken and len(self._queue.waiters) > starting

    def _advice(self, tenant: str) -> str:
        """Say what ends a tenant's wait for a sandbox. The caller holds the lock."""
        if self._queue.is_full(tenant):
            return (
                f"tenant {tenant!r} has all it may have: raise "
                f"max_per_tenant={self.max_per_tenant}, or close executors of the tenant"
            )
        if self._is_full(tenant):
            return (
                f"the pool is full ({self._users()}): raise max_size={self.max_size}, or close "
                "executors that are no longer used, by cleanup() of their agents or a with block"
            )
        if self._failure is not None:
            name = type(self._failure).__name__
            return f"its last start failed, another one follows: {name}: {self._failure}"
        return (
            f"its {self.noun}s are still starting: call pool.wait_until_ready() first, or "
            f"raise acquire_timeout_seconds, min_size={self.min_size} or "
            f"concurrent_starts={self._concurrent_starts}"
        )

    def _users(self) -> str:
        """Say which tenants have sandboxes. The caller holds the lock."""
        parts = [
            f"{f'tenant {name!r} has' if name else 'executors without a tenant have'} "
            f"{stats.in_use}"
            for name, stats in self._queue.tenants().items()
            if stats.in_use
        ]
        parts += [f"{self._starting} starting"] if self._starting else []
        return f"{', '.join(parts)} of max_size={self.max_size} {self.noun}s"

    def _stats(self) -> PoolStats:
        return PoolStats(
            ready=len(self._ready),
            starting=self._starting,
            in_use=self._queue.in_use,
            waiting=len(self._queue.waiters),
            started=self._started,
            failed=self._failed,
            handed_out=self._handed_out,
            discarded=self._discarded,
            tenants=self._queue.tenants(),
        )

    def _hand_out(self) -> None:
        """Give ready sandboxes to waiters, the oldest first. The caller holds the lock."""
        while self._ready and (waiter := self._queue.take_next()) is not None:
            sandbox, _ = self._ready.popleft()
            self._queue.use(sandbox, waiter.tenant)
            self._handed_out += 1
            waiter.give(sandbox)

    # -- the pool's own threads --

    def _count_wanted(self) -> int:
        """Count the starts that are needed and allowed now. The caller holds the lock."""
        total = len(self._ready) + self._starting + self._queue.in_use
        missing = self.min_size + self._queue.servable() - len(self._ready) - self._starting
        free = self._concurrent_starts - self._starting
        return max(0, min(missing, self.max_size - total, free))

    def _keep(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                pause = self._not_before - time.monotonic()
                count = self._count_wanted() if pause <= 0 else 0
                old = self._take_idle()
                if not count and not old:
                    self._changed.wait(self._next_check(pause))
                    continue
                self._starting += count
            for _ in range(count):
                # Not from a thread pool: the interpreter would wait for its threads at exit.
                try:
                    threading.Thread(
                        target=self._start_one, name="smolagents-fork-pool-start", daemon=True
                    ).start()
                except RuntimeError as error:  # no thread can be started now
                    self._note_failed_start(error)
            for sandbox in old:
                self._discard(sandbox)

    def _next_check(self, pause: float) -> float | None:
        """Return the seconds until the next timed check. The caller holds the lock."""
        now = time.monotonic()
        waits = [pause] if pause > 0 else []
        if len(self._ready) > self.min_size:
            waits.append(self._ready[0][1] + self.idle_seconds - now)
        return max(0.01, min(waits)) if waits else None

    def _take_idle(self) -> list[_Sandbox]:
        """Take out ready sandboxes that were idle too long. The caller holds the lock."""
        ready = []
        while len(self._ready) > self.min_size:
            sandbox, since = self._ready[0]
            if time.monotonic() - since < self.idle_seconds:
                break
            self._ready.popleft()
            ready.append(sandbox)
        return ready

    def _discard(self, sandbox: _Sandbox) -> None:
        sandbox.close()
        with self._changed:
            self._discarded += 1

    def _start_one(self) -> None:
        try:
            with telemetry.operation("start", type(self).__name__):
                sandbox = self._start()
        except BaseException as error:
            self._note_failed_start(error)
            if not isinstance(error, Exception):
                raise
            return
        with self._changed:
            self._starting -= 1
            self._started += 1
            self._failure, self._pause = None, 0.0
            if not self._closed:
                self._ready.append((sandbox, time.monotonic()))
                self._hand_out()
                self._changed.notify_all()
                return
        sandbox.close()

    def _note_failed_start(self, error: BaseException) -> None:
        """Give the error to the first waiter; pause longer each time, to spare the machine."""
        with self._changed:
            self._starting -= 1
            self._failed += 1
            self._failure = error
            self._pause = min(_LONGEST_PAUSE_SECONDS, self._pause * 2 or _FIRST_PAUSE_SECONDS)
            self._not_before = time.monotonic() + self._pause
            # After the loss of a node, another start takes the place of this one.
            is_repeated = isinstance(error, SandboxDiedError) and error.cause == "node"
            waiter = None if is_repeated else self._queue.take_next()
            if waiter is not None:
                known = isinstance(error, ForkError)
                waiter.give(error=error if known else ExecutorStartError(f"{error!r}"))
            self._changed.notify_all()
