"""Programs of a rule's family, each with what it gives or why it is refused."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import ProgramRefusedError
from smolagents_fork.interpreter import Interpreter, Limits

MODULES = ["asyncio", "contextlib", "dataclasses", "enum", "json"]
#: Small, so that a rule that forgets to count is noticed at once.
LIMITS = Limits(max_operations=200_000, max_while_iterations=5_000, timeout_seconds=20)


def gives(code: str) -> object:
    """The value of the program's end, where a tool ``tool`` is at hand."""
    interpreter = Interpreter(MODULES, limits=LIMITS)
    interpreter.send_tools({"tool": lambda value: value})
    return interpreter.run(code).output


def refused(code: str, words: str) -> None:
    """Assert that policy refuses the program, in these words, before any of it has run."""
    interpreter = Interpreter(MODULES, limits=LIMITS)
    interpreter.send_tools({"tool": lambda value: value})
    with pytest.raises(ProgramRefusedError) as caught:
        interpreter.run(f"ran = True\n{code}")
    assert words in str(caught.value), caught.value
    assert "(line " in str(caught.value)
    assert "ran" not in interpreter.state
