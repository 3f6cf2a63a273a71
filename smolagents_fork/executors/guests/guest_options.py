"""The options that every executor with a guest has, checked where they are given."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypedDict, TypeVar

from ...codec import DEFAULT_MAX_BYTES
from ...deadline import check_seconds
from ...errors import ConfigurationError
from ...hints import import_advice
from ...output import DEFAULT_PRINT_LENGTH
from ...sandboxes.resource_limits import check_size, parse_size
from ..file_transfers import Files, GivenFiles
from ..validation import (
    check_count,
    check_flag,
    check_functions,
    check_known,
    check_output_function,
    current_names,
    mapping_of,
)

__all__ = ["GuestKeywords", "GuestOptions", "byte_count", "option_names"]

_Options = TypeVar("_Options", bound="GuestOptions")
# Limits of the local interpreter, which counts what a program does. Here the kernel does.
_COUNTED = ("max_operations", "max_while_iterations", "max_recursion_depth")
_IN_FORCE = ("timeout_seconds", "cpu_seconds")
_logger = logging.getLogger("smolagents_fork")


class GuestKeywords(TypedDict, total=False):
    """Keywords that the constructors of these executors share; :class:`GuestOptions` has each."""

    timeout_seconds: float | None
    interrupt_grace_seconds: float
    startup_timeout_seconds: float
    memory: int | str | None
    network: str
    max_print_outputs_length: int | None
    max_value_bytes: int
    max_tool_calls: int
    tool_timeout_seconds: float | None
    tools_in_calling_thread: bool | None
    on_output: Callable[[str], None] | None
    figures_dir: str | os.PathLike[str] | None
    tool_placement: Mapping[str, Literal["host"]] | None
    additional_functions: Mapping[str, Callable[..., Any]] | None
    files: Files | None
    max_operations: int | None
    max_while_iterations: int | None
    max_recursion_depth: int | None


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

    #: Values of ``network``, and what else there is.
    networks: ClassVar[tuple[str, ...]] = ("none",)
    other_networks: ClassVar[str] = ""

    timeout_seconds: float | None = 30.0
    interrupt_grace_seconds: float = 0.5
    startup_timeout_seconds: float = 30.0
    memory: int | str | None = "2g"
    network: str = "none"
    max_print_outputs_length: int | None = None
    max_value_bytes: int = DEFAULT_MAX_BYTES
    max_tool_calls: int = 100_000
    tool_timeout_seconds: float | None = None
    tools_in_calling_thread: bool | None = None
    on_output: Callable[[str], None] | None = None
    figures_dir: str | os.PathLike[str] | None = None
    tool_placement: Mapping[str, str] | None = None
    additional_functions: Mapping[str, Callable[..., Any]] | None = None
    files: Files | None = None
    max_operations: int | None = None
    max_while_iterations: int | None = None
    max_recursion_depth: int | None = None

    def __post_init__(self) -> None:
        self.timeout_seconds = check_seconds("timeout_seconds", self.timeout_seconds)
        check_seconds("interrupt_grace_seconds", self.interrupt_grace_seconds, optional=False)
        check_seconds("startup_timeout_seconds", self.startup_timeout_seconds, optional=False)
        self.memory_bytes = byte_count("memory", self.memory)
        if not isinstance(self.network, str) or self.network not in self.networks:
            raise ConfigurationError(
                f"network={self.network!r}: give {' or '.join(map(repr, self.networks))}"
                f"{self.other_networks}"
            )
        for name in ("max_value_bytes", "max_tool_calls"):
            check_count(name, getattr(self, name))
        for name in ("max_print_outputs_length", *_COUNTED):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        check_seconds("tool_timeout_seconds", self.tool_timeout_seconds)
        check_flag("tools_in_calling_thread", self.tools_in_calling_thread, optional=True)
        check_output_function(self.on_output)
        self.tool_placement = mapping_of("tool_placement", self.tool_placement)
        self.additional_functions = check_functions(self.additional_functions)
        self.given_files = GivenFiles.of(self.files)
        self._note_limits_without_effect()

    def _note_limits_without_effect(self) -> None:
        given = [f"{name}={getattr(self, name)}" for name in _COUNTED if getattr(self, name)]
        if given:
            limits = [name for name in _IN_FORCE if hasattr(self, name)]
            _logger.warning(
                "no effect of %s here: code is limited by %s",
                ", ".join(given),
                " and ".join(limits),
            )

    @classmethod
    def of(cls: type[_Options], owner: str, own: Sequence[str], /, **keywords: Any) -> _Options:
        """Make options of keywords.

        Args:
            owner: the class that was called.
            own: its other parameters.
            **keywords: that it was called with.

        Raises:
            ConfigurationError: an unknown keyword, or a value that cannot work.
        """
        known = [*option_names(cls), *own]
        keywords = current_names(owner, keywords, known)
        check_known(owner, keywords, known)
        return cls(**keywords)

    @property
    def network_remedy(self) -> str:
        """Advice that gives the code a network; empty if it has one."""
        return ""

    def module_advice(self, name: str) -> str:
        """Return advice about a module that the code misses.

        Args:
            name: of the module or the package.
        """
        return import_advice(name)

    @property
    def print_length(self) -> int:
        """Characters kept of a call's output."""
        length = self.max_print_outputs_length
        return DEFAULT_PRINT_LENGTH if length is None else length


def option_names(kind: type[GuestOptions]) -> list[str]:
    """Return the names of the options of an executor."""
    return [field.name for field in dataclasses.fields(kind)]
