"""Removal of one container, and of those whose owners have died."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ....deadline import Deadline
from ...containers.listed_entries import read_entries
from ...process_owner import process_is_gone
from ...removals import REMOVAL_SECONDS
from ..engine import connect, disconnect, engine_time, mapped_errors
from ..engine_address import EngineAddress
from ..list_fields import container_name, created_at, entry_id
from .labels import LABEL, own_labels

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["reap", "remove_at", "remove_container", "was_abandoned"]

# Age at which a container that was never started is abandoned. Its start is three calls of
# the engine, each of which has a limit.
_MOST_UNSTARTED_SECONDS = 600.0
_AGAIN_SECONDS = 1.0
# Pause between two requests while the engine removes the container by itself.
_PAUSE_SECONDS = 0.05
_CONFLICT = 409


def remove_container(address: EngineAddress, name: str, deadline: Deadline) -> None:
    """Kill and remove a container; no-op when it is gone.

    Raises:
        EngineUnavailableError: the engine does not answer.
        ForkError: the engine did not remove it.
    """
    client = connect(address, timeout=int(deadline.at_most(REMOVAL_SECONDS)) + 1)
    try:
        remove_at(client, name, deadline)
    finally:
        disconnect(client)


def remove_at(client: DockerClient, name: str, deadline: Deadline) -> None:
    """Kill and remove a container by a connection; see :func:`remove_container`."""
    import docker

    with (
        mapped_errors("removing the container", container=name),
        contextlib.suppress(docker.errors.NotFound),
    ):
        while True:
            try:
                client.api.remove_container(name, force=True, v=True)
            except docker.errors.APIError as error:
                # "removal already in progress": the engine's auto-remove was first.
                if error.status_code != _CONFLICT or deadline.expired():
                    raise
                time.sleep(_PAUSE_SECONDS)
            else:
                return


def reap(client: DockerClient) -> list[str]:
    """Remove abandoned containers; return their names.

    Those are the containers whose owning process, on this machine, has died. A container that was
    created and never started has no lease to end it: it is removed with any owner once no start can
    take that long. All others stay, and so do containers that the fork's labels do not name.
    """
    now = functools.cache(lambda: engine_time(client))

    def orphan(summary: Mapping[str, Any]) -> tuple[str, str] | None:
        labels = own_labels(summary)
        if labels is None:
            return None
        is_orphan = process_is_gone(labels[LABEL]) or was_abandoned(summary, now)
        return (entry_id(summary), container_name(summary)) if is_orphan else None

    summaries = client.api.containers(all=True, filters={"label": LABEL})
    orphans = read_entries("container", summaries, orphan)
    for number, _ in orphans:
        # Several processes may remove it at the same time.
        with contextlib.suppress(Exception):
            remove_at(client, number, Deadline(_AGAIN_SECONDS))
    return [name for _, name in orphans]


def was_abandoned(summary: Mapping[str, Any], now: Callable[[], float]) -> bool:
    """Return whether an unstarted container is old enough to be abandoned.

    Args:
        now: returns the seconds of the epoch, by the engine's clock.
    """
    unstarted = summary.get("State") == "created"
    return unstarted and now() - created_at(summary) > _MOST_UNSTARTED_SECONDS
