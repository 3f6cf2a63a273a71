"""Connections to engines of every kind, to a socket of this machine, and published ports."""

from __future__ import annotations

import contextlib
import glob
import os
import socket
import threading

import pytest
from background import acting, eventually
from docker_proxy import EngineProxy
from docker_waiting import first_print
from smolagents import tool
from smolagents.utils import AgentError

from smolagents_fork import DockerEngine
from smolagents_fork.errors import (
    ConfigurationError,
    EngineUnavailableError,
    ExecutorError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from smolagents_fork.executors.docker import DockerExecutor, DockerPool
from smolagents_fork.folders.user_folder import temporary_folder
from smolagents_fork.sandboxes.docker import create_arguments
from smolagents_fork.sandboxes.docker.streams import hijacking
from smolagents_fork.sandboxes.docker.streams.gateway_socket import SOCKET_PATH, GatewaySocket
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


def test_every_public_method_works_without_descriptors(make, no_descriptors):
    limits = {"interrupt_grace_seconds": 60, "workdir_size": "8m", "tmp_size": "8m"}
    executor = make(timeout_seconds=4, **limits)
    assert executor("1+1").output == 2
    assert executor.container.attrs["HostConfig"]["NetworkMode"] == "none"
    executor.send_variables({"given": [1, 2]})
    executor.send_tools({"double": double})
    assert executor("double(number=given[1])").output == 4

    big = os.urandom(3_000_000)
    for content in (b"", big):
        executor.put_file(content, "folder/f")
        assert executor.get_file("folder/f") == content
        assert executor("len(open('folder/f', 'rb').read())").output == len(content)
    with pytest.raises(ExecutorError, match=r"No space left: \d+ bytes are free in /workspace"):
        executor.put_file(bytes(20_000_000), "big")
    assert executor.stats().memory_bytes > 0
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


SOCKET = "unix:///var/run/docker.sock"


@pytest.fixture
def addresses(engine, image):
    """The engine's socket, and two ports in front of it, none of them in the environment."""
    with EngineProxy(engine) as first, EngineProxy(engine) as second:
        yield SOCKET, first, second


def starts(proxy):
    return [line for line in proxy.requests if "/containers/create" in line]


def test_executors_of_one_process_use_the_engines_they_were_given(addresses, make):
    socket, *proxies = addresses
    engines = [DockerEngine(f"tcp://127.0.0.1:{proxy.port}", tls=False) for proxy in proxies]
    executors = [make(engine=engine) for engine in (DockerEngine(socket), *engines)]
    assert [executor(f"{n} + 1").output for n, executor in enumerate(executors)] == [1, 2, 3]
    assert [len(starts(proxy)) for proxy in proxies] == [1, 1]
    # The end of one address is not that of another.
    proxies[0].close()
    assert executors[0]("'there'").output == executors[2]("'there'").output == "there"
    executors[2].delete()
    assert any("DELETE" in line for line in proxies[1].requests)


def test_pool_has_its_engine(addresses):
    proxy = addresses[1]
    engine = DockerEngine(f"tcp://127.0.0.1:{proxy.port}", tls=False)
    with DockerPool(min_size=1, max_size=1, engine=engine) as pool:
        assert pool.wait_until_ready(timeout=180)
        with DockerExecutor(pool=pool, engine=engine) as executor:
            assert executor("6 * 7").output == 42
            assert executor.engine is engine
        with pytest.raises(ConfigurationError, match="is decided by the pool"):
            DockerExecutor(pool=pool, engine=DockerEngine(SOCKET))
    assert len(starts(proxy)) >= 1


def test_address_without_an_engine_is_named_with_its_setting():
    with pytest.raises(
        EngineUnavailableError,
        match=r"no container engine answers at unix:///nowhere.sock: .*set host= of DockerEngine",
    ):
        DockerExecutor(engine=DockerEngine("unix:///nowhere.sock"))


# The gateway connects to a socket of this machine where it can, and nothing else can use that.


@pytest.fixture
def opened(monkeypatch) -> list[GatewaySocket]:
    """The sockets that are opened during the test."""
    made, real = [], GatewaySocket.open

    def remembered() -> GatewaySocket | None:
        made.append(real())
        return made[-1]

    monkeypatch.setattr(GatewaySocket, "open", remembered)
    return made


def ignored(_socket, _path) -> None:
    """Take a path that is not used."""


def processes(executor) -> str:
    return str(executor.container.top(ps_args="-eo pid,args")["Processes"])


def own_folders() -> list[str]:
    return glob.glob(os.path.join(os.path.dirname(temporary_folder("x")), "s*"))


def test_no_process_stands_between_host_and_gateway(make, opened, tmp_path):
    (tmp_path / "given").write_text("content")
    tmp_path.chmod(0o755)
    executor = make(volumes={str(tmp_path): {"bind": "/data", "mode": "ro"}})
    assert executor("open('/data/given').read()").output == "content"
    assert len(opened) == 1
    assert "relay: " not in processes(executor)
    assert own_folders() == []


def test_code_finds_a_file_that_nobody_listens_on(shared):
    code = f"""
import os, socket
found = []
for attempt in (
    lambda: socket.socket(socket.AF_UNIX).connect({SOCKET_PATH!r}),
    lambda: os.chmod({SOCKET_PATH!r}, 0o777),
    lambda: os.remove({SOCKET_PATH!r}),
    lambda: open({SOCKET_PATH!r} + "-other", "w"),
):
    try:
        attempt()
    except OSError as error:
        found.append(type(error).__name__)
[*found, "KG_CLIENT_SOCKET" in os.environ]
"""
    refused, *others, known = shared(code).output
    assert refused == "ConnectionRefusedError"
    assert len(others) == 3
    assert known is False


@pytest.mark.parametrize("reason", ["no mount", "no connection"])
def test_engine_that_does_not_allow_it_has_a_relay(make, opened, monkeypatch, reason):
    if reason == "no mount":
        path = property(lambda _socket: "/absent/s", ignored)
        monkeypatch.setattr(GatewaySocket, "path", path, raising=False)
    else:
        given = create_arguments._socket_arguments

        def elsewhere(*arguments, **keywords) -> dict:
            made = given(*arguments, **keywords)
            return {**made, "environment": {**made["environment"], "KG_CLIENT_SOCKET": "/absent"}}

        monkeypatch.setattr(create_arguments, "_socket_arguments", elsewhere)
    executor = make()
    assert executor("1+1").output == 2
    assert "relay: " in processes(executor)
    assert len(opened) == 1
    assert own_folders() == []


def test_other_transports_open_no_socket(make, opened):
    assert make(transport="exec")("1+1").output == 2
    assert opened == []
