"""Containers started ahead, so that an executor has one at once.

Who calls what: the application makes one pool and passes it to its executors
(``executor_kwargs={"pool": pool}``). An executor's constructor calls :meth:`DockerPool.acquire`,
its cleanup :meth:`DockerPool.release`. One thread of the pool keeps it filled; starts run in a
bounded number of threads beside it. A container is handed out once and then thrown away.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ..containers.requirements import requirements_for
from ..containers.runtime import DockerProvisioner
from ..errors import ConfigurationError, ExecutorClosedError, ExecutorStartError, ForkError
from ..limits import check_seconds
from .docker_images import ensure_image
from .docker_options import Options
from .docker_session import KernelSession

__all__ = ["DockerPool", "PoolStats"]

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0

# What belongs to an executor and not to the container it got: these may differ from the pool's.
_OF_THE_EXECUTOR = (
    "timeout_seconds",
    "startup_timeout_seconds",
    "interrupt_grace_seconds",
    "on_death",
    "on_output",
    "tool_placement",
    "tool_timeout_seconds",
    "max_tool_calls",
)


@dataclass(frozen=True)
class PoolStats:
    """A pool at one moment.

    Attributes:
        ready: containers waiting to be handed out.
        starting: being started.
        in_use: handed out, and their executors not closed.
        waiting: threads that wait for one.
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


class _Waiter:
    """A thread in the queue, and what it is given."""

    def __init__(self) -> None:
        self.session: KernelSession | None = None
        self.error: BaseException | None = None
        self.given = threading.Event()


class DockerPool:
    """Ready containers for :class:`DockerExecutor`.

    Args:
        min_size: containers kept ready.
        max_size: ready, starting and in use together, at most.
        idle_seconds: a ready one above ``min_size`` is removed after this long.
        acquire_timeout_seconds: how long an executor waits for one.
        concurrent_starts: starts at a time.
        additional_imports: as for the executor; executors may ask for these and no others.
        **keywords: the executor's keywords that decide about the container.

    Raises:
        ConfigurationError: numbers that cannot work.
    """

    def __init__(
        self,
        min_size: int = 1,
        max_size: int = 8,
        idle_seconds: float = 300.0,
        acquire_timeout_seconds: float = 60.0,
        *,
        concurrent_starts: int = 2,
        additional_imports: Sequence[str] = (),
        **keywords: Any,
    ) -> None:
        if not 0 <= min_size <= max_size or max_size < 1 or concurrent_starts < 1:
            raise ConfigurationError(
                f"min_size={min_size}, max_size={max_size}, concurrent_starts={concurrent_starts}: "
                "0 <= min_size <= max_size, and at least one of the others"
            )
        check_seconds("idle_seconds", idle_seconds, optional=False)
        check_seconds("acquire_timeout_seconds", acquire_timeout_seconds, optional=False)
        self.options = Options.of(**keywords)
        self.additional_imports = list(additional_imports)
        requirements_for(self.additional_imports)
        self.min_size, self.max_size = min_size, max_size
        self.idle_seconds = idle_seconds
        self.acquire_timeout_seconds = acquire_timeout_seconds
        self._changed = threading.Condition()
        self._ready: deque[tuple[KernelSession, float]] = deque()
        self._waiters: deque[_Waiter] = deque()
        self._starting = self._in_use = 0
        self._started = self._failed = self._handed_out = self._discarded = 0
        self._image: str | None = None
        self._image_lock = threading.Lock()
        self._pause = 0.0
        self._not_before = 0.0
        self._closed = False
        self._starts = ThreadPoolExecutor(concurrent_starts, "smolagents-fork-pool-start")
        self._keeper = threading.Thread(target=self._keep, name="smolagents-fork-pool", daemon=True)
        self._keeper.start()

    # -- for executors --

    def options_for(self, asked: Options, imports: Sequence[str]) -> Options:
        """The pool's options with what belongs to the executor taken from ``asked``.

        Raises:
            ConfigurationError: the executor asks for another container than the pool makes.
        """
        default = Options()
        for field in dataclasses.fields(Options):
            value = getattr(asked, field.name)
            differs = value not in (getattr(default, field.name), getattr(self.options, field.name))
            if field.name not in _OF_THE_EXECUTOR and differs:
                raise ConfigurationError(
                    f"{field.name}={value!r} is decided by the pool, which has "
                    f"{getattr(self.options, field.name)!r}: give it to the pool"
                )
        missing = set(requirements_for(imports)) - set(requirements_for(self.additional_imports))
        if missing:
            raise ConfigurationError(
                f"{', '.join(sorted(missing))}: not in the pool's additional_imports"
            )
        taken = {
            name: getattr(asked, name)
            for name in _OF_THE_EXECUTOR
            if getattr(asked, name) != getattr(default, name)
        }
        return dataclasses.replace(self.options, **taken)

    def acquire(self, timeout: float | None = None) -> KernelSession:
        """A ready container, for the caller alone; first come, first served.

        Args:
            timeout: seconds to wait; ``None``: ``acquire_timeout_seconds``.

        Raises:
            ExecutorStartError: none became free in time, or none can be started; says which.
            ExecutorClosedError: the pool has been closed.
        """
        patience = self.acquire_timeout_seconds if timeout is None else timeout
        waiter = _Waiter()
        with self._changed:
            if self._closed:
                raise ExecutorClosedError("the pool has been closed")
            self._waiters.append(waiter)
            self._hand_out()
            self._changed.notify_all()
        try:
            waiter.given.wait(patience)
        except BaseException:
            self._give_back(waiter)
            raise
        with self._changed:
            if not waiter.given.is_set():
                self._waiters.remove(waiter)
                raise ExecutorStartError(
                    f"no container became free in acquire_timeout_seconds={patience}: "
                    f"{self._stats()}; raise max_size, or close executors that are done"
                )
        if waiter.error is not None:
            raise waiter.error
        assert waiter.session is not None
        if waiter.session.is_alive():
            return waiter.session
        # It died while it waited; the queue's next one, or a new one.
        self._discard(waiter.session)
        self.release()
        return self.acquire(patience)

    def release(self) -> None:
        """An executor has closed the container it had."""
        with self._changed:
            self._in_use -= 1
            self._changed.notify_all()

    def stats(self) -> PoolStats:
        """The pool at this moment."""
        with self._changed:
            return self._stats()

    def _stats(self) -> PoolStats:
        return PoolStats(
            ready=len(self._ready),
            starting=self._starting,
            in_use=self._in_use,
            waiting=len(self._waiters),
            started=self._started,
            failed=self._failed,
            handed_out=self._handed_out,
            discarded=self._discarded,
        )

    def wait_until_ready(self, count: int | None = None, timeout: float = 60.0) -> bool:
        """Wait until ``count`` (default: ``min_size``) containers are ready; whether they are.

        Args:
            count: containers.
            timeout: seconds to wait at most.
        """
        wanted = self.min_size if count is None else count
        with self._changed:
            return self._changed.wait_for(lambda: len(self._ready) >= wanted, timeout)

    def close(self) -> None:
        """Remove what is ready; what executors have stays theirs. Safe to call again."""
        with self._changed:
            self._closed = True
            ready, self._ready = list(self._ready), deque()
            for waiter in self._waiters:
                waiter.error = ExecutorClosedError("the pool has been closed")
                waiter.given.set()
            self._waiters.clear()
            self._changed.notify_all()
        for session, _ in ready:
            session.close()
        self._starts.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> DockerPool:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- the pool's own threads --

    def _hand_out(self) -> None:
        """Give ready containers to those who wait, oldest to longest waiting. Lock held."""
        while self._ready and self._waiters:
            session, _ = self._ready.popleft()
            waiter = self._waiters.popleft()
            self._in_use += 1
            self._handed_out += 1
            waiter.session = session
            waiter.given.set()

    def _give_back(self, waiter: _Waiter) -> None:
        """Somebody stopped waiting in mid-wait (Ctrl-C); what they may have got is thrown away."""
        with self._changed:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        if waiter.session is not None:
            self._discard(waiter.session)
            self.release()

    def _wanted(self) -> int:
        """How many more starts are called for. Lock held."""
        total = len(self._ready) + self._starting + self._in_use
        called_for = self.min_size + len(self._waiters) - len(self._ready) - self._starting
        return max(0, min(called_for, self.max_size - total))

    def _keep(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                pause = self._not_before - time.monotonic()
                count = self._wanted() if pause <= 0 else 0
                old = self._take_idle()
                if not count and not old:
                    self._changed.wait(self._next_look(pause))
                    continue
                self._starting += count
                for _ in range(count):
                    self._starts.submit(self._start_one)
            for session in old:
                self._discard(session)

    def _next_look(self, pause: float) -> float | None:
        """Seconds until there may be something to do without being told. Lock held."""
        waits = [pause] if pause > 0 else []
        if len(self._ready) > self.min_size:
            waits.append(self._ready[0][1] + self.idle_seconds - time.monotonic())
        return max(0.01, min(waits)) if waits else None

    def _take_idle(self) -> list[KernelSession]:
        """Ready containers that have waited too long. Lock held."""
        taken = []
        while len(self._ready) > self.min_size:
            session, since = self._ready[0]
            if time.monotonic() - since < self.idle_seconds:
                break
            self._ready.popleft()
            taken.append(session)
        return taken

    def _discard(self, session: KernelSession) -> None:
        session.close()
        with self._changed:
            self._discarded += 1

    def _start_one(self) -> None:
        session: KernelSession | None = None
        try:
            provisioner = DockerProvisioner()
            session = KernelSession(self.options, "", provisioner)
            with self._image_lock:
                if self._image is None:
                    self._image = ensure_image(
                        provisioner.client,
                        self.options,
                        self.additional_imports,
                        report=lambda _line: None,
                    )
            session.image = self._image
            session.open()
        except BaseException as error:
            if session is not None:
                session.close()
            self._start_failed(error)
            if not isinstance(error, Exception):
                raise
            return
        with self._changed:
            self._starting -= 1
            self._started += 1
            self._pause = 0.0
            if not self._closed:
                self._ready.append((session, time.monotonic()))
                self._hand_out()
                self._changed.notify_all()
                return
        session.close()

    def _start_failed(self, error: BaseException) -> None:
        """Tell who has waited longest; pause longer each time, so that nothing is hammered."""
        with self._changed:
            self._starting -= 1
            self._failed += 1
            self._pause = min(_LONGEST_PAUSE_SECONDS, self._pause * 2 or _FIRST_PAUSE_SECONDS)
            self._not_before = time.monotonic() + self._pause
            if self._waiters:
                waiter = self._waiters.popleft()
                known = isinstance(error, ForkError)
                waiter.error = error if known else ExecutorStartError(f"{error!r}")
                waiter.given.set()
            self._changed.notify_all()
