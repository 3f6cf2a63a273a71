"""Raw streams of the engine's API: the answer's head, its frames, refusals, exit codes."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
from types import SimpleNamespace

import certificates
import docker
import pytest
from background import running
from engine_double import HEAD, Engine, frame, read_request

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import EngineUnavailableError, ExecutorError
from smolagents_fork.sandboxes.containers.attached_program import read_pieces
from smolagents_fork.sandboxes.docker.engine import mapped_errors
from smolagents_fork.sandboxes.docker.streams import exec_stream as streams
from smolagents_fork.sandboxes.docker.streams.exec_stream import (
    UNFRAMED,
    Frames,
    exec_stream,
    exit_code,
)


@pytest.fixture
def engine():
    with contextlib.closing(Engine()) as made:
        yield made


@contextlib.contextmanager
def started(engine, words: bytes):
    """Start a program; give the client's and the engine's end of its stream."""
    with running(engine.answer, words) as answered:
        near = exec_stream(engine.api, "program", 60.0)
        far = answered.result()
    with far, contextlib.closing(near):
        yield near, far


NO_SUCH_EXEC = b'{"message":"no such exec: 12345"}'
IN_CHUNKS = b'b\r\n{"message":\r\n16\r\n"container is paused"}\r\n0\r\n\r\n'


@pytest.mark.parametrize(
    ("status", "fields", "body", "words"),
    [
        (404, b"Content-Length: 33", NO_SUCH_EXEC, "no such exec: 12345"),
        (404, b"Connection: close\r\nContent-Length: 33", NO_SUCH_EXEC, "no such exec: 12345"),
        (409, b"Transfer-Encoding: chunked", IN_CHUNKS, "container is paused"),
    ],
    ids=["open", "closed", "in chunks"],
)
def test_refusal_is_the_error_that_the_client_gives_for_it(engine, status, fields, body, words):
    answer = b"HTTP/1.1 %d No\r\n%s\r\n\r\n%s" % (status, fields, body)
    kind = docker.errors.NotFound if status == 404 else docker.errors.APIError
    with (
        running(engine.answer, answer) as answered,
        pytest.raises(kind, match=words) as caught,
    ):
        exec_stream(engine.api, "program", engine.api.timeout)
    with answered.result() as far:
        assert far.recv(1) == b""
    assert caught.value.status_code == status


@pytest.mark.parametrize(
    ("words", "closes", "reason"),
    [
        (b"", False, "timed out"),
        (HEAD[:-2], False, "timed out"),
        (b"", True, "RemoteDisconnected"),
        (b"SSH-2.0-OpenSSH\r\n", False, "BadStatusLine"),
    ],
    ids=["silence", "half a head", "end", "another protocol"],
)
def test_engine_without_an_answer_does_not_answer(engine, words, closes, reason):
    def answer() -> socket.socket:
        sock = engine.answer(words)
        if closes:
            sock.close()
        return sock

    with (
        running(answer) as answered,
        pytest.raises(EngineUnavailableError, match=f"does not answer.*{reason}"),
        mapped_errors("starting"),
    ):
        exec_stream(engine.api, "program", 0.2 if reason == "timed out" else 60.0)
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
            sock.sendall(HEAD + frame(1, b"x"))

    with (
        running(tunnel) as tunnelled,
        contextlib.closing(exec_stream(engine.api, "program", 60.0)) as near,
    ):
        tunnelled.result()
        assert near.recv(10) == b"x"
    assert asked.startswith(b"CONNECT engine.invalid:2375 ")
    assert b"proxy-authorization: Basic bWU6c2VjcmV0" in asked.replace(b"P", b"p")


@pytest.mark.parametrize("head", [HEAD, b"HTTP/1.1 200 OK\r\n\r\n"], ids=["101", "200"])
@pytest.mark.parametrize("cut", [1, 7, 8, 10])
def test_program_whose_stream_ends_within_a_frame_has_not_said_everything(engine, head, cut):
    told = frame(2, b"words") + frame(1, b"all") + frame(1, b"lost")[:cut]
    with started(engine, head + told) as (stream, far):
        assert stream.recv(2) + stream.recv(100) == b"all"
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
    other = Engine(certificates.made_in(tmp_path / "other"))
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


def test_program_behind_tls_is_read_to_the_end(certificate):
    told = os.urandom(3_000_000)
    with (
        contextlib.closing(Engine(certificate)) as engine,
        started(engine, HEAD) as (stream, far),
    ):

        def program():
            for start in range(0, len(told), 50_000):
                far.sendall(frame(1, told[start : start + 50_000]))
            socket.socket.shutdown(far, socket.SHUT_RDWR)

        with running(program):
            assert b"".join(read_pieces(stream, deadline=Deadline(60.0))) == told


def test_program_that_takes_too_long_is_an_error(engine):
    with (
        started(engine, HEAD) as (stream, _far),
        pytest.raises(ExecutorError, match=r"exceeded its time limit of 0\.05 s"),
    ):
        list(read_pieces(stream, deadline=Deadline(0.05)))


def joined(frames: Frames, *pieces: bytes) -> list[tuple[int, bytes]]:
    """Return the payloads in pieces of a stream, those of one number joined."""
    found: list[tuple[int, bytes]] = []
    for piece in pieces:
        for number, payload in frames.split(piece):
            before = found.pop()[1] if found and found[-1][0] == number else b""
            found.append((number, before + payload))
    return found


def test_frames_are_taken_apart_wherever_they_are_cut():
    raw = frame(1, b"out ") + frame(2, b"err\n") + frame(1, b"") + frame(3, b"of the engine\n")
    for first in range(len(raw)):
        for second in range(first, len(raw)):
            frames = Frames()
            assert joined(frames, raw[:first], raw[first:second], raw[second:]) == [
                (1, b"out "),
                (2, b"err\n"),
                (3, b"of the engine\n"),
            ]
            assert not frames.is_within


def test_part_of_a_frame_is_passed_on_at_once():
    frames = Frames()
    raw = frame(1, b"first") + frame(2, b"last")
    assert joined(frames, raw[:-1]) == [(1, b"first"), (2, b"las")]
    assert frames.is_within


def test_what_is_no_frame_is_passed_on_as_it_is():
    frames = Frames()
    raw = frame(1, b"framed\n") + b"HTTP/1.1 chunked, by a proxy"
    assert joined(frames, raw, b" in between") == [
        (1, b"framed\n"),
        (UNFRAMED, b"HTTP/1.1 chunked, by a proxy in between"),
    ]


RUNS = {"Running": True, "ExitCode": None}
# Some engines have a number there before there is one.
RUNS_WITH_A_CODE = {"Running": True, "ExitCode": 0}


def reporting(*answers):
    left = list(answers)
    return SimpleNamespace(exec_inspect=lambda _id: left.pop(0) if len(left) > 1 else left[0])


@pytest.mark.parametrize("before", [(), (RUNS,), (RUNS, RUNS_WITH_A_CODE, RUNS)])
@pytest.mark.parametrize("code", [0, 1])
def test_exit_code_that_comes_after_the_end_of_the_output(before, code):
    assert exit_code(reporting(*before, {"Running": False, "ExitCode": code}), "c", "e") == code


def test_program_that_runs_on_without_its_output_is_an_error(monkeypatch):
    monkeypatch.setattr(streams, "_EXIT_SECONDS", 0.05)
    with pytest.raises(ExecutorError, match=r"has ended, and the engine .* in 0\.05 s"):
        exit_code(reporting(RUNS), "c", "e")


def test_line_without_an_end_is_kept_in_part(monkeypatch):
    pieces = iter([b"first\n", *[b"x" * 1_000_000] * 50, b"y\nlast"])
    monkeypatch.setattr(streams, "exec_stream", lambda *_: None)
    monkeypatch.setattr(streams, "read_pieces", lambda *_, **__: pieces)
    monkeypatch.setattr(streams, "exit_code", lambda *_: 0)
    api = SimpleNamespace(exec_create=lambda *_, **__: {"Id": "1"}, timeout=1)
    lines: list[str] = []
    streams.run_lines(
        api, "name", ["program"], environment={}, deadline=Deadline(60), line=lines.append
    )
    assert [line[-1] for line in lines] == ["t", "y", "t"]
    assert len(lines[1]) < 100_000
