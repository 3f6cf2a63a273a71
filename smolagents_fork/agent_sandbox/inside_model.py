"""The model object of agents in a sandbox: its calls go to the host."""

from __future__ import annotations

import builtins
import os
import socket
from collections.abc import Iterator
from typing import Any

from ..codec import decode, encode
from ..errors import ConfigurationError, DecodeError, ExecutorError
from ..upstream import ChatMessage, ChatMessageStreamDelta, Model
from .chat_values import delta_from_value, message_from_value, message_value, tool_value
from .run_frames import ADDRESS_VARIABLE, read_block, write_block

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
                f"{ADDRESS_VARIABLE} is not set: a model of the host is there in programs that "
                "AgentSandbox(model_on_host=...) runs"
            )

    def generate(
        self,
        messages: list[Any],
        stop_sequences: list[str] | None = None,
        response_format: dict[str, str] | None = None,
        tools_to_call_from: list[Any] | None = None,
        **kwargs: Any,
    ) -> ChatMessage:
        """Return the answer of the host's model; arguments as upstream's models have them.

        Raises:
            EncodeError: an argument cannot travel.
            RuntimeError: the model on the host failed; names the type of its exception.
            ValueError: the host refused the call; says why.
        """
        request = _request(
            "generate", messages, stop_sequences, response_format, tools_to_call_from,
            {**self.kwargs, **kwargs},
        )  # fmt: skip
        answers = self._answers(request)
        return message_from_value(next(answers)["message"])

    def generate_stream(
        self,
        messages: list[Any],
        stop_sequences: list[str] | None = None,
        response_format: dict[str, str] | None = None,
        tools_to_call_from: list[Any] | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatMessageStreamDelta]:
        """Yield the answer of the host's model piece by piece; see :meth:`generate`."""
        request = _request(
            "generate_stream", messages, stop_sequences, response_format, tools_to_call_from,
            {**self.kwargs, **kwargs},
        )  # fmt: skip
        for answer in self._answers(request):
            yield delta_from_value(answer["delta"])

    def _answers(self, request: bytes) -> Iterator[dict[str, Any]]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self._address))
            write_block(connection, request)
            while True:
                # The host's model has no limit but the run's own, which ends this process.
                block = read_block(connection)
                if block is None:
                    raise ExecutorError("the host has ended the call of its model")
                answer = decode(block, path="the model's answer")
                if type(answer) is not dict:
                    raise DecodeError("the model's answer: not a dict")
                if "error" in answer:
                    kind, text = answer["error"]
                    raise getattr(builtins, kind)(text)
                if "end" in answer:
                    return
                yield answer


def _request(
    method: str,
    messages: list[Any],
    stop_sequences: list[str] | None,
    response_format: dict[str, str] | None,
    tools: list[Any] | None,
    arguments: dict[str, Any],
) -> bytes:
    return encode(
        {
            "method": method,
            "messages": [message_value(message) for message in messages],
            "stop_sequences": stop_sequences,
            "response_format": response_format,
            "tools": [tool_value(tool) for tool in tools or ()],
            "arguments": arguments,
        },
        path="the call of the model",
    )
