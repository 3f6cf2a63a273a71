"""The host's model, served to one program in a sandbox.

The program chooses the messages, the stop sequences, the response format and the tools: what an
agent chooses. Other arguments are refused unless ``allowed_arguments`` names them, because a model
class passes them on to its client, where one may lead the host's key to another address.

A failed call tells the program the type of the exception and nothing else: the message of a
client's error may quote a key or an address of the host's network.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Collection, Iterator
from typing import Any

from ..codec import DEFAULT_MAX_BYTES, decode, encode
from ..codec.limits import MAX_PIXELS
from ..errors import CodecError, ConfigurationError, DecodeError
from ..text.short_texts import brief_text, limited_text
from .chat_values import (
    bare_message,
    exact,
    json_value,
    message_from_value,
    pixel_count,
    tool_from_value,
)

__all__ = ["ModelService"]

_logger = logging.getLogger(__name__)
# An agent reads one stream at a time; managed agents that run side by side read several.
_MOST_STREAMS = 32
# Refused calls after which a program does not do what an agent does.
_MOST_REFUSED = 1000
# Pixels of the running calls, which compressed take a thousandth of their memory.
_MOST_PIXELS = 4 * MAX_PIXELS
# Characters of the reason of a refusal.
_LONGEST_REASON = 1000
#: Arguments that a program always may give, and the type of each.
_ARGUMENTS: dict[str, type] = {"stop_sequences": list, "response_format": dict}


class _RefusedError(Exception):
    """The program may not make the call."""


class ModelService:
    """Answers the calls of one program, one at a time.

    A streamed answer is a call that begins it, one for each piece, and one that ends it.

    Args:
        model: Model with ``generate`` and, for streaming, ``generate_stream``.
        end_program: ends the program; gets the reason.
        allowed_arguments: names of further arguments of ``generate`` that the program may give.
        max_calls: answers that the program may ask for.
        max_request_bytes: of one request, and of those whose streams are open.
        max_bytes: largest answer, or piece of a streamed one, in bytes.
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
        # Open streams by number, each with the bytes of its request and the pixels in it.
        self._streams: dict[int, tuple[Iterator[Any], int, int]] = {}
        self._numbers = itertools.count(1)
        self._calls = self._refused = 0
        #: The last exception of the model, for the error of the program.
        self.last_error: BaseException | None = None

    def call(self, request: bytes) -> bytes:
        """Return the encoded answer to an encoded request.

        Raises:
            RuntimeError: the program may not make this call, or the model failed; says why.
            ValueError: the request is malformed, or the answer is too large; says why.
        """
        if type(request) is not bytes:
            raise TypeError(f"call_model() takes bytes, not {type(request).__name__}")
        try:
            answer = self._answer(request)
            return encode({"value": answer}, path="the model's answer", max_bytes=self._max_bytes)
        except _RefusedError as error:
            raise RuntimeError(self._count_refusal(error)) from None
        except (CodecError, ConfigurationError) as error:
            raise ValueError(self._count_refusal(error)) from None
        except BaseException as error:  # of the model's own, whatever it raises
            _logger.warning("the model on the host failed", exc_info=error)
            self.last_error = error
            raise RuntimeError(
                f"the model on the host raised {type(error).__name__}; the host's log has its "
                "message"
            ) from None

    def end_streams(self) -> None:
        """Drop what is still to come of streamed answers."""
        self._streams.clear()

    def _count_refusal(self, error: Exception) -> str:
        """Count a refused call; return the reason, which may quote a text of the program."""
        reason = limited_text(error, _LONGEST_REASON)
        self._refused += 1
        if self._refused > _MOST_REFUSED:
            self._end_program(
                f"called the model on the host with more than {_MOST_REFUSED} calls that were "
                f"refused, the last because {reason}"
            )
        return reason

    def _answer(self, request: bytes) -> Any:
        """Return the model's message, the number of a new stream, or the next piece of one."""
        size, most = len(request), self._max_request_bytes
        if size > most:
            reason = f"{size} bytes of messages, over max_model_bytes={most}"
            self._end_program(f"called the model on the host with {reason}")
            raise _RefusedError(reason)
        call = decode(request, path="request", max_bytes=max(self._max_bytes, size))
        method = exact(exact(call, dict, "a call of the model").get("method"), str, "its method")
        if method in ("next_piece", "end_stream"):
            return self._answer_of_stream(method, call.get("stream"))
        if method not in ("generate", "generate_stream"):
            raise DecodeError(f"request: method {method!r} is not served")
        self._check_limits(size)
        values = exact(call.get("messages"), list, "messages")
        messages = [message_from_value(value) for value in values]
        pixels = sum(map(pixel_count, messages))
        if pixels + sum(count for _, _, count in self._streams.values()) > _MOST_PIXELS:
            raise _RefusedError(
                f"the running calls have images of over {_MOST_PIXELS} pixels; run fewer at "
                "once, or send smaller images"
            )
        arguments = self._arguments(call)
        self._calls += 1
        if method == "generate":
            return bare_message(self._model.generate(messages, **arguments))
        if not hasattr(self._model, "generate_stream"):
            raise ConfigurationError(
                f"{type(self._model).__name__} on the host has no generate_stream()"
            )
        stream = self._model.generate_stream(messages, **arguments)
        number = next(self._numbers)
        self._streams[number] = iter(stream), size, pixels
        return number

    def _answer_of_stream(self, method: str, number: object) -> list[Any] | None:
        """Return the next piece of a stream, or nothing at its end; or end it."""
        if type(number) is not int or number not in self._streams:
            raise _RefusedError(f"no stream of the model has the number {brief_text(number)}")
        if method == "end_stream":
            del self._streams[number]
            return None
        stream, *_ = self._streams[number]
        return list(itertools.islice(stream, 1))

    def _check_limits(self, size: int) -> None:
        """Refuse a request of so many bytes if the program may not make another."""
        if self._calls >= self._max_calls:
            raise _RefusedError(
                f"this program has made max_model_calls={self._max_calls} calls of the model; "
                "raise max_model_calls of AgentSandbox if it needs more"
            )
        if len(self._streams) >= _MOST_STREAMS:
            raise _RefusedError(f"more than {_MOST_STREAMS} streams of the model at once")
        size += sum(open_size for _, open_size, _ in self._streams.values())
        if size > self._max_request_bytes:
            raise _RefusedError(
                f"the running calls have {size} bytes of messages, over "
                f"max_model_bytes={self._max_request_bytes} of AgentSandbox"
            )

    def _arguments(self, call: dict[str, Any]) -> dict[str, Any]:
        arguments = {
            name: exact(json_value(call[name], name), argument_type, name)
            for name, argument_type in _ARGUMENTS.items()
            if call.get(name) is not None
        }
        if not all(type(text) is str for text in arguments.get("stop_sequences", ())):
            raise DecodeError("stop_sequences has an item that is not text")
        tools = exact(call.get("tools", []), list, "tools")
        if tools:
            arguments["tools_to_call_from"] = [tool_from_value(value) for value in tools]
        others = exact(json_value(call.get("arguments", {}), "arguments"), dict, "arguments")
        refused = sorted(set(others) - self._allowed)
        if refused:
            raise ConfigurationError(
                f"argument {refused[0]!r} of {call.get('method')}() is not passed to the model on "
                "the host: set it on that model, or name it in model_arguments= of AgentSandbox"
            )
        return {**arguments, **others}
