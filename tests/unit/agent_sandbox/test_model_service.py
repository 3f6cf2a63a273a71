"""The host's model as a sandbox sees it: calls, streams, refusals, failures."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from smolagents import ChatMessage, MessageRole
from smolagents.models import ChatMessageStreamDelta

from smolagents_fork.agent_sandbox.model_service import ModelService
from smolagents_fork.codec import decode, encode

MESSAGES = [{"role": "user", "content": "hi"}]


class Talker:
    """Answers what it is asked, and can be held up."""

    def __init__(self) -> None:
        self.arguments: dict[str, Any] = {}
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.closed = threading.Event()

    def generate(self, messages: Any, **arguments: Any) -> ChatMessage:
        self.arguments = arguments
        return ChatMessage(role=MessageRole.ASSISTANT, content=messages[0].content * 2)

    def generate_stream(self, messages: Any, **arguments: Any) -> Iterator[Any]:
        try:
            while True:
                self.begun.release()
                yield ChatMessageStreamDelta(content="x")
                assert self.go_on.wait(30)
        finally:
            self.closed.set()


class Replies:
    """Collects what is sent to the sandbox."""

    def __init__(self) -> None:
        self.arrived: queue.Queue[tuple[int, Any]] = queue.Queue()

    def __call__(self, number: int, body: bytes) -> None:
        self.arrived.put((number, decode(body)))

    def next(self) -> tuple[int, Any]:
        return self.arrived.get(timeout=30)


def asked(method: str = "generate", **entries: Any) -> bytes:
    return encode({"method": method, "messages": MESSAGES, **entries})


def served(model: Any, request: bytes, **keywords: Any) -> Any:
    replies = Replies()
    ModelService(model, replies, max_bytes=1 << 20, **keywords).begin(1, request)
    return replies.next()[1]


def test_call_gets_the_models_message() -> None:
    model = Talker()
    answer = served(model, asked(stop_sequences=["a"], response_format=None))
    assert answer["message"]["content"] == "hihi"
    assert model.arguments == {"stop_sequences": ["a"]}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (b"{", "request: "),
        (encode([]), "not a call of generate"),
        (asked("__init__"), "method '__init__' is not served"),
        (asked(arguments={"api_base": "x"}), "argument 'api_base' of generate"),
        (encode({"method": "generate", "messages": ["x"]}), "a message is a str"),
    ],
)
def test_request_that_is_not_served_is_answered_with_the_reason(
    request_: bytes, message: str
) -> None:
    kind, text = served(Talker(), request_)["error"]
    assert kind == "ValueError"
    assert message in text


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"stop_sequences": {"a"}}, "stop_sequences is a set; the host's model gets types of JSON"),
        ({"stop_sequences": "a"}, "stop_sequences is a str; a list is needed"),
        ({"stop_sequences": ["a", 1]}, "stop_sequences has an item that is not text"),
        ({"stop_sequences": np.array([1])}, "stop_sequences is a ndarray; the host's model gets"),
        ({"response_format": ["a"]}, "response_format is a list; a dict is needed"),
        (
            {"response_format": {"type": [{"a"}]}},
            "response_format['type'][0] is a set; the host's model gets types of JSON",
        ),
        ({"arguments": {"top": b"a"}}, "arguments['top'] is a bytes; the host's model gets types"),
        (
            {"tools": [{"name": "t", "description": "d", "inputs": {"a": {"type": {1}}}}]},
            "a tool['inputs']['a']['type'] is a set; the host's model gets types of JSON",
        ),
    ],
)
def test_value_that_json_does_not_have_is_refused(entries: Any, words: str) -> None:
    model = Talker()
    kind, text = served(model, asked(**entries), allowed_arguments=("top",))["error"]
    assert (kind, words in text) == ("ValueError", True), text


def test_tuples_reach_the_model_as_lists() -> None:
    model = Talker()
    served(model, asked(stop_sequences=("a",), response_format={"enum": (1, 2.5, None, True)}))
    assert model.arguments == {
        "stop_sequences": ["a"],
        "response_format": {"enum": [1, 2.5, None, True]},
    }


def test_no_model_is_answered_with_what_to_do() -> None:
    assert "pass model_on_host= to AgentSandbox" in served(None, asked())["error"][1]


def test_model_without_streaming_says_so() -> None:
    class Plain:
        def generate(self, messages: Any) -> Any: ...

    error = served(Plain(), asked("generate_stream"))["error"]
    assert error == ["ValueError", "Plain on the host has no generate_stream()"]


def test_failure_shows_the_type_and_not_the_message() -> None:
    class Failing:
        def generate(self, messages: Any) -> Any:
            raise KeyError("sk-secret")

    replies = Replies()
    service = ModelService(Failing(), replies, max_bytes=1 << 20)
    service.begin(1, asked())
    kind, text = replies.next()[1]["error"]
    assert (kind, text) == (
        "RuntimeError",
        "the model on the host raised KeyError; the host's log has its message",
    )
    assert isinstance(service.last_error, KeyError)


def test_answer_over_the_limit_is_an_error() -> None:
    class Long:
        def generate(self, messages: Any) -> Any:
            return ChatMessage(role=MessageRole.ASSISTANT, content="x" * 2_000_000)

    assert "over max_bytes" in served(Long(), asked())["error"][1]


def test_cancelled_stream_is_closed_and_sends_no_more() -> None:
    model, replies = Talker(), Replies()
    service = ModelService(model, replies, max_bytes=1 << 20)
    service.begin(5, asked("generate_stream"))
    number, piece = replies.next()
    assert (number, piece["delta"]["content"]) == (5, "x")
    service.cancel(5)
    model.go_on.set()
    assert model.closed.wait(30)
    service.cancel(5)  # over: nothing to do


def test_closed_service_drops_answers_and_refuses_calls() -> None:
    model, replies = Talker(), Replies()
    service = ModelService(model, replies, max_bytes=1 << 20)
    service.begin(1, asked("generate_stream"))
    replies.next()
    service.close()
    model.go_on.set()
    assert model.closed.wait(30)
    service.begin(2, asked())
    assert replies.next() == (2, {"error": ["RuntimeError", "the run has ended"]})


def test_calls_at_once_are_bounded_and_numbers_are_used_once() -> None:
    model, replies = Talker(), Replies()
    service = ModelService(model, replies, max_bytes=1 << 20)
    for number in range(32):
        service.begin(number, asked("generate_stream"))
        replies.next()
    service.begin(99, asked())
    assert replies.next() == (
        99,
        {"error": ["RuntimeError", "more than 32 calls of the model at once"]},
    )
    service.begin(3, asked())
    assert replies.next()[1]["error"][1] == "call 3 is under way"
    service.close()
    model.go_on.set()
