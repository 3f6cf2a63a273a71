"""Options of DockerExecutor and of its pool: container, image, limits, calls."""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ...distributions.requirements import requirements_for
from ...errors import ConfigurationError
from ...options.option import Options, option, part_of
from ...options.words import ENGINES
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.docker.docker_engine import DockerEngine
from ...sandboxes.engine_protocol import Engine, check_engine
from ...sandboxes.provisioner import (
    ConnectionProxy,
    ImageSpec,
    Provisioner,
    Report,
    SandboxSpec,
)
from ...sandboxes.resource_limits import Limits, parse_size
from ..jupyter.connection import KernelConnection, KernelSettings
from ..jupyter.image_progress import shown_progress
from ..jupyter.kernel_options import KernelOptions
from ..jupyter.packages import Packages

__all__ = [
    "DockerOptions",
    "EngineOption",
    "chosen_engine",
    "connection_to",
    "engine_for",
    "start_advice",
]

# A start that fails below these figures may have failed because of them.
_ENOUGH_PIDS = 40
_ENOUGH_MEMORY = 150 << 20


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
    def streamed_length(self) -> int:
        """Characters of a call's output that the kernel sends as they are printed."""
        return KernelSettings(self.print_length).streamed_length

    def packages(self, network_remedy: str) -> Packages:
        """Return what installs packages into a running sandbox.

        Args:
            network_remedy: how the sandbox gets a network; empty if it has one.
        """
        return Packages(
            self.build_timeout_seconds,
            f"build_timeout_seconds={self.build_timeout_seconds}",
            folder=posixpath.join(self.workdir, ".packages"),
            network_remedy=network_remedy,
            ca_bundle=self.ca_bundle,
        )

    def image_spec(self, imports: Sequence[str]) -> ImageSpec:
        """Return the specification of the image.

        Args:
            imports: import names the code may use; their packages are installed.

        Raises:
            ConfigurationError: an entry is not an import name or a requirement.
        """
        requirements = requirements_for(imports, self.requirements)
        return dataclasses.replace(part_of(self, ImageSpec), requirements=requirements)

    def prepare_image(
        self, provisioner: Provisioner, imports: Sequence[str], plain: Report | None = None
    ) -> str:
        """Have the image prepared, and show what is built; return its name."""
        with shown_progress(plain) as report:
            return provisioner.prepare_image(self.image_spec(imports), report=report)

    def sandbox_spec(self, image: str, proxy: ConnectionProxy | None = None) -> SandboxSpec:
        """Return the specification of a sandbox."""
        return SandboxSpec(
            image=image,
            limits=part_of(self, Limits),
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
    """Return a connection that starts a sandbox with ``options``."""
    settings = KernelSettings(
        max_print_outputs_length=options.print_length,
        max_value_bytes=options.max_value_bytes,
        allow_pickle=options.allow_pickle,
        allow_root=options.allow_root,
        start_advice=start_advice(options, own_image=options.is_users_own),
    )
    return KernelConnection(provisioner, options.sandbox_spec(image, proxy), settings)


def start_advice(limits: Limits, *, own_image: bool) -> str:
    """Return advice for the end of a failed start's message; may be empty."""
    advice = []
    if own_image:
        advice.append(
            "an image of your own has to start a Jupyter kernel gateway on port 8888, "
            "and needs python3"
        )
    if limits.pids_limit is not None and limits.pids_limit < _ENOUGH_PIDS:
        advice.append(
            f"pids_limit={limits.pids_limit!r} may be too low: gateway and kernel have about 20 "
            "processes and threads"
        )
    memory = parse_size(limits.memory)
    if memory is not None and memory < _ENOUGH_MEMORY:
        advice.append(
            f"memory={limits.memory!r} may be too low: gateway and kernel take about 90 MB"
        )
    return "".join(f"; {text}" for text in advice)


class _HasEngine(Protocol):
    engine: Engine


def engine_for(engine: object, options: DockerOptions) -> Engine:
    """Return the engine that an argument names, which can start sandboxes with these options.

    Args:
        engine: the argument; ``None``: Docker's engine.

    Raises:
        ConfigurationError: it is not an engine, or an option makes no sense there.
    """
    chosen: Engine = DockerEngine() if engine is None else check_engine(engine)
    default = type(options)()
    for name, reason in chosen.refused_options.items():
        # A pool does not have every option of an executor.
        value = getattr(options, name, None)
        if value != getattr(default, name, None):
            raise ConfigurationError(f"{name}={value!r} with {chosen!r}: {reason}")
    return chosen


def chosen_engine(engine: object, pool: _HasEngine | None, options: DockerOptions) -> Engine:
    """Return the engine of an executor.

    Args:
        engine: the executor's argument; ``None``: the pool's, or Docker's.

    Raises:
        ConfigurationError: as :func:`engine_for`, or another engine than the pool's.
    """
    if pool is None:
        return engine_for(engine, options)
    if engine is not None and engine != pool.engine:
        raise ConfigurationError(
            f"engine={engine!r} is decided by the pool, which has {pool.engine!r}: pass it to the "
            "pool"
        )
    return pool.engine
