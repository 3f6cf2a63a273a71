"""Runs of a hostile supervisor that speaks the protocol: each ends in time, by errors of ours."""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from background import running

from smolagents_fork.agent_sandbox import program_run
from smolagents_fork.agent_sandbox.model_service import ModelLimits, RunningCalls
from smolagents_fork.agent_sandbox.program_run import ConnectionLost, Job, carry_out
from smolagents_fork.agent_sandbox.run_frames import Kind, pack
from smolagents_fork.codec import encode
from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import (
    AgentProgramError,
    ExecutorError,
    ProtocolError,
    SandboxTimeoutError,
)

JOB = Job(("-c", "x"), {"f": bytes(4_000_000)})
# Far above what a run may take that does not hang, and far below a wait for each call.
AT_MOST = 30.0


class Quick:
    """A model."""

    def __init__(self) -> None:
        self.calls = 0

    def generate(self, _messages: Any) -> Any:
        self.calls += 1
        raise KeyError("no answer")


@contextlib.contextmanager
def supervisor(act: Callable[[socket.socket], None]) -> Iterator[socket.socket]:
    """A stream to a supervisor that does ``act`` in a thread."""
    near, far = socket.socketpair()

    def acting() -> None:
        with far, contextlib.suppress(OSError):
            act(far)

    with near, running(acting):
        try:
            yield near
        finally:
            near.close()


def run(act: Callable[[socket.socket], None], seconds: float = 1.0, **keywords: Any) -> Any:
    begun = time.monotonic()
    try:
        with supervisor(act) as stream:
            return carry_out(
                stream, "token", JOB, Deadline(seconds), max_print_outputs_length=1000, **keywords
            )
    finally:
        assert time.monotonic() - begun < AT_MOST


def read_job(far: socket.socket) -> None:
    far.settimeout(60)
    left = len(JOB.files["f"])
    while left > 0:
        left -= len(far.recv(1 << 20))


def read_all(far: socket.socket) -> None:
    while far.recv(1 << 20):
        pass


def calls() -> Iterator[bytes]:
    request = encode({"method": "generate", "messages": []})
    for number in itertools.count(1):
        yield pack(Kind.CALL, number, request)


def test_job_that_is_never_read_ends_at_the_deadline() -> None:
    with pytest.raises(SandboxTimeoutError, match="ran past timeout_seconds=1"):
        run(lambda far: time.sleep(3))


def test_job_that_is_never_read_ends_without_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_run, "_STALLED_SECONDS", 0.5)
    with pytest.raises(ConnectionLost, match="has read nothing for 0 s"):
        run(lambda far: time.sleep(2), seconds=20)


def test_refused_calls_are_not_waited_for() -> None:
    def act(far: socket.socket) -> None:
        read_job(far)
        for frame in calls():
            far.sendall(frame)  # and the answers are left unread

    with pytest.raises(AgentProgramError, match="more than 1000 calls that were refused, the last"):
        run(act, seconds=60)


def test_unread_answers_do_not_keep_the_run() -> None:
    class Long:
        def generate(self, _messages: Any) -> Any:
            from smolagents import ChatMessage, MessageRole

            return ChatMessage(role=MessageRole.ASSISTANT, content="x" * 20_000_000)

    def act(far: socket.socket) -> None:
        read_job(far)
        for frame in itertools.islice(calls(), 30):
            far.sendall(frame)
        time.sleep(3)

    running_calls = RunningCalls()
    with pytest.raises(SandboxTimeoutError):
        run(act, seconds=2, model=Long(), running_calls=running_calls)
    end = time.monotonic() + AT_MOST
    while time.monotonic() < end:  # their threads end with the run
        with contextlib.suppress(ExecutorError):
            running_calls.check()
            break
        time.sleep(0.05)
    running_calls.check()


@pytest.mark.parametrize(
    "frame",
    [
        pack(Kind.OUTPUT, 0, b"x" * 60_000),
        pack(Kind.CANCEL, 7),
        pack(Kind.RESULT, 0, b"x" * 60_000),
        pack(Kind.OUTPUT, 0, b""),
        b"\x01",
    ],
    ids=["output", "cancelled calls", "results", "empty output", "a byte now and then"],
)
@pytest.mark.parametrize("interrupted", [False, True])
def test_endless_frames_end_at_the_deadline_or_by_an_interrupt(
    frame: bytes, interrupted: bool
) -> None:
    def act(far: socket.socket) -> None:
        read_job(far)
        if len(frame) == 1:
            for byte in itertools.cycle(pack(Kind.OUTPUT, 0, b"abc")):
                far.sendall(bytes((byte,)))
                time.sleep(0.01)
        while True:
            far.sendall(frame)

    if not interrupted:
        with pytest.raises(SandboxTimeoutError, match="ran past timeout_seconds=1"):
            run(act)
        return
    begun = time.monotonic()
    with pytest.raises(AgentProgramError, match="the program was interrupted"):
        run(act, seconds=60, is_interrupted=lambda: time.monotonic() - begun > 0.5)


def test_calls_over_their_number_are_refused_and_messages_over_their_size_end_the_run() -> None:
    def act(far: socket.socket) -> None:
        read_job(far)
        for frame in itertools.islice(calls(), 50):
            far.sendall(frame)
            far.recv(1 << 16)
        far.sendall(pack(Kind.CALL, 99, bytes(100_001)))
        read_all(far)

    model = Quick()
    with pytest.raises(AgentProgramError, match="100001 bytes of messages, over max_model_bytes="):
        run(act, seconds=20, model=model, model_limits=ModelLimits(3, 100_000))
    assert model.calls == 3


def test_earlier_calls_that_run_on_keep_other_programs_out() -> None:
    running_calls = RunningCalls()
    for _ in range(8):
        running_calls.change(1)
    running_calls.check()
    running_calls.change(1)
    with pytest.raises(ExecutorError, match="9 calls of the model on the host that earlier"):
        running_calls.check()


#: Bytes of a supervisor that taken over: each is an error of ours, or an end.
HOSTILE = {
    "an unknown kind": b"\x63" + bytes(8),
    "a kind of the host": pack(Kind.RUN, 0, b""),
    "a long body": struct.pack("!BII", Kind.OUTPUT, 0, 1 << 31),
    "a long result": struct.pack("!BII", Kind.RESULT, 0, (1 << 32) - 1),
    "a long end": pack(Kind.ENDED, 0, bytes(70_000)),
    "a body where none may be": pack(Kind.CANCEL, 1, b"x"),
    "an end that is not encoded": pack(Kind.ENDED, 0, b"\xff\x00"),
    "an end that is empty": pack(Kind.ENDED),
    "an end cut off": pack(Kind.ENDED, 0, b"x")[:-1],
    "a head cut off": b"\x01\x00",
}
ENDS: dict[str, Any] = {
    "no dict": [1],
    "text": "exit_code",
    "no code": {},
    "a flag": {"exit_code": True},
    "a fraction": {"exit_code": 0.0},
    "not a number": {"exit_code": float("nan")},
    "a text": {"exit_code": "0"},
    "huge": {"exit_code": 10**5000},
    "too low": {"exit_code": -(1 << 31)},
}


@pytest.mark.parametrize(
    "data",
    [*HOSTILE.values(), *(pack(Kind.ENDED, 0, encode(end)) for end in ENDS.values())],
    ids=[*HOSTILE, *ENDS],
)
def test_hostile_frames_are_errors_of_ours(data: bytes) -> None:
    def act(far: socket.socket) -> None:
        read_job(far)
        far.sendall(data)
        far.shutdown(socket.SHUT_WR)
        read_all(far)

    with pytest.raises((ProtocolError, ConnectionLost)):
        run(act, seconds=20)


def test_random_bytes_are_errors_of_ours() -> None:
    source = random.Random(27)
    for _ in range(200):
        data = b"".join(
            pack(
                Kind(source.choice((1, 2, 3, 4, 5))), source.randrange(3), source.randbytes(length)
            )
            if source.random() < 0.8
            else source.randbytes(length)
            for length in (source.randrange(40) for _ in range(4))
        )

        def act(far: socket.socket, data: bytes = data) -> None:
            read_job(far)
            far.sendall(data)
            far.shutdown(socket.SHUT_WR)
            read_all(far)

        with pytest.raises((ProtocolError, ConnectionLost)):
            run(act, seconds=20, model=Quick())
