"""A kernel gateway that is hostile holds no call, no send and no end beyond its limit."""

from __future__ import annotations

import itertools
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from background import acting
from hostile_gateway import Gateway, HostileEngine, call, endless
from smolagents import tool
from smolagents.utils import AgentError
from websocket_frames import frame

from smolagents_fork.errors import ExecutorError, ForkError, SandboxDiedError, SandboxTimeoutError
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.executors.jupyter import connection
from smolagents_fork.jupyter import channel, resumption

# Far above what a call may take that does not hang, and below the half minute that a send had.
AT_MOST = 20.0
# Honest runs of the same executor have them, too, on a busy machine.
LIMITS = {"timeout_seconds": 1.5, "interrupt_grace_seconds": 0.3, "startup_timeout_seconds": 4}
#: A limit that nothing reaches.
PATIENT = {"timeout_seconds": 60, "interrupt_grace_seconds": 60}
ATTACK = "attack"


@tool
def large() -> bytes:
    """Returns 30 MB."""
    return bytes(30_000_000)


@pytest.fixture(autouse=True)
def _short_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for an engine that may still notice an end: these sandboxes run on."""
    monkeypatch.setattr(connection, "_NOTICE_SECONDS", 0.2)


def bounded(function: Callable[[], Any]) -> Any:
    begun = time.monotonic()
    try:
        return function()
    finally:
        assert time.monotonic() - begun < AT_MOST


def executor_on(
    act: Callable[[Gateway, Any], bool],
    when: str = ATTACK,
    *,
    is_resumable: bool = False,
    **keywords: Any,
) -> Any:
    """An executor on a gateway that does ``act`` when a request's code has ``when``."""

    def serve(gateway: Gateway, request: Any, code: str) -> bool:
        return when in code and act(gateway, request)

    engine = HostileEngine(serve, is_resumable)
    executor = DockerExecutor(engine=engine, image="x", **{**LIMITS, **keywords})
    executor.send_tools({"large": large})
    return executor


def unread_reply(gateway: Gateway, request: Any) -> bool:
    gateway.sock.sendall(gateway.question(request, call(1, "large")))
    time.sleep(60)
    return True


def trickle(gateway: Gateway, request: Any) -> bool:
    gateway.sock.sendall(frame(bytes(10_000_000))[:20])
    while True:
        time.sleep(0.02)
        gateway.sock.sendall(b"x")


def silence(gateway: Gateway, request: Any) -> bool:
    time.sleep(60)
    return True


STREAM = {"name": "stdout", "text": "x" * 1000}
VALUE = {"comm_id": "x", "data": {"kind": "value"}}
#: Frames that are sent again and again; what comes before the last is sent once.
FLOODS: dict[str, Callable[[Gateway, Any], list[bytes]]] = {
    "unread_replies": lambda gateway, request: [gateway.question(request, b"no call")],
    "foreign_output": lambda gateway, _request: [gateway.message("iopub", "stream", STREAM)],
    "own_output": lambda gateway, request: [gateway.message("iopub", "stream", STREAM, request)],
    "values": lambda gateway, request: [
        gateway.message("iopub", "comm_msg", VALUE, request, bytes(1_000_000))
    ],
    "invalid_messages": lambda _gateway, _request: [frame(b"\xff" * 100)],
    "pings": lambda _gateway, _request: [frame(b"x" * 125, 0x89)],
    "empty_fragments": lambda _gateway, _request: [frame(b"", 0x02), frame(b"", 0x00)],
    "huge_frame": lambda _gateway, _request: [b"\x82\x7f\x7f" + b"\xff" * 7, bytes(1 << 20)],
}


def flood(name: str) -> Callable[[Gateway, Any], bool]:
    def act(gateway: Gateway, request: Any) -> bool:
        *first, last = FLOODS[name](gateway, request)
        return endless(itertools.chain(first, itertools.repeat(last)), gateway)

    return act


ACTS: dict[str, Callable[[Gateway, Any], bool]] = {
    "unread_reply": unread_reply,
    **{name: flood(name) for name in FLOODS},
    "trickle": trickle,
    "silence": silence,
}


def acts(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("act", [pytest.param(ACTS[name], id=name) for name in names])


@acts(*ACTS)
def test_run_ends_at_its_limit(act):
    with executor_on(act, **(PATIENT if act is ACTS["unread_replies"] else {})) as executor:
        with pytest.raises(ForkError) as caught:
            bounded(lambda: executor("attack"))
        if act is ACTS["unread_replies"]:
            assert "continued after 100 refused calls" in str(caught.value)
        else:
            assert isinstance(caught.value, SandboxTimeoutError)
            assert "code ran past timeout_seconds=1.5" in str(caught.value)
        assert bounded(lambda: executor("1")).output is None  # a new sandbox


# What is refused a hundred times ends the run by itself.
@acts(*(name for name in ACTS if name != "unread_replies"))
def test_run_without_a_limit_ends_by_an_interrupt(act):
    with executor_on(act, timeout_seconds=None) as executor:
        begun = time.monotonic()
        with (
            acting(lambda: time.monotonic() - begun > 0.3, executor.interrupt),
            pytest.raises(ForkError),
        ):
            bounded(lambda: executor("attack"))


@acts(*(name for name in ACTS if name not in ("unread_reply", "unread_replies")))
def test_request_of_our_own_ends_by_an_interrupt(act):
    with executor_on(act, ".receive()", startup_timeout_seconds=60) as executor:
        begun = time.monotonic()
        with (
            acting(lambda: time.monotonic() - begun > 0.3, executor.interrupt),
            pytest.raises(
                ExecutorError, match=r"send_variables.* its state is lost, the next call"
            ),
        ):
            bounded(lambda: executor.send_variables({"a": 1}))


@pytest.mark.parametrize("code", [".receive()", ".variables()"])
@acts("foreign_output", "trickle", "silence", "unread_reply", "unread_replies")
def test_request_of_our_own_ends_at_its_limit(act, code):
    with executor_on(act, code) as executor:
        use = executor.variables if code == ".variables()" else executor.send_variables
        arguments = () if code == ".variables()" else ({"a": 1},)
        with pytest.raises(ExecutorError):
            bounded(lambda: use(*arguments))


def test_code_and_values_that_are_never_read_end_at_the_limit():
    def stopped(gateway: Gateway, request: Any) -> bool:
        gateway.done(request)
        time.sleep(60)
        return True

    with executor_on(stopped) as executor:
        executor("attack")
        with pytest.raises(SandboxTimeoutError, match=r"ran past timeout_seconds=1\.5"):
            bounded(lambda: executor("x" * 5_000_000))
        executor("attack")
        with pytest.raises(ExecutorError, match="send_variables: it did not read the request"):
            bounded(lambda: executor.send_variables({"a": bytes(5_000_000)}))
        executor("attack")
        begun = time.monotonic()
        with (
            acting(lambda: time.monotonic() - begun > 0.3, executor.interrupt),
            pytest.raises(ExecutorError, match="send_variables: interrupted: it did not read"),
        ):
            bounded(lambda: executor.send_variables({"a": bytes(5_000_000)}))


@acts("foreign_output", "own_output", "unread_replies", "trickle", "silence")
def test_what_follows_a_final_answer_is_not_waited_for(act):
    def answer_first(gateway: Gateway, request: Any) -> bool:
        gateway.sock.sendall(gateway.question(request, call(1, "final_answer", 7)))
        return act(gateway, request)

    with executor_on(answer_first, timeout_seconds=60) as executor:
        executor.send_tools({"final_answer": lambda answer: answer})
        result = bounded(lambda: executor("attack"))
        assert (result.output, result.is_final_answer) == (7, True)


@acts("foreign_output", "invalid_messages", "pings", "trickle")
def test_frames_between_runs_hold_nothing_up(act):
    def done_first(gateway: Gateway, request: Any) -> bool:
        gateway.done(request)
        return act(gateway, request)

    with executor_on(done_first) as executor:
        executor("attack")
        assert bounded(executor.is_alive) in (True, False)
        with pytest.raises(ExecutorError):
            bounded(lambda: executor.send_variables({"a": 1}))
        executor("attack")
        with pytest.raises(ForkError):
            bounded(lambda: executor("1"))
    bounded(executor.cleanup)


@acts("foreign_output", "trickle", "silence", "pings", "huge_frame")
def test_start_ends_at_its_limit(act):
    engine = HostileEngine(lambda gateway, request, _code: act(gateway, request))
    with pytest.raises(ForkError, match="did not start in startup_timeout_seconds=2"):
        bounded(lambda: DockerExecutor(engine=engine, image="x", startup_timeout_seconds=2))


#: Bytes that end a connection, or are ignored.
FRAMES = {
    "reserved bits": frame(b"", 0xC2),
    "half a close": frame(b"\x03", 0x88),
    "a close between fragments": frame(b"x", 0x02) + frame(b"\x03\xe8", 0x88),
    "text": frame(b"\xff\xfe", 0x81),
    "a length of eight bytes": b"\x82\x7f" + b"\xff" * 8,
    "the end": b"",
    "a head cut off": b"\x82",
    "no frames": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


@pytest.mark.parametrize("data", FRAMES.values(), ids=FRAMES)
def test_bad_frames_are_errors_of_ours(data):
    def act(gateway: Gateway, request: Any) -> bool:
        gateway.sock.sendall(data)
        gateway.sock.shutdown(socket.SHUT_WR)
        return True

    with executor_on(act) as executor:
        with pytest.raises(SandboxDiedError):
            bounded(lambda: executor("attack"))
        assert bounded(lambda: executor("1")).output is None


def fail(gateway: Gateway, request: Any) -> bool:
    content = {"ename": "E", "evalue": "v", "traceback": ["first", "x" * 5_000_000, "last"]}
    gateway.sock.sendall(gateway.message("iopub", "error", content, request))
    return False


def test_error_is_cut_to_what_a_model_can_be_sent():
    with executor_on(fail) as executor:
        with pytest.raises(AgentError) as caught:
            executor("attack")
        text = str(caught.value)
        assert (text[:5], text[-4:]) == ("first", "last")
        assert len(text) < 300_000


def test_errors_of_starts_and_files_are_cut_too(monkeypatch):
    with pytest.raises(ExecutorError, match="could not be prepared: E: v") as caught:
        executor_on(fail, when="")
    assert len(str(caught.value)) < 300_000
    with executor_on(fail) as executor:
        content = {"status": "error", "evalue": "x" * 5_000_000}
        reply = SimpleNamespace(content=content, buffers=())
        monkeypatch.setattr(channel.Channel, "ask", lambda *_: reply)
        with pytest.raises(ExecutorError, match=r"get_file: .*: xxx") as caught:
            executor.get_file("a")
        assert len(str(caught.value)) < 300_000


def test_connections_that_end_at_once_hold_no_call_up(monkeypatch):
    def end_all(gateway: Gateway, request: Any) -> bool:
        gateway.done(request)
        gateway.conversation.is_ending = True
        return True

    monkeypatch.setattr(channel, "_REOPENED_SECONDS", 1.0)
    with executor_on(end_all, is_resumable=True) as executor:
        executor("attack")
        timer = threading.Timer(AT_MOST, executor.interrupt)
        timer.start()
        with pytest.raises(SandboxTimeoutError, match=r"code ran past timeout_seconds=1\.5"):
            bounded(lambda: executor("1"))
        timer.cancel()


def test_answers_that_are_never_acknowledged_are_not_all_kept(monkeypatch):
    def take_answers(gateway: Gateway, request: Any) -> bool:
        for number in range(1, 6):
            gateway.sock.sendall(gateway.question(request, call(number, "large")))
            gateway.read()
        return False

    monkeypatch.setattr(resumption, "_MOST_KEPT_BYTES", 1 << 20)
    with executor_on(take_answers, is_resumable=True, timeout_seconds=60) as executor:
        tracemalloc.start()
        try:
            executor("attack")
            assert tracemalloc.get_traced_memory()[0] < 70_000_000
        finally:
            tracemalloc.stop()


def test_threads_of_a_gateway_that_reads_nothing_are_released():
    before = threading.active_count()
    with executor_on(unread_reply) as executor:
        for _ in range(3):
            with pytest.raises(SandboxTimeoutError):
                bounded(lambda: executor("attack"))
    host = [one for one in threading.enumerate() if one.name.startswith("smolagents-fork")]
    assert len(host) <= before
