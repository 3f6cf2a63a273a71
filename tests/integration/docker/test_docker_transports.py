"""Connections to engines of every kind, and published ports."""

from __future__ import annotations

import contextlib
import os
import socket
import threading

import pytest
from background import acting, eventually
from docker_proxy import EngineProxy
from docker_waiting import first_print
from smolagents import tool
from smolagents.utils import AgentError

from smolagents_fork.errors import (
    ConfigurationError,
    ExecutorError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes.docker.streams import hijacking
from smolagents_fork.sandboxes.docker.streams.gateway_socket import GatewaySocket
from smolagents_fork.sandboxes.docker.streams.hijacking import socket_to


class Blocking:
    """A connection to the engine that only a thread can wait for, as a named pipe and SSH have."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self.recv, self.sendall = self._socket.recv, self._socket.sendall
        self.settimeout = self._socket.settimeout

    def close(self) -> None:
        """Close it, at which a named pipe wakes the thread that reads."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def no_descriptors(monkeypatch):
    """Have every stream of the engine's on a connection without a descriptor."""
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not host.startswith("unix://"):
        pytest.skip("the engine is not on a socket")
    opened = []

    def connect(_api, _deadline):
        opened.append(Blocking(host.removeprefix("unix://")))
        return socket_to(opened[-1])

    monkeypatch.setattr(hijacking, "_connect", connect)
    monkeypatch.setattr(GatewaySocket, "open", lambda: None)
    return opened


@tool
def double(number: int) -> int:
    """Doubles a number.

    Args:
        number: any
    """
    return number * 2


PORT = {"transport": "port", "network": "bridge"}


def test_every_public_method_works_without_descriptors(make, no_descriptors, tmp_path):
    limits = {"interrupt_grace_seconds": 60, "workdir_size": "8m", "tmp_size": "8m"}
    executor = make(timeout_seconds=4, **limits)
    assert executor("1+1").output == 2
    assert executor.container.attrs["HostConfig"]["NetworkMode"] == "none"
    executor.send_variables({"given": [1, 2]})
    executor.send_tools({"double": double})
    assert executor("double(number=given[1])").output == 4

    big = os.urandom(3_000_000)
    for content in (b"", b"small", big):
        executor.put_file(content, "folder/f")
        assert executor.get_file("folder/f") == content
        assert executor("len(open('folder/f', 'rb').read())").output == len(content)
    (tmp_path / "host.txt").write_text("from a path")
    executor.put_file(tmp_path / "host.txt", "/tmp/host.txt")
    assert executor.get_file("/tmp/host.txt") == b"from a path"
    with pytest.raises(ExecutorError, match="No such file"):
        executor.get_file("missing")
    with pytest.raises(ExecutorError, match="more than 10 bytes"):
        executor.get_file("folder/f", max_bytes=10)
    with pytest.raises(ExecutorError, match=r"No space left: \d+ bytes are free in /workspace"):
        executor.put_file(bytes(20_000_000), "big")

    stats = executor.stats()
    assert stats.memory_bytes > 0
    assert executor.is_alive()
    with (
        acting(first_print(executor).is_set, executor.interrupt),
        pytest.raises(AgentError, match=r"interrupted by interrupt\(\)"),
    ):
        executor("print('begun', flush=True)\nimport time; time.sleep(3.9)")
    with pytest.raises(SandboxTimeoutError, match="state kept"):
        executor("while True: pass")
    with pytest.raises(SandboxDiedError, match="exit code 3"):
        executor("import os; os._exit(3)")
    assert executor("double(number=given[0])").output == 2
    first = executor.container.id
    executor.restart()
    assert executor("double(number=given[0])").output == 2
    assert executor.container.id != first
    executor.delete()
    assert not executor.is_alive()
    assert len(no_descriptors) >= 6  # an attachment and an exec for each of three containers
    # Their threads end with them.
    names = ("smolagents-fork-receive", "smolagents-fork-send")
    assert eventually(lambda: not [one for one in threading.enumerate() if one.name in names])


@pytest.fixture
def other_machine(engine, monkeypatch):
    """The engine as if on another machine: under an address that is not this one's loopback."""
    networks = engine.api.inspect_network("bridge")["IPAM"]["Config"]
    address = networks[0].get("Gateway")
    if not address:
        pytest.skip("the engine's bridge has no address here")
    with EngineProxy(engine, address) as made:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://{address}:{made.port}")
        yield made


def test_port_on_another_machines_loopback_is_refused(image, other_machine):
    with pytest.raises(ConfigurationError) as caught:
        DockerExecutor(network="bridge", transport="port")
    assert f"transport='port': the engine runs on {other_machine.address}" in str(caught.value)
    assert "pass host='0.0.0.0'" in str(caught.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "its address"])
def test_port_of_another_machine_is_reached_there(make, other_machine, engine, host):
    host = host if host == "0.0.0.0" else other_machine.address
    executor = make(host=host, **PORT)
    ports = engine.api.inspect_container(executor.container.id)["NetworkSettings"]["Ports"]
    assert {binding["HostIp"] for binding in ports["8888/tcp"]} == {host}
    assert executor("1+1").output == 2
    executor.put_file(b"x", "f")
    assert executor.get_file("f") == b"x"
