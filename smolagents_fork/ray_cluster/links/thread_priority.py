"""Priority of the supervisor's threads that wait for messages and compute next to nothing."""

from __future__ import annotations

import contextlib
import os
import sys
import threading

__all__ = ["use_normal_priority"]


def use_normal_priority() -> None:
    """Give the calling thread the priority of the node's other processes.

    Ray starts its workers with a niceness of 15 (``RAY_worker_niceness``), for they compute. A
    thread that passes messages on would wait for every computing process of the node.

    Linux alone has priorities of threads (setpriority(2)), and allows a higher one to root and
    within ``RLIMIT_NICE``. Elsewhere the thread keeps what it has. What it starts later inherits
    its priority, so sandboxes are started before.
    """
    if sys.platform != "linux":
        return
    thread = threading.get_native_id()
    with contextlib.suppress(OSError):
        if os.getpriority(os.PRIO_PROCESS, thread) > 0:
            os.setpriority(os.PRIO_PROCESS, thread, 0)
