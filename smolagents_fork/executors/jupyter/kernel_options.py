"""Options of the calls of a kernel, wherever its sandbox is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from ...errors import ConfigurationError
from ...options import accept
from ...options.option import option, same_as
from ..call_options import CallOptions, OnDeath

__all__ = ["KernelOptions"]


def _placement(name: str, value: Any) -> dict[str, str]:
    placement = accept.mapping(name, value)
    for tool, place in placement.items():
        accept.one_of("host", "sandbox")(f"{name}[{tool!r}]", place)
    return placement


@dataclass(frozen=True)
class KernelOptions(CallOptions):
    """Options of calls of a kernel; the first is upstream's."""

    allow_pickle: bool = option(
        False,
        "values that the codec refuses are pickled, with upstream's warning. **The sandbox can "
        "then run code on the host**",
        accept.flag,
    )
    _: KW_ONLY
    tool_placement: Mapping[str, Literal["host", "sandbox"]] | None = same_as(
        CallOptions,
        "tool_placement",
        says='`"sandbox"` sends a tool\'s source instead, as upstream does; the others run on the '
        "host. A misspelt name is an error",
        check=_placement,
        form='name to `"host"` or `"sandbox"`',
    )
    on_death: OnDeath = option(
        "restart",
        'the next call after kernel or sandbox ended: `"restart"` starts a new one and sends '
        'tools, variables and `files` again; `"fail"` raises until `restart()`',
        accept.one_of("restart", "fail"),
        form='`"restart"`, `"fail"`',
        of_call=True,
    )

    def check_together(self) -> None:
        """Refuse tools in the sandbox beside a question before each tool.

        Raises:
            ConfigurationError: both are given.
        """
        super().check_together()
        inside = [name for name, place in self.placement.items() if place == "sandbox"]
        if self.before_tool is not None and inside:
            raise ConfigurationError(
                f"before_tool with tool_placement[{inside[0]!r}]='sandbox': calls in the sandbox "
                "do not reach the host, so before_tool would not be called; leave the tool on "
                "the host, or omit before_tool"
            )
