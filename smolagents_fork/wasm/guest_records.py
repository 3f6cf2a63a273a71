"""Records of guests: files of the host beside a guest's stop file, where no program can write.

A program in a guest may overwrite its command line, and one elsewhere may write that of a guest.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..folders.user_folder import user_folder
from ..system.proc_table import start_ticks

__all__ = ["record_guest", "recorded_guests"]

_SUFFIX = ".guest"
_NUMBERS = re.compile(r"\.([0-9]{1,18})\.([0-9]{1,18})\.guest$")


def record_guest(stop_file: str, pid: int) -> str:
    """Record a guest that this process has started; return the path of the record.

    Args:
        stop_file: Stop file of the guest.
        pid: process id of the guest.
    """
    path = f"{stop_file}.{pid}.{start_ticks(pid)}{_SUFFIX}"
    Path(path).touch(0o600)
    return path


def recorded_guests() -> set[tuple[int, int]]:
    """Return process ids and starts, in clock ticks, of the guests of this user's hosts."""
    records = Path(user_folder()).glob(f"*/*{_SUFFIX}")
    numbers = [_NUMBERS.search(path.name) for path in records]
    return {(int(match[1]), int(match[2])) for match in numbers if match is not None}
