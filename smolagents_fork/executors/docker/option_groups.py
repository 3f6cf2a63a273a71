"""Limits of DockerExecutor, and the keywords of its constructor with their types.

Editors and type checkers read the keywords; a test compares them with the options.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from ...output import DEFAULT_PRINT_LENGTH
from ...sandboxes.container_options import Transport
from ...sandboxes.provisioner import Limits
from ..jupyter.connection import streamed_length
from ..jupyter.session import OnDeath, SessionLimits

__all__ = [
    "DockerKeywords",
    "DockerKeywordsWithUpstreams",
    "LimitOptions",
]


@dataclass(frozen=True)
class LimitOptions:
    """Limits of the code, and the behaviour at a limit."""

    timeout_seconds: float | None = 60.0
    startup_timeout_seconds: float = 60.0
    interrupt_grace_seconds: float = 3.0
    on_death: OnDeath = "restart"
    memory: int | str | None = Limits.memory
    cpus: float | None = Limits.cpus
    pids_limit: int | None = Limits.pids
    workdir_size: int | str = Limits.workdir_size
    tmp_size: int | str = Limits.tmp_size
    max_print_outputs_length: int | None = None

    @property
    def print_length(self) -> int:
        """Characters kept of a call's output."""
        length = self.max_print_outputs_length
        return DEFAULT_PRINT_LENGTH if length is None else length

    @property
    def streamed_length(self) -> int:
        """Characters of a call's output that the kernel sends as they are printed."""
        return streamed_length(self.print_length)

    @property
    def resources(self) -> Limits:
        """Limits of the sandbox."""
        return Limits(self.memory, self.cpus, self.pids_limit, self.workdir_size, self.tmp_size)

    @property
    def session(self) -> SessionLimits:
        """Limits of the calls in it."""
        return SessionLimits(
            self.timeout_seconds,
            self.startup_timeout_seconds,
            self.interrupt_grace_seconds,
            self.on_death,
        )


class _Container(TypedDict, total=False):
    network: str
    transport: Transport
    read_only: bool
    disk_size: int | str | None
    user: str
    allow_root: bool
    allow_shared_network: bool
    runtime: str | None
    environment: Mapping[str, str | float] | None
    volumes: Any
    workdir: str
    lease_seconds: float


class _Image(TypedDict, total=False):
    image: str | None
    base_image: str | None
    requirements: Sequence[str] | None
    ca_bundle: str | os.PathLike[str] | None
    build_timeout_seconds: float


class _Limits(TypedDict, total=False):
    timeout_seconds: float | None
    startup_timeout_seconds: float
    interrupt_grace_seconds: float
    on_death: OnDeath
    memory: int | str | None
    cpus: float | None
    pids_limit: int | None
    workdir_size: int | str
    tmp_size: int | str
    max_print_outputs_length: int | None


class _Bridge(TypedDict, total=False):
    max_value_bytes: int
    max_tool_calls: int
    tool_timeout_seconds: float | None
    tools_in_calling_thread: bool | None
    on_output: Callable[[str], None] | None
    figures_dir: str | os.PathLike[str] | None
    tool_placement: Mapping[str, Literal["host", "sandbox"]] | None
    additional_functions: Mapping[str, Callable[..., Any]] | None


class DockerKeywords(_Container, _Image, _Limits, _Bridge, total=False):
    """Keywords of DockerExecutor's constructor beside its named parameters."""


class _Upstream(TypedDict, total=False):
    """Options that upstream's constructor has, too, and accepts by position."""

    allow_pickle: bool
    host: str
    port: int | None
    image_name: str | None
    build_new_image: bool
    container_run_kwargs: Mapping[str, Any] | None
    dockerfile_content: str | None


class DockerKeywordsWithUpstreams(DockerKeywords, _Upstream, total=False):
    """Every option by name."""
