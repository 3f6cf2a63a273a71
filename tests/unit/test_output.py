"""Binary forms of streams that take text; the user's ``on_output``, which may be asynchronous."""

from __future__ import annotations

import asyncio
import io

from smolagents_fork.call_output import CallOutput
from smolagents_fork.output import BytesWriter


class Stream(io.TextIOBase):
    """A stream that keeps its text, which a closed one refuses to flush."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str, /) -> int:
        self.text += text
        return len(text)


def test_binary_form_may_be_closed_after_its_stream():
    stream = Stream()
    binary = BytesWriter(stream)
    binary.write(b"text")
    assert stream.text == "text"
    stream.close()
    binary.close()
    assert binary.closed


def test_asynchronous_function_gets_each_text():
    pieces = []

    async def take(text: str) -> None:
        await asyncio.sleep(0)
        pieces.append(text)

    output = CallOutput(1000, 1 << 20, take)
    output.write("first")
    output.write("second")
    assert (pieces, output.logs()) == (["first", "second"], "firstsecond")


def test_asynchronous_function_that_raises_is_noted():
    async def fail(text: str) -> None:
        raise ValueError(text)

    output = CallOutput(1000, 1 << 20, fail)
    output.write("first")
    output.write("second")
    note = "[on_output raised ValueError: first; not called again]"
    assert output.logs() == f"firstsecond\n{note}"
