"""Options of the process executor, validated on construction."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ...deadline import check_seconds
from ...errors import ConfigurationError
from ...process.confinement_report import MEASURES
from ..guests.guest_options import GuestKeywords, GuestOptions, byte_count
from ..validation import check_count, check_flag, names_of, paths_of

__all__ = ["Options", "ProcessKeywords", "dispensable_measures"]


class ProcessKeywords(GuestKeywords, total=False):
    """Keywords of ProcessExecutor's constructor."""

    cpu_seconds: float | None
    file_size: int | str | None
    open_files: int
    max_threads: int
    network: bool
    allow_missing: Sequence[str]
    allow_unconfined: bool
    readable_paths: Sequence[str | os.PathLike[str]]


def dispensable_measures(allow_missing: Sequence[str] | None) -> frozenset[str]:
    """Return the names of the measures that may be missing.

    Raises:
        ConfigurationError: a name that is not a measure.
    """
    names = frozenset(names_of("allow_missing", allow_missing))
    unknown = sorted(names - set(MEASURES))
    if unknown:
        raise ConfigurationError(
            f"allow_missing={unknown}: no such measure; known are: {', '.join(MEASURES)}"
        )
    return names


@dataclass
class Options(GuestOptions):
    """Options of one executor; :class:`ProcessExecutor` documents every field."""

    cpu_seconds: float | None = None
    file_size: int | str | None = "1g"
    open_files: int = 256
    max_threads: int = 256
    network: bool = False
    allow_missing: Sequence[str] = ()
    allow_unconfined: bool = False
    readable_paths: Sequence[str | os.PathLike[str]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seconds("cpu_seconds", self.cpu_seconds)
        self.file_bytes = byte_count("file_size", self.file_size)
        self.paths = paths_of("readable_paths", self.readable_paths)
        optional = set(dispensable_measures(self.allow_missing))
        for name in ("open_files", "max_threads"):
            check_count(name, getattr(self, name))
        check_flag("network", self.network)
        check_flag("allow_unconfined", self.allow_unconfined)
        if self.open_files < 32:
            raise ConfigurationError(f"open_files={self.open_files}: imports need 32 or more")
        optional |= {"network"} if self.network else set()
        optional |= {"memory"} if self.memory_bytes is None else set()
        #: Measures without which no child starts.
        self.required = frozenset(
            () if self.allow_unconfined else (name for name in MEASURES if name not in optional)
        )

    @property
    def network_remedy(self) -> str:
        """Advice that gives the code a network; empty if it has one."""
        return "" if self.network else "give the executor network=True"
