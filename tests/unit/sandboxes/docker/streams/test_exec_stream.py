"""Raw streams of the engine's API: the answer's head, the bytes behind it, refusals."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import ssl

import certificates
import docker
import pytest
from background import running
from engine_double import Engine, frame

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import EngineUnavailableError, ExecutorError
from smolagents_fork.sandboxes.containers.attached_program import read_pieces
from smolagents_fork.sandboxes.docker.engine import mapped_errors
from smolagents_fork.sandboxes.docker.streams.exec_stream import ExecStream, exec_stream

_HEAD = (
    b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\n"
    b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
)


def read_request(sock: socket.socket) -> bytes:
    """Read a request to its end: a socket closed with bytes unread resets its connection."""
    request = b""
    while not request.endswith(b"}"):
        request += sock.recv(65536)
    return request


class AnsweringEngine(Engine):
    """An engine that gives one answer, byte for byte, and then is the program."""

    def answer(self, words: bytes) -> socket.socket:
        """Answer one request; return the engine's end of its connection."""
        sock = self.accept()
        sock.settimeout(60)
        self.request = read_request(sock)
        sock.sendall(words)
        return sock


@pytest.fixture
def engine():
    with contextlib.closing(AnsweringEngine()) as made:
        yield made


@contextlib.contextmanager
def started(engine, words: bytes):
    """Start a program; give the client's and the engine's end of its stream."""
    with running(engine.answer, words) as answered:
        near = exec_stream(engine.api, "program", 60.0)
        far = answered.result()
    with far, contextlib.closing(near):
        yield near, far


def read_to_end(stream: ExecStream) -> list[tuple[int, bytes]]:
    """Return the payloads of all frames, those of one stream that follow each other joined."""
    joined: list[tuple[int, bytes]] = []
    while True:
        try:
            parts = stream.read_frames()
        except BlockingIOError:
            select.select([stream], [], [], 60)
            continue
        if parts is None:
            return joined
        for number, payload in parts:
            if joined and joined[-1][0] == number:
                payload = joined.pop()[1] + payload
            joined.append((number, payload))


CUTS = [1, 7, 8, 10]


def cut_off(cut: int) -> bytes:
    """Return an answer whose stream ends within its second frame."""
    return _HEAD + frame(1, b"all") + frame(1, b"lost")[:cut]


def test_request_is_the_one_of_the_engines_documentation(engine):
    with started(engine, _HEAD):
        head, _, body = engine.request.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /v1.41/exec/program/start HTTP/1.1"
    assert {b"Connection: Upgrade", b"Upgrade: tcp"} <= {*lines}
    assert json.loads(body) == {"Detach": False, "Tty": False}


@pytest.mark.parametrize("head", [_HEAD, b"HTTP/1.1 200 OK\r\n\r\n"], ids=["101", "200"])
@pytest.mark.parametrize("together", [True, False])
def test_frames_are_whole_whenever_they_came(engine, head, together):
    told = frame(1, b"x") + frame(2, b"words") + frame(1, b"") + frame(1, b"y" * 100_000)
    with started(engine, head + told if together else head) as (near, far):
        if not together:
            far.sendall(told)
        far.shutdown(socket.SHUT_WR)
        assert read_to_end(near) == [(1, b"x"), (2, b"words"), (1, b"y" * 100_000)]


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: 33\r\n", b"Connection: close\r\nContent-Length: 33\r\n"],
    ids=["open", "closed"],
)
def test_refusal_is_the_error_that_the_client_gives_for_it(engine, head):
    refusal = b'{"message":"no such exec: 12345"}'
    answer = b"HTTP/1.1 404 Not Found\r\n" + head + b"\r\n" + refusal
    with (
        running(engine.answer, answer) as answered,
        pytest.raises(docker.errors.NotFound, match="no such exec: 12345") as caught,
    ):
        exec_stream(engine.api, "program", engine.api.timeout)
    with answered.result() as far:
        assert far.recv(1) == b""
    assert caught.value.status_code == 404


def test_refusal_in_chunks_is_read_whole(engine):
    pieces = [b'{"message":', b'"container is paused"}']
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (*pieces, b""))
    head = b"HTTP/1.1 409 Conflict\r\nTransfer-Encoding: chunked\r\n\r\n"
    with (
        running(engine.answer, head + chunks) as answered,
        pytest.raises(docker.errors.APIError, match="container is paused"),
    ):
        exec_stream(engine.api, "program", engine.api.timeout)
    answered.result().close()


@pytest.mark.parametrize("words", [b"", _HEAD[:-2]])
def test_answer_that_does_not_come_in_time_is_an_engine_that_does_not_answer(engine, words):
    engine.api.timeout = 0.2
    with (
        running(engine.answer, words) as answered,
        pytest.raises(EngineUnavailableError, match=r"does not answer.*timed out"),
        mapped_errors("starting"),
    ):
        exec_stream(engine.api, "program", engine.api.timeout)
    answered.result().close()


def test_engine_that_hangs_up_does_not_answer(engine):
    with (
        running(lambda: engine.answer(b"").close()),
        pytest.raises(EngineUnavailableError, match=r"does not answer.*RemoteDisconnected"),
        mapped_errors("starting"),
    ):
        exec_stream(engine.api, "program", engine.api.timeout)


def test_engine_that_says_something_else_does_not_answer(engine):
    with (
        running(engine.answer, b"SSH-2.0-OpenSSH\r\n") as answered,
        pytest.raises(EngineUnavailableError, match=r"does not answer.*BadStatusLine"),
        mapped_errors("starting"),
    ):
        exec_stream(engine.api, "program", engine.api.timeout)
    answered.result().close()


def test_engine_behind_an_http_proxy_is_reached_by_a_tunnel(engine, monkeypatch):
    address = engine.api.base_url.removeprefix("http://")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    engine.api.base_url = "http://engine.invalid:2375"
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://me:secret@{address}")
    asked = b""

    def tunnel() -> None:
        nonlocal asked
        with engine.listener.accept()[0] as sock:
            while not asked.endswith(b"\r\n\r\n"):
                asked += sock.recv(65536)
            sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            assert read_request(sock).startswith(b"POST /v1.41/exec/program/start")
            sock.sendall(_HEAD + frame(1, b"x"))

    with (
        running(tunnel) as tunnelled,
        contextlib.closing(exec_stream(engine.api, "program", 60.0)) as near,
    ):
        tunnelled.result()
        assert read_to_end(near) == [(1, b"x")]
    assert asked.startswith(b"CONNECT engine.invalid:2375 ")
    assert b"proxy-authorization: Basic bWU6c2VjcmV0" in asked.replace(b"P", b"p")


def test_attached_stream_begins_with_what_came_along(engine):
    with started(engine, _HEAD + frame(1, b"early") + frame(2, b"words")) as (stream, far):
        far.shutdown(socket.SHUT_WR)
        assert stream.recv(3) + stream.recv(100) == b"early"
        assert stream.recv(100) == b""


@pytest.mark.parametrize("cut", CUTS)
def test_program_whose_stream_ends_within_a_frame_has_not_said_everything(engine, cut):
    with started(engine, cut_off(cut)) as (stream, far):
        far.shutdown(socket.SHUT_WR)
        with pytest.raises(ExecutorError, match="within a frame"):
            list(read_pieces(stream, deadline=Deadline(10.0)))


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # requests prefers them to docker-py's
        monkeypatch.delenv(name, raising=False)
    return certificates.made_in(tmp_path)


def test_engine_whose_certificate_is_not_trusted_gets_no_request(certificate, tmp_path):
    (tmp_path / "other").mkdir()
    other = AnsweringEngine(certificates.made_in(tmp_path / "other"))
    other.api.verify = str(certificate)

    def serve() -> None:
        with pytest.raises(ssl.SSLError):
            other.answer(b"")

    with (
        running(serve),
        pytest.raises(EngineUnavailableError, match="certificate verify failed"),
        mapped_errors("starting"),
    ):
        exec_stream(other.api, "program", 60.0)
    other.close()


@pytest.fixture
def tls(certificate):
    """Both ends of a program's stream under TLS, where each end has asked for a certificate."""
    with (
        contextlib.closing(AnsweringEngine(certificate)) as made,
        started(made, _HEAD) as (stream, far),
    ):
        yield far, stream


def test_program_behind_tls_is_read_to_the_end(tls):
    far, stream = tls
    told = os.urandom(3_000_000)

    def program():
        for start in range(0, len(told), 50_000):
            far.sendall(frame(1, told[start : start + 50_000]))
        socket.socket.shutdown(far, socket.SHUT_RDWR)

    with running(program) as ran:
        assert b"".join(read_pieces(stream, deadline=Deadline(60.0))) == told
        ran.result()


def test_program_that_takes_too_long_is_an_error(engine):
    with (
        started(engine, _HEAD) as (stream, _far),
        pytest.raises(ExecutorError, match=r"exceeded its time limit of 0\.05 s"),
    ):
        list(read_pieces(stream, deadline=Deadline(0.05)))
