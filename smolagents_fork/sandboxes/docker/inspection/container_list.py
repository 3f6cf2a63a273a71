"""Containers of the fork on an engine: their list, their logs, and their end."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ....errors import ExecutorError
from ....system.inventory import SandboxEntry
from ...containers.listed_entries import read_entries
from ..engine import mapped_errors
from ..lifetime.labels import LABEL, own_labels, owner_of
from ..list_fields import container_name, created_at, entry_id
from ..resource_usage import usage

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["container_entries", "container_log", "kill_container"]

_AT_ONCE = 8


def container_entries(client: DockerClient) -> list[SandboxEntry]:
    """List the fork's containers, of any owner and state.

    Args:
        client: docker-py client; its timeout limits each call.

    Raises:
        EngineUnavailableError: the engine does not answer.
    """
    with mapped_errors("listing containers"):
        listed = client.api.containers(all=True, filters={"label": LABEL})
    entries = read_entries("container", listed, _entry)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda entry: _with_memory(client, entry), entries))


def _entry(summary: Mapping[str, Any]) -> SandboxEntry | None:
    labels = own_labels(summary)
    if labels is None:
        return None
    return SandboxEntry(
        id=entry_id(summary)[:12],
        executor="docker",
        owner=owner_of(labels),
        started_at=created_at(summary),
        state=str(summary.get("State") or "unknown"),
        name=container_name(summary),
        image=str(summary.get("Image") or ""),
    )


def _with_memory(client: DockerClient, entry: SandboxEntry) -> SandboxEntry:
    """Return the entry with the container's memory, unless it has ended meanwhile."""
    if entry.state not in ("running", "paused"):
        return entry
    try:
        with mapped_errors("asking for statistics"):
            inspected = client.api.inspect_container(entry.id)
            raw = client.api.stats(entry.id, stream=False, one_shot=True)
        found = usage(raw, limited=bool(inspected["HostConfig"].get("Memory")))
    except (ExecutorError, LookupError, TypeError, AttributeError):
        return entry
    return dataclasses.replace(
        entry, memory_bytes=found.memory_bytes, memory_limit_bytes=found.memory_limit_bytes
    )


def container_log(client: DockerClient, container: str, lines: int) -> list[str]:
    """Return the last lines that the container's main process has written.

    Args:
        client: docker-py client.
        container: Id of the container.
        lines: at most this many.

    Raises:
        ExecutorError: the container is gone, or the engine does not answer.
    """
    with mapped_errors("reading the log", container=container):
        text = client.api.logs(container, tail=lines)
    return bytes(text).decode("utf-8", "replace").splitlines()


def kill_container(client: DockerClient, container: str) -> None:
    """Kill a container and remove it with its volumes; no error if it is gone.

    Args:
        client: docker-py client.
        container: Id of the container.

    Raises:
        ExecutorError: the engine refuses, or does not answer.
    """
    import docker

    with mapped_errors("removing the container", container=container):
        try:
            client.api.remove_container(container, force=True, v=True)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError as error:
            # The engine's own removal of an ended container was first.
            if error.status_code != 409:
                raise
