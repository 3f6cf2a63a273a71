"""Inventory of the confined children on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from ..inventory import Inventory, SandboxEntry
from ..local_processes import kill_process, owner_in
from ..proc_table import ProcessEntry, process_table
from .spawn import BOOTSTRAP

__all__ = ["ChildInventory"]


class ChildInventory(Inventory):
    """Children of every fork server, found in ``/proc``; none on a system without it."""

    def sandboxes(self) -> list[SandboxEntry]:
        return _children(process_table())

    def kill(self, sandbox: str) -> None:
        kill_process(sandbox, _children)


def _children(table: Mapping[int, ProcessEntry]) -> list[SandboxEntry]:
    # A child has the command line of its fork server, which no other program has.
    servers = {pid for pid, entry in table.items() if BOOTSTRAP in entry.argv}
    return [
        SandboxEntry(
            id=f"process-{pid}",
            executor="process",
            owner=owner_in(table, table[table[pid].parent].parent),
            started_at=table[pid].started_at,
            state=table[pid].state,
            memory_bytes=table[pid].memory_bytes,
        )
        for pid in sorted(servers)
        # A child leads a session; the spare process of a fork server has no program.
        if table[pid].parent in servers and table[pid].session == pid
    ]
