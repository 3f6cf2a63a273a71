"""Containers, images and caches of the fork that nobody needs any more."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ....errors import EngineUnavailableError, ExecutorError
from ....inventory import GONE, Removal
from ...listed_entries import read_entries
from ..engine import mapped_errors
from ..images.installation import CACHE_LABEL
from ..list_fields import labels_of, volume_name
from .container_list import container_entries, kill_container
from .disk_usage import disk_usage
from .image_list import image_entries

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["find_garbage", "remove_garbage"]


def find_garbage(client: DockerClient, pattern: str = "*") -> list[Removal]:
    """List containers whose owner is gone, images that no container uses, and pip's caches.

    Args:
        client: docker-py client.
        pattern: shell pattern that a name or the id of the container or image has to match.

    Raises:
        EngineUnavailableError: the engine does not answer.
    """

    def wanted(*names: str) -> bool:
        return any(fnmatchcase(name, pattern) for name in names)

    gone = [
        entry
        for entry in container_entries(client)
        if entry.owner.state == GONE and wanted(entry.id, entry.name)
    ]
    going = {entry.name for entry in gone}
    unused = [
        entry
        for entry in image_entries(client)
        if going.issuperset(entry.used_by) and wanted(entry.id, *entry.names)
    ]
    return [
        *(
            Removal(
                entry.id,
                "container",
                (entry.name,),
                None,
                f"its owner, process {entry.owner.pid}, is gone",
            )
            for entry in gone
        ),
        *(
            Removal(
                entry.id,
                "image",
                entry.names,
                entry.own_bytes,
                "no container uses it" if entry.names else "a newer one has replaced it",
            )
            for entry in unused
        ),
        *(removal for removal in _caches(client) if wanted(removal.id)),
    ]


def _caches(client: DockerClient) -> list[Removal]:
    """List the volumes with pip's cache for builds that no container uses now."""
    return read_entries("volume", disk_usage(client).get("Volumes"), _cache)


def _cache(volume: Mapping[str, Any]) -> Removal | None:
    # Only with the number of its containers is it known that it has none.
    if CACHE_LABEL not in labels_of(volume) or volume["UsageData"]["RefCount"] != 0:
        return None
    name = volume_name(volume)
    return Removal(
        name,
        "volume",
        (name,),
        max(0, volume["UsageData"]["Size"]),
        "pip's cache of builds; the next one downloads again",
    )


def remove_garbage(client: DockerClient, removal: Removal) -> str:
    """Remove one entry; return why it was not removed, empty if it was.

    Args:
        client: docker-py client.
        removal: from :func:`find_garbage`.

    Raises:
        EngineUnavailableError: the engine does not answer.
    """
    import docker

    if removal.what == "container":
        try:
            kill_container(client, removal.id)
        except EngineUnavailableError:
            raise
        except ExecutorError as error:
            return str(error)
        return ""
    # By name, one after the other. The engine refuses what a container uses by now.
    remove = client.api.remove_volume if removal.what == "volume" else client.api.remove_image
    for name in removal.names or (removal.id,):
        try:
            with mapped_errors(f"removing the {removal.what}", name=name):
                remove(name)
        except ExecutorError as error:
            if isinstance(error.__context__, docker.errors.NotFound):
                continue  # another process was first
            if isinstance(error.__context__, docker.errors.APIError):
                return str(error.__context__.explanation or error)
            raise
    return ""
