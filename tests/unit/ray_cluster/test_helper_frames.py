"""Frames between the host and its helper process."""

from __future__ import annotations

import os
import socket

import pytest

from smolagents_fork.errors import ProtocolError
from smolagents_fork.ray_cluster.links.failure_data import failure_data, failure_of
from smolagents_fork.ray_cluster.links.helper_frames import MOST_BYTES, FrameSocket


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    made = FrameSocket(ours), FrameSocket(theirs), theirs
    yield made
    made[0].close()
    made[1].close()


def test_values_and_descriptors_arrive_in_order(ends):
    ours, theirs, _ = ends
    read, write = os.pipe()
    ours.send({"number": 1, "data": b"\0" * 1000})
    ours.send({"number": 2}, write)
    os.close(write)
    assert theirs.receive() == {"number": 1, "data": b"\0" * 1000}
    assert theirs.receive() == {"number": 2}
    descriptor = theirs.take_descriptor()
    os.write(descriptor, b"x")
    assert os.read(read, 1) == b"x"
    os.close(descriptor)
    os.close(read)
    with pytest.raises(ProtocolError, match="without the descriptor"):
        theirs.take_descriptor()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ((MOST_BYTES + 1).to_bytes(4, "big"), "over 16777216"),
        (b"\0\0\0\x02[]", "a frame with list"),
        (b"\0\0\0\x02{{", "a frame that cannot be read"),
    ],
)
def test_frame_that_is_none_is_refused(ends, data: bytes, words: str):
    ours, _, raw = ends
    raw.sendall(data)
    with pytest.raises(ProtocolError) as caught:
        ours.receive()
    assert words in str(caught.value)


def test_end_of_the_other_side_is_no_frame(ends):
    ours, theirs, raw = ends
    raw.sendall(b"\0\0")
    theirs.close()
    assert ours.receive() is None


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (["SystemExit", "x", ""], "ExecutorError"),
        (["AgentProgramError", "x", ""], "ExecutorError"),
        (["ImageBuildError", "x", ""], "ImageBuildError"),
        (["SandboxDiedError", "x", "node"], "SandboxDiedError"),
    ],
)
def test_errors_become_those_of_the_fork_alone(data: list[str], name: str):
    error = failure_of(data)
    assert (type(error).__name__, str(error)) == (name, "x")
    if name == data[0]:
        assert failure_data(error) == data
