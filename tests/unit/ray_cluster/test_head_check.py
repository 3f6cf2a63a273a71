"""Check of a head without Ray: a wrong address and a wrong token are said, each by its name."""

from __future__ import annotations

import contextlib
import functools
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import certificates
import h2.config
import h2.connection
import h2.events
import pytest

from smolagents_fork.errors import ConfigurationError, EngineUnavailableError
from smolagents_fork.ray_cluster.head_check import check_head, probe_head
from smolagents_fork.ray_cluster.links.direct_transport import tls_context

TOKEN = "a" * 48
# Answers come at once; only detects hangs.
_SECONDS = 60.0
SETTINGS = b"\0\0\0\4\0\0\0\0\0"


class Head:
    """A head as gRPC's server: it answers one method, and only with the token."""

    def __init__(self, *, tls: bool = False) -> None:
        self.tls: ssl.SSLContext | None = None
        if tls:
            self.tls = tls_context(ssl.Purpose.CLIENT_AUTH)
            self.tls.set_alpn_protocols(["h2"])
        self.asked: list[dict[str, str]] = []
        self.status: str | None = None
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                stream, _ = self.socket.accept()
                with contextlib.suppress(OSError), stream:
                    if self.tls is not None:
                        stream = self.tls.wrap_socket(stream, server_side=True)
                    with stream:
                        self._answer(stream)

    def _answer(self, stream: socket.socket) -> None:
        connection = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        )
        # Without Huffman's code, as gRPC's C core writes it.
        plainly = functools.partial(connection.encoder.encode, huffman=False)
        connection.encoder.encode = plainly  # type: ignore[method-assign]
        connection.initiate_connection()
        stream.sendall(connection.data_to_send())
        fields: dict[str, str] = {}
        while data := stream.recv(1 << 16):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    fields = dict(event.headers)
                    self.asked.append(fields)
                if isinstance(event, h2.events.StreamEnded):
                    connection.send_headers(event.stream_id, self._head(fields), end_stream=True)
            stream.sendall(connection.data_to_send())

    def _head(self, fields: dict[str, str]) -> list[tuple[str, str]]:
        right = fields.get("authorization") == f"Bearer {TOKEN}"
        known = fields[":path"] == "/ray.rpc.NodeInfoGcsService/CheckAlive"
        status = "16" if not right else "0" if known else "12"
        return [(":status", "200"), ("grpc-status", self.status or status)]


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    monkeypatch.delenv("RAY_USE_TLS", raising=False)


@pytest.fixture
def head() -> Iterator[Head]:
    made = Head()
    yield made
    made.socket.close()


@contextlib.contextmanager
def answering(data: bytes) -> Iterator[str]:
    """Have a server that sends these bytes to the first caller, reads, and ends the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError), server.accept()[0] as stream:
                stream.recv(1 << 16)
                stream.sendall(data)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_right_token_is_taken(head: Head):
    check_head(head.address, _SECONDS)
    assert head.asked[0] == {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/ray.rpc.NodeInfoGcsService/CheckAlive",
        ":authority": "ray",
        "te": "trailers",
        "content-type": "application/grpc",
        "authorization": f"Bearer {TOKEN}",
    }


@pytest.mark.parametrize("address", ["{}", "ray://{}"])
def test_wrong_token_is_said(head: Head, address: str, monkeypatch: pytest.MonkeyPatch):
    # Longer than what the length of a field takes in one byte.
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 400)
    with pytest.raises(EngineUnavailableError, match="refused the token of this process"):
        check_head(address.format(head.address), _SECONDS)
    assert head.asked[0]["authorization"] == f"Bearer {'0' * 400}"


def test_server_for_clients_that_lacks_the_method_is_left_to_ray(head: Head):
    check_head(f"ray://{head.address}", _SECONDS)
    assert head.asked[0][":path"] == "/ray.rpc.RayletDriver/ClusterInfo"


def test_port_of_another_grpc_server_is_said(head: Head):
    head.status = "12"
    with pytest.raises(EngineUnavailableError, match="give the head's own port"):
        check_head(head.address, _SECONDS)


def test_token_is_read_from_its_file(head: Head, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(file))
    check_head(head.address, _SECONDS)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "missing"))
    with pytest.raises(EngineUnavailableError, match="RAY_AUTH_MODE=token and there is no token"):
        check_head(head.address, _SECONDS)


def test_disabled_token_is_not_sent(head: Head, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(EngineUnavailableError, match="refused the token"):
        check_head(head.address, _SECONDS)
    assert "authorization" not in head.asked[0]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it sent b'HTTP/1.1 400 Bad Request"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "it sent b'SSH-2.0"),
        (b"", "it closed the connection"),
        (b"\0\0\0\4\0\0\0\0\0\0\0\2\1\5\0\0\0\1\x8d\0", "it is a web server"),
        (b"\0\0\0\4\0\0\0\0\0\xff\xff\xff\0\0\0\0\0\1", "it sent b'"),
    ],
)
def test_other_server_is_said(data: bytes, words: str):
    with answering(data) as address, pytest.raises(EngineUnavailableError) as caught:
        check_head(address, _SECONDS)
    text = str(caught.value)
    assert f"what answers at {address} is not the head of a Ray cluster: " in text
    assert words in text or "Connection reset" in text
    assert "whether the cluster uses TLS (here: no RAY_USE_TLS)" in text


@pytest.mark.parametrize("tls", [False, True])
def test_server_that_sends_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tls: bool
):
    if tls:
        use_tls(monkeypatch, tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(EngineUnavailableError) as caught:
            check_head(address, 0.05)
    assert str(caught.value) == (
        f"what is at {address} accepts connections and sent nothing within 0.05 s: check the "
        "address of the head; if the head is slow, give RayEngine a larger "
        "connect_timeout_seconds="
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
    with pytest.raises(EngineUnavailableError, match=words):
        probe_head(address, _SECONDS)


def test_name_look_up_that_hangs_is_limited(monkeypatch: pytest.MonkeyPatch):
    ended = threading.Event()
    monkeypatch.setattr(socket, "create_connection", lambda *_args, **_kw: ended.wait(_SECONDS))
    try:
        with pytest.raises(EngineUnavailableError, match=r"\(no answer within 0\.05 s\)"):
            check_head("slow.test:1", 0.05)
    finally:
        ended.set()


def test_address_without_a_port_is_not_checked():
    check_head("auto", _SECONDS)


def use_tls(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    path = certificates.made_in(folder)
    for name in ("RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY"):
        monkeypatch.setenv(name, str(path))
    monkeypatch.setenv("RAY_USE_TLS", "1")


def test_head_with_tls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    use_tls(monkeypatch, tmp_path)
    head = Head(tls=True)
    try:
        check_head(head.address, _SECONDS)
        assert head.asked[0][":scheme"] == "https"
        monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 48)
        with pytest.raises(EngineUnavailableError, match="refused the token"):
            check_head(head.address, _SECONDS)
        monkeypatch.setenv("RAY_TLS_CA_CERT", str(tmp_path / "missing"))
        with pytest.raises(ConfigurationError, match="RAY_USE_TLS=1 with"):
            check_head(head.address, _SECONDS)
    finally:
        head.socket.close()
