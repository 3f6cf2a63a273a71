"""Inventory of the Wasm guests on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from ..system.inventory import Inventory, SandboxEntry
from ..system.local_processes import kill_process, owner_in
from ..system.proc_table import ProcessEntry, process_table
from .guest_records import recorded_guests

__all__ = ["GuestInventory"]


class GuestInventory(Inventory):
    """Guests of this user's host processes, found in ``/proc``; none on a system without it."""

    def sandboxes(self) -> list[SandboxEntry]:
        return _guests(process_table())

    def kill(self, sandbox: str) -> None:
        kill_process(sandbox, _guests)


def _guests(table: Mapping[int, ProcessEntry]) -> list[SandboxEntry]:
    recorded = recorded_guests()
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
        if (entry.pid, entry.start) in recorded
    ]
