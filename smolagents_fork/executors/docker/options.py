"""Options of DockerExecutor and of its pool: container, image, limits, calls."""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias

from ...distributions.requirements import requirements_for
from ...errors import ConfigurationError
from ...options import accept
from ...options.option import Options, option, part_of, same_as
from ...options.words import ENGINES
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.engine_protocol import Engine, check_engine
from ...sandboxes.provisioner import ImageSpec, Provisioner, SandboxSpec
from ...sandboxes.resource_limits import Limits
from ..call_options import CallOptions, OnDeath, SessionLimits
from ..jupyter.connection import KernelConnection, KernelSettings, streamed_length
from ..jupyter.packages import PackageSettings
from .start_advice import start_advice

__all__ = ["DockerOptions", "EngineOption", "connection_to"]


# Takes the listener of a sandbox.
Serve: TypeAlias = "Callable[[socket.socket], None]"


def _engine(_name: str, value: Any) -> Engine | None:
    return None if value is None else check_engine(value)


@dataclass(frozen=True, kw_only=True)
class EngineOption(Options):
    """Place where containers run."""

    engine: Engine | None = option(
        None,
        "where the container runs; `None`: Docker's engine that the environment names",
        _engine,
        form="an engine, such as `DockerEngine(host=...)`",
        elsewhere=ENGINES,
    )


def _placement(name: str, value: Any) -> dict[str, str]:
    found = accept.mapping(name, value)
    for tool, place in found.items():
        accept.one_of("host", "sandbox")(f"{name}[{tool!r}]", place)
    return found


@dataclass(frozen=True)
class BridgeOptions(CallOptions):
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
                "do not come to the host, and before_tool would not be asked; leave the tool on "
                "the host, or omit before_tool"
            )


@dataclass(frozen=True)
class DockerOptions(BridgeOptions, Limits, ImageSpec, ContainerOptions):
    """Options of one executor, or of a pool's containers."""

    _: KW_ONLY
    on_death: OnDeath = option(
        "restart",
        'the next call after kernel or container ended: `"restart"` starts a new one and sends '
        'tools, variables and `files` again; `"fail"` raises until `restart()`',
        accept.one_of("restart", "fail"),
        form='`"restart"`, `"fail"`',
        of_call=True,
    )

    @property
    def container(self) -> ContainerOptions:
        """Options of the container."""
        return part_of(self, ContainerOptions)

    @property
    def image_options(self) -> ImageSpec:
        """Options of the image."""
        return part_of(self, ImageSpec)

    @property
    def resources(self) -> Limits:
        """Limits of the sandbox."""
        return part_of(self, Limits)

    @property
    def session(self) -> SessionLimits:
        """Limits of the calls in it."""
        return part_of(self, SessionLimits)

    @property
    def streamed_length(self) -> int:
        """Characters of a call's output that the kernel sends as they are printed."""
        return streamed_length(self.print_length)

    def packages(self, network_remedy: str) -> PackageSettings:
        """Return the settings of installations into a running sandbox.

        Args:
            network_remedy: how the sandbox gets a network; empty if it has one.
        """
        return PackageSettings(
            workdir=self.workdir,
            network_remedy=network_remedy,
            ca_bundle=self.ca_bundle,
            timeout_seconds=self.build_timeout_seconds,
        )

    def image_spec(self, imports: Sequence[str]) -> ImageSpec:
        """Return the specification of the image.

        Args:
            imports: import names the code may use; their packages are installed.

        Raises:
            ConfigurationError: an entry is not an import name or a requirement.
        """
        requirements = requirements_for(imports, self.requirements)
        return dataclasses.replace(self.image_options, requirements=requirements)

    def sandbox_spec(self, image: str, serve_listener: Serve | None = None) -> SandboxSpec:
        """Return the specification of a sandbox.

        Args:
            image: to start.
            serve_listener: see :class:`SandboxSpec`.
        """
        return SandboxSpec(
            image=image,
            limits=self.resources,
            environment=self.variables,
            workdir=self.workdir,
            lease_seconds=self.lease_seconds,
            start_seconds=self.startup_timeout_seconds,
            serve_listener=serve_listener,
        )


def connection_to(
    provisioner: Provisioner,
    options: DockerOptions,
    image: str,
    serve_listener: Serve | None = None,
) -> KernelConnection:
    """Return a connection that starts a sandbox with ``options``.

    Args:
        provisioner: starts the sandbox.
        options: of the executor or the pool.
        image: to start.
        serve_listener: see :class:`SandboxSpec`.
    """
    settings = KernelSettings(
        max_print_outputs_length=options.print_length,
        max_value_bytes=options.max_value_bytes,
        allow_pickle=options.allow_pickle,
        allow_root=options.allow_root,
        start_advice=start_advice(options, own_image=options.is_users_own),
    )
    return KernelConnection(provisioner, options.sandbox_spec(image, serve_listener), settings)
