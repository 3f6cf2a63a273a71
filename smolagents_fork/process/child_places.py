"""Places where confined children run: this machine, or an engine's nodes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from ..errors import ExecutorStartError
from ..folders.file_store import FileStore
from ..folders.removal import discard_tree
from ..folders.user_folder import temporary_folder
from ..folders.work_folder import WorkFolder
from ..guest.frames import Kind
from ..guest.guest_process import GuestProcess
from ..results import ExecutorStats
from ..system.proc_table import stat_fields
from ..system.shortages import naming_shortages
from .confinement_report import Bounds
from .restrictions.syscalls import NetworkScope
from .sandbox_paths import Layout
from .spawn import spawn

__all__ = ["ChildEngine", "ChildPlace", "ChildRequest", "LocalChildren", "child_figures"]


@dataclass(frozen=True)
class ChildRequest:
    """Limits and access rights of the children of one executor.

    Attributes:
        imports: modules programs may import.
        network: what they may reach.
        bounds: their limits; the place completes paths.
        max_value_bytes: largest encoded value in either direction.
        start_seconds: limit of a start.
    """

    imports: tuple[str, ...]
    network: NetworkScope
    bounds: Bounds
    max_value_bytes: int
    start_seconds: float


class ChildPlace(Protocol):
    """Starts children that share a folder, one after the other."""

    @property
    def described(self) -> str:
        """Sandbox, node and tenant for messages; empty on this machine."""

    @property
    def folder(self) -> str | None:
        """The only folder a child may write to; ``None`` before the first start."""

    def start(self, kinds: dict[Kind, int]) -> GuestProcess:
        """Start a child, which waits for its SETUP frame.

        Args:
            kinds: frames that are accepted from it.

        Raises:
            ExecutorStartError: it did not start; says why.
        """

    def files(self) -> FileStore:
        """Return the files of the folder, also while a program runs."""

    def stats(self, pid: int | None) -> ExecutorStats:
        """Return a child's resource use now.

        Args:
            pid: of the child on its machine.

        Raises:
            ExecutorError: there is no child.
        """

    def remove(self) -> None:
        """Remove the folder. Idempotent, safe in a finaliser."""


@runtime_checkable
class ChildEngine(Protocol):
    """An engine whose nodes run confined children."""

    def children(self, request: ChildRequest, *, note: Callable[[str], None]) -> ChildPlace:
        """Return a place for the children of one executor.

        Args:
            request: what they may do.
            note: takes a line for the user's log.

        Raises:
            EngineUnavailableError: the engine does not answer.
        """


class LocalChildren:
    """This machine.

    Args:
        layout: where a child finds modules.
        bounds: limits of a child; the folder is added.
    """

    #: There is no other place on this machine.
    described = ""

    def __init__(self, layout: Layout, bounds: Bounds) -> None:
        self._layout = layout
        self._bounds = bounds
        self._whole: Bounds | None = None

    @property
    def folder(self) -> str | None:
        """Folder that the code works in; ``None`` before the first child and after the last."""
        return None if self._whole is None else self._whole.work_folder

    def start(self, kinds: dict[Kind, int]) -> GuestProcess:
        """Fork a child."""
        if self._whole is None:
            with naming_shortages("the child's folder cannot be made"):
                folder = temporary_folder("process-")
            self._whole = replace(self._bounds, folder=folder)
        return spawn(self._layout, self._whole, kinds)

    def files(self) -> FileStore:
        """Return the folder, which the host opens itself."""
        return WorkFolder(self.folder or "")

    def stats(self, pid: int | None) -> ExecutorStats:
        """Return a child's resource use now."""
        return child_figures(pid, self._bounds.memory_bytes)

    def remove(self) -> None:
        """Remove the folder."""
        if self._whole is not None:
            discard_tree(self._whole.folder)
            self._whole = None


def child_figures(pid: int | None, memory_limit_bytes: int | None) -> ExecutorStats:
    """Return a child's resource use now.

    Args:
        pid: Process id of the child; ``None`` without one.
        memory_limit_bytes: its limit; ``None`` without one.

    Raises:
        ExecutorStartError: the system has no ``/proc``, or the child has not started.
    """
    fields = None if pid is None else stat_fields(pid)
    if fields is None:
        raise ExecutorStartError(f"no statistics of process {pid}: /proc does not show it")
    ticks = os.sysconf("SC_CLK_TCK")
    return ExecutorStats(
        memory_bytes=int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
        memory_limit_bytes=memory_limit_bytes,
        cpu_seconds=(int(fields[11]) + int(fields[12])) / ticks,
        pids=int(fields[17]),
    )
