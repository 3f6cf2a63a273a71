"""Inventory of the Wasm guests on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from ..inventory import Inventory, SandboxEntry
from ..local_processes import kill_process, owner_in
from ..proc_table import ProcessEntry, process_table
from .deno_binary import is_guest

__all__ = ["GuestInventory"]


class GuestInventory(Inventory):
    """Guests of every host process, found in ``/proc``; none on a system without it."""

    def sandboxes(self) -> list[SandboxEntry]:
        return _guests(process_table())

    def kill(self, sandbox: str) -> None:
        kill_process(sandbox, _guests)


def _guests(table: Mapping[int, ProcessEntry]) -> list[SandboxEntry]:
    return [
        SandboxEntry(
            id=f"wasm-{entry.pid}",
            executor="wasm",
            owner=owner_in(table, entry.parent),
            started_at=entry.started_at,
            state=entry.state,
            memory_bytes=entry.memory_bytes,
        )
        for entry in table.values()
        if is_guest(entry.argv)
    ]
