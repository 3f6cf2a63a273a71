"""Collector of the output, displays and value of one call, within limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .. import codec
from ..call_output import CallOutput
from ..errors import CodecError
from ..results import Display
from .protocol import Sink

__all__ = ["Collector"]

# Colours and other escape sequences (ECMA-48), which are useless to a model.
_ANSI = re.compile(r"\x1b(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")
_NOTHING = object()


class Collector:
    """Messages of one run of a kernel, collected to the output and the value of a call.

    Args:
        output: takes what is printed and displayed.
    """

    def __init__(self, output: CallOutput) -> None:
        self._call = output
        self._value: Any = _NOTHING
        self._forms: Display | None = None

    @property
    def sink(self) -> Sink:
        """The call's sink; not an attribute, so that the collector is not in a cycle with it."""
        return Sink(stream=self._stream, display=self._display, data=self._data)

    def output(self) -> Any:
        """Value of the last expression, else the last image or display, else ``None``."""
        return self._call.shown.output(self._forms) if self._value is _NOTHING else self._value

    def _stream(self, _name: str, text: str, lost: int) -> None:
        self._call.leave_out(lost)
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
                self._call.note(f"the {name} could not be decoded: {error}")
                return
            if kind == "value":
                self._value = value
            elif kind == "display":
                self._call.shown.add(value)
            elif isinstance(value, dict):
                self._forms = self._call.shown.add_rich(value)
        elif kind == "tail" and isinstance(data.get("left_out"), int) and buffers:
            self._call.leave_out(data["left_out"])
            self._call.write(bytes(buffers[0]).decode("utf-8", "replace"))


def without_colours(text: str) -> str:
    """Remove terminal escape sequences from ``text``."""
    return _ANSI.sub("", text)
