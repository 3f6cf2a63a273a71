"""Messages at a deadline, out of order, or none: on a clock that the tests set."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import ExecutorError
from smolagents_fork.jupyter import channel as channels
from smolagents_fork.jupyter.channel import Channel, DeadlinePassed
from smolagents_fork.jupyter.protocol import KernelGone, Requests, Sink
from smolagents_fork.jupyter.websocket import ConnectionLost, WaitTimeout
from smolagents_fork.jupyter.wire import Message, decode, encode_pieces


class Kernel:
    """Connection to a scripted kernel, which sends the test's messages at the test's times.

    Attributes:
        now: its clock, set by the test.
        sent: requests received, in order.
        saying: seconds until the next message and the message, in order; ``None`` for a pong.
        answers_pings: whether its server does.
        pings: number of pings received.
        bytes_a_wait: number of bytes that each wait receives of a message without an end.
    """

    lost = False

    def __init__(self):
        self.now = 1000.0
        self.received = 0
        self.sent = []
        self.saying = []
        self.asked = lambda _message: None
        self.answers_pings = True
        self.pings = 0
        self.bytes_a_wait = 0

    def clock(self):
        return self.now

    def send(self, pieces, *, timeout, stop=None):
        self.sent.append(decode(b"".join(pieces)))
        self.asked(self.sent[-1])

    def lose(self, reason):
        raise ConnectionLost(reason)

    def ping(self, timeout=1.0):
        self.pings += 1
        if self.answers_pings:
            self.saying.insert(0, [0.01, None])

    def receive(self, timeout):
        if not self.saying or self.saying[0][0] > timeout:
            self.now += timeout
            self.received += self.bytes_a_wait
            if self.saying:
                self.saying[0][0] -= timeout
            raise WaitTimeout
        seconds, message = self.saying.pop(0)
        self.now += seconds
        self.received += 1
        if message is None:
            return None
        return b"".join(encode_pieces(message)), 0

    def say(self, seconds, channel, kind, content, parent):
        header = {"msg_type": kind, "msg_id": kind}
        self.saying.append([seconds, Message(channel, header, parent.header, {}, content)])

    def say_output(self, seconds, text, parent):
        self.say(seconds, "iopub", "stream", {"name": "stdout", "text": text}, parent)

    def say_idle(self, seconds, parent):
        self.say(seconds, "iopub", "status", {"execution_state": "idle"}, parent)

    def say_reply(self, seconds, parent, status="ok"):
        self.say(seconds, "shell", "execute_reply", {"status": status}, parent)


@pytest.fixture
def kernel(monkeypatch):
    made = Kernel()
    monkeypatch.setattr(channels, "time", SimpleNamespace(monotonic=made.clock))
    return made


@pytest.fixture
def printed():
    return []


@pytest.fixture
def sink(printed):
    made = Sink()
    made.stream = lambda text, _lost: printed.append(text)
    return made


@pytest.fixture
def channel(kernel):
    return Channel(kernel, Requests("session", "comm"))


def test_output_at_the_deadline_is_kept(kernel, channel, sink, printed):
    request = channel.execute("1", sink=sink)
    kernel.say_output(2.0, "late", request.message)
    with pytest.raises(DeadlinePassed):
        channel.wait(request, Deadline(2.0, clock=kernel.clock))
    assert printed == ["late"]


def test_end_at_the_deadline_counts(kernel, channel, sink):
    request = channel.execute("1", sink=sink)
    kernel.say_reply(1.0, request.message)
    kernel.say_idle(1.0, request.message)
    channel.wait(request, Deadline(2.0, clock=kernel.clock))
    assert (request.done, kernel.now) == (True, 1002.0)


def test_flood_of_messages_does_not_outlast_the_time(kernel, channel, sink, printed):
    request = channel.execute("1", sink=sink)
    for _ in range(100):
        kernel.say_output(0.1, ".", request.message)
    with pytest.raises(DeadlinePassed):
        channel.wait(request, Deadline(2.0, clock=kernel.clock))
    assert 19 <= len(printed) <= 21


def test_late_answer_is_awaited(kernel, channel, sink):
    kernel.answers_pings = False
    request = channel.execute("1", sink=sink)
    kernel.say_idle(0.1, request.message)
    kernel.say_reply(8.0, request.message)
    channel.wait(request, Deadline(60, clock=kernel.clock))
    assert request.done
    assert request.error is None
    assert kernel.now >= 1008


def test_skipped_answer_is_not_awaited(kernel, channel, sink):
    request = channel.execute("1", sink=sink)
    kernel.say_idle(0.1, request.message)
    channel.wait(request, Deadline(60, clock=kernel.clock))
    assert request.error is not None
    assert "could not say how the code ended" in request.error.value
    assert kernel.now < 1010


def test_request_of_another_thread_is_answered_while_code_runs(kernel, channel, sink, printed):
    running = channel.execute("1", sink=sink)

    def answer(request):
        if request.channel == "control":
            kernel.say_output(0.1, "first", running.message)
            kernel.say(0.1, "iopub", "status", {"execution_state": "busy"}, request)
            kernel.say(0.1, "control", "a_reply", {"status": "ok"}, request)

    kernel.asked = answer
    reply = channel.ask("a_request", [b"body"], Deadline(60, clock=kernel.clock))
    assert (reply.type, reply.content) == ("a_reply", {"status": "ok"})
    # What it received for the thread that waits for code is still there, and what belongs to it is
    # not.
    kernel.say_reply(0.1, running.message)
    kernel.say_idle(0.1, running.message)
    channel.wait(running, Deadline(60, clock=kernel.clock))
    assert printed == ["first"]


def test_request_of_another_thread_ends_with_its_deadline_and_with_the_kernel(kernel):
    channel = Channel(kernel, Requests("session", "comm"), serves_itself=True)
    with pytest.raises(DeadlinePassed):
        channel.ask("a_request", [b""], Deadline(10, clock=kernel.clock))
    kernel.asked = lambda request: kernel.say(
        0.1, "iopub", "status", {"execution_state": "dead"}, request
    )
    with pytest.raises(KernelGone):
        channel.ask("a_request", [b""], Deadline(10, clock=kernel.clock))


def test_flood_while_code_waits_for_a_tool_is_bounded(kernel, monkeypatch):
    monkeypatch.setattr(channels, "_MOST_WAITING_BYTES", 10_000)
    channel = Channel(kernel, Requests("session", "comm"))
    running = channel.execute("1", sink=Sink())
    for _ in range(20):
        kernel.say_output(0.0, "x" * 1000, running.message)
    with pytest.raises(ExecutorError, match="while it waits for a tool"):
        channel.ask("a_request", [b""], Deadline(10, clock=kernel.clock))
    kernel.say_reply(0.1, running.message)
    kernel.say_idle(0.1, running.message)
    channel.wait(running, Deadline(60, clock=kernel.clock))


# -- silence --


class AnsweringFirstProcess:
    """First process that answers each question at once, on the clock of a kernel."""

    connected, links = True, 1

    def __init__(self, kernel, answers):
        self.kernel, self.left = kernel, answers
        self.heard_at = kernel.now

    def ask(self):
        if self.left:
            self.left -= 1
            self.heard_at = self.kernel.now
        return True


NO_PONG = "has not answered a ping for 21 s"
NOTHING = "nothing was received for 7 s"


@pytest.mark.parametrize(
    ("serves_itself", "answers", "partial_bytes", "reason"),
    [
        (False, None, 0, NO_PONG),
        (False, 10**9, 0, NO_PONG),  # a gateway has to answer itself
        (False, 0, 0, NOTHING),
        (True, 0, 0, NOTHING),
        (True, 10**9, 0, ""),
        (True, None, 0, ""),
        (False, None, 1, ""),
    ],
    ids=[
        "gateway alone",
        "gateway beside a first process that answers",
        "gateway and first process",
        "kernel and first process",
        "kernel beside a first process that answers",
        "kernel without a first process",
        "within a message",
    ],
)
def test_silence_ends_the_connection_unless_the_kernel_may_be_busy(
    kernel, serves_itself, answers, partial_bytes, reason
):
    kernel.answers_pings, kernel.bytes_a_wait = False, partial_bytes
    first = None if answers is None else AnsweringFirstProcess(kernel, answers)
    requests = Requests("session", "comm")
    channel = Channel(kernel, requests, serves_itself=serves_itself, first_process=first)
    request = channel.execute("1", sink=Sink())
    with pytest.raises(ConnectionLost if reason else DeadlinePassed, match=reason or None):
        channel.wait(request, Deadline(600, clock=kernel.clock))
    if not reason:
        assert kernel.now == 1600.0
    assert bool(kernel.pings) is not bool(partial_bytes)
