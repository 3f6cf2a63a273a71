"""Executors made without blocking the event loop, perhaps with a sandbox that a pool gives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ..calls import in_thread
from .pool_queue import tenant_of
from .sandbox_pool import SandboxPool, pool_of

__all__ = ["created"]


class _Cleanable(Protocol):
    def cleanup(self) -> None: ...


_Made = TypeVar("_Made", bound=_Cleanable)


async def created(
    make: Callable[..., _Made],
    pool_class: type[SandboxPool[Any, Any]],
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
) -> _Made:
    """Call an executor's constructor without blocking the event loop.

    Waiting for a pool needs no thread. When the task is cancelled, the executor that is being made
    is closed.

    Args:
        make: the constructor; gets what the pool has given as ``ready``.
        pool_class: class of the executor's pools.
        arguments: of the constructor.
        keywords: of the constructor, perhaps with ``pool`` and ``tenant``.
    """
    pool = pool_of(pool_class)("pool", keywords.get("pool"))
    tenant = tenant_of("tenant", keywords.get("tenant", ""))
    taken = None if pool is None else await pool.acquire_async(tenant=tenant)

    def work() -> _Made:
        try:
            return make(*arguments, ready=taken, **keywords)
        except BaseException:
            if pool is not None and taken is not None:
                taken.close()
                pool.release(taken)
            raise

    made = in_thread(work, "smolagents-fork-create")
    try:
        return await asyncio.shield(made)
    except asyncio.CancelledError:
        made.add_done_callback(_clean_up_abandoned)
        raise


def _clean_up_abandoned(made: asyncio.Future[_Made]) -> None:
    """Close an executor whose task was cancelled."""
    if not made.cancelled() and made.exception() is None:
        made.result().cleanup()
