"""Answers of a hostile gateway to HTTP requests: an id, or an error of ours."""

from __future__ import annotations

import contextlib
import socket

import pytest
from background import running

from smolagents_fork.errors import ProtocolError
from smolagents_fork.jupyter.websocket import (
    Connection,
    ConnectionLost,
    GatewayAddress,
    create_kernel,
    kernel_of,
)
from smolagents_fork.stream.timed_socket import TimedSocket

HEADS = {
    "created": b"HTTP/1.1 201 Created",
    "switching": b"HTTP/1.1 101 Switching Protocols",
    "no content": b"HTTP/1.1 204 No Content",
    "a status that is no number": b"HTTP/1.1 abc",
    "a long status": b"HTTP/1.1 201 " + b"x" * 70_000,
    "another protocol": b"\xff\xfe",
    "nothing": b"",
}
FIELDS = {
    "none": b"",
    "a negative length": b"Content-Length: -1\r\n",
    "a huge length": b"Content-Length: 99999999999999999999999\r\n",
    "a length that is no number": b"Content-Length: \xc2\xb2\r\n",
    "chunks": b"Transfer-Encoding: chunked\r\n",
    "a long field": b"X: " + b"y" * 70_000 + b"\r\n",
    "many fields": b"X: y\r\n" * 200,
    "an upgrade": b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \xff\r\n",
}
BODIES = {
    "empty": b"",
    "no object": b"[1]",
    "nested": b"[" * 100_000,
    "digits": b'{"id": ' + b"9" * 6000 + b"}",
    "a negative chunk": b"-5\r\nhello",
    "a huge chunk": b"f" * 30 + b"\r\nhello",
    "no chunk": b"zz\r\n",
}


def answered(data, use):
    near, far = socket.socketpair()

    def serve():
        with contextlib.suppress(OSError):  # the client reads no more
            far.recv(65_536)
            far.sendall(data)
            far.shutdown(socket.SHUT_WR)

    with far, running(serve), near:
        return use(TimedSocket(near))


@pytest.mark.parametrize(
    ("head", "fields"),
    # A long head is read byte by byte.
    [
        (head, name)
        for head in HEADS
        for name in FIELDS
        if head != "a long status" or name == "none"
    ],
)
def test_answers_that_are_invalid_are_errors_of_ours(head, fields):
    def open_channels(sock):
        return Connection(sock, GatewayAddress(), "/", timeout=60, limit=1 << 20)

    # No body is read behind a line that is too long.
    is_long = head == "a long status" or fields == "a long field"
    for body in [b""] if is_long else BODIES.values():
        data = HEADS[head] + b"\r\n" + FIELDS[fields] + b"\r\n" + body
        with pytest.raises((ConnectionLost, ProtocolError)):
            answered(data, lambda sock: create_kernel(sock, GatewayAddress(), timeout=60))
        with pytest.raises((ConnectionLost, ProtocolError)):
            answered(data, open_channels)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"id"',
        b'{"id": 5}',
        b'{"id": ""}',
        b'{"id": "../../x"}',
        '{"id": "é"}'.encode(),
        b'{"id": "a\\r\\nX: y"}',
        b'{"id": "a b"}',
        b'{"id": "a?b"}',
        b'{"id": "\\ud800"}',
        b'{"id": "' + b"a" * 65 + b'"}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_ids_that_are_no_part_of_an_address_are_refused(answer):
    with pytest.raises(ProtocolError, match="did not return a kernel id"):
        kernel_of(answer)


def test_id_is_returned():
    assert kernel_of(b'{"id": "0f-3A"}').id == "0f-3A"
