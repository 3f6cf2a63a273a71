"""Programs of a rule's family, each with what it gives or why it is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def each_gives(programs: Sequence[tuple[str, str]]) -> Callable[[str, str], None]:
    """A test that each program's last value has this ``repr``."""

    @pytest.mark.parametrize(("code", "expected"), programs)
    def test(code: str, expected: str) -> None:
        assert repr(gives(code)) == expected

    return test


def each_refused(programs: Sequence[tuple[str, str]]) -> Callable[[str, str], None]:
    """A test that each program is refused in these words, before it runs."""

    @pytest.mark.parametrize(("code", "words"), programs)
    def test(code: str, words: str) -> None:
        refused(code, words)

    return test
