"""Reports to an application that more sandboxes are wanted than there are."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

__all__ = ["Demand", "OnDemand"]

#: Takes the sandboxes that are needed and the most that the pool may have.
OnDemand = Callable[[int, int], object]

_logger = logging.getLogger(__name__)


class Demand:
    """Calls a function of the application, in a thread of its own, one call at a time.

    Reports that arrive during a call are one report: the newest. An error of the function is
    logged.

    Args:
        function: the application's.
    """

    def __init__(self, function: OnDemand) -> None:
        self._function = function
        self._changed = threading.Condition()
        self._newest: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def report(self, needed: int, capacity: int) -> None:
        """Report demand; returns at once.

        Args:
            needed: sandboxes that executors have or could have if there were enough.
            capacity: most sandboxes of the pool.
        """
        with self._changed:
            if self._closed:
                return
            self._newest = (needed, capacity)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="smolagents-fork-pool-demand", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def close(self) -> None:
        """Report nothing more; a call that runs goes on. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._newest is not None)
                if self._closed or self._newest is None:
                    return
                (needed, capacity), self._newest = self._newest, None
            try:
                self._function(needed, capacity)
            except Exception:
                _logger.exception("on_demand(%d, %d) failed", needed, capacity)
