"""Sandboxes that are processes of this machine: their owners and their end."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
from collections.abc import Callable, Mapping

from ..errors import ExecutorError
from .inventory import GONE, RUNNING, OwnerProcess, SandboxEntry
from .proc_table import ProcessEntry, process_exists, process_table

__all__ = ["kill_process", "owner_in"]


def owner_in(table: Mapping[int, ProcessEntry], pid: int) -> OwnerProcess:
    """Return the owner with this process id.

    Args:
        table: processes of this machine.
        pid: Process id of the process that started the sandbox.
    """
    host = table.get(pid)
    if host is not None:
        return OwnerProcess(platform.node(), pid, RUNNING, " ".join(host.argv))
    # The table may lack processes of other users.
    if pid > 0 and process_exists(pid):
        return OwnerProcess(platform.node(), pid, RUNNING)
    return OwnerProcess(platform.node(), None, GONE)


def kill_process(
    sandbox: str, entries: Callable[[Mapping[int, ProcessEntry]], list[SandboxEntry]]
) -> None:
    """Kill a sandbox that is a process; no error if it is gone.

    Args:
        sandbox: Id of the sandbox, which ends in the process id.
        entries: lists the sandboxes in a table of processes.

    Raises:
        ExecutorError: this user may not.
    """
    pid = int(sandbox.rpartition("-")[2])
    with contextlib.suppress(ProcessLookupError):
        # A process id can be reused; this names the process itself.
        process = os.pidfd_open(pid)
        try:
            if any(entry.id == sandbox for entry in entries(process_table())):
                signal.pidfd_send_signal(process, signal.SIGKILL)
        except PermissionError as error:
            raise ExecutorError(f"{sandbox} belongs to another user: {error}") from None
        finally:
            os.close(process)
