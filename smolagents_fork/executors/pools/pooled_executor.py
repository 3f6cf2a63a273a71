"""Base of the executors that may take their sandbox from a pool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from ..calls import in_thread
from ..session.sandbox_executor import SandboxExecutor
from .pool_options import PooledArguments
from .sandbox_pool import Closeable, SandboxPool

__all__ = ["PooledExecutor"]

_Sandbox = TypeVar("_Sandbox", bound=Closeable)
# typing.Self is there from 3.11 on; the fork runs on 3.10 too.
_Self = TypeVar("_Self", bound="PooledExecutor[Any]")


class PooledExecutor(SandboxExecutor, Generic[_Sandbox]):
    """An executor that takes its sandbox from a pool if it was given one."""

    #: Class of the pools.
    pool_class: ClassVar[type[SandboxPool[Any, Any]]]
    _pool: SandboxPool[_Sandbox, Any] | None = None
    _pooled: _Sandbox | None = None

    def _join(self, pool: SandboxPool[_Sandbox, Any] | None, options: PooledArguments) -> None:
        """Use a pool; called by the constructor before ``start()``.

        Args:
            pool: the pool; ``None``: the executor starts its sandbox itself.
        """
        self._pool, self._pooled, self._tenant = pool, options.ready, options.tenant
        self._control.log.tenant = options.tenant

    def _take(self) -> _Sandbox | None:
        """Return the sandbox of the pool, and wait for one if need be; ``None`` without a pool."""
        if self._pool is not None and self._pooled is None:
            self._pooled = self._pool.acquire(tenant=self._tenant)
        return self._pooled

    def _cleanup(self) -> None:
        super()._cleanup()
        if self._pool is not None and self._pooled is not None:
            self._pool.release(self._pooled)

    @classmethod
    async def _create_async(
        cls: type[_Self], arguments: Sequence[Any], keywords: Mapping[str, Any]
    ) -> _Self:
        """Call the constructor without blocking the event loop.

        Waiting for a pool needs no thread. When the task is cancelled, the executor that is being
        made is closed.
        """
        pool = cls.pool_class.check("pool", keywords.get("pool"))
        tenant = keywords.get("tenant", "")
        pooled = None if pool is None else await pool.acquire_async(tenant=tenant)

        constructor: Callable[..., _Self] = cls

        def create() -> _Self:
            try:
                return constructor(*arguments, ready=pooled, **keywords)
            except BaseException:
                if pool is not None and pooled is not None:
                    pooled.close()
                    pool.release(pooled)
                raise

        created = in_thread(create, "smolagents-fork-create")
        try:
            return await asyncio.shield(created)
        except asyncio.CancelledError:
            created.add_done_callback(_clean_up_abandoned)
            raise


def _clean_up_abandoned(created: asyncio.Future[Any]) -> None:
    """Close an executor whose task was cancelled."""
    if not created.cancelled() and created.exception() is None:
        created.result().cleanup()
