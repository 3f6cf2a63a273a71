"""The host's model as a sandbox sees it: calls, streams, refusals, failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from smolagents import ChatMessage, MessageRole
from smolagents.models import ChatMessageStreamDelta

from smolagents_fork.agent_sandbox import model_service
from smolagents_fork.agent_sandbox.chat_values import chat_classes
from smolagents_fork.agent_sandbox.model_service import ModelService
from smolagents_fork.codec import decode, encode
from smolagents_fork.errors import ExecutorError

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


class Sandbox:
    """A program's side of a service."""

    def __init__(self, model: Any, **keywords: Any) -> None:
        self.ended: list[str] = []
        self.fetched: dict[int, list[Any]] = {}
        self.service = ModelService(model, self.ended.append, max_bytes=1 << 20, **keywords)

    def call(self, request: bytes) -> int:
        return self.service.begin_call(request)

    def piece(self, number: int) -> Any:
        """Return the next piece of an answer, decoded; ``None`` at its end."""
        end = time.monotonic() + 30
        fetched = self.fetched.setdefault(number, [])
        while not fetched:
            assert time.monotonic() < end
            fetched += self.service.fetch_answer(number)
        body = fetched.pop(0)
        return body and decode(body, classes=chat_classes())


def wait_until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def asked(method: str = "generate", **entries: Any) -> bytes:
    return encode({"method": method, "messages": MESSAGES, **entries})


def served(model: Any, request: bytes, **keywords: Any) -> Any:
    sandbox = Sandbox(model, **keywords)
    number = sandbox.call(request)
    pieces = list(iter(lambda: sandbox.piece(number), None))
    assert pieces[1:] in ([], [{"end": True}])
    return pieces[0]


def test_call_gets_the_models_message() -> None:
    model = Talker()
    answer = served(model, asked(stop_sequences=["a"], response_format=None))
    assert answer["value"] == ChatMessage(role=MessageRole.ASSISTANT, content="hihi")
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


def test_model_without_streaming_says_so() -> None:
    class Plain:
        def generate(self, messages: Any) -> Any: ...

    error = served(Plain(), asked("generate_stream"))["error"]
    assert error == ["ValueError", "Plain on the host has no generate_stream()"]


def test_failure_shows_the_type_and_not_the_message() -> None:
    class Failing:
        def generate(self, messages: Any) -> Any:
            raise KeyError("sk-secret")

    sandbox = Sandbox(Failing())
    assert sandbox.piece(sandbox.call(asked()))["error"] == [
        "RuntimeError",
        "the model on the host raised KeyError; the host's log has its message",
    ]
    assert isinstance(sandbox.service.last_error, KeyError)


def test_answer_over_the_limit_is_an_error() -> None:
    class Long:
        def generate(self, messages: Any) -> Any:
            return ChatMessage(role=MessageRole.ASSISTANT, content="x" * 2_000_000)

    assert "over max_bytes" in served(Long(), asked())["error"][1]


def test_dropped_stream_is_closed_and_gives_no_more() -> None:
    model = Talker()
    sandbox = Sandbox(model)
    number = sandbox.call(asked("generate_stream"))
    assert sandbox.piece(number)["value"].content == "x"
    sandbox.service.drop_call(number)
    model.go_on.set()
    assert model.closed.wait(30)
    sandbox.service.drop_call(number)  # over: nothing to do
    with pytest.raises(RuntimeError, match="no call of the model has the number 1"):
        sandbox.piece(number)


def test_end_of_a_program_drops_answers_that_are_still_to_come() -> None:
    model = Talker()
    sandbox = Sandbox(model)
    with sandbox.service.serving():
        number = sandbox.call(asked("generate_stream"))
        sandbox.piece(number)
    model.go_on.set()
    assert model.closed.wait(30)
    with sandbox.service.serving(), pytest.raises(RuntimeError, match="no call of the model"):
        sandbox.piece(number)


def test_answers_of_calls_at_once_stay_apart() -> None:
    class Asked:
        def __init__(self) -> None:
            self.go_on = threading.Event()

        def generate(self, messages: Any) -> Any:
            content = messages[0].content
            assert content == "second" or self.go_on.wait(30)
            return ChatMessage(role=MessageRole.ASSISTANT, content=content)

    model = Asked()
    sandbox = Sandbox(model)
    numbers = [
        sandbox.call(asked(messages=[{"role": "user", "content": text}]))
        for text in ("first", "second")
    ]
    assert sandbox.piece(numbers[1])["value"].content == "second"
    assert sandbox.service.fetch_answer(numbers[0]) == []
    model.go_on.set()
    assert sandbox.piece(numbers[0])["value"].content == "first"


def test_pieces_that_wait_are_fetched_together_within_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model_service, "_MOST_RETURNED", 500)

    class Streaming:
        def generate_stream(self, messages: Any) -> Iterator[Any]:
            for size in (1, 1, 600, 1):
                yield ChatMessageStreamDelta(content="x" * size)

    sandbox = Sandbox(Streaming())
    number = sandbox.call(asked("generate_stream"))
    wait_until(lambda: not sandbox.service._running)
    first, second = (sandbox.service.fetch_answer(number) for _ in range(2))
    assert ([piece is None for piece in first], len(first)) == ([False] * 3, 3)
    assert [piece is None for piece in second] == [False, False, True]


def test_calls_at_once_are_bounded() -> None:
    model = Talker()
    sandbox = Sandbox(model)
    with sandbox.service.serving():
        numbers = [sandbox.call(asked("generate_stream")) for _ in range(32)]
        for number in numbers:
            assert sandbox.piece(number)["value"].content == "x"
        with pytest.raises(RuntimeError, match="more than 32 calls of the model at once"):
            sandbox.call(asked())
        sandbox.service.drop_call(numbers[0])
        sandbox.call(asked())
    model.go_on.set()


def test_calls_over_their_number_are_refused_and_refused_calls_end_the_program() -> None:
    sandbox = Sandbox(Talker(), max_calls=3)
    for _ in range(3):
        sandbox.call(asked())
    for _ in range(1000):
        with pytest.raises(RuntimeError, match="made max_model_calls=3 calls"):
            sandbox.call(asked())
    assert not sandbox.ended
    with pytest.raises(RuntimeError, match="raise max_model_calls of AgentSandbox"):
        sandbox.call(asked())
    (reason,) = sandbox.ended
    assert reason.startswith(
        "called the model on the host with more than 1000 calls that were refused, the last "
        "because this program has made max_model_calls=3 calls of the model"
    )


def test_messages_over_their_size_end_the_program() -> None:
    sandbox = Sandbox(Talker(), max_request_bytes=100_000)
    with pytest.raises(RuntimeError, match="over max_model_bytes=100000"):
        sandbox.call(b"x" * 100_001)
    assert sandbox.ended == [
        "called the model on the host with 100001 bytes of messages, over max_model_bytes=100000"
    ]


def test_messages_of_calls_at_once_are_bounded_together() -> None:
    model = Talker()
    request = asked("generate_stream")
    sandbox = Sandbox(model, max_request_bytes=2 * len(request) - 1)
    number = sandbox.call(request)
    assert sandbox.piece(number)["value"].content == "x"
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"calls under way have \d+ bytes of messages, over"):
            sandbox.call(request)
        # The model still has the messages of a call that the program has dropped.
        sandbox.service.drop_call(number)
    assert not sandbox.ended
    model.go_on.set()
    wait_until(lambda: not sandbox.service._running)
    sandbox.call(request)


@pytest.mark.parametrize("request_", ["x", 100_001, None])
def test_request_of_another_type_is_refused(request_: Any) -> None:
    with pytest.raises(TypeError, match="takes bytes, and got"):
        Sandbox(Talker()).call(request_)


def test_answers_that_the_program_does_not_fetch_make_the_model_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model_service, "_MOST_WAITING", 10)
    model = Talker()
    model.go_on.set()
    sandbox = Sandbox(model)
    with sandbox.service.serving():
        sandbox.call(asked("generate_stream"))
        assert not model.closed.wait(0.2)
        pieces = 0
        while model.begun.acquire(blocking=False):
            pieces += 1
        assert pieces <= 12
    assert model.closed.wait(30)


def test_calls_of_earlier_programs_that_run_on_keep_other_programs_out() -> None:
    model = Talker()
    sandbox = Sandbox(model)
    with sandbox.service.serving():
        for _ in range(9):
            sandbox.piece(sandbox.call(asked("generate_stream")))
    with pytest.raises(ExecutorError, match="9 calls of the model on the host that earlier"):
        sandbox.service.serving().__enter__()
    model.go_on.set()
    wait_until(lambda: _can_serve(sandbox.service))


def _can_serve(service: ModelService) -> bool:
    try:
        with service.serving():
            return True
    except ExecutorError:
        return False
