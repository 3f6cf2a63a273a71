"""The process that owns a sandbox, as text that a label or an annotation can have.

A process id alone is reused, and has another meaning on another machine or in another container. So
the text has the machine (boot id and PID namespace), the process id and its start time.
"""

from __future__ import annotations

import functools
import os
import platform
import uuid

from ..inventory import ELSEWHERE, GONE, RUNNING, Owner
from ..proc_table import command_of

__all__ = ["named_owner", "owner_text", "process_is_gone", "this_machine"]


def owner_text() -> str:
    """Return the text for this process."""
    return f"{this_machine()}:{os.getpid()}:{_start_time(os.getpid()) or 0}"


def named_owner(owner: str, host: str, cluster: str = "") -> Owner:
    """Return the process that the text names.

    Args:
        owner: as :func:`owner_text` returned it.
        host: name of its machine; empty if unknown.
        cluster: that the sandbox belongs to; empty for none.
    """
    machine, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    number = int(pid) if pid.isdigit() else None
    if machine != this_machine() or number is None:
        return Owner(host, number, ELSEWHERE, cluster=cluster)
    host = host or platform.node()
    if process_is_gone(owner):
        return Owner(host, number, GONE, cluster=cluster)
    return Owner(host, number, RUNNING, command_of(number), cluster)


def process_is_gone(owner: str) -> bool:
    """Tell whether the text names a process of this machine that no longer runs.

    An owner on another machine, or one that cannot be identified, counts as alive.

    Args:
        owner: as :func:`owner_text` returned it.
    """
    parts = owner.split(":")
    if len(parts) != 3 or parts[0] != this_machine() or not parts[1].isdigit():
        return False
    started = _start_time(int(parts[1]))
    if started is None:
        return not _exists(int(parts[1]))
    return str(started) != parts[2]


@functools.cache
def this_machine() -> str:
    """Return a name for this boot of this machine and this PID namespace."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        return f"{boot}-{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return f"{platform.node()}-{uuid.getnode():x}"


def _start_time(pid: int) -> int | None:
    """Return a process's start in clock ticks since boot; ``None`` where /proc does not say."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rsplit(b")", 1)[1].split()
    except (OSError, IndexError):
        return None
    # A zombie has ended, though its process id is still in use.
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _exists(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        pass
    if os.path.isdir("/proc/self"):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
