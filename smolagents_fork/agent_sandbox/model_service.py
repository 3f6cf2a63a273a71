"""The host's model, served to the program in a sandbox.

The program chooses the messages, the stop sequences, the response format and the tools: what an
agent chooses. Other arguments are refused unless ``allowed_arguments`` names them, because a model
class passes them on to its client, where one may lead the host's key to another address.

A failed call tells the program the type of the exception and nothing else: the message of a
client's error may quote a key or an address of the host's network.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Collection, Iterator
from typing import Any

from ..codec import decode, encode
from ..errors import CodecError, ConfigurationError, DecodeError
from .chat_values import (
    delta_value,
    json_value,
    message_from_value,
    message_value,
    tool_from_value,
)

__all__ = ["ModelService"]

_logger = logging.getLogger(__name__)
# An agent makes one call at a time; managed agents that run side by side make several.
_MOST_CALLS = 32
#: Arguments that a program always may give, and the type of each.
_ARGUMENTS: dict[str, type] = {"stop_sequences": list, "response_format": dict}


class ModelService:
    """Answers the calls of one run.

    Args:
        model: with ``generate`` and, for streaming, ``generate_stream``.
        reply: sends an encoded answer to the call of that number; may raise ``OSError``.
        allowed_arguments: names of further arguments of ``generate`` that the program may give.
        max_bytes: largest answer, in bytes.
    """

    def __init__(
        self,
        model: Any,
        reply: Callable[[int, bytes], None],
        *,
        allowed_arguments: Collection[str] = (),
        max_bytes: int,
    ) -> None:
        self._model = model
        self._reply = reply
        self._allowed = frozenset(allowed_arguments)
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._running: dict[int, threading.Event] = {}
        self._closed = False
        #: The last exception of the model, for the error of the run.
        self.last_error: BaseException | None = None

    def begin(self, number: int, request: bytes) -> None:
        """Answer a call, in a thread of its own.

        Args:
            number: of the call; one that is under way is refused.
            request: encoded.
        """
        cancelled = threading.Event()
        with self._lock:
            refusal = self._refusal(number)
            if refusal is None:
                self._running[number] = cancelled
        if refusal is not None:
            self._send(number, {"error": ["RuntimeError", refusal]})
            return
        arguments = (number, request, cancelled)
        name = f"smolagents-fork-model-{number}"
        threading.Thread(target=self._serve, args=arguments, name=name, daemon=True).start()

    def _refusal(self, number: int) -> str | None:
        if self._closed:
            return "the run has ended"
        if self._model is None:
            return "this sandbox has no model on the host: pass model_on_host= to AgentSandbox"
        if number in self._running:
            return f"call {number} is under way"
        if len(self._running) >= _MOST_CALLS:
            return f"more than {_MOST_CALLS} calls of the model at once"
        return None

    def cancel(self, number: int) -> None:
        """Send no more of the answer to this call."""
        with self._lock:
            cancelled = self._running.get(number)
        if cancelled is not None:
            cancelled.set()

    def close(self) -> None:
        """Drop all answers that are still to come; a call under way ends by itself."""
        with self._lock:
            self._closed = True
            running = list(self._running.values())
        for cancelled in running:
            cancelled.set()

    def _serve(self, number: int, request: bytes, cancelled: threading.Event) -> None:
        try:
            for answer in self._answers(request, cancelled):
                if cancelled.is_set():
                    return
                self._send(number, answer)
        except (CodecError, ConfigurationError) as error:
            self._send(number, {"error": ["ValueError", str(error)]})
        except BaseException as error:  # of the model's own, whatever it raises
            self.last_error = error
            _logger.warning("the model on the host failed", exc_info=error)
            name = type(error).__name__
            text = f"the model on the host raised {name}; the host's log has its message"
            self._send(number, {"error": ["RuntimeError", text]})
        finally:
            with self._lock:
                self._running.pop(number, None)

    def _answers(self, request: bytes, cancelled: threading.Event) -> Iterator[dict[str, Any]]:
        asked = decode(request, path="request", max_bytes=self._max_bytes)
        if type(asked) is not dict or type(asked.get("messages")) is not list:
            raise DecodeError("request: not a call of generate() or generate_stream()")
        messages = [message_from_value(value) for value in asked["messages"]]
        arguments = self._arguments(asked)
        if asked.get("method") == "generate":
            answer = self._model.generate(messages, **arguments)
            yield {"message": message_value(answer)}
            return
        if asked.get("method") != "generate_stream":
            raise DecodeError(f"request: method {asked.get('method')!r} is not served")
        stream = getattr(self._model, "generate_stream", None)
        if stream is None:
            name = type(self._model).__name__
            raise ConfigurationError(f"{name} on the host has no generate_stream()")
        with contextlib.closing(stream(messages, **arguments)) as deltas:
            for delta in deltas:
                yield {"delta": delta_value(delta)}
                if cancelled.is_set():
                    return
        yield {"end": True}

    def _arguments(self, asked: dict[str, Any]) -> dict[str, Any]:
        arguments = {
            name: json_value(asked[name], name)
            for name in _ARGUMENTS
            if asked.get(name) is not None
        }
        for name, kind in _ARGUMENTS.items():
            if type(arguments.get(name, kind())) is not kind:
                wrong = type(asked[name]).__name__
                raise DecodeError(f"{name} is a {wrong}; a {kind.__name__} is needed")
        if not all(type(text) is str for text in arguments.get("stop_sequences", ())):
            raise DecodeError("stop_sequences has an item that is not text")
        if asked.get("tools"):
            arguments["tools_to_call_from"] = [tool_from_value(one) for one in asked["tools"]]
        others = json_value(asked.get("arguments") or {}, "arguments")
        if type(others) is not dict:
            raise DecodeError("arguments: not a dict")
        refused = sorted(set(others) - self._allowed)
        if refused:
            raise ConfigurationError(
                f"argument {refused[0]!r} of {asked.get('method')}() is not passed to the model on "
                "the host: set it on that model, or name it in model_arguments= of AgentSandbox"
            )
        return {**arguments, **others}

    def _send(self, number: int, answer: dict[str, Any]) -> None:
        try:
            body = encode(answer, path="the model's answer", max_bytes=self._max_bytes)
        except CodecError as error:
            body = encode({"error": ["ValueError", str(error)]})
        with contextlib.suppress(OSError):  # the run is over, and its end says why
            self._reply(number, body)
