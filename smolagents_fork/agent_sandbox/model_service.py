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
from typing import Any

from ..codec import DEFAULT_MAX_BYTES, decode, encode
from ..errors import CodecError, ConfigurationError, DecodeError, ExecutorError
from .chat_values import bare_message, exact, json_value, message_from_value, tool_from_value

__all__ = ["ModelService"]

_logger = logging.getLogger(__name__)
# An agent makes one call at a time; managed agents that run side by side make several.
_MOST_CALLS = 32
# Calls of ended programs that may still run when another begins.
_MOST_ABANDONED = 8
# Refused calls after which a program does not do what an agent does.
_MOST_REFUSED = 1000
# Time that all calls of a program together wait for answers, before another call can begin.
_WAIT_SECONDS = 0.25
# Bytes of an answer that are returned together, beside the last piece.
_MOST_RETURNED = 1 << 20
# Pieces that may wait for the program; then a model waits, and checks whether anyone does still.
_MOST_WAITING, _CHECK_SECONDS = 1_000, 1.0
#: Arguments that a program always may give, and the type of each.
_ARGUMENTS: dict[str, type] = {"stop_sequences": list, "response_format": dict}


class _ModelCall:
    """A call that the model answers.

    Args:
        request: encoded.
    """

    def __init__(self, request: bytes) -> None:
        self.request = request
        #: Encoded pieces of the answer; ``None`` after the last.
        self.pieces: queue.Queue[bytes | None] = queue.Queue(_MOST_WAITING)
        #: Whether nobody waits for the answer.
        self.dropped = False

    def put(self, piece: bytes | None) -> None:
        """Add a piece of the answer; wait while many others wait to be fetched."""
        while not self.dropped:
            with contextlib.suppress(queue.Full):
                self.pieces.put(piece, timeout=_CHECK_SECONDS)
                break


class ModelService:
    """Answers the calls of programs, which run one at a time.

    Args:
        model: Model with ``generate`` and, for streaming, ``generate_stream``.
        end_program: ends the program that runs; gets the reason.
        allowed_arguments: names of further arguments of ``generate`` that a program may give.
        max_calls: calls that one program may make.
        max_request_bytes: of the requests that are answered at one time.
        max_bytes: largest piece of an answer, in bytes.
    """

    def __init__(
        self,
        model: Any,
        end_program: Callable[[str], None],
        *,
        allowed_arguments: Collection[str] = (),
        max_calls: int = 1000,
        max_request_bytes: int = 64 << 20,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self._model = model
        self._end_program = end_program
        self._allowed = frozenset(allowed_arguments)
        self._max_calls = max_calls
        self._max_request_bytes = max_request_bytes
        self._max_bytes = max_bytes
        # Calls of all programs: a program's end ends none of them, since the model is user's code.
        self._running: set[_ModelCall] = set()
        #: Methods that the sandbox calls, in the order in which the supervisor takes them.
        self.functions: dict[str, Callable[..., Any]] = {
            "begin_call": self.begin_call,
            "fetch_answer": self.fetch_answer,
            "drop_call": self.drop_call,
        }
        self._begin()

    def _begin(self) -> None:
        #: Calls of the program whose answers it has not fetched to their ends, by number.
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
            for number in list(self._calls):
                self.drop_call(number)

    def begin_call(self, request: bytes) -> int:
        """Begin a call and return its number.

        Args:
            request: encoded.

        Raises:
            RuntimeError: the program may not make this call; says why.
        """
        if type(request) is not bytes:
            raise TypeError(f"begin_call() takes bytes, and got {type(request).__name__}")
        refusal = self._refusal(len(request))
        if refusal is not None:
            self._refused += 1
            if self._refused > _MOST_REFUSED:
                self._end_program(
                    f"called the model on the host with more than {_MOST_REFUSED} calls that were "
                    f"refused, the last because {refusal}"
                )
            raise RuntimeError(refusal)
        self._begun += 1
        call = self._calls[self._begun] = _ModelCall(request)
        self._running.add(call)
        name = f"smolagents-fork-model-{self._begun}"
        threading.Thread(target=self._serve, args=(call,), name=name, daemon=True).start()
        return self._begun

    def fetch_answer(self, number: int) -> list[bytes | None]:
        """Return the next pieces of an answer, none if a moment brings none; ``None`` is its end.

        Raises:
            RuntimeError: no call has this number, or its answer has ended before.
        """
        call = self._calls.get(number)
        if call is None:
            raise RuntimeError(f"no call of the model has the number {number!r}")
        pieces: list[bytes | None] = []
        with contextlib.suppress(queue.Empty):
            piece = call.pieces.get(timeout=_WAIT_SECONDS / len(self._calls))
            size = 0
            while piece is not None and size + len(piece) <= _MOST_RETURNED:
                size += len(piece)
                pieces.append(piece)
                piece = call.pieces.get_nowait()
            pieces.append(piece)
        if pieces and pieces[-1] is None:
            self.drop_call(number)
        return pieces

    def drop_call(self, number: int) -> None:
        """Drop what is still to come of an answer; no-op for a call that has ended."""
        call = self._calls.pop(number, None)
        if call is not None:
            call.dropped = True

    def _refusal(self, size: int) -> str | None:
        """Return why a call of so many bytes may not begin; end the program if it is too large."""
        most = self._max_request_bytes
        if size > most:
            reason = f"{size} bytes of messages, over max_model_bytes={most}"
            self._end_program(f"called the model on the host with {reason}")
            return reason
        if len(self._calls) >= _MOST_CALLS:
            return f"more than {_MOST_CALLS} calls of the model at once"
        if self._begun >= self._max_calls:
            return (
                f"this program has made max_model_calls={self._max_calls} calls of the model; "
                "raise max_model_calls of AgentSandbox if it needs more"
            )
        # Those that the program has dropped have their memory until the model is done with them.
        size += sum(len(call.request) for call in list(self._running))
        if size > most:
            return (
                f"the calls under way have {size} bytes of messages, over "
                f"max_model_bytes={most} of AgentSandbox"
            )
        return None

    def _serve(self, call: _ModelCall) -> None:
        """Answer a call."""
        try:
            for piece in self._answers_to(call):
                call.put(encode(piece, path="the model's answer", max_bytes=self._max_bytes))
        except (CodecError, ConfigurationError) as error:
            call.put(encode({"error": ["ValueError", str(error)]}))
        except BaseException as error:  # of the model's own, whatever it raises
            name = type(error).__name__
            _logger.warning("the model on the host failed", exc_info=error)
            if not call.dropped:
                self.last_error = error
            text = f"the model on the host raised {name}; the host's log has its message"
            call.put(encode({"error": ["RuntimeError", text]}))
        finally:
            self._running.discard(call)
            call.put(None)

    def _answers_to(self, call: _ModelCall) -> Iterator[dict[str, Any]]:
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
            yield {"value": bare_message(answer)}
            yield {"end": True}
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
            name: exact(json_value(asked[name], name), kind, name)
            for name, kind in _ARGUMENTS.items()
            if asked.get(name) is not None
        }
        if not all(type(text) is str for text in arguments.get("stop_sequences", ())):
            raise DecodeError("stop_sequences has an item that is not text")
        if asked.get("tools"):
            arguments["tools_to_call_from"] = [tool_from_value(one) for one in asked["tools"]]
        others = exact(json_value(asked.get("arguments") or {}, "arguments"), dict, "arguments")
        refused = sorted(set(others) - self._allowed)
        if refused:
            raise ConfigurationError(
                f"argument {refused[0]!r} of {asked.get('method')}() is not passed to the model on "
                "the host: set it on that model, or name it in model_arguments= of AgentSandbox"
            )
        return {**arguments, **others}
