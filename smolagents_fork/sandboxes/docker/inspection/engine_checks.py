"""Checks of an engine: whether it answers, what it can limit, and where images come from."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....errors import ExecutorError
from ....system.checks import Check, Finding, fail, ok, warning
from ....system.inventory import size_text
from ...package_index import index_check
from ..engine import connect, inspect_image, mapped_errors
from ..engine_address import EngineAddress
from ..images.image_plans import BASE_IMAGE_VARIABLE, DEFAULT_BASE_IMAGE, plan

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["EngineChecks", "cgroup_finding"]

_CALL_SECONDS = 10
_REGISTRY_SECONDS = 20
# The first version of the API with statistics that need no second measurement.
_LEAST_API = (1, 41)
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
            Check("image", self._image, needs="engine"),
            Check("registry", self._registry, _REGISTRY_SECONDS + 5, needs="engine"),
            index_check(),
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
                f"the base image {base} is not on the engine, and no registry provides it: {error}",
                f"give the engine access to the registry, load the image (docker load), or set "
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
    """Return whether the engine can limit what a container uses."""
    text = f"version {info.get('CgroupVersion', '1')}, driver {info.get('CgroupDriver', 'unknown')}"
    missing = [what for key, what in _LIMITS.items() if not info.get(key)]
    if not missing:
        return ok(f"{text}: memory, processes and processor time can be limited")
    return warning(
        f"{text}: no limit of {' or '.join(missing)}; a program can use all of the machine's",
        "enable the controllers: cgroup_enable=memory on the kernel's command line, or for a "
        "rootless engine systemd's Delegate=yes with cgroups 2",
    )
