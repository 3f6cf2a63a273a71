"""Inventory of the confined children on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from ..system.inventory import Inventory, SandboxEntry
from ..system.local_processes import kill_process, owner_in
from ..system.proc_table import ProcessEntry, is_in_a_container, process_table
from .spawn import BOOTSTRAP

__all__ = ["ChildInventory", "fork_servers"]


class ChildInventory(Inventory):
    """Children of every fork server, found in ``/proc``; none on a system without it."""

    def sandboxes(self) -> list[SandboxEntry]:
        return _children(process_table())

    def kill(self, sandbox: str) -> None:
        kill_process(sandbox, _children)


def fork_servers(table: Mapping[int, ProcessEntry]) -> set[int]:
    """Return the fork servers, which run no code of others and so have their own command line.

    Args:
        table: processes of this machine.
    """
    similar = {
        pid for pid, entry in table.items() if BOOTSTRAP in entry.argv and entry.session == pid
    }
    # Children have the same command line, unless they have overwritten it.
    return {
        pid for pid in similar if table[pid].parent not in similar and not is_in_a_container(pid)
    }


def _children(table: Mapping[int, ProcessEntry]) -> list[SandboxEntry]:
    servers = fork_servers(table)
    return [
        SandboxEntry(
            id=f"process-{pid}",
            executor="process",
            owner=owner_in(table, table[table[pid].parent].parent),
            started_at=table[pid].started_at,
            state=table[pid].state,
            memory_bytes=table[pid].memory_bytes,
        )
        for pid in sorted(table)
        # A child leads a session once it is set up.
        if table[pid].parent in servers and table[pid].session == pid
    ]
