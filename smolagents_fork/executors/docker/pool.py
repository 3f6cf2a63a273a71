"""Pool of ready containers, so that an executor need not wait for a start.

Who calls what: the application makes one pool and passes it to its executors
(``executor_kwargs={"pool": pool}``). An executor's constructor calls :meth:`DockerPool.acquire`,
its cleanup :meth:`DockerPool.release`. One thread of the pool keeps it filled; a bounded number of
threads start containers. A container is handed out once and removed afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from ...deadline import Deadline, check_seconds
from ...distributions.requirements import requirements_for
from ...errors import ConfigurationError, ExecutorClosedError, ExecutorStartError, ForkError
from ...sandboxes.docker.docker_provisioner import DockerProvisioner
from ...sandboxes.docker.lifetime import reaper
from ..async_calls import in_thread
from ..jupyter.connection import KernelConnection
from ..validation import check_count, names_of
from .options import Options, connection_to
from .pool_options import options_for
from .pool_queue import PoolStats, Waiter

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .option_groups import DockerKeywordsWithUpstreams

__all__ = ["DockerPool", "PoolStats"]

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0


# Parameters of the constructor that are not options.
_OWN = (
    "acquire_timeout_seconds",
    "additional_imports",
    "concurrent_starts",
    "idle_seconds",
    "max_size",
    "min_size",
)


class DockerPool:
    """Ready containers for :class:`DockerExecutor`.

    Args:
        min_size: containers kept ready.
        max_size: most containers ready, starting and in use together.
        idle_seconds: time after which a ready container above ``min_size`` is removed.
        acquire_timeout_seconds: time an executor waits for a container.
        concurrent_starts: most starts at a time.
        additional_imports: as for the executor; executors may ask for these and no others.
        **keywords: the executor's options of the container.

    Raises:
        ConfigurationError: an argument that cannot work.
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
        **keywords: Unpack[DockerKeywordsWithUpstreams],
    ) -> None:
        check_count("min_size", min_size, 0)
        check_count("max_size", max_size)
        check_count("concurrent_starts", concurrent_starts)
        if min_size > max_size:
            raise ConfigurationError(
                f"min_size={min_size} is more than max_size={max_size}: lower the first, or raise "
                "the second"
            )
        check_seconds("idle_seconds", idle_seconds, optional=False)
        check_seconds("acquire_timeout_seconds", acquire_timeout_seconds, optional=False)
        self.options = Options.of("DockerPool", _OWN, **keywords)
        self.additional_imports = list(names_of("additional_imports", additional_imports))
        requirements_for(self.additional_imports)
        self.min_size, self.max_size = min_size, max_size
        self.idle_seconds = idle_seconds
        self.acquire_timeout_seconds = acquire_timeout_seconds
        self._changed = threading.Condition()
        self._ready: deque[tuple[KernelConnection, float]] = deque()
        self._waiters: deque[Waiter] = deque()
        self._starting = 0
        self._in_use: set[KernelConnection] = set()
        self._started = self._failed = self._handed_out = self._discarded = 0
        self._image: str | None = None
        self._image_lock = threading.Lock()
        self._pause = 0.0
        self._not_before = 0.0
        self._closed = False
        self._concurrent_starts = concurrent_starts
        # Here, because other threads than the main one start the containers.
        reaper.exit_on_sigterm()
        self._keeper = threading.Thread(target=self._keep, name="smolagents-fork-pool", daemon=True)
        self._keeper.start()

    # -- for executors --

    def options_for(
        self, asked: Options, imports: Sequence[str], given: Collection[str] = ()
    ) -> Options:
        """Return the pool's options, with the executor's own taken from ``asked``.

        Raises:
            ConfigurationError: the executor asks for another container than the pool's.
        """
        return options_for(
            asked, imports, of_pool=self.options, pool=self.additional_imports, given=given
        )

    def acquire(self, timeout: float | None = None) -> KernelConnection:
        """Return a ready container for the caller alone; first come, first served.

        Args:
            timeout: seconds to wait; ``None``: ``acquire_timeout_seconds``.

        Raises:
            ExecutorStartError: no container became free in time, or none can be started.
            ExecutorClosedError: the pool has been closed.
        """
        seconds = self.acquire_timeout_seconds if timeout is None else timeout
        deadline = Deadline(seconds)
        waiter = Waiter()
        self._enqueue(waiter)
        try:
            while True:
                waiter.given.wait(deadline.remaining())
                connection = self._given(waiter, seconds)
                if connection.is_alive():
                    return connection
                self._replace(waiter)
        except BaseException:
            self._leave(waiter)
            raise

    async def acquire_async(self, timeout: float | None = None) -> KernelConnection:
        """Do as :meth:`acquire`, for asyncio: waiting needs no thread, cancelling leaves the queue.

        Args:
            timeout: seconds to wait; ``None``: ``acquire_timeout_seconds``.
        """
        seconds = self.acquire_timeout_seconds if timeout is None else timeout
        deadline = Deadline(seconds)
        loop, given = asyncio.get_running_loop(), asyncio.Event()

        def notify() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(given.set)

        waiter = Waiter(notify)
        self._enqueue(waiter)
        try:
            while True:
                with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                    await asyncio.wait_for(given.wait(), deadline.remaining())
                given.clear()
                connection = self._given(waiter, seconds)
                if await in_thread(connection.is_alive, "smolagents-fork-pool-check"):
                    return connection
                self._replace(waiter)
        except BaseException:
            self._leave(waiter)
            raise

    def release(self, connection: KernelConnection) -> None:
        """Note that an executor has closed its container. Idempotent."""
        with self._changed:
            self._in_use.discard(connection)
            self._changed.notify_all()

    def _enqueue(self, waiter: Waiter) -> None:
        with self._changed:
            if self._closed:
                raise ExecutorClosedError("the pool has been closed")
            self._waiters.append(waiter)
            self._hand_out()
            self._changed.notify_all()

    def _given(self, waiter: Waiter, seconds: float) -> KernelConnection:
        """Return the container that ``waiter`` was given.

        Raises:
            ExecutorStartError: it was given none in time, or the start for it failed.
        """
        with self._changed:
            if not waiter.given.is_set():
                raise ExecutorStartError(
                    f"no container became free in acquire_timeout_seconds={seconds}: "
                    f"{self._stats()}; raise max_size, or close executors that are no longer used"
                )
        if waiter.error is not None:
            raise waiter.error
        assert waiter.connection is not None
        return waiter.connection

    def _replace(self, waiter: Waiter) -> None:
        """Put ``waiter`` first in the queue, because the container it was given has died."""
        connection = waiter.connection
        with self._changed:
            if self._closed:
                raise ExecutorClosedError("the pool has been closed")
            waiter.wait_again()
            self._waiters.appendleft(waiter)
            if connection is not None:
                self._in_use.discard(connection)
            self._hand_out()
            self._changed.notify_all()
        if connection is not None:
            self._discard(connection)

    def _leave(self, waiter: Waiter) -> None:
        """Take ``waiter`` out of the queue; remove the container it may have been given."""
        with self._changed:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        connection = waiter.connection
        if connection is not None:
            self._discard(connection)
            self.release(connection)

    def stats(self) -> PoolStats:
        """Return the figures of this moment."""
        with self._changed:
            return self._stats()

    def _stats(self) -> PoolStats:
        return PoolStats(
            ready=len(self._ready),
            starting=self._starting,
            in_use=len(self._in_use),
            waiting=len(self._waiters),
            started=self._started,
            failed=self._failed,
            handed_out=self._handed_out,
            discarded=self._discarded,
        )

    def wait_until_ready(self, count: int | None = None, timeout: float = 60.0) -> bool:
        """Wait for ready containers; return whether there are enough.

        Args:
            count: of containers; ``None``: ``min_size``.
            timeout: seconds to wait at most.
        """
        wanted = self.min_size if count is None else count
        with self._changed:
            return self._changed.wait_for(lambda: len(self._ready) >= wanted, timeout)

    def close(self) -> None:
        """Remove the ready containers; executors keep theirs. Idempotent."""
        with self._changed:
            self._closed = True
            ready, self._ready = list(self._ready), deque()
            for waiter in self._waiters:
                waiter.give(error=ExecutorClosedError("the pool has been closed"))
            self._waiters.clear()
            self._changed.notify_all()
        for connection, _ in ready:
            connection.close()

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
        """Give ready containers to waiters, the oldest first. The caller holds the lock."""
        while self._ready and self._waiters:
            connection, _ = self._ready.popleft()
            self._in_use.add(connection)
            self._handed_out += 1
            self._waiters.popleft().give(connection)

    def _wanted(self) -> int:
        """Count the starts that are needed and allowed now. The caller holds the lock."""
        total = len(self._ready) + self._starting + len(self._in_use)
        missing = self.min_size + len(self._waiters) - len(self._ready) - self._starting
        free = self._concurrent_starts - self._starting
        return max(0, min(missing, self.max_size - total, free))

    def _keep(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                pause = self._not_before - time.monotonic()
                count = self._wanted() if pause <= 0 else 0
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
                    self._start_failed(error)
            for connection in old:
                self._discard(connection)

    def _next_check(self, pause: float) -> float | None:
        """Return the seconds until the next timed check. The caller holds the lock."""
        waits = [pause] if pause > 0 else []
        if len(self._ready) > self.min_size:
            waits.append(self._ready[0][1] + self.idle_seconds - time.monotonic())
        return max(0.01, min(waits)) if waits else None

    def _take_idle(self) -> list[KernelConnection]:
        """Take out ready containers that were idle too long. The caller holds the lock."""
        taken = []
        while len(self._ready) > self.min_size:
            connection, since = self._ready[0]
            if time.monotonic() - since < self.idle_seconds:
                break
            self._ready.popleft()
            taken.append(connection)
        return taken

    def _discard(self, connection: KernelConnection) -> None:
        connection.close()
        with self._changed:
            self._discarded += 1

    def _start_one(self) -> None:
        connection: KernelConnection | None = None
        provisioner: DockerProvisioner | None = None
        try:
            provisioner = DockerProvisioner(self.options.container)
            with self._image_lock:
                if self._image is None:
                    spec = self.options.image_spec(self.additional_imports)
                    self._image = provisioner.prepare_image(spec, report=lambda _line: None)
            connection = connection_to(provisioner, self.options, self._image)
            connection.open(self.options.limits.startup_timeout_seconds)
        except BaseException as error:
            if connection is not None:
                connection.close()
            elif provisioner is not None:
                provisioner.close()
            self._start_failed(error)
            if not isinstance(error, Exception):
                raise
            return
        with self._changed:
            self._starting -= 1
            self._started += 1
            self._pause = 0.0
            if not self._closed:
                self._ready.append((connection, time.monotonic()))
                self._hand_out()
                self._changed.notify_all()
                return
        connection.close()

    def _start_failed(self, error: BaseException) -> None:
        """Give the error to the first waiter; pause longer each time, to spare the engine."""
        with self._changed:
            self._starting -= 1
            self._failed += 1
            self._pause = min(_LONGEST_PAUSE_SECONDS, self._pause * 2 or _FIRST_PAUSE_SECONDS)
            self._not_before = time.monotonic() + self._pause
            if self._waiters:
                known = isinstance(error, ForkError)
                self._waiters.popleft().give(
                    error=error if known else ExecutorStartError(f"{error!r}")
                )
            self._changed.notify_all()
