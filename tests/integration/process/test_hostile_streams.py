"""A child that speaks the protocol against its host: no read, no end, no order."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from contextlib import AbstractContextManager
from typing import Any

import pytest
from background import eventually, running
from process_harness import executor as process_executor

from smolagents_fork.bridge import dispatcher as dispatchers
from smolagents_fork.codec import encode
from smolagents_fork.errors import (
    DecodeError,
    ProtocolError,
    SandboxTimeoutError,
)
from smolagents_fork.executors.guests.frame_guest import FrameGuest
from smolagents_fork.executors.session.guest import End
from smolagents_fork.guest.frames import Kind, pack_frame

SHARP = ["os", "time", "threading", "signal"]
#: What a run may take that has one second. Each of these took half a minute and more.
SECONDS = 25


def executor(**options: Any) -> AbstractContextManager[Any]:
    options = {"timeout_seconds": 1, "interrupt_grace_seconds": 1, "memory": None, **options}
    return process_executor(SHARP, **options)


@pytest.fixture
def in_time():
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < SECONDS


def call(number: int, name: str, body: bytes = b"") -> bytes:
    return b'{"call":%d,"name":"%s","args":[%s],"kwargs":{}}' % (number, name.encode(), body)


def send(frame: bytes) -> str:
    """Write a program that sends a frame past its worker."""
    return (
        f"import os\nframe = {frame!r}\nwhile frame:\n    frame = frame[os.write(1000, frame):]\n"
    )


def wait_for_frames(ex: Any) -> None:
    """Wait until the child has sent what nobody has read yet."""
    connection = ex._session.guest.process._stream._connection
    assert eventually(lambda: select.select([connection], [], [], 0)[0])


WAIT = "import time\ntime.sleep(600)\n"
DEAF = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"


@pytest.mark.parametrize("end", ["timeout", "interrupt"])
@pytest.mark.parametrize("program", ["", DEAF])
def test_reply_that_is_not_read_holds_no_run(in_time, end, program):
    with executor(timeout_seconds=1 if end == "timeout" else 600) as ex:
        ex.send_tools({"large": lambda: bytes(20_000_000)})
        code = program + send(pack_frame(Kind.CALL, 1, call(1, "large"))) + WAIT
        if end == "interrupt":
            begun = threading.Event()
            ex.send_tools({"large": lambda: begun.set() or bytes(20_000_000)})

            def stop() -> None:
                assert begun.wait(60)
                ex.interrupt()

            with running(stop), pytest.raises(Exception, match="interrupt"):
                ex(code)
        else:
            with pytest.raises(SandboxTimeoutError):
                ex(code)
        assert ex("1 + 1").output == 2


@pytest.mark.parametrize("number", [1, (1 << 31) + 1])  # of a run, and of the next request
@pytest.mark.parametrize("kind", [Kind.OUTPUT, Kind.DISPLAY])
@pytest.mark.parametrize("ask", ["send_variables", "send_tools", "variables"])
def test_frames_without_end_between_runs_end_the_child(in_time, kind, ask, number):
    with executor() as ex:
        flood = pack_frame(kind, number, b"x") * 100
        ex(
            "import os, signal\n"
            f"def flood(*_):\n    while True:\n        os.write(1000, {flood!r})\n"
            "signal.signal(signal.SIGALRM, flood)\nsignal.setitimer(signal.ITIMER_REAL, 0.2)"
        )
        wait_for_frames(ex)
        arguments = {"send_variables": ({"x": 1},), "send_tools": ({},)}.get(ask, ())
        with pytest.raises(ProtocolError, match=f"{ask}: more than 4096 unrequested frames"):
            getattr(ex, ask)(*arguments)
        assert ex("1 + 1").output == 2


@pytest.mark.parametrize("kind", [Kind.OUTPUT, Kind.DISPLAY, Kind.CALL])
def test_frames_without_end_end_with_the_run(in_time, kind):
    with executor(max_tool_calls=10**9) as ex:
        ex.send_tools({"nothing": lambda: None})
        body = call(1, "nothing") if kind is Kind.CALL else b"x"
        with pytest.raises((SandboxTimeoutError, ProtocolError)):
            ex(
                DEAF
                + f"import os\nwhile True:\n    os.write(1000, {pack_frame(kind, 1, body) * 50!r})"
            )
        assert ex("1 + 1").output == 2


@pytest.mark.parametrize("kind", [Kind.DONE, Kind.CALL, Kind.OUTPUT])
def test_frame_that_comes_byte_by_byte_holds_no_run(in_time, kind):
    with executor() as ex:
        head = pack_frame(kind, 1, bytes(60_000 if kind is Kind.OUTPUT else 10_000_000))[:20]
        trickle = f"import os\nos.write(1000, {head!r})\nwhile True:\n    os.write(1000, b' ')\n"
        with pytest.raises((SandboxTimeoutError, ProtocolError)):
            ex(DEAF + trickle)
        assert ex("1 + 1").output == 2


def test_calls_after_the_final_answer_are_not_decoded(in_time, monkeypatch):
    read = dispatchers.Dispatcher._read
    decoded = []

    def noted(dispatcher: Any, request: Any) -> Any:
        decoded.append(bytes(request[:50]))
        return read(dispatcher, request)

    monkeypatch.setattr(dispatchers.Dispatcher, "_read", noted)
    with executor(timeout_seconds=600) as ex:
        ex.send_tools({"final_answer": lambda value: value, "late": lambda value: value})
        answer = pack_frame(Kind.CALL, 1, call(1, "final_answer", b"42"))
        late = pack_frame(Kind.CALL, 1, call(2, "late", b"[" * 500_000))
        result = ex(DEAF + send(answer) + f"while True:\n    os.write(1000, {late!r})")
        assert (result.output, result.is_final_answer) == (42, True)
        assert len(decoded) == 1
        assert ex("1 + 1").output == 2


def test_decoding_is_time_of_the_program(in_time, monkeypatch):
    read = dispatchers.Dispatcher._read

    def slow(dispatcher: Any, request: Any) -> Any:
        time.sleep(0.3)
        return read(dispatcher, request)

    monkeypatch.setattr(dispatchers.Dispatcher, "_read", slow)
    with executor(timeout_seconds=1) as ex:
        ex.send_tools({"nothing": lambda: None})
        with pytest.raises(SandboxTimeoutError):
            ex("while True:\n    nothing()")


@pytest.mark.parametrize("ask", ["send_variables", "variables"])
def test_request_of_a_stopped_child_can_be_interrupted(in_time, ask):
    with executor(interrupt_grace_seconds=0.3) as ex:
        ex("kept = 1")
        os.kill(ex.pid, signal.SIGSTOP)
        arguments = [{"x": bytes(50_000_000)}] if ask == "send_variables" else []
        with running(getattr(ex, ask), *arguments) as request:
            request.until(lambda: ex._session._running)
            ex.interrupt()
            error = request.error()
        assert isinstance(error, ProtocolError)
        assert str(error).startswith(f"{ask}: interrupted: ")
        assert ex("1 + 1").output == 2


@pytest.mark.parametrize(
    ("early", "ask"),
    [
        (
            [pack_frame(Kind.ACCEPTED, (1 << 31) + number) for number in range(1, 30)],
            lambda ex: ex.send_variables({"x": bytes(60_000_000)}),
        ),
        ([pack_frame(Kind.DONE, 2, b"42")], lambda ex: ex("#" * 5_000_000)),
    ],
    ids=["request", "code"],
)
def test_answer_to_what_was_not_read_ends_the_child(in_time, early, ask):
    with executor(timeout_seconds=60) as ex:
        ex(
            f"import os, signal, time\nframes = {b''.join(early)!r}\n"
            "def answer(*_):\n    os.write(1000, frames)\n    time.sleep(600)\n"
            "signal.signal(signal.SIGALRM, answer)\nsignal.setitimer(signal.ITIMER_REAL, 0.2)"
        )
        wait_for_frames(ex)
        with pytest.raises(ProtocolError, match="it answered before it had read the request"):
            ask(ex)
        ex.send_variables({"x": bytes(1000)})
        assert ex("len(x)").output == 1000


class _Interruption(BaseException):
    pass


class _Torn:
    """A connection on which a signal's handler raises once after a part of a frame was sent."""

    def __init__(self, connection: Any, stream: Any) -> None:
        self._connection = connection
        self._stream = stream

    def send(self, data: Any) -> int:
        self._connection.send(data[:10])
        self._stream._connection = self._connection
        raise _Interruption

    def recv_into(self, *arguments: Any) -> int:
        return int(self._connection.recv_into(*arguments))


def test_interruption_in_the_middle_of_a_frame_breaks_no_later_call(in_time):
    with executor(timeout_seconds=60) as ex:
        ex.send_variables({"x": 1})
        stream = ex._session.guest.process._stream
        stream._connection = _Torn(stream._connection, stream)
        with pytest.raises(_Interruption):
            ex.send_variables({"y": bytes(1000)})
        # In a new child, which gets what had been sent before.
        assert ex("x").output == 1


def test_answer_that_nobody_waited_for_does_not_count_for_the_next(monkeypatch):
    # A child that answers an interrupt late, on a busy machine, keeps its state, too.
    with executor(timeout_seconds=60, interrupt_grace_seconds=60) as ex:
        ex("a = 1")
        turn = type(ex._session.guest.process).turn

        def broken(child: Any, seconds: float) -> Any:
            monkeypatch.undo()
            # The answer comes after this turn, whose frame nobody would take.
            os.kill(child.pid, signal.SIGSTOP)
            try:
                assert turn(child, 0.0) is None  # the request is sent
            finally:
                os.kill(child.pid, signal.SIGCONT)
            raise KeyboardInterrupt

        monkeypatch.setattr(type(ex._session.guest.process), "turn", broken)
        with pytest.raises(KeyboardInterrupt):
            ex.variables()
        ex.send_variables({"b": 2})
        assert ex.variables() == {"a": 1, "b": 2}
        # The end of a run that has been taken does not come again.
        taken = FrameGuest.turn

        def interrupted(guest: FrameGuest, seconds: float) -> Any:
            if isinstance(event := taken(guest, seconds), End):
                monkeypatch.undo()
                raise KeyboardInterrupt
            return event

        monkeypatch.setattr(FrameGuest, "turn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ex("c = 3")
        assert ex("a + b + c").output == 6


@pytest.mark.parametrize(
    ("kind", "error"), [(Kind.DISPLAY, ProtocolError), (Kind.DONE, DecodeError)]
)
@pytest.mark.parametrize(
    ("part", "count"),
    [
        ('{"$":"DataFrame","v":[],"i":{"k":"range","v":[0,0,1],"n":null},'
         '"c":{"k":"range","v":[0,0,1],"n":null}}', 60_000),
        ("[" * 50 + "]" * 50, 60_000),
    ],
)  # fmt: skip
def test_frame_that_costs_more_than_its_bytes(in_time, kind, error, part, count):
    body = f"[{','.join([part] * count)}]".encode()
    head = pack_frame(kind, 1, body)[: -len(body)]
    code = (
        f"import os\nframe = {head!r} + b'[' + b','.join([{part.encode()!r}] * {count}) + b']'\n"
        f"while frame:\n    frame = frame[os.write(1000, frame):]\n{WAIT}"
    )
    with executor(timeout_seconds=60) as ex:
        with pytest.raises(error, match="decoding it takes more work or memory than"):
            ex(code)
        ex.restart()
        assert ex("1 + 1").output == 2


def test_jpeg_that_takes_minutes_is_not_decoded(in_time):
    # A progressive JPEG of 80 KB with 2,000 scans of 3,000 x 3,000 pixels.
    scan = b"\xff\xda\x00\x08\x01\x01\x00\x00\x00\x00" + bytes(30)
    header = b"\xff\xc2\x00\x0b\x08" + (3000).to_bytes(2, "big") * 2 + b"\x01\x01\x11\x00"
    jpeg = b"\xff\xd8" + header + scan * 2000 + b"\xff\xd9"
    body = encode({"image/jpeg": jpeg, "image/png": jpeg, "text/plain": "words"})
    with executor(timeout_seconds=60) as ex:
        result = ex(f"{send(pack_frame(Kind.DISPLAY, 1, body))}\n'end'")
        assert result.output == "end"
        (display,) = ex.displays
        assert (display.value, display.forms["image/jpeg"]) == ("words", jpeg)
