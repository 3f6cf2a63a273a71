"""Access to the kernel gateway: the choice of a socket, an attached exec or a published port."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...deadline import Deadline
from ...errors import ConfigurationError
from ...system.forks import disconnect_in_child
from ..container_options import ContainerOptions
from .engine import publishes_on, remote_host
from .engine_address import EngineAddress
from .streams.gateway_socket import GatewaySocket

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["GatewayAccess", "connect_to_gateway"]

_REQUEST = b"GET /api HTTP/1.0\r\nHost: localhost\r\n\r\n"


class GatewayAccess:
    """Access to the gateways of one engine's containers.

    Args:
        client: docker-py client.
        address: Address of the engine.
        options: Options of the containers.

    Raises:
        ConfigurationError: a port was asked for that could not be reached from here.
    """

    def __init__(
        self,
        client: DockerClient,
        address: EngineAddress,
        options: ContainerOptions,
    ) -> None:
        self._client = client
        self._address = address
        self._options = options
        #: Whether containers publish their gateway's port.
        self.published = options.published
        obstacle = self._obstacle() if self.published else None
        if obstacle is not None:
            if options.transport == "port":
                raise ConfigurationError(f"transport='port': {obstacle}")
            self.published = False  # the engine's own connection reaches it

    @property
    def host(self) -> str:
        """Address at which a published port is reached from here."""
        if self._options.host in ("0.0.0.0", "::"):
            return remote_host(self._client, self._address) or "127.0.0.1"
        return self._options.host

    def gateway_socket(self) -> GatewaySocket | None:
        """Listen on a socket for a container's gateway; ``None`` where none could connect to it."""
        if self.published or self._options.transport != "auto" or self._options.runtime is not None:
            return None
        # docker-py's name for an engine whose API is on a socket, so that its machine may be this.
        if str(self._client.api.base_url) != "http+docker://localhost":
            return None
        return GatewaySocket.open()

    def _obstacle(self) -> str | None:
        """Explain why a published port cannot be reached; ``None`` if it can."""
        remote, host = remote_host(self._client, self._address), self._options.host
        network = self._options.network
        if network not in ("none", "bridge") and not publishes_on(self._client, network):
            return f"network={network!r} is internal, and the engine publishes no port on it"
        if remote is None or not _is_loopback(host):
            return None
        return (
            f"the engine runs on {remote}, and a port published on host={host!r} is on the "
            f"loopback of that machine: pass host='0.0.0.0' (or its address) if the port may be "
            "open to that network, or use an engine on this machine"
        )


def connect_to_gateway(
    host: str, port: int, deadline: Deadline, *, is_running: Callable[[], bool], answered: bool
) -> socket.socket:
    """Open a TCP connection to a published gateway as soon as it answers.

    The engine's proxy accepts connections before the gateway listens, and closes them. So a request
    is sent first; any answer will do.

    Args:
        host: address on this side.
        port: Number of the port.
        deadline: Deadline of the whole start.
        is_running: returns whether the container still runs.
        answered: whether the gateway has answered before.

    Raises:
        OSError: the gateway did not answer in time.
    """
    while True:
        try:
            if not answered:
                with _connected(host, port, deadline) as sock:
                    sock.sendall(_REQUEST)
                    if not sock.recv(1):
                        raise ConnectionResetError("it hung up")
            return _connected(host, port, deadline)
        except OSError as error:
            if deadline.expired() or not is_running():
                raise OSError(f"nothing listens on {host}:{port}: {error}") from None
            time.sleep(0.02)


def _connected(host: str, port: int, deadline: Deadline) -> socket.socket:
    sock = socket.create_connection((host, port), timeout=deadline.at_most(5.0) or 0.001)
    disconnect_in_child(sock)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return sock


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
