"""The options that every executor with a guest has, checked where they are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...deadline import check_seconds
from ...interpreter import Limits
from ...sandboxes.resource_limits import check_size, parse_size
from ..validation import check_count, check_output_function

__all__ = ["GuestOptions", "byte_count"]


def byte_count(name: str, size: int | str | None) -> int | None:
    """``size`` in bytes: a number, or text such as ``"512m"``; ``None`` for no limit.

    Raises:
        ConfigurationError: neither.
    """
    check_size(name, size)
    return None if size is None else parse_size(size)


@dataclass
class GuestOptions:
    """See the executors for what each means."""

    timeout_seconds: float | None = 30.0
    interrupt_grace_seconds: float = 0.5
    startup_timeout_seconds: float = 30.0
    memory: int | str | None = "2g"
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
        self.memory_bytes = byte_count("memory", self.memory)
        for name in ("max_value_bytes", "max_tool_calls"):
            check_count(name, getattr(self, name))
        check_seconds("tool_timeout_seconds", self.tool_timeout_seconds)
        check_output_function(self.on_output)
        # Here and not in the guest only, whose start would fail with them.
        Limits(**self.limits)
