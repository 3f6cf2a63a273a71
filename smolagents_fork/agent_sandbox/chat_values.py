"""Messages and tools of models as plain values, and what a sandbox may send the host's model.

This module converts what a program in the sandbox sends to exact built-in types: the host's model
gets text, images, and the description of tools. An address or a path never passes, since a model on
the host might read what it names. The program trusts the host, whose answers are upstream's
objects.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from ..codec.limits import Fault, key_segment
from ..errors import DecodeError
from ..upstream import (
    ChatMessage,
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
    MessageRole,
    TokenUsage,
)

__all__ = [
    "bare_message",
    "chat_classes",
    "exact",
    "json_value",
    "message_from_value",
    "message_value",
    "pixel_count",
    "tool_from_value",
    "tool_value",
]

# Elements of a message's content that travel; an entry of the same name has what they show.
_ELEMENTS = ("text", "image", "image_url")
# Numbers are smaller.
_MOST = 1 << 63
_TOOL_ENTRIES = ("name", "description", "inputs", "output_type")


def chat_classes() -> tuple[type, ...]:
    """Return upstream's classes in answers of models."""
    return (
        ChatMessage,
        ChatMessageStreamDelta,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        ChatMessageToolCallStreamDelta,
        MessageRole,
        TokenUsage,
    )


def bare_message(message: Any) -> ChatMessage:
    """Return a ``ChatMessage``, or a dict with its entries, as one without ``raw``.

    Args:
        message: Message as agents pass it to ``generate``, or as a model returns it.
    """
    entries = message if isinstance(message, Mapping) else vars(message)
    return ChatMessage(
        role=MessageRole(entries["role"]),
        content=entries.get("content"),
        tool_calls=entries.get("tool_calls"),
        token_usage=entries.get("token_usage"),
    )


def message_value(message: Any) -> dict[str, Any]:
    """Return a message as a plain value; see :func:`bare_message`."""
    bare = bare_message(message)
    return {
        "role": bare.role.value,
        "content": bare.content,
        "tool_calls": [dataclasses.asdict(call) for call in bare.tool_calls or ()],
    }


def message_from_value(value: Any) -> ChatMessage:
    """Return the ``ChatMessage`` of a plain value.

    Raises:
        DecodeError: it is not one, or has content that does not travel.
    """
    entries = exact(value, dict, "a message")
    role, roles = exact(entries.get("role"), str, "a message's role"), MessageRole.roles()
    if role not in roles:
        raise DecodeError(f"a message's role is {role!r}; expected one of {roles}")
    content = entries.get("content")
    if content is not None and type(content) is not str:
        content = [_element(element) for element in exact(content, list, "a message's content")]
    name = "a message's tool_calls"
    calls = exact(json_value(entries.get("tool_calls", []), name), list, name)
    try:
        return ChatMessage(role=MessageRole(role), content=content, tool_calls=calls or None)
    except (KeyError, TypeError, UnboundLocalError) as error:
        raise DecodeError(f"a tool call needs function, id and type: {error!r}") from None


def pixel_count(message: ChatMessage) -> int:
    """Return the number of pixels of a message's images."""
    elements = message.content if isinstance(message.content, list) else ()
    images = [element["image"] for element in elements if "image" in element]
    return sum(image.width * image.height for image in images)


def tool_value(tool: Any) -> dict[str, Any]:
    """Return what a model is told about a tool or a managed agent."""
    return {name: getattr(tool, name) for name in _TOOL_ENTRIES}


def tool_from_value(value: Any) -> Any:
    """Return an object with the attributes of a tool that models read.

    Raises:
        DecodeError: an attribute is missing.
    """
    entries = exact(value, dict, "a tool")
    if not all(isinstance(entries.get(name), str) for name in ("name", "description")):
        raise DecodeError("a tool needs a name and a description")
    entries = json_value(entries, "a tool")
    inputs = exact(entries.get("inputs"), dict, "a tool's inputs")
    for name, described in inputs.items():
        if "type" not in exact(described, dict, f"input {name!r} of a tool"):
            raise DecodeError(f"input {name!r} of tool {entries['name']!r} has no type")
    return SimpleNamespace(**{name: entries.get(name) for name in _TOOL_ENTRIES})


def exact(value: Any, kind: type, name: str) -> Any:
    """Return a value that is of exactly one type.

    Args:
        name: what it is, for messages.

    Raises:
        DecodeError: it is of another type, a subclass included.
    """
    if type(value) is not kind:
        raise DecodeError(f"{name} is a {type(value).__name__}; expected a {kind.__name__}")
    return value


def json_value(value: Any, name: str) -> Any:
    """Return a value as JSON has it, in exact built-in types; tuples become lists.

    Args:
        name: what it is, for messages.

    Raises:
        DecodeError: it has something that JSON does not have, such as a set or an array.
    """
    try:
        return _json_value(value)
    except Fault as fault:
        raise DecodeError(fault.at(name)) from None


def _json_value(value: Any) -> Any:
    # Only a fault has a path: the keys in it may be long, and there may be millions of values.
    if value is None or type(value) in (bool, str):
        return value
    if type(value) in (int, float):
        if not -_MOST < value < _MOST:
            raise Fault("a number that JSON does not have, or has over 64 bits")
        return value
    is_dict = type(value) is dict and all(type(key) is str for key in value)
    if not is_dict and type(value) not in (list, tuple):
        raise Fault(f"a {type(value).__name__}; the host's model gets types of JSON")
    key: Any = None
    result = {}
    try:
        for key, item in value.items() if is_dict else enumerate(value):
            result[key] = _json_value(item)
    except Fault as fault:
        raise fault.under(key_segment(key))  # noqa: B904 - the same fault, with its path
    return result if is_dict else [*result.values()]


def _element(value: Any) -> dict[str, Any]:
    element = exact(value, dict, "an element of a message")
    element_type = element.get("type")
    if not isinstance(element_type, str) or element_type not in _ELEMENTS:
        raise DecodeError(
            f"an element of type {element_type!r} in a message; "
            f"only {', '.join(_ELEMENTS)} can be sent to the host"
        )
    shown = element.get(element_type)
    if element_type == "text" and type(shown) is str:
        return {"type": element_type, element_type: shown}
    if element_type == "image":
        from PIL.Image import Image

        if isinstance(shown, Image):
            return {"type": element_type, element_type: shown}
    if element_type == "image_url":
        address = shown.get("url") if type(shown) is dict else None
        if type(address) is str and address.startswith("data:"):
            return {"type": element_type, element_type: {"url": address}}
    raise DecodeError(
        f"an element of type {element_type!r} in a message has no text, image or data: address; "
        "other addresses and paths do not leave the sandbox"
    )
