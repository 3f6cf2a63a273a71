"""Processes of a cluster's node, found from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil

__all__ = ["alive", "descendants", "end", "in_session", "program"]


def alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    return False


def program(pid: int) -> str:
    """Return the name of a process's executable file, or nothing."""
    with contextlib.suppress(psutil.Error):
        return Path(psutil.Process(pid).exe()).name
    return ""


def in_session(session: int, word: str) -> set[int]:
    """Return the processes of a session.

    Args:
        session: its id, which the system may have given to another one since.
        word: in the command of one of its processes; otherwise it is another session.
    """
    found, named = set(), False
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getsid(process.pid) == session and alive(process.pid):
                found.add(process.pid)
                named |= any(word in argument for argument in process.cmdline())
    return found if named else set()


def descendants(pid: int) -> set[int]:
    """Return the processes that a process has started, and those that they have started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return {child.pid for child in psutil.Process(pid).children(recursive=True)}
    return set()


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
