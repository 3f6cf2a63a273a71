"""Published ports of kernel gateways: whether there is one, its address here, and connections."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...deadline import Deadline
from ...errors import ConfigurationError
from ...system.closing import close_on_error
from ...system.forks import disconnect_in_child
from ..container_options import ContainerOptions
from .engine import is_loopback, remote_host
from .engine_address import EngineAddress

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["connect_to_gateway", "published_host"]

_REQUEST = b"GET /api HTTP/1.0\r\nHost: localhost\r\n\r\n"


def published_host(
    client: DockerClient, address: EngineAddress, options: ContainerOptions
) -> str | None:
    """Return the address at which published ports of containers are reached from here.

    Returns:
        ``None`` if no port is published: none is needed, or the engine's own connection has to
        reach the gateway.

    Raises:
        ConfigurationError: a requested port could not be reached from here.
    """
    if not options.published:
        return None
    remote, host = remote_host(client, address), options.host
    if options.network != "bridge" and _is_internal(client, options.network):
        obstacle = (
            f"network={options.network!r} is internal, and the engine publishes no port on it"
        )
    elif remote is not None and is_loopback(host):
        obstacle = (
            f"the engine runs on {remote}, and a port published on host={host!r} is on the "
            f"loopback of that machine: pass host='0.0.0.0' (or its address) if the port may be "
            "open to that network, or use an engine on this machine"
        )
    else:
        return remote or "127.0.0.1" if host in ("0.0.0.0", "::") else host
    if options.transport == "port":
        raise ConfigurationError(f"transport='port': {obstacle}")
    return None


def _is_internal(client: DockerClient, network: str) -> bool:
    """Tell whether a network is internal; a missing one fails the start of a container."""
    import docker
    import requests

    try:
        return bool(client.api.inspect_network(network).get("Internal"))
    except (docker.errors.DockerException, requests.RequestException):
        return False


def connect_to_gateway(
    host: str, port: int, deadline: Deadline, *, is_running: Callable[[], bool], answered: bool
) -> socket.socket:
    """Open a TCP connection to a published gateway as soon as it answers.

    The engine's proxy accepts connections before the gateway listens, and closes them. So a request
    is sent first; any answer will do.

    Args:
        answered: whether the gateway has answered before.

    Raises:
        OSError: the gateway did not answer in time.
    """
    while True:
        try:
            if not answered:
                with _connect(host, port, deadline) as sock:
                    sock.sendall(_REQUEST)
                    if not sock.recv(1):
                        raise ConnectionResetError("it hung up")
            return _connect(host, port, deadline)
        except OSError as error:
            if deadline.expired() or not is_running():
                raise OSError(f"nothing listens on {host}:{port}: {error}") from None
            time.sleep(0.02)


def _connect(host: str, port: int, deadline: Deadline) -> socket.socket:
    sock = socket.create_connection((host, port), timeout=deadline.at_most(5.0) or 0.001)
    with close_on_error(sock):
        disconnect_in_child(sock)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return sock
