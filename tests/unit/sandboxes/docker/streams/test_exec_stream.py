"""Connections that docker-py gives up, where its HTTP client has read past the answer's head."""

from __future__ import annotations

import io
import os
import socket
import ssl
import struct
from types import SimpleNamespace

import certificates
import pytest
from background import running

from smolagents_fork.errors import ExecutorError
from smolagents_fork.sandboxes.docker.streams.exec_run import run_attached
from smolagents_fork.sandboxes.docker.streams.exec_stream import exec_stream, frames

_HEAD = b"HTTP/1.1 101 UPGRADED\r\n"


def framed(number: int, payload: bytes) -> bytes:
    return struct.pack(">BxxxL", number, len(payload)) + payload


def response_of(reader: io.BufferedIOBase) -> SimpleNamespace:
    """docker-py's response, as far as a stream is taken from it."""
    inner = SimpleNamespace(_fp=SimpleNamespace(fp=reader))
    return SimpleNamespace(raw=inner, close=lambda: None)


@pytest.fixture
def connection():
    """The engine's end of a connection, and a function that gives what docker-py hands over."""
    near, far = socket.socketpair()
    reader = near.makefile("rb")

    def handed_over() -> SimpleNamespace:
        assert reader.readline() == _HEAD  # and whatever came with it
        return SimpleNamespace(
            _response=response_of(reader), settimeout=near.settimeout, gettimeout=near.gettimeout
        )

    yield far, handed_over
    for end in (reader, near, far):
        end.close()


@pytest.fixture(params=[1, 7, 8, 10])
def cut_off(request, connection):
    """Return docker-py's result for a stream that ends within its second frame."""
    far, handed_over = connection
    far.sendall(_HEAD + framed(1, b"all") + framed(1, b"lost")[: request.param])
    far.shutdown(socket.SHUT_WR)
    return handed_over()


@pytest.mark.parametrize("together", [True, False])
def test_frames_are_whole_whenever_they_came(connection, together):
    far, handed_over = connection
    told = framed(1, b"x") + framed(2, b"words") + framed(1, b"") + framed(1, b"y" * 100_000)
    far.sendall(_HEAD + told if together else _HEAD)
    given = handed_over()
    if not together:
        far.sendall(told)
    far.shutdown(socket.SHUT_WR)
    assert list(frames(given)) == [(1, b"x"), (2, b"words"), (1, b""), (1, b"y" * 100_000)]


def test_stream_that_ends_within_a_frame_is_an_error(cut_off):
    given = frames(cut_off)
    assert next(given) == (1, b"all")
    with pytest.raises(EOFError, match="of its"):
        next(given)


class PipeError(Exception):
    """As pywintypes.error: no OSError, with number, function and words."""


class Pipe(io.RawIOBase):
    """A named pipe as docker-py's NpipeFileIOBase reads it, which ends in an error."""

    def __init__(self, pieces: list[bytes], number: int) -> None:
        self.pieces, self.number = pieces, number

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        if not self.pieces:
            raise PipeError(self.number, "ReadFile", "The pipe has been ended.")
        piece, rest = self.pieces[0][: len(buffer)], self.pieces[0][len(buffer) :]
        self.pieces[:1] = [rest] if rest else []
        buffer[: len(piece)] = piece
        return len(piece)


def of_pipe(told: bytes, size: int, number: int = 109) -> SimpleNamespace:
    pieces = [told[start : start + size] for start in range(0, len(told), size)]
    reader = io.BufferedReader(Pipe(pieces, number))
    return SimpleNamespace(_response=response_of(reader))


@pytest.mark.parametrize("size", [1, 3, 8, 9, 4096])
def test_named_pipe_ends_in_an_error_that_is_its_end(size):
    told = framed(1, b"x" * 10) + framed(2, b"words")
    assert list(frames(of_pipe(told, size))) == [(1, b"x" * 10), (2, b"words")]
    given = frames(of_pipe(told[:-2], size))
    assert next(given) == (1, b"x" * 10)
    with pytest.raises(EOFError, match="3 of its 5"):
        next(given)


def test_other_errors_of_a_named_pipe_are_errors():
    given = frames(of_pipe(framed(1, b"all"), 4096, number=233))
    assert next(given) == (1, b"all")
    with pytest.raises(PipeError):
        next(given)


def test_slow_program_is_waited_for_whatever_the_client_allows_an_answer(connection):
    far, handed_over = connection
    far.sendall(_HEAD + framed(1, b"x"))
    given = handed_over()
    given.settimeout(60)
    assert next(frames(given)) == (1, b"x")
    assert given.gettimeout() is None


def test_attached_stream_begins_with_what_came_along(connection):
    far, handed_over = connection
    far.sendall(_HEAD + framed(1, b"early"))
    given = handed_over()
    far.shutdown(socket.SHUT_WR)
    stream = exec_stream(given)
    assert stream.recv(100) == b"early"
    assert stream.recv(100) == b""
    stream.close()


def test_program_whose_stream_ends_within_a_frame_has_not_said_everything(cut_off):
    stream = exec_stream(cut_off)
    with pytest.raises(ExecutorError, match="within a frame"):
        run_attached(stream, stdin=(), timeout=10, max_bytes=100)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return certificates.made_in(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls(certificate):
    """The engine's end of a connection under TLS, and what docker-py hands over of the other."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    server.load_cert_chain(certificate)
    client.load_verify_locations(certificate)
    ours, theirs = socket.socketpair()
    ours.settimeout(60)
    theirs.settimeout(60)
    with running(server.wrap_socket, theirs, True) as wrapped:
        near = client.wrap_socket(ours, server_hostname="127.0.0.1")
    far = wrapped.result()
    reader = near.makefile("rb")
    near._response = response_of(reader)
    yield far, near
    for end in (reader, near, far):
        end.close()


@pytest.mark.parametrize("size", [0, 3_000_000])
def test_program_behind_tls_gets_its_input_and_is_read_to_the_end(tls, size):
    far, near = tls
    given, told = os.urandom(size), os.urandom(3_000_000)

    def program():
        taken = bytearray()
        while len(taken) < size:
            taken += far.recv(1 << 20)
        for start in range(0, len(told), 50_000):
            far.sendall(framed(1, told[start : start + 50_000]))
        socket.socket.shutdown(far, socket.SHUT_RDWR)
        return taken

    with running(program) as ran:
        stream = exec_stream(near)
        output = run_attached(stream, stdin=[given], timeout=60, max_bytes=len(told))
        assert output == told
        assert ran.result() == given
