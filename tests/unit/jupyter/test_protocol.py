"""State of a request while its messages arrive in any order."""

from __future__ import annotations

import pytest

from smolagents_fork.call_output import CallOutput
from smolagents_fork.executors.jupyter.kernel_guest import Collector
from smolagents_fork.jupyter.protocol import KernelGone, KernelRequest, Requests, Sink
from smolagents_fork.jupyter.wire import Message


def request_with(**sink):
    requests = Requests("session", "comm")
    made = Sink()
    vars(made).update(sink)
    return KernelRequest(requests.execute("1", silent=False), made, "comm")


def reply_to(request, kind, content, channel="iopub", buffers=()):
    parent = {"msg_id": request.message.id}
    return Message(channel, {"msg_type": kind}, parent, {}, content, buffers)


def test_messages_of_other_requests_are_ignored():
    seen = []
    request, other = request_with(stream=lambda *a: seen.append(a)), request_with()
    request.feed(reply_to(other, "stream", {"name": "stdout", "text": "x"}), 0)
    request.feed(reply_to(other, "status", {"execution_state": "idle"}), 0)
    request.feed(Message("iopub", {}, {}, {}, {}), 0)
    assert seen == []
    assert not request.idle


@pytest.mark.parametrize("state", ["restarting", "dead"])
def test_message_of_the_kernels_end_needs_no_parent(state):
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


def test_messages_of_other_comms_are_ignored():
    seen = []
    request = request_with(data=lambda data, buffers: seen.append(data))
    request.feed(reply_to(request, "comm_msg", {"comm_id": "other", "data": {"a": 1}}), 0)
    request.feed(reply_to(request, "comm_msg", {"comm_id": "comm", "data": {"a": 2}}), 0)
    request.feed(reply_to(request, "comm_msg", {"comm_id": "comm", "data": "text"}), 0)
    assert seen == [{"a": 2}]


def collected(limit=10, on_output=None):
    """A collector and the output that it fills."""
    output = CallOutput(limit, 1000, on_output)
    return Collector(output), output


NOTE = "\n..._This content has been truncated to stay below 10 characters_...\n"


def test_first_and_last_half_of_the_output_are_kept_in_characters():
    collector, output = collected()
    collector.stream("ä" * 4, 0)
    collector.stream("bcdef", 0)
    assert (output.logs(), output.cut_length) == ("ääääbcdef", 0)
    collector.stream("more", 0)
    assert (output.logs(), output.cut_length) == (f"ääääb{NOTE}fmore", 3)


def test_output_that_did_not_arrive_is_noted_where_it_was():
    pieces = []
    collector, output = collected(200, pieces.append)
    note = NOTE.replace("10", "200")
    collector.stream("before", 0)
    for _ in range(3):
        collector.stream("", 1000)
    collector.data({"kind": "tail", "left_out": 500}, [b"after"])
    assert "".join(pieces) == output.logs() == f"before{note}after"
    assert output.cut_length == 6 + 3000 + 500 + 5 - 200


def test_hostile_data_is_a_note():
    collector, output = collected()
    collector.data({"kind": "value"}, [b"rubbish"])
    collector.data({"kind": "tail", "left_out": "many"}, [b"text"])
    collector.data({"kind": "tail", "left_out": -1}, [])
    for data in (b"[]", b"5", b"rubbish"):
        collector.data({"kind": "forms"}, [data])
        collector.data({"kind": "display"}, [data])
    collector.display({"data": {"image/png": "rubbish"}})
    assert collector.output() is None
    assert "could not be decoded" in output.logs()


def test_notes_of_hostile_data_are_few():
    collector, output = collected()
    for number in range(1000):
        collector.data({"kind": "value"}, [b"rubbish %d" % number])
        collector.data({"kind": "value"}, [b"{%d" % number])
    assert 0 < output.logs().count("could not be decoded") <= 20


def test_enormous_counts_are_printed():
    # Each is a number JSON may hold; their sum has more digits than Python turns into text.
    collector, output = collected()
    for _ in range(20):
        collector.data({"kind": "tail", "left_out": int("9" * 4300)}, [b""])
    assert str(output.cut_length).isdecimal()
    assert output.cut_length < 1 << 70


def test_none_is_not_converted_to_text():
    value = []
    for _ in range(5000):
        value = [value]
    seen = []
    request = request_with(stream=lambda text, lost: seen.append(text))
    request.feed(reply_to(request, "stream", {"name": 5, "text": value}), 0)
    assert seen == [""]
