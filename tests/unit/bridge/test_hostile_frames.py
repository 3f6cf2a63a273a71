"""Every hostile frame, and any sequence of frames, against its reader."""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import pytest
from hostile_frames import GOOD, JUPYTER, PROCESS, REQUESTS, call
from hypothesis import given
from hypothesis import strategies as st

from smolagents_fork import codec
from smolagents_fork.bridge import Dispatcher
from smolagents_fork.errors import ProtocolError
from smolagents_fork.guest.frames import FrameReader, Kind, from_guest
from smolagents_fork.jupyter import wire
from smolagents_fork.jupyter.protocol import Requests, Sink


@pytest.fixture(autouse=True)
def _bounded():
    """Check that frames are cheap for the host."""
    started, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.process_time() - started < 20
    unit = 1 if sys.platform == "darwin" else 1024
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 200_000_000


def serving(called: list[Any]) -> Dispatcher:
    dispatcher = Dispatcher(max_value_bytes=1_000_000)
    dispatcher.register({"tool": lambda *args, **kwargs: called.append((args, kwargs))})
    return dispatcher


@pytest.mark.parametrize("data", REQUESTS.values(), ids=REQUESTS)
def test_requests_call_nothing_and_get_an_error(data):
    called: list[Any] = []
    dispatcher = serving(called)
    reply = codec.decode(dispatcher.handle(data))
    assert set(reply) == {"call", "error"}
    assert reply["error"][0] in ("ValueError", "NameError", "TypeError")
    assert len(str(reply)) < 1000  # however large the request
    assert called == []
    # The next honest call is served.
    assert codec.decode(dispatcher.handle(call(2)))["value"] is None
    assert called == [((), {})]


def test_all_requests_in_one_run_call_nothing_and_then_end_it():
    called: list[Any] = []
    dispatcher = serving(called)

    def all_of_them() -> None:
        for _ in range(3):
            for data in REQUESTS.values():
                dispatcher.handle(data)

    with pytest.raises(ProtocolError, match="continued after 100 refused calls"):
        all_of_them()
    assert called == []


@pytest.mark.parametrize("data", PROCESS.values(), ids=PROCESS)
@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_streams_of_a_child_give_no_call(data, piece):
    reader = FrameReader(from_guest(1_000_000, 1_000_000))
    frames = []
    try:
        while data:
            reader.feed(data[:piece])
            data = data[piece:]
            while (frame := reader.next()) is not None:
                frames.append(frame)
    except ProtocolError:
        pass
    else:
        assert reader.partial  # waits for the rest, under the run's deadline
    assert [frame for frame in frames if frame.kind is Kind.CALL] == []


@pytest.mark.parametrize("data", JUPYTER.values(), ids=JUPYTER)
def test_messages_of_a_kernel_ask_nothing_of_the_run(data):
    from smolagents_fork.jupyter.protocol import KernelRequest

    try:
        message = wire.decode(data)
    except ProtocolError:
        return
    ours = Requests("session", "comm").execute("1", silent=False)
    ours.header["msg_id"] = "run"
    asked = KernelRequest(ours, Sink(), "comm").feed(message, 0)
    assert asked is None or asked.buffers == ()


texts = st.text('av$"\\\0é\u2028\U0001f600', max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
frame = st.one_of(
    st.sampled_from([*REQUESTS.values()]),
    st.builds(
        call,
        st.integers(0, 6),
        st.sampled_from(["tool", "other", "final_answer"]),
        st.just((1,)),
    ),
    st.builds(
        lambda data, cut, more: data[:cut] + more,
        st.just(GOOD),
        st.integers(0, len(GOOD)),
        st.binary(max_size=4),
    ),
    st.binary(max_size=200),
    json_values.map(lambda tree: json.dumps(tree).encode()),
    st.builds(
        call,
        st.integers(-2, 6) | json_values,
        st.sampled_from(["tool", "__call__", "eval", ""]) | json_values,
        st.lists(json_values, max_size=3) | json_values,
        st.dictionaries(texts, json_values, max_size=3) | json_values,
    ),
)


@given(st.lists(frame, max_size=25))
def test_any_sequence_of_frames_calls_what_is_in_order_and_nothing_else(sent):
    called: list[str] = []
    dispatcher = Dispatcher(max_value_bytes=1_000_000, max_calls=4, calling_thread=True)
    dispatcher.register(
        {
            "tool": lambda *args, **kwargs: called.append("tool"),
            "final_answer": lambda answer: called.append("final_answer") or answer,
        }
    )
    expected: list[str] = []
    number = 0
    served = 0
    for data in sent:
        reply = codec.decode(dispatcher.handle(data))
        if "final_answer" in expected:
            assert reply == {"call": None, "final": True}
            continue
        try:
            request: Any = codec.decode(data)
            given_number, name = request["call"], request["name"]
            shape = (type(given_number), type(name), type(request["args"]), set(request))
        except Exception:
            assert "error" in reply
            continue
        is_next = shape[0] is int and number < given_number < 1 << 63
        if shape != (int, str, list, {"call", "name", "args", "kwargs"}) or not is_next:
            assert "error" in reply
        elif type(request["kwargs"]) is dict and all(type(k) is str for k in request["kwargs"]):
            number = given_number
            served += 1
            if served <= 4 and name in ("tool", "final_answer"):
                expected.append(name)
                assert "error" not in reply
            else:
                assert "error" in reply
    assert called == expected
