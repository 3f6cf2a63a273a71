"""Inventory of the engine that ``DOCKER_HOST`` names, or of the local one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....system.inventory import ImageEntry, Inventory, Removal, SandboxEntry
from ..engine import connect, disconnect
from .container_list import container_entries, container_log, kill_container
from .garbage import find_garbage, remove_garbage
from .image_list import image_entries

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["DockerInventory"]

# Limit of one call of the engine, in seconds; removing an image of gigabytes takes some.
_CALL_SECONDS = 30


class DockerInventory(Inventory):
    """Containers and images of the fork on an engine."""

    def sandboxes(self) -> list[SandboxEntry]:
        with _engine() as client:
            return container_entries(client)

    def log(self, sandbox: str, lines: int) -> list[str]:
        with _engine() as client:
            return container_log(client, sandbox, lines)

    def kill(self, sandbox: str) -> None:
        with _engine() as client:
            kill_container(client, sandbox)

    def images(self) -> list[ImageEntry]:
        with _engine() as client:
            return image_entries(client)

    def garbage(self, pattern: str) -> list[Removal]:
        with _engine() as client:
            return find_garbage(client, pattern)

    def remove(self, removal: Removal) -> str:
        with _engine() as client:
            return remove_garbage(client, removal)


@contextlib.contextmanager
def _engine() -> Iterator[DockerClient]:
    client = connect(timeout=_CALL_SECONDS)
    try:
        yield client
    finally:
        disconnect(client)
