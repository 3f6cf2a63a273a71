"""The model object of agents in a sandbox: its calls go to the host."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from multiprocessing.connection import Client
from typing import Any

from ..codec import decode, encode
from ..errors import ConfigurationError
from ..upstream import ChatMessage, ChatMessageStreamDelta, Model
from . import ADDRESS_VARIABLE
from .chat_values import chat_classes, message_value, tool_value

__all__ = ["HostModel"]


class HostModel(Model):  # type: ignore[misc]  # upstream is untyped
    """Calls the model that ``AgentSandbox(model_on_host=...)`` names.

    The keys and the client of the model stay on the host.

    Args:
        model_id: what the model is called in the agent's log.
        **kwargs: arguments of each call; those that ``model_arguments=`` of the sandbox names.

    Raises:
        ConfigurationError: this process does not run in such a sandbox.
    """

    def __init__(self, model_id: str | None = None, **kwargs: Any) -> None:
        super().__init__(model_id=model_id, **kwargs)
        self._address = os.environ.get(ADDRESS_VARIABLE)
        if self._address is None:
            raise ConfigurationError(
                f"{ADDRESS_VARIABLE} is not set: the host's model exists only in programs that "
                "AgentSandbox(model_on_host=...) runs"
            )

    def generate(self, messages: list[Any], *arguments: Any, **keywords: Any) -> ChatMessage:
        """Return the answer of the host's model; arguments as upstream's models have them.

        Raises:
            EncodeError: an argument cannot travel.
            RuntimeError: the model on the host failed; names the type of its exception.
            ValueError: the host refused the call; says why.
        """
        return self._ask("generate", messages, *arguments, **keywords)

    def generate_stream(
        self, messages: list[Any], *arguments: Any, **keywords: Any
    ) -> Iterator[ChatMessageStreamDelta]:
        """Yield the answer of the host's model piece by piece; see :meth:`generate`."""
        number = self._ask("generate_stream", messages, *arguments, **keywords)
        try:
            while piece := self._call({"method": "next_piece", "stream": number}):
                yield from piece
        finally:
            self._call({"method": "end_stream", "stream": number})

    def _ask(
        self,
        method: str,
        messages: list[Any],
        stop_sequences: list[str] | None = None,
        response_format: dict[str, str] | None = None,
        tools_to_call_from: list[Any] | None = None,
        **arguments: Any,
    ) -> Any:
        return self._call(
            {
                "method": method,
                "messages": [message_value(message) for message in messages],
                "stop_sequences": stop_sequences,
                "response_format": response_format,
                "tools": [tool_value(tool) for tool in tools_to_call_from or ()],
                "arguments": {**self.kwargs, **arguments},
            }
        )

    def _call(self, request: dict[str, Any]) -> Any:
        """Return the host's answer, for which other calls of the program wait."""
        encoded = encode(request, path="the call of the model")
        with Client(str(self._address), "AF_UNIX") as connection:
            connection.send_bytes(encoded)
            answer = decode(
                connection.recv_bytes(), path="the model's answer", classes=chat_classes()
            )
        if "error" in answer:
            name, text = answer["error"]
            raise getattr(builtins, name)(text)
        return answer["value"]
