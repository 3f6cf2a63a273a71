"""Processes of this machine, read from ``/proc``."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..errors import ExecutorError
from .inventory import GONE, RUNNING, Inventory, OwnerProcess, SandboxEntry

__all__ = [
    "LocalInventory",
    "ProcessEntry",
    "command_of",
    "has_proc",
    "is_in_a_container",
    "process_exists",
    "process_table",
    "start_ticks",
    "stat_fields",
    "thread_count",
]

_STATES = {"T": "stopped", "t": "stopped"}


@dataclass(frozen=True)
class ProcessEntry:
    """One process.

    Attributes:
        pid: its process id.
        parent: process id of its parent.
        session: process id of the leader of its session.
        argv: its command line.
        state: ``running`` or ``stopped``; one that waits for input runs.
        start: in clock ticks since boot; no other process with its process id has the same.
        started_at: seconds of the epoch.
        memory_bytes: resident memory.
    """

    pid: int
    parent: int
    session: int
    argv: tuple[str, ...]
    state: str
    start: int
    started_at: float
    memory_bytes: int


def has_proc() -> bool:
    """Tell whether this system has ``/proc``."""
    return os.path.exists("/proc/self/stat")


def process_table() -> dict[int, ProcessEntry]:
    """Return the processes that exist now by process id; none without ``/proc``."""
    if not has_proc():
        return {}
    with open("/proc/stat", encoding="ascii") as file:
        boot = next(float(line.split()[1]) for line in file if line.startswith("btime "))
    table = {}
    for name in os.listdir("/proc"):
        # A process may end at any moment.
        with contextlib.suppress(OSError, IndexError, ValueError):
            entry = _entry(int(name), boot) if name.isdigit() else None
            if entry is not None:
                table[entry.pid] = entry
    return table


def process_exists(pid: int) -> bool:
    """Tell whether the kernel has a process that has not ended; in doubt it has.

    ``/proc`` is not asked whether a process is there: it may hide those of other users.

    Example:
        >>> process_exists(os.getpid())
        True
    """
    if sys.platform == "win32":
        return True  # a signal would end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # of another user
    fields = _own_stat_fields(pid)
    # A zombie has ended, though its process id is still in use. One with threads has only lost the
    # first of them.
    return fields is None or fields[0] not in ("Z", "X") or _threads(fields) > 1


def start_ticks(pid: int) -> int | None:
    """Return a process's start in clock ticks since boot; ``None`` where ``/proc`` does not say."""
    fields = _own_stat_fields(pid)
    return None if fields is None else int(fields[19])


def thread_count(pid: int) -> int | None:
    """Return how many threads a process has; ``None`` if ``/proc`` does not say."""
    fields = stat_fields(pid)
    return None if fields is None else _threads(fields)


def _threads(fields: list[str]) -> int:
    return int(fields[17])


def _own_stat_fields(pid: int) -> list[str] | None:
    """Return the fields as :func:`stat_fields`, if ``/proc`` is of this PID namespace."""
    try:
        # Mounted for another namespace, it has other processes with these numbers.
        if os.readlink("/proc/self") != str(os.getpid()):
            return None
    except OSError:
        return None
    return stat_fields(pid)


def stat_fields(pid: int) -> list[str] | None:
    """Return the fields of a process's ``stat`` after its name; ``None`` if it cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def is_in_a_container(pid: int) -> bool:
    """Tell whether a process has process ids of another namespace, too.

    Example:
        >>> is_in_a_container(os.getpid())
        False
    """
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            numbers = next((line.split()[1:] for line in file if line.startswith("NSpid:")), [])
    except OSError:
        return False
    return len(numbers) > 1


def command_of(pid: int) -> str:
    """Return a process's command line as text; empty if it cannot be read."""
    try:
        return " ".join(_argv(pid))
    except OSError:
        return ""


def _argv(pid: int) -> tuple[str, ...]:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        text = file.read().decode("utf-8", "replace")
    return tuple(text.rstrip("\0").split("\0"))


def _entry(pid: int, boot: float) -> ProcessEntry | None:
    fields = stat_fields(pid)
    if fields is None or fields[0] in "ZX":
        return None  # it has ended, though its process id is still in use
    return ProcessEntry(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        argv=_argv(pid),
        state=_STATES.get(fields[0], "running"),
        start=int(fields[19]),
        started_at=boot + int(fields[19]) / os.sysconf("SC_CLK_TCK"),
        memory_bytes=int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
    )


class LocalInventory(Inventory, ABC):
    """Sandboxes that are processes, found in ``/proc``; none on a system without it."""

    #: Name of their executor.
    executor: ClassVar[str]

    @abstractmethod
    def owners(self, table: Mapping[int, ProcessEntry]) -> dict[int, int]:
        """Return the process id of each sandbox, with that of the process that started it."""

    def sandboxes(self) -> list[SandboxEntry]:
        table = process_table()
        return [
            SandboxEntry(
                id=f"{self.executor}-{pid}",
                executor=self.executor,
                owner=_owner_in(table, owner),
                started_at=table[pid].started_at,
                state=table[pid].state,
                memory_bytes=table[pid].memory_bytes,
            )
            for pid, owner in sorted(self.owners(table).items())
        ]

    def kill(self, sandbox: SandboxEntry) -> None:
        pid = int(sandbox.id.rpartition("-")[2])
        with contextlib.suppress(ProcessLookupError):
            # A process id can be reused; this names the process itself.
            process = os.pidfd_open(pid)
            try:
                if pid in self.owners(process_table()):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
            except PermissionError as error:
                raise ExecutorError(f"{sandbox.id} belongs to another user: {error}") from None
            finally:
                os.close(process)


def _owner_in(table: Mapping[int, ProcessEntry], pid: int) -> OwnerProcess:
    """Return the owner with this process id."""
    host = table.get(pid)
    if host is not None:
        return OwnerProcess(platform.node(), pid, RUNNING, " ".join(host.argv))
    # The table may lack processes of other users.
    if pid > 0 and process_exists(pid):
        return OwnerProcess(platform.node(), pid, RUNNING)
    return OwnerProcess(platform.node(), None, GONE)
