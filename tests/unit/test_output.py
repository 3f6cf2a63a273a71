"""Binary forms of streams that take text."""

from __future__ import annotations

import io

from smolagents_fork.output import BytesWriter


def test_binary_form_may_be_closed_after_its_stream():
    stream = io.StringIO()
    binary = BytesWriter(stream)
    binary.write(b"text")
    assert stream.getvalue() == "text"
    stream.close()
    binary.close()
    assert binary.closed
