"""TLS of an engine: both ends prove themselves with the certificates of the folder."""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import certificates
import pytest

from smolagents_fork.errors import EngineUnavailableError
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.docker.docker_engine import DockerEngine


class EngineAnswers(BaseHTTPRequestHandler):
    """The engine's answers to a ping and to the list of containers."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b"[]" if "/containers/json" in self.path else b"OK"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class TLSServer(ThreadingHTTPServer):
    """Server that talks TLS and asks its clients for a certificate."""

    daemon_threads = True
    context: ssl.SSLContext

    def finish_request(self, request, client_address) -> None:
        # Here, in the connection's own thread.
        try:
            with self.context.wrap_socket(request, server_side=True) as wrapped:
                super().finish_request(wrapped, client_address)
        except OSError:
            pass  # a client without the certificate


def folder_of(path: Path) -> Path:
    """A folder as ``tls=`` takes it, with one certificate that is its own authority."""
    path.mkdir()
    both = certificates.made_in(path)
    certificate = both.with_name("both.pem.crt").read_text()
    for name in ("ca.pem", "cert.pem"):
        (path / name).write_text(certificate)
    (path / "key.pem").write_text(both.read_text())
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("tls") / "own")


@pytest.fixture(scope="module")
def address(folder):
    server = TLSServer(("127.0.0.1", 0), EngineAnswers)
    server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.context.load_cert_chain(folder / "both.pem")
    server.context.load_verify_locations(folder / "ca.pem")
    server.context.verify_mode = ssl.CERT_REQUIRED
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"tcp://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join(60)
    server.server_close()


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
