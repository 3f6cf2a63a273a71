"""Resource use of a child, read from ``/proc``."""

from __future__ import annotations

import os

from ..errors import ExecutorStartError
from ..results import ExecutorStats

__all__ = ["child_figures"]


def child_figures(pid: int | None, memory_limit_bytes: int | None) -> ExecutorStats:
    """Return a child's resource use now.

    Args:
        pid: Process id of the child; ``None`` without one.
        memory_limit_bytes: its limit; ``None`` without one.

    Raises:
        ExecutorStartError: the system has no ``/proc``, or there is no child.
    """
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1])
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
    except (OSError, ValueError) as error:
        raise ExecutorStartError(f"no statistics of process {pid}: {error}") from None
    ticks = os.sysconf("SC_CLK_TCK")
    return ExecutorStats(
        memory_bytes=resident * os.sysconf("SC_PAGE_SIZE"),
        memory_limit_bytes=memory_limit_bytes,
        cpu_seconds=(int(fields[11]) + int(fields[12])) / ticks,
        pids=int(fields[17]),
    )
