"""Options of the process executor, validated on construction."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...deadline import check_seconds
from ...errors import ConfigurationError
from ...process.confinement_report import MEASURES
from ..guests.guest_options import GuestKeywords, GuestOptions, byte_count
from ..validation import check_count, check_flag, names_of, paths_of

__all__ = ["Options", "ProcessKeywords", "dispensable_measures"]

_logger = logging.getLogger(__name__)
_noted: set[bool] = set()


class ProcessKeywords(GuestKeywords, total=False):
    """Keywords of ProcessExecutor's constructor."""

    cpu_seconds: float | None
    file_size: int | str | None
    open_files: int
    max_threads: int
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


def present_network(network: object) -> Any:
    """Return the present text for the flag that ``network`` was in earlier releases.

    The first use in a process is noted in the log. Every other value is returned as it is.
    """
    if not isinstance(network, bool):
        return network
    text = "host" if network else "none"
    if network not in _noted:
        _noted.add(network)
        _logger.warning("ProcessExecutor: network=%s is now written network=%r", network, text)
    return text


@dataclass
class Options(GuestOptions):
    """Options of one executor; :class:`ProcessExecutor` documents every field."""

    networks: ClassVar[tuple[str, ...]] = ("none", "host")
    other_networks: ClassVar[str] = (
        ", the network of this machine; executor_type='docker' has networks of its own"
    )

    cpu_seconds: float | None = None
    file_size: int | str | None = "1g"
    open_files: int = 256
    max_threads: int = 256
    allow_missing: Sequence[str] = ()
    allow_unconfined: bool = False
    readable_paths: Sequence[str | os.PathLike[str]] = ()

    def __post_init__(self) -> None:
        self.network = present_network(self.network)
        super().__post_init__()
        check_seconds("cpu_seconds", self.cpu_seconds)
        self.file_bytes = byte_count("file_size", self.file_size)
        self.paths = paths_of("readable_paths", self.readable_paths)
        optional = set(dispensable_measures(self.allow_missing))
        for name in ("open_files", "max_threads"):
            check_count(name, getattr(self, name))
        check_flag("allow_unconfined", self.allow_unconfined)
        if self.open_files < 32:
            raise ConfigurationError(f"open_files={self.open_files}: imports need 32 or more")
        optional |= {"network"} if self.has_network else set()
        optional |= {"memory"} if self.memory_bytes is None else set()
        #: Measures without which no child starts.
        self.required = frozenset(
            () if self.allow_unconfined else (name for name in MEASURES if name not in optional)
        )

    @property
    def run_cpu_seconds(self) -> float | None:
        """Processor time of one run; ``None`` for no limit."""
        if self.cpu_seconds is not None or self.timeout_seconds is None:
            return self.cpu_seconds
        # More than one thread can use more than the wall clock's time, but not without end.
        return 2 * (self.timeout_seconds + self.interrupt_grace_seconds)

    @property
    def has_network(self) -> bool:
        """Tell whether the code keeps the host's network."""
        return self.network == "host"

    @property
    def network_remedy(self) -> str:
        """Advice that gives the code a network; empty if it has one."""
        return "" if self.has_network else "give the executor network='host'"
