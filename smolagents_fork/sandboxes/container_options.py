"""Options of containers, for engines of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["GATEWAY_PORT", "ContainerOptions", "Transport", "is_shared", "user_names"]

#: Port the kernel gateway listens on inside a container.
GATEWAY_PORT = 8888

Transport = Literal["auto", "exec", "port"]


def is_shared(network: object) -> bool:
    """Return whether a container on this network has no interfaces of its own."""
    return str(network).partition(":")[0] in ("host", "container")


@dataclass(frozen=True)
class ContainerOptions:
    """Options of containers. :class:`DockerExecutor` documents every field."""

    network: str = "none"
    transport: Transport = "auto"
    host: str = "127.0.0.1"
    port: int | None = None
    read_only: bool = True
    disk_size: int | str | None = "2g"
    user: str = "1000:1000"
    allow_root: bool = False
    allow_shared_network: bool = False
    runtime: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    volumes: Any = None
    workdir: str = "/workspace"
    lease_seconds: float = 15.0
    container_run_kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def published(self) -> bool:
        """Tell whether a published port carries the gateway's stream; otherwise an exec does."""
        if self.network == "none" or is_shared(self.network):
            return False
        return self.transport != "exec"

    @property
    def has_network(self) -> bool:
        """Tell whether the code was given a network."""
        extra = self.container_run_kwargs
        asked = extra.get("network") or extra.get("network_mode") or self.network
        return str(asked) != "none"

    @property
    def shares_host_network(self) -> bool:
        """Tell whether the code has the interfaces of the engine's machine."""
        extra = self.container_run_kwargs
        return "host" in (extra.get("network"), extra.get("network_mode"), self.network)

    def network_remedy(self, owner: str) -> str:
        """Return the advice that gives code a network; empty if it has one.

        Args:
            owner: that has the options, for the message.
        """
        return "" if self.has_network else f"give the {owner} network='bridge'"


def user_names(user: str) -> dict[str, str]:
    """Return the variables by which programs learn their user's name.

    A user that is a number has no entry in the passwd file of most images.

    Args:
        user: the option of that name.
    """
    name = user.partition(":")[0]
    name = "sandbox" if not name or name.isdigit() else name
    return {"USER": name, "LOGNAME": name}
