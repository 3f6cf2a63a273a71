"""An engine on a local socket that has ended: nothing stays open."""

from __future__ import annotations

import gc
import os
import socket
import threading
import warnings

import pytest

from smolagents_fork.errors import EngineUnavailableError
from smolagents_fork.sandboxes.docker import docker_provisioner
from smolagents_fork.sandboxes.docker.docker_provisioner import DockerProvisioner
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress
from smolagents_fork.sandboxes.docker.streams.gateway_socket import GatewaySocket
from smolagents_fork.sandboxes.provisioner import SandboxSpec

open_gateway_socket = GatewaySocket.open


def answer_ping(listener):
    connection, _ = listener.accept()
    with connection:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nOK")


@pytest.fixture
def provisioner(tmp_path, monkeypatch):
    """A provisioner whose engine has ended."""
    path = str(tmp_path / "s")
    monkeypatch.setattr(docker_provisioner, "_reap", lambda _address: None)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        engine = threading.Thread(target=answer_ping, args=(listener,))
        engine.start()
        provisioner = DockerProvisioner(address=EngineAddress(f"unix://{path}"))
        engine.join()
    yield provisioner
    provisioner.close()


def test_connection_that_is_refused_is_closed(provisioner):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(EngineUnavailableError, match="Connection refused"):
            provisioner.ours()
        gc.collect()
    assert [str(one.message) for one in caught if "unclosed" in str(one.message)] == []


def test_socket_for_a_gateway_is_closed_where_no_container_starts(provisioner, monkeypatch):
    opened = []
    monkeypatch.setattr(
        docker_provisioner.GatewaySocket,
        "open",
        lambda: opened.append(open_gateway_socket()) or opened[0],
    )
    with pytest.raises(EngineUnavailableError, match="Connection refused"):
        provisioner.start(SandboxSpec("image", workdir=""))
    assert not os.path.exists(opened[0].path)
