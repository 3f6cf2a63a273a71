"""Engines as data; TLS of an engine; an engine on a local socket that has ended."""

from __future__ import annotations

import gc
import os
import socket
import ssl
import threading
import warnings
from pathlib import Path

import certificates
import pytest
from web_servers import Handler, serving

from smolagents_fork.errors import ConfigurationError, EngineUnavailableError
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.docker import docker_provisioner
from smolagents_fork.sandboxes.docker.docker_engine import DockerEngine
from smolagents_fork.sandboxes.docker.docker_provisioner import DockerProvisioner
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress
from smolagents_fork.sandboxes.docker.streams.gateway_socket import GatewaySocket
from smolagents_fork.sandboxes.engine_protocol import Engine, check_engine
from smolagents_fork.sandboxes.provisioner import SandboxSpec


@pytest.fixture
def empty_certificates(tmp_path):
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).touch()
    return tmp_path


def test_equal_descriptions_are_one_engine(empty_certificates):
    one = DockerEngine("tcp://10.0.0.5:2376", tls=empty_certificates)
    assert one == DockerEngine(host="tcp://10.0.0.5:2376", tls=str(empty_certificates))
    assert hash(one) == hash(DockerEngine("tcp://10.0.0.5:2376", str(empty_certificates)))
    assert one != DockerEngine("tcp://10.0.0.6:2376", tls=empty_certificates)
    assert isinstance(one, Engine)


@pytest.mark.parametrize("host", ["", "10.0.0.5:2375", "tcp://", 2375, b"tcp://10.0.0.5:2375"])
def test_host_that_is_not_an_address_is_refused(host):
    with pytest.raises(ConfigurationError, match="is not an engine's address"):
        DockerEngine(host)


def test_folder_without_certificates_is_refused(tmp_path):
    (tmp_path / "ca.pem").touch()
    with pytest.raises(ConfigurationError, match=r"cert\.pem, key\.pem not found in that folder"):
        DockerEngine("tcp://10.0.0.5:2376", tls=tmp_path)
    with pytest.raises(ConfigurationError, match="tls=True: pass a folder"):
        DockerEngine("tcp://10.0.0.5:2376", tls=True)  # type: ignore[arg-type]


def test_password_is_not_shown():
    engine = DockerEngine("ssh://user:hunter2@machine")
    assert engine.address.url == "ssh://user:hunter2@machine"
    assert "hunter2" not in f"{engine!r} {engine.address} {engine.address!r}"
    assert repr(engine) == "DockerEngine(host='ssh://user:***@machine', tls=None)"
    assert str(engine.address) == "ssh://user:***@machine"
    with pytest.raises(ConfigurationError) as caught:
        DockerEngine("docker://user:hunter2@machine")
    assert "hunter2" not in str(caught.value)


def test_environment_is_read_when_it_is_needed(monkeypatch, empty_certificates):
    named, unnamed = DockerEngine("tcp://10.0.0.5:2375", tls=False), DockerEngine()
    monkeypatch.setenv("DOCKER_HOST", "tcp://10.0.0.9:2376")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(empty_certificates))
    assert named.address.variables == {"DOCKER_HOST": "tcp://10.0.0.5:2375"}
    assert unnamed.address.variables == {
        "DOCKER_HOST": "tcp://10.0.0.9:2376",
        "DOCKER_TLS_VERIFY": "1",
        "DOCKER_CERT_PATH": str(empty_certificates),
    }
    monkeypatch.delenv("DOCKER_HOST")
    assert "DOCKER_HOST" not in unnamed.address.variables


@pytest.mark.parametrize("engine", ["docker", DockerEngine, object()])
def test_argument_that_is_not_an_engine_is_refused(engine):
    with pytest.raises(ConfigurationError, match="is not an engine: pass an object such as"):
        check_engine(engine)


class EngineAnswers(Handler):
    """The engine's answers to a ping and to the list of containers."""

    def do_GET(self) -> None:
        body = b"[]" if "/containers/json" in self.path else b"OK"
        self.answer(body, "application/json")


def folder_of(path: Path) -> Path:
    """A folder as ``tls=`` takes it."""
    path.mkdir()
    both = certificates.made_in(path)
    both.with_name("both.pem.crt").rename(path / "ca.pem")
    for name in ("cert.pem", "key.pem"):
        (path / name).write_text(both.read_text())
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("tls") / "own")


@pytest.fixture(scope="module")
def address(folder):
    """Address of a server that talks TLS and asks its clients for a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with serving(context, EngineAnswers) as server:
        yield f"tcp://127.0.0.1:{server.port}"


def test_engine_with_the_certificates_is_connected_to(address, folder, tmp_path, monkeypatch):
    # For services on the internet, and not for an engine that has its own.
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(folder_of(tmp_path / "others") / "ca.pem"))
    provisioner = DockerEngine(address, tls=folder).connect(ContainerOptions())
    try:
        assert provisioner.ours() == []
    finally:
        provisioner.close()


def test_environments_certificates_are_used_unless_others_are_given(
    address, folder, tmp_path, monkeypatch
):
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(folder))
    DockerEngine(address).connect(ContainerOptions()).close()
    for other in (folder_of(tmp_path / "others"), False):
        with pytest.raises(
            EngineUnavailableError, match=f"no container engine answers at {address}"
        ):
            DockerEngine(address, tls=other).connect(ContainerOptions())


def test_certificate_that_is_not_trusted_is_named_as_the_cause(address, tmp_path):
    engine = DockerEngine(address, tls=folder_of(tmp_path / "others"))
    with pytest.raises(EngineUnavailableError, match="check tls= of DockerEngine, or DOCKER_TLS"):
        engine.connect(ContainerOptions())


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
