"""Tools of the host called from a child: the log, threads, and a tool that ends it."""

from __future__ import annotations

import asyncio
import os
import re
from functools import partial
from typing import Any

import pytest
from background import at_once
from process_harness import executor
from smolagents.monitoring import AgentLogger, LogLevel

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import (
    ExecutorClosedError,
    InterpreterError,
)


def test_each_call_is_logged_with_its_duration():
    lines: list[str] = []

    class Logger(AgentLogger):
        def log(self, *args: Any, level: Any = LogLevel.INFO, **_: Any) -> None:
            lines.append(f"{int(level)} {args[0]}")

    with ProcessExecutor([], Logger(level=LogLevel.DEBUG)) as ex:
        ex.send_tools({"double": lambda n: 2 * n})
        ex("double(2)")
        with pytest.raises(InterpreterError):
            ex("double('x', 2)\ndouble(None)")
        with pytest.raises(InterpreterError):
            ex("double(None)")
    # At DEBUG if all measures are in force, at INFO if one is missing.
    level = 2 if lines[0].endswith("; not in force: nothing") else 1
    assert lines[0].startswith(f"{level} ProcessExecutor: in force: session, memory, cpu, files")
    assert re.fullmatch(r"2 double\(\) returned after \d+\.\d ms", lines[1])
    assert re.fullmatch(r"2 double\(\) raised TypeError: .* after \d+\.\d ms", lines[-1])


def test_executors_in_threads_are_independent():
    def work(number: int) -> int:
        with executor() as ex:
            ex.send_tools({"add": lambda a, b: a + b})
            return sum(ex(f"add({number}, {n})").output for n in range(20))

    calls = [partial(work, number) for number in range(8)]
    assert at_once(*calls) == [20 * n + 190 for n in range(8)]


def test_a_tool_may_clean_up_its_executor():
    with executor(timeout_seconds=30) as ex:
        ex.send_tools({"finish": ex.cleanup})
        folder = ex.folder
        with pytest.raises(ExecutorClosedError, match="ended by cleanup"):
            ex("finish()\nfor i in range(10**12): pass")
        assert folder is not None
        assert not os.path.exists(folder)


def test_code_that_sees_the_end_before_the_kill_ends_the_same(monkeypatch):
    """Another process kills the child, possibly late."""
    with executor(timeout_seconds=30) as ex:
        ex.send_tools({"finish": ex.cleanup})
        monkeypatch.setattr(ex._session.guest, "kill", lambda: None)
        with pytest.raises(ExecutorClosedError, match="ended by cleanup"):
            ex("finish()\nfor i in range(10**12): pass")
        monkeypatch.undo()


def test_calls_can_be_awaited():
    async def both() -> list[Any]:
        with executor() as one, executor() as two:
            results = await asyncio.gather(one.acall("1 + 1"), two.acall("2 + 2"))
            return [result.output for result in results]

    assert asyncio.run(both()) == [2, 4]
