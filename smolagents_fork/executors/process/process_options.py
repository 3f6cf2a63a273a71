"""Options of the process executor, validated on construction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...deadline import check_seconds
from ...errors import ConfigurationError
from ...interpreter import Limits
from ...process.confinement_report import MEASURES
from ...sandboxes.resource_limits import check_size, parse_size
from ..validation import check_count, check_flag, check_output_function, names_of

__all__ = ["Options", "byte_count", "dispensable_measures"]


def byte_count(name: str, size: int | str | None) -> int | None:
    """Return ``size`` in bytes: a number, or text such as ``"512m"``; ``None`` for no limit.

    Raises:
        ConfigurationError: neither a number nor such a text.
    """
    check_size(name, size)
    return None if size is None else parse_size(size)


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
class Options:
    """Options of one executor; :class:`ProcessExecutor` documents every field."""

    timeout_seconds: float | None = 30.0
    interrupt_grace_seconds: float = 0.5
    startup_timeout_seconds: float = 30.0
    memory: int | str | None = "2g"
    cpu_seconds: float | None = None
    file_size: int | str | None = "1g"
    open_files: int = 256
    max_threads: int = 256
    network: bool = False
    allow_missing: Sequence[str] = ()
    allow_unconfined: bool = False
    readable_paths: tuple[str, ...] = ()
    max_output_bytes: int = 50_000
    max_value_bytes: int = 256 * 1024 * 1024
    max_tool_calls: int = 100_000
    tool_timeout_seconds: float | None = None
    on_output: Callable[[str], None] | None = None
    limits: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.timeout_seconds = check_seconds("timeout_seconds", self.timeout_seconds)
        check_seconds("interrupt_grace_seconds", self.interrupt_grace_seconds, optional=False)
        check_seconds("startup_timeout_seconds", self.startup_timeout_seconds, optional=False)
        check_seconds("cpu_seconds", self.cpu_seconds)
        self.memory_bytes = byte_count("memory", self.memory)
        self.file_bytes = byte_count("file_size", self.file_size)
        optional = set(dispensable_measures(self.allow_missing))
        for name in ("open_files", "max_threads", "max_value_bytes", "max_tool_calls"):
            check_count(name, getattr(self, name))
        check_flag("network", self.network)
        check_flag("allow_unconfined", self.allow_unconfined)
        check_output_function(self.on_output)
        # Also here, because the child's start would fail with them.
        Limits(**self.limits)
        if self.open_files < 32:
            raise ConfigurationError(f"open_files={self.open_files}: imports need 32 or more")
        optional |= {"network"} if self.network else set()
        optional |= {"memory"} if self.memory_bytes is None else set()
        #: Measures without which no child starts.
        self.required = frozenset(
            () if self.allow_unconfined else (name for name in MEASURES if name not in optional)
        )
