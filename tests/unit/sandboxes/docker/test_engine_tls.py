"""TLS of an engine: both ends prove themselves with the certificates of the folder."""

from __future__ import annotations

import ssl
from pathlib import Path

import certificates
import pytest
from web_servers import Handler, serving

from smolagents_fork.errors import EngineUnavailableError
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.docker.docker_engine import DockerEngine


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
