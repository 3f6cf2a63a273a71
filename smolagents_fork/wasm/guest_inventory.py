"""Inventory of the Wasm guests on this machine.

A guest is recorded in a file of the host beside its stop file, where no program can write: one in a
guest may overwrite its command line, and one elsewhere may write that of a guest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from ..folders.user_folder import user_folder
from ..system.proc_table import LocalInventory, ProcessEntry, start_ticks

__all__ = ["GuestInventory", "record_guest"]

_SUFFIX = ".guest"
_NUMBERS = re.compile(r"\.([0-9]{1,18})\.([0-9]{1,18})\.guest$")


def record_guest(stop_file: str, pid: int) -> str:
    """Record a guest that this process has started; return the path of the record."""
    path = f"{stop_file}.{pid}.{start_ticks(pid)}{_SUFFIX}"
    Path(path).touch(0o600)
    return path


class GuestInventory(LocalInventory):
    """Guests of this user's host processes."""

    executor: ClassVar[str] = "wasm"

    def owners(self, table: Mapping[int, ProcessEntry]) -> dict[int, int]:
        """Return the guests that are recorded, with the process that started each."""
        paths = Path(user_folder()).glob(f"*/*{_SUFFIX}")
        matches = [_NUMBERS.search(path.name) for path in paths]
        recorded = {(int(match[1]), int(match[2])) for match in matches if match is not None}
        return {
            entry.pid: entry.parent
            for entry in table.values()
            if (entry.pid, entry.start) in recorded
        }
