"""The host's model as a sandbox sees it: calls, streams, refusals, failures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image
from smolagents import ChatMessage, MessageRole
from smolagents.models import ChatMessageStreamDelta

from smolagents_fork.agent_sandbox.chat_values import chat_classes
from smolagents_fork.agent_sandbox.model_service import ModelService
from smolagents_fork.codec import decode, encode

MESSAGES = [{"role": "user", "content": "hi"}]


class Talker:
    """Answers what it is asked, and says whether its stream is closed."""

    def __init__(self) -> None:
        self.arguments: dict[str, Any] = {}
        self.begun = 0
        self.closed = 0

    def generate(self, messages: Any, **arguments: Any) -> ChatMessage:
        self.arguments = arguments
        return ChatMessage(role=MessageRole.ASSISTANT, content=messages[0].content * 2)

    def generate_stream(self, messages: Any, **arguments: Any) -> Iterator[Any]:
        self.begun += 1
        try:
            for content in "xyz":
                yield ChatMessageStreamDelta(content=content)
        finally:
            self.closed += 1


class Sandbox:
    """A program's side of a service."""

    def __init__(self, model: Any, **keywords: Any) -> None:
        self.ended: list[str] = []
        self.service = ModelService(model, self.ended.append, max_bytes=1 << 20, **keywords)

    def call(self, request: bytes) -> Any:
        return decode(self.service.call(request), classes=chat_classes())["value"]

    def next_piece(self, number: int) -> list[Any]:
        pieces = self.call(encode({"method": "next_piece", "stream": number}))
        return [piece.content for piece in pieces]

    def end_stream(self, number: Any) -> None:
        assert self.call(encode({"method": "end_stream", "stream": number})) is None


def asked(method: str = "generate", **entries: Any) -> bytes:
    return encode({"method": method, "messages": MESSAGES, **entries})


def check_refused(model: Any, request: bytes, message: str, **keywords: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Sandbox(model, **keywords).call(request)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (b"{", "request: "),
        (encode([]), "a call of the model is a list; expected a dict"),
        (encode({"method": np.array([1])}), "its method is a ndarray; expected a str"),
        (encode({"method": "generate"}), "messages is a NoneType; expected a list"),
        (asked(tools=np.array([1, 2])), "tools is a ndarray; expected a list"),
        (asked("__init__"), "method '__init__' is not served"),
        (asked(arguments={"api_base": "x"}), "argument 'api_base' of generate"),
        (encode({"method": "generate", "messages": ["x"]}), "a message is a str"),
    ],
)
def test_request_that_is_not_served_is_answered_with_the_reason(
    request_: bytes, message: str
) -> None:
    check_refused(Talker(), request_, message)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"stop_sequences": {"a"}}, "stop_sequences: a set; the host's model gets types of JSON"),
        ({"stop_sequences": "a"}, "stop_sequences is a str; expected a list"),
        ({"stop_sequences": ["a", 1]}, "stop_sequences has an item that is not text"),
        ({"stop_sequences": np.array([1])}, "stop_sequences: a ndarray; the host's model gets"),
        ({"response_format": ["a"]}, "response_format is a list; expected a dict"),
        (
            {"response_format": {"type": [{"a"}]}},
            "response_format['type'][0]: a set; the host's model gets types of JSON",
        ),
        ({"arguments": {"top": b"a"}}, "arguments['top']: a bytes; the host's model gets types"),
        (
            {"tools": [{"name": "t", "description": "d", "inputs": {"a": {"type": {1}}}}]},
            "a tool['inputs']['a']['type']: a set; the host's model gets types of JSON",
        ),
    ],
)
def test_value_that_json_does_not_have_is_refused(entries: Any, words: str) -> None:
    check_refused(Talker(), asked(**entries), words, allowed_arguments=("top",))


def test_path_to_a_value_has_the_beginning_of_a_long_key() -> None:
    """A path that is made for each of a million values below would take hours."""
    with pytest.raises(ValueError, match=r"response_format\['kkk.*\]\[3\]: a set;") as caught:
        Sandbox(Talker()).call(asked(response_format={"k" * 100_000: [1, 2, 3, {4}]}))
    assert len(str(caught.value)) < 200


def test_reason_of_a_refusal_has_the_beginning_and_end_of_a_long_text() -> None:
    sandbox = Sandbox(Talker())
    for _ in range(1001):
        with pytest.raises(ValueError, match=r"(?s)^a message's role is 'rrr.*one of") as caught:
            sandbox.call(asked(messages=[{"role": "r" * 100_000}]))
    assert len(str(caught.value)) < 1200
    (reason,) = sandbox.ended
    assert len(reason) < 1400


def test_open_streams_have_no_more_than_so_many_pixels() -> None:
    """Compressed, 32 streams with 256 MB of pixels each are eight megabytes."""
    sandbox = Sandbox(Talker())
    picture = {"type": "image", "image": Image.new("1", (8000, 8000))}
    request = asked("generate_stream", messages=[{"role": "user", "content": [picture]}])
    numbers = [sandbox.call(request) for _ in range(4)]
    with pytest.raises(RuntimeError, match="have images of over 256000000 pixels"):
        sandbox.call(request)
    sandbox.end_stream(numbers[0])
    sandbox.call(request)


def test_tuples_reach_the_model_as_lists() -> None:
    model = Talker()
    Sandbox(model).call(
        asked(stop_sequences=("a",), response_format={"enum": (1, 2.5, None, True)})
    )
    assert model.arguments == {
        "stop_sequences": ["a"],
        "response_format": {"enum": [1, 2.5, None, True]},
    }


def test_model_without_streaming_says_so() -> None:
    class Plain:
        def generate(self, messages: Any) -> Any: ...

    message = "Plain on the host has no generate_stream()"
    check_refused(Plain(), asked("generate_stream"), message)


def test_answer_over_the_limit_is_an_error() -> None:
    class Long:
        def generate(self, messages: Any) -> Any:
            return ChatMessage(role=MessageRole.ASSISTANT, content="x" * 2_000_000)

    check_refused(Long(), asked(), "over 1048576 bytes")


def test_streams_give_their_pieces_one_by_one_and_side_by_side() -> None:
    model = Talker()
    sandbox = Sandbox(model)
    first, second = (sandbox.call(asked("generate_stream")) for _ in range(2))
    pieces = [sandbox.next_piece(number) for number in (first, second, first)]
    assert pieces == [["x"], ["x"], ["y"]]
    sandbox.end_stream(second)
    assert model.closed == 1
    assert [sandbox.next_piece(first) for _ in range(3)] == [["z"], [], []]
    sandbox.end_stream(first)
    for number in (first, second, "1", None, 1 << 20_000):
        shown = "" if number == 1 << 20_000 else repr(number)
        with pytest.raises(RuntimeError, match=f"no stream of the model has the number {shown}"):
            sandbox.next_piece(number)


def test_end_of_a_program_drops_answers_that_are_still_to_come() -> None:
    model = Talker()
    sandbox = Sandbox(model)
    sandbox.next_piece(sandbox.call(asked("generate_stream")))
    sandbox.service.end_streams()
    assert model.closed == 1


def test_stream_that_fails_is_an_error_and_can_be_ended() -> None:
    class Breaking:
        def generate_stream(self, messages: Any) -> Iterator[Any]:
            yield ChatMessageStreamDelta(content="x")
            raise KeyError("sk-secret")

    sandbox = Sandbox(Breaking())
    number = sandbox.call(asked("generate_stream"))
    assert sandbox.next_piece(number) == ["x"]
    with pytest.raises(RuntimeError, match="model on the host raised KeyError"):
        sandbox.next_piece(number)
    sandbox.end_stream(number)


def test_streams_at_once_are_bounded() -> None:
    sandbox = Sandbox(Talker())
    numbers = [sandbox.call(asked("generate_stream")) for _ in range(32)]
    with pytest.raises(RuntimeError, match="more than 32 streams of the model at once"):
        sandbox.call(asked("generate_stream"))
    sandbox.end_stream(numbers[0])
    sandbox.call(asked("generate_stream"))


@pytest.mark.parametrize("request_", [b"{", encode({"method": "end_stream", "stream": 1})])
def test_requests_that_reach_no_model_are_counted_too(request_: bytes) -> None:
    sandbox = Sandbox(Talker())
    for _ in range(1001):
        with pytest.raises((RuntimeError, ValueError)):
            sandbox.call(request_)
    assert len(sandbox.ended) == 1


def test_messages_of_open_streams_are_bounded_together() -> None:
    request = asked("generate_stream")
    sandbox = Sandbox(Talker(), max_request_bytes=2 * len(request) - 1)
    number = sandbox.call(request)
    with pytest.raises(RuntimeError, match=r"running calls have \d+ bytes of messages, over"):
        sandbox.call(request)
    assert not sandbox.ended
    sandbox.end_stream(number)
    sandbox.call(request)


@pytest.mark.parametrize("request_", ["x", 100_001, None])
def test_request_of_another_type_is_refused(request_: Any) -> None:
    with pytest.raises(TypeError, match="takes bytes, not"):
        Sandbox(Talker()).call(request_)
