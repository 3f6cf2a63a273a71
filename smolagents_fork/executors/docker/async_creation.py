"""DockerExecutor for asyncio: made beside the loop, and removed when its task is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from ...sandboxes.docker import reaper
from ..async_calls import in_thread
from .connection import KernelConnection

__all__ = ["created"]


class _Closeable(Protocol):
    def cleanup(self) -> None: ...


class _Pool(Protocol):
    async def acquire_async(self) -> KernelConnection: ...
    def release(self, connection: KernelConnection, /) -> None: ...


_Made = TypeVar("_Made", bound=_Closeable)


async def created(make: Callable[[KernelConnection | None], _Made], pool: _Pool | None) -> _Made:
    """What ``make`` returns, while the event loop goes on.

    Waiting for a pool's container holds no thread. When the task is cancelled, what was started is
    removed behind it.

    Args:
        make: the constructor; gets the pool's container.
        pool: where that comes from.
    """
    # Here, because the constructor will not run in the main thread.
    reaper.exit_on_sigterm()
    connection = None if pool is None else await pool.acquire_async()

    def work() -> _Made:
        try:
            return make(connection)
        except BaseException:
            if pool is not None and connection is not None:
                connection.close()
                pool.release(connection)
            raise

    made = in_thread(work, "smolagents-fork-create")
    try:
        return await asyncio.shield(made)
    except asyncio.CancelledError:
        made.add_done_callback(_clean_up_behind)
        raise


def _clean_up_behind(made: asyncio.Future[_Made]) -> None:
    """Close an executor whose awaiter has gone."""
    if not made.cancelled() and made.exception() is None:
        made.result().cleanup()
