"""Helpers that run a program here and in CPython, and that check refusals and limits."""

from __future__ import annotations

from typing import Any

import pytest

from smolagents_fork.errors import InterpreterError, LimitExceededError, ProgramRefusedError
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

MODULES = ["asyncio", "contextlib", "dataclasses", "enum", "json"]
#: Small, so that a rule that forgets to count is noticed at once.
LIMITS = RunLimits(max_operations=200_000, max_while_iterations=5_000, timeout_seconds=20)


def interpreter() -> Interpreter:
    """An interpreter with small limits and a tool ``tool``."""
    made = Interpreter(MODULES, limits=LIMITS)
    made.send_tools({"tool": lambda value: value})
    return made


def in_python(code: str) -> object:
    """Run ``code`` in CPython and return ``result``, or the type and text of its error."""
    space: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec(compile(code, "<reference>", "exec", dont_inherit=True), space)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return space["result"]


def in_ours(code: str, *modules: str) -> object:
    """Run ``code`` in the interpreter and return what :func:`in_python` would."""
    made = Interpreter([*MODULES, *modules], limits=LIMITS)
    try:
        made.run(code)
    except InterpreterError as error:
        cause = error.__cause__
        if cause is None:
            raise
        return f"{type(cause).__name__}: {cause}"
    return made.state["result"]


def refused(code: str, words: str) -> None:
    """Assert that policy refuses a program in these words, where it reaches the line.

    What stands before has run, the program may catch the refusal, and what is never reached is not
    refused.
    """
    made = interpreter()
    with pytest.raises(ProgramRefusedError) as caught:
        made.run(f"ran = True\n{code}")
    assert words in str(caught.value), caught.value
    assert "(line " in str(caught.value)
    assert "(line None)" not in str(caught.value)
    assert made.state["ran"] is True
    indented = "\n".join(f"    {line}" for line in code.splitlines())
    caught_by_program = f"try:\n{indented}\nexcept Exception as error:\n    seen = str(error)"
    made = interpreter()
    made.run(caught_by_program)
    assert words in str(made.state["seen"])
    unreached = f"def unused():\n{indented}\nif False:\n{indented}\n'on'"
    assert interpreter().run(unreached).output == "on"


def stopped(code: str, limits: RunLimits = LIMITS, *modules: str) -> str:
    """Assert that a limit ends ``code``; return the error's text."""
    with pytest.raises(LimitExceededError) as caught:
        Interpreter([*MODULES, *modules], limits=limits).run(code)
    return str(caught.value)
