"""Inventory of the Wasm guests on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..system.inventory import Inventory, SandboxEntry
from ..system.local_processes import kill_process, owner_in
from ..system.proc_table import ProcessEntry, is_in_a_container, process_table
from .deno_binary import is_guest
from .guest_records import recorded_guests

__all__ = ["GuestInventory"]


class GuestInventory(Inventory):
    """Guests of every host process, found in ``/proc``; none on a system without it."""

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
        if entry.session == entry.pid
        and ((entry.pid, entry.start) in recorded or _looks_like_guest(entry))
    ]


def _looks_like_guest(entry: ProcessEntry) -> bool:
    """Tell whether a process has the command line of a guest, and runs Deno.

    A confined child can write any command line; the kernel knows which program it runs.
    """
    if not is_guest(entry.argv) or is_in_a_container(entry.pid):
        return False
    try:
        return os.path.basename(os.readlink(f"/proc/{entry.pid}/exe")).startswith("deno")
    except OSError:
        return False
