"""A sandbox's proxy on loopback, and what reads from it."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import subprocess
import sys

import pytest

from smolagents_fork.deadline import Deadline
from smolagents_fork.network.access_record import AccessRecord
from smolagents_fork.network.host_proxy import SandboxProxy
from smolagents_fork.network.hosts.host_policy import AllowedHost, HostPolicy
from smolagents_fork.network.proxied_connection import ProxyLimits
from smolagents_fork.network.secrets.secret_access import SecretAccess
from smolagents_fork.sandboxes.multiplexer_start import (
    multiplexer_command,
    wait_until_listening,
)
from smolagents_fork.system.forks import disconnect_in_child
from tests.ports import free_port

#: For tables about the head of a request, whose bytes are the same over a stream.
LISTENER = pytest.mark.parametrize("proxied", ["listener"], indirect=True)


class ProxyDouble:
    """A sandbox's proxy, whose listener is on loopback instead of in a sandbox.

    Attributes:
        port: of the proxy.
        address: of the proxy, as clients take it.
        record: of what it did.
        events: what it reported, each with its phase and facts.
        report: is called with these three.
        lookups: names that were resolved.
        secrets: of the sandbox; ``None`` without any.
    """

    def __init__(self, entries, limits=None, addresses=None, secrets=None, *, is_multiplexed=False):
        self.lookups: list[str] = []
        self.events: list[tuple] = []
        self.report = lambda *event: self.events.append(event)
        self._addresses = addresses or {}
        limits = limits or ProxyLimits()
        self.record = AccessRecord(
            limits.call_bytes, "DockerExecutor", lambda *event: self.report(*event)
        )
        entries = [one if isinstance(one, AllowedHost) else AllowedHost(one) for one in entries]
        policy = HostPolicy(entries, "DockerExecutor")
        self.secrets = secrets and SecretAccess(secrets, self.record.count)
        self.proxy = SandboxProxy(policy, limits, self.record, self._look_up, self.secrets)
        self.multiplexer = None
        if is_multiplexed:
            self.multiplexer, stream, self.port = started_multiplexer()
            self.proxy.serve_stream(stream)
        else:
            listener = socket.create_server(("127.0.0.1", 0), backlog=64)
            self.port = listener.getsockname()[1]
            self.proxy.serve(listener)
        self.address = f"http://127.0.0.1:{self.port}"

    def close(self):
        """Cut all connections, which ends the multiplexer."""
        self.proxy.close()
        if self.multiplexer is not None:
            self.multiplexer.wait(60)

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

    def tunnel(self, target) -> socket.socket:
        """Return a connection through the proxy to a host and port, or to a server."""
        target = target if isinstance(target, str) else f"api.test:{target.port}"
        connection = self.connect()
        connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        answer = received_with(connection, b"\r\n\r\n")
        assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n", answer
        return connection

    def get(self, server) -> bytes:
        """Return what a server answers to a request of its own connection."""
        head = "GET http://{0}/ HTTP/1.1\r\nHost: {0}\r\nConnection: close\r\n\r\n"
        return self.ask(head.format(f"api.test:{server.port}").encode())

    def ask(self, data: bytes) -> bytes:
        """Send bytes and return all that comes back, to its end."""
        with self.connect() as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
            return received(connection)


def listed(server, **options) -> AllowedHost:
    """Return the entry of a server on this machine."""
    return AllowedHost(f"api.test:{server.port}", private=True, **options)


def started_multiplexer(port=None):
    """Start a multiplexer on this machine.

    Args:
        port: of its listener; ``None``: a free one.

    Returns:
        the process, the stream to it, and the port.
    """
    for _ in range(20):
        number = port or free_port()
        near, far = socket.socketpair()
        disconnect_in_child(near)
        with far:
            command = [sys.executable, *multiplexer_command(number)[1:]]
            process = subprocess.Popen(command, stdin=far, stdout=far)
        try:
            wait_until_listening(near, Deadline(60))
        except OSError:  # another process has the port by now
            near.close()
            process.wait(60)
        else:
            return process, near, number
    raise AssertionError("no free port")


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
