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
from dataclasses import dataclass
from typing import Any

from ..codec import decode, encode
from ..errors import (
    CodecError,
    ConfigurationError,
    DecodeError,
    ExecutorError,
)
from .chat_values import (
    delta_value,
    json_value,
    message_from_value,
    message_value,
    tool_from_value,
)

__all__ = ["ModelLimits", "ModelService", "RunningCalls", "TooManyCallsError"]

_logger = logging.getLogger(__name__)
# An agent makes one call at a time; managed agents that run side by side make several.
_MOST_CALLS = 32
# Calls of ended programs that may still run when another begins.
_MOST_ABANDONED = 8
# Refused calls after which a program does not do what an agent does.
_MOST_REFUSED = 1000
#: Arguments that a program always may give, and the type of each.
_ARGUMENTS: dict[str, type] = {"stop_sequences": list, "response_format": dict}


class TooManyCallsError(Exception):
    """A program goes on with calls that are refused."""


@dataclass(frozen=True)
class ModelLimits:
    """Limits of the calls of one program.

    Attributes:
        calls: that it may make.
        request_bytes: of the requests that are answered at one time.
    """

    calls: int = 1000
    request_bytes: int = 64 << 20


class RunningCalls:
    """Calls of the model that run now, of all programs of one sandbox.

    A program's end ends none of them, since the model is the user's code.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        # One at a time: decoding takes memory.
        self.decoding = threading.Lock()

    def change(self, difference: int) -> None:
        """Count a call that begins, 1, or ends, -1."""
        with self._lock:
            self._count += difference

    def check(self) -> None:
        """Refuse another program while many calls of earlier ones run.

        Raises:
            ExecutorError: more than eight do.
        """
        if self._count > _MOST_ABANDONED:
            raise ExecutorError(
                f"{self._count} calls of the model on the host that earlier programs made still "
                f"run; at most {_MOST_ABANDONED} may. Wait, or give the model's client a timeout"
            )


class ModelService:
    """Answers the calls of one run.

    Args:
        model: with ``generate`` and, for streaming, ``generate_stream``.
        reply: sends an encoded answer to the call of that number; may raise ``OSError``.
        allowed_arguments: names of further arguments of ``generate`` that the program may give.
        max_bytes: largest answer, in bytes.
        limits: of the calls.
        running: calls of all programs of the sandbox.
    """

    def __init__(
        self,
        model: Any,
        reply: Callable[[int, bytes], None],
        *,
        allowed_arguments: Collection[str] = (),
        max_bytes: int,
        limits: ModelLimits | None = None,
        running: RunningCalls | None = None,
    ) -> None:
        self._model = model
        self._limits = limits or ModelLimits()
        self._all_running = RunningCalls() if running is None else running
        self._begun = self._refused = self._request_bytes = 0
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

        Raises:
            TooManyCallsError: the program goes on with calls that are refused.
        """
        cancelled = threading.Event()
        with self._lock:
            refusal = self._refusal(number, len(request))
            if refusal is None:
                self._begun += 1
                self._request_bytes += len(request)
                self._running[number] = cancelled
        if refusal is not None:
            self._refused += 1
            if self._refused > _MOST_REFUSED:
                raise TooManyCallsError(
                    f"more than {_MOST_REFUSED} calls that were refused, the last because {refusal}"
                )
            self._send(number, {"error": ["RuntimeError", refusal]})
            return
        arguments = (number, request, cancelled)
        name = f"smolagents-fork-model-{number}"
        threading.Thread(target=self._serve, args=arguments, name=name, daemon=True).start()

    def _refusal(self, number: int, size: int) -> str | None:
        if self._closed:
            return "the run has ended"
        if self._model is None:
            return "this sandbox has no model on the host: pass model_on_host= to AgentSandbox"
        if number in self._running:
            return f"call {number} is under way"
        if len(self._running) >= _MOST_CALLS:
            return f"more than {_MOST_CALLS} calls of the model at once"
        limits = self._limits
        if self._begun >= limits.calls:
            return (
                f"this program has made max_model_calls={limits.calls} calls of the model; raise "
                "max_model_calls of AgentSandbox if it needs more"
            )
        if self._request_bytes + size > limits.request_bytes:
            return (
                f"the calls under way have {self._request_bytes + size} bytes of messages, over "
                f"max_model_bytes={limits.request_bytes} of AgentSandbox"
            )
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
        self._all_running.change(1)
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
                self._request_bytes -= len(request)
            self._all_running.change(-1)

    def _answers(self, request: bytes, cancelled: threading.Event) -> Iterator[dict[str, Any]]:
        with self._all_running.decoding:
            if cancelled.is_set():
                return
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
