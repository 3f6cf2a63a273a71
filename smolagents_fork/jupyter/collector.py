"""Collector of the output, displays and value of one call, within limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from .. import codec
from ..call_output import CallOutput
from ..errors import CodecError
from ..output import truncation_note
from ..results import Display
from .protocol import InputRequest, Sink

__all__ = ["Collector"]

# Colours and other escape sequences (ECMA-48), which are useless to a model.
_ANSI = re.compile(r"\x1b(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")
_MAX_NOTES = 20
# Limit for a count sent by the kernel; Python refuses to print numbers of thousands of digits.
_MAX_COUNT = 2**63
_NOTHING = object()

Answer = Callable[[InputRequest], tuple[str, Sequence[bytes]]]


class Collector:
    """Sink of one call.

    Args:
        output: takes what is printed and displayed.
        answer: answers the kernel's input requests.
    """

    def __init__(self, output: CallOutput, answer: Answer | None = None) -> None:
        self._call = output
        self._printed_length = 0
        self._gap = False
        self._value: Any = _NOTHING
        self._forms: Display | None = None
        self.notes: list[str] = []
        self._answer = answer

    @property
    def sink(self) -> Sink:
        """The call's sink; not an attribute, so that the collector is not in a cycle with it."""
        return Sink(
            stream=self._stream, display=self._display, data=self._data, answer=self._answer
        )

    def logs(self) -> str:
        """Return the printed text, with a note where text was left out."""
        return self._call.logs() + "".join(f"\n[{note}]" for note in self.notes)

    def output(self) -> Any:
        """Value of the last expression, else the last image or display, else ``None``."""
        return self._call.shown.output(self._forms) if self._value is _NOTHING else self._value

    @property
    def cut_length(self) -> int:
        """Characters that were printed and are not in :meth:`logs`."""
        return max(0, self._printed_length - self._call.print_length)

    def _stream(self, _name: str, text: str, lost: int) -> None:
        self._leave_out(lost)
        self._print(text)

    def _leave_out(self, length: int) -> None:
        """Note text that was printed and has not arrived, once for pieces in a row."""
        if length <= 0:
            return
        self._printed_length += min(length, _MAX_COUNT)
        if not self._gap:
            self._call.write(truncation_note(self._call.print_length))
            self._gap = True

    def _print(self, text: str) -> None:
        if text:
            self._gap = False
            self._printed_length += len(text)
            self._call.write(text)

    def _display(self, content: dict[str, Any]) -> None:
        self._call.shown.add(content.get("data"))

    def _data(self, data: dict[str, Any], buffers: Sequence[bytes | memoryview]) -> None:
        kind = data.get("kind")
        if kind == "display" and not self._call.shown.has_room():
            return
        if kind in ("value", "display", "forms") and buffers:
            try:
                value = codec.decode(buffers[0], max_bytes=self._call.max_value_bytes)
            except CodecError as error:
                name = "display" if kind == "display" else "result"
                self._note(f"the {name} could not be decoded: {error}")
                return
            if kind == "value":
                self._value = value
            elif kind == "display":
                self._call.shown.add(value)
            elif isinstance(value, dict):
                self._forms = self._call.shown.add_rich(value)
        elif kind == "tail" and isinstance(data.get("left_out"), int) and buffers:
            self._leave_out(data["left_out"])
            self._print(bytes(buffers[0]).decode("utf-8", "replace"))

    def _note(self, line: str) -> None:
        if len(self.notes) < _MAX_NOTES and line not in self.notes:
            self.notes.append(line)


def without_colours(text: str) -> str:
    """Remove terminal escape sequences from ``text``."""
    return _ANSI.sub("", text)
