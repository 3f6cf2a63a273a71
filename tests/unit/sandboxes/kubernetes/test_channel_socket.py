"""Frames of a cluster's WebSocket, also broken ones."""

from __future__ import annotations

import json
import socket
from types import SimpleNamespace

import pytest
from websocket_frames import frame

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import ExecutorError
from smolagents_fork.sandboxes.kubernetes.streams.channel_socket import (
    ERRORS,
    OUTPUT,
    ChannelSocket,
    ExecStatus,
)
from smolagents_fork.sandboxes.kubernetes.streams.pod_exec import run_program, short_command
from smolagents_fork.sandboxes.stream_errors import TooMuchOutput


@pytest.fixture
def ends():
    """A channel socket, and the server's end of its connection."""
    ours, theirs = socket.socketpair()
    opened = SimpleNamespace(sock=ours, getsubprotocol=lambda: "v5.channel.k8s.io")
    made = ChannelSocket(opened)
    theirs.settimeout(60)
    yield made, theirs
    made.close()
    theirs.close()


def sent(theirs: socket.socket) -> tuple[int, bytes]:
    """Return opcode and payload of a short frame that the client has sent."""
    head = theirs.recv(2)
    mask, data = theirs.recv(4), theirs.recv(head[1] & 0x7F)
    return head[0] & 0x0F, bytes(b ^ mask[i % 4] for i, b in enumerate(data))


def test_messages_arrive_byte_by_byte(ends):
    sock, theirs = ends
    whole = frame(bytes((OUTPUT,)) + b"out" * 100) + frame(bytes((ERRORS,)) + b"err")
    found = []
    for byte in whole:
        theirs.sendall(bytes((byte,)))
        found += sock.receive()
    assert found == [(OUTPUT, b"out" * 100), (ERRORS, b"err")]


def test_message_in_several_frames(ends):
    sock, theirs = ends
    theirs.sendall(frame(b"\1be", 0x02) + frame(b"gin", 0x00) + frame(b"end", 0x80))
    assert sock.receive() == [(OUTPUT, b"beginend")]


def test_channels_that_are_opened_without_bytes_say_nothing(ends):
    sock, theirs = ends
    theirs.sendall(frame(b"\1") + frame(b"\3"))
    assert sock.receive() == []
    assert sock.status is None


def test_pings_are_answered(ends):
    sock, theirs = ends
    theirs.sendall(frame(b"there?", 0x89))
    assert sock.receive() == []
    assert sent(theirs) == (10, b"there?")


def test_end_of_the_input_is_sent_in_version_5(ends):
    sock, theirs = ends
    sock.send(b"in")
    sock.end_input()
    assert [sent(theirs), sent(theirs)] == [(2, b"\0in"), (2, b"\xff\0")]


def test_data_before_the_end_is_not_lost(ends):
    sock, theirs = ends
    theirs.sendall(frame(b"\1last") + frame(b"\x03\xe8restarting", 0x88))
    theirs.close()
    assert sock.receive() == [(OUTPUT, b"last")]
    assert sock.receive() is None
    assert sock.end_reason == "the cluster closed the stream: restarting"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xf2\x01x", "reserved bits"),
        (b"\x82\x81abcdx", "a mask"),
        (b"\x82\x7f" + (1 << 40).to_bytes(8, "big"), "a frame of 1099511627776 bytes"),
    ],
)
def test_broken_frames_are_errors(ends, data, words):
    sock, theirs = ends
    theirs.sendall(data)
    with pytest.raises(ExecutorError, match=words):
        sock.receive()


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


@pytest.mark.parametrize(
    "data",
    [frame(b"x" * 126, 0x89), frame(b"x", 0x09), frame(b"x" * 200, 0x88), frame(b"", 0x08)],
    ids=["a long ping", "a fragmented ping", "a long close", "a fragmented close"],
)
def test_control_frames_that_are_long_or_fragmented_end_the_stream(ends, data):
    sock, theirs = ends
    theirs.sendall(data)
    with pytest.raises(ExecutorError, match="a control frame that is long or fragmented"):
        sock.receive()


def test_pings_whose_answers_are_not_read_fill_no_memory(ends):
    sock, theirs = ends
    theirs.settimeout(0.01)
    for _ in range(20_000):
        try:
            theirs.sendall(frame(b"x" * 125, 0x89))
        except TimeoutError:
            break
        sock.receive()
    assert sock.unsent <= 200


@pytest.mark.parametrize("code", ["-1", "1_0", " 1", "1000", "9" * 4000, "\u0661"])
def test_exit_codes_that_are_none(code):
    text = {"reason": "NonZeroExitCode", "details": {"causes": [{"message": code}]}}
    assert ExecStatus(json.dumps(text).encode()).exit_code is None
