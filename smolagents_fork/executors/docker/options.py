"""Options of DockerExecutor and of its pool: container, image, limits, calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...distributions.requirements import requirements_for
from ...options.option import Options, option, part_of
from ...options.words import ENGINES
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.engine_protocol import Engine, check_engine
from ...sandboxes.provisioner import ConnectionProxy, ImageSpec, Provisioner, SandboxSpec
from ...sandboxes.resource_limits import Limits
from ..jupyter.connection import KernelConnection, KernelSettings, streamed_length
from ..jupyter.kernel_options import KernelOptions
from ..jupyter.packages import PackageSettings
from .start_advice import start_advice

__all__ = ["DockerOptions", "EngineOption", "connection_to"]


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


@dataclass(frozen=True)
class DockerOptions(KernelOptions, Limits, ImageSpec, ContainerOptions):
    """Options of one executor, or of a pool's containers."""

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

    def sandbox_spec(self, image: str, proxy: ConnectionProxy | None = None) -> SandboxSpec:
        """Return the specification of a sandbox.

        Args:
            image: to start.
            proxy: see :class:`SandboxSpec`.
        """
        return SandboxSpec(
            image=image,
            limits=self.resources,
            environment=self.variables,
            workdir=self.workdir,
            lease_seconds=self.lease_seconds,
            start_seconds=self.startup_timeout_seconds,
            proxy=proxy,
        )


def connection_to(
    provisioner: Provisioner,
    options: DockerOptions,
    image: str,
    proxy: ConnectionProxy | None = None,
) -> KernelConnection:
    """Return a connection that starts a sandbox with ``options``.

    Args:
        provisioner: starts the sandbox.
        options: of the executor or the pool.
        image: to start.
        proxy: see :class:`SandboxSpec`.
    """
    settings = KernelSettings(
        max_print_outputs_length=options.print_length,
        max_value_bytes=options.max_value_bytes,
        allow_pickle=options.allow_pickle,
        allow_root=options.allow_root,
        start_advice=start_advice(options, own_image=options.is_users_own),
    )
    return KernelConnection(provisioner, options.sandbox_spec(image, proxy), settings)
