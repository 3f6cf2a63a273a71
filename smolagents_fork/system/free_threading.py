"""Refusal of Python's free-threaded builds where code needs the GIL.

The interpreter's counters are shared by the threads of a program, and a child's state by its signal
handlers and threads: without the lock a limit would be counted wrongly, or not at all.
"""

from __future__ import annotations

import sysconfig

from ..errors import ExecutorStartError

__all__ = ["check_global_lock"]


def check_global_lock(owner: str) -> None:
    """Refuse a free-threaded build of Python, also one that runs with the lock.

    Args:
        owner: class of what rests on the lock.

    Raises:
        ExecutorStartError: names what to use in its place.

    Example:
        >>> check_global_lock("ProcessExecutor")
    """
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise ExecutorStartError(
            f"{owner} needs the GIL, but this Python is a free-threaded build: use "
            "executor_type='docker', or a Python with the GIL"
        )
