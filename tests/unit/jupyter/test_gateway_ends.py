"""A gateway's end of a WebSocket: whatever it answers or sends, and pings in both directions."""

from __future__ import annotations

import contextlib
import random
import socket
import struct

import pytest
from background import running
from websocket_frames import read_frame, switching_answer

from smolagents_fork.errors import ProtocolError
from smolagents_fork.jupyter.websocket import (
    Connection,
    ConnectionLost,
    GatewayAddress,
    WaitTimeout,
    create_kernel,
    kernel_of,
)
from smolagents_fork.jupyter.wire import SUBPROTOCOL_V1
from smolagents_fork.stream.timed_socket import TimedSocket


def serve_handshake(far, answer):
    request = b""
    while b"\r\n\r\n" not in request:
        request += far.recv(4096)
    far.sendall(answer(request))


@contextlib.contextmanager
def opened_connection(answer=lambda request: switching_answer(request, SUBPROTOCOL_V1)):
    """Yield a connection and the gateway's end of it, which has sent ``answer(request)``."""
    near, far = socket.socketpair()
    far.settimeout(60)
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with far:
        with running(serve_handshake, far, answer):
            connection = Connection(
                TimedSocket(near),
                GatewayAddress(),
                "/",
                timeout=60,
                limit=1 << 20,
            )
        with contextlib.closing(connection):
            yield connection, far


CLOSED = "the kernel gateway closed the connection "


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"", CLOSED + "without a status"),
        (b"\x03", CLOSED + "with half a status"),
        (struct.pack("!H", 1000), CLOSED + "with status 1000"),
        (struct.pack("!H", 1011) + b"it ended", CLOSED + "with status 1011: 'it ended'"),
        (struct.pack("!H", 1011) + b"\xff\xfe", CLOSED + "with status 1011: '\ufffd\ufffd'"),
        *[
            (struct.pack("!H", status), f"{CLOSED}with status {status}")
            for status in (0, 999, 1004, 1005, 1006, 1015, 2999, 65_535)
        ],
        (struct.pack("!H", 4000) + b"x" * 123, CLOSED + f"with status 4000: '{'x' * 123}'"),
    ],
)
def test_frame_that_closes_ends_the_connection_with_what_it_says(payload, message):
    with opened_connection() as (connection, far):
        far.sendall(bytes([0x88, len(payload)]) + payload)
        with pytest.raises(ConnectionLost) as caught:
            connection.receive(60)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("protocol", "chosen"), [("", "the unnamed layout"), ("v0.kernel", "v0.kernel")]
)
def test_gateway_with_another_layout_is_named(protocol, chosen):
    opening = opened_connection(lambda request: switching_answer(request, protocol))
    with pytest.raises(ProtocolError) as caught, opening:
        pass
    assert str(caught.value) == (
        f"the gateway does not speak v1.kernel.websocket.jupyter.org, but {chosen}: use "
        "jupyter-server 2 or later, whose kernel_ws_protocol names it by default"
    )


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1\r\n\r\n", b"\xff\xfe\r\n\r\n", b"HTTP/1.1 many x\r\n\r\n"],
    ids=["no status", "no text", "no number"],
)
def test_answer_that_is_not_http_is_a_protocol_error(answer):
    with pytest.raises(ProtocolError) as caught, opened_connection(lambda _request: answer):
        pass
    assert "answer to the request for a WebSocket is invalid: " in str(caught.value)


def read_all(connection):
    for _ in range(20):
        with contextlib.suppress(WaitTimeout):
            connection.receive(0.0)


def test_random_frames_are_errors_of_ours():
    source = random.Random(27)
    firsts = (0x00, 0x01, 0x02, 0x08, 0x09, 0x80, 0x81, 0x82, 0x88, 0x89, 0x8A, 0x83, 0x8B, 0xC2)
    for _ in range(300):
        data = b""
        for _ in range(source.randrange(1, 6)):
            size = source.choice((0, 1, 2, 30, 125, 126, 300))
            head = bytes((source.choice(firsts), size)) if size < 126 else b""
            data += head or struct.pack("!BBH", source.choice(firsts), 126, size)
            data += source.randbytes(size - source.choice((0, 0, 0, min(1, size))))
        with opened_connection() as (connection, far):
            far.sendall(data)
            far.shutdown(socket.SHUT_WR)
            with pytest.raises((ConnectionLost, ProtocolError)):
                read_all(connection)


@pytest.fixture
def opened():
    with opened_connection() as ends:
        yield ends


def test_gateways_ping_is_answered_after_the_time_of_what_was_sent_before(opened):
    connection, far = opened
    connection._sock.send_for(0)
    far.sendall(b"\x89\x03abc")
    assert connection.receive(60) is None
    assert read_frame(far.recv) == (0x8A, b"abc")


def test_unread_ping_keeps_connection_open(opened):
    connection, far = opened
    filled = 0
    far.setblocking(False)
    connection._sock.send_for(60)
    while True:
        try:
            filled += connection._sock._sock.send(b"\0" * 512)
        except BlockingIOError:
            break
    connection.ping(timeout=0.05)
    with pytest.raises(WaitTimeout):
        connection.receive(0)
    far.setblocking(True)
    while filled:
        filled -= len(far.recv(min(filled, 65536)))
    connection.ping(timeout=60)
    assert far.recv(1) == struct.pack("B", 0x89)


def test_ping_does_not_wait_for_a_thread_that_sends(opened):
    connection, far = opened
    with connection._send_lock, running(connection.ping, 0.05) as ping:
        ping.result(60)
    connection.ping(timeout=60)
    assert far.recv(1) == struct.pack("B", 0x89)


# Answers of a hostile gateway to HTTP requests: an id, or an error of ours.

HEADS = {
    "created": b"HTTP/1.1 201 Created",
    "switching": b"HTTP/1.1 101 Switching Protocols",
    "no content": b"HTTP/1.1 204 No Content",
    "a status of letters": b"HTTP/1.1 abc",
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
