"""Confinement measures of a child as data; importable on every system."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = [
    "MEASURES",
    "STOPPED_RUN",
    "Bounds",
    "Kernel",
    "MeasureRow",
    "MeasureTable",
    "Report",
]

#: Number of a run that the host wants to stop, as it is sent to the child.
STOPPED_RUN = struct.Struct("!I")
#: Every measure, in the order of tables.
MEASURES = (
    "session",
    "memory",
    "cpu",
    "files",
    "no_new_privileges",
    "capabilities",
    "filesystem",
    "syscalls",
    "processes",
    "network",
    "signals",
)


@dataclass(frozen=True)
class Kernel:
    """Features of the kernel that may be used: all available ones, unless a test masks some.

    Attributes:
        platform: as in ``sys.platform``.
        landlock: newest version of Landlock's interface; 0 for none, ``None`` for any.
        seccomp: whether system call filters may be used.
        listener: whether a filter may ask the parent.
        namespaces: whether user and network namespaces may be used.
    """

    platform: str = sys.platform
    landlock: int | None = None
    seccomp: bool = True
    listener: bool = True
    namespaces: bool = True


@dataclass
class Report:
    """Measures in force in a child.

    Attributes:
        in_force: measure -> the mechanism that enforces it.
        missing: measure -> why it is not in force.
    """

    in_force: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def as_data(self) -> dict[str, dict[str, str]]:
        """Return plain data for the codec, in the order of tables."""
        groups = {"in_force": self.in_force, "missing": self.missing}
        return {
            group: {measure: texts[measure] for measure in MEASURES if measure in texts}
            for group, texts in groups.items()
        }


@dataclass(frozen=True)
class Bounds:
    """Limits and access rights of a child.

    Attributes:
        folder: its folder, with the two that it may write to; removed with it.
        readable: files and folders it may read besides libraries.
        memory_bytes: address space beyond that of the fork server; ``None`` for no limit.
        file_bytes: size of one file it writes; ``None`` for no limit.
        open_files: descriptors at once.
        threads: threads at once.
        cpu_seconds: processor time of one run; ``None`` for no limit.
        variables: variables that name its proxy to clients.
    """

    folder: str
    readable: tuple[str, ...] = ()
    memory_bytes: int | None = None
    file_bytes: int | None = None
    open_files: int = 256
    threads: int = 256
    cpu_seconds: float | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def work_folder(self) -> str:
        """Folder that the code works in, whose files are its results."""
        return os.path.join(self.folder, "files")

    @property
    def temporary_folder(self) -> str:
        """Folder for temporary files, which are not among the results."""
        return os.path.join(self.folder, "temporary")


@dataclass(frozen=True)
class MeasureRow:
    """One measure on this machine.

    Attributes:
        measure: name of the measure.
        held_by: the mechanism; empty if it is not in force.
        missing: why it is not in force; empty if it is.
    """

    measure: str
    held_by: str
    missing: str

    @property
    def in_force(self) -> bool:
        """Tell whether it applies to a child on this machine."""
        return bool(self.held_by)

    @property
    def keyword(self) -> str:
        """Argument of the executor that waives it."""
        return f"allow_missing=({self.measure!r},)"


class MeasureTable:
    """Measures on this machine; ``str()`` gives a table.

    Args:
        in_force: measure -> the mechanism that enforces it.
        missing: measure -> why it is not in force.
    """

    def __init__(self, in_force: dict[str, str], missing: dict[str, str]) -> None:
        self.rows = tuple(
            MeasureRow(name, in_force.get(name, ""), missing.get(name, "")) for name in MEASURES
        )

    def __iter__(self) -> Iterator[MeasureRow]:
        return iter(self.rows)

    def __getitem__(self, measure: str) -> MeasureRow:
        return {row.measure: row for row in self.rows}[measure]

    def __str__(self) -> str:
        lines = [("measure", "in force", "mechanism, or why it is missing", "to waive it")]
        for row in self.rows:
            state = "yes" if row.in_force else "no"
            lines.append((row.measure, state, row.held_by or row.missing, row.keyword))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
