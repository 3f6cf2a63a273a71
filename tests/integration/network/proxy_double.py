"""A sandbox's proxy on loopback, and what reads from it."""

from __future__ import annotations

import contextlib
import ipaddress
import socket

from smolagents_fork.network.access_record import AccessRecord
from smolagents_fork.network.host_policy import AllowedHost, HostPolicy
from smolagents_fork.network.host_proxy import SandboxProxy
from smolagents_fork.network.proxy_limits import ProxyLimits


class ProxyDouble:
    """A sandbox's proxy, whose listener is on loopback instead of in a sandbox.

    Attributes:
        port: of the proxy.
        address: of the proxy, as clients take it.
        record: of what it did.
        lookups: names that were resolved.
    """

    def __init__(self, entries, limits=None, addresses=None):
        self.lookups: list[str] = []
        self._addresses = addresses or {}
        limits = limits or ProxyLimits()
        self.record = AccessRecord(limits.call_bytes, "DockerExecutor")
        entries = [one if isinstance(one, AllowedHost) else AllowedHost(one) for one in entries]
        policy = HostPolicy(entries, "DockerExecutor")
        self.proxy = SandboxProxy(policy, limits, self.record, self._look_up)
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = listener.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.proxy.serve(listener)

    def _look_up(self, host):
        self.lookups.append(host)
        found = self._addresses.get(host, "127.0.0.1")
        if callable(found):
            found = found()
        if isinstance(found, Exception):
            raise found
        return [ipaddress.ip_address(text) for text in found.split()]

    def connect(self) -> socket.socket:
        """Return a connection to the proxy."""
        return socket.create_connection(("127.0.0.1", self.port), 30)

    def ask(self, data: bytes) -> bytes:
        """Send bytes and return all that comes back, to its end."""
        with self.connect() as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
            return received(connection)


def received(connection: socket.socket) -> bytes:
    """Return all that a connection receives, to its end."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            data += part
    return data


def received_with(connection: socket.socket, text: bytes) -> bytes:
    """Return what a connection receives, as soon as ``text`` is in it, or all to its end."""
    data = b""
    while text not in data and (part := connection.recv(65536)):
        data += part
    return data
