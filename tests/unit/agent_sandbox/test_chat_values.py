"""Messages, tools and answers of models as plain values, and back."""

from __future__ import annotations

from typing import Any

import pytest
from PIL import Image
from smolagents import ChatMessage, MessageRole, tool
from smolagents.models import (
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    get_tool_json_schema,
)
from smolagents.monitoring import TokenUsage

from smolagents_fork.agent_sandbox.chat_values import (
    bare_message,
    chat_classes,
    message_from_value,
    message_value,
    tool_from_value,
    tool_value,
)
from smolagents_fork.codec import decode, encode
from smolagents_fork.errors import DecodeError


def carried(value: Any) -> Any:
    return decode(encode(value))


def test_message_is_the_same_behind_the_codec_but_for_what_models_do_not_read() -> None:
    function = ChatMessageToolCallFunction(arguments={"x": 1}, name="f")
    message = ChatMessage(
        role=MessageRole.ASSISTANT,
        content=[{"type": "text", "text": "hi"}],
        tool_calls=[ChatMessageToolCall(function=function, id="1", type="function")],
    )
    assert message_from_value(carried(message_value(message))) == message
    message.raw = object()
    message.token_usage = TokenUsage(input_tokens=3, output_tokens=4)
    read = message_from_value(carried(message_value(message)))
    assert (read.raw, read.token_usage) == (None, None)


def test_answer_is_the_same_behind_the_codec_but_for_raw() -> None:
    function = ChatMessageToolCallFunction(arguments={"x": 1}, name="f", description="d")
    message = ChatMessage(
        role=MessageRole.ASSISTANT,
        content="hi",
        tool_calls=[ChatMessageToolCall(function=function, id="1", type="function")],
        token_usage=TokenUsage(input_tokens=3, output_tokens=4),
        raw=object(),
    )
    answer = decode(encode(bare_message(message)), classes=chat_classes())
    message.raw = None
    assert answer == message
    assert answer.token_usage.total_tokens == 7


def test_dict_message_becomes_a_message() -> None:
    value = carried(message_value({"role": "user", "content": "hi"}))
    assert message_from_value(value) == ChatMessage(role=MessageRole.USER, content="hi")


def test_delta_is_the_same_behind_the_codec() -> None:
    function = ChatMessageToolCallFunction(arguments='{"x"', name="f")
    call = ChatMessageToolCallStreamDelta(index=0, id="1", type="function", function=function)
    delta = ChatMessageStreamDelta(
        content="a", tool_calls=[call], token_usage=TokenUsage(input_tokens=1, output_tokens=2)
    )
    for one in (delta, ChatMessageStreamDelta()):
        assert decode(encode(one), classes=chat_classes()) == one


def test_tool_has_the_same_schema_behind_the_codec() -> None:
    @tool
    def add(a: int, b: int | None = None) -> int:
        """Adds.

        Args:
            a: one.
            b: another.
        """
        return a + (b or 0)

    found = tool_from_value(carried(tool_value(add)))
    assert get_tool_json_schema(found) == get_tool_json_schema(add)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"type": "image", "image": "/etc/passwd"}], "other addresses and paths do not leave"),
        ([{"type": "image_url", "image_url": {"url": "http://x"}}], "other addresses and paths"),
        ([{"type": "image_url", "image_url": "data:x"}], "other addresses and paths"),
        ([{"type": "video", "video": "x"}], "an element of type 'video' in a message"),
        ([{"type": ["text"], "text": "x"}], r"an element of type \['text'\]"),
        (["text"], "an element of a message is a str; expected a dict"),
        ({"type": "text"}, "a message's content is a dict; expected a list"),
        (7, "a message's content is a int; expected a list"),
    ],
)
def test_content_that_could_make_the_host_read_something_is_refused(
    content: Any, message: str
) -> None:
    with pytest.raises(DecodeError, match=message):
        message_from_value({"role": "user", "content": content})


def test_content_loses_entries_that_do_not_show_anything() -> None:
    image = Image.new("RGB", (2, 2))
    content = [
        {"type": "text", "text": "hi", "cache": "/etc/passwd"},
        {"type": "image", "image": image},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "path": "/x"}},
    ]
    found = message_from_value({"role": "user", "content": content}).content
    assert found == [
        {"type": "text", "text": "hi"},
        {"type": "image", "image": image},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
    ]


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"role": "root"},
        {"role": "user", "tool_calls": [{}]},
        {"role": "user", "tool_calls": {"a": 1}},
        {"role": "user", "tool_calls": [{"function": 1}]},
        {"role": "user", "tool_calls": [{"function": {"arguments": float("nan")}}]},
        {"role": "user", "tool_calls": [{"function": {"arguments": [float("inf")]}}]},
        {"role": "user", "tool_calls": [{"function": {"arguments": {"a": 10**400}}}]},
    ],
)
def test_value_that_is_not_a_message_is_refused(value: Any) -> None:
    with pytest.raises(DecodeError):
        message_from_value(value)


@pytest.mark.parametrize(
    "value", [None, {"name": "x"}, {"name": "x", "description": "d", "inputs": {"a": {}}}]
)
def test_value_that_is_not_a_tool_is_refused(value: Any) -> None:
    with pytest.raises(DecodeError):
        tool_from_value(value)
