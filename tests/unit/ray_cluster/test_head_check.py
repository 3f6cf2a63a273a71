"""Check of a head without Ray: what is not a head is said, by what it sends."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import certificates
import pytest
from background import eventually

from smolagents_fork.errors import ConfigurationError, EngineUnavailableError
from smolagents_fork.ray_cluster.head_check import check_head, find_refused_token
from smolagents_fork.ray_cluster.node_link import tls_context

# Answers come at once; only detects hangs.
_SECONDS = 60.0
SETTINGS = b"\0\0\0\4\0\0\0\0\0"


@contextlib.contextmanager
def answering(data: bytes, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Have a server that sends these bytes to the first caller, reads, and ends the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError), server.accept()[0] as plain:
                stream = plain if tls is None else tls.wrap_socket(plain, server_side=True)
                with stream:
                    stream.recv(1 << 16)
                    stream.sendall(data)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it sent b'HTTP/1.1 400 Bad Request"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "it sent b'SSH-2.0"),
        (b"", "it closed the connection"),
        (b"\0\0\0\1\0\0\0\0\0", "it sent b'"),
    ],
)
def test_other_server_is_said(data: bytes, words: str):
    with answering(data) as address, pytest.raises(EngineUnavailableError) as caught:
        check_head(address, _SECONDS)
    text = str(caught.value)
    assert f"the server at {address} is not the head of a Ray cluster: " in text
    assert words in text or "Connection reset" in text
    assert "whether the cluster uses TLS (here: no RAY_USE_TLS)" in text


@pytest.mark.parametrize("tls", [False, True])
def test_server_that_sends_nothing_is_said(use_tls: Any, tmp_path: Path, tls: bool):
    if tls:
        use_tls(certificates.made_in(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EngineUnavailableError) as caught:
            check_head(address, 0.05)
    assert str(caught.value) == (
        f"the server at {address} accepts connections but sent nothing within 0.05 s: check the "
        "address of the head; if the head is slow, pass a larger connect_timeout_seconds= to "
        "RayEngine"
    )


def test_head_that_is_slow_to_answer_is_left_to_ray(monkeypatch: pytest.MonkeyPatch):
    with socket.create_server(("127.0.0.1", 0)) as busy:
        streams: list[socket.socket] = []

        def connected(_address: object, timeout: float) -> socket.socket:
            """Connect; the head's settings have come before the check begins."""
            ours = connect(busy.getsockname(), timeout)
            streams.append(busy.accept()[0])
            streams[0].sendall(SETTINGS)
            assert ours.recv(1, socket.MSG_PEEK)
            return ours

        connect = socket.create_connection
        monkeypatch.setattr(socket, "create_connection", connected)
        check_head("busy.test:1", 0.5)
        with streams.pop() as stream:
            assert stream.recv(1) == b"P"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "no-such-host.invalid:1"])
def test_address_that_nobody_has_is_said(address: str):
    words = f"the head of the Ray cluster at {address} cannot be reached"
    with pytest.raises(EngineUnavailableError, match=words):
        check_head(address, _SECONDS)


def test_name_look_up_that_hangs_is_limited(monkeypatch: pytest.MonkeyPatch):
    ended, connection = threading.Event(), socket.socket()

    def connected(_address: object, timeout: float) -> socket.socket:
        ended.wait(_SECONDS)
        return connection

    monkeypatch.setattr(socket, "create_connection", connected)
    try:
        with pytest.raises(EngineUnavailableError, match=r"\(no answer within 0\.05 s\)"):
            check_head("slow.test:1", 0.05)
    finally:
        ended.set()
    assert eventually(lambda: connection.fileno() < 0)


def test_address_without_a_port_is_not_checked():
    check_head("auto", _SECONDS)


def test_settings_are_those_of_a_head():
    with answering(SETTINGS) as address:
        check_head(address, _SECONDS)
        assert find_refused_token(address, "Ray says nothing of it") is None
        error = find_refused_token(address, "rpc error: Unauthenticated")
    assert str(error).startswith(f"the Ray cluster at {address} refused the token of this process")


def test_head_with_tls(monkeypatch: pytest.MonkeyPatch, use_tls: Any, tmp_path: Path):
    use_tls(certificates.made_in(tmp_path))
    context = tls_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["h2"])
    with answering(SETTINGS, context) as address:
        check_head(address, _SECONDS)
    with answering(SETTINGS) as address, pytest.raises(EngineUnavailableError) as caught:
        check_head(address, _SECONDS)
    assert "whether the cluster uses TLS (here: RAY_USE_TLS=1)" in str(caught.value)
    monkeypatch.setenv("RAY_TLS_CA_CERT", str(tmp_path / "missing"))
    with answering(SETTINGS) as address, pytest.raises(ConfigurationError, match="RAY_USE_TLS=1"):
        check_head(address, _SECONDS)
