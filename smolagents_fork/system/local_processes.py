"""Sandboxes that are processes of this machine: their owners and their end."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from ..errors import ExecutorError
from .inventory import GONE, RUNNING, Inventory, OwnerProcess, SandboxEntry
from .proc_table import ProcessEntry, process_exists, process_table

__all__ = ["LocalInventory"]


class LocalInventory(Inventory, ABC):
    """Sandboxes that are processes, found in ``/proc``; none on a system without it."""

    #: Name of their executor.
    executor: ClassVar[str]

    @abstractmethod
    def owners(self, table: Mapping[int, ProcessEntry]) -> dict[int, int]:
        """Return the process id of each sandbox, with that of the process that started it.

        Args:
            table: processes of this machine.
        """

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

    def kill(self, sandbox: str) -> None:
        pid = int(sandbox.rpartition("-")[2])
        with contextlib.suppress(ProcessLookupError):
            # A process id can be reused; this names the process itself.
            process = os.pidfd_open(pid)
            try:
                if sandbox == f"{self.executor}-{pid}" and pid in self.owners(process_table()):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
            except PermissionError as error:
                raise ExecutorError(f"{sandbox} belongs to another user: {error}") from None
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
