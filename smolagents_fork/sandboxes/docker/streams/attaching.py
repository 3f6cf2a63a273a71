"""Attachment to the standard input and output of a container's main process."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from ..engine import connect, disconnect
from ..engine_address import EngineAddress
from .hijacking import hijack

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["attach", "attach_again"]

# Limit of each call while a lease runs.
_AGAIN_SECONDS = 10


def attach(client: DockerClient, container: str, *, output: bool, timeout: float) -> socket.socket:
    """Attach to a container, which may not have been started yet.

    Args:
        client: docker-py client.
        container: its id or name.
        output: whether its output is read; if it is not, its writes would block.
        timeout: seconds until the engine has to answer.
    """
    params = {"stdin": 1, "stdout": int(output), "stderr": int(output), "stream": 1}
    path = f"/containers/{container}/attach"
    return hijack(client.api, path, query=params, seconds=timeout)


def attach_again(address: EngineAddress, container: str) -> socket.socket | None:
    """Attach to a container that runs, or is about to, after a connection to it was lost.

    Args:
        address: of its engine.
        container: its id.

    Returns:
        the connection, as from :func:`attach`; ``None`` if the container has ended.

    Raises:
        Exception: the engine does not answer, or does not allow it.
    """
    import docker

    client = connect(address, timeout=_AGAIN_SECONDS)
    try:
        state = client.api.inspect_container(container)["State"]
        if not state.get("Running") and state.get("Status") != "created":
            return None
        return attach(client, container, output=True, timeout=_AGAIN_SECONDS)
    except docker.errors.NotFound:
        return None
    finally:
        disconnect(client)
