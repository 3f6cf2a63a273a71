"""Containers of the fork on an engine: their list, their logs, and their end."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ....errors import ExecutorError
from ....inventory import SandboxEntry
from ..engine import mapped_errors
from ..lifetime.labels import CREATED_LABEL, LABEL, owner_of
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
        found = client.api.containers(all=True, filters={"label": LABEL})
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda summary: _entry(client, summary), filter(_has_owner, found)))


def _has_owner(summary: Mapping[str, Any]) -> bool:
    # A container that a user has started from an image of the fork inherits the image's labels.
    return bool((summary.get("Labels") or {}).get(LABEL))


def _entry(client: DockerClient, summary: Mapping[str, Any]) -> SandboxEntry:
    labels = summary.get("Labels") or {}
    created = labels.get(CREATED_LABEL, "")
    memory, limit = _memory(client, summary)
    return SandboxEntry(
        id=summary["Id"][:12],
        executor="docker",
        owner=owner_of(labels),
        started_at=float(created) if created.isdigit() else float(summary["Created"]),
        state=summary["State"],
        memory_bytes=memory,
        memory_limit_bytes=limit,
        name=_name(summary),
        image=summary["Image"],
    )


def _name(summary: Mapping[str, Any]) -> str:
    return str((summary.get("Names") or [summary["Id"][:12]])[0]).lstrip("/")


def _memory(client: DockerClient, summary: Mapping[str, Any]) -> tuple[int | None, int | None]:
    if summary["State"] not in ("running", "paused"):
        return None, None
    try:
        with mapped_errors("asking for statistics"):
            inspected = client.api.inspect_container(summary["Id"])
            raw = client.api.stats(summary["Id"], stream=False, one_shot=True)
    except ExecutorError:
        return None, None  # it has ended meanwhile
    found = usage(raw, limited=bool(inspected["HostConfig"].get("Memory")))
    return found.memory_bytes, found.memory_limit_bytes


def container_log(client: DockerClient, container: str, lines: int) -> list[str]:
    """Return the last lines that the container's main process has written.

    Args:
        client: docker-py client.
        container: its id.
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
        container: its id.

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
