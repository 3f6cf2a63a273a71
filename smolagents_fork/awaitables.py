"""Results of asynchronous functions, for callers that are not asynchronous."""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections.abc import AsyncIterator
from typing import Any

__all__ = ["complete"]


def complete(result: Any) -> Any:
    """Return what an awaitable gives, the items of an asynchronous generator, else ``result``.

    An event loop of its own runs here until the value is there. Where the thread has a loop that
    runs, as in a notebook, that is in another thread.

    Args:
        result: what a function returned.

    Example:
        >>> async def double(number):
        ...     return 2 * number
        >>> complete(double(21)), complete(42)
        (42, 42)
    """
    if not inspect.isawaitable(result) and not isinstance(result, AsyncIterator):
        return result
    # Expensive, and most functions are not asynchronous.
    import asyncio
    from concurrent.futures import Future

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_value(result))
    outcome: Future[Any] = Future()

    def run() -> None:
        try:
            outcome.set_result(asyncio.run(_value(result)))
        except BaseException as error:  # raised again by the thread that waits
            outcome.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="awaitable", daemon=True).start()
    return outcome.result()


async def _value(result: Any) -> Any:
    while inspect.isawaitable(result):
        result = await result
    if isinstance(result, AsyncIterator):
        return [item async for item in result]
    return result
