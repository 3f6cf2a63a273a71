"""Arguments of the local executor: those of every executor, and its interpreter's limits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from ...control.audit_log import Audit
from ...control.control import BeforeRun, BeforeTool
from ...errors import ConfigurationError
from ...options import accept
from ...options.option import Options, option, same_as
from ..call_options import Arguments, CallOptions
from ..file_transfers import Files

__all__ = ["LocalArguments"]


def _length(name: str, value: Any) -> int | None:
    if hasattr(value, "log"):
        raise ConfigurationError(f"{name}={value!r}: pass a number; pass a logger as logger=")
    return accept.count_or_none(name, value)


def _seconds(name: str, value: Any) -> Any:
    # As it was given: upstream's message has "30 seconds".
    accept.seconds_or_none(name, value)
    return value


@dataclass(frozen=True)
class LocalArguments(Options):
    """Arguments of the constructor; the first four are upstream's, in upstream's order."""

    by_position: ClassVar[tuple[str, ...]] = (
        "additional_authorized_imports",
        "max_print_outputs_length",
        "additional_functions",
        "timeout_seconds",
    )

    additional_authorized_imports: Sequence[str] = same_as(
        Arguments,
        "additional_authorized_imports",
        says="modules besides upstream's default list: import names or distributions, perhaps with "
        "a version that the installed one has to satisfy. A package's public submodules come with "
        "it; `pkg.*` adds private ones, and `*` means everything",
    )
    max_print_outputs_length: int | None = same_as(
        CallOptions, "max_print_outputs_length", check=_length
    )
    additional_functions: Mapping[str, Callable[..., Any]] | None = same_as(
        CallOptions,
        "additional_functions",
        says='functions the code may call besides the tools; `{"open": open}` permits a builtin '
        "that is refused otherwise",
    )
    timeout_seconds: float | None = same_as(
        CallOptions,
        "timeout_seconds",
        default=30,
        says="time limit for one call, not counting its tools",
        check=_seconds,
    )
    _: KW_ONLY
    max_operations: int | None = option(
        None,
        "maximum number of function calls and loop iterations of the program in one call; "
        "`None`: 1,000,000,000",
        accept.count_or_none,
        form="calls and iterations",
    )
    max_while_iterations: int | None = option(
        None,
        "maximum number of iterations of one `while` loop; `None`: 1,000,000",
        accept.count_or_none,
        form="iterations",
    )
    max_recursion_depth: int | None = option(
        None,
        "most Python frames on top of the caller's; the process's own limit is raised for the call "
        "and never lowered. `None`: 1000",
        accept.count_or_none,
        form="frames",
    )
    max_items: int | None = option(
        None,
        "maximum number of items in the result of `*`, `**`, `<<` or a method listed in "
        "`guards/sizes.py`; "
        "`None`: 20,000,000",
        accept.count_or_none,
        form="items",
    )
    max_text_length: int | None = option(
        None,
        "longest text or bytes in the result of one such operation; `None`: 100,000,000",
        accept.count_or_none,
        form="characters or bytes",
    )
    max_integer_bits: int | None = option(
        None,
        "largest integer in the result of one such operation; `None`: 1,000,000",
        accept.count_or_none,
        form="bits",
    )
    on_output: Callable[[str], object] | None = same_as(CallOptions, "on_output")
    before_run: BeforeRun | None = same_as(CallOptions, "before_run")
    before_tool: BeforeTool | None = same_as(
        CallOptions,
        "before_tool",
        says="called before each call of a tool or of one of `additional_functions`: returning "
        "`None` allows the call, `raise Refused(reason)` refuses it. May be `async`",
    )
    audit: Audit | None = same_as(
        CallOptions,
        "audit",
        says="receives a record before and after each run, tool call and file transfer: a line of "
        "JSON, or the `dict`; `None`: nothing is recorded",
    )
    audit_required: bool = same_as(CallOptions, "audit_required")
    figures_dir: str | os.PathLike[str] | None = same_as(CallOptions, "figures_dir")
    files: Files | None = same_as(
        CallOptions,
        "files",
        says="files copied into a folder that belongs to the executor. If given, even as `{}`, the "
        "code has an `open()` for that folder",
    )
    logger: Any = same_as(Arguments, "logger", says="kept as an attribute; nothing is logged")
