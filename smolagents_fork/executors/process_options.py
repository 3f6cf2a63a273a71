"""The options of the process executor, checked where they are given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigurationError
from ..limits import check_seconds
from ..process.measures import MEASURES

__all__ = ["Options", "byte_count", "required_measures"]

_SIZE = re.compile(r"(\d+)\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def byte_count(name: str, size: int | str | None) -> int | None:
    """``size`` in bytes: a number, or text such as ``"512m"``; ``None`` for no limit.

    Raises:
        ConfigurationError: neither.
    """
    if size is None:
        return None
    match = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
    if match is not None:
        size = int(match[1]) * _UNITS[match[2].lower()]
    if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
        raise ConfigurationError(f"{name}={size!r}: give bytes, or text such as '512m', or None")
    return size


def required_measures(require: Iterable[str] | str | bool) -> frozenset[str]:
    """The measures that must be in force: names, ``True`` or ``"all"`` for every one.

    Raises:
        ConfigurationError: a name that is no measure.
    """
    if require is True or require == "all":
        return frozenset(MEASURES)
    if not require:
        return frozenset()
    names = frozenset([require] if isinstance(require, str) else require)
    unknown = sorted(names - set(MEASURES))
    if unknown:
        raise ConfigurationError(f"require={unknown}: no such measure; there are {list(MEASURES)}")
    return names


@dataclass
class Options:
    """See :class:`ProcessExecutor` for what each means."""

    timeout_seconds: float | None = 30.0
    interrupt_grace_seconds: float = 0.5
    startup_timeout_seconds: float = 30.0
    memory: int | str | None = "2g"
    cpu_seconds: float | None = None
    file_size: int | str | None = "1g"
    open_files: int = 256
    network: bool = False
    require: Iterable[str] | str | bool = ()
    readable_paths: tuple[str, ...] = ()
    max_output_bytes: int = 50_000
    max_value_bytes: int = 256 * 1024 * 1024
    max_tool_calls: int = 100_000
    tool_timeout_seconds: float | None = None
    on_output: Callable[[str], None] | None = None
    limits: dict[str, Any] = field(default_factory=dict)
    data_files: bool = False

    def __post_init__(self) -> None:
        self.timeout_seconds = check_seconds("timeout_seconds", self.timeout_seconds)
        check_seconds("interrupt_grace_seconds", self.interrupt_grace_seconds, optional=False)
        check_seconds("startup_timeout_seconds", self.startup_timeout_seconds, optional=False)
        check_seconds("cpu_seconds", self.cpu_seconds)
        self.memory_bytes = byte_count("memory", self.memory)
        self.file_bytes = byte_count("file_size", self.file_size)
        self.required = required_measures(self.require)
        for name in ("open_files", "max_output_bytes", "max_value_bytes", "max_tool_calls"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ConfigurationError(f"{name}={value!r}: give a whole number above 0")
        if self.open_files < 32:
            raise ConfigurationError(f"open_files={self.open_files}: imports need 32 or more")
        if self.network and "network" in self.required:
            raise ConfigurationError("network=True gives the network that require= takes away")
