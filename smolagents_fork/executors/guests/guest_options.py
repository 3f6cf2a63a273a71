"""The options that every executor with a guest has, checked where they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...errors import ConfigurationError
from ...options import accept
from ...options.option import same_as
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.resource_limits import Limits, parse_size
from ...text.hints import import_advice
from ..call_options import CallOptions

__all__ = ["GuestOptions", "network_of"]


def network_of(allowed: tuple[str, ...], others: str) -> Callable[[str, Any], str]:
    """Make a check for a network.

    Args:
        allowed: values that there are.
        others: where other networks are, for the message.
    """

    def check(name: str, value: Any) -> str:
        if isinstance(value, str) and value in allowed:
            return value
        raise ConfigurationError(
            f"{name}={value!r}: pass {' or '.join(map(repr, allowed))}{others}"
        )

    return check


def _on_host(name: str, value: Any) -> dict[str, str]:
    placement = accept.mapping(name, value)
    for tool, place in placement.items():
        if place != "host":
            raise ConfigurationError(
                f"{name}[{tool!r}]={place!r}: this executor calls tools on the host only; to run a "
                "tool's own source in a sandbox use executor_type='docker'"
            )
    return placement


@dataclass(frozen=True, kw_only=True)
class GuestOptions(CallOptions):
    """Options of executors whose programs run under a worker in a process of its own."""

    timeout_seconds: float | None = same_as(CallOptions, "timeout_seconds", default=30.0)
    interrupt_grace_seconds: float = same_as(
        CallOptions,
        "interrupt_grace_seconds",
        default=0.5,
        says="time limit for a program to stop, at `timeout_seconds` or after `interrupt()`; past "
        "it the program is killed and **its state is lost**",
    )
    startup_timeout_seconds: float = same_as(CallOptions, "startup_timeout_seconds", default=30.0)
    memory: int | str | None = same_as(
        Limits, "memory", says="memory limit of the code, on top of what Python itself uses"
    )
    network: str = same_as(
        ContainerOptions, "network", check=network_of(("none",), ""), form='`"none"`'
    )
    tool_placement: Mapping[str, Literal["host"]] | None = same_as(
        CallOptions,
        "tool_placement",
        says='tool name to `"host"`, the only place here',
        check=_on_host,
    )

    @property
    def memory_bytes(self) -> int | None:
        """Memory that the code may add, in bytes; ``None`` for no limit."""
        return parse_size(self.memory)

    @property
    def network_remedy(self) -> str:
        """Advice that gives the code a network; empty if it has one."""
        return ""

    def module_advice(self, name: str) -> str:
        """Return advice about a module that the code misses."""
        return import_advice(name)
