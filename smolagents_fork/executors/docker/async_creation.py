"""DockerExecutor for asyncio: made beside the loop, and removed when its task is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...sandboxes.docker import reaper
from ..async_calls import in_thread
from .session import KernelSession

if TYPE_CHECKING:
    from .executor import DockerExecutor
    from .pool import DockerPool

__all__ = ["created"]


async def created(
    make: Callable[[KernelSession | None], DockerExecutor], pool: DockerPool | None
) -> DockerExecutor:
    """What ``make`` returns, while the event loop goes on.

    Waiting for a pool's container holds no thread. When the task is cancelled, what was started is
    removed behind it.

    Args:
        make: the constructor; gets the pool's container.
        pool: where that comes from.
    """
    # Here, because the constructor will not run in the main thread.
    reaper.exit_on_sigterm()
    session = None if pool is None else await pool.acquire_async()

    def work() -> DockerExecutor:
        try:
            return make(session)
        except BaseException:
            if pool is not None and session is not None:
                session.close()
                pool.release(session)
            raise

    made = in_thread(work, "smolagents-fork-create")
    try:
        return await asyncio.shield(made)
    except asyncio.CancelledError:
        made.add_done_callback(_clean_up_behind)
        raise


def _clean_up_behind(made: asyncio.Future[DockerExecutor]) -> None:
    """Close an executor whose awaiter has gone."""
    if not made.cancelled() and made.exception() is None:
        made.result().cleanup()
