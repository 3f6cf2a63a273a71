"""Processes of a cluster's node, found from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["alive", "cpu_seconds", "descendants", "end", "in_session", "program"]


def _stat(pid: int) -> list[str]:
    """Return the fields of a process from its state on; none if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in "ZX"


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has taken, in seconds; 0 if it is gone."""
    fields = _stat(pid)
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def program(pid: int) -> str:
    """Return the name of a process's executable file, or nothing."""
    with contextlib.suppress(OSError):
        return Path(os.readlink(f"/proc/{pid}/exe")).name
    return ""


def in_session(session: int, word: str) -> set[int]:
    """Return the processes of a session.

    Args:
        session: its id, which the system may have given to another one since.
        word: in the command of one of its processes; otherwise it is another session.
    """
    found, named = set(), False
    for name in os.listdir("/proc"):
        fields = _stat(int(name)) if name.isdigit() else []
        if fields and fields[0] not in "ZX" and int(fields[3]) == session:
            found.add(int(name))
            with contextlib.suppress(OSError):
                named |= word in Path(f"/proc/{name}/cmdline").read_text(errors="replace")
    return found if named else set()


def descendants(pid: int) -> set[int]:
    """Return the processes that a process has started, and those that they have started."""
    parents = {}
    for name in os.listdir("/proc"):
        fields = _stat(int(name)) if name.isdigit() else []
        if fields:
            parents[int(name)] = int(fields[1])
    found: set[int] = set()
    new = {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


def end(find: Callable[[], set[int]], seconds: float = 60.0) -> None:
    """Kill what ``find`` returns until it returns nothing.

    Args:
        find: returns process ids.
        seconds: to wait at most.
    """
    deadline = time.monotonic() + seconds
    while pids := find():
        assert time.monotonic() < deadline, f"processes {sorted(pids)} cannot be ended"
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
