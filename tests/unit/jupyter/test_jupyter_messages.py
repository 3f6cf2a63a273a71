"""One request's state while its messages come in, in whatever order."""

from __future__ import annotations

import pytest

from smolagents_fork.jupyter.collector import Collector
from smolagents_fork.jupyter.frames import Message
from smolagents_fork.jupyter.messages import KernelGone, Request, Requests, Sink


def request_with(**sink):
    requests = Requests("session", "comm")
    return Request(requests.execute("1", silent=False), Sink(**sink), "comm")


def reply_to(request, kind, content, channel="iopub", buffers=()):
    return Message(channel, {"msg_type": kind}, {"msg_id": request.id}, {}, content, buffers)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_done_when_answered_and_idle_in_either_order(order):
    request = request_with()
    both = [
        reply_to(request, "status", {"execution_state": "idle"}),
        reply_to(request, "execute_reply", {"status": "ok"}, "shell"),
    ]
    request.feed(both[order[0]], 0)
    assert not request.done
    request.feed(both[order[1]], 0)
    assert request.done


def test_messages_of_other_requests_are_passed_over():
    seen = []
    request, other = request_with(stream=lambda *a: seen.append(a)), request_with()
    request.feed(reply_to(other, "stream", {"name": "stdout", "text": "x"}), 0)
    request.feed(reply_to(other, "status", {"execution_state": "idle"}), 0)
    request.feed(Message("iopub", {}, {}, {}, {}), 0)
    assert seen == []
    assert not request.idle


@pytest.mark.parametrize("state", ["restarting", "dead"])
def test_news_of_the_kernels_end_need_no_parent(state):
    with pytest.raises(KernelGone):
        request_with().feed(
            Message("iopub", {"msg_type": "status"}, {}, {}, {"execution_state": state}), 0
        )


def test_error_of_an_oversize_answer_is_kept():
    request = request_with()
    request.feed(reply_to(request, "error", {"ename": "E", "evalue": "v", "traceback": ["t"]}), 0)
    request.feed(reply_to(request, "execute_reply", None, "shell"), 5_000_000)
    assert request.status == "error"
    assert request.error.name == "E"


def test_kernel_that_cannot_answer():
    request = request_with()
    request.feed(reply_to(request, "status", {"execution_state": "idle"}), 0)
    request.give_up_on_reply()
    assert request.done
    assert "could not say how the code ended" in request.error.value


def test_comm_of_somebody_else_is_not_ours():
    seen = []
    request = request_with(data=lambda data, buffers: seen.append(data))
    request.feed(reply_to(request, "comm_msg", {"comm_id": "other", "data": {"a": 1}}), 0)
    request.feed(reply_to(request, "comm_msg", {"comm_id": "comm", "data": {"a": 2}}), 0)
    request.feed(reply_to(request, "comm_msg", {"comm_id": "comm", "data": "text"}), 0)
    assert seen == [{"a": 2}]


def collector(limit=10):
    return Collector(max_output_bytes=limit, max_value_bytes=1000, on_output=None, answer=None)


def test_output_is_cut_at_the_limit_in_bytes_and_counted():
    sink = collector()
    sink.sink.stream("stdout", "ä" * 4, 0)
    sink.sink.stream("stdout", "bcdef", 0)
    sink.sink.stream("stderr", "more", 100)
    assert sink.logs().startswith("ääääbc\n... [output cut: 107 more bytes")


def test_no_half_characters():
    sink = collector(3)
    sink.sink.stream("stdout", "ää", 0)
    assert sink.logs().startswith("ä\n... [output cut: 1 more bytes") or "ä" in sink.logs()
    assert "\ufffd" not in sink.logs()


def test_hostile_data_is_a_note():
    sink = collector()
    sink.sink.data({"kind": "value"}, [b"rubbish"])
    sink.sink.data({"kind": "cut", "count": "many"}, [])
    sink.sink.data({"kind": "forms", "forms": []}, [])
    sink.sink.display({"data": {"image/png": "rubbish"}})
    assert sink.output() in (None, "rubbish")
    assert "could not be decoded" in sink.logs()
