"""Frames of a cluster's WebSocket, also broken ones."""

from __future__ import annotations

import contextlib
import json
import socket
import threading

import pytest
from websocket_frames import frame
from websockets.protocol import Protocol, Side

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import ExecutorError
from smolagents_fork.sandboxes.containers.stream_errors import TooMuchOutput
from smolagents_fork.sandboxes.kubernetes.streams.channel_socket import (
    AttachedPod,
    ChannelSocket,
    ExecStatus,
    RelayStream,
)
from smolagents_fork.sandboxes.kubernetes.streams.pod_exec import run_program, short_command


@pytest.fixture
def ends():
    """A channel socket, and the server's end of its connection."""
    ours, theirs = socket.socketpair()
    made = ChannelSocket(ours)
    theirs.settimeout(60)
    yield made, theirs
    made.close()
    theirs.close()


def sent(theirs: socket.socket) -> tuple[int, bytes]:
    """Return opcode and payload of a short frame that the client has sent."""
    head = theirs.recv(2)
    mask, data = theirs.recv(4), theirs.recv(head[1] & 0x7F)
    return head[0] & 0x0F, bytes(b ^ mask[i % 4] for i, b in enumerate(data))


def read_all(sock: ChannelSocket) -> bytes:
    """Return what has arrived."""
    found = b""
    with contextlib.suppress(BlockingIOError):
        while data := sock.recv(100):
            found += data
    return found


def test_messages_arrive_byte_by_byte(ends):
    sock, theirs = ends
    whole = frame(b"\1" + b"out" * 100) + frame(b"\2err")
    found = b""
    for byte in whole:
        theirs.sendall(bytes((byte,)))
        found += read_all(sock)
    assert found == b"out" * 100
    assert sock.errors == b"err"


def test_message_in_several_frames(ends):
    sock, theirs = ends
    theirs.sendall(frame(b"\1be", 0x02) + frame(b"gin", 0x00) + frame(b"end", 0x80))
    assert read_all(sock) == b"beginend"


def test_channels_that_are_opened_without_bytes_say_nothing(ends):
    sock, theirs = ends
    theirs.sendall(frame(b"\1") + frame(b"\3") + frame(b""))
    assert read_all(sock) == b""
    assert sock.status is None


def test_pings_are_answered(ends):
    sock, theirs = ends
    theirs.sendall(frame(b"there?", 0x89))
    assert read_all(sock) == b""
    assert sent(theirs) == (10, b"there?")


def test_input_is_sent_in_its_channel(ends):
    sock, theirs = ends
    assert sock.send(b"in") == 2
    assert sent(theirs) == (2, b"\0in")


def test_data_before_the_end_is_not_lost(ends):
    sock, theirs = ends
    theirs.sendall(frame(b"\1last") + frame(b"\x03\xe8restarting", 0x88))
    theirs.close()
    assert [sock.recv(100), sock.recv(100)] == [b"last", b""]
    assert sock.end_reason == "the cluster closed the stream: restarting"
    assert sock.send(b"more") == 4


@pytest.mark.parametrize(
    "data",
    [
        b"\xf2\x01x",
        b"\x82\x81abcdx",
        b"\x82\x7f" + (1 << 40).to_bytes(8, "big"),
        frame(b"x" * 126, 0x89),
        frame(b"x", 0x09),
    ],
    ids=["reserved bits", "a mask", "too long", "a long ping", "a fragmented ping"],
)
def test_broken_frames_end_the_stream(ends, data):
    sock, theirs = ends
    theirs.sendall(data)
    assert sock.recv(100) == b""
    assert sock.end_reason.startswith("the cluster broke the protocol: ")


def test_send_that_has_to_wait_goes_on_with_the_same_bytes(ends):
    sock, theirs = ends
    data, counts = bytes(range(256)) * 400, []
    with contextlib.suppress(BlockingIOError):
        while True:
            counts.append(sock.send(data))
    assert set(counts) == {1 << 16}
    received = bytearray()
    with contextlib.suppress(TimeoutError):
        theirs.settimeout(0.1)
        while True:
            received += theirs.recv(1 << 20)
    assert sock.send(data) == 1 << 16
    assert not sock.unsent


def test_messages_to_a_first_process_wait_for_a_full_connection(ends):
    first, theirs = ends
    first._sock, ours = socket.socket(), first._sock
    sock = AttachedPod(ours)
    message = b"x" * 100_000
    while not sock.unsent:
        assert sock.send(message) == len(message)
    sock.send(b"last")
    assert sock.receive() == b""
    reader, payloads = Protocol(Side.SERVER, max_size=None), []
    while b"\0last" not in payloads:
        reader.receive_data(theirs.recv(1 << 20))
        payloads += [bytes(received.data) for received in reader.events_received()]
        sock.receive()
    assert set(payloads) == {b"\0" + message, b"\0last"}
    theirs.close()
    assert sock.receive() is None
    sock.close()


def test_error_of_a_relay_ends_its_stream_with_its_words(ends):
    first, theirs = ends
    first._sock, ours = socket.socket(), first._sock
    sock = RelayStream(ours)
    theirs.sendall(frame(b"\1part") + frame(b"\2relay: no kernel\n"))
    theirs.close()
    assert sock.recv(100) == b"part"
    with pytest.raises(ConnectionResetError, match="relay: no kernel"):
        sock.recv(100)
    sock.close()


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ({"status": "Success"}, 0),
        (
            {
                "status": "Failure",
                "reason": "NonZeroExitCode",
                "details": {"causes": [{"message": "7"}]},
            },
            7,
        ),
        ({"status": "Failure", "message": "no such file"}, None),
        ({"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": [1]}}, None),
        ([], None),
    ],
)
def test_statuses(status, code):
    assert ExecStatus(json.dumps(status).encode()).exit_code == code


def test_status_that_is_no_json():
    assert ExecStatus(b"broken").message == "broken"


def program(sock: ChannelSocket, **changes):
    keywords = {"deadline": Deadline(60.0), "max_bytes": 1000} | changes
    return run_program(sock, (), **keywords)


def test_program_that_cannot_be_run_is_an_error(ends):
    sock, theirs = ends
    theirs.sendall(frame(b'\3{"status": "Failure", "message": "no python3"}'))
    with pytest.raises(ExecutorError, match="could not be run: no python3"):
        program(sock)


def test_program_whose_stream_ends_without_a_status_is_an_error(ends):
    sock, theirs = ends
    theirs.sendall(frame(b"\1part"))
    theirs.close()
    with pytest.raises(ExecutorError, match="ended after 4 bytes without its status"):
        program(sock)


def test_program_that_takes_too_long(ends):
    sock, _theirs = ends
    with pytest.raises(ExecutorError, match=r"took longer than it was given \(0\.05 s"):
        program(sock, deadline=Deadline(0.05))


def test_program_that_writes_too_much(ends):
    sock, theirs = ends
    theirs.sendall(frame(b"\1" + b"x" * 20))
    with pytest.raises(TooMuchOutput, match="more than 10 bytes"):
        program(sock, max_bytes=10)


def test_long_programs_are_sent_short():
    code = "print('" + "x" * 4000 + "')"
    argv = short_command(["python3", "-I", "-c", code, "argument"])
    assert len(argv[3]) < 300
    assert argv[4:] == ["argument"]
    assert short_command(["cat", "-c", code]) == ["cat", "-c", code]


def test_pings_whose_answers_are_not_read_end_the_stream(ends):
    sock, theirs = ends
    pings = frame(b"x" * 125, 0x89) * 100
    for _ in range(2000):
        try:
            theirs.sendall(pings)
        except OSError:
            break
        read_all(sock)
        if sock.end_reason:
            break
    assert sock.end_reason == "the cluster sends pings and reads no answers"


def test_program_that_writes_while_it_reads(ends):
    """Neither direction waits for the other."""
    sock, theirs = ends
    data = bytes(range(256)) * 20_000

    def echo() -> None:
        reader = Protocol(Side.SERVER, max_size=None)
        count = 0
        while count < len(data):
            reader.receive_data(theirs.recv(1 << 16))
            for received in reader.events_received():
                count += len(received.data) - 1
                theirs.sendall(frame(b"\1" + received.data[1:]))
        theirs.sendall(frame(b'\3{"status": "Success"}'))

    thread = threading.Thread(target=echo)
    thread.start()
    assert run_program(sock, [data[:9], data[9:]], deadline=Deadline(60.0), max_bytes=1 << 30) == (
        0,
        data,
        b"",
    )
    thread.join()


@pytest.mark.parametrize("code", ["-1", "1_0", " 1", "1000", "9" * 4000, "\u0661"])
def test_exit_codes_that_are_none(code):
    text = {"reason": "NonZeroExitCode", "details": {"causes": [{"message": code}]}}
    assert ExecStatus(json.dumps(text).encode()).exit_code is None
