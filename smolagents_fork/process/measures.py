"""The measures a child is confined by, in words; importable on every system."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["MEASURES", "Bounds", "Report"]

#: Every measure, in the order in which it is taken.
MEASURES = (
    "session",
    "memory",
    "cpu",
    "files",
    "no_new_privileges",
    "network",
    "capabilities",
    "filesystem",
    "syscalls",
    "signals",
)


@dataclass
class Report:
    """What is in force in a child.

    Attributes:
        in_force: measure -> how it is held.
        missing: measure -> why it is not.
    """

    in_force: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def as_data(self) -> dict[str, dict[str, str]]:
        """Plain data for the codec."""
        return {"in_force": self.in_force, "missing": self.missing}


@dataclass(frozen=True)
class Bounds:
    """What a child may use and touch.

    Attributes:
        folder: its own; the only one it may write to.
        readable: files and folders it may read.
        listable: folders whose names it may list.
        memory_bytes: address space beyond what the warm template has; ``None`` for no limit.
        file_bytes: size of one file it writes; ``None`` for no limit.
        open_files: descriptors at once.
        network: whether it keeps the host's network.
    """

    folder: str
    readable: tuple[str, ...] = ()
    listable: tuple[str, ...] = ()
    memory_bytes: int | None = None
    file_bytes: int | None = None
    open_files: int = 256
    network: bool = False
