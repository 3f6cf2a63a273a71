"""The user's ``on_output``, which may be asynchronous."""

from __future__ import annotations

import asyncio

from smolagents_fork.call_output import CallOutput


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
