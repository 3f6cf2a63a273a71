"""Counts of what this process has open: descriptors, threads, children, files, containers."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from smolagents_fork.proc_table import process_table

__all__ = ["HostState", "own_scratch", "resident_bytes", "settled", "waited_for"]


@dataclass(frozen=True)
class HostState:
    """Counts of one moment.

    Args:
        descriptors: open ones.
        threads: of Python.
        children: processes below this one, and theirs.
        folders: files and folders in the folder for temporary ones.
        containers: that carry this process's label.
    """

    descriptors: int
    threads: int
    children: int
    folders: int
    containers: int

    @classmethod
    def now(cls, containers: Callable[[], list[str]]) -> HostState:
        """Count.

        Args:
            containers: lists those of this process.
        """
        return cls(
            len(os.listdir("/proc/self/fd")),
            threading.active_count(),
            len(_descendants()),
            len(list(Path(tempfile.gettempdir()).iterdir())),
            len(containers()),
        )

    def beyond(self, before: HostState) -> dict[str, int]:
        """Return the counts that have grown since ``before``, by name, and by how much."""
        return {
            one.name: more
            for one in fields(self)
            if (more := getattr(self, one.name) - getattr(before, one.name)) > 0
        }


def resident_bytes() -> int:
    """Memory of this process that is not swapped out, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def settled(containers: Callable[[], list[str]], seconds: float) -> HostState:
    """Wait until this process has no container and nothing changes; return the counts.

    Args:
        containers: lists those of this process.
        seconds: to wait at most.
    """
    end, before = time.monotonic() + seconds, HostState.now(containers)
    while True:
        time.sleep(0.5)
        now = HostState.now(containers)
        if (now == before and not now.containers) or time.monotonic() > end:
            return now
        before = now


def waited_for(
    before: HostState, containers: Callable[[], list[str]], seconds: float
) -> dict[str, int]:
    """Wait until nothing is left beyond ``before``; return what is left after ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        left = HostState.now(containers).beyond(before)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.2)


@contextmanager
def own_scratch() -> Iterator[None]:
    """A folder for temporary files that only this process uses, so that they can be counted."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def _descendants() -> set[int]:
    table = process_table()
    found, new = set[int](), {os.getpid()}
    while new:
        new = {pid for pid, entry in table.items() if entry.parent in new} - found
        found |= new
    return found
