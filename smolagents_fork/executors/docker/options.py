"""Options of DockerExecutor in four groups: container, image, limits, bridge."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...distributions.requirements import requirements_for
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.provisioner import ImageSpec, Provisioner, SandboxSpec
from ...sandboxes.resource_limits import fitting_sizes
from ..jupyter.connection import KernelConnection, KernelSettings
from ..jupyter.host_bindings import BridgeOptions
from ..jupyter.packages import PackageSettings
from ..validation import check_functions, check_known, current_names, mapping_of, names_of
from .option_checks import check_bridge, check_container, check_image, check_limit_options
from .option_groups import LimitOptions
from .start_advice import start_advice

__all__ = ["Options", "connection_to", "option_names"]


@dataclass(frozen=True)
class Options:
    """Options of one executor."""

    container: ContainerOptions = field(default_factory=ContainerOptions)
    image: ImageSpec = field(default_factory=ImageSpec)
    limits: LimitOptions = field(default_factory=LimitOptions)
    bridge: BridgeOptions = field(default_factory=BridgeOptions)

    @classmethod
    def of(
        cls, owner: str = "DockerExecutor", own: Sequence[str] = (), /, **keywords: Any
    ) -> Options:
        """Sort keywords into groups and check them; ``None`` for a mapping means an empty one.

        Args:
            owner: the class that was called.
            own: its other parameters.
            **keywords: that it was called with.

        Raises:
            ConfigurationError: an unknown keyword, or a value that cannot work.
        """
        known = [*option_names(), *own]
        keywords = current_names(owner, keywords, known)
        check_known(owner, keywords, known)
        for name in ("environment", "container_run_kwargs", "tool_placement"):
            if name in keywords:
                keywords[name] = mapping_of(name, keywords[name])
        if "additional_functions" in keywords:
            keywords["additional_functions"] = check_functions(keywords["additional_functions"])
        if "requirements" in keywords:
            keywords["requirements"] = names_of("requirements", keywords["requirements"])
        sizes = ("memory", "workdir_size", "tmp_size")
        keywords |= fitting_sizes({name: keywords[name] for name in sizes if name in keywords})
        made = cls(*(_pick(kind, keywords) for kind in _GROUPS.values()))
        made.check()
        return made

    def check(self) -> None:
        """Refuse options that cannot work.

        Raises:
            ConfigurationError: names the parameter and what to give instead.
        """
        check_limit_options(self.limits, self.limits.resources)
        check_bridge(self.bridge)
        check_container(self.container)
        check_image(self.image)

    def with_values(self, values: Mapping[str, Any]) -> Options:
        """Return options with other values; names are those of the constructor.

        Args:
            values: names to values.
        """
        groups = {
            group: dataclasses.replace(
                getattr(self, group),
                **{name: values[name] for name in _names(kind) if name in values},
            )
            for group, kind in _GROUPS.items()
        }
        return Options(**groups)

    def value(self, name: str) -> Any:
        """Return the value of one option.

        Args:
            name: as the constructor has it.
        """
        group = next(group for group, kind in _GROUPS.items() if name in _names(kind))
        return getattr(getattr(self, group), name)

    def packages(self, network_remedy: str) -> PackageSettings:
        """Return the settings of installations into a running sandbox.

        Args:
            network_remedy: how the sandbox gets a network; empty if it has one.
        """
        return PackageSettings(
            workdir=self.container.workdir,
            network_remedy=network_remedy,
            ca_bundle=self.image.ca_bundle,
            timeout_seconds=self.image.build_timeout_seconds,
        )

    def image_spec(self, imports: Sequence[str]) -> ImageSpec:
        """Return the specification of the image.

        Args:
            imports: import names the code may use; their packages are installed.

        Raises:
            ConfigurationError: an entry is not an import name or a requirement.
        """
        requirements = requirements_for(imports, self.image.requirements)
        return dataclasses.replace(self.image, requirements=requirements)

    def sandbox_spec(self, image: str) -> SandboxSpec:
        """Return the specification of a sandbox.

        Args:
            image: to start.
        """
        container = self.container
        return SandboxSpec(
            image=image,
            limits=self.limits.resources,
            environment={name: str(value) for name, value in container.environment.items()},
            workdir=container.workdir,
            lease_seconds=container.lease_seconds,
            start_seconds=self.limits.startup_timeout_seconds,
        )


def connection_to(provisioner: Provisioner, options: Options, image: str) -> KernelConnection:
    """Return a connection that starts a sandbox with ``options``.

    Args:
        provisioner: starts the sandbox.
        options: of the executor or the pool.
        image: to start.
    """
    settings = KernelSettings(
        max_print_outputs_length=options.limits.print_length,
        max_value_bytes=options.bridge.max_value_bytes,
        allow_pickle=options.bridge.allow_pickle,
        allow_root=options.container.allow_root,
        start_advice=start_advice(options.limits.resources, own_image=options.image.is_users_own),
    )
    return KernelConnection(provisioner, options.sandbox_spec(image), settings)


_GROUPS: dict[str, type[Any]] = {
    "container": ContainerOptions,
    "image": ImageSpec,
    "limits": LimitOptions,
    "bridge": BridgeOptions,
}


def option_names() -> list[str]:
    """Return the names of all options, group by group."""
    return [name for kind in _GROUPS.values() for name in _names(kind)]


def _names(kind: type[Any]) -> Iterable[str]:
    return [field.name for field in dataclasses.fields(kind)]


def _pick(kind: type[Any], keywords: Mapping[str, Any]) -> Any:
    return kind(**{name: keywords[name] for name in _names(kind) if name in keywords})
