"""Event loop of a program, kept from run to run, in which its top-level ``await`` runs.

It is sent to kernels as a single file, so it imports the standard library only.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
import time
from typing import Any

__all__ = ["ProgramLoop"]

#: Longest wait for idle threads of an event loop to end, in seconds.
_POOL_SECONDS = 1.0


class ProgramLoop:
    """The loop of a program's top-level ``await``, made when it is first asked for."""

    def __init__(self) -> None:
        #: The loop; ``None`` before it is made.
        self.loop: asyncio.AbstractEventLoop | None = None

    def current(self) -> asyncio.AbstractEventLoop:
        """Return the loop; a new one if it is of no more use. It is not called while it runs."""
        # Closed by the program, or left running by a stop.
        if self.loop is None or self.loop.is_closed() or self.loop.is_running():
            self.loop = asyncio.new_event_loop()
        return self.loop

    def run(self, coroutine: Any) -> Any:
        """Run a coroutine to its end; one that is stopped takes all tasks of the loop along."""
        loop = self.current()
        earlier = set(threading.enumerate())
        # Its threads end with the run, as all do that the program may not use in a later one.
        pool = concurrent.futures.ThreadPoolExecutor(thread_name_prefix="asyncio")
        loop.set_default_executor(pool)
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except Exception:
            raise
        except BaseException:
            with contextlib.suppress(BaseException):
                tasks = asyncio.all_tasks(loop)
                for pending_task in tasks:
                    pending_task.cancel()
                loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            raise
        finally:
            pool.shutdown(wait=False)
            end = time.monotonic() + _POOL_SECONDS
            for thread in set(threading.enumerate()) - earlier:
                if thread.name.startswith("asyncio_"):
                    thread.join(max(0.0, end - time.monotonic()))
