"""Options of calls: their limits, what is kept of them, and what code may call on the host."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..codec import DEFAULT_MAX_BYTES
from ..control.audit_log import Audit
from ..control.control import BeforeRun, BeforeTool
from ..errors import ConfigurationError
from ..options import accept
from ..options.option import Options, option
from ..options.words import IMPORTS, PACKAGES
from ..output import DEFAULT_PRINT_LENGTH
from .file_transfers import Files, GivenFiles

__all__ = ["Arguments", "CallOptions", "OnDeath", "audit_sink"]

OnDeath = Literal["restart", "fail"]


def _check_files(_name: str, value: Any) -> Any:
    """Return files that can be sent; :class:`GivenFiles` says which cannot."""
    return GivenFiles.of(value)


def audit_sink(name: str, value: Any) -> Any:
    """Return what takes the lines of a record: a path, a function, or ``None``."""
    if value is not None and not callable(value) and not isinstance(value, (str, os.PathLike)):
        raise ConfigurationError(f"{name}={value!r}: pass a path, a function of a dict, or None")
    if isinstance(value, str) and not value:
        raise ConfigurationError(f"{name}={value!r}: pass the path of a file")
    return value


@dataclass(frozen=True)
class Arguments(Options):
    """Arguments that every executor takes by position.

    They are those of upstream's contract for plug-ins (issue 2722):
    ``cls(additional_authorized_imports, logger, **executor_kwargs)``.
    """

    by_position: ClassVar[tuple[str, ...]] = ("additional_authorized_imports", "logger")

    additional_authorized_imports: Sequence[str] = option(
        (),
        'modules the code may import besides the built-in list; `["*"]`: any that is installed',
        accept.names,
        form="import names",
        elsewhere=f"{IMPORTS} {PACKAGES}",
    )
    logger: Any = option(
        None,
        "receives the executor's log lines; `None`: Python's logger `smolagents_fork`",
        accept.logger,
        form="upstream's `AgentLogger`",
    )


@dataclass(frozen=True, kw_only=True)
class CallOptions(Options):
    """Options that every executor with a sandbox has."""

    timeout_seconds: float | None = option(
        60.0,
        "time limit for the code of one call, not counting its tools on the host; past it the code "
        "is interrupted and its state kept",
        accept.seconds_or_none,
        form="seconds; `None`: no limit",
        elsewhere="execution_timeout max_execution_time max_time run_timeout time_limit timeout "
        "timeout_ms timeout_s timeout_sec cpu_time max_cpu_time cpu_seconds",
        of_call=True,
    )
    interrupt_grace_seconds: float = option(
        3.0,
        "time limit for interrupted code to stop; past it the sandbox is replaced, and the error "
        "says that its state is lost",
        accept.seconds,
        form="seconds",
        of_call=True,
    )
    startup_timeout_seconds: float = option(
        60.0,
        "time limit for the start of a sandbox",
        accept.seconds,
        form="seconds",
        elsewhere="boot_timeout start_seconds start_timeout startup_timeout",
        of_call=True,
    )
    max_print_outputs_length: int | None = option(
        None,
        "maximum number of characters kept of the output of one call: the first and the last "
        "half, with a note between",
        accept.count_or_none,
        form="characters; `None`: 50,000",
        elsewhere="max_output max_output_bytes max_output_length max_output_size max_stdout "
        "output_limit truncate_output",
        of_call=True,
    )
    max_value_bytes: int = option(
        DEFAULT_MAX_BYTES,
        "largest encoded value, either way; the displays of one call (100 at most) may have twice "
        "that together",
        accept.count,
        form="bytes",
    )
    max_tool_calls: int = option(
        100_000, "maximum number of tool calls in one run", accept.count, form="calls", of_call=True
    )
    tool_timeout_seconds: float | None = option(
        None,
        "time limit for one tool call on the host",
        accept.seconds_or_none,
        form="seconds; `None`: no limit",
        of_call=True,
    )
    tools_in_calling_thread: bool | None = option(
        None,
        "`True`: tools run in the thread that calls the executor, so an interrupt waits for a tool "
        "that blocks; `None`: the same, unless `tool_timeout_seconds` is given",
        accept.flag_or_none,
        of_call=True,
    )
    on_output: Callable[[str], object] | None = option(
        None,
        "called with printed text while the code runs; the call waits for it. After an exception "
        "it is not called again in that call, and the logs say so. May be `async`",
        accept.function_or_none,
        form="function of one `str`",
        elsewhere="callback on_print on_stderr on_stdout output_callback stream_callback",
        of_call=True,
    )
    before_run: BeforeRun | None = option(
        None,
        "called on the host before code runs: returning `None` allows the code, returning text "
        "runs that text instead, and `raise Refused(reason)` refuses the code and gives the model "
        "the reason. May be `async`",
        accept.function_or_none,
        form="function of a `ProposedRun`",
        elsewhere="approval approval_func approve confirm human_in_the_loop on_pre_execution "
        "pre_execution_callbacks",
        of_call=True,
    )
    before_tool: BeforeTool | None = option(
        None,
        "called on the host before each tool call: returning `None` allows the call, "
        "`raise Refused(reason)` refuses it. May be `async`",
        accept.function_or_none,
        form="function of a `ProposedCall`",
        elsewhere="before_tool_call before_tool_call_hooks tool_callbacks",
        of_call=True,
    )
    audit: Audit | None = option(
        None,
        "receives a record before and after each run, tool call, file transfer, connection and "
        "sandbox: a line of JSON, or the `dict`; `None`: nothing is recorded",
        audit_sink,
        form="path of a file, or function of a `dict`",
        elsewhere="audit_log audit_trail",
        of_call=True,
    )
    audit_required: bool = option(
        True,
        "`True`: refuse whatever cannot be recorded by `audit`; `False`: log the failure and go on",
        accept.flag,
        of_call=True,
    )
    figures_dir: str | os.PathLike[str] | None = option(
        None,
        "folder on the host where figures are saved; `None`: they are not saved",
        accept.path_or_none,
        form="path",
        elsewhere="figure_dir figures output_dir plot_dir plots_dir save_dir",
        of_call=True,
    )
    tool_placement: Mapping[str, str] | None = option(
        None, "where tools run", accept.mapping, form='name to `"host"`', of_call=True
    )
    additional_functions: Mapping[str, Callable[..., Any]] | None = option(
        None,
        "functions of the host that the code may call, as it calls tools",
        accept.functions,
        form="name to function",
        elsewhere="builtins custom_functions functions",
        of_call=True,
    )
    files: Files | None = option(
        None,
        "files copied into the work folder of each new sandbox",
        _check_files,
        form="path in the sandbox to path on the host, or to bytes",
        elsewhere="data_files input_files upload uploads binds mount mounts volume volumes",
        of_call=True,
    )

    @property
    def on_death(self) -> OnDeath:
        """Effect of a sandbox's end on the next call: it starts a new one, or fails."""
        return "restart"

    @property
    def allow_pickle(self) -> bool:
        """Permission to pickle values that the codec refuses."""
        return False

    @property
    def print_length(self) -> int:
        """Characters kept of a call's output."""
        length = self.max_print_outputs_length
        return DEFAULT_PRINT_LENGTH if length is None else length

    @property
    def placement(self) -> Mapping[str, str]:
        """Places of tools by their names; the others run on the host."""
        return self.tool_placement or {}

    @property
    def given_files(self) -> GivenFiles:
        """Files that each new sandbox gets."""
        return GivenFiles.of(self.files)
