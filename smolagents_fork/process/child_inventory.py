"""Inventory of the confined children on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..system.proc_table import LocalInventory, ProcessEntry, is_in_a_container
from .spawn import BOOTSTRAP

__all__ = ["ChildInventory"]


class ChildInventory(LocalInventory):
    """Children of every fork server."""

    executor: ClassVar[str] = "process"

    def owners(self, table: Mapping[int, ProcessEntry]) -> dict[int, int]:
        """Return the children. A fork server runs no code of others, so its command is its own."""
        similar = {
            pid for pid, entry in table.items() if BOOTSTRAP in entry.argv and entry.session == pid
        }
        # Children have the same command line, unless they have overwritten it.
        servers = {
            pid
            for pid in similar
            if table[pid].parent not in similar and not is_in_a_container(pid)
        }
        # A child leads a session once it is set up.
        return {
            pid: table[entry.parent].parent
            for pid, entry in table.items()
            if entry.parent in servers and entry.session == pid
        }
