"""Binary forms of streams that take text."""

from __future__ import annotations

import io

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
