"""The keywords of DockerExecutor's constructor with their types, for editors and type checkers.

A test compares them with the options they become.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from ...sandboxes.docker.container_options import Transport
from .session import OnDeath

__all__ = ["DockerKeywords", "DockerKeywordsWithUpstreams"]


class _Container(TypedDict, total=False):
    network: str
    transport: Transport
    read_only: bool
    disk_size: int | str | None
    user: str
    allow_root: bool
    allow_shared_network: bool
    runtime: str | None
    environment: Mapping[str, str] | None
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
    max_output_bytes: int


class _Bridge(TypedDict, total=False):
    max_value_bytes: int
    max_tool_calls: int
    tool_timeout_seconds: float | None
    tools_in_calling_thread: bool
    on_output: Callable[[str], None] | None
    tool_placement: Mapping[str, Literal["host", "sandbox"]] | None


class DockerKeywords(_Container, _Image, _Limits, _Bridge, total=False):
    """The keywords of DockerExecutor's constructor beside those that it names itself."""


class _Upstream(TypedDict, total=False):
    """Options that upstream's constructor has, too, and takes by position."""

    allow_pickle: bool
    host: str
    port: int | None
    image_name: str | None
    build_new_image: bool
    container_run_kwargs: Mapping[str, Any] | None
    dockerfile_content: str | None


class DockerKeywordsWithUpstreams(DockerKeywords, _Upstream, total=False):
    """Every option by name."""
