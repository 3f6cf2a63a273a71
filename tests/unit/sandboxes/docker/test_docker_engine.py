"""Engines as data: checked, compared and shown without asking an engine."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.sandboxes.docker.docker_engine import DockerEngine
from smolagents_fork.sandboxes.engine_protocol import Engine, check_engine


@pytest.fixture
def certificates(tmp_path):
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).touch()
    return tmp_path


def test_equal_descriptions_are_one_engine(certificates):
    one = DockerEngine("tcp://10.0.0.5:2376", tls=certificates)
    assert one == DockerEngine(host="tcp://10.0.0.5:2376", tls=str(certificates))
    assert hash(one) == hash(DockerEngine("tcp://10.0.0.5:2376", str(certificates)))
    assert one != DockerEngine("tcp://10.0.0.6:2376", tls=certificates)
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


def test_environment_is_read_when_it_is_needed(monkeypatch, certificates):
    named, unnamed = DockerEngine("tcp://10.0.0.5:2375", tls=False), DockerEngine()
    monkeypatch.setenv("DOCKER_HOST", "tcp://10.0.0.9:2376")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(certificates))
    assert named.address.variables == {"DOCKER_HOST": "tcp://10.0.0.5:2375"}
    assert unnamed.address.variables == {
        "DOCKER_HOST": "tcp://10.0.0.9:2376",
        "DOCKER_TLS_VERIFY": "1",
        "DOCKER_CERT_PATH": str(certificates),
    }
    monkeypatch.delenv("DOCKER_HOST")
    assert "DOCKER_HOST" not in unnamed.address.variables


@pytest.mark.parametrize("engine", ["docker", DockerEngine, object()])
def test_argument_that_is_not_an_engine_is_refused(engine):
    with pytest.raises(ConfigurationError, match="is not an engine: pass an object such as"):
        check_engine(engine)
