"""The limits of one run, and what a run gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import ConfigurationError

__all__ = ["Limits", "Result"]

# More than this the system's calls that wait cannot count.
_LONGEST_SECONDS = 1_000_000_000


@dataclass(frozen=True)
class Limits:
    """What one run may use. ``None`` where it is allowed means "no limit".

    Args:
        max_operations: syntax-tree nodes a run may evaluate, counted by blocks; upstream's default.
        max_while_iterations: iterations of one execution of one ``while`` loop; upstream's default.
        max_recursion_depth: Python frames on top of the caller's; CPython's own default.
        timeout_seconds: wall clock of one run, in seconds; ``None`` for no limit.
        max_print_outputs_length: characters kept of what a run prints: first and last half.
        max_items: items one operation may put into a list, tuple, set or dict.
        max_text_length: characters or bytes one operation may put into a string or bytes.
        max_integer_bits: bits of the largest integer an operation may make.
    """

    max_operations: int = 10_000_000
    max_while_iterations: int = 1_000_000
    max_recursion_depth: int = 1000
    timeout_seconds: float | None = 30.0
    max_print_outputs_length: int = 50_000
    max_items: int = 20_000_000
    max_text_length: int = 100_000_000
    max_integer_bits: int = 1_000_000

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if value is None and name == "timeout_seconds":
                continue
            kinds = (int, float) if name == "timeout_seconds" else (int,)
            if not isinstance(value, kinds) or isinstance(value, bool) or not value > 0:
                raise ConfigurationError(f"{name} must be a positive number, got {value!r}")
        if self.timeout_seconds is not None and self.timeout_seconds > _LONGEST_SECONDS:
            raise ConfigurationError(
                f"timeout_seconds={self.timeout_seconds!r}: give at most {_LONGEST_SECONDS:,} "
                "seconds, some thirty years, or None for no limit"
            )


@dataclass
class Result:
    """What a run gives back.

    Args:
        output: value of the last expression or assignment at the top level, or the final answer.
        logs: what the run printed, cut to ``max_print_outputs_length``.
        is_final_answer: whether the run ended in ``final_answer(...)``.
    """

    output: Any
    logs: str
    is_final_answer: bool
