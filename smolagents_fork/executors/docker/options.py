"""The keywords of DockerExecutor, checked once and kept together."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ...errors import ConfigurationError
from ...limits import check_seconds
from ...sandboxes.docker.volumes import check_volumes
from ...sandboxes.provisioner import Limits, SandboxSpec
from ...sandboxes.resource_limits import check_limits, check_size, parse_size
from ..validation import (
    check_count,
    check_flag,
    check_known,
    check_output_function,
    check_text,
    mapping_of,
    names_of,
)
from .option_checks import (
    address_of,
    check_host,
    check_network,
    check_one_of,
    check_user,
    check_variable,
    check_workdir,
    is_shared,
)

__all__ = ["Options"]

OnDeath = Literal["restart", "fail"]
Transport = Literal["auto", "exec", "port"]


@dataclass(frozen=True)
class Options:
    """What an executor was asked for. :class:`DockerExecutor` documents every field."""

    timeout_seconds: float | None = 60.0
    startup_timeout_seconds: float = 60.0
    interrupt_grace_seconds: float = 3.0
    on_death: OnDeath = "restart"
    network: str = "none"
    transport: Transport = "auto"
    host: str = "127.0.0.1"
    port: int | None = None
    memory: int | str | None = "2g"
    cpus: float | None = 1.0
    pids_limit: int | None = 256
    read_only: bool = True
    disk_size: int | str | None = "2g"
    user: str = "1000:1000"
    allow_root: bool = False
    allow_shared_network: bool = False
    runtime: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    volumes: Any = None
    workdir: str = "/workspace"
    workdir_size: int | str = "512m"
    tmp_size: int | str = "128m"
    lease_seconds: float = 5.0
    max_output_bytes: int = 1_000_000
    max_value_bytes: int = 256 * 1024 * 1024
    max_tool_calls: int = 100_000
    tool_timeout_seconds: float | None = None
    tools_in_calling_thread: bool = False
    on_output: Callable[[str], None] | None = None
    tool_placement: Mapping[str, str] = field(default_factory=dict)
    allow_pickle: bool = False
    container_run_kwargs: Mapping[str, Any] = field(default_factory=dict)
    image: str | None = None
    image_name: str | None = None
    build_new_image: bool = True
    dockerfile_content: str | None = None
    base_image: str | None = None
    requirements: Sequence[str] = ()
    ca_bundle: str | os.PathLike[str] | None = None
    build_timeout_seconds: float = 1800.0

    @classmethod
    def of(
        cls, owner: str = "DockerExecutor", own: Sequence[str] = (), /, **keywords: Any
    ) -> Options:
        """Options from keywords; ``None`` for a mapping is an empty one.

        Args:
            owner: the class that was called.
            own: what it takes besides.
            **keywords: what it was given.

        Raises:
            ConfigurationError: a keyword there is not, or a value that cannot work.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        check_known(owner, keywords, [*known, *own])
        for name in ("environment", "container_run_kwargs", "tool_placement"):
            if name in keywords:
                keywords[name] = mapping_of(name, keywords[name])
        if "requirements" in keywords:
            keywords["requirements"] = names_of("requirements", keywords["requirements"])
        return cls(**keywords)

    def __post_init__(self) -> None:
        check_seconds("timeout_seconds", self.timeout_seconds)
        check_seconds("tool_timeout_seconds", self.tool_timeout_seconds)
        for name in (
            "startup_timeout_seconds",
            "interrupt_grace_seconds",
            "lease_seconds",
            "build_timeout_seconds",
        ):
            check_seconds(name, getattr(self, name), optional=False)
        check_one_of("on_death", self.on_death, ("restart", "fail"))
        check_one_of("transport", self.transport, ("auto", "exec", "port"))
        for name in ("max_output_bytes", "max_value_bytes", "max_tool_calls"):
            check_count(name, getattr(self, name))
        for name in (
            "read_only",
            "allow_root",
            "allow_shared_network",
            "allow_pickle",
            "tools_in_calling_thread",
            "build_new_image",
        ):
            check_flag(name, getattr(self, name))
        for name in ("runtime", "image", "image_name", "base_image", "dockerfile_content"):
            check_text(name, getattr(self, name))
        if self.runtime == "":
            # No name is the engine's word for its own: less of a wall than whoever asks wants.
            raise ConfigurationError("runtime='': give a name, or None for the engine's own")
        if self.ca_bundle is not None and not isinstance(self.ca_bundle, (str, os.PathLike)):
            raise ConfigurationError(f"ca_bundle={self.ca_bundle!r}: give a path, or None")
        port = self.port
        if port is not None and (type(port) is not int or not 0 < port < 65_536):
            raise ConfigurationError(f"port={port!r}: give 1 to 65535, or None for a free one")
        check_workdir(self.workdir)
        check_output_function(self.on_output)
        if not isinstance(self.network, str) or not self.network:
            # No name is the engine's word for its bridge: more than anybody has asked for.
            raise ConfigurationError(
                f"network={self.network!r}: give 'none', 'bridge' or the name of a network"
            )
        check_host(self.host)
        for name, value in self.environment.items():
            check_variable(name, value)
        check_volumes(self.volumes)
        for name, where in self.tool_placement.items():
            check_one_of(f"tool_placement[{name!r}]", where, ("host", "sandbox"))
        if not self.allow_shared_network:
            check_network("network", self.network)
            for name in ("network", "network_mode"):
                asked = self.container_run_kwargs.get(name)
                check_network(f"container_run_kwargs[{name!r}]", asked)
        if not isinstance(self.user, str):
            raise ConfigurationError(f"user={self.user!r}: give text such as '1000:1000'")
        if not self.allow_root:
            check_user("user", self.user)
            check_user("container_run_kwargs['user']", self.container_run_kwargs.get("user"))
        if self.transport == "port" and is_shared(self.network):
            raise ConfigurationError(
                f"transport='port' with network={self.network!r}: no port can be published on "
                "network interfaces of others; leave transport alone"
            )
        if self.transport == "port" and self.network == "none":
            raise ConfigurationError(
                "transport='port' needs a network: network='none' has no port to publish; "
                "pass network='bridge', or leave transport alone"
            )
        if self.image is not None and self.dockerfile_content is not None:
            raise ConfigurationError(
                "image= and dockerfile_content= exclude one another: give one of them"
            )
        check_limits(self.limits)
        check_size("disk_size", self.disk_size)
        memory = parse_size(self.memory) if self.memory is not None else None
        held = (parse_size(self.workdir_size) or 0) + (parse_size(self.tmp_size) or 0)
        if memory is not None and held >= memory:
            raise ConfigurationError(
                f"workdir_size={self.workdir_size!r} and tmp_size={self.tmp_size!r} are kept in "
                f"memory and leave nothing of memory={self.memory!r}: lower them or raise it"
            )

    @property
    def limits(self) -> Limits:
        """The limits among the options."""
        return Limits(self.memory, self.cpus, self.pids_limit, self.workdir_size, self.tmp_size)

    @property
    def published(self) -> bool:
        """Whether the gateway is reached over a published port and not over an exec stream."""
        if self.network == "none" or is_shared(self.network):
            return False
        return self.transport != "exec"

    @property
    def has_network(self) -> bool:
        """Whether the code was given a network."""
        extra = self.container_run_kwargs
        asked = extra.get("network") or extra.get("network_mode") or self.network
        return str(asked) != "none"

    def spec(self, image: str, *, published: bool) -> SandboxSpec:
        """What the provisioner is asked for."""
        return SandboxSpec(
            image=image,
            limits=self.limits,
            network=self.network if self.network != "none" or not published else "bridge",
            read_only=self.read_only,
            disk_size=self.disk_size,
            user=self.user,
            runtime=self.runtime,
            environment={name: str(value) for name, value in self.environment.items()},
            volumes=self.volumes,
            workdir=self.workdir,
            publish=(address_of(self.host), self.port) if published else None,
            lease_seconds=self.lease_seconds,
            extra=dict(self.container_run_kwargs),
        )
