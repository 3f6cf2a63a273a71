"""Streams with TLS: both sides prove themselves with Ray's certificates."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from pathlib import Path

import certificates
import pytest

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.ray_cluster.links.direct_transport import Listener, connect_directly

TOKEN = b"t" * 32


def echo(token: bytes, stream: socket.socket) -> bool:
    with stream:
        while token == TOKEN and (data := stream.recv(1 << 16)):
            stream.sendall(data)
    return token == TOKEN


def use(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setenv("RAY_USE_TLS", "1")
    for name in ("RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY"):
        monkeypatch.setenv(name, str(path))


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    use(monkeypatch, certificates.made_in(tmp_path))
    made = Listener("127.0.0.1", echo)
    yield made
    made.close()


def test_bytes_pass_both_ways(listener: Listener):
    sent = random.Random(1).randbytes(3_000_000)
    with connect_directly(("127.0.0.1", listener.port), TOKEN, 60) as stream:
        stream.settimeout(60)
        writer = threading.Thread(target=stream.sendall, args=(sent,))
        writer.start()
        found = bytearray()
        while len(found) < len(sent):
            found += stream.recv(1 << 16)
        writer.join()
        assert bytes(found) == sent


def test_end_of_one_side_is_the_end_of_the_other(listener: Listener):
    with connect_directly(("127.0.0.1", listener.port), b"x" * 32, 60) as stream:
        stream.settimeout(60)
        assert stream.recv(1) == b""


def test_stranger_without_the_certificate_is_refused(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    other = tmp_path / "other"
    other.mkdir()
    use(monkeypatch, certificates.made_in(other))
    with pytest.raises(OSError, match="certificate verify failed"):
        connect_directly(("127.0.0.1", listener.port), TOKEN, 60)


def test_plain_connection_is_refused(listener: Listener, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_USE_TLS", "0")
    with connect_directly(("127.0.0.1", listener.port), TOKEN, 60) as stream:
        stream.settimeout(60)
        with contextlib.suppress(ConnectionResetError):
            while stream.recv(100):  # an alert of TLS, then the end
                pass


def test_missing_files_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    use(monkeypatch, tmp_path / "none.pem")
    with pytest.raises(
        ConfigurationError, match=r"RAY_USE_TLS=1 with RAY_TLS_CA_CERT=.*; name the"
    ):
        Listener("127.0.0.1", echo)
