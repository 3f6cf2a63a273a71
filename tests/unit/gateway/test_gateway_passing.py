"""Long messages are passed on while they arrive, and what is between or after them stays whole."""

from __future__ import annotations

import contextlib
import io
import os
import struct
from dataclasses import dataclass, field
from typing import Any

import pytest
from gateway_doubles import DoubledKernel, connected_client
from gateway_kernels import PASSED_BYTES, Link
from gateway_process import kill
from websocket import ABNF
from websocket._abnf import frame_buffer

from smolagents_fork.errors import ProtocolError
from smolagents_fork.jupyter.wire import Message, decode, encode

LONG = os.urandom(1 << 16) * 40
HEAD = [b'{"msg_id":"m","msg_type":"comm_msg"}', b"{}", b"{}", b"{}"]


@dataclass
class Kernel(DoubledKernel):
    """A kernel that notes what a client sends, as its connection too."""

    is_open: bool = True
    whole: list[Any] = field(default_factory=list)
    received: list[Any] = field(default_factory=list)
    heads: list[tuple[int, bool]] = field(default_factory=list)
    passed: bytearray = field(default_factory=bytearray)

    def open_connection(self, channel):
        self.received.append(channel)
        return self if self.is_open else None

    def send(self, *message, more=None):
        if more is None:
            channel, parts = message
            self.whole.append((channel, [bytes(part) for part in parts]))
        else:
            self.received.append(([bytes(part) for part in message[0]], more))

    def begin_part(self, size, *, more):
        self.heads.append((size, more))

    def pass_on(self, data):
        self.passed += data


@pytest.fixture
def kernel():
    return Kernel()


@pytest.fixture
def connected(loop, kernel, turned):
    """A client of the kernel, and the other end of its connection after the handshake."""
    with connected_client(loop, kernel, turned, lambda _client: None) as (client, theirs):
        received = read_until(theirs, turned, lambda data: data.endswith(b"\r\n\r\n"))
        assert received.startswith(b"HTTP/1.1 101")
        yield client, theirs


def read_until(sock, turned, condition):
    """Everything that arrives until the condition is true of it."""
    data = bytearray()

    def read():
        with contextlib.suppress(BlockingIOError):
            data.extend(sock.recv(1 << 20))
        return condition(data)

    turned(read)
    return bytes(data)


def send_all(sock, turned, data):
    """Send while the gateway reads."""
    view = memoryview(data)
    position = 0

    def send():
        nonlocal position
        with contextlib.suppress(BlockingIOError):
            position += sock.send(view[position:])
        return position == len(view)

    turned(send)


def frame(payload):
    """A client's binary frame with a mask of zeros."""
    return struct.pack("!BBQ", 0x82, 0xFF, len(payload)) + bytes(4) + payload


def request(channel="shell", buffers=(LONG, b"short", LONG)):
    """A frame with a message that has long parts."""
    return frame(encode(Message(channel, {}, {}, {}, {}, tuple(buffers)), v1=True)[0])


def test_long_parts_of_a_client_are_passed_on_before_their_end(kernel, connected, turned):
    _, theirs = connected
    data = request()
    middle = len(data) // 4
    send_all(theirs, turned, data[:middle])
    turned(lambda: len(kernel.passed) > middle // 2)
    assert kernel.heads == [(len(LONG), True)]
    send_all(theirs, turned, data[middle:] + request(buffers=[b"x"]))
    turned(lambda: kernel.whole)
    empty = b"{}"
    start = [([b"<IDS|MSG>", b""], True), *([([empty], True)] * 4)]
    assert kernel.received == ["shell", *start, ([b"short"], True)]
    assert kernel.heads == [(len(LONG), True), (len(LONG), False)]
    assert kernel.passed == LONG + LONG
    assert kernel.whole == [("shell", [b"<IDS|MSG>", b"", *[empty] * 4, b"x"])]


def test_long_message_waits_for_a_kernel_that_does_not_answer_yet(kernel, connected, turned):
    _, theirs = connected
    kernel.is_open = False
    send_all(theirs, turned, request())
    turned(lambda: kernel.whole)
    assert kernel.whole == [("shell", [b"<IDS|MSG>", b"", *[b"{}"] * 4, LONG, b"short", LONG])]
    assert not kernel.passed


def test_bytes_outside_of_all_parts_are_left_out(kernel, connected, turned):
    _, theirs = connected
    payload = bytearray(request()[14:] + b"after")
    count = struct.unpack_from("<Q", payload)[0]
    offsets = [end + 3 for end in struct.unpack_from(f"<{count}Q", payload, 8)]
    payload[8 : 8 * (count + 1)] = struct.pack(f"<{count}Q", *offsets)
    payload[8 * (count + 1) : 8 * (count + 1)] = b"gap"
    send_all(theirs, turned, frame(bytes(payload)))
    turned(lambda: kernel.whole)
    assert kernel.whole == [("shell", [b"<IDS|MSG>", b"", *[b"{}"] * 4, LONG, b"short", LONG])]


@pytest.mark.parametrize(
    "payload",
    [
        bytes(PASSED_BYTES),
        struct.pack("<8Q", 7, *range(64, 64 + 7 * 8, 8)[::-1]) + bytes(PASSED_BYTES),
        struct.pack("<8Q", 7, *range(64, 64 + 7 * (1 << 30), 1 << 30)) + bytes(PASSED_BYTES),
        request("unknown")[14:],
        request("x" * 300_000)[14:],
    ],
    ids=["no table", "decreasing", "outside", "unknown channel", "long channel"],
)
def test_long_message_of_another_layout_ends_its_connection(kernel, connected, turned, payload):
    client, theirs = connected
    position = 0
    data = frame(payload)

    def over():
        nonlocal position
        with contextlib.suppress(OSError):
            position += theirs.send(data[position:])
        return client._stream.closed

    turned(over)
    assert (kernel.whole, kernel.heads, kernel.passed) == ([], [], b"")


def frames_of(data):
    """The frames that a client receives, by another implementation."""
    stream, found = io.BytesIO(data), []
    while stream.tell() < len(data):
        found.append(frame_buffer(stream.read, True).recv_frame())
    return found


def test_ping_is_answered_within_a_long_message(connected, turned):
    client, theirs = connected
    take = client.begin_message("iopub", HEAD, len(LONG))
    take(memoryview(LONG)[:100_000])
    theirs.sendall(struct.pack("!BBL", 0x89, 0x84, 0) + b"ping")
    data = read_until(theirs, turned, lambda data: data.endswith(b"ping"))
    end = memoryview(LONG)[100_000:]
    taken = 0

    def rest(received):
        nonlocal taken
        if taken < len(end) and not client._stream.full:
            take(end[taken : taken + 300_000])
            taken += 300_000
        return taken >= len(end) and not client._stream.unsent and received.endswith(LONG[-99:])

    data += read_until(theirs, turned, rest)
    frames = frames_of(data)
    opcodes = [frame.opcode for frame in frames]
    assert opcodes[:3] == [ABNF.OPCODE_BINARY, ABNF.OPCODE_CONT, ABNF.OPCODE_PONG]
    assert set(opcodes[3:]) == {ABNF.OPCODE_CONT}
    assert [frame.fin for frame in frames if frame.opcode != ABNF.OPCODE_PONG][-2:] == [0, 1]
    whole = b"".join(frame.data for frame in frames if frame.opcode != ABNF.OPCODE_PONG)
    message = decode(whole, v1=True, binary=True)
    assert (message.channel, message.type) == ("iopub", "comm_msg")
    assert message.buffers == (LONG,)


def test_client_that_does_not_read_stops_a_long_message(kernel, connected, turned):
    client, theirs = connected
    take = client.begin_message("iopub", HEAD, 100 << 20)
    piece = memoryview(LONG)[:100_000]
    while not kernel.paused:
        take(piece)
    assert 0 < client._stream.unsent <= len(piece) + 14
    read_until(theirs, turned, lambda _data: not kernel.paused)
    assert client._stream.unsent == 0


def test_message_that_is_given_up_is_invalid_and_the_next_is_not(connected, turned):
    client, theirs = connected
    take = client.begin_message("stdin", HEAD, len(LONG))
    take(memoryview(LONG)[:1000])
    client.give_up()
    client.status("restarting")
    data = read_until(theirs, turned, lambda data: b"restarting" in data)
    *fragments, status = frames_of(data)
    assert [frame.fin for frame in fragments] == [0, 0, 1]
    with pytest.raises(ProtocolError, match="offsets of a message"):
        decode(b"".join(frame.data for frame in fragments), v1=True, binary=True)
    assert decode(status.data, v1=True, binary=True).content == {"execution_state": "restarting"}


class Recorder:
    """A client and the streams of its link's connections."""

    def __init__(self):
        self.calls = []

    def begin_message(self, channel, parts, size):
        self.calls.append((channel, parts, size))
        return self.calls.append

    def give_up(self):
        self.calls.append("given up")

    def lost(self, reason):
        self.calls.append(reason)

    def check_death(self, otherwise):
        otherwise()


class Channel:
    """A connection, which is its own stream."""

    def __init__(self):
        self.stream, self.reasons = self, set()

    def pause(self, reason):
        self.reasons.add(reason)

    def resume(self, reason):
        self.reasons.discard(reason)

    def end(self, _reason):
        self.reasons.add("ended")


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def link(recorder):
    made = Link(recorder, recorder, b"me")
    made._connections = {name: Channel() for name in ("shell", "iopub", "stdin", "control")}
    made._opening.clear()
    return made


def waiting(link):
    return {name for name, one in link._connections.items() if "passing" in one.reasons}


def test_other_channels_wait_for_a_long_message(link, recorder):
    parts = [b"me", b"<IDS|MSG>", b"", *HEAD]
    assert link.begin_message("stdin", [b"no message"], 1 << 20) is None
    take = link.begin_message("stdin", parts, 1 << 20)
    take("piece")
    assert waiting(link) == {"shell", "iopub", "control"}
    link.passed()
    assert waiting(link) == set()
    assert recorder.calls == [("stdin", HEAD, 1 << 20), "piece"]


@pytest.mark.parametrize("end", ["lost", "close"])
def test_message_whose_kernel_ends_is_given_up(link, recorder, end):
    link.begin_message("stdin", [b"<IDS|MSG>", b"", *HEAD], 1 << 20)
    if end == "lost":
        link.lost("ended")
        assert waiting(link) == set()
    else:
        link.close()
    assert recorder.calls[1] == "given up"
    assert recorder.calls.count("given up") == 1


def test_kernel_that_ends_within_a_long_message_is_replaced(own_gateway):
    with own_gateway.client(v1=True) as client:
        client.run("import IPython\nkernel = IPython.get_ipython().kernel")
        client.send(
            "send, buffers = kernel.session.send, [bytes(100_000_000)]\n"
            "send(kernel.iopub_socket, 'comm_msg', {}, buffers=buffers)"
        )
        frame = client.socket.recv_frame()
        while b'"comm_msg"' not in frame.data[:1000]:
            frame = client.socket.recv_frame()
        assert (frame.opcode, frame.fin) == (ABNF.OPCODE_BINARY, 0)
        # The gateway cannot send all of it to a client that does not read.
        kill(own_gateway.kernel_pid())
        own_gateway.until(lambda: "kernel 1 ended" in own_gateway.log, "the kernel's end")
        size = 0
        while not frame.fin:
            frame = client.socket.recv_frame()
            size += len(frame.data)
        assert size < 100_000_000
        client.until_status("restarting")
        assert client.run("1 + 2").value == "3"
