"""The process that owns a sandbox, as text that a label or an annotation can have.

A process id alone is reused, and has another meaning on another machine or in another container. So
the text has the machine (this boot and these namespaces), the process id and its start time.

Everything that is removed because its owner has ended is removed by :func:`process_is_gone`. A
process is gone if the kernel says so. ``/proc`` alone does not: mounted with ``hidepid=2`` it hides
the processes of other users. In doubt an owner lives, and the lease ends its sandbox.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import secrets
import sys
import uuid

from ..system.forks import reset_in_child
from ..system.inventory import ELSEWHERE, GONE, RUNNING, OwnerProcess
from ..system.proc_table import command_of, process_exists, start_ticks

__all__ = [
    "check_owner",
    "owner_text",
    "parse_owner",
    "process_is_gone",
    "this_machine",
]

# Machine, process id and start time; others write such texts, too.
_TEXT = re.compile(r"([A-Za-z0-9._-]{1,100}):([1-9][0-9]{0,9}):([0-9]{1,20})")
_UNKNOWN_START = 0
_MOST_SHOWN = 80


def owner_text() -> str:
    """Return the text for this process."""
    return f"{this_machine()}:{os.getpid()}:{start_ticks(os.getpid()) or _UNKNOWN_START}"


def check_owner(owner: object) -> str:
    """Return a text that names an owner.

    Args:
        owner: text that anyone may have written.

    Raises:
        ValueError: it is not one.

    Example:
        >>> check_owner("machine:1:1")
        'machine:1:1'
    """
    if not isinstance(owner, str) or _TEXT.fullmatch(owner) is None:
        raise ValueError(f"{ascii(owner)[:_MOST_SHOWN]} does not name an owner")
    return owner


def parse_owner(owner: str, host: str, cluster: str = "") -> OwnerProcess:
    """Return the process that the text names.

    Args:
        owner: Owner as :func:`owner_text` returned it; empty if nobody has the sandbox.
        host: name of its machine; empty if unknown.
        cluster: Place of the sandbox in a cluster, such as its node; empty outside one.

    Raises:
        ValueError: the text does not name an owner.
    """
    if not owner:
        return OwnerProcess(host, None, ELSEWHERE, cluster=cluster)
    machine, pid, _ = check_owner(owner).split(":")
    number = int(pid)
    if machine != this_machine():
        return OwnerProcess(host, number, ELSEWHERE, cluster=cluster)
    host = host or platform.node()
    if process_is_gone(owner):
        return OwnerProcess(host, number, GONE, cluster=cluster)
    return OwnerProcess(host, number, RUNNING, command_of(number), cluster)


def process_is_gone(owner: str) -> bool:
    """Tell whether the kernel says that a process of this machine no longer runs.

    An owner on another machine, or one that cannot be identified, counts as alive.
    """
    parts = _TEXT.fullmatch(owner)
    if parts is None or parts[1] != this_machine():
        return False
    pid, started = int(parts[2]), int(parts[3])
    if not process_exists(pid):
        return True
    now = start_ticks(pid)
    return now is not None and started not in (_UNKNOWN_START, now)


@functools.cache
def this_machine() -> str:
    """Return a name for this boot of this machine and the namespaces that decide what a pid means.

    A clone of a virtual machine has its boot id, and a time namespace its own start times. So the
    name of the machine and that namespace count, too.
    """
    time = "/proc/self/ns/time"
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            facts = [file.read().strip(), platform.node(), str(os.stat("/proc/self/ns/pid").st_ino)]
        # Kernels before 5.6 have one time for all.
        facts.append(os.readlink(time) if os.path.lexists(time) else "")
    except OSError:
        if sys.platform == "linux":
            return f"unknown-{secrets.token_hex(8)}"  # without /proc: no pid can be compared
        facts = [platform.node(), f"{uuid.getnode():x}"]
    return hashlib.sha256("\n".join(facts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


# A forked copy may be in other namespaces.
reset_in_child(this_machine.cache_clear)
