"""Calls of the bridge are input requests as jupyter_client reads them, and their replies."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest
import zmq
from jupyter_client.session import Session

from smolagents_fork.jupyter.kernel.kernel_stdin import StdinChannel

PARENT = {"header": {"msg_id": "p", "msg_type": "execute_request"}, "content": {"code": "1"}}
WAIT = 60_000


def called(function: Any, *args: Any) -> Any:
    return function(*args)


@pytest.fixture(params=[b"", b"key"])
def ends(request):
    """Return the kernel's channel, the client's socket and session; unsigned, and signed."""
    context = zmq.Context()
    router, client = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    for one in (router, client):
        one.linger = 0
    router.setsockopt(zmq.ROUTER_MANDATORY, 1)
    client.setsockopt(zmq.IDENTITY, b"client")
    router.bind("inproc://stdin")
    client.connect("inproc://stdin")
    kernel = SimpleNamespace(stdin_socket=router, session=Session(key=request.param))
    channel = StdinChannel(kernel, "comm", called)
    channel.begin(PARENT, [b"client"])
    yield channel, client, Session(key=request.param)
    router.close()
    client.close()
    context.term()


@pytest.mark.parametrize(
    "pieces",
    [[b"short"], [b"long" * 50_000], [b"head", memoryview(bytearray(b"long" * 50_000))]],
)
def test_requests_are_messages_of_the_protocol(ends, pieces):
    channel, client, session = ends
    ids = set()
    for number in ("1", "2"):
        assert channel.send(*pieces) == number
        assert client.poll(WAIT)
        _, message = session.recv(client)
        assert message["content"] == {"prompt": f"comm {number}", "password": False}
        assert message["msg_type"] == "input_request"
        assert message["parent_header"]["msg_id"] == "p"
        assert message["buffers"] == pieces
        ids.add(message["header"]["msg_id"])
    assert len(ids) == 2


def test_reply_of_the_number_is_received_and_others_are_not(ends):
    channel, client, session = ends
    channel.send(b"abandoned")
    session.send(client, "input_reply", {"value": "1"}, buffers=[b"late"])
    assert channel.wait(WAIT)
    number = channel.send(b"request")  # reads what has come before
    for value, buffers in (("1", [b"late"]), ("2", []), ("2", [b"reply"])):
        session.send(client, "input_reply", {"value": value}, buffers=buffers)
    found = []
    for _ in range(3):
        assert channel.wait(WAIT)
        found.append(channel.receive(number))
    assert found == [None, None, b"reply"]
    assert not channel.wait(0)


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"<IDS|MSG>"],
        [b"<IDS|MSG>", b"", b"{}", b"{}", b"{}", b"not JSON", b"reply"],
        [b"<IDS|MSG>", b"", b"{}", b"{}", b"{}", b"[1]", b"reply"],
        [b"<IDS|MSG>", b"wrong", b"{}", b"{}", b"{}", b'{"value": "1"}', b"reply"],
    ],
)
def test_malformed_and_wrongly_signed_replies_are_ignored(ends, parts):
    channel, client, session = ends
    number = channel.send(b"request")
    client.send_multipart(parts)
    assert channel.wait(WAIT)
    assert channel.receive(number) is None
    session.send(client, "input_reply", {"value": number}, buffers=[b"reply"])
    assert channel.wait(WAIT)
    assert channel.receive(number) == b"reply"


def test_request_without_a_client_is_an_error(ends, monkeypatch):
    channel, _, _ = ends
    monkeypatch.setattr("smolagents_fork.jupyter.kernel.kernel_stdin._CONNECT_ATTEMPTS", 2)
    channel.begin(PARENT, b"nobody")
    with pytest.raises(ConnectionError, match="stdin channel"):
        channel.send(b"request")


def test_forked_process_is_refused(ends):
    channel, _, _ = ends
    channel.session.pid = os.getpid() + 1
    with pytest.raises(RuntimeError, match="the kernel's own process only"):
        channel.send(b"request")
