"""Containers and images of the fork that nobody needs any more."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ....errors import EngineUnavailableError, ExecutorError
from ....system.inventory import GONE, Removal
from ..engine import mapped_errors
from .container_list import container_entries, kill_container
from .image_list import image_entries

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["find_garbage", "remove_garbage"]


def find_garbage(client: DockerClient, pattern: str = "*") -> list[Removal]:
    """List containers whose owner is gone, and images that no container uses.

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
    ]


def remove_garbage(client: DockerClient, removal: Removal) -> str:
    """Remove one entry; return why it was not removed, empty if it was.

    Args:
        client: docker-py client.
        removal: Removal from :func:`find_garbage`.

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
    for name in removal.names or (removal.id,):
        try:
            with mapped_errors(f"removing the {removal.what}", name=name):
                client.api.remove_image(name)
        except ExecutorError as error:
            if isinstance(error.__context__, docker.errors.NotFound):
                continue  # another process was first
            if isinstance(error.__context__, docker.errors.APIError):
                return str(error.__context__.explanation or error)
            raise
    return ""
