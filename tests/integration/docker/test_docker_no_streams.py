"""Engines whose streams cannot be attached: an error, or a published port if that is asked for."""

from __future__ import annotations

import contextlib
import os
import time

import docker
import pytest
from background import acting
from docker_freezing_proxy import Proxy
from docker_waiting import first_print
from smolagents import tool
from smolagents.utils import AgentError

from smolagents_fork.errors import (
    ConfigurationError,
    ExecutorError,
    ExecutorStartError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes.docker import container, docker_provisioner
from smolagents_fork.sandboxes.docker.streams import attaching, exec_run
from smolagents_fork.sandboxes.docker.streams.exec_stream import start_exec
from smolagents_fork.sandboxes.docker.streams.gateway_socket import GatewaySocket
from smolagents_fork.sandboxes.docker.streams.hijacking import hijack
from smolagents_fork.sandboxes.stream_errors import StreamUnsupported


@pytest.fixture
def no_streams(monkeypatch):
    """Have the engine behind a connection that is not a socket, as docker-py's over SSH."""

    def refused(_api, _exec_id):
        raise StreamUnsupported("this connection to the engine is not a plain socket")

    def exec_start(api, exec_id, *, socket):
        assert socket
        connection = start_exec(api, exec_id)
        # The client has read ahead of the answer's head, and loses what it has read.
        time.sleep(0.2)
        with contextlib.suppress(BlockingIOError):
            connection.recv(65536)
        return connection

    def attach_socket(api, container, *, params):
        return hijack(api, f"/containers/{container}/attach", query=params, seconds=60)

    for module in (attaching, docker_provisioner, exec_run):
        monkeypatch.setattr(module, "carries_streams", lambda _api: False)
    monkeypatch.setattr(container, "exec_stream", refused)
    monkeypatch.setattr(docker.APIClient, "exec_start", exec_start)
    monkeypatch.setattr(docker.APIClient, "attach_socket", attach_socket)
    monkeypatch.setattr(GatewaySocket, "open", lambda: None)


@tool
def double(number: int) -> int:
    """Doubles a number.

    Args:
        number: any
    """
    return number * 2


PORT = {"transport": "port", "network": "bridge"}


@pytest.mark.parametrize(
    "keywords",
    [{}, {"transport": "exec"}, {"transport": "exec", "network": "bridge"}],
    ids=["defaults", "exec", "exec with a network"],
)
def test_stream_that_cannot_be_opened_is_an_error_with_two_ways_out(
    make, no_streams, monkeypatch, keywords
):
    created = []
    make_arguments = docker_provisioner.container_arguments

    def arguments(*args, **options):
        created.append(make_arguments(*args, **options))
        return created[-1]

    monkeypatch.setattr(docker_provisioner, "container_arguments", arguments)
    with pytest.raises(ExecutorStartError) as caught:
        make(**keywords)
    message = str(caught.value)
    assert "no stream to the program in the container could be opened" in message
    assert "this connection to the engine is not a plain socket" in message
    assert "transport='port' and a network, such as network='bridge'" in message
    assert "Or use another engine (DOCKER_HOST)" in message
    # One container, with the network that was asked for and no port.
    (one,) = created
    assert one.get("network_mode", one.get("network")) == keywords.get("network", "none")
    assert "ports" not in one


def test_every_public_method_works_without_streams(make, no_streams, tmp_path):
    limits = {"interrupt_grace_seconds": 60, "workdir_size": "8m", "tmp_size": "8m"}
    executor = make(timeout_seconds=4, **PORT, **limits)
    assert executor("1+1").output == 2
    executor.send_variables({"given": [1, 2]})
    executor.send_tools({"double": double})
    assert executor("double(number=given[1])").output == 4

    big = os.urandom(3_000_000)  # more than one program's arguments hold
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


@pytest.fixture
def other_machine(engine, monkeypatch):
    """The engine as if on another machine: under an address that is not this one's loopback."""
    networks = engine.api.inspect_network("bridge")["IPAM"]["Config"]
    address = networks[0].get("Gateway")
    if not address or not str(engine.api.base_url).startswith("http+docker"):
        pytest.skip("the engine's bridge has no address here")
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    made = Proxy(host.removeprefix("unix://"), address)
    monkeypatch.setenv("DOCKER_HOST", f"tcp://{address}:{made.port}")
    yield made
    made.close()


def test_port_on_another_machines_loopback_is_refused(image, no_streams, other_machine):
    started = time.monotonic()
    with pytest.raises(ExecutorStartError) as caught:
        DockerExecutor(network="bridge")
    assert time.monotonic() - started < 120
    assert f"the engine runs on {other_machine.address}" in str(caught.value)
    assert "pass host='0.0.0.0'" in str(caught.value)
    with pytest.raises(ConfigurationError, match="transport='port': the engine runs on"):
        DockerExecutor(network="bridge", transport="port")


@pytest.mark.parametrize("host", ["0.0.0.0", "its address"])
def test_port_of_another_machine_is_reached_there(make, no_streams, other_machine, engine, host):
    host = host if host == "0.0.0.0" else other_machine.address
    executor = make(host=host, **PORT)
    ports = engine.api.inspect_container(executor.container.id)["NetworkSettings"]["Ports"]
    assert {binding["HostIp"] for binding in ports["8888/tcp"]} == {host}
    assert executor("1+1").output == 2
    executor.put_file(b"x", "f")
    assert executor.get_file("f") == b"x"


def test_network_on_another_machine_needs_no_port(make, other_machine):
    executor = make(network="bridge")
    assert executor("1+1").output == 2
    executor.container.reload()
    assert not any(executor.container.ports.values())


def test_words_that_arrive_with_the_head_of_the_answer_are_not_lost(make, other_machine):
    executor = make()
    for content in (b"x", b"", bytes(300_000)):
        executor.put_file(content, "f")
        other_machine.gathering = True
        assert executor.get_file("f") == content
        other_machine.gathering = False
    other_machine.gathering = True
    with pytest.raises(ExecutorError, match="No such file"):
        executor.get_file("missing")
