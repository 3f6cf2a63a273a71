"""Checks of an engine: whether it answers, what it can limit, and where images come from."""

from __future__ import annotations

import functools
import os
import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Network, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import ExecutorError
from ....system.checks import Check, Finding, fail, ok, skip, warning
from ....system.inventory import size_text
from ...package_index import index_checks
from ..engine import connect, inspect_image, mapped_errors, remote_host
from ..engine_address import EngineAddress
from ..images.image_plans import BASE_IMAGE_VARIABLE, DEFAULT_BASE_IMAGE, plan

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["EngineChecks", "cgroup_finding", "conflicting_routes"]

_CALL_SECONDS = 10
_REGISTRY_SECONDS = 20
# The first version of the API with statistics that need no second measurement.
_LEAST_API = (1, 41)
_ROUTES = Path("/proc/net/route")
_LIMITS = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "processor time"}


class EngineChecks:
    """Checks of the engine that ``DOCKER_HOST`` names, or of the local one.

    They share a connection, which is made by the first one and closed with the process.
    """

    def all(self) -> Sequence[Check]:
        """Return the checks in their order."""
        return (
            Check("engine", self._engine),
            Check("version", self._version, needs="engine"),
            Check("cgroups", self._cgroups, needs="engine"),
            Check("bridge", self._bridge, needs="engine"),
            Check("image", self._image, needs="engine"),
            Check("registry", self._registry, _REGISTRY_SECONDS + 5, needs="engine"),
            *index_checks(),
        )

    @functools.cached_property
    def _client(self) -> DockerClient:
        return connect(timeout=_CALL_SECONDS)

    def has_image(self) -> bool:
        """Tell whether the default image is there, so that a start builds nothing.

        Raises:
            EngineUnavailableError: the engine does not answer.
        """
        return inspect_image(self._client, plan().tag) is not None

    def _engine(self) -> Finding:
        assert self._client
        return ok(f"answers at {EngineAddress.of()}")

    def _version(self) -> Finding:
        with mapped_errors("asking for the version"):
            version = self._client.version()
        text = f"{_engine_name(version)} {version.get('Version')}, API {version.get('ApiVersion')}"
        api = tuple(int(part) for part in str(version.get("ApiVersion", "0")).split("."))
        if api < _LEAST_API:
            return warning(
                f"{text}: older than any release that is tested",
                "update the engine to Docker 20.10 or later",
            )
        return ok(text)

    def _cgroups(self) -> Finding:
        with mapped_errors("asking about the engine"):
            return cgroup_finding(self._client.info())

    def _bridge(self) -> Finding:
        import docker

        if remote_host(self._client, EngineAddress.of()) is not None:
            return skip("the engine runs on another machine")
        with mapped_errors("asking for the bridge"):
            try:
                bridge: Any = self._client.api.inspect_network("bridge")
            except docker.errors.NotFound:
                return warning(
                    "the engine has no default bridge",
                    "network='bridge' cannot be used; the default network='none' can",
                )
        interface = (bridge.get("Options") or {}).get("com.docker.network.bridge.name", "docker0")
        pools = bridge["IPAM"].get("Config") or []
        subnets = [pool["Subnet"] for pool in pools if "Subnet" in pool]
        text = f"{interface}, {', '.join(subnets) or 'no subnet'}"
        others = conflicting_routes(subnets, interface)
        if not others:
            return ok(text)
        also = ", ".join(f"{name} ({network})" for name, network in others)
        names = " ".join(dict.fromkeys(name for name, _ in others))
        return warning(
            f"{text}; the same addresses lead to {also}, so published ports do not answer",
            f"remove the other interface (ip link delete {names}) or give the engine other "
            "addresses ('bip' in its daemon.json); the default network='none' needs none",
        )

    def _image(self) -> Finding:
        tag = plan().tag
        image = inspect_image(self._client, tag)
        if image is None:
            return warning(
                f"{tag} is not built yet",
                "smolagents-fork setup docker builds it, as the first start would",
            )
        return ok(f"{tag}, {size_text(image['Size'])}")

    def _registry(self) -> Finding:
        base = os.environ.get(BASE_IMAGE_VARIABLE) or DEFAULT_BASE_IMAGE
        if self.has_image():
            return ok("not needed: the image is built")
        if inspect_image(self._client, base) is not None:
            return ok(f"not needed: the engine has the base image {base}")
        patient = connect(timeout=_REGISTRY_SECONDS)
        try:
            with mapped_errors("asking the registry", image=base):
                # Its stub has no types.
                patient.api.inspect_distribution(base)  # type: ignore[no-untyped-call]
        except ExecutorError as error:
            return fail(
                f"the base image {base} is not on the engine, and no registry gives it: {error}",
                f"give the engine a way to the registry, load the image (docker load), or set "
                f"{BASE_IMAGE_VARIABLE} to one that it has",
            )
        finally:
            patient.close()
        return ok(f"gives the base image {base}")


def _engine_name(version: Mapping[str, Any]) -> str:
    # Docker's own component is called "Engine"; compatible engines give their name, too.
    components = version.get("Components") or [{}]
    return str(components[0].get("Name") or "").removesuffix("Engine").strip() or "Docker"


def cgroup_finding(info: Mapping[str, Any]) -> Finding:
    """Return whether the engine can limit what a container uses.

    Args:
        info: the engine's description of itself.
    """
    text = f"version {info.get('CgroupVersion', '1')}, driver {info.get('CgroupDriver', 'unknown')}"
    missing = [what for key, what in _LIMITS.items() if not info.get(key)]
    if not missing:
        return ok(f"{text}: memory, processes and processor time can be limited")
    return warning(
        f"{text}: no limit of {' or '.join(missing)}; a program can use all of the machine's",
        "enable the controllers: cgroup_enable=memory on the kernel's command line, or for a "
        "rootless engine systemd's Delegate=yes with cgroups 2",
    )


def conflicting_routes(subnets: Iterable[str], bridge: str) -> list[tuple[str, IPv4Network]]:
    """Return this machine's routes to other interfaces that take addresses of the bridge away.

    A wider route, such as that of a VPN, does not: the most specific one counts.

    Args:
        subnets: Subnets of the engine's bridge, as ``172.17.0.0/16``; IPv6 is not checked.
        bridge: name of its interface.

    Returns:
        interfaces and networks of the routes; none where there is no /proc.
    """
    networks = (ip_network(subnet, strict=False) for subnet in subnets)
    own = [network for network in networks if isinstance(network, IPv4Network)]
    lines = _ROUTES.read_text("ascii").splitlines()[1:] if _ROUTES.exists() else []
    routes = []
    for interface, destination, _, flags, _, _, _, mask, *_ in map(str.split, lines):
        # In the machine's own byte order.
        address, netmask = (
            socket.inet_ntoa(struct.pack("=I", int(number, 16))) for number in (destination, mask)
        )
        network = IPv4Network(f"{address}/{netmask}")
        is_up = int(flags, 16) & 1
        if is_up and interface != bridge and any(network.subnet_of(subnet) for subnet in own):
            routes.append((interface, network))
    return routes
