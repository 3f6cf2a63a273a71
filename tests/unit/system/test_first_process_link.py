"""Requests to a first process are answered, lost, or never sent; whatever it says."""

from __future__ import annotations

import time

import pytest
from background import Background

from smolagents_fork.system.first_process_link import FirstProcess, MainEnd


@pytest.fixture
def sent() -> list[bytes]:
    return []


@pytest.fixture
def first(sent) -> FirstProcess:
    return FirstProcess(sent.append)


def test_requests_have_numbers_and_are_waited_for(first, sent):
    assert first.wait(0)
    assert first.interrupt()
    assert first.ask()
    assert sent == [b"interrupt 1\n", b"state 2\n"]
    first.feed(b"\x1eanswer 1 S\n")
    assert not first.wait(0)
    for piece in (b"\x1ean", b"swer 2", b" T\n"):
        first.feed(piece)
    assert first.wait(0)


def test_requests_are_lost_with_their_connection(first, sent):
    first.interrupt()
    first.reconnect(False)
    assert first.wait(0)
    assert not first.interrupt()
    first.reconnect(True)
    assert first.interrupt()
    # The answer to the request that was lost answers no other.
    first.feed(b"\x1eanswer 1 S\n")
    assert not first.wait(0)


@pytest.mark.parametrize(
    ("line", "end"),
    [(b"end 3 0", MainEnd(3, False)), (b"end -9 1", MainEnd(137, True))],
)
def test_end_of_the_main_process_is_as_a_shell_has_it(first, line, end):
    first.feed(b"\x1e" + line + b"\n")
    assert first.end == end


def test_reason_without_a_connection_is_kept(first):
    first.feed(b"\x1eunreachable No such file or directory\n")
    assert first.unreachable == "No such file or directory"


@pytest.mark.parametrize(
    "data",
    [
        b"answer 1 S\nend 0 0\nunreachable x\n",  # without the mark, as a program's
        b"\x1eanswer\n\x1eanswer x\n\x1eanswer -1 S\n\x1e\n\x1eother\n",
        b"\x1eend\n\x1eend x y\n\x1eend --5 0\n\x1eend 5\n",
        b"\xff" * 5000 + b"\n",
        "\x1eanswer \u00b2 S\n\x1eend \u00b2 0\n".encode(),
    ],
)
def test_other_lines_change_nothing(first, data):
    first.ask()
    first.feed(data)
    assert not first.wait(0)
    assert first.end is None
    assert first.unreachable == ""


def test_line_without_an_end_fills_no_memory(first):
    for _ in range(100):
        first.feed(b"x" * 65_536)
    first.ask()
    first.feed(b"\n\x1eanswer 1 S\n")
    assert first.wait(0)


@pytest.mark.parametrize(
    ("answer", "usage"),
    [
        (b"answer 1 S 1048576 2500000 3", (1048576, 2.5, 3)),
        (b"answer 1 S -1 0 0", (0, 0.0, 0)),
        (b"answer 1 S", None),  # of a version without figures
        (b"answer 1 S 1 2", None),
        (b"answer 1 S 1e3 2 3", None),
    ],
)
def test_usage_is_what_the_answer_says(answer, usage):
    first = FirstProcess(lambda data: sent.append(data) or first.feed(b"\x1e" + answer + b"\n"))
    sent: list[bytes] = []
    assert first.usage(60.0) == usage
    assert sent == [b"usage 1\n"]


def test_usage_without_a_connection_is_none():
    first = FirstProcess(lambda _data: None)
    first.reconnect(False)
    assert first.usage(60.0) is None


def test_no_request_is_sent_after_the_loss_is_noted():
    def send(_data):
        losses.append(Background(first.reconnect, (False,)))
        time.sleep(0.05)
        connected.append(first.connected)

    losses: list[Background] = []
    connected: list[bool] = []
    first = FirstProcess(send)
    assert first.ask()
    losses[0].result()
    assert connected == [True]
    assert not first.connected
