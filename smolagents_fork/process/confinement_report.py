"""The measures a child is confined by, as data; importable on every system."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["MEASURES", "Bounds", "Kernel", "MeasureRow", "MeasureTable", "Report", "table_of"]

#: Every measure, in the order in which it is taken.
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
    """The features of the kernel that are used; all there are, unless a test masks some.

    Attributes:
        platform: as in ``sys.platform``.
        landlock: newest version of Landlock's interface; 0 for none, ``None`` for any.
        seccomp: whether there are system call filters.
        listener: whether such a filter can have the parent asked.
        namespaces: whether there are user and network namespaces.
    """

    platform: str = sys.platform
    landlock: int | None = None
    seccomp: bool = True
    listener: bool = True
    namespaces: bool = True


@dataclass
class Report:
    """The measures in force in a child.

    Attributes:
        in_force: measure -> the mechanism that holds it.
        missing: measure -> why it is not.
    """

    in_force: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def as_data(self) -> dict[str, dict[str, str]]:
        """Plain data for the codec."""
        return {"in_force": self.in_force, "missing": self.missing}


@dataclass(frozen=True)
class Bounds:
    """The limits of a child, and what it may touch.

    Attributes:
        folder: its own; the only one it may write to.
        readable: files and folders it may read.
        listable: folders whose names it may list.
        memory_bytes: address space beyond what the fork server has; ``None`` for no limit.
        file_bytes: size of one file it writes; ``None`` for no limit.
        open_files: descriptors at once.
        threads: threads at once.
        network: whether it keeps the host's network.
        kernel: the features that are used.
    """

    folder: str
    readable: tuple[str, ...] = ()
    listable: tuple[str, ...] = ()
    memory_bytes: int | None = None
    file_bytes: int | None = None
    open_files: int = 256
    threads: int = 256
    network: bool = False
    kernel: Kernel = field(default_factory=Kernel)

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Bounds:
        """The bounds that :meth:`as_data` gave."""
        return cls(**{**data, "kernel": Kernel(**data["kernel"])})


@dataclass(frozen=True)
class MeasureRow:
    """One measure on this machine.

    Attributes:
        measure: its name.
        in_force: whether a child has it.
        held_by: the mechanism; empty if it is not in force.
        missing: why it is not in force; empty if it is.
        keyword: the argument of the executor that does without it.
    """

    measure: str
    in_force: bool
    held_by: str
    missing: str
    keyword: str


@dataclass(frozen=True)
class MeasureTable:
    """The measures on this machine; printed, a table of them."""

    rows: tuple[MeasureRow, ...]

    def __iter__(self) -> Iterator[MeasureRow]:
        return iter(self.rows)

    def __getitem__(self, measure: str) -> MeasureRow:
        for row in self.rows:
            if row.measure == measure:
                return row
        raise KeyError(measure)

    def __str__(self) -> str:
        lines = [("measure", "in force", "held by, or why it is missing", "to do without it")]
        for row in self.rows:
            state = "yes" if row.in_force else "no"
            lines.append((row.measure, state, row.held_by or row.missing, row.keyword))
        widths = [max(len(line[column]) for line in lines) for column in range(3)]
        texts = []
        for line in lines:
            cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
            texts.append("  ".join([*cells, line[-1]]).rstrip())
        return "\n".join(texts)


def table_of(in_force: dict[str, str], missing: dict[str, str]) -> MeasureTable:
    """The table of a report.

    Args:
        in_force: measure -> the mechanism that holds it.
        missing: measure -> why it is not in force.
    """
    return MeasureTable(
        tuple(
            MeasureRow(
                name,
                name in in_force,
                in_force.get(name, ""),
                missing.get(name, ""),
                f"allow_missing=({name!r},)",
            )
            for name in MEASURES
        )
    )
