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
import queue
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from ..codec import DEFAULT_MAX_BYTES, decode, encode
from ..errors import CodecError, ConfigurationError, DecodeError, ExecutorError
from .chat_values import bare_message, json_value, message_from_value, tool_from_value

__all__ = ["ModelLimits", "ModelService"]

_logger = logging.getLogger(__name__)
# An agent makes one call at a time; managed agents that run side by side make several.
_MOST_CALLS = 32
# Calls of ended programs that may still run when another begins.
_MOST_ABANDONED = 8
# Refused calls after which a program does not do what an agent does.
_MOST_REFUSED = 1000
# How long an exchange waits for an answer: other calls of the program wait for the exchange.
_WAIT_SECONDS = 0.25
# Bytes of answers that one exchange returns beside the first.
_MOST_RETURNED = 1 << 20
# Answers that may wait for the program; then a model waits, and looks whether anyone does still.
_MOST_WAITING, _LOOK_SECONDS = 1_000, 1.0
#: Number of a call, encoded answer or piece of one, and whether it is the last of the call.
_Answer = tuple[int, bytes, bool]
#: Arguments that a program always may give, and the type of each.
_ARGUMENTS: dict[str, type] = {"stop_sequences": list, "response_format": dict}


@dataclass(frozen=True)
class ModelLimits:
    """Limits of the calls of one program.

    Attributes:
        calls: that it may make.
        request_bytes: of the requests that are answered at one time.
    """

    calls: int = 1000
    request_bytes: int = 64 << 20


@dataclass(eq=False)
class _ModelCall:
    """A call that the model answers.

    Attributes:
        number: of the call.
        request: encoded.
        answers: of all calls of the program.
        dropped: whether nobody waits for the answer.
    """

    number: int
    request: bytes
    answers: queue.Queue[_Answer]
    dropped: bool = False

    def answer(self, answer: dict[str, Any], max_bytes: int) -> None:
        """Have an answer fetched by the next exchange; wait while many others wait there."""
        try:
            body = encode(answer, path="the model's answer", max_bytes=max_bytes)
        except CodecError as error:
            answer = {"error": ["ValueError", str(error)]}
            body = encode(answer)
        is_last = "value" not in answer or "end" in answer
        while not self.dropped:
            with contextlib.suppress(queue.Full):
                self.answers.put((self.number, body, is_last), timeout=_LOOK_SECONDS)
                break


class ModelService:
    """Answers the calls of programs, which run one at a time.

    Args:
        model: Model with ``generate`` and, for streaming, ``generate_stream``; ``None`` for none.
        end_program: ends the program that runs; gets the reason.
        allowed_arguments: names of further arguments of ``generate`` that a program may give.
        limits: Limits of the calls.
        max_bytes: largest answer, in bytes.
    """

    def __init__(
        self,
        model: Any,
        end_program: Callable[[str], None],
        *,
        allowed_arguments: Collection[str] = (),
        limits: ModelLimits | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self._model = model
        self._end_program = end_program
        self._allowed = frozenset(allowed_arguments)
        self._limits = limits or ModelLimits()
        self._max_bytes = max_bytes
        # One at a time: decoding takes memory.
        self._decoding = threading.Lock()
        # Calls of all programs: a program's end ends none of them, since the model is user's code.
        self._running: set[_ModelCall] = set()
        self._begin()

    def _begin(self) -> None:
        self._answers: queue.Queue[_Answer] = queue.Queue(_MOST_WAITING)
        #: Calls of the program that runs, by number.
        self._calls: dict[int, _ModelCall] = {}
        self._begun = self._refused = 0
        #: The last exception of the model, for the error of the program.
        self.last_error: BaseException | None = None

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Serve one program for the block; answers that are still to come then are dropped.

        Raises:
            ExecutorError: more than eight calls of earlier programs run.
        """
        count = len(self._running)
        if count > _MOST_ABANDONED:
            raise ExecutorError(
                f"{count} calls of the model on the host that earlier programs made still run; at "
                f"most {_MOST_ABANDONED} may. Wait, or give the model's client a timeout"
            )
        self._begin()
        try:
            yield
        finally:
            for call in list(self._calls.values()):
                call.dropped = True

    def exchange(self, number: int, request: bytes | int | None, is_waiting: bool) -> list[_Answer]:
        """Take a call, and return answers to any calls; the sandbox calls this function.

        Args:
            number: Number of the call; 0 for none.
            request: encoded; its size in bytes if that is over the limit; ``None`` when nobody
                waits for more of the answer.
            is_waiting: Whether to wait a moment for answers, if there are none.
        """
        if type(number) is not int or type(request) not in (bytes, int, type(None)):
            raise TypeError("model_exchange() takes a number, and bytes, a size or None")
        answers: list[_Answer] = []
        size = len(request) if isinstance(request, bytes) else request or 0
        if size > self._limits.request_bytes:
            most = self._limits.request_bytes
            self._end_program(f"{size} bytes of messages, over max_model_bytes={most}")
        elif isinstance(request, bytes):
            refusal = self._refusal(number, size)
            if refusal is None:
                self._start(_ModelCall(number, request, self._answers))
            else:
                self._refused += 1
                answers.append((number, encode({"error": ["RuntimeError", refusal]}), True))
            if self._refused > _MOST_REFUSED:
                self._end_program(
                    f"more than {_MOST_REFUSED} calls that were refused, the last because {refusal}"
                )
        elif number in self._calls:
            self._calls[number].dropped = True
        with contextlib.suppress(queue.Empty):
            if not answers:
                answers.append(self._answers.get(is_waiting is True, _WAIT_SECONDS))
            while sum(len(body) for _, body, _ in answers) <= _MOST_RETURNED:
                answers.append(self._answers.get_nowait())
        return answers

    def _refusal(self, number: int, size: int) -> str | None:
        if self._model is None:
            return "this sandbox has no model on the host: pass model_on_host= to AgentSandbox"
        calls = dict(self._calls)
        if number in calls:
            return f"call {number} is under way"
        if len(calls) >= _MOST_CALLS:
            return f"more than {_MOST_CALLS} calls of the model at once"
        limits = self._limits
        if self._begun >= limits.calls:
            return (
                f"this program has made max_model_calls={limits.calls} calls of the model; raise "
                "max_model_calls of AgentSandbox if it needs more"
            )
        size += sum(len(call.request) for call in calls.values())
        if size > limits.request_bytes:
            return (
                f"the calls under way have {size} bytes of messages, over "
                f"max_model_bytes={limits.request_bytes} of AgentSandbox"
            )
        return None

    def _start(self, call: _ModelCall) -> None:
        self._begun += 1
        self._calls[call.number] = call
        self._running.add(call)
        name = f"smolagents-fork-model-{call.number}"
        arguments = (call, self._calls)
        threading.Thread(target=self._serve, args=arguments, name=name, daemon=True).start()

    def _serve(self, call: _ModelCall, calls: dict[int, _ModelCall]) -> None:
        """Answer one of the calls of a program."""
        try:
            for answer in self._answers_to(call):
                call.answer(answer, self._max_bytes)
        except (CodecError, ConfigurationError) as error:
            call.answer({"error": ["ValueError", str(error)]}, self._max_bytes)
        except BaseException as error:  # of the model's own, whatever it raises
            name = type(error).__name__
            _logger.warning("the model on the host failed", exc_info=error)
            if not call.dropped:
                self.last_error = error
            text = f"the model on the host raised {name}; the host's log has its message"
            call.answer({"error": ["RuntimeError", text]}, self._max_bytes)
        finally:
            self._running.discard(call)
            calls.pop(call.number, None)

    def _answers_to(self, call: _ModelCall) -> Iterator[dict[str, Any]]:
        with self._decoding:
            if call.dropped:
                return
            most = max(self._max_bytes, len(call.request))
            asked = decode(call.request, path="request", max_bytes=most)
        if type(asked) is not dict or type(asked.get("messages")) is not list:
            raise DecodeError("request: not a call of generate() or generate_stream()")
        messages = [message_from_value(value) for value in asked["messages"]]
        arguments = self._arguments(asked)
        if asked.get("method") == "generate":
            answer = self._model.generate(messages, **arguments)
            yield {"value": bare_message(answer), "end": True}
            return
        if asked.get("method") != "generate_stream":
            raise DecodeError(f"request: method {asked.get('method')!r} is not served")
        stream = getattr(self._model, "generate_stream", None)
        if stream is None:
            name = type(self._model).__name__
            raise ConfigurationError(f"{name} on the host has no generate_stream()")
        with contextlib.closing(stream(messages, **arguments)) as deltas:
            for delta in deltas:
                yield {"value": delta}
                if call.dropped:
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
